//! The checklist of one peer: the candidate pairs on which it is looked for, before a call and during it alike.
//!
//! It holds what is true of every check: which pairs there are, how many and for how long, who is proved to be at their end,
//! and which check is sent next, as far as the [`Allowance`] lets it. When a check is wanted, and what follows from an answer, is
//! decided by its owners, which keep their own state `S` of each pair.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::allowance::Allowance;
use super::candidate::{ADDRESSES_MAX, Candidate, usable};
use super::kinds::{Base, Kind, Origin, Pair};
use super::tellings::Tellings;
use crate::units::Timestamp;

/// Time for which a nonce that was returned shows that the other machine is there, so that what goes there needs no allowance.
const PROOF: Duration = Duration::from_secs(30);
/// Time after its last check for which an address that nobody has told is remembered.
const LEARNED: Duration = Duration::from_secs(30);
/// Pairs that nobody has told. A router that shows each destination another port makes as many as this machine has addresses, for
/// each of the other's two ports; were they to push each other out, none would settle.
pub(super) const LEARNED_MAX: usize = 2 * ADDRESSES_MAX;
/// Addresses of one origin: in a ticket and in an answer, or in the newest news with those before that work.
pub(super) const TOLD_MAX: usize = 2 * ADDRESSES_MAX;

const _: () = assert!(ADDRESSES_MAX <= TOLD_MAX, "the newest news have room beside those that work");
const _: () = assert!(LEARNED.as_millis() >= PROOF.as_millis(), "who was proved is not forgotten");

/// A candidate pair, and how it is checked.
#[derive(Clone, Debug)]
pub(super) struct Check<S> {
    pub(super) pair: Pair,
    pub(super) origin: Origin,
    /// Kind of the other machine's candidate.
    candidate: Kind,
    /// Time from which on it is checked.
    pub(super) since: Timestamp,
    /// Time of the last check that was sent.
    pub(super) sent: Option<Timestamp>,
    /// Time at which a nonce was last returned.
    proved: Option<Timestamp>,
    /// Time from which on it is forgotten, if nobody has told it.
    lapses: Timestamp,
    /// The owner's part.
    pub(super) own: S,
}

impl<S> Check<S> {
    /// Returns the number of relays that packets pass.
    pub(super) fn relays(&self) -> u8 {
        self.pair.base.relays() + self.candidate.relays()
    }

    /// Returns the kind of the pair, which is that of the candidate unless this machine's relay is in between.
    pub(super) fn kind(&self) -> Kind {
        if self.relays() > 0 { Kind::Relayed } else { self.candidate }
    }

    /// Returns true if the other machine was at its end not long ago.
    pub(super) fn is_proved(&self, now: Timestamp) -> bool {
        self.proved.is_some_and(|proved| now.since(proved) < PROOF)
    }

    /// Returns true if a nonce was returned within `span`.
    pub(super) fn is_proved_within(&self, span: Duration, now: Timestamp) -> bool {
        self.proved.is_some_and(|proved| now.since(proved) < span)
    }

    pub(super) fn prove(&mut self, now: Timestamp) {
        (self.proved, self.lapses) = (Some(now), now + LEARNED);
    }

    pub(super) fn is_learned(&self) -> bool {
        self.origin == Origin::Packet
    }
}

/// All checks of one peer.
#[derive(Clone, Debug)]
pub(super) struct Checklist<S> {
    all: Vec<Check<S>>,
    /// Open bases besides the first port, and the addresses from which those that are relays pass packets on.
    bases: BTreeMap<Base, Option<IpAddr>>,
    /// Ports at which relays pass packets on.
    relay_ports: Option<RangeInclusive<u16>>,
    news: BTreeMap<Origin, Tellings>,
    /// Pairs that are in use, and so never forgotten.
    pub(super) pinned: Vec<Pair>,
    /// Bytes of a check.
    check_bytes: usize,
}

impl<S: Default> Checklist<S> {
    pub(super) fn new(check_bytes: usize) -> Self {
        let (all, pinned) = (Vec::new(), Vec::new());
        Self { all, bases: BTreeMap::new(), relay_ports: None, news: BTreeMap::new(), pinned, check_bytes }
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Check<S>> {
        self.all.iter()
    }

    pub(super) fn get(&self, pair: Pair) -> Option<&Check<S>> {
        self.all.iter().find(|check| check.pair == pair)
    }

    pub(super) fn get_mut(&mut self, pair: Pair) -> Option<&mut Check<S>> {
        self.all.iter_mut().find(|check| check.pair == pair)
    }

    pub(super) fn kind_of(&self, pair: Pair) -> Option<Kind> {
        self.get(pair).map(Check::kind)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Begins anew with all pairs; what was proved stays proved.
    pub(super) fn restart(&mut self, now: Timestamp) {
        for check in &mut self.all {
            (check.since, check.sent, check.own) = (now, None, S::default());
        }
    }

    /// Adds candidates of the other machine, and pairs them with all bases. Those beyond a bound are ignored.
    pub(super) fn add(&mut self, origin: Origin, candidates: &[Candidate], now: Timestamp) {
        for &Candidate { kind, address } in candidates {
            let known = self.all.iter_mut().filter(|check| check.pair.to == address);
            known.for_each(|check| check.candidate = better(check.candidate, kind));
            self.insert(address.into(), kind, origin, now);
        }
        self.pair_with_bases(now);
    }

    /// Takes the newest list of candidates from one who tells them, in the place of the one before, soon:
    /// [`Checklist::take_news`].
    pub(super) fn tell(&mut self, origin: Origin, candidates: &[Candidate]) {
        self.news.entry(origin).or_default().tell(&candidates[..candidates.len().min(TOLD_MAX)]);
    }

    /// Takes the lists whose time has come, of which `takes` decides; `works`: whether a pair is kept that is told no more.
    /// Returns the number of new pairs; none: no time has come.
    pub(super) fn take_news(
        &mut self,
        takes: impl Fn(Origin, &Candidate) -> bool,
        works: impl Fn(&Check<S>) -> bool,
        now: Timestamp,
    ) -> Option<usize> {
        let due = |(origin, told): (&Origin, &mut Tellings)| told.take(now).map(|told| (*origin, told));
        let news: Vec<_> = self.news.iter_mut().filter_map(due).collect();
        let is_any = !news.is_empty();
        let mut new = 0;
        for (origin, mut told) in news {
            told.retain(|candidate| takes(origin, candidate));
            told.truncate(ADDRESSES_MAX);
            self.all.retain(|check| {
                let is_told = told.iter().any(|candidate| candidate.address == check.pair.to);
                check.origin != origin || is_told || works(check) || self.pinned.contains(&check.pair)
            });
            let kept = self.len();
            self.add(origin, &told, now);
            new += self.len() - kept;
        }
        is_any.then_some(new)
    }

    /// Sets the ports at which relays pass packets on: a check from one of them that nobody has told has come through a relay.
    pub(super) fn expect_relays(&mut self, ports: RangeInclusive<u16>) {
        self.relay_ports = Some(ports);
    }

    /// Checks all candidates from another base as well from now on; `at`: of a relay, the address from which it passes packets on.
    pub(super) fn open_base(&mut self, base: Base, at: Option<IpAddr>, now: Timestamp) {
        // One that is no relay takes the place of such a one before.
        if at.is_none() {
            self.close_base(base);
        }
        self.bases.insert(base, at);
        for check in self.all.iter_mut().filter(|check| Some(check.pair.to.ip()) == at) {
            check.candidate = Kind::Relayed;
        }
        self.pair_with_bases(now);
    }

    pub(super) fn close_base(&mut self, base: Base) {
        self.bases.remove(&base);
        self.all.retain(|check| check.pair.base != base || self.pinned.contains(&check.pair));
    }

    pub(super) fn bases(&self) -> impl Iterator<Item = (Base, Option<IpAddr>)> {
        self.bases.iter().map(|(base, at)| (*base, *at))
    }

    /// Adds a pair, unless it is known or there is no room for it.
    pub(super) fn insert(&mut self, pair: Pair, candidate: Kind, origin: Origin, now: Timestamp) {
        // What was only heard has room together, whatever its base; what was told has it for each base.
        let is_alike =
            |check: &&Check<S>| check.origin == origin && (check.is_learned() || check.pair.base == pair.base);
        let most = if origin == Origin::Packet { LEARNED_MAX } else { TOLD_MAX };
        let has_room = self.all.iter().filter(is_alike).count() < most;
        match self.get_mut(pair) {
            // Told now: it is kept as all that is told.
            Some(check) if check.is_learned() && has_room => check.origin = origin,
            None if has_room => {
                let candidate = if self.is_own_relay(pair.to.ip()) { Kind::Relayed } else { candidate };
                let (since, lapses, own) = (now, now + LEARNED, S::default());
                self.all.push(Check { pair, origin, candidate, since, sent: None, proved: None, lapses, own });
            }
            _ => {}
        }
    }

    /// Pairs what was told with each further base: through a relay not what means something in the other's house only, nor what
    /// is of the other family. What was learned is asked for through a relay, too, but not from another port: a router that shows
    /// each destination another port has made it for the first one.
    fn pair_with_bases(&mut self, now: Timestamp) {
        for (base, at) in self.bases.clone().into_iter().rev() {
            for n in 0..self.all.len() {
                let Check { pair, origin, candidate, .. } = self.all[n];
                let is_in_house =
                    Candidate { kind: candidate, address: pair.to }.is_in_house() || origin == Origin::House;
                let leads_there = at.is_none_or(|at| !is_in_house && at.is_ipv4() == pair.to.is_ipv4());
                if pair.base == Base::Port && (origin != Origin::Packet || at.is_some()) && leads_there {
                    self.insert(Pair { to: pair.to, base }, candidate, origin, now);
                }
            }
        }
    }

    /// Takes notice of a check that has come that way in a datagram of `bytes` and that only the other machine can have made; none
    /// if nobody can be there, or there is no room for another pair.
    pub(super) fn hear(
        &mut self,
        from: Pair,
        bytes: usize,
        allowance: &mut Allowance,
        now: Timestamp,
    ) -> Option<&mut Check<S>> {
        if !usable(from.to) {
            return None;
        }
        allowance.on_heard(from.to, bytes, now);
        self.learn(from, None, now);
        let check = self.get_mut(from)?;
        check.lapses = now + LEARNED;
        Some(check)
    }

    /// Remembers a pair that nobody has told, if there is room. What was proved gives way to nothing that is not. `kind`: that of its
    /// candidate, if that is known.
    pub(super) fn learn(&mut self, from: Pair, kind: Option<Kind>, now: Timestamp) {
        if self.get(from).is_some() || !usable(from.to) {
            return;
        }
        let learned: Vec<_> = self.all.iter().filter(|check| check.is_learned()).collect();
        if learned.len() >= LEARNED_MAX {
            let may_go = |check: &&&Check<S>| !check.is_proved(now) && !self.pinned.contains(&check.pair);
            let oldest = learned.iter().filter(may_go).min_by_key(|check| check.lapses).map(|check| check.pair);
            let Some(oldest) = oldest else { return };
            self.all.retain(|check| check.pair != oldest);
        }
        let learned = if self.is_relay(from.to) { Kind::Relayed } else { Kind::PeerReflexive };
        self.insert(from, kind.unwrap_or(learned), Origin::Packet, now);
    }

    fn lapses_at(&self, check: &Check<S>) -> Option<Timestamp> {
        (check.is_learned() && !self.pinned.contains(&check.pair)).then_some(check.lapses)
    }

    /// Forgets what nobody has told and nobody is at any more.
    pub(super) fn forget_learned(&mut self, now: Timestamp) {
        let lapsed = |check: &Check<S>| self.lapses_at(check).is_some_and(|lapses| lapses <= now);
        let lapsed: Vec<_> = self.all.iter().filter(|check| lapsed(check)).map(|check| check.pair).collect();
        self.all.retain(|check| !lapsed.contains(&check.pair));
    }

    /// Returns the pair whose check is to be sent now: of those that are due at the time that `wanted` says the one that waits
    /// longest, so that none starves where the allowance is short.
    pub(super) fn next_due(
        &self,
        wanted: impl Fn(&Check<S>) -> Timestamp,
        allowance: &Allowance,
        now: Timestamp,
    ) -> Option<Pair> {
        let is_due = |check: &&Check<S>| {
            let wanted = wanted(check);
            wanted <= now && self.due_at(check, wanted, allowance, now).is_some_and(|due| due <= now)
        };
        self.all.iter().filter(is_due).min_by_key(|check| wanted(check)).map(|check| check.pair)
    }

    /// Takes the bytes of a check on that way from the allowance; false if it may not be sent.
    pub(super) fn may_send(&self, pair: Pair, allowance: &mut Allowance, now: Timestamp) -> bool {
        let Some(check) = self.get(pair) else { return false };
        check.is_proved(now) || allowance.take(check.origin, pair.to, self.check_bytes, now)
    }

    /// Returns the time of a check that is wanted then; none: it may not be sent before one comes from there.
    fn due_at(&self, check: &Check<S>, wanted: Timestamp, allowance: &Allowance, now: Timestamp) -> Option<Timestamp> {
        if check.is_proved(now) {
            return Some(wanted);
        }
        Some(wanted.max(allowance.opens_at(check.origin, check.pair.to, self.check_bytes, now)?))
    }

    /// Returns the time of the next check, of news that wait, or at which a pair is forgotten.
    pub(super) fn poll_timeout(
        &self,
        wanted: impl Fn(&Check<S>) -> Timestamp,
        allowance: &Allowance,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let checks = self.all.iter().filter_map(|check| self.due_at(check, wanted(check), allowance, now));
        let lapses = self.all.iter().filter_map(|check| self.lapses_at(check));
        checks.chain(lapses).chain(self.news.values().filter_map(Tellings::due)).min()
    }

    fn is_own_relay(&self, ip: IpAddr) -> bool {
        self.bases.values().any(|at| *at == Some(ip))
    }

    /// Returns true if packets from there have come through a relay: this machine's, one that the other has told, or one of
    /// which the port tells it.
    fn is_relay(&self, from: SocketAddr) -> bool {
        let is_told = |check: &Check<S>| {
            check.candidate == Kind::Relayed && !check.pair.is_relayed() && check.pair.to.ip() == from.ip()
        };
        let is_port = |ports: &RangeInclusive<u16>| ports.contains(&from.port());
        self.is_own_relay(from.ip()) || self.relay_ports.as_ref().is_some_and(is_port) || self.all.iter().any(is_told)
    }
}

/// Returns the kind of a candidate that is told as two: what a relay passes on stays so.
fn better(one: Kind, other: Kind) -> Kind {
    if one.relays() + other.relays() > 0 { Kind::Relayed } else { one.min(other) }
}
