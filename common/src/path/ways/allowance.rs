//! The allowance for everything that is sent to addresses which have not answered.
//!
//! Whoever tells this machine an address may lie: it may be somebody else's, who has asked for nothing. So what goes to an
//! address before it has returned a nonce of this machine's is counted here, whoever sends it: knocks, questions and answers
//! of a call, from any port and through any relay.
//!
//! - **A second.** Each [`Origin`] of addresses has a quota of bytes a second; all of them together are the quota of all. So
//!   lies of one origin take nothing from another.
//! - **An address.** Each address has a total, which comes back within an hour; those that this machine's own user has given
//!   get a little more all the time, for a friend who comes late.
//! - **What came.** An address that is known from packets only gets at most [`TIMES`] the bytes that came from it.
//!
//! Bytes are those of datagrams, without the headers of UDP and IP.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::kinds::Origin;
use super::knock::KNOCK_BYTES;
use super::probe::QUESTION_BYTES;
use super::quota::Spent;
use crate::units::Timestamp;

/// Most bytes to an address that has not answered for each that came from it (RFC 9000, section 8.1).
pub const TIMES: u64 = 3;
/// Addresses of one origin with a total of their own; more get nothing until one of these has earned all of its own again.
const ADDRESSES_MAX: usize = 64;
/// Addresses from which packets came that are remembered, and most bytes that one may get for them.
const HEARD_MAX: usize = 64;
const CREDIT_MAX: u64 = 4_096;

const _: () = {
    let mut at = 0;
    while at < Origin::ALL.len() {
        assert!(Origin::ALL[at] as usize == at, "the place in the list of what was taken");
        let each = match Origin::ALL[at].of_each() {
            Some(each) => each.burst,
            None => TIMES * KNOCK_BYTES as u64,
        };
        let all = Origin::ALL[at].quota().burst;
        assert!(QUESTION_BYTES as u64 <= all && QUESTION_BYTES as u64 <= each, "one check at least");
        assert!(KNOCK_BYTES as u64 <= all && KNOCK_BYTES as u64 <= each);
        at += 1;
    }
    assert!(CREDIT_MAX >= TIMES * QUESTION_BYTES as u64);
};

/// Bytes that came from an address and are not spent yet.
#[derive(Clone, Copy, Debug)]
struct Credit {
    bytes: u64,
    heard: Timestamp,
}

/// Bytes that may still go to addresses that have not answered. It knows no socket and no clock, and its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    origins: [Spent; Origin::ALL.len()],
    addresses: BTreeMap<(Origin, SocketAddr), Spent>,
    credits: BTreeMap<SocketAddr, Credit>,
}

impl Allowance {
    /// Takes notice of a datagram of `bytes` from `address` that only the other machine can have made, and that is not one that
    /// was sent again.
    pub fn on_heard(&mut self, address: SocketAddr, bytes: usize, now: Timestamp) {
        let bytes = TIMES.saturating_mul(bytes as u64);
        if !self.credits.contains_key(&address) && self.credits.len() >= HEARD_MAX {
            let oldest = self.credits.iter().min_by_key(|(_, credit)| credit.heard).map(|(address, _)| *address);
            oldest.and_then(|oldest| self.credits.remove(&oldest));
        }
        let credit = self.credits.entry(address).or_insert(Credit { bytes: 0, heard: now });
        *credit = Credit { bytes: credit.bytes.saturating_add(bytes).min(CREDIT_MAX), heard: now };
    }

    /// Returns the time from which on `bytes` may go to `address`; none: not before something comes from there.
    pub fn opens_at(&self, origin: Origin, address: SocketAddr, bytes: usize, now: Timestamp) -> Option<Timestamp> {
        let bytes = bytes as u64;
        let all = self.origins[origin as usize].opens_at(origin.quota(), bytes)?;
        if self.has_credit(address, bytes) {
            return Some(all);
        }
        let quota = origin.of_each()?;
        let own = match self.addresses.get(&(origin, address)) {
            Some(spent) => spent.opens_at(quota, bytes)?,
            None => self.has_room_at(origin, now).filter(|_| bytes <= quota.burst)?,
        };
        Some(all.max(own))
    }

    /// Takes `bytes` that go to `address` now; false, and nothing is taken, if they may not.
    #[must_use]
    pub fn take(&mut self, origin: Origin, address: SocketAddr, bytes: usize, now: Timestamp) -> bool {
        if self.opens_at(origin, address, bytes, now).is_none_or(|at| at > now) {
            return false;
        }
        let bytes = bytes as u64;
        if self.has_credit(address, bytes) {
            if let Some(credit) = self.credits.get_mut(&address) {
                credit.bytes -= bytes;
            }
        } else if let Some(quota) = origin.of_each() {
            if !self.addresses.contains_key(&(origin, address)) {
                self.make_room(origin, now);
            }
            self.addresses.entry((origin, address)).or_default().take(quota, bytes, now);
        }
        self.origins[origin as usize].take(origin.quota(), bytes, now);
        true
    }

    fn has_credit(&self, address: SocketAddr, bytes: u64) -> bool {
        self.credits.get(&address).is_some_and(|credit| credit.bytes >= bytes)
    }

    fn of(&self, origin: Origin) -> impl Iterator<Item = (&(Origin, SocketAddr), &Spent)> {
        self.addresses.iter().filter(move |((of, _), _)| *of == origin)
    }

    /// Returns the time from which on another address of this origin is remembered: one that has earned all of its own again is
    /// as good as forgotten.
    fn has_room_at(&self, origin: Origin, now: Timestamp) -> Option<Timestamp> {
        if self.of(origin).count() < ADDRESSES_MAX {
            return Some(now);
        }
        self.of(origin).map(|(_, spent)| spent.ends()).min()
    }

    fn make_room(&mut self, origin: Origin, now: Timestamp) {
        if self.of(origin).count() >= ADDRESSES_MAX {
            self.addresses.retain(|(of, _), spent| *of != origin || spent.ends() > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    fn address(n: u64) -> SocketAddr {
        SocketAddr::from(([203, 0, (n >> 8) as u8, n as u8], 20_000))
    }

    /// Sends all that may go, every millisecond, to the address that `to` names; returns the bytes.
    fn pour(allowance: &mut Allowance, origin: Origin, ms: std::ops::Range<u64>, to: impl Fn(u64) -> u64) -> u64 {
        let mut sent = 0;
        for ms in ms {
            for _ in 0..50 {
                sent += if allowance.take(origin, address(to(ms)), 41, at(ms)) { 41 } else { 0 };
            }
        }
        sent
    }

    #[test]
    fn an_address_gets_its_total_and_then_what_comes_back_in_an_hour() {
        for origin in Origin::ALL {
            let mut allowance = Allowance::default();
            let Some(quota) = origin.of_each() else { continue };
            let sent = pour(&mut allowance, origin, 0..60_000, |_| 1);
            let most = quota.within(Duration::from_secs(60));
            assert!((most - 41..=most).contains(&sent), "{origin:?}: {sent} of {most}");
            // Others of this origin, and the same address of another origin, have their own.
            assert!(allowance.take(origin, address(2), 41, at(120_000)));
        }
    }

    #[test]
    fn ever_new_addresses_get_no_more_than_the_quota_of_all_and_then_nothing() {
        let mut allowance = Allowance::default();
        let sent = pour(&mut allowance, Origin::Call, 0..10_000, |ms| ms);
        let most = Origin::Call.quota().within(Duration::from_secs(10));
        assert!(sent <= most, "{sent} of {most}");
        // Those that are remembered have a total each; what comes beyond them gets nothing.
        assert_eq!(allowance.of(Origin::Call).count(), ADDRESSES_MAX);
        assert!(!allowance.take(Origin::Call, address(60_000), 41, at(10_000)));
        assert!(allowance.take(Origin::Note, address(60_000), 41, at(10_000)), "lies of one take nothing from another");
        let room = allowance.opens_at(Origin::Call, address(60_000), 41, at(10_000)).unwrap();
        assert!(
            allowance.take(Origin::Call, address(60_000), 41, room),
            "when another has earned all of its own again"
        );
    }

    #[test]
    fn who_is_known_from_packets_only_gets_three_times_what_came() {
        let mut allowance = Allowance::default();
        assert!(!allowance.take(Origin::Packet, address(1), 41, at(0)));
        assert_eq!(allowance.opens_at(Origin::Packet, address(1), 41, at(0)), None);
        allowance.on_heard(address(1), 41, at(0));
        assert_eq!(pour(&mut allowance, Origin::Packet, 0..60_000, |_| 1), 3 * 41);
        assert_eq!(pour(&mut allowance, Origin::Packet, 0..60_000, |_| 2), 0, "from somebody else nothing came");
    }

    /// An input: who, where, how long, and how much later.
    #[derive(Clone, Copy, Debug)]
    enum Input {
        Heard(u64, usize),
        Send(Origin, u64, usize),
        Pass(u64),
    }

    fn input() -> impl Strategy<Value = Input> {
        // Few addresses, to exhaust them, and many, to push them out.
        let number = || prop_oneof![0..4_u64, 0..10_000_u64];
        prop_oneof![
            3 => (number(), 0..1_500_usize).prop_map(|(number, bytes)| Input::Heard(number, bytes)),
            10 => (0..6_usize, number(), prop_oneof![Just(41), 0..20_000_usize])
                .prop_map(|(origin, number, bytes)| Input::Send(Origin::ALL[origin], number, bytes)),
            3 => prop_oneof![0..2_000_u64, 0..2_000_000_u64, Just(4_000_000_000)].prop_map(Input::Pass),
        ]
    }

    proptest! {
        #[test]
        fn no_sequence_of_inputs_exceeds_it(inputs in proptest::collection::vec(input(), 1..600)) {
            let mut allowance = Allowance::default();
            let mut now = at(0);
            let mut sent: Vec<(Timestamp, Origin, u64, u64)> = Vec::new();
            let mut came: BTreeMap<u64, u64> = BTreeMap::new();
            for input in inputs {
                match input {
                    Input::Pass(us) => now = now + Duration::from_micros(us),
                    Input::Heard(number, bytes) => {
                        allowance.on_heard(address(number), bytes, now);
                        *came.entry(number).or_default() += bytes as u64;
                    }
                    Input::Send(origin, number, bytes) => {
                        let opens = allowance.opens_at(origin, address(number), bytes, now);
                        let goes = allowance.take(origin, address(number), bytes, now);
                        prop_assert_eq!(goes, opens.is_some_and(|at| at <= now));
                        if let Some(at) = opens.filter(|at| *at > now) {
                            prop_assert!(allowance.clone().take(origin, address(number), bytes, at), "{:?}", at);
                        }
                        if goes {
                            sent.push((now, origin, number, bytes as u64));
                        }
                    }
                }
                prop_assert!(allowance.addresses.len() + allowance.credits.len() <= ADDRESSES_MAX * Origin::ALL.len() + HEARD_MAX);
            }
            // In every window: each origin, and each address of each origin beyond what came from there.
            for (first, (begin, ..)) in sent.iter().enumerate() {
                let mut of = BTreeMap::new();
                let mut to = BTreeMap::new();
                for (end, origin, number, bytes) in &sent[first..] {
                    let span = end.since(*begin);
                    let all = of.entry(*origin).or_insert(0);
                    *all += bytes;
                    prop_assert!(*all <= origin.quota().within(span), "{all} bytes of {origin:?} in {span:?}");
                    let one = to.entry((*origin, *number)).or_insert(0);
                    *one += bytes;
                    let most = origin.of_each().map_or(0, |quota| quota.within(span));
                    let came = TIMES * came.get(number).copied().unwrap_or_default();
                    prop_assert!(*one <= most + came, "{one} bytes of {origin:?} to one address in {span:?}");
                }
            }
        }
    }
}
