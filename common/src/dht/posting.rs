//! Decisions about addresses in the DHT: when they are published and looked up, and which of those that come are believed.
//!
//! After something has changed both are done soon and often, later ever more rarely, and in a call nothing is looked up. A
//! network in which nobody answers is left alone for longer and longer.

use std::time::Duration;

use crate::path::ways::{ADDRESSES_MAX, Candidate, Scope};
use crate::reach::{NOTE_BYTES, NOTE_LIFE_MS, Note};
use crate::units::Timestamp;

/// Bytes of a note with its times.
pub const TIMED_NOTE_BYTES: usize = 8 + 8 + NOTE_BYTES;
/// Bytes of such a note, sealed with a nonce and a tag before and behind it: all that is published has this size.
pub const SEALED_NOTE_BYTES: usize = 12 + TIMED_NOTE_BYTES + 16;

const _: () = assert!(SEALED_NOTE_BYTES <= super::VALUE_BYTES_MAX);

/// Milliseconds of a day, and of the time about midnight in which the day before or after is looked up as well: clocks differ.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const MIDNIGHT_MS: u64 = 15 * 60 * 1000;
/// Time by which a clock may be ahead. Nodes keep an item for two hours.
const AHEAD_MS: u64 = 10 * 60 * 1000;

/// Pauses between lookups: at first, later, and at last; and until when.
const LOOKS: [(Duration, Duration); 2] =
    [(Duration::from_secs(60), Duration::from_secs(1)), (Duration::from_secs(600), Duration::from_secs(5))];
const LOOK_RARELY: Duration = Duration::from_secs(60);
/// The same for who calls nobody: a pause is as long as the time since the last change, from this to that.
const LOOK_IDLY: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(600)];
/// Time after a knock of the other machine for which nobody who calls nobody looks it up.
const HEARD: Duration = Duration::from_secs(65);
/// Pause before something else is published, twice as long each time that nobody has stored it; and before the same is again,
/// and for who calls nobody.
const PUBLISH: Duration = Duration::from_secs(2);
const PUBLISH_AGAIN: Duration = Duration::from_secs(20 * 60);
const PUBLISH_IDLY: Duration = Duration::from_secs(60 * 60);
/// Time by which the next note may come later than it is due.
const LATE: Duration = Duration::from_secs(5 * 60);
/// Lookups without any answer after which the network is left alone, and for how long, at first and at most.
const SILENT_MAX: u32 = 2;
const ALONE: Duration = Duration::from_secs(60);
const ALONE_MAX: Duration = Duration::from_secs(30 * 60);

/// A note with its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedNote {
    /// Time at which it was made, milliseconds since 1970.
    pub made_ms: u64,
    /// Time until which its writer will be there, as far as it knows.
    pub until_ms: u64,
    /// Its writer's addresses.
    pub note: Note,
}

impl TimedNote {
    /// Returns its bytes.
    pub fn encode(&self) -> Vec<u8> {
        [self.made_ms.to_be_bytes().as_slice(), &self.until_ms.to_be_bytes(), &self.note.encode()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (made_ms, bytes) = bytes.split_first_chunk()?;
        let (until_ms, note) = bytes.split_first_chunk()?;
        let [made_ms, until_ms] = [made_ms, until_ms].map(|ms| u64::from_be_bytes(*ms));
        Some(Self { made_ms, until_ms, note: Note::decode(note)? })
    }
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Publish this machine's addresses ([`Posting::own`]).
    Publish,
    /// Look the other machine's up, of each of [`Posting::days`].
    Look,
}

/// Values that came and were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Not sealed by the other machine.
    pub sealed_by_others: u64,
    /// Sealed, and no note.
    pub malformed: u64,
    /// Made too long ago, or before one that has come.
    pub old: u64,
    /// Of the future.
    pub early: u64,
    /// Addresses in this machine or house, or too many of them.
    pub addresses: u64,
}

/// Haste in which the other machine is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// It is called, or calls.
    #[default]
    Seeks,
    /// Nobody calls: it is looked up where its knocks stay away.
    Idle,
    /// Nothing is looked up, as during a call.
    Quiet,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: Timestamp,
    is_under_way: bool,
}

/// The decisions of one machine that publishes its addresses for one other, or looks that one's up, or both.
#[derive(Clone, Debug)]
pub struct Posting {
    own: Vec<Candidate>,
    /// The addresses that were published last, and the day of that.
    published: Option<(Vec<Candidate>, u64)>,
    publish: Step,
    /// None: nothing is looked up.
    look: Option<Step>,
    pace: Pace,
    /// Times, one after the other, that nobody has stored what was published.
    in_vain: u32,
    /// Begin of the search, or of what has changed last.
    since: Timestamp,
    silent: u32,
    alone_until: Timestamp,
    newest_ms: u64,
    refused: Refused,
}

impl Posting {
    /// Begins; `looks`: whether the other machine's addresses are looked up.
    pub fn new(looks: bool, now: Timestamp) -> Self {
        let step = Step { at: now, is_under_way: false };
        Self {
            own: Vec::new(),
            published: None,
            publish: step,
            look: looks.then_some(step),
            pace: Pace::default(),
            in_vain: 0,
            since: now,
            silent: 0,
            alone_until: now,
            newest_ms: 0,
            refused: Refused::default(),
        }
    }

    /// Returns the day of that time, milliseconds since 1970, under which addresses are published.
    pub fn day(unix_ms: u64) -> u64 {
        unix_ms / DAY_MS
    }

    /// Returns the time until another day, from milliseconds since 1970.
    pub fn until_tomorrow(unix_ms: u64) -> Duration {
        Duration::from_millis(DAY_MS - unix_ms % DAY_MS)
    }

    /// Returns the days of which the other machine's addresses are looked up.
    pub fn days(unix_ms: u64) -> impl Iterator<Item = u64> {
        let (from, to) = (unix_ms.saturating_sub(MIDNIGHT_MS), unix_ms.saturating_add(MIDNIGHT_MS));
        Self::day(from)..=Self::day(to)
    }

    /// Takes this machine's addresses of now. Only those that mean something outside its house are published.
    pub fn set_own(&mut self, candidates: &[Candidate], now: Timestamp) {
        let own = in_the_world(candidates);
        if self.own != own {
            self.own = own;
            self.wake(now);
        }
    }

    /// Returns the note that is to be published. `unix_ms`: the time of now, milliseconds since 1970.
    pub fn own(&self, unix_ms: u64) -> TimedNote {
        let stays = (self.publish_again() + LATE).as_millis() as u64;
        let note = Note { candidates: self.own.clone() };
        TimedNote { made_ms: unix_ms, until_ms: unix_ms.saturating_add(stays), note }
    }

    fn publish_again(&self) -> Duration {
        if self.pace == Pace::Idle { PUBLISH_IDLY } else { PUBLISH_AGAIN }
    }

    /// Hurries from now on: a call has ended, or this machine is elsewhere.
    pub fn wake(&mut self, now: Timestamp) {
        (self.since, self.silent, self.in_vain, self.alone_until) = (now, 0, 0, now);
        if let Some(look) = &mut self.look {
            look.at = now;
        }
    }

    /// Sets the haste in which the other machine is looked for.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// A knock of the other machine has come: who calls nobody has no need to look it up, and does so when they stay away.
    pub fn on_heard(&mut self, now: Timestamp) {
        if let Some(look) = self.look.as_mut().filter(|_| self.pace == Pace::Idle) {
            (look.at, self.since) = (now + HEARD, now + HEARD);
        }
    }

    /// Returns what is to be done now, on this `day`; it is under way until [`Posting::on_end`].
    pub fn poll(&mut self, day: u64, now: Timestamp) -> Option<Due> {
        if now < self.alone_until {
            return None;
        }
        let is_other = self.published.as_ref().is_none_or(|(what, of)| *of != day || *what != self.own);
        if !self.publish.is_under_way
            && !self.own.is_empty()
            && (now >= self.publish.at && is_other || now.since(self.publish.at) >= self.publish_again())
        {
            self.published = Some((self.own.clone(), day));
            self.publish = Step { at: now, is_under_way: true };
            return Some(Due::Publish);
        }
        let look =
            self.look.as_mut().filter(|look| self.pace != Pace::Quiet && !look.is_under_way && now >= look.at)?;
        look.is_under_way = true;
        Some(Due::Look)
    }

    /// Takes the end of what was under way; returns the time for which the network is left alone from now on, if it is.
    /// `answers`: nodes that have answered; `stored`: those that have stored what was published.
    pub fn on_end(&mut self, due: Due, answers: usize, stored: usize, now: Timestamp) -> Option<Duration> {
        let span = now.since(self.since);
        match due {
            Due::Publish => {
                let pause = (PUBLISH * 2_u32.pow(self.in_vain.min(16))).min(PUBLISH_AGAIN);
                self.publish = Step { at: now + pause, is_under_way: false };
                self.in_vain = if stored == 0 { self.in_vain + 1 } else { 0 };
                if stored == 0 {
                    self.published = None;
                }
            }
            Due::Look => {
                let pause = LOOKS.iter().find(|(until, _)| span < *until).map_or(LOOK_RARELY, |(_, pause)| *pause);
                let pause = if self.pace == Pace::Idle { span.clamp(LOOK_IDLY[0], LOOK_IDLY[1]) } else { pause };
                // A knock that has come meanwhile has said when.
                self.look = self.look.map(|look| Step { at: look.at.max(now + pause), is_under_way: false });
            }
        }
        if answers > 0 {
            self.silent = 0;
            return None;
        }
        self.silent += 1;
        let doublings = self.silent.checked_sub(SILENT_MAX)?.min(16);
        let alone = (ALONE * 2_u32.pow(doublings)).min(ALONE_MAX);
        self.alone_until = now + alone;
        Some(alone)
    }

    /// Returns the time to look again.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let is_known = self.published.as_ref().is_some_and(|(what, _)| *what == self.own);
        let publish = self.publish.at + if is_known { self.publish_again() } else { Duration::ZERO };
        let publish = (!self.publish.is_under_way && !self.own.is_empty()).then_some(publish);
        let look = self.look.filter(|look| self.pace != Pace::Quiet && !look.is_under_way).map(|look| look.at);
        publish.into_iter().chain(look).min().map(|at| at.max(self.alone_until))
    }

    /// Takes a value of the other machine's item, as opened, if its seal was right; returns the note in it, with the addresses that
    /// are to be believed, if there are any and it is news. `unix_ms`: the time of now, milliseconds since 1970.
    pub fn believe(&mut self, opened: Option<&[u8]>, unix_ms: u64) -> Option<TimedNote> {
        let refused = &mut self.refused;
        let Some(opened) = opened else {
            refused.sealed_by_others += 1;
            return None;
        };
        let Some(TimedNote { made_ms, until_ms, note }) = TimedNote::decode(opened) else {
            refused.malformed += 1;
            return None;
        };
        if made_ms > unix_ms.saturating_add(AHEAD_MS) {
            refused.early += 1;
            return None;
        }
        if made_ms.saturating_add(NOTE_LIFE_MS) < unix_ms || made_ms < self.newest_ms {
            refused.old += 1;
            return None;
        }
        if made_ms == self.newest_ms {
            return None;
        }
        self.newest_ms = made_ms;
        let believed = in_the_world(&note.candidates);
        refused.addresses += (note.candidates.len() - believed.len()) as u64;
        let note = Note { candidates: believed };
        Some(TimedNote { made_ms, until_ms, note }).filter(|news| !news.note.candidates.is_empty())
    }

    /// Returns what was refused until now.
    pub fn refused(&self) -> Refused {
        self.refused
    }
}

fn in_the_world(candidates: &[Candidate]) -> Vec<Candidate> {
    let is_outside = |candidate: &&Candidate| Scope::of(candidate.address.ip()) == Scope::World;
    candidates.iter().filter(is_outside).take(ADDRESSES_MAX).copied().collect()
}

#[cfg(test)]
#[path = "posting_tests.rs"]
mod tests;
