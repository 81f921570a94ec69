//! Several receivers of one stream: a picture is coded once, from a state that all of them hold.

use std::time::Duration;

use picture::replay::Replay;

use super::references::{PredictionCounters, REPLAYS_MAX, References, SentFrame, StatesOutcome};
use crate::units::{FrameId, Timestamp};
use crate::wire::states::{Fate, StatesReport};

/// A receiver of a stream, among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverId(pub u32);

/// Counts of what a receiver keeps the others' frames from being predicted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hindrance {
    /// Percent of all frames kept by which what it is known to hold is older than what another one is known to hold; 100 if it says that it
    /// has used no frame since it began and others have, and for one who has left, until it says that it has used one.
    pub behind_percent: u32,
    /// Percent of the last frames reported by which it lacks something of more of them than the one who lacks the least.
    pub broken_percent: u32,
    /// Reports that cannot be true: they contradict others, or the picture that was computed.
    pub untrue: u64,
}

/// The last frames sent, and what each receiver holds of them. States are equal if their pictures are.
#[derive(Clone, Debug)]
pub struct Receivers<F, S> {
    window: u8,
    interval: Duration,
    /// The number of the last frame.
    last: Option<FrameId>,
    /// The last frame and the distance to its reference, until it is withdrawn.
    newest: Option<(FrameId, u8)>,
    present: Vec<(ReceiverId, References<F, S>)>,
    /// Those who have left and have said of all frames so far that they have not used them.
    denying: Vec<ReceiverId>,
    /// Counts of the stream's frames, and those of receivers that have left.
    counters: PredictionCounters,
}

impl<F: SentFrame + Clone, S: Clone + PartialEq> Receivers<F, S> {
    /// Creates the store of a stream with a frame each `interval`, which refers at most `window` frames back (0: never),
    /// behind the frame `last`. There is no receiver yet.
    pub fn new(window: u8, interval: Duration, last: Option<FrameId>) -> Self {
        Self {
            window,
            interval,
            last,
            newest: None,
            present: Vec::new(),
            denying: Vec::new(),
            counters: PredictionCounters::default(),
        }
    }

    /// Counts a receiver, which holds nothing: the next frame is coded alone. One that is there begins anew.
    pub fn join(&mut self, id: ReceiverId) {
        self.denying.retain(|denying| *denying != id);
        match self.of(id) {
            Some(references) => references.restart(),
            None => self.present.push((id, References::new(self.window, self.interval).after(self.last))),
        }
    }

    /// Counts a receiver no longer, whatever it lacks.
    pub fn leave(&mut self, id: ReceiverId) {
        let denies = self.of(id).is_some_and(|references| references.denied() > 0);
        self.denying.extend(denies.then_some(id));
        let left = self.present.extract_if(.., |(present, _)| *present == id);
        self.counters = left.fold(self.counters, |sum, (_, references)| with(sum, references.counters()));
    }

    /// Takes a receiver's report, which came at `now`. Of one who is not there nothing is known but whether it uses what it gets.
    pub fn on_report(&mut self, id: ReceiverId, report: StatesReport, now: Timestamp) -> StatesOutcome {
        if let Some(references) = self.of(id) {
            return references.on_report(report, now);
        }
        let uses = report.fates.iter().any(|fate| matches!(fate, Fate::Used(_)));
        self.denying.retain(|denying| *denying != id || !uses);
        StatesOutcome::Known
    }

    /// Returns the number of the next frame.
    pub fn next_frame(&self) -> FrameId {
        self.last.map_or(FrameId(0), FrameId::next)
    }

    /// Returns the reference of the next frame, as [`References::next`] does: the newest frame that all receivers hold in
    /// the same state; none: it is to be coded alone. If that takes more than `at_once` decodes of frames, an older frame is taken whose
    /// state is known, if there is one: the picture waits. One whose picture is not the one computed holds nothing, which is its own trouble
    /// where others hold what they say.
    pub fn next<R: Replay<F, S>>(
        &mut self,
        now: Timestamp,
        at_once: usize,
        decoder: &mut R,
    ) -> Result<Option<(u8, S)>, R::Error> {
        let next = self.next_frame();
        self.present.iter_mut().for_each(|(_, references)| references.expire());
        let mut chosen = self.choose(now, at_once, decoder)?;
        let as_told = |(_, references): &mut (ReceiverId, References<F, S>)| references.is_as_told(decoder);
        let are_as_told: Vec<_> = self.present.iter_mut().map(as_told).collect();
        if are_as_told.contains(&false) {
            let mut told = are_as_told.iter();
            let present = std::mem::take(&mut self.present);
            let (others, untrue) = present.into_iter().partition(|_| told.next() == Some(&true));
            self.present = others;
            chosen = self.choose(now, at_once, decoder)?;
            self.present.extend::<Vec<_>>(untrue);
        }
        Ok(chosen.and_then(|(id, state)| Some((u8::try_from(next.ahead_of(id)).ok()?, state))))
    }

    fn choose<R: Replay<F, S>>(
        &mut self,
        now: Timestamp,
        at_once: usize,
        decoder: &mut R,
    ) -> Result<Option<(FrameId, S)>, R::Error> {
        for most in [at_once.min(REPLAYS_MAX), REPLAYS_MAX] {
            for rank in 0..2 {
                let wanted = self.present.iter().map(|(_, references)| references.wanted(now)[rank]);
                let oldest = wanted.reduce(|a, b| if a?.is_newer_than(b?) { b } else { a }).flatten();
                if let Some(id) = oldest
                    && let Some(state) = self.shared(id, most, decoder)?
                {
                    return Ok(Some((id, state)));
                }
            }
            let decided = self.decided();
            if decided.is_some() {
                return Ok(decided);
            }
        }
        Ok(None)
    }

    /// Returns the newest frame of which all receivers are known to hold the same state, and that, without decoding any again.
    fn decided(&self) -> Option<(FrameId, S)> {
        let (_, first) = self.present.first()?;
        first.decided().find_map(|id| {
            let mut states = self.present.iter().map(|(_, references)| {
                references.known(id).filter(|_| references.decided().any(|decided| decided == id))
            });
            let state = states.next()??;
            states.all(|other| other == Some(state)).then(|| (id, state.clone()))
        })
    }

    /// Decodes a frame again that [`Self::next`] would decode at `now`, as [`References::prepare`] does.
    pub fn prepare<R: Replay<F, S>>(&mut self, now: Timestamp, most: usize, decoder: &mut R) -> Result<bool, R::Error> {
        for (_, references) in &mut self.present {
            if references.prepare(now, most, decoder)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the next coded frame, which goes to all receivers; returns its number. Its state comes by [`Self::on_state`].
    pub fn on_coded(&mut self, age: u8, frame: &F, now: Timestamp) -> FrameId {
        let id = self.next_frame();
        self.last = Some(id);
        self.newest = Some((id, age));
        self.present.iter_mut().for_each(|(_, references)| references.on_coded(age, frame.clone(), None, now));
        if self.window > 0 {
            self.counters.frames += 1;
            self.counters.predicted += u64::from(age > 0);
            self.counters.ages += u64::from(age);
        }
        id
    }

    /// Takes the state that a frame decodes to where all of it arrives.
    pub fn on_state(&mut self, id: FrameId, state: &S) {
        self.present.iter_mut().for_each(|(_, references)| references.on_state(id, state.clone()));
    }

    /// Takes back the last frame, which has not left and will not: the next one has its number. Does nothing if another
    /// frame is the last one.
    pub fn withdraw(&mut self, id: FrameId) {
        if let Some((_, age)) = self.newest.take_if(|(newest, _)| *newest == id) {
            self.last = id.0.checked_sub(1).map(FrameId);
            self.present.iter_mut().for_each(|(_, references)| references.withdraw(id));
            if self.window > 0 {
                self.counters.frames -= 1;
                self.counters.predicted -= u64::from(age > 0);
                self.counters.ages -= u64::from(age);
            }
        }
    }

    /// Returns what a receiver hinders the others by at `now`, or would; none: it is not there, and nothing speaks against it.
    pub fn hindrance(&self, id: ReceiverId, now: Timestamp) -> Option<Hindrance> {
        if self.denying.contains(&id) {
            return Some(Hindrance { behind_percent: 100, ..Hindrance::default() });
        }
        let (_, own) = self.present.iter().find(|(present, _)| *present == id)?;
        let newest = |references: &References<F, S>| references.wanted(now)[0];
        let held = self.present.iter().filter_map(|(_, references)| newest(references));
        let best = held.reduce(|a, b| if a.is_newer_than(b) { a } else { b });
        let denies = own.denied() > 0 && self.present.iter().any(|(_, references)| references.has_used());
        let of_own = newest(own).filter(|_| !denies);
        let of_window = |frames: u32| 100 * frames / u32::from(self.window).max(1);
        let behind_percent =
            best.map_or(0, |best| of_own.map_or(100, |own| of_window(best.ahead_of(own).unsigned_abs())));
        let least = self.present.iter().map(|(_, references)| references.broken_percent()).min().unwrap_or(0);
        let PredictionCounters { mismatches, contradictions, malformed, .. } = own.counters();
        Some(Hindrance {
            behind_percent,
            broken_percent: own.broken_percent() - least,
            untrue: mismatches + contradictions + malformed,
        })
    }

    /// Returns the counts: of the stream's frames, and of all receivers.
    pub fn counters(&self) -> PredictionCounters {
        self.present.iter().fold(self.counters, |sum, (_, references)| with(sum, references.counters()))
    }

    fn of(&mut self, id: ReceiverId) -> Option<&mut References<F, S>> {
        self.present.iter_mut().find(|(present, _)| *present == id).map(|(_, references)| references)
    }

    /// Returns the state of a frame if it is the same at all receivers; for each at most `most` frames are decoded again.
    fn shared<R: Replay<F, S>>(&mut self, id: FrameId, most: usize, decoder: &mut R) -> Result<Option<S>, R::Error> {
        let mut shared = None;
        for (_, references) in &mut self.present {
            let Some(state) = references.state_of(id, most, decoder)? else { return Ok(None) };
            if shared.get_or_insert_with(|| state.clone()) != &state {
                return Ok(None);
            }
        }
        Ok(shared)
    }
}

/// Adds a receiver's counts, but for those of the stream's frames.
fn with(sum: PredictionCounters, of: PredictionCounters) -> PredictionCounters {
    PredictionCounters {
        frames: sum.frames,
        predicted: sum.predicted,
        ages: sum.ages,
        replays: sum.replays + of.replays,
        matches: sum.matches + of.matches,
        mismatches: sum.mismatches + of.mismatches,
        lacking: sum.lacking + of.lacking,
        contradictions: sum.contradictions + of.contradictions,
        malformed: sum.malformed + of.malformed,
    }
}
