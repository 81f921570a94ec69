//! The numbers of frames among a recording's pictures, so that the file keeps time: frames that never came, outages and
//! a camera that is slower than it says leave pictures without a frame.

use std::collections::VecDeque;
use std::time::Duration;

use common::units::{FrameId, Timestamp};
use picture::frame::FrameRate;

/// Longest outage that a file shows by the picture before it; what comes after a longer one is another call.
pub const OUTAGE_MAX: Duration = Duration::from_secs(600);
/// Time by which a stream's part of the file may get longer than the time since its begin, seconds: a sender with
/// strange times must not make the file endless.
pub const AHEAD_MAX_S: f64 = 1.0;
/// Pictures by which a frame's number may differ from its time before the time counts: 20 ms of 30 a second.
const SLACK: f64 = 0.6;
/// Difference of a pause by two clocks that is no sign of another clock.
const SAME_CLOCK: Duration = Duration::from_millis(500);

/// A frame whose number is known.
#[derive(Clone, Copy, Debug)]
struct Known {
    number: u32,
    id: FrameId,
    capture: Timestamp,
    at: Timestamp,
}

/// Gives frames their numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    rate: f64,
    /// Pictures that a frame may refer back to.
    window: u8,
    stream: Option<u64>,
    first: Option<Known>,
    last: Option<Known>,
    /// Frames that can be referred to, and their numbers, the newest one last.
    states: VecDeque<(FrameId, u32)>,
    /// True if frames were left out that others may refer to.
    is_broken: bool,
}

/// A frame that has no number yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unnumbered {
    pub(super) stream: u64,
    pub(super) id: FrameId,
    pub(super) reference: u8,
    /// Time of capture, sender's clock.
    pub(super) capture: Timestamp,
    /// Time here.
    pub(super) at: Timestamp,
}

impl Numbers {
    pub(super) fn new(rate: FrameRate, window: u8) -> Self {
        let states = VecDeque::new();
        Self { rate: rate.as_f64(), window, stream: None, first: None, last: None, states, is_broken: false }
    }

    /// Returns the time from the last frame to one that comes at `at`.
    pub(super) fn pause(&self, at: Timestamp) -> Duration {
        self.last.map_or(Duration::ZERO, |last| at.since(last.at))
    }

    /// Notes that a frame which others may refer to is not in the file.
    pub(super) fn on_left_out(&mut self) {
        self.is_broken = true;
    }

    /// Returns a frame's number and its distance to its reference in pictures; none: it cannot be decoded from what is in
    /// the file.
    pub(super) fn next(&mut self, place: Unnumbered) -> Option<(u32, u8)> {
        if self.stream.replace(place.stream) != Some(place.stream) {
            self.first = None;
            self.states.clear();
            self.is_broken = false;
        }
        if place.reference == 0 {
            self.is_broken = false;
        }
        let found = if self.is_broken { None } else { self.refer(place, self.wanted(place)) };
        let Some((number, reference)) = found else {
            self.is_broken = true;
            return None;
        };
        let known = Known { number, id: place.id, capture: place.capture, at: place.at };
        self.first.get_or_insert(known);
        self.last = Some(known);
        if self.window > 0 {
            self.states.push_back((place.id, number));
            let oldest = FrameId(place.id.0.wrapping_sub(self.window.into()));
            while self.states.get(1).is_some_and(|second| !second.0.is_newer_than(oldest)) {
                self.states.pop_front();
            }
        }
        Some((number, reference))
    }

    /// The number that a frame has by its time.
    fn wanted(&self, place: Unnumbered) -> u32 {
        let Some(last) = self.last else { return 0 };
        let least = last.number.saturating_add(1);
        let Some(first) = self.first else {
            let (pause, of_capture) = (place.at.since(last.at), place.capture.since(last.capture));
            // The clock is that of before, or the sender's program has started anew.
            let pause = if pause.abs_diff(of_capture) < SAME_CLOCK { of_capture } else { pause };
            return last.number.saturating_add((pause.as_secs_f64() * self.rate).round() as u32).max(least);
        };
        let ids = last.number.saturating_add_signed(place.id.ahead_of(last.id));
        let of_time = |passed: Duration, more: f64| f64::from(first.number) + (passed.as_secs_f64() + more) * self.rate;
        let by_time = of_time(place.capture.since(first.capture), 0.0);
        let number = if (by_time - f64::from(ids)).abs() < SLACK { ids } else { by_time.round() as u32 };
        number.min(of_time(place.at.since(first.at), AHEAD_MAX_S) as u32).max(least)
    }

    /// The number and the distance with which a frame finds its reference: pictures without a frame are the frame before.
    fn refer(&self, place: Unnumbered, number: u32) -> Option<(u32, u8)> {
        if place.reference == 0 || self.window == 0 {
            return Some((number, 0));
        }
        let wanted = FrameId(place.id.0.wrapping_sub(place.reference.into()));
        let at = self.states.iter().rposition(|state| !state.0.is_newer_than(wanted))?;
        let Some(newer) = self.states.get(at + 1) else { return Some((number, 1)) };
        let distance =
            |number: u32| u8::try_from(number - newer.1 + 1).ok().filter(|&distance| distance <= self.window);
        let soonest = self.states.back()?.1.checked_add(1)?;
        [number, soonest].into_iter().find_map(|number| Some((number, distance(number)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(window: u8) -> Numbers {
        Numbers::new(FrameRate::new(50, 1).unwrap(), window)
    }

    /// A frame captured and here at `ms`.
    fn place(stream: u64, id: u32, reference: u8, ms: u64) -> Unnumbered {
        let at = Timestamp::from_us(1000 * ms);
        Unnumbered { stream, id: FrameId(id), reference, capture: at, at: at + Duration::from_millis(40) }
    }

    fn all(numbers: &mut Numbers, places: &[Unnumbered]) -> Vec<Option<(u32, u8)>> {
        places.iter().map(|&place| numbers.next(place)).collect()
    }

    #[test]
    fn lost_frames_a_standing_camera_and_outages_take_their_time() {
        let places = [
            place(1, 7, 0, 1000),
            place(1, 8, 0, 1025),
            place(1, 11, 0, 1075),
            // The camera stood for two seconds.
            place(1, 12, 0, 3100),
            place(1, 13, 0, 3120),
            // Another stream after ten seconds.
            place(2, 500, 0, 13_120),
            place(2, 501, 0, 13_140),
        ];
        let found: Vec<_> = all(&mut numbers(0), &places).into_iter().map(|found| found.unwrap().0).collect();
        assert_eq!(found, [0, 1, 4, 105, 106, 606, 607]);
    }

    #[test]
    fn frames_that_come_faster_than_their_rate_all_have_a_number_and_strange_times_do_not_fill_the_file() {
        let fast: Vec<_> = (0..100).map(|id| place(1, id, 0, 1000 + u64::from(id))).collect();
        assert!(all(&mut numbers(0), &fast).into_iter().map(|found| found.unwrap().0).eq(0..100));
        let mut numbers = numbers(0);
        numbers.next(place(1, 0, 0, 1000));
        let late = Unnumbered { at: Timestamp::from_us(1_060_000), ..place(1, 1, 0, 1_000_000_000) };
        assert_eq!(numbers.next(late), Some((51, 0)), "20 ms and the second that it may be ahead");
    }

    #[test]
    fn references_are_found_at_any_time() {
        let mut numbers = numbers(8);
        let places = [
            place(1, 0, 0, 1000),
            place(1, 1, 1, 1020),
            place(1, 3, 2, 1060),
            // The frame at which the one before stood, two seconds earlier.
            place(1, 4, 1, 3060),
            place(1, 5, 2, 3080),
            place(1, 6, 1, 3100),
        ];
        let wanted = [(0, 0), (1, 1), (3, 1), (103, 1), (104, 2), (105, 1)];
        assert_eq!(all(&mut numbers, &places), wanted.map(Some));
    }

    #[test]
    fn what_cannot_be_decoded_is_left_out_until_a_frame_without_a_reference() {
        let mut numbers = numbers(8);
        assert_eq!(all(&mut numbers, &[place(1, 5, 2, 1000), place(1, 6, 1, 1020)]), [None; 2]);
        assert_eq!(all(&mut numbers, &[place(1, 7, 0, 1040), place(1, 8, 1, 1060)]), [Some((0, 0)), Some((1, 1))]);
        numbers.on_left_out();
        assert_eq!(all(&mut numbers, &[place(1, 10, 1, 1100), place(1, 11, 0, 1120)]), [None, Some((4, 0))]);
    }
}
