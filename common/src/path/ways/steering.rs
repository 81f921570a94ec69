//! Decisions which way the packets of a call take, of all on which its two ends reach each other.
//!
//! A call begins on the first way that works, often one through a relay. While it lasts, each end asks the other on every
//! way that it knows. A question bears a nonce; the answer that returns it on the same way shows that the way works in both
//! directions, and that the other end is there: who has not heard the question cannot answer it. What goes to where nobody
//! has answered is short and counts in the [`Allowance`], and no packet of the call goes there.
//!
//! - **Better.** A way through fewer relays takes over once it has answered [`PROVED`] questions in a row, each as long as
//!   the call's longest packet, and is not slower. Ways through equally many differ little: none is left for another.
//! - **Dying.** The way in use is left when it has not answered [`LOST`] questions in a row and another has answered one that
//!   was asked later than the first of these. So neither a stall of a program, nor silence on all ways, nor some loss
//!   changes anything.
//! - **Back and forth.** A way that was left is shunned for [`SHUN`], then for twice as long each time it dies soon after it
//!   was taken, [`SHUN_MAX`] at most, unless there is no other.
//!
//! Each end decides alone on which way it sends; whatever an end has proved, the other hears on it. The connection is one all
//! the time.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::allowance::Allowance;
use super::candidate::{Candidate, usable};
use super::checklist::{Check, Checklist};
use super::kinds::{Base, Kind, Origin, Pair};
use super::probe::{ANSWER_BYTES, QUESTION_BYTES};
use super::scope::Scope;
use crate::units::Timestamp;

/// Answers in a row that prove a better way.
const PROVED: u32 = 8;
/// Questions in a row without an answer that make the way in use a dying one.
const LOST: usize = 5;
/// Time beyond the round trip after which a question without an answer is lost.
const LATE: Duration = Duration::from_millis(20);
/// Time beyond two round trips without an answer, after which all ways are asked faster.
const DOUBT: Duration = Duration::from_millis(150);
/// Longest round trip beyond that of the way in use, with which another is better.
const SLOWER_MAX: Duration = Duration::from_millis(10);
/// Time for which a way is shunned that has died, at first and at most.
const SHUN: Duration = Duration::from_secs(4);
const SHUN_MAX: Duration = Duration::from_secs(64);
/// From one question to the next: on the way in use if there is another, and on one that is to be proved; in doubt; where
/// nobody has answered yet but may soon; otherwise.
const ASK: Duration = Duration::from_millis(100);
const ASK_DOUBT: Duration = Duration::from_millis(50);
const ASK_KEEN: Duration = Duration::from_millis(200);
const ASK_LATER: Duration = Duration::from_secs(2);
/// Shortest time from one question to the next, whatever is heard.
const ASK_MIN: Duration = Duration::from_millis(20);
/// Time for which new addresses may soon answer.
const KEEN: Duration = Duration::from_secs(5);
/// Time for which an answer shows that a way works.
const ALIVE: Duration = Duration::from_secs(5);
/// Questions that wait for an answer.
const OPEN_MAX: usize = 64;
/// Long questions that a better way gets before it is shunned, if they do not prove it.
const TRIES_MAX: u32 = 60;
/// Round trips of which the shortest counts.
const ROUND_TRIPS: usize = 8;

const _: () = assert!(ASK_MIN.as_millis() < ASK_DOUBT.as_millis() && ASK_DOUBT.as_millis() < ASK.as_millis());
const _: () = assert!(ASK.as_millis() < ASK_KEEN.as_millis() && ASK_KEEN.as_millis() < ASK_LATER.as_millis());
const _: () = assert!(ASK_LATER.as_millis() < ALIVE.as_millis(), "a way goes on working while questions are rare");
const _: () = assert!(LOST < OPEN_MAX && PROVED < TRIES_MAX && SHUN.as_millis() < SHUN_MAX.as_millis());

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Ask the other end on this way.
    Ask {
        /// The way to send it, and to get the answer.
        pair: Pair,
        /// Number of the question, higher than all before.
        number: u64,
        /// Bits that the answer returns.
        nonce: u64,
        /// True if it must be as long as the longest packet of the call.
        is_full: bool,
    },
    /// Send the call's packets on this way from now on.
    Take(Pair),
}

/// The ways of one call, for one of its ends. It knows no socket and no clock.
#[derive(Clone, Debug)]
pub struct Steering {
    base: Pair,
    used: Pair,
    checks: Checklist<Questions>,
    number: u64,
    heard: Heard,
    keen_until: Timestamp,
    /// Addresses that this machine's own user has given.
    given: Vec<SocketAddr>,
}

/// The newest of the other end's questions: its number, and a bit for each of those up to it, the newest lowest (as in
/// RFC 4303, appendix A2). Questions overtake each other on ways of different length.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    newest: u64,
    bits: u64,
}

impl Heard {
    /// Returns true for a question that is new: somebody else may have sent an old one again. Too old ones are not new.
    fn is_new(&mut self, number: u64) -> bool {
        if number > self.newest {
            let by = u32::try_from(number - self.newest).unwrap_or(u32::MAX);
            self.bits = self.bits.checked_shl(by).unwrap_or(0) | 1;
            self.newest = number;
            return true;
        }
        let bit = u32::try_from(self.newest - number).ok().and_then(|back| 1_u64.checked_shl(back));
        let Some(bit) = bit.filter(|bit| self.bits & bit == 0) else { return false };
        self.bits |= bit;
        number > 0
    }
}

/// A question that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Question {
    nonce: u64,
    at: Timestamp,
    is_full: bool,
}

/// The questions on one way.
#[derive(Clone, Debug, Default)]
struct Questions {
    /// Asked since the newest question that was answered, oldest first.
    open: VecDeque<Question>,
    /// Time of the last answer, and of its question.
    answered: Option<(Timestamp, Timestamp)>,
    /// Full questions in a row that were answered, and all that were asked since the way was shunned.
    passed: u32,
    tries: u32,
    round_trips: VecDeque<Duration>,
    taken: Timestamp,
    shun: Duration,
    shunned_until: Timestamp,
}

impl Questions {
    fn is_alive(&self, now: Timestamp) -> bool {
        self.answered.is_some_and(|(at, _)| now.since(at) < ALIVE)
    }

    fn round_trip(&self) -> Option<Duration> {
        self.round_trips.iter().min().copied()
    }

    /// Returns the time from which on answers are overdue; none: nothing was asked.
    fn overdue_at(&self) -> Option<Timestamp> {
        let first = self.open.front()?;
        Some(first.at + DOUBT + 2 * self.round_trip().unwrap_or(DOUBT))
    }

    fn is_overdue(&self, now: Timestamp) -> bool {
        self.overdue_at().is_some_and(|at| at <= now)
    }

    /// Returns true if so many questions in a row are lost that it works no more.
    fn has_died(&self, now: Timestamp) -> bool {
        let answered_by = self.round_trip().unwrap_or(DOUBT) + LATE;
        self.is_overdue(now) && self.open.get(LOST - 1).is_some_and(|last| last.at + answered_by <= now)
    }

    /// Notes a question that leaves now.
    fn ask(&mut self, nonce: u64, is_full: bool, now: Timestamp) {
        self.tries += u32::from(is_full);
        if self.tries > TRIES_MAX {
            self.shun(now);
        }
        if self.open.len() >= OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back(Question { nonce, at: now, is_full });
    }

    /// Takes the answer that returns `nonce`; false if no such question waits.
    fn answer(&mut self, nonce: u64, now: Timestamp) -> bool {
        let Some(at) = self.open.iter().position(|question| question.nonce == nonce) else { return false };
        // Those asked before are lost, or have been overtaken.
        let Some(question) = self.open.drain(..=at).next_back() else { return false };
        self.passed = match (question.is_full, at) {
            (true, 0) => self.passed + 1,
            (true, _) => 1,
            (false, _) => 0,
        };
        self.answered = Some((now, question.at));
        self.round_trips.truncate(ROUND_TRIPS - 1);
        self.round_trips.push_front(now.since(question.at));
        true
    }

    /// Leaves the way alone for longer than the last time.
    fn shun(&mut self, now: Timestamp) {
        self.shun = (2 * self.shun).clamp(SHUN, SHUN_MAX);
        self.shunned_until = now + self.shun;
        (self.passed, self.tries) = (0, 0);
    }
}

impl Check<Questions> {
    /// Order of preference among ways that work.
    fn rank(&self, now: Timestamp) -> (bool, u8, Kind, Option<Duration>) {
        (now < self.own.shunned_until, self.relays(), self.kind(), self.own.round_trip())
    }
}

impl Steering {
    /// Begins with a call on the way `base`, which is of that kind and on which the handshake has come about.
    pub fn new(base: Pair, kind: Kind, now: Timestamp) -> Self {
        let mut checks = Checklist::<Questions>::new(QUESTION_BYTES);
        // Of a way through this end's relay the kind says only that. Where that sends to, packets may get without it.
        let candidate = if base.is_relayed() && kind == Kind::Relayed { Kind::PeerReflexive } else { kind };
        checks.insert(base, candidate, Origin::Call, now);
        if let Some(check) = checks.get_mut(base) {
            check.own.taken = now;
            check.prove(now);
        }
        if base.is_relayed() {
            checks.insert(base.to.into(), candidate, Origin::Call, now);
        }
        checks.pinned = vec![base, base.to.into()];
        Self { base, used: base, checks, number: 0, heard: Heard::default(), keen_until: now + KEEN, given: Vec::new() }
    }

    /// Returns the way in use.
    pub fn used(&self) -> Pair {
        self.used
    }

    /// Returns the kind of a way; none if it is not known.
    pub fn kind_of(&self, pair: Pair) -> Option<Kind> {
        self.checks.kind_of(pair)
    }

    /// Returns true if the other end has shown not long ago that it is at the end of this way: by an answer, or by the call's
    /// handshake.
    pub fn is_proved(&self, pair: Pair, now: Timestamp) -> bool {
        self.checks.get(pair).is_some_and(|check| check.is_proved(now))
    }

    /// Returns how many pairs are remembered.
    pub fn pairs(&self) -> usize {
        self.checks.len()
    }

    /// Sets the addresses of the other end that this machine's own user has given.
    pub fn set_given(&mut self, addresses: Vec<SocketAddr>) {
        self.given = addresses;
    }

    /// Takes all addresses at which the other end may be, soon: those told before that are not among them are forgotten, unless
    /// they work. Those that mean something in this machine or house are left out, unless the other end is proved to be there, or
    /// this machine's own user has given them.
    pub fn set_told(&mut self, candidates: &[Candidate], now: Timestamp) {
        self.checks.tell(Origin::Call, candidates);
        self.take_told(now);
    }

    fn take_told(&mut self, now: Timestamp) {
        let direct = self.checks.iter().filter(|check| check.is_proved(now) && check.relays() == 0);
        let near = direct.map(|check| Scope::of(check.pair.to.ip())).min().unwrap_or(Origin::Call.scope());
        let is_near = |told: &Candidate| Scope::of(told.address.ip()) >= near || self.given.contains(&told.address);
        let new = self.checks.take_news(|_, told| is_near(told), |check| check.own.is_alive(now), now);
        if new.is_some_and(|new| new > 0) {
            self.keen_until = now + KEEN;
        }
    }

    /// Asks from another base of this end as well from now on, in the place of such a one before. `at`: of a relay, the address
    /// from which it passes packets on.
    pub fn open_base(&mut self, base: Base, at: Option<IpAddr>, now: Timestamp) {
        if at.is_none() {
            self.keen_until = now + KEEN;
        }
        self.checks.open_base(base, at, now);
    }

    /// Asks from that base no more.
    pub fn close_base(&mut self, base: Base) {
        self.checks.close_base(base);
    }

    /// Returns true if the call's packets pass a relay.
    pub fn is_relayed(&self) -> bool {
        self.in_use().is_some_and(|check| check.relays() > 0)
    }

    /// Takes a question of the other end that came that way, in a datagram of `bytes`; true if it is to be answered there. One that
    /// was heard before may have been sent again by somebody else, from elsewhere, and shows nothing.
    pub fn on_question(
        &mut self,
        from: Pair,
        number: u64,
        bytes: usize,
        allowance: &mut Allowance,
        now: Timestamp,
    ) -> bool {
        if !usable(from.to) || !self.heard.is_new(number) {
            return false;
        }
        let mut is_proved = false;
        if let Some(check) = self.checks.hear(from, bytes, allowance, now) {
            // The way to there may be open for the first time.
            if !check.own.is_alive(now) {
                check.sent = check.sent.filter(|sent| now.since(*sent) < ASK_MIN);
            }
            is_proved = check.is_proved(now);
        }
        is_proved || allowance.take(Origin::Packet, from.to, ANSWER_BYTES, now)
    }

    /// Takes an answer that returns `nonce` and came that way; true if the way is proved to reach the other end.
    pub fn on_answer(&mut self, from: Pair, nonce: u64, now: Timestamp) -> bool {
        let Some(check) = self.checks.get_mut(from) else { return false };
        let is_answer = check.own.answer(nonce, now);
        if is_answer {
            check.prove(now);
        }
        is_answer
    }

    /// Returns the next thing to do now; call it until there is none. `nonce` is any number, a new one for each call, that nobody
    /// can guess.
    pub fn poll(&mut self, now: Timestamp, nonce: u64, allowance: &mut Allowance) -> Option<Act> {
        self.take_told(now);
        self.checks.forget_learned(now);
        if let Some(pair) = self.nominated(now) {
            self.take(pair, now);
            return Some(Act::Take(pair));
        }
        let pair = self.checks.next_due(|check| self.wanted(check, now), allowance, now)?;
        // Nothing long is sent to where nobody has answered, nor again where it did not get through.
        let is_full = self.checks.get(pair).is_some_and(|check| self.is_to_be_proved(check, now));
        if !self.checks.may_send(pair, allowance, now) {
            return None;
        }
        self.number += 1;
        let check = self.checks.get_mut(pair)?;
        check.own.ask(nonce, is_full, now);
        check.sent = Some(now);
        Some(Act::Ask { pair, number: self.number, nonce, is_full })
    }

    /// Returns the time to call [`Steering::poll`] again.
    pub fn poll_timeout(&self, now: Timestamp, allowance: &Allowance) -> Option<Timestamp> {
        let checks = self.checks.poll_timeout(|check| self.wanted(check, now), allowance, now);
        let doubt = self.in_use().and_then(|check| check.own.overdue_at()).filter(|at| *at > now);
        let shun = self.checks.iter().map(|check| check.own.shunned_until).filter(|until| *until > now).min();
        [checks, doubt, shun].into_iter().flatten().min()
    }

    fn in_use(&self) -> Option<&Check<Questions>> {
        self.checks.get(self.used)
    }

    /// Returns true if answers on the way in use are overdue.
    pub fn is_in_doubt(&self, now: Timestamp) -> bool {
        self.in_use().is_some_and(|check| check.own.is_overdue(now))
    }

    /// Returns the time at which the next question on a way is wanted.
    fn wanted(&self, check: &Check<Questions>, now: Timestamp) -> Timestamp {
        let Some(sent) = check.sent else { return check.since };
        let has_other = || self.checks.iter().any(|other| other.pair != check.pair && other.own.is_alive(now));
        let is_used = check.pair == self.used;
        let is_in_doubt = self.is_in_doubt(now);
        let pause = if is_in_doubt && (is_used || check.own.is_alive(now)) {
            ASK_DOUBT
        } else if is_in_doubt {
            ASK_KEEN
        } else if is_used && has_other() || check.own.passed < PROVED && self.is_to_be_proved(check, now) {
            ASK
        } else if now < self.keen_until && check.own.answered.is_none() {
            ASK_KEEN
        } else {
            ASK_LATER
        };
        sent + pause
    }

    /// Returns true if a way may take over as soon as long questions have shown that it is a good one.
    fn is_to_be_proved(&self, check: &Check<Questions>, now: Timestamp) -> bool {
        let answers = check.own.is_alive(now) && !check.own.is_overdue(now);
        answers && self.is_better(check) && check.own.shunned_until <= now
    }

    /// Returns true if a way passes fewer relays than the one in use.
    fn is_better(&self, check: &Check<Questions>) -> bool {
        self.in_use().is_none_or(|used| check.relays() < used.relays())
    }

    /// Returns the pair to change to.
    fn nominated(&self, now: Timestamp) -> Option<Pair> {
        let used = &self.in_use()?.own;
        let first_lost = used.open.front().filter(|_| used.has_died(now));
        let takes_over = |check: &&Check<Questions>| {
            let way = &check.own;
            let is_slower = match (way.round_trip(), used.round_trip()) {
                (Some(other), Some(used)) => other > used + SLOWER_MAX,
                _ => false,
            };
            let is_proved = self.is_better(check) && way.passed >= PROVED && way.is_alive(now);
            let lives_on = |lost: &Question| way.answered.is_some_and(|(_, asked)| asked > lost.at);
            is_proved && !is_slower && way.shunned_until <= now || first_lost.is_some_and(lives_on)
        };
        let answers = |check: &&Check<Questions>| check.pair != self.used && !check.own.is_overdue(now);
        let nominated = self.checks.iter().filter(answers).filter(takes_over).min_by_key(|check| check.rank(now));
        nominated.map(|check| check.pair)
    }

    fn take(&mut self, pair: Pair, now: Timestamp) {
        let has_died = self.is_in_doubt(now);
        if let Some(left) = self.checks.get_mut(self.used).filter(|_| has_died) {
            if now.since(left.own.taken) > SHUN_MAX {
                left.own.shun = Duration::ZERO;
            }
            left.own.shun(now);
        }
        if let Some(check) = self.checks.get_mut(pair) {
            check.own.taken = now;
        }
        self.used = pair;
        self.checks.pinned = vec![self.base, self.base.to.into(), pair];
    }
}

#[cfg(test)]
#[path = "steering_tests.rs"]
mod tests;
