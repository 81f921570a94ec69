//! A bad network in virtual time, for tests: what happens to a datagram follows from the seed alone.
//!
//! Datagrams pass, in this order: a pause, a bottleneck with its queue, a policer, a limit of their size, loss
//! (independent and in bursts), duplication, delay with jitter, overtaking, another pause. A [`Scenario`] tells which
//! conditions hold when.

mod conditions;
pub mod lines;
pub mod linked;

mod pauses;
mod random;
pub mod router;
pub mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

pub use self::conditions::{Bottleneck, Bursts, HEADERS_BYTES, NetConditions, SPREADS_MAX, Scenario};
pub use self::pauses::Pauses;
pub use self::random::Random;
use crate::units::Timestamp;

/// The fates of the datagrams, so that a test can tell whether its fault has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCounters {
    /// Datagrams that entered.
    pub entered: u64,
    /// Vanished, one at a time or in bursts.
    pub lost: u64,
    /// Vanished because they were too large.
    pub too_large: u64,
    /// Vanished because the queue was full, or in a policer.
    pub overflowed: u64,
    /// Came twice.
    pub duplicated: u64,
    /// Were held back for others to overtake.
    pub overtaken: u64,
}

/// One direction of a network. What passes has the bytes of a datagram, and may tell besides whose it is.
#[derive(Clone, Debug)]
pub struct Network<D = Vec<u8>> {
    scenario: Scenario,
    start: Timestamp,
    random: Random,
    in_burst: bool,
    /// Time since the start at which the bottleneck has sent all that it has accepted.
    free_at: Duration,
    /// Time since the start at which a line of the policer's rate would have sent all that it has let through.
    policed_at: Duration,
    /// End of the last pause before the bottleneck, and how many datagrams wait or waited for it.
    held: (Duration, usize),
    /// Datagrams by arrival, then in the order of entry.
    in_flight: BTreeMap<ArrivalOrder, D>,
    overtaken: Vec<Overtaken>,
    entered: u64,
    last_in_order: Timestamp,
    counters: NetCounters,
}

type ArrivalOrder = (Timestamp, u64);

/// A datagram held back until others have come.
#[derive(Clone, Copy, Debug)]
struct Overtaken {
    place: ArrivalOrder,
    still_to_come: u64,
}

impl<D: AsRef<[u8]> + Clone> Network<D> {
    /// Creates an empty network; the scenario's time begins at `start`.
    pub fn new(scenario: impl Into<Scenario>, start: Timestamp) -> Self {
        let scenario = scenario.into();
        Self {
            start,
            random: Random::new(scenario.seed()),
            scenario,
            in_burst: false,
            free_at: Duration::ZERO,
            policed_at: Duration::ZERO,
            held: (Duration::ZERO, 0),
            in_flight: BTreeMap::new(),
            overtaken: Vec::new(),
            entered: 0,
            last_in_order: Timestamp::default(),
            counters: NetCounters::default(),
        }
    }

    /// Changes to another scenario, whose time begins at `now`; what is under way stays.
    pub fn restart(&mut self, scenario: impl Into<Scenario>, now: Timestamp) {
        let elapsed = now.since(self.start);
        self.free_at = self.free_at.saturating_sub(elapsed);
        self.policed_at = self.policed_at.saturating_sub(elapsed);
        self.scenario = scenario.into();
        self.random = Random::new(self.scenario.seed());
        self.start = now;
    }

    /// Returns what holds at `now`.
    pub fn conditions(&self, now: Timestamp) -> &NetConditions {
        self.scenario.at(now.since(self.start))
    }

    /// Returns what has become of the datagrams.
    pub fn counters(&self) -> NetCounters {
        self.counters
    }

    /// Takes a datagram. `now` does not fall.
    pub fn push(&mut self, datagram: D, now: Timestamp) {
        self.counters.entered += 1;
        let bytes = datagram.as_ref().len();
        let conditions = *self.conditions(now);
        let Some(left) = self.pass_bottleneck(&conditions, bytes, now) else {
            self.counters.overflowed += 1;
            return;
        };
        if !self.passes_policer(&conditions, bytes, left) {
            self.counters.overflowed += 1;
            return;
        }
        let is_lost = self.random.chance(conditions.loss) | self.is_in_burst(conditions.bursts);
        if bytes > conditions.datagram_max {
            self.counters.too_large += 1;
        } else if is_lost {
            self.counters.lost += 1;
        } else {
            if self.random.chance(conditions.duplicate) {
                self.counters.duplicated += 1;
                self.deliver(datagram.clone(), &conditions, left);
            }
            self.deliver(datagram, &conditions, left);
        }
    }

    /// Returns how long what has entered by `now` takes to leave the bottleneck.
    pub fn queue(&self, now: Timestamp) -> Duration {
        self.free_at.saturating_sub(now.since(self.start))
    }

    /// Returns the next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<D> {
        let entry = self.in_flight.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Returns the time at which the next datagram arrives.
    pub fn next_arrival(&self) -> Option<Timestamp> {
        self.in_flight.first_key_value().map(|(key, _)| key.0)
    }

    /// Returns the time at which a datagram that enters now has left the bottleneck; none: its queue is full.
    fn pass_bottleneck(&mut self, conditions: &NetConditions, bytes: usize, now: Timestamp) -> Option<Timestamp> {
        let came = now.since(self.start);
        let elapsed = self.scenario.let_in(came);
        if elapsed > came {
            self.held = (elapsed, if self.held.0 == elapsed { self.held.1 + 1 } else { 1 });
            if self.held.1 > self.scenario.held_max() {
                return None;
            }
        }
        let Some(line) = conditions.bottleneck else { return Some(now.max(self.start + elapsed)) };
        if self.free_at.saturating_sub(elapsed) > line.queue {
            return None;
        }
        let bits = 8 * (bytes + line.overhead_bytes) as u64;
        self.free_at = self.sent_at(self.free_at.max(elapsed), bits);
        Some(self.start + self.free_at)
    }

    fn passes_policer(&mut self, conditions: &NetConditions, bytes: usize, now: Timestamp) -> bool {
        let Some(policer) = conditions.policer else { return true };
        let elapsed = now.since(self.start);
        let passes = self.policed_at.saturating_sub(elapsed) <= policer.queue;
        if passes {
            let bits = 8 * (bytes + policer.overhead_bytes) as u64;
            let span = Duration::from_nanos(bits.saturating_mul(1_000_000_000) / policer.rate.as_bps().max(1));
            self.policed_at = self.policed_at.max(elapsed) + span;
        }
        passes
    }

    /// Returns the time at which `bits` are through the bottleneck, begun at `from`, at the rates that hold meanwhile.
    fn sent_at(&self, mut from: Duration, bits: u64) -> Duration {
        // Bits times 1e9, so that a rate times nanoseconds needs no division.
        let mut left = u128::from(bits) * 1_000_000_000;
        while let Some(line) = self.scenario.at(from).bottleneck {
            let rate = u128::from(line.rate.as_bps().max(1));
            let end = from + Duration::from_nanos(u64::try_from(left.div_ceil(rate)).unwrap_or(u64::MAX / 4));
            match self.scenario.next_change(from) {
                Some(change) if change < end => {
                    left = left.saturating_sub(rate * (change - from).as_nanos());
                    from = change;
                }
                _ => return end,
            }
        }
        from
    }

    fn is_in_burst(&mut self, bursts: Option<Bursts>) -> bool {
        let Some(Bursts { average, mean_length }) = bursts else {
            self.in_burst = false;
            return false;
        };
        let leave = 1.0 / mean_length;
        let change = if self.in_burst { leave } else { leave * average / (1.0 - average) };
        self.in_burst ^= self.random.chance(change);
        self.in_burst
    }

    fn deliver(&mut self, datagram: D, conditions: &NetConditions, left: Timestamp) {
        let mut arrival = left + conditions.delay + conditions.jitter.mul_f64(self.random.unit());
        if !conditions.jitter_spread.is_zero() {
            let spreads = self.random.normal().abs().min(SPREADS_MAX.into());
            arrival = arrival + conditions.jitter_spread.mul_f64(spreads);
        }
        if self.random.chance(conditions.reorder) {
            self.counters.overtaken += 1;
            let place = self.place(self.let_out(arrival + conditions.reorder_delay));
            self.in_flight.insert(place, datagram);
            if conditions.reorder_by > 0 {
                let still_to_come = 1 + self.random.below(conditions.reorder_by.into());
                self.overtaken.push(Overtaken { place, still_to_come });
            }
            return;
        }
        let arrival = self.let_out(arrival.max(self.last_in_order));
        self.last_in_order = arrival;
        let place = self.place(arrival);
        self.in_flight.insert(place, datagram);
        for mut held in std::mem::take(&mut self.overtaken) {
            held.still_to_come -= 1;
            if held.still_to_come > 0 {
                self.overtaken.push(held);
            } else if held.place.0 > arrival
                && let Some(datagram) = self.in_flight.remove(&held.place)
            {
                let place = self.place(arrival);
                self.in_flight.insert(place, datagram);
            }
        }
    }

    fn let_out(&self, arrival: Timestamp) -> Timestamp {
        if arrival < self.start { arrival } else { self.start + self.scenario.let_out(arrival.since(self.start)) }
    }

    /// Returns a place behind all others that arrive at `arrival`.
    fn place(&mut self, arrival: Timestamp) -> ArrivalOrder {
        self.entered += 1;
        (arrival, self.entered)
    }
}
