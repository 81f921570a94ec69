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

use super::allowance::{Allowance, Origin};
use super::candidate::{ADDRESSES_MAX, Candidate, Kind, usable};
use super::meeting::{Base, Pair};
use super::probe::{ANSWER_BYTES, QUESTION_BYTES};
use super::scope::Scope;
use super::tellings::Tellings;
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
/// Time for which it shows that the other end is there, so that what goes there needs no allowance.
const PROOF: Duration = Duration::from_secs(30);
/// Time after the last question from there for which a way is remembered that nobody has told.
const LEARNED: Duration = Duration::from_secs(30);
/// Questions that wait for an answer.
const OPEN_MAX: usize = 64;
/// Long questions that a better way gets before it is shunned, if they do not prove it.
const TRIES_MAX: u32 = 60;
/// Round trips of which the shortest counts.
const ROUND_TRIPS: usize = 8;
/// Ways that nobody has told.
const LEARNED_MAX: usize = 4;

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Ask the other end on this way.
    Ask {
        /// The way to send it, and to get the answer.
        route: Pair,
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
    ways: Vec<Way>,
    /// Own relay.
    relay: Option<IpAddr>,
    /// True if this end has another port, too.
    has_other_port: bool,
    number: u64,
    heard: Heard,
    keen_until: Timestamp,
    told: Tellings,
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

#[derive(Clone, Debug)]
struct Way {
    route: Pair,
    kind: Kind,
    /// Relays that packets pass.
    relays: u8,
    /// Time of the last question from there, if nobody has told it.
    learned: Option<Timestamp>,
    /// Time of the last answer; of the way on which the call began that of its handshake.
    proved: Option<Timestamp>,
    asked: Option<Timestamp>,
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

impl Way {
    fn new(route: Pair, kind: Kind, relays: u8, learned: Option<Timestamp>) -> Self {
        Self {
            route,
            kind,
            relays,
            learned,
            proved: None,
            asked: None,
            open: VecDeque::new(),
            answered: None,
            passed: 0,
            tries: 0,
            round_trips: VecDeque::with_capacity(ROUND_TRIPS),
            taken: Timestamp::default(),
            shun: Duration::ZERO,
            shunned_until: Timestamp::default(),
        }
    }

    /// Returns true if the other end was there not long ago.
    fn is_proved(&self, now: Timestamp) -> bool {
        self.proved.is_some_and(|at| now.since(at) < PROOF)
    }

    fn origin(&self) -> Origin {
        if self.learned.is_some() { Origin::Packet } else { Origin::Call }
    }

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

    /// Returns true if so many questions in a row are lost that it works no more.
    fn has_died(&self, now: Timestamp) -> bool {
        let answered_by = self.round_trip().unwrap_or(DOUBT) + LATE;
        let is_overdue = self.overdue_at().is_some_and(|at| at <= now);
        is_overdue && self.open.get(LOST - 1).is_some_and(|last| last.at + answered_by <= now)
    }

    /// Leaves the way alone for longer than the last time.
    fn shun(&mut self, now: Timestamp) {
        self.shun = (2 * self.shun).clamp(SHUN, SHUN_MAX);
        self.shunned_until = now + self.shun;
        (self.passed, self.tries) = (0, 0);
    }

    /// Order of preference among ways that work.
    fn rank(&self, now: Timestamp) -> (bool, u8, Kind, Option<Duration>) {
        (now < self.shunned_until, self.relays, self.kind, self.round_trip())
    }
}

impl Steering {
    /// Begins with a call on the way `base`, which is of that kind and on which the handshake has come about.
    pub fn new(base: Pair, kind: Kind, now: Timestamp) -> Self {
        let mut way = Way::new(base, kind, relays(base, kind), None);
        (way.taken, way.proved) = (now, Some(now));
        let mut steering = Self {
            base,
            used: base,
            ways: vec![way],
            relay: None,
            has_other_port: false,
            number: 0,
            heard: Heard::default(),
            keen_until: now + KEEN,
            told: Tellings::default(),
            given: Vec::new(),
        };
        if base.is_relayed() {
            // Where the relay sends to, packets may get without it.
            steering.insert(Pair::from(base.to), if kind == Kind::Relayed { Kind::PeerReflexive } else { kind });
        }
        steering
    }

    /// Returns the way in use.
    pub fn used(&self) -> Pair {
        self.used
    }

    /// Returns the kind of a way; none if it is not known.
    pub fn kind_of(&self, route: Pair) -> Option<Kind> {
        self.ways.iter().find(|way| way.route == route).map(|way| way.kind)
    }

    /// Returns true if the other end has shown not long ago that it is at the end of this way: by an answer, or by the call's
    /// handshake.
    pub fn is_proved(&self, route: Pair, now: Timestamp) -> bool {
        self.ways.iter().any(|way| way.route == route && way.is_proved(now))
    }

    /// Returns how many ways are remembered.
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// Returns true if no way is known; there is always one.
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Sets the addresses of the other end that this machine's own user has given.
    pub fn set_given(&mut self, addresses: Vec<SocketAddr>) {
        self.given = addresses;
    }

    /// Takes all addresses at which the other end may be, soon: those told before that are not among them are forgotten, unless
    /// they work. Those that mean something in this machine or house are left out, unless the other end is proved to be there, or
    /// this machine's own user has given them.
    pub fn set_told(&mut self, candidates: &[Candidate], now: Timestamp) {
        self.told.tell(&candidates[..candidates.len().min(2 * ADDRESSES_MAX)]);
        self.take_told(now);
    }

    fn take_told(&mut self, now: Timestamp) {
        let Some(mut candidates) = self.told.take(now) else { return };
        let direct = self.ways.iter().filter(|way| way.is_proved(now) && way.relays == 0);
        let near = direct.map(|way| Scope::of(way.route.to.ip())).min().unwrap_or(Scope::World);
        candidates.retain(|Candidate { address, .. }| Scope::of(address.ip()) >= near || self.given.contains(address));
        let (base, used, relay) = (self.base, self.used, self.relay);
        self.ways.retain(|way| {
            let is_told = candidates.iter().any(|candidate| candidate.address == way.route.to);
            is_told || way.learned.is_some() || way.is_alive(now) || [base, used, base.to.into()].contains(&way.route)
        });
        let before = self.ways.len();
        for candidate in &candidates {
            self.insert(candidate.address.into(), candidate.kind);
        }
        self.insert_from_other_port();
        if let Some(relay) = relay {
            self.insert_relayed(relay);
        }
        if self.ways.len() > before {
            self.keen_until = now + KEEN;
        }
    }

    /// Sets the address from which this end's relay passes packets on; none: there is no relay.
    pub fn set_relay(&mut self, relay: Option<IpAddr>) {
        self.relay = relay;
        let (base, used) = (self.base, self.used);
        match relay {
            Some(relay) => self.insert_relayed(relay),
            None => self.ways.retain(|way| !way.route.is_relayed() || [base, used].contains(&way.route)),
        }
    }

    /// Asks from another port of this end as well from now on, in the place of such a one before.
    pub fn set_other_port(&mut self, now: Timestamp) {
        let (base, used) = (self.base, self.used);
        self.ways.retain(|way| way.route.base != Base::OtherPort || [base, used].contains(&way.route));
        self.has_other_port = true;
        self.insert_from_other_port();
        self.keen_until = now + KEEN;
    }

    /// Returns true if the call's packets pass a relay.
    pub fn is_relayed(&self) -> bool {
        self.way_in_use().is_some_and(|way| way.relays > 0)
    }

    /// Adds what was told once more, from the other port.
    fn insert_from_other_port(&mut self) {
        if !self.has_other_port {
            return;
        }
        for at in 0..self.ways.len() {
            let Way { route, kind, learned, .. } = self.ways[at];
            if route.base == Base::Port && learned.is_none() {
                self.insert(Pair { to: route.to, base: Base::OtherPort }, kind);
            }
        }
    }

    /// Adds a way that was told, or notes what it is.
    fn insert(&mut self, route: Pair, kind: Kind) {
        let relays = relays(route, kind).max(u8::from(self.relay == Some(route.to.ip())));
        let kind = if relays > 0 { Kind::Relayed } else { kind };
        let has_room = self.ways.len() < WAYS_MAX;
        match self.ways.iter_mut().find(|way| way.route == route) {
            Some(way) => {
                (way.kind, way.relays) = (if relays > 0 { kind } else { way.kind.min(kind) }, way.relays.max(relays))
            }
            None if has_room => self.ways.push(Way::new(route, kind, relays, None)),
            None => {}
        }
    }

    /// Adds what was told once more, through this end's relay, unless it means something in the other's house only.
    fn insert_relayed(&mut self, relay: IpAddr) {
        for at in 0..self.ways.len() {
            let Way { route, kind, relays, learned, .. } = self.ways[at];
            let is_in_house = Candidate { kind, address: route.to }.is_in_house();
            let is_there =
                route.base == Base::Port && learned.is_none() && !is_in_house && route.to.is_ipv4() == relay.is_ipv4();
            let twin = Pair { to: route.to, base: Base::Relay };
            if is_there && self.ways.iter().all(|way| way.route != twin) && self.ways.len() < WAYS_MAX {
                self.ways.push(Way::new(twin, Kind::Relayed, relays + 1, None));
            }
        }
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
        allowance.on_heard(from.to, bytes, now);
        if self.ways.iter().all(|way| way.route != from) {
            self.learn(from, now);
        }
        let mut is_proved = false;
        if let Some(way) = self.ways.iter_mut().find(|way| way.route == from) {
            // The way to there may be open for the first time.
            if !way.is_alive(now) {
                way.asked = way.asked.filter(|asked| now.since(*asked) < ASK_MIN);
            }
            way.learned = way.learned.map(|_| now);
            is_proved = way.is_proved(now);
        }
        is_proved || allowance.take(Origin::Packet, from.to, ANSWER_BYTES, now)
    }

    /// Remembers a way that nobody has told.
    fn learn(&mut self, from: Pair, now: Timestamp) {
        let learned = self.ways.iter().filter(|way| way.learned.is_some() && way.route != self.used);
        let oldest = learned.clone().min_by_key(|way| way.answered).map(|way| way.route);
        if learned.count() >= LEARNED_MAX {
            self.ways.retain(|way| Some(way.route) != oldest);
        }
        let relays = u8::from(from.is_relayed()) + u8::from(self.relay == Some(from.to.ip()));
        let kind = if relays > 0 { Kind::Relayed } else { Kind::PeerReflexive };
        self.ways.push(Way::new(from, kind, relays, Some(now)));
    }

    /// Forgets ways that nobody has told and from which nothing comes any more.
    fn forget_learned(&mut self, now: Timestamp) {
        let used = self.used;
        self.ways.retain(|way| {
            let lapses = way.learned.is_some_and(|heard| now.since(heard) >= LEARNED);
            !lapses || way.is_proved(now) || way.route == used
        });
    }

    /// Takes an answer that returns `nonce` and came that way; true if the way is proved to reach the other end.
    pub fn on_answer(&mut self, from: Pair, nonce: u64, now: Timestamp) -> bool {
        let Some(way) = self.ways.iter_mut().find(|way| way.route == from) else { return false };
        let Some(at) = way.open.iter().position(|question| question.nonce == nonce) else { return false };
        // Those asked before are lost, or have been overtaken.
        let question = way.open.drain(..=at).next_back();
        let Some(question) = question else { return false };
        way.proved = Some(now);
        way.passed = match (question.is_full, at) {
            (true, 0) => way.passed + 1,
            (true, _) => 1,
            (false, _) => 0,
        };
        way.answered = Some((now, question.at));
        way.round_trips.truncate(ROUND_TRIPS - 1);
        way.round_trips.push_front(now.since(question.at));
        true
    }

    /// Returns the next thing to do now; call it until there is none. `nonce` is any number, a new one for each call, that nobody
    /// can guess.
    pub fn poll(&mut self, now: Timestamp, nonce: u64, allowance: &mut Allowance) -> Option<Act> {
        self.take_told(now);
        self.forget_learned(now);
        if let Some(route) = self.to_take(now) {
            self.take(route, now);
            return Some(Act::Take(route));
        }
        // The one that waits longest comes first: so that none starves where the allowance is short.
        let due =
            |way: &&Way| self.wanted(way, now) <= now && self.due(way, allowance, now).is_some_and(|due| due <= now);
        let route = self.ways.iter().filter(due).min_by_key(|way| way.asked)?.route;
        let at = self.ways.iter().position(|way| way.route == route)?;
        // Nothing long is sent to where nobody has answered, nor again where it did not get through.
        let is_full = self.is_to_be_proved(&self.ways[at], now);
        let way = &mut self.ways[at];
        if !way.is_proved(now) && !allowance.take(way.origin(), route.to, QUESTION_BYTES, now) {
            return None;
        }
        self.number += 1;
        let number = self.number;
        way.tries += u32::from(is_full);
        if way.tries > TRIES_MAX {
            way.shun(now);
        }
        way.asked = Some(now);
        if way.open.len() >= OPEN_MAX {
            way.open.pop_front();
        }
        way.open.push_back(Question { nonce, at: now, is_full });
        Some(Act::Ask { route, number, nonce, is_full })
    }

    /// Returns the time to call [`Steering::poll`] again.
    pub fn poll_timeout(&self, now: Timestamp, allowance: &Allowance) -> Option<Timestamp> {
        let due = self.ways.iter().filter_map(|way| self.due(way, allowance, now)).min();
        let doubt = self.way_in_use().and_then(Way::overdue_at).filter(|at| *at > now);
        let shun = self.ways.iter().map(|way| way.shunned_until).filter(|until| *until > now).min();
        [due, doubt, shun, self.told.due()].into_iter().flatten().min()
    }

    fn way_in_use(&self) -> Option<&Way> {
        self.ways.iter().find(|way| way.route == self.used)
    }

    /// Returns true if answers on the way in use are overdue.
    pub fn is_in_doubt(&self, now: Timestamp) -> bool {
        self.way_in_use().and_then(Way::overdue_at).is_some_and(|at| at <= now)
    }

    /// Returns the time of the next question on a way; none: there is none before something comes from there.
    fn due(&self, way: &Way, allowance: &Allowance, now: Timestamp) -> Option<Timestamp> {
        let wanted = self.wanted(way, now);
        if way.is_proved(now) {
            return Some(wanted);
        }
        let opens = allowance.opens_at(way.origin(), way.route.to, QUESTION_BYTES, now)?;
        Some(wanted.max(opens))
    }

    /// Returns the time at which the next question on a way is wanted.
    fn wanted(&self, way: &Way, now: Timestamp) -> Timestamp {
        let Some(asked) = way.asked else { return now };
        let has_other = || self.ways.iter().any(|other| other.route != way.route && other.is_alive(now));
        let is_used = way.route == self.used;
        let is_in_doubt = self.is_in_doubt(now);
        let pause = if is_in_doubt && (is_used || way.is_alive(now)) {
            ASK_DOUBT
        } else if is_in_doubt {
            ASK_KEEN
        } else if is_used && has_other() || way.passed < PROVED && self.is_to_be_proved(way, now) {
            ASK
        } else if now < self.keen_until && way.answered.is_none() {
            ASK_KEEN
        } else {
            ASK_LATER
        };
        asked + pause
    }

    /// Returns true if a way may take over as soon as long questions have shown that it is a good one.
    fn is_to_be_proved(&self, way: &Way, now: Timestamp) -> bool {
        let answers = way.is_alive(now) && way.overdue_at().is_none_or(|at| at > now);
        answers && self.is_better(way) && way.shunned_until <= now
    }

    /// Returns true if a way passes fewer relays than the one in use.
    fn is_better(&self, way: &Way) -> bool {
        self.way_in_use().is_none_or(|used| way.relays < used.relays)
    }

    /// Returns the way to change to.
    fn to_take(&self, now: Timestamp) -> Option<Pair> {
        let used = self.way_in_use()?;
        let first_lost = used.open.front().filter(|_| used.has_died(now));
        let answers = |way: &&Way| way.route != self.used && way.overdue_at().is_none_or(|at| at > now);
        let takes_over = |way: &&Way| {
            let is_slower = match (way.round_trip(), used.round_trip()) {
                (Some(other), Some(used)) => other > used + SLOWER_MAX,
                _ => false,
            };
            let is_proved = self.is_better(way) && way.passed >= PROVED && way.is_alive(now);
            let lives_on = |lost: &Question| way.answered.is_some_and(|(_, asked)| asked > lost.at);
            is_proved && !is_slower && way.shunned_until <= now || first_lost.is_some_and(lives_on)
        };
        self.ways.iter().filter(answers).filter(takes_over).min_by_key(|way| way.rank(now)).map(|way| way.route)
    }

    fn take(&mut self, route: Pair, now: Timestamp) {
        let has_died = self.is_in_doubt(now);
        for way in &mut self.ways {
            if way.route == self.used && has_died {
                if now.since(way.taken) > SHUN_MAX {
                    way.shun = Duration::ZERO;
                }
                way.shun(now);
            }
            if way.route == route {
                way.taken = now;
            }
        }
        self.used = route;
    }
}

/// Ways that are remembered at most, besides [`LEARNED_MAX`].
const WAYS_MAX: usize = 6 * ADDRESSES_MAX;

/// Returns the number of relays on a way to an address of that kind.
fn relays(route: Pair, kind: Kind) -> u8 {
    // Of a way through this end's relay the kind says only that.
    u8::from(route.is_relayed() || kind == Kind::Relayed)
}

#[cfg(test)]
#[path = "steering_tests.rs"]
mod tests;
