//! Atomics beside the callback: all that may be known of the sound that is heard, and set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::level::Level;

/// Outcomes that are counted, most of them of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet's own sound was there when it was due.
    Own,
    /// A whole copy was there instead.
    RepairedWhole,
    /// A copy of 4 bits a sample was there instead.
    RepairedAdpcm,
    /// Nothing was there for some part of it, and concealment stood in.
    Concealed,
    /// Passed over: the card missed the time of all of it, or the delay was cut. Each number that is past has one of these five.
    Skipped,
    /// Runs of concealed packets.
    Gap,
    /// The packet's own sound came after it was due.
    Late,
    /// The packet's own sound never came.
    Lost,
    /// Times when everything was held for tens of ms.
    Pause,
    /// Changes of the delay that cut or repeated sound; those by resampling are not counted.
    Jump,
    /// Units whose format or bytes cannot be.
    Refused,
    /// Units of another time than what is heard: far ahead, far behind or of an epoch before.
    Stray,
    /// Units for which the ring of the callback had no room.
    Dropped,
    /// Beginnings of a stream, the first one too.
    Start,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Own,
        Self::RepairedWhole,
        Self::RepairedAdpcm,
        Self::Concealed,
        Self::Skipped,
        Self::Gap,
        Self::Late,
        Self::Lost,
        Self::Pause,
        Self::Jump,
        Self::Refused,
        Self::Stray,
        Self::Dropped,
        Self::Start,
    ];
}

/// Instant that is heard: when it was captured there and when it is heard here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Time of capture, us, sender's clock.
    pub capture_us: u64,
    /// Time at which the card plays it, us, this machine's clock.
    pub local_us: u64,
}

/// Values that the callback tells at the end of each period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) target_us: u32,
    pub(crate) added_us: u32,
    pub(crate) drift_ppm: Option<f32>,
    pub(crate) is_resampling: bool,
    pub(crate) level: Level,
    pub(crate) peak: Level,
    pub(crate) is_muted: bool,
    pub(crate) heard: Option<Heard>,
}

/// Atomics that the callback, the feed, those who look and those who set share.
#[derive(Debug)]
pub(crate) struct Shared {
    counts: [AtomicU64; Outcome::ALL.len()],
    target_us: AtomicU32,
    added_us: AtomicU32,
    /// Bits of a number; what is no number: not known.
    drift_ppm: AtomicU32,
    is_resampling: AtomicBool,
    /// Level, and peak above it.
    levels: AtomicU32,
    is_muted: AtomicBool,
    heard_us: AtomicU64,
    /// Capture's time less the local one. Both are exact at any time of reading, since this changes by the clocks' drift only.
    heard_offset_us: AtomicI64,
    volume: AtomicU32,
    extra_us: AtomicU32,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            counts: Default::default(),
            target_us: AtomicU32::default(),
            added_us: AtomicU32::default(),
            drift_ppm: AtomicU32::new(f32::NAN.to_bits()),
            is_resampling: AtomicBool::default(),
            levels: AtomicU32::new(u32::from(Level::SILENCE.0) * 257),
            is_muted: AtomicBool::default(),
            heard_us: AtomicU64::default(),
            heard_offset_us: AtomicI64::default(),
            volume: AtomicU32::new(1.0_f32.to_bits()),
            extra_us: AtomicU32::default(),
        }
    }
}

impl Shared {
    /// Counts an outcome.
    pub(crate) fn count(&self, outcome: Outcome) {
        self.count_all(outcome, 1);
    }

    /// Counts an outcome of so many packets.
    pub(crate) fn count_all(&self, outcome: Outcome, packets: u64) {
        self.counts[outcome as usize].fetch_add(packets, Ordering::Relaxed);
    }

    /// Stores what a period tells.
    pub(crate) fn tell(&self, told: &Told) {
        self.target_us.store(told.target_us, Ordering::Relaxed);
        self.added_us.store(told.added_us, Ordering::Relaxed);
        self.drift_ppm.store(told.drift_ppm.unwrap_or(f32::NAN).to_bits(), Ordering::Relaxed);
        self.is_resampling.store(told.is_resampling, Ordering::Relaxed);
        self.levels.store(u32::from(told.level.0) | (u32::from(told.peak.0) << 8), Ordering::Relaxed);
        self.is_muted.store(told.is_muted, Ordering::Relaxed);
        if let Some(Heard { capture_us, local_us }) = told.heard {
            self.heard_offset_us.store(capture_us.wrapping_sub(local_us) as i64, Ordering::Relaxed);
            self.heard_us.store(local_us, Ordering::Relaxed);
        } else {
            self.heard_us.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the factor of the other's sound that is wished for.
    pub(crate) fn gain(&self) -> f32 {
        f32::from_bits(self.volume.load(Ordering::Relaxed))
    }

    /// Returns the delay that is wished for beyond what the line needs, us.
    pub(crate) fn extra_us(&self) -> u32 {
        self.extra_us.load(Ordering::Relaxed)
    }
}

/// View of the sound that is heard. Reading it never waits, from any thread.
#[derive(Clone, Debug)]
pub struct Observed {
    pub(crate) shared: Arc<Shared>,
}

impl Observed {
    /// Returns how often an outcome has come.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.shared.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// Returns the delay aimed at beyond what is the line's own, from the capture's callback to that of playing, us.
    pub fn target_us(&self) -> u32 {
        self.shared.target_us.load(Ordering::Relaxed)
    }

    /// Returns the delay that there is, as [`Self::target_us`] counts it.
    pub fn added_us(&self) -> u32 {
        self.shared.added_us.load(Ordering::Relaxed)
    }

    /// Returns by how many parts per million the sender's clock is faster than this card's; none while not known.
    pub fn drift_ppm(&self) -> Option<f32> {
        let ppm = f32::from_bits(self.shared.drift_ppm.load(Ordering::Relaxed));
        (!ppm.is_nan()).then_some(ppm)
    }

    /// Returns true while sound is resampled from the sender's clock to this card's; otherwise its samples are as they were sent.
    pub fn is_resampling(&self) -> bool {
        self.shared.is_resampling.load(Ordering::Relaxed)
    }

    /// Returns the level of the other's sound, before volume.
    pub fn level(&self) -> Level {
        Level(self.shared.levels.load(Ordering::Relaxed) as u8)
    }

    /// Returns the greatest level, held for a while.
    pub fn peak(&self) -> Level {
        Level((self.shared.levels.load(Ordering::Relaxed) >> 8) as u8)
    }

    /// Returns true while the sender says that its microphone is muted.
    pub fn is_muted(&self) -> bool {
        self.shared.is_muted.load(Ordering::Relaxed)
    }

    /// Returns an instant that is heard now; none before sound is there.
    pub fn heard(&self) -> Option<Heard> {
        let local_us = self.shared.heard_us.load(Ordering::Relaxed);
        let capture_us = local_us.wrapping_add_signed(self.shared.heard_offset_us.load(Ordering::Relaxed));
        (local_us > 0).then_some(Heard { capture_us, local_us })
    }
}

/// Greatest factor of volume: 12 decibels.
pub const VOLUME_MAX: f32 = 4.0;
/// Greatest delay beyond what the line needs, us.
pub const EXTRA_US_MAX: u32 = 500_000;

/// Wishes for the sound that is heard. Setting them never waits, from any thread.
#[derive(Clone, Debug)]
pub struct Controls {
    pub(crate) shared: Arc<Shared>,
}

impl Controls {
    /// Sets the factor of the other's sound, from 0 to [`VOLUME_MAX`]; what is no number changes nothing.
    pub fn set_volume(&self, factor: f32) {
        if !factor.is_nan() {
            self.shared.volume.store(factor.clamp(0.0, VOLUME_MAX).to_bits(), Ordering::Relaxed);
        }
    }

    /// Sets a delay beyond what the line needs, us, at most [`EXTRA_US_MAX`]: for sound that waits for the picture.
    pub fn set_extra_us(&self, extra_us: u32) {
        self.shared.extra_us.store(extra_us.min(EXTRA_US_MAX), Ordering::Relaxed);
    }
}
