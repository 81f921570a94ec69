//! Bytes of the next frame.
//!
//! With the rate R and the frame interval T, a frame and everything around it may take `gross = R T / 8` bytes:
//!
//! ```text
//! coded + datagrams * (header + map rounding + lower layers) + parity datagrams <= gross
//! ```
//!
//! Blocks stay whole, so datagrams are not full. The coded bytes that one holds are those of the last frame, and so is
//! the size of its parity; both change little from frame to frame.

use std::time::Duration;

use crate::units::Bitrate;
use crate::wire::media::BLOCKS_HEADER_BYTES;
use crate::wire::on_wire;

/// Bytes of a media header and of the rounding of a run's map.
const HEADER_BYTES: usize = BLOCKS_HEADER_BYTES + 1;
/// Largest share of a frame that parity takes.
const PARITY_PART: usize = 2;
/// Least number of datagrams of a frame that shows how full they are.
const PACKETS_MIN: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Budget {
    interval: Duration,
    smallest: usize,
    gross: usize,
    max_datagram: usize,
    /// Coded bytes in the datagrams of the last frame that had enough of them.
    coded: usize,
    packets: usize,
    parity: usize,
}

impl Budget {
    /// Creates a budget for a frame every `interval`, of which none can be coded in less than `smallest` bytes.
    pub(super) fn new(rate: Bitrate, interval: Duration, smallest: usize) -> Self {
        let mut budget = Self { interval, smallest, gross: 0, max_datagram: 0, coded: 0, packets: 0, parity: 0 };
        budget.set_rate(rate);
        budget
    }

    /// Sets the rate from the next frame on.
    pub(super) fn set_rate(&mut self, rate: Bitrate) {
        let gross = u128::from(rate.as_bps()).saturating_mul(self.interval.as_nanos()) / 8_000_000_000;
        self.gross = usize::try_from(gross).unwrap_or(usize::MAX);
    }

    /// Begins anew with datagrams of another size: assumes that they are three quarters full, and that two are parity.
    pub(super) fn set_max_datagram(&mut self, bytes: usize) {
        if bytes != self.max_datagram {
            self.max_datagram = bytes;
            (self.coded, self.packets) = (3 * bytes.saturating_sub(HEADER_BYTES).max(1), 4);
            self.parity = 2 * on_wire(bytes);
        }
    }

    /// Returns the bytes of a frame with all that is around it.
    pub(super) fn gross(&self) -> usize {
        self.gross
    }

    /// Returns the bytes that its parity may have.
    pub(super) fn parity_most(&self) -> usize {
        self.gross / PARITY_PART
    }

    /// Returns the bytes that a coded frame may have.
    pub(super) fn coded(&self) -> usize {
        let left = (self.gross - self.parity.min(self.parity_most())) as u128;
        let around = self.packets * on_wire(HEADER_BYTES);
        let coded = (left * self.coded as u128 / (self.coded + around).max(1) as u128) as usize;
        coded.max(self.smallest)
    }

    /// Takes a frame of `coded` bytes in `packets` datagrams that should have `parity` bytes of parity on the wire.
    pub(super) fn on_frame(&mut self, coded: usize, packets: usize, parity: usize) {
        if packets >= PACKETS_MIN {
            (self.coded, self.packets) = (coded, packets);
        }
        self.parity = parity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_with_all_around_it_meets_the_rate() {
        let mut budget = Budget::new(Bitrate::from_bps(24_000_000), Duration::from_millis(40), 0);
        budget.set_max_datagram(1_200);
        assert_eq!(budget.gross(), 120_000);
        // 100 datagrams of 1000 coded bytes and one of parity: 1091 each. The last one's rounding is not foreseen.
        budget.on_frame(100_000, 100, 1_091);
        let coded = budget.coded();
        let wire = coded + coded.div_ceil(1_000) * 91 + 1_091;
        assert!((119_900..=120_091).contains(&wire), "{wire}");
    }

    #[test]
    fn parity_leaves_room_for_the_picture_and_any_size_is_taken() {
        let mut budget = Budget::new(Bitrate::from_bps(800_000), Duration::from_micros(33_333), 0);
        assert_eq!(budget.coded(), 0);
        budget.set_max_datagram(1_200);
        assert!((1_400..1_700).contains(&budget.coded()), "{}", budget.coded());
        budget.set_max_datagram(0);
        budget.on_frame(0, 0, usize::MAX);
        assert!(budget.coded() < 3_333);
        Budget::new(Bitrate::from_bps(u64::MAX), Duration::MAX, 0).coded();
        assert_eq!(Budget::new(Bitrate::from_bps(1), Duration::from_millis(40), 77).coded(), 77);
    }
}
