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
//!
//! A frame without a reference, as a stream's first and that of a cut, is coarse in a share made for predicted ones. Where bursts have
//! shown a faster line than the rate, one of the next frames takes up to [`SHARES_MOST`] shares, as much as the line takes while a
//! frame leaves, so that nothing waits for it. The frames after it have less until that is repaid.

use std::time::Duration;

use crate::path::pacing::pacing_span;
use crate::units::Bitrate;
use crate::wire::media::BLOCKS_HEADER_BYTES;
use crate::wire::on_wire;

/// Bytes of a media header and of the rounding of a run's map.
const HEADER_BYTES: usize = BLOCKS_HEADER_BYTES + 1;
/// Largest share of a frame that parity takes.
const PARITY_PART: usize = 2;
/// Least number of datagrams of a frame that shows how full they are.
const PACKETS_MIN: usize = 4;
/// Fewest and most shares of a frame that makes a coarse picture sharp.
const SHARES_LEAST: usize = 2;
const SHARES_MOST: usize = 6;
/// Bits per pixel beyond which prediction gains little: a picture that has them is sharp.
const SHARP_BITS: f64 = 0.25;
/// Frames after a coarse one that may make it sharp: later ones have done so bit by bit.
const COARSE_FRAMES: u32 = 30;
/// Part of its share that a frame gives up until what was taken in advance is repaid.
const REPAID_PART: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Budget {
    interval: Duration,
    smallest: usize,
    sharp: Option<usize>,
    gross: usize,
    /// Bytes that the line takes while a frame leaves, as far as it is known.
    room: usize,
    max_datagram: usize,
    /// Coded bytes in the datagrams of the last frame that had enough of them.
    coded: usize,
    packets: usize,
    parity: usize,
    /// Frames that may still make a coarse picture sharp.
    coarse: u32,
    /// Bytes that a frame has taken in advance.
    owed: usize,
}

impl Budget {
    /// Creates a budget for a frame every `interval`, of which none can be coded in less than `smallest` bytes. `sharp`: bytes with which
    /// a picture is; none: no frame is predicted, and all are alike.
    pub(super) fn new(rate: Bitrate, interval: Duration, smallest: usize, sharp: Option<usize>) -> Self {
        let mut budget = Self {
            interval,
            smallest,
            sharp,
            gross: 0,
            room: 0,
            max_datagram: 0,
            coded: 0,
            packets: 0,
            parity: 0,
            coarse: 0,
            owed: 0,
        };
        budget.set_rate(rate);
        budget
    }

    /// Returns the bytes with which a predicted picture of so many pixels is sharp.
    pub(super) fn sharp(pixels: usize) -> usize {
        (SHARP_BITS * pixels as f64 / 8.0) as usize
    }

    /// Sets the rate from the next frame on.
    pub(super) fn set_rate(&mut self, rate: Bitrate) {
        self.gross = bytes(rate, self.interval);
    }

    /// Begins anew with datagrams of another size: assumes that they are three quarters full, and that two are parity.
    pub(super) fn set_max_datagram(&mut self, bytes: usize) {
        if bytes != self.max_datagram {
            self.max_datagram = bytes;
            (self.coded, self.packets) = (3 * bytes.saturating_sub(HEADER_BYTES).max(1), 4);
            self.parity = 2 * on_wire(bytes);
        }
    }

    /// Sets what the line bears beyond any doubt, bits a second; none: nobody knows.
    pub(super) fn set_line(&mut self, line: Option<Bitrate>) {
        self.room = line.map_or(0, |line| bytes(line, pacing_span(self.interval)));
    }

    /// Returns the bytes of a frame with all that is around it.
    pub(super) fn gross(&self) -> usize {
        if self.owed > 0 { self.gross - self.gross / REPAID_PART } else { self.gross }
    }

    /// Returns the bytes of a frame of `coded` bytes, with all that is around it: more than [`Self::gross`] if it makes a coarse picture
    /// sharp.
    pub(super) fn gross_of(&self, coded: usize) -> usize {
        let gross = self.gross();
        if coded > self.coded_of(gross) { self.sharpening().unwrap_or(gross) } else { gross }
    }

    /// Returns the bytes that the parity of a frame of `gross` bytes may have.
    pub(super) fn parity_most(gross: usize) -> usize {
        gross / PARITY_PART
    }

    /// Returns the bytes that a coded frame may have.
    pub(super) fn coded(&self) -> usize {
        self.coded_of(self.sharpening().unwrap_or(self.gross()))
    }

    /// Returns the bytes of a frame that makes a coarse picture sharp, with all that is around it; none: the next one is no such frame.
    fn sharpening(&self) -> Option<usize> {
        let most = self.sharp.filter(|_| self.coarse > 0 && self.owed == 0)?;
        let gross = most.min(self.room).min(SHARES_MOST.saturating_mul(self.gross));
        (gross >= SHARES_LEAST.saturating_mul(self.gross)).then_some(gross)
    }

    fn coded_of(&self, gross: usize) -> usize {
        // Parity was that of a frame of one share.
        let parity = (self.parity as u128 * gross as u128 / self.gross.max(1) as u128) as usize;
        let left = (gross - parity.min(Self::parity_most(gross))) as u128;
        let around = self.packets * on_wire(HEADER_BYTES);
        let coded = (left * self.coded as u128 / (self.coded + around).max(1) as u128) as usize;
        coded.max(self.smallest)
    }

    /// Takes a frame of `coded` bytes in `packets` datagrams that should have `parity` bytes of parity on the wire. `is_alone`: it has no
    /// reference.
    pub(super) fn on_frame(&mut self, coded: usize, packets: usize, parity: usize, is_alone: bool) {
        let (gross, share) = (self.gross_of(coded), self.gross());
        self.owed = self.owed.saturating_sub(self.gross - share);
        self.coarse = if is_alone { COARSE_FRAMES } else { self.coarse.saturating_sub(1) };
        if gross > share {
            (self.owed, self.coarse) = (gross - share, 0);
        }
        if packets >= PACKETS_MIN {
            (self.coded, self.packets) = (coded, packets);
        }
        self.parity = (parity as u128 * share as u128 / gross.max(1) as u128) as usize;
    }
}

/// Returns the bytes of `span` at this rate.
fn bytes(rate: Bitrate, span: Duration) -> usize {
    let bytes = u128::from(rate.as_bps()).saturating_mul(span.as_nanos()) / 8_000_000_000;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_with_all_around_it_meets_the_rate() {
        let mut budget = Budget::new(Bitrate::from_bps(24_000_000), Duration::from_millis(40), 0, None);
        budget.set_max_datagram(1_200);
        assert_eq!(budget.gross(), 120_000);
        // 100 datagrams of 1000 coded bytes and one of parity: 1091 each. The last one's rounding is not foreseen.
        budget.on_frame(100_000, 100, 1_091, true);
        let coded = budget.coded();
        let wire = coded + coded.div_ceil(1_000) * 91 + 1_091;
        assert!((119_900..=120_091).contains(&wire), "{wire}");
    }

    #[test]
    fn parity_leaves_room_for_the_picture_and_any_size_is_taken() {
        let mut budget = Budget::new(Bitrate::from_bps(800_000), Duration::from_micros(33_333), 0, None);
        assert_eq!(budget.coded(), 0);
        budget.set_max_datagram(1_200);
        assert!((1_400..1_700).contains(&budget.coded()), "{}", budget.coded());
        budget.set_max_datagram(0);
        budget.on_frame(0, 0, usize::MAX, true);
        assert!(budget.coded() < 3_333);
        Budget::new(Bitrate::from_bps(u64::MAX), Duration::MAX, 0, None).coded();
        assert_eq!(Budget::new(Bitrate::from_bps(1), Duration::from_millis(40), 77, None).coded(), 77);
    }

    #[test]
    fn a_coarse_picture_becomes_sharp_with_one_frame_that_is_repaid() {
        let budget = |rate: u64, line: Option<u64>| {
            let sharp = Budget::sharp(1_280 * 720);
            let mut budget = Budget::new(Bitrate::from_bps(rate), Duration::from_millis(40), 0, Some(sharp));
            budget.set_max_datagram(1_200);
            budget.set_line(line.map(Bitrate::from_bps));
            budget.on_frame(budget.coded(), 10, 0, true);
            budget
        };
        let shares = |budget: &Budget| budget.gross_of(budget.coded()) as f64 / budget.gross() as f64;
        let mut free = budget(2_000_000, Some(40_000_000));
        assert_eq!(shares(&free), 2.88, "a picture of 0.25 bit per pixel");
        let (mut sum, mut frames) = (0, 0);
        while frames == 0 || free.owed > 0 {
            sum += free.gross_of(free.coded());
            free.on_frame(free.coded(), 10, 0, frames == 20);
            frames += 1;
        }
        assert_eq!(frames, 17);
        assert!((frames * 10_000 - 1_250..=frames * 10_000).contains(&sum), "{sum}");
        for (line, wanted) in [(None, 1.0), (Some(2_100_000), 1.0), (Some(5_000_000), 1.0), (Some(6_000_000), 2.25)] {
            assert_eq!(shares(&budget(2_000_000, line)), wanted, "{line:?}");
        }
        let rates = [500_000, 8_000_000].map(|rate| shares(&budget(rate, Some(40_000_000))));
        assert_eq!(rates, [6.0, 1.0], "at most six, and none where a share does for a sharp picture");
        // What prediction has made of it by then is sharp.
        let mut late = budget(2_000_000, None);
        (0..COARSE_FRAMES).for_each(|_| late.on_frame(late.coded(), 10, 0, false));
        late.set_line(Some(Bitrate::from_bps(40_000_000)));
        assert_eq!(shares(&late), 1.0);
    }
}
