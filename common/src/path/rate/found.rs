//! Sound that others send on our line, found by what it takes of it.
//!
//! While nobody has said that there is any, frames leave somewhat faster than the line takes them, and fill it. What left at one time
//! arrives at the distances of the line ([`super::line`]). A whole frame takes longer if packets of another program come between its
//! datagrams: by what these bring in the time in which it left. Sound brings the same in each frame, for seconds; a page that is
//! loaded does not, nor does a line whose rate changes. Where a radio or a program holds datagrams nothing is looked at for a while:
//! it makes frames longer, too. What takes less than a part of the line is not found: the distances are not
//! known so well.

use std::collections::VecDeque;

use crate::units::Timestamp;

/// Frames whose sight decides, how far apart they are at least, and within what time they are seen, microseconds.
const SIGHTS: usize = 50;
const SIGHT_US: u64 = 40_000;
const WITHIN_US: u64 = 15_000_000;
/// Time after datagrams that something has held in which nothing is looked at, microseconds.
const HELD_US: u64 = 5_000_000;
/// Ratio of the time of arriving to that of leaving from which on a frame has filled the line.
const FILLED: f64 = 1.08;
/// Least and most of the line, and bits a second, that are taken for sound.
const OF_LINE: [f64; 2] = [0.07, 0.6];
const BPS: [f64; 2] = [500e3, 6e6];
/// Ratio of the upper and of the lower quarter of what is seen to the middle, up to which it is one steady stream.
const STEADY: f64 = 1.5;
/// Ratio of what the line bears at the most to the least, up to which it is one that does not change.
const SAME_LINE: f64 = 1.3;

/// Measurement of a frame.
#[derive(Clone, Copy, Debug)]
struct Sight {
    /// Arrival, microseconds.
    at: u64,
    /// Bits a second that the line bears, and the part of it that others took.
    line: f64,
    others: f64,
}

/// The last frames, and what each has shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Sights {
    sights: VecDeque<Sight>,
    /// Time before which nothing is looked at, microseconds.
    blind_until: u64,
    /// Bits a second that were found.
    pub(super) bps: Option<f64>,
}

impl Sights {
    /// Takes a part of a frame with so many bits, without its first datagram's, on a line that bears `line` bits a second. Times in
    /// which it left and arrived: seconds.
    pub(super) fn on_run(&mut self, line: f64, bits: f64, sent_s: f64, received_s: f64, at: Timestamp) {
        let at = at.as_us();
        let is_new = self.sights.back().is_none_or(|last| at.saturating_sub(last.at) >= SIGHT_US);
        if received_s < FILLED * sent_s || !is_new || at < self.blind_until {
            return;
        }
        self.sights.push_back(Sight { at, line, others: (received_s - bits / line) / sent_s });
        let is_old = |first: &Sight| at.saturating_sub(first.at) > WITHIN_US;
        while self.sights.len() > SIGHTS || self.sights.front().is_some_and(is_old) {
            self.sights.pop_front();
        }
        if self.sights.len() == SIGHTS {
            self.decide();
        }
    }

    fn decide(&mut self) {
        let [others, lines] = [|sight: &Sight| sight.others, |sight: &Sight| sight.line].map(|of| {
            let mut values: Vec<_> = self.sights.iter().map(of).collect();
            values.sort_unstable_by(f64::total_cmp);
            [0, 1, 2, 3, 4].map(|quarter| values[(values.len() - 1) * quarter / 4])
        });
        let [_, lower, middle, upper, _] = others;
        // A line that changes delays frames by itself.
        let is_steady = upper < STEADY * middle && middle < STEADY * lower && lines[4] < SAME_LINE * lines[0];
        let ([least, most], [least_bps, most_bps]) = (OF_LINE, BPS);
        let bps = middle * lines[2];
        if is_steady && (least..most).contains(&middle) && (least_bps..most_bps).contains(&bps) {
            self.bps = Some(bps);
            self.sights.clear();
        }
    }

    /// Takes notice that something held datagrams at `at`: where radios pause and programs stall, frames are longer for that, too.
    pub(super) fn on_hold(&mut self, at: Timestamp) {
        self.blind_until = at.as_us().saturating_add(HELD_US);
        self.clear();
    }

    /// Forgets what was seen: a queue of others', or another way.
    pub(super) fn clear(&mut self) {
        self.sights.clear();
    }
}
