//! A sound program beside the call, as JackTrip is one: a packet of one size at each period of its card, played a fixed time after it
//! was due.

use std::time::Duration;

use common::netsim::Random;
use common::units::{Bitrate, Timestamp};

/// First byte of a packet, by which it is told from media.
const MARK: u8 = 0xed;
/// Bytes of a stereo sample of 16 bits.
const SAMPLE_BYTES: usize = 4;
/// Bytes of JackTrip's header.
const HEADER_BYTES: usize = 16;
/// IPv4 and UDP.
const AROUND_BYTES: usize = 28;
/// Periods for which a queue of four (`-q 4`) holds what has come: it begins half full.
const HELD_PERIODS: u32 = 2;

/// A sound program's packets on their way.
pub(crate) struct Sound {
    samples: u32,
    overhead_bytes: usize,
    next: u32,
    begun: Timestamp,
    until: Option<Timestamp>,
    delay: Duration,
    /// Wait of each packet that has come, beyond the line's own delay, and when it left since the call began.
    pub(crate) waits: Vec<(Duration, Duration)>,
}

impl Sound {
    /// Creates a program with so many samples a period, that begins within a period after `now`, as `seed` says, on a line that adds
    /// `overhead_bytes` to each packet.
    pub(crate) fn new(samples: u32, seed: u64, overhead_bytes: usize, delay: Duration, now: Timestamp) -> Self {
        let shift = Random::new(seed ^ 0x50d).below(Self::period(samples).as_micros() as u64);
        let begun = now + Duration::from_micros(shift);
        Self { samples, overhead_bytes, next: 0, begun, until: None, delay, waits: vec![] }
    }

    /// Ends it at `until`.
    pub(crate) fn until(self, until: Timestamp) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Returns what it takes of the line.
    pub(crate) fn rate(samples: u32) -> Bitrate {
        Bitrate::from_bps((8 * Self::wire_bytes(samples)) as u64 * 48_000 / u64::from(samples))
    }

    fn wire_bytes(samples: u32) -> usize {
        samples as usize * SAMPLE_BYTES + HEADER_BYTES + AROUND_BYTES
    }

    fn period(samples: u32) -> Duration {
        Duration::from_nanos(u64::from(samples) * 1_000_000_000 / 48_000)
    }

    fn due(&self, number: u32) -> Timestamp {
        // Whole microseconds of the sum, so that no error adds up.
        self.begun + Duration::from_micros(u64::from(number) * u64::from(self.samples) * 1_000 / 48)
    }

    /// Returns the time of the next packet.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        Some(self.due(self.next)).filter(|&at| self.until.is_none_or(|until| at < until))
    }

    /// Returns a packet that is due.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.next_at().filter(|&at| at <= now)?;
        let mut packet = vec![0; Self::wire_bytes(self.samples) - self.overhead_bytes];
        packet[0] = MARK;
        packet[1..5].copy_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        Some(packet)
    }

    /// Takes what came out of the network, if it is its own.
    pub(crate) fn on_packet(&mut self, bytes: &[u8], now: Timestamp, start: Timestamp) -> bool {
        if bytes[0] != MARK {
            return false;
        }
        let due = self.due(u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]));
        self.waits.push((due.since(start), now.since(due).saturating_sub(self.delay)));
        true
    }

    /// Returns the 99th percentile of the waits of what left within a time, ms, and the packets a minute that came too late to be
    /// played.
    pub(crate) fn harm(&self, from: Duration, to: Duration) -> (f64, f64) {
        let within = self.waits.iter().filter(|(at, _)| (from..to).contains(at));
        let mut waits: Vec<_> = within.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        let held = HELD_PERIODS * Self::period(self.samples);
        let late = waits.iter().filter(|&&wait| wait > held).count();
        let p99 = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
        (1e3 * p99.as_secs_f64(), 60.0 * late as f64 / (to - from).as_secs_f64())
    }
}
