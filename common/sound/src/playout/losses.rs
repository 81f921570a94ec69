//! Shares of packets that were lost, alone and one after another.

use crate::RATE_HZ;
use crate::unit::COPIES_MAX;

/// Time that is looked back over, frames: 30 s.
const WINDOW_FRAMES: f64 = 30.0 * RATE_HZ as f64;

/// Losses of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// Packets of which it is known.
    known: f64,
    /// Share of packets that were lost with as many before them, less one.
    shares: [f64; COPIES_MAX as usize],
    /// Packets lost last, one after another.
    run: usize,
}

impl Losses {
    /// Takes whether the next packet, of so many frames, was lost.
    pub(crate) fn settle(&mut self, is_lost: bool, frames: usize) {
        self.run = if is_lost { self.run + 1 } else { 0 };
        self.known = (self.known + 1.0).min(WINDOW_FRAMES / frames.max(1) as f64);
        for (place, share) in self.shares.iter_mut().enumerate() {
            let is_run = self.run > place;
            *share += (f64::from(u8::from(is_run)) - *share) / self.known;
        }
    }

    /// Returns the share of packets that are lost together with those before them, `count` in all: as counted, and at least as if each
    /// were lost by itself. Zero where nothing was lost.
    pub(crate) fn share(&self, count: usize) -> f64 {
        let mut together = 1.0;
        for share in &self.shares[..count.min(COPIES_MAX.into())] {
            together = share.max(together * self.shares[0]);
        }
        together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the losses of packets of 64 frames.
    fn of(lost: impl Iterator<Item = bool>) -> Losses {
        let mut losses = Losses::default();
        lost.for_each(|is_lost| losses.settle(is_lost, 64));
        losses
    }

    #[test]
    fn losses_apart_are_as_if_each_were_by_itself() {
        let losses = of((0..10_000).map(|number| number % 100 == 50));
        for (count, share) in [(1, 1e-2), (2, 1e-4), (3, 1e-6), (9, 1e-6)] {
            assert!((losses.share(count) / share - 1.0).abs() < 0.05, "{count}: {:e}", losses.share(count));
        }
        assert_eq!(of((0..10_000).map(|_| false)).share(1), 0.0);
    }

    #[test]
    fn losses_in_a_row_count_as_they_come() {
        let losses = of((0..10_000).map(|number| number % 400 < 4));
        for (count, share) in [(1, 4.0 / 400.0), (2, 3.0 / 400.0), (3, 2.0 / 400.0)] {
            assert!((losses.share(count) / share - 1.0).abs() < 0.05, "{count}: {:e}", losses.share(count));
        }
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut losses = of((0..1_000).map(|number| number % 10 == 0));
        (0..5 * 30 * 750).for_each(|_| losses.settle(false, 64));
        assert!(losses.share(1) < 1e-4, "{:e}", losses.share(1));
    }
}
