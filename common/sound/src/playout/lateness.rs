//! Lateness of packets' own sound: the quantile that the delay has to bear. What was held with everything else does not count.

use crate::RATE_HZ;

/// Width of a bin, frames: 0.05 ms.
const BIN_FRAMES: f64 = RATE_HZ as f64 / 20_000.0;
/// Bins, the last one for all that is later: 50 ms.
const BINS: usize = 1000;
/// Time that is looked back over, frames: 20 s.
const WINDOW_FRAMES: usize = 20 * RATE_HZ as usize;
/// Packets in that time at most.
const ENTRIES: usize = WINDOW_FRAMES / 64;
/// Time without a packet after which those that then come were held by a pause, frames: 25 ms. Jitter of 5 ms leaves such a hole in
/// most of an hour not once.
const PAUSE_FRAMES: f64 = RATE_HZ as f64 / 40.0;

/// Lateness of the last packets.
#[derive(Debug)]
pub(crate) struct Lateness {
    counts: Vec<u32>,
    /// Bins of the last packets, in a ring.
    entries: Vec<u16>,
    next: usize,
    last_arrival: f64,
    is_pause: bool,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; BINS],
            entries: Vec::with_capacity(ENTRIES),
            next: 0,
            last_arrival: f64::INFINITY,
            is_pause: false,
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.entries.clear();
        (self.next, self.last_arrival, self.is_pause) = (0, f64::INFINITY, false);
    }

    /// Takes a packet of so many frames that came at `arrival`, later by `late` than the fastest, and returns true where it ends a pause.
    pub(crate) fn arrive(&mut self, arrival: f64, late: f64, frames: usize) -> bool {
        let waited = arrival - std::mem::replace(&mut self.last_arrival, arrival);
        let is_first = waited > PAUSE_FRAMES && late > PAUSE_FRAMES / 2.0;
        // What was held comes at once, faster than it is played: the last of it, too, which is hardly late.
        self.is_pause = is_first || (self.is_pause && waited < frames as f64 / 2.0);
        if self.is_pause {
            return is_first;
        }
        let bin = (late / BIN_FRAMES).clamp(0.0, BINS as f64 - 1.0) as u16;
        let window = (WINDOW_FRAMES / frames.max(1)).min(ENTRIES);
        self.counts[usize::from(bin)] += 1;
        if self.entries.len() < window {
            self.entries.push(bin);
        } else {
            self.next = (self.next + 1) % self.entries.len();
            let old = std::mem::replace(&mut self.entries[self.next], bin);
            self.counts[usize::from(old)] -= 1;
        }
        false
    }

    /// Takes that the line has become longer by so many frames a moment ago: what has come since was measured against its shorter way.
    pub(crate) fn lower(&mut self, longer: f64) {
        let bins = (longer / BIN_FRAMES).clamp(0.0, BINS as f64 - 1.0) as u16;
        if bins == 0 {
            return;
        }
        self.counts.fill(0);
        for bin in &mut self.entries {
            // What came before the change was less late than that, and stays as it was.
            *bin -= if *bin >= bins { bins } else { 0 };
            self.counts[usize::from(*bin)] += 1;
        }
    }

    /// Returns the lateness that all but this share of packets keep, frames.
    pub(crate) fn quantile(&self, late_share: f64) -> f64 {
        let mut left = (late_share * self.entries.len() as f64) as u32;
        for (bin, &count) in self.counts.iter().enumerate().rev() {
            if count > left {
                return (bin + 1) as f64 * BIN_FRAMES;
            }
            left -= count;
        }
        0.0
    }
}
