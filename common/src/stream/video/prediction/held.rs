//! The states that the receiver has.

use std::collections::VecDeque;
use std::time::Duration;

use picture::gaps::Gaps;

use crate::units::FrameId;
use crate::wire::states::{Fate, StatesReport};

/// The states of the last frames of a stream, and what is to be reported of them.
#[derive(Clone, Debug)]
pub struct Held<S> {
    window: u8,
    /// States of frames that were used, the newest one last. The first one may be older than the window: it is the
    /// state of those behind it that were not used.
    states: VecDeque<(FrameId, S)>,
    /// Fates of the last frames whose fate is decided, without those between them that were not used; the newest one
    /// last.
    fates: VecDeque<(FrameId, Fate)>,
    hash: Option<(FrameId, u32)>,
    asks_alone: bool,
}

impl<S> Held<S> {
    /// Creates an empty store, of a stream whose frames refer at most `window` frames back. With 0 it stays empty: no frame
    /// refers to another, and nothing is reported.
    pub fn new(window: u8) -> Self {
        let capacity = usize::from(window) + 2;
        let (states, fates) = (VecDeque::with_capacity(capacity), VecDeque::with_capacity(capacity));
        Self { window, states, fates, hash: None, asks_alone: false }
    }

    /// Returns the state that a frame with this reference is decoded from; none if it is not there.
    pub fn reference(&self, frame: FrameId, age: u8) -> Option<&S> {
        let wanted = FrameId(frame.0.wrapping_sub(age.into()));
        let is_kept = (1..=self.window).contains(&age);
        let mut until = self.states.iter().rev().skip_while(|state| state.0.is_newer_than(wanted));
        until.next().filter(|_| is_kept).map(|state| &state.1)
    }

    /// Returns the newest state.
    pub fn newest(&self) -> Option<&S> {
        self.states.back().map(|state| &state.1)
    }

    /// Lets the sender code a frame without a reference soon: the next that is used is reported as if its reference were not there. Its
    /// state is kept all the same, for the frames on their way that refer to it.
    pub fn ask_alone(&mut self) {
        self.asks_alone = self.window > 0;
    }

    /// Keeps the state of a frame that was decoded without `gaps`, and its hash if it has one. Frames come in rising
    /// order; others are left out. `state`: none if the stream keeps none.
    pub fn on_used(&mut self, frame: FrameId, gaps: Gaps, state: impl Into<Option<S>>, hash: Option<u32>) {
        let asks_alone = self.asks_alone;
        if self.decide(frame, if asks_alone { Fate::LacksReference } else { Fate::Used(gaps) }) {
            self.asks_alone = false;
            self.states.extend(state.into().map(|state| (frame, state)));
            let oldest = FrameId(frame.0.wrapping_sub(self.window.into()));
            while self.states.get(1).is_some_and(|second| !second.0.is_newer_than(oldest)) {
                self.states.pop_front();
            }
            // The sender takes none for one that it believes to be unused.
            self.hash = hash.filter(|_| !asks_alone).map(|hash| (frame, hash)).or(self.hash);
        }
    }

    /// Notes that a frame was not decoded because its reference is not there.
    pub fn on_lacking(&mut self, frame: FrameId) {
        self.decide(frame, Fate::LacksReference);
    }

    /// Notes that a frame was not decoded for another reason.
    pub fn on_not_used(&mut self, frame: FrameId) {
        self.decide(frame, Fate::NotUsed);
    }

    fn decide(&mut self, frame: FrameId, fate: Fate) -> bool {
        if self.window == 0 || self.fates.back().is_some_and(|last| !frame.is_newer_than(last.0)) {
            return false;
        }
        if self.fates.len() == usize::from(self.window) {
            self.fates.pop_front();
        }
        self.fates.push_back((frame, fate));
        true
    }

    /// Returns true if a frame is not worth decoding, behind which `waiting` newer ones wait, of a decoder that takes
    /// `took` for each and of a stream with one each `interval`.
    pub fn leaves_out(&self, waiting: usize, took: Duration, interval: Duration) -> bool {
        match self.window {
            // The newest is shown, and sooner without the others.
            0 => waiting >= 2 || waiting > 0 && 2 * took > interval,
            // The next ones are decoded from it: only a decoder that never catches up leaves some out.
            _ => waiting > 0 && took > interval,
        }
    }

    /// Returns the fates of the last frames; none before the first one.
    pub fn report(&self) -> Option<StatesReport> {
        let newest = self.fates.back()?.0;
        let mut known = self.fates.iter().rev().peekable();
        let fates = (0..u32::from(self.window)).map_while(|back| {
            let id = FrameId(newest.0.wrapping_sub(back));
            match known.next_if(|fate| fate.0 == id) {
                Some((_, fate)) => Some(fate.clone()),
                // Nothing is said of frames before the first one.
                None => known.peek().map(|_| Fate::NotUsed),
            }
        });
        let fates: Vec<_> = fates.collect();
        let told = |hash: (FrameId, u32)| {
            let back = usize::try_from(newest.ahead_of(hash.0)).ok().filter(|&back| back < fates.len())?;
            Some((u8::try_from(back).ok()?, hash.1))
        };
        Some(StatesReport { newest, hash: self.hash.and_then(told), fates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(held: &mut Held<u32>, frames: &[u32]) {
        frames.iter().for_each(|&frame| held.on_used(FrameId(frame), Gaps::default(), frame, None));
    }

    #[test]
    fn the_state_of_a_frame_that_did_not_come_is_the_one_before() {
        let mut held = Held::new(4);
        assert_eq!((held.reference(FrameId(0), 1), held.report()), (None, None));
        used(&mut held, &[5, 6, 9]);
        let reference = |held: &Held<u32>, frame, age| held.reference(FrameId(frame), age).copied();
        assert_eq!([1, 2, 3, 4, 5].map(|age| reference(&held, 10, age)), [Some(9), Some(6), Some(6), Some(6), None]);
        assert_eq!((reference(&held, 9, 4), reference(&held, 8, 4), reference(&held, 10, 0)), (Some(5), None, None));
        // However long nothing comes, one is there.
        used(&mut held, &[200]);
        assert_eq!((reference(&held, 201, 1), reference(&held, 201, 2), held.states.len()), (Some(200), Some(9), 2));
        used(&mut held, &[200, 7]);
        assert_eq!(held.states.len(), 2, "only newer ones are kept");
        let mut wrapping = Held::new(4);
        used(&mut wrapping, &[u32::MAX - 1, u32::MAX, 1]);
        assert_eq!([1, 2, 3].map(|age| reference(&wrapping, 2, age)), [Some(1), Some(u32::MAX), Some(u32::MAX)]);
    }

    #[test]
    fn a_frame_alone_is_asked_for_and_those_on_their_way_find_their_states() {
        let mut held = Held::new(4);
        used(&mut held, &[5]);
        held.ask_alone();
        held.on_not_used(FrameId(6));
        held.on_used(FrameId(7), Gaps::default(), 7, Some(1));
        used(&mut held, &[8]);
        assert_eq!([8, 9].map(|frame| held.reference(FrameId(frame), 1).copied()), [Some(7), Some(8)]);
        let report = held.report().unwrap();
        let whole = || Fate::Used(Gaps::default());
        assert_eq!((report.hash, report.fates), (None, vec![whole(), Fate::LacksReference, Fate::NotUsed, whole()]));
        let mut without = Held::<u32>::new(0);
        without.ask_alone();
        assert!(!without.asks_alone);
    }

    #[test]
    fn a_stream_without_states_keeps_and_reports_nothing() {
        let mut held = Held::new(0);
        used(&mut held, &[5, 6, 9]);
        held.on_lacking(FrameId(10));
        assert_eq!((held.reference(FrameId(11), 1), held.newest(), held.report()), (None, None, None));
        assert!(held.fates.is_empty() && held.states.is_empty());
        // Of 33 ms.
        let leaves_out = |held: &Held<u32>, ms| {
            let [took, interval] = [ms, 33].map(Duration::from_millis);
            [0, 1, 2, 9].map(|waiting| held.leaves_out(waiting, took, interval))
        };
        assert_eq!(leaves_out(&held, 16), [false, false, true, true]);
        assert_eq!(leaves_out(&held, 17), [false, true, true, true]);
        assert_eq!(leaves_out(&Held::new(4), 33), [false; 4]);
        assert_eq!(leaves_out(&Held::new(4), 34), [false, true, true, true]);
    }

    #[test]
    fn a_report_tells_of_the_last_frames_without_a_hole() {
        let mut held = Held::new(4);
        held.on_used(FrameId(5), Gaps::default(), 5, Some(77));
        let whole = || Fate::Used(Gaps::default());
        let report = held.report().unwrap();
        assert_eq!((report.newest, report.hash, report.fates), (FrameId(5), Some((0, 77)), vec![whole()]));
        held.on_lacking(FrameId(7));
        used(&mut held, &[8]);
        let report = held.report().unwrap();
        assert_eq!((report.newest, report.hash), (FrameId(8), Some((3, 77))));
        assert_eq!(report.fates, [whole(), Fate::LacksReference, Fate::NotUsed, whole()]);
        used(&mut held, &[20]);
        let report = held.report().unwrap();
        assert_eq!((report.hash, report.fates.len()), (None, 4));
        assert_eq!((&report.fates[0], report.fates[1..].iter().all(|fate| *fate == Fate::NotUsed)), (&whole(), true));
    }
}
