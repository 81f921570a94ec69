//! Decisions when to knock where, and when to dial: the checks before a call.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::allowance::Allowance;
use super::candidate::Candidate;
use super::checklist::{Check, Checklist};
use super::kinds::{Base, Kind, Origin, Pair};
use super::knock::{KNOCK_BYTES, Knock};
use super::rounds::EXPECTED;
use super::scope::Scope;
use super::seeking::Seeking;
use crate::units::Timestamp;

/// Time between two knocks at one address, while the other is expected at any moment, and at first, when most meet.
const KNOCK_MIN: Duration = Duration::from_millis(10);
const KNOCK_MAX: Duration = Duration::from_millis(200);
const KNOCK_MAX_AT_FIRST: Duration = Duration::from_millis(90);
/// Time for which that is so.
const AT_FIRST: Duration = Duration::from_secs(4);
/// Time likewise after [`EXPECTED`]: short enough that no router forgets, and that the other side is heard at once.
const KNOCK_LATER: Duration = Duration::from_secs(1);
/// Time between two knocks of a side that calls nobody, where the other is not heard: routers forget where something was sent after
/// half a minute.
const KNOCK_IDLE: Duration = Duration::from_secs(20);
/// From the last knock in a call to the next that nobody has asked for.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);
/// Time for which a knock shows that a path works.
const FRESH: Duration = Duration::from_secs(2);
/// Time after which there would be a connection over a path on which knocks come, were it open in both directions.
const ONE_WAY: Duration = Duration::from_millis(2_500);
/// Time before an address is dialled again where dialling has failed.
const AGAIN: Duration = Duration::from_millis(200);

const _: () = assert!(KNOCK_LATER.as_millis() < FRESH.as_millis(), "a way goes on working while knocks are rare");
const _: () = assert!(FRESH.as_millis() < ONE_WAY.as_millis());
const _: () = assert!(KNOCK_MIN.as_millis() < KNOCK_MAX_AT_FIRST.as_millis());
const _: () = assert!(KNOCK_MAX_AT_FIRST.as_millis() <= KNOCK_MAX.as_millis());
const _: () = assert!(AT_FIRST.as_millis() < EXPECTED.as_millis());

/// Roles of the two machines: one dials, so that there is one handshake and not two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side dials.
    Dials,
    /// The other does.
    Waits,
}

/// Something to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a knock that way, with the nonces that [`Meeting::nonces`] returns.
    Knock(Pair),
    /// Dial that way, which is open in both directions, and say how it ended.
    Dial(Pair),
}

/// A search for a path to one machine. It knows no socket and no clock, and has no more to do once there is a connection;
/// after the end of that, [`Meeting::restart`] begins anew.
#[derive(Clone, Debug)]
pub struct Meeting {
    role: Role,
    checks: Checklist<Knocks>,
    since: Timestamp,
    dialling: Option<Pair>,
    quiet: bool,
    idle: bool,
    /// The search at this machine's relay, at which the other may be as well.
    seeking: Option<Seeking>,
}

/// The knocks on one way.
#[derive(Clone, Copy, Debug, Default)]
struct Knocks {
    /// Time of the next one.
    next: Timestamp,
    /// Times of knocks from there: the first of late, and the last.
    heard: Option<(Timestamp, Timestamp)>,
    /// The nonce that knocks on this way bear, made with the first; 0: none has left yet.
    nonce: u64,
    /// The other side's nonce that came last; 0: none has.
    echo: u64,
    /// Not dialled before.
    dial_from: Timestamp,
    /// Times that dialling has failed.
    failed: u32,
}

impl Knocks {
    fn works(&self, now: Timestamp) -> bool {
        self.heard.is_some_and(|(_, last)| now.since(last) < FRESH)
    }

    fn is_old(&self, now: Timestamp) -> bool {
        self.heard.is_some_and(|(first, _)| now.since(first) >= ONE_WAY)
    }
}

impl Check<Knocks> {
    /// Returns true if it is open in both directions: the other side goes on returning this side's nonce.
    fn is_two_way(&self, now: Timestamp) -> bool {
        self.own.works(now) && self.is_proved_within(FRESH, now)
    }

    fn wanted(&self) -> Timestamp {
        self.own.next.max(self.since)
    }

    /// Returns the time at which it is clear whether a better pair works as soon.
    fn settles_at(&self) -> Option<Timestamp> {
        self.own.heard.map(|(first, _)| first + self.kind().settle())
    }
}

impl Meeting {
    /// Creates a search that begins `now`.
    pub fn new(role: Role, candidates: &[Candidate], now: Timestamp) -> Self {
        let checks = Checklist::new(KNOCK_BYTES);
        let mut meeting = Self { role, checks, since: now, dialling: None, quiet: false, idle: false, seeking: None };
        meeting.add(candidates, now);
        meeting
    }

    /// Adds further addresses that this machine's own user has given. Those beyond a bound are ignored.
    pub fn add(&mut self, candidates: &[Candidate], now: Timestamp) {
        self.checks.add(Origin::User, candidates, now);
        self.since = now;
    }

    /// Takes the addresses in the newest news of that origin, in the place of those before, soon. Those that may
    /// mean something in this house, to whoever is not in it, are left out.
    pub fn set_news(&mut self, origin: Origin, candidates: &[Candidate], now: Timestamp) {
        self.checks.tell(origin, candidates);
        self.take_news(now);
    }

    fn take_news(&mut self, now: Timestamp) {
        let takes = |origin: Origin, told: &Candidate| Scope::of(told.address.ip()) >= origin.scope();
        if self.checks.take_news(takes, |check| check.own.works(now), now).is_some() {
            self.since = now;
        }
    }

    /// Sets the ports at which relays pass packets on: a knock from one of them that nobody has told has come through a relay,
    /// also while this machine's own has not answered yet.
    pub fn expect_relays(&mut self, ports: RangeInclusive<u16>) {
        self.checks.expect_relays(ports);
    }

    /// Knocks from another base of this machine as well from now on. `at`: of a relay, the address at which packets through it leave;
    /// any other base takes the place of such a one before.
    pub fn open_base(&mut self, base: Base, at: Option<IpAddr>, now: Timestamp) {
        if at.is_none() && self.dialling.is_some_and(|pair| pair.base == base) {
            self.set_dialling(None);
        }
        self.checks.open_base(base, at, now);
    }

    /// Knocks from that base no more.
    pub fn close_base(&mut self, base: Base) {
        self.checks.close_base(base);
        if self.checks.bases().all(|(_, at)| at.is_none()) {
            self.seeking = None;
        }
    }

    /// Returns the bases that are open besides the first port, and the addresses of those that are relays.
    pub fn bases(&self) -> impl Iterator<Item = (Base, Option<IpAddr>)> {
        self.checks.bases()
    }

    /// Looks for the other machine at this machine's relay `at`, at whose `ports` it may be, of which [`super::PLACES_MAX`] are
    /// tried where no path works.
    pub fn seek_at(&mut self, at: IpAddr, ports: RangeInclusive<u16>, now: Timestamp) {
        self.seeking = Some(Seeking::new(at, ports, self.since, now));
    }

    fn set_dialling(&mut self, pair: Option<Pair>) {
        self.dialling = pair;
        self.checks.pinned = pair.into_iter().collect();
    }

    /// Returns true if a connection without a relay may be about to come: there is a way on which knocks come, though not for
    /// so long that it must be open in that direction only.
    pub fn is_near(&self, now: Timestamp) -> bool {
        let is_dialled = |check: &Check<_>| self.dialling == Some(check.pair) && check.pair.base == Base::OtherPort;
        let is_old = |check: &Check<Knocks>| check.own.works(now) && check.own.is_old(now);
        let is_new = |check: &Check<Knocks>| check.own.works(now) && !self.alike(check).any(is_old);
        self.checks.iter().any(|check| check.kind() != Kind::Relayed && (is_new(check) || is_dialled(check)))
    }

    /// Begins anew: the connection has ended.
    pub fn restart(&mut self, now: Timestamp) {
        self.since = now;
        self.set_dialling(None);
        self.checks.restart(now);
        if let Some(seeking) = &mut self.seeking {
            seeking.restart(now);
        }
    }

    /// During a call this side answers knocks and knocks nowhere else: the other side may come anew over another path.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// This side calls nobody: it knocks seldom where the other is not heard, only so that routers on the way let its knocks in.
    pub fn set_idle(&mut self) {
        self.idle = true;
    }

    /// Returns what a knock that way bears: this side's nonce, and the other's that is returned.
    pub fn nonces(&self, pair: Pair) -> [u64; 2] {
        self.checks.get(pair).map_or([0; 2], |check| [check.own.nonce, check.own.echo])
    }

    /// Takes a knock of the other machine that came that way. `is_new`: whether it is of now and has not come before. One that is
    /// not is believed if it returns a nonce of this side's, as where the two clocks differ; else only its own nonce is returned,
    /// with a knock that leaves in any case.
    pub fn on_knock(&mut self, from: Pair, knock: &Knock, is_new: bool, allowance: &mut Allowance, now: Timestamp) {
        let known = self.checks.get_mut(from);
        let proves = known.as_ref().is_some_and(|check| check.own.nonce != 0 && check.own.nonce == knock.echo);
        if !is_new && !proves {
            if let Some(check) = known.filter(|check| !check.own.works(now)) {
                check.own.echo = knock.nonce;
            }
            return;
        }
        let Some(check) = self.checks.hear(from, KNOCK_BYTES, allowance, now) else { return };
        if proves {
            check.prove(now);
        }
        let (sent, knocks) = (check.sent, &mut check.own);
        knocks.echo = knock.nonce;
        let first = knocks.heard.filter(|(_, last)| now.since(*last) < FRESH).map_or(now, |(first, _)| first);
        knocks.heard = Some((first, now));
        // At once: the way to there may be open for the first time.
        knocks.next = knocks.next.min(sent.map_or(now, |sent| (sent + KNOCK_MIN).max(now)));
    }

    /// Takes notice that the other machine has just answered on this way in a call.
    pub fn on_proved(&mut self, pair: Pair, kind: Kind, now: Timestamp) {
        self.checks.learn(pair, Some(kind), now);
        if let Some(check) = self.checks.get_mut(pair) {
            check.prove(now);
        }
    }

    /// Notes that dialling that way has failed.
    pub fn on_dial_failed(&mut self, pair: Pair, now: Timestamp) {
        if self.dialling == Some(pair) {
            self.set_dialling(None);
        }
        if let Some(check) = self.checks.get_mut(pair) {
            check.own.dial_from = now + AGAIN;
            check.own.failed = check.own.failed.saturating_add(1);
        }
    }

    /// Returns the next thing to do now; call it until there is none. `random` is any number, a new one for each call, that nobody
    /// can guess.
    pub fn poll(&mut self, now: Timestamp, random: u128, allowance: &mut Allowance) -> Option<Step> {
        self.take_news(now);
        self.checks.forget_learned(now);
        if let Some(pair) = self.nominated(now) {
            self.set_dialling(Some(pair));
            return Some(Step::Dial(pair));
        }
        let expected = now.since(self.since) < EXPECTED;
        if let Some(pair) = self.checks.next_due(Check::wanted, allowance, now) {
            let (nonce, random) = ((random >> 64) as u64, random as u64);
            let is_heard = self.works(pair, now);
            let pause = self.pause(expected, is_heard, random, now);
            let may_send = self.checks.may_send(pair, allowance, now);
            let check = self.checks.get_mut(pair)?;
            if check.own.nonce == 0 {
                check.own.nonce = nonce;
            }
            (check.sent, check.own.next) = (Some(now), now + pause);
            if may_send {
                return Some(Step::Knock(pair));
            }
        }
        self.seek(expected, allowance, now)
    }

    /// Returns the time from one knock to the next on a way on which knocks come (`is_heard`) or not.
    fn pause(&self, expected: bool, is_heard: bool, random: u64, now: Timestamp) -> Duration {
        let knock_max = if now.since(self.since) < AT_FIRST { KNOCK_MAX_AT_FIRST } else { KNOCK_MAX };
        let (least, span) = match (self.quiet, expected) {
            (true, _) => (FOR_EVER, 1),
            (false, _) if self.idle && !is_heard => (KNOCK_IDLE * 3 / 4, KNOCK_IDLE.as_micros() as u64 / 4),
            (false, true) => (KNOCK_MIN, (knock_max - KNOCK_MIN).as_micros() as u64),
            (false, false) => (KNOCK_LATER / 2, KNOCK_LATER.as_micros() as u64 / 2),
        };
        least + Duration::from_micros(random % span)
    }

    /// Returns a knock at the next place of the relay, if it is time.
    fn seek(&mut self, expected: bool, allowance: &mut Allowance, now: Timestamp) -> Option<Step> {
        // Of a way that is open from there to here only, knocks come as well.
        let is_open = |check: &Check<Knocks>| check.own.works(now) && (!check.own.is_old(now) || check.is_two_way(now));
        let is_met = self.quiet || self.dialling.is_some() || self.checks.iter().any(is_open);
        let place = self.seeking.as_mut()?.poll(is_met, expected, now)?;
        allowance.take(Origin::Relay, place.to, KNOCK_BYTES, now).then_some(Step::Knock(place))
    }

    /// Returns the time to call [`Meeting::poll`] again.
    pub fn poll_timeout(&self, now: Timestamp, allowance: &Allowance) -> Option<Timestamp> {
        let checks = self.checks.poll_timeout(Check::wanted, allowance, now);
        let two_way = self.checks.iter().filter(|check| self.dials() && check.is_two_way(now));
        let dial = two_way.filter_map(|check| Some(check.settles_at()?.max(check.own.dial_from))).min();
        let seek = self.seeking.as_ref().filter(|_| !self.quiet).map(Seeking::poll_timeout);
        [checks, dial, seek].into_iter().flatten().min()
    }

    /// Returns how a way is known; none if it is not.
    pub fn kind_of(&self, pair: Pair) -> Option<Kind> {
        self.checks.kind_of(pair)
    }

    /// Returns the addresses that this machine's own user has given.
    pub fn given(&self) -> Vec<SocketAddr> {
        let is_given = |check: &&Check<_>| check.origin == Origin::User && check.pair.base == Base::Port;
        self.checks.iter().filter(is_given).map(|check| check.pair.to).collect()
    }

    /// Returns true if a knock that was believed has come that way not long ago.
    pub fn works(&self, pair: Pair, now: Timestamp) -> bool {
        self.checks.get(pair).is_some_and(|check| check.own.works(now))
    }

    /// Returns how many pairs are remembered.
    pub fn pairs(&self) -> usize {
        self.checks.len()
    }

    fn dials(&self) -> bool {
        self.role == Role::Dials && self.dialling.is_none() && !self.quiet
    }

    /// Returns the ways that count as one with this: two routers that show each destination another port make a new way of each
    /// dial and each knock. So those from one address are one, for each port of this machine, if nobody has told them.
    fn alike(&self, check: &Check<Knocks>) -> impl Iterator<Item = &Check<Knocks>> {
        let place = |check: &Check<Knocks>| (check.origin, check.pair.base, check.pair.to.ip());
        let (pair, this) = (check.pair, place(check));
        self.checks.iter().filter(move |other| other.pair == pair || other.is_learned() && place(other) == this)
    }

    /// Returns how often dialling has failed on ways like this one.
    fn failed_alike(&self, check: &Check<Knocks>) -> u32 {
        self.alike(check).fold(0, |sum: u32, other| sum.saturating_add(other.own.failed))
    }

    /// Returns the pair to dial: the best of those that work, once it is clear that no better one answers as soon.
    fn nominated(&self, now: Timestamp) -> Option<Pair> {
        if !self.dials() {
            return None;
        }
        let open = self.checks.iter().filter(|check| check.is_two_way(now) && check.own.dial_from <= now);
        // Through one relay rather than through two. One on which dialling fails must not keep others from being dialled.
        let order = |check: &&Check<Knocks>| {
            (self.failed_alike(check), check.own.failed, check.kind(), check.pair.base, check.own.heard)
        };
        let best = open.min_by_key(order)?;
        let better = self.checks.iter().any(|check| check.kind() < best.kind());
        let settled = best.settles_at().is_some_and(|settles| now >= settles);
        (!better || settled).then_some(best.pair)
    }
}

#[cfg(test)]
#[path = "meeting_tests.rs"]
mod tests;
