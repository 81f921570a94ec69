//! Datagrams that came, by their sequence numbers, which begin at 0.

use crate::units::SequenceNumber;

/// Numbers below the highest that are remembered one by one.
const WINDOW: u32 = u128::BITS;

/// Counts arrivals, gaps and repetitions.
#[derive(Clone, Debug)]
pub(super) struct SequenceTracker {
    highest: SequenceNumber,
    /// Bit `i` is set if `highest - i` came.
    seen: u128,
    received: u32,
}

impl SequenceTracker {
    pub(super) const fn new() -> Self {
        Self { highest: SequenceNumber(u32::MAX), seen: 0, received: 0 }
    }

    /// Returns true if `sequence` is new, as far as is remembered.
    pub(super) fn on_datagram(&mut self, sequence: SequenceNumber) -> bool {
        let ahead = sequence.ahead_of(self.highest);
        let back = ahead.min(0).unsigned_abs();
        if ahead > 0 {
            self.seen = self.seen.checked_shl(ahead.unsigned_abs()).unwrap_or(0) | 1;
            self.highest = sequence;
        } else if back < WINDOW {
            if self.seen >> back & 1 == 1 {
                return false;
            }
            self.seen |= 1 << back;
        }
        self.received = self.received.saturating_add(1);
        true
    }

    pub(super) const fn highest(&self) -> SequenceNumber {
        self.highest
    }

    pub(super) const fn received(&self) -> u32 {
        self.received
    }

    /// Returns the count of numbers up to the highest that have not come.
    pub(super) const fn lost(&self) -> u32 {
        self.highest.0.wrapping_add(1).saturating_sub(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_repetitions_and_stragglers_are_told_apart() {
        let mut tracker = SequenceTracker::new();
        assert_eq!((tracker.received(), tracker.lost()), (0, 0));
        let new: Vec<_> = [0, 1, 5, 3, 3, 5, 0, 200, 5].map(|n| tracker.on_datagram(SequenceNumber(n))).into();
        // 5 is too far below 200 to be remembered.
        assert_eq!(new, [true, true, true, true, false, false, false, true, true]);
        assert_eq!((tracker.highest(), tracker.received(), tracker.lost()), (SequenceNumber(200), 6, 195));
    }

    #[test]
    fn any_numbers_are_taken() {
        let mut tracker = SequenceTracker::new();
        for number in [u32::MAX, 0x7fff_ffff, 0x8000_0000, 0, u32::MAX, 1] {
            tracker.on_datagram(SequenceNumber(number));
            tracker.lost();
        }
    }
}
