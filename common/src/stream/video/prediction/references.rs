//! The sender's knowledge of the receiver's states, and the choice of the reference frame.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use picture::coded::CodedFrame;
use picture::gaps::Gaps;
use picture::replay::Replay;

use crate::units::{FrameId, Timestamp};
use crate::wire::states::{Fate, StatesError, StatesReport};

/// Most frames that are decoded again before one frame is coded, even for a peer that reports gaps of every frame as
/// late as it can.
pub const REPLAYS_MAX: usize = 8;
/// Delay assumed for a report before one is known.
const REPORT_FIRST: Duration = Duration::from_millis(400);
/// Number of last frames whose fates are remembered.
const FATES: u32 = 16;
/// Number of frames with gaps, of these, from which on assumptions are rarely true.
const BROKEN_MAX: u32 = 12;
const _: () = assert!(BROKEN_MAX <= FATES && REPLAYS_MAX <= FATES as usize);

/// A frame that can be decoded again.
pub trait SentFrame {
    /// Returns the number of its blocks, slices of vectors included.
    fn block_count(&self) -> usize;
}

impl SentFrame for Arc<CodedFrame> {
    fn block_count(&self) -> usize {
        CodedFrame::block_count(self)
    }
}

/// Outcome of a report of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatesOutcome {
    /// The fate of frames that was open.
    News,
    /// No news: it was known already, or is of no more use.
    Known,
    /// Another fate than an earlier report told of a frame; the first one holds.
    Contradiction,
    /// It cannot be a report to this stream.
    Malformed(StatesError),
}

/// The counts since the stream was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredictionCounters {
    /// Frames coded.
    pub frames: u64,
    /// Frames coded with a reference.
    pub predicted: u64,
    /// Frames from each of these back to its reference, added up.
    pub ages: u64,
    /// Frames decoded for their states: again because a report told of gaps, or because a frame could refer to one that
    /// was coded alone.
    pub replays: u64,
    /// Hashes of states that matched.
    pub matches: u64,
    /// Hashes of states that did not.
    pub mismatches: u64,
    /// Frames whose reference the receiver did not have.
    pub lacking: u64,
    /// Reports that contradict themselves or earlier ones.
    pub contradictions: u64,
    /// Reports that cannot be of this stream.
    pub malformed: u64,
}

/// The last frames sent, and the receiver's states of them.
#[derive(Clone, Debug)]
pub struct References<F, S> {
    window: u8,
    interval: Duration,
    /// Entries of consecutive numbers.
    entries: VecDeque<Entry<F, S>>,
    last: Option<FrameId>,
    delay: Delay,
    /// A bit for each of the last frames reported: 1 if something was missing.
    broken: u32,
    /// Frames reported since the receiver began, up to the first that it has used.
    denied: u32,
    has_used: bool,
    hash: Option<(FrameId, u32)>,
    counters: PredictionCounters,
}

#[derive(Clone, Debug)]
struct Entry<F, S> {
    id: FrameId,
    /// Distance to its reference frame, frames; 0: none.
    age: u8,
    frame: F,
    coded: Timestamp,
    /// Report of its fate; none: it is assumed to have arrived whole.
    fate: Option<Fate>,
    state: State<S>,
}

#[derive(Clone, Debug)]
enum State<S> {
    /// The receiver's state, if the assumption is true.
    Known(S),
    /// It comes by [`References::on_state`], or is decoded when a frame is to refer to it.
    Awaited,
    /// To be decoded again.
    Stale,
    /// The receiver's state cannot be known.
    Unknown,
}

impl<F: SentFrame, S: Clone> References<F, S> {
    /// Creates an empty store for a stream with a frame each `interval`, which refers at most `window` frames back. With 0
    /// it only numbers frames.
    pub fn new(window: u8, interval: Duration) -> Self {
        Self {
            window,
            interval,
            entries: VecDeque::with_capacity(usize::from(window) + 1),
            last: None,
            delay: Delay::default(),
            broken: 0,
            denied: 0,
            has_used: false,
            hash: None,
            counters: PredictionCounters::default(),
        }
    }

    /// Goes on behind a frame that another store has had: the next one has the number after it, and no reference.
    #[must_use]
    pub fn after(self, last: Option<FrameId>) -> Self {
        Self { last, ..self }
    }

    /// Begins anew with a receiver that has nothing: the next frame has no reference, and nothing refers to those
    /// before it.
    pub fn restart(&mut self) {
        self.forget();
        self.delay = Delay::default();
        self.broken = 0;
        (self.denied, self.has_used) = (0, false);
    }

    /// Marks the receiver's state as unknown.
    fn forget(&mut self) {
        self.entries.clear();
        self.hash = None;
    }

    /// Returns the counts.
    pub fn counters(&self) -> PredictionCounters {
        self.counters
    }

    /// Returns the number of the next frame.
    pub fn next_frame(&self) -> FrameId {
        self.last.map_or(FrameId(0), FrameId::next)
    }

    /// Returns the frames and states kept.
    pub fn kept(&self) -> usize {
        self.entries.len()
    }

    /// Returns the state of a frame at the receiver, if a report has told its fate and that of all that it was decoded
    /// from; in it, none if the frame has yet to be decoded again.
    pub fn reported_state(&self, id: FrameId) -> Option<Option<&S>> {
        let at = self.index(id)?;
        match &self.entries[at].state {
            State::Known(state) => self.is_reported(at).then_some(Some(state)),
            State::Awaited | State::Stale => self.is_reported(at).then_some(None),
            State::Unknown => None,
        }
    }

    /// Takes a report, which came at `now`.
    pub fn on_report(&mut self, report: StatesReport, now: Timestamp) -> StatesOutcome {
        if self.last.is_none_or(|last| report.newest.is_newer_than(last)) {
            self.counters.malformed += 1;
            return StatesOutcome::Malformed(StatesError::Beyond);
        }
        let of = |back: usize| FrameId(report.newest.0.wrapping_sub(back as u32));
        let beyond = |(back, fate): (usize, &Fate)| match (self.index(of(back)), fate) {
            (Some(at), Fate::Used(gaps)) => gaps.end() > self.entries[at].frame.block_count(),
            _ => false,
        };
        if report.fates.iter().enumerate().any(beyond) {
            self.counters.malformed += 1;
            return StatesOutcome::Malformed(StatesError::Beyond);
        }
        let contradicts = |(back, fate): (usize, &Fate)| {
            let known = self.index(of(back)).and_then(|at| self.entries[at].fate.as_ref());
            known.is_some_and(|known| known != fate)
        };
        if report.fates.iter().enumerate().any(contradicts) {
            self.counters.contradictions += 1;
            return StatesOutcome::Contradiction;
        }
        let newest = self.index(report.newest).filter(|&at| self.entries[at].fate.is_none());
        if let Some(at) = newest {
            self.delay.on_report(now.since(self.entries[at].coded), self.interval);
        }
        let (mut outcome, mut lacks) = (StatesOutcome::Known, None);
        for (back, fate) in report.fates.into_iter().enumerate().rev() {
            let Some(at) = self.index(of(back)) else { continue };
            let entry = &mut self.entries[at];
            if entry.fate.is_none() {
                let is_whole = matches!(&fate, Fate::Used(gaps) if gaps.is_empty());
                self.broken = self.broken << 1 | u32::from(!is_whole);
                self.has_used |= matches!(&fate, Fate::Used(_));
                self.denied += u32::from(!self.has_used);
                if !is_whole {
                    entry.state = State::Stale;
                }
                if fate == Fate::LacksReference {
                    lacks = Some(at);
                    self.counters.lacking += 1;
                }
                entry.fate = Some(fate);
                outcome = StatesOutcome::News;
            }
        }
        for at in 0..self.entries.len() {
            if self.parent(at).and_then(|parent| self.entries.get(parent?)).is_some_and(Entry::is_stale) {
                self.entries[at].state = State::Stale;
            }
        }
        if let Some(at) = lacks {
            self.lose(at);
        }
        if let Some((back, hash)) = report.hash {
            self.hash = Some((of(back.into()), hash));
        }
        outcome
    }

    /// Returns the reference of the next frame: how many frames before it and its state at the receiver; none: it is to
    /// be coded alone. Frames are decoded again where a report has told of gaps.
    pub fn next<R: Replay<F, S>>(&mut self, now: Timestamp, decoder: &mut R) -> Result<Option<(u8, S)>, R::Error> {
        self.expire();
        let next = self.next_frame();
        let mut chosen = None;
        for id in self.wanted(now).into_iter().flatten() {
            if let Some(state) = self.state_of(id, REPLAYS_MAX, decoder)? {
                chosen = Some((id, state));
                break;
            }
        }
        chosen = chosen.or_else(|| {
            let id = self.decided().next()?;
            Some((id, self.known(id)?.clone()))
        });
        if !self.is_as_told(decoder) {
            return Ok(None);
        }
        Ok(chosen.and_then(|(id, state)| Some((u8::try_from(next.ahead_of(id)).ok()?, state))))
    }

    /// Returns the frames that the next one would refer to, the best first.
    pub(super) fn wanted(&self, now: Timestamp) -> [Option<FrameId>; 2] {
        self.candidates(now).map(|at| at.map(|at| self.entries[at].id))
    }

    /// Returns the receiver's state of a frame, for which at most `most` frames are decoded again; none if it cannot be known, or only
    /// with more of them.
    pub(super) fn state_of<R: Replay<F, S>>(
        &mut self,
        id: FrameId,
        most: usize,
        decoder: &mut R,
    ) -> Result<Option<S>, R::Error> {
        let Some(at) = self.index(id) else { return Ok(None) };
        Ok(if self.settle(at, most, decoder)? { self.known(id).cloned() } else { None })
    }

    /// Returns the frames whose fate and state are known, the newest first.
    pub(super) fn decided(&self) -> impl Iterator<Item = FrameId> + '_ {
        let known = |entry: &&Entry<F, S>| entry.fate.is_some() && matches!(entry.state, State::Known(_));
        self.entries.iter().rev().filter(known).map(|entry| entry.id)
    }

    /// Returns the state of a frame that is known without decoding any again.
    pub(super) fn known(&self, id: FrameId) -> Option<&S> {
        match &self.entries[self.index(id)?].state {
            State::Known(state) => Some(state),
            State::Awaited | State::Stale | State::Unknown => None,
        }
    }

    /// Returns how many of the last frames reported lacked something.
    fn broken(&self) -> u32 {
        (self.broken & ((1 << FATES) - 1)).count_ones()
    }

    /// Returns of how many of the last 32 frames reported something was missing, percent.
    pub(super) fn broken_percent(&self) -> u32 {
        100 * self.broken.count_ones() / u32::BITS
    }

    /// Returns how many frames the receiver has reported since it began up to now, if it has used none of them; 0: it has used one.
    pub(super) fn denied(&self) -> u32 {
        if self.has_used { 0 } else { self.denied }
    }

    /// Returns true if the receiver has said of a frame that it has used it.
    pub(super) fn has_used(&self) -> bool {
        self.has_used
    }

    /// Compares the last hash that was reported, once its state is known for certain. After a wrong one nothing is known.
    pub(super) fn is_as_told<R: Replay<F, S>>(&mut self, decoder: &R) -> bool {
        let is_right = self.is_hash_right(decoder);
        if !is_right {
            self.counters.mismatches += 1;
            self.forget();
        }
        is_right
    }

    /// Decodes one of the frames again that [`Self::next`] would decode at `now`: for the time in which there is nothing
    /// else to do. Returns false if there is none, or if there are more than `most`.
    pub fn prepare<R: Replay<F, S>>(&mut self, now: Timestamp, most: usize, decoder: &mut R) -> Result<bool, R::Error> {
        let stale = self.candidates(now).into_iter().flatten().next().and_then(|at| self.stale(at, most));
        match stale.as_ref().and_then(|stale| stale.last()) {
            Some(&oldest) => self.decode_again(oldest, decoder).map(|()| true),
            None => Ok(false),
        }
    }

    /// Forgets what is too old for the next frame to refer to.
    pub(super) fn expire(&mut self) {
        let next = self.next_frame();
        while self.entries.front().is_some_and(|oldest| next.ahead_of(oldest.id) > self.window.into()) {
            if self.entries[0].fate.is_none() {
                self.lose(0);
            } else {
                self.entries.pop_front();
            }
        }
    }

    /// Takes the last frame back, which has not left and will not: the next one must not refer to it, and has its number. Does
    /// nothing if another frame is the last one, or none.
    pub fn withdraw(&mut self, id: FrameId) {
        let entry = self.entries.pop_back_if(|entry| entry.id == id);
        if entry.is_some() || self.window == 0 && self.last == Some(id) {
            self.last = id.0.checked_sub(1).map(FrameId);
        }
        if let Some(entry) = entry {
            self.counters.frames -= 1;
            self.counters.predicted -= u64::from(entry.age > 0);
            self.counters.ages -= u64::from(entry.age);
        }
    }

    /// Takes the next coded frame, with a reference `age` frames before it (0: none), which decodes to `state`; `None` if
    /// that has yet to be computed.
    pub fn on_coded(&mut self, age: u8, frame: F, state: Option<S>, now: Timestamp) {
        self.expire();
        let id = self.next_frame();
        self.last = Some(id);
        if self.window == 0 {
            return;
        }
        // Coded for others, from what this receiver is not known to hold.
        let is_held = age == 0 || usize::from(age) <= self.entries.len();
        let state = match state {
            _ if !is_held => State::Unknown,
            Some(state) => State::Known(state),
            None => State::Awaited,
        };
        self.entries.push_back(Entry { id, age, frame, coded: now, fate: None, state });
        self.counters.frames += 1;
        self.counters.predicted += u64::from(age > 0);
        self.counters.ages += u64::from(age);
    }

    /// Takes the state that a frame decodes to, unless a report has told meanwhile that the receiver has made it of
    /// something else.
    pub fn on_state(&mut self, id: FrameId, state: S) {
        if let Some(entry) = self.index(id).and_then(|at| self.entries.get_mut(at))
            && matches!(entry.state, State::Awaited)
        {
            entry.state = State::Known(state);
        }
    }

    /// Returns the places of the entries that the next frame would refer to, the best first.
    fn candidates(&self, now: Timestamp) -> [Option<usize>; 2] {
        let newest = self.entries.len().checked_sub(1);
        let reported = self.entries.iter().rposition(|entry| entry.fate.is_some());
        let is_broken = self.broken() > BROKEN_MAX;
        let first = if is_broken || self.is_overdue(now) { reported } else { newest };
        [first, reported]
    }

    fn index(&self, id: FrameId) -> Option<usize> {
        let at = usize::try_from(id.ahead_of(self.entries.front()?.id)).ok()?;
        (at < self.entries.len()).then_some(at)
    }

    /// Returns the place of the state that an entry's state was made from, none in it if that is not kept any more;
    /// none: it was made from nothing.
    fn parent(&self, at: usize) -> Option<Option<usize>> {
        let entry = &self.entries[at];
        match (&entry.fate, entry.age) {
            (Some(Fate::NotUsed | Fate::LacksReference), _) => Some(at.checked_sub(1)),
            (_, 0) => None,
            (_, age) => Some(at.checked_sub(age.into())),
        }
    }

    fn is_reported(&self, at: usize) -> bool {
        let mut at = Some(at);
        while let Some(one) = at {
            if self.entries[one].fate.is_none() {
                return false;
            }
            at = self.parent(one).flatten();
        }
        true
    }

    /// Marks the states up to this one as unknown, and those made from them.
    fn lose(&mut self, to: usize) {
        let mut is_lost = vec![false; self.entries.len()];
        for at in 0..is_lost.len() {
            is_lost[at] = at <= to || self.parent(at).flatten().is_some_and(|parent| is_lost[parent]);
            if is_lost[at] {
                self.entries[at].state = State::Unknown;
            }
        }
        self.entries.drain(..=to);
    }

    /// Decodes the frames again from which the state at `at` is made, at most `most` of them; true if it is known then.
    fn settle<R: Replay<F, S>>(&mut self, at: usize, most: usize, decoder: &mut R) -> Result<bool, R::Error> {
        let Some(stale) = self.stale(at, most) else { return Ok(false) };
        for at in stale.into_iter().rev() {
            self.decode_again(at, decoder)?;
        }
        Ok(matches!(self.entries[at].state, State::Known(_)))
    }

    /// Returns the places of the stale states from which the one at `at` is made, itself first; `None` if more
    /// than `most` frames are to be decoded.
    fn stale(&self, at: usize, most: usize) -> Option<Vec<usize>> {
        let (mut stale, mut decodes, mut next) = (Vec::new(), 0, Some(at));
        while let Some(at) = next.filter(|&at| self.entries[at].is_stale()) {
            decodes += usize::from(self.entries[at].is_decoded());
            stale.push(at);
            next = self.parent(at).flatten();
        }
        (decodes <= most).then_some(stale)
    }

    /// Decodes the stale frame at `at` again, from a state that is not stale.
    fn decode_again<R: Replay<F, S>>(&mut self, at: usize, decoder: &mut R) -> Result<(), R::Error> {
        let entry = &self.entries[at];
        let reference = match self.parent(at) {
            None => Some(None),
            Some(parent) => match parent.map(|parent| &self.entries[parent].state) {
                Some(State::Known(state)) => Some(Some(state)),
                _ => None,
            },
        };
        let whole = Gaps::default();
        let state = match (reference, &entry.fate) {
            (None, _) => State::Unknown,
            (Some(state), Some(Fate::NotUsed | Fate::LacksReference)) => {
                state.cloned().map_or(State::Unknown, State::Known)
            }
            (Some(reference), fate) => {
                let gaps = if let Some(Fate::Used(gaps)) = fate { gaps } else { &whole };
                self.counters.replays += 1;
                State::Known(decoder.replay(&entry.frame, gaps, reference)?)
            }
        };
        self.entries[at].state = state;
        Ok(())
    }

    /// Returns true if a frame has not been reported for longer than reports take.
    fn is_overdue(&self, now: Timestamp) -> bool {
        let oldest = self.entries.iter().find(|entry| entry.fate.is_none());
        oldest.is_some_and(|oldest| now.since(oldest.coded) > self.delay.most(self.interval))
    }

    /// Compares the last hash, once the state that it is of is known for certain.
    fn is_hash_right<R: Replay<F, S>>(&mut self, decoder: &R) -> bool {
        let Some((id, hash)) = self.hash else { return true };
        let Some(at) = self.index(id) else { return true };
        let State::Known(state) = &self.entries[at].state else { return true };
        if !self.is_reported(at) {
            return true;
        }
        self.hash = None;
        let is_right = decoder.hash(state) == hash;
        self.counters.matches += u64::from(is_right);
        is_right
    }
}

impl<F, S> Entry<F, S> {
    fn is_stale(&self) -> bool {
        matches!(self.state, State::Awaited | State::Stale)
    }

    fn is_decoded(&self) -> bool {
        matches!(self.fate, None | Some(Fate::Used(_)))
    }
}

/// Delay from a coded frame to its report, estimated as RFC 6298 does for round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    /// The mean and the mean deviation, microseconds.
    known: Option<(u64, u64)>,
}

impl Delay {
    fn on_report(&mut self, took: Duration, interval: Duration) {
        // One that was held up says little about the others.
        let took = took.min(self.most(interval)).as_micros() as u64;
        self.known = Some(self.known.map_or((took, took / 2), |(mean, deviation)| {
            ((7 * mean + took) / 8, (3 * deviation + mean.abs_diff(took)) / 4)
        }));
    }

    /// Returns the time after which a report is overdue. Those of some frames are lost; the next ones tell the same.
    fn most(&self, interval: Duration) -> Duration {
        let most = |(mean, deviation)| Duration::from_micros(mean + 4 * deviation) + interval;
        self.known.map_or(REPORT_FIRST, most)
    }
}
