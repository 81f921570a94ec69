//! Limits on handshakes, so that neither strangers nor forged addresses cost a listener much or keep its peer out.
//!
//! A few handshakes at a time need no proof. Beyond them, and once too many have failed, a caller must first prove that
//! it receives at its address; each proved address has limits of handshakes under way and of failed ones.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use common::units::Timestamp;

/// Handshakes under way at once with addresses that are not proved.
const UNPROVED_MAX: usize = 16;
/// Handshakes under way at once with proved addresses: all together, and each.
const PROVED_MAX: usize = 64;
const PROVED_MAX_EACH: usize = 8;
/// Handshakes that may fail in a second, for each proved address and for all others together.
const FAILURES_MAX: u32 = 16;
/// Addresses that are remembered.
const SOURCES_MAX: usize = 256;

/// Treatment of a new connection attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Go on with the handshake, and say how it ended ([`Gate::ended`]).
    Admit(Ticket),
    /// Demand a proof of the address.
    Prove,
    /// Turn it away.
    Refuse,
}

/// A handshake under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(Option<IpAddr>);

/// The handshakes under way and the recent failures.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    unproved: Source,
    proved: HashMap<IpAddr, Source>,
}

impl Gate {
    /// Answers a caller from `address`, which it has `proved` or not; `busy`: during a call, that proof is always
    /// needed.
    pub(crate) fn knock(&mut self, address: IpAddr, proved: bool, busy: bool, now: Timestamp) -> Answer {
        if !proved {
            if busy || self.unproved.under_way >= UNPROVED_MAX || self.unproved.failures.are_too_many(now) {
                return Answer::Prove;
            }
            self.unproved.under_way += 1;
            return Answer::Admit(Ticket(None));
        }
        let source = source(address);
        if self.proved.len() >= SOURCES_MAX && !self.proved.contains_key(&source) {
            self.proved.retain(|_, known| known.under_way > 0 || known.failures.are_recent(now));
        }
        let under_way: usize = self.proved.values().map(|known| known.under_way).sum();
        let has_place = self.proved.len() < SOURCES_MAX || self.proved.contains_key(&source);
        if under_way >= PROVED_MAX || !has_place {
            return Answer::Refuse;
        }
        let known = self.proved.entry(source).or_default();
        if known.under_way >= PROVED_MAX_EACH || known.failures.are_too_many(now) {
            return Answer::Refuse;
        }
        known.under_way += 1;
        Answer::Admit(Ticket(Some(source)))
    }

    /// Notes that a handshake has ended, well or not.
    pub(crate) fn ended(&mut self, ticket: Ticket, well: bool, now: Timestamp) {
        let known = match ticket.0 {
            None => Some(&mut self.unproved),
            Some(source) => self.proved.get_mut(&source),
        };
        if let Some(known) = known {
            known.under_way = known.under_way.saturating_sub(1);
            if !well {
                known.failures.add(now);
            }
        }
    }
}

/// Handshakes of one source.
#[derive(Debug, Default)]
struct Source {
    under_way: usize,
    failures: Failures,
}

/// Returns the part of an address that one host has for itself: an IPv4 address, or the first half of an IPv6 address.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// Recent failures: a bucket that loses [`FAILURES_MAX`] a second and holds as many.
#[derive(Debug, Default)]
struct Failures {
    /// Time at which it will be empty.
    empty: Timestamp,
}

impl Failures {
    const SPAN: Duration = Duration::from_secs(1);

    fn add(&mut self, now: Timestamp) {
        self.empty = self.empty.max(now) + Self::SPAN / FAILURES_MAX;
    }

    fn are_too_many(&self, now: Timestamp) -> bool {
        self.empty >= now + Self::SPAN
    }

    fn are_recent(&self, now: Timestamp) -> bool {
        self.empty > now
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const fn host(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    #[test]
    fn forged_addresses_take_some_places_and_the_peer_still_gets_in() {
        let mut gate = Gate::default();
        let answers: Vec<_> = (0..10_000).map(|number| gate.knock(host(number), false, false, at(0))).collect();
        let admitted = answers.iter().filter(|&&answer| answer == Answer::Admit(Ticket(None))).count();
        assert_eq!(admitted, UNPROVED_MAX);
        assert!(answers[UNPROVED_MAX..].iter().all(|&answer| answer == Answer::Prove));
        assert!(matches!(gate.knock(host(1), true, false, at(1)), Answer::Admit(_)));
    }

    #[test]
    fn in_a_call_everybody_proves_its_address() {
        let mut gate = Gate::default();
        assert_eq!(gate.knock(host(1), false, true, at(0)), Answer::Prove);
        assert!(matches!(gate.knock(host(1), true, true, at(0)), Answer::Admit(_)));
    }

    /// Handshakes from `address` that end at once; returns how many were admitted in ten seconds.
    fn admitted_in_ten_seconds(gate: &mut Gate, address: IpAddr, proved: bool, well: bool) -> usize {
        let answers = (0..10_000).map(|ms| match gate.knock(address, proved, false, at(ms)) {
            Answer::Admit(ticket) => {
                gate.ended(ticket, well, at(ms));
                1
            }
            Answer::Prove | Answer::Refuse => 0,
        });
        answers.sum()
    }

    #[test]
    fn an_address_whose_handshakes_fail_has_few() {
        let mut gate = Gate::default();
        for proved in [false, true] {
            let admitted = admitted_in_ten_seconds(&mut gate, host(1), proved, false);
            assert!((10 * FAILURES_MAX as usize..=12 * FAILURES_MAX as usize).contains(&admitted), "{admitted}");
        }
        assert_eq!(gate.knock(host(1), false, false, at(10_000)), Answer::Prove);
        assert_eq!(gate.knock(host(1), true, false, at(10_000)), Answer::Refuse);
        // Another address, and the same one later.
        assert!(matches!(gate.knock(host(2), true, false, at(10_000)), Answer::Admit(_)));
        assert!(matches!(gate.knock(host(1), true, false, at(10_100)), Answer::Admit(_)));
        assert_eq!(admitted_in_ten_seconds(&mut gate, host(3), true, true), 10_000, "these do not fail");
    }

    #[test]
    fn no_address_takes_every_place_and_all_together_not_more_than_there_are() {
        let mut gate = Gate::default();
        for number in 0..20 {
            let knocks = (0..10).map(|_| gate.knock(host(number), true, false, at(0)));
            let admitted = knocks.filter(|answer| matches!(answer, Answer::Admit(_))).count();
            assert_eq!(admitted, if number < 8 { PROVED_MAX_EACH } else { 0 });
        }
    }

    #[test]
    fn addresses_are_forgotten() {
        let mut gate = Gate::default();
        for number in 0..10_000 {
            // In a second each, so that those before may be forgotten.
            let now = at(1_000 * u64::from(number));
            let Answer::Admit(ticket) = gate.knock(host(number), true, false, now) else { continue };
            gate.ended(ticket, false, now);
        }
        assert!(gate.proved.len() <= SOURCES_MAX);
        assert!(matches!(gate.knock(host(20_000), true, false, at(100_000_000)), Answer::Admit(_)));
    }

    #[test]
    fn more_addresses_than_are_remembered_have_to_wait() {
        let mut gate = Gate::default();
        let answers = (0..10_000).map(|number| match gate.knock(host(number), true, false, at(0)) {
            Answer::Admit(ticket) => {
                gate.ended(ticket, false, at(0));
                1
            }
            Answer::Prove | Answer::Refuse => 0,
        });
        assert_eq!(answers.sum::<usize>(), SOURCES_MAX);
        assert_eq!(gate.proved.len(), SOURCES_MAX);
        assert!(matches!(gate.knock(host(20_000), true, false, at(1_000)), Answer::Admit(_)), "until those have left");
    }

    #[test]
    fn a_network_of_ipv6_addresses_is_one_source() {
        let address = |text: &str| text.parse().map(source).ok();
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
    }
}
