//! A bad network in virtual time, for tests: what happens to a datagram follows from the seed alone.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::units::Timestamp;

/// How bad the network is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetConditions {
    /// Same seed, same fate.
    pub seed: u64,
    /// Share of datagrams that vanish, 0 to 1.
    pub loss: f64,
    /// Share of datagrams that come twice.
    pub duplicate: f64,
    /// Share of datagrams that are overtaken by those that follow within [`Self::reorder_delay`].
    pub reorder: f64,
    /// How much later an overtaken datagram comes.
    pub reorder_delay: Duration,
    /// One way.
    pub delay: Duration,
    /// Each datagram is delayed by up to this much more, without overtaking.
    pub jitter: Duration,
}

impl NetConditions {
    /// A network that loses nothing and delays by `delay`.
    pub const fn perfect(delay: Duration) -> Self {
        Self {
            seed: 0,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_delay: Duration::ZERO,
            delay,
            jitter: Duration::ZERO,
        }
    }

    /// The longest that a datagram can take, if no other holds it up.
    pub fn delay_max(&self) -> Duration {
        self.delay + self.jitter + self.reorder_delay
    }
}

/// One direction of a network.
#[derive(Clone, Debug)]
pub struct Network {
    conditions: NetConditions,
    random: Random,
    /// By arrival, then in the order of entry.
    in_flight: BTreeMap<(Timestamp, u64), Vec<u8>>,
    entered: u64,
    last_in_order: Timestamp,
}

impl Network {
    /// An empty network.
    pub fn new(conditions: NetConditions) -> Self {
        let random = Random::new(conditions.seed);
        Self { conditions, random, in_flight: BTreeMap::new(), entered: 0, last_in_order: Timestamp::default() }
    }

    /// A datagram enters.
    pub fn push(&mut self, datagram: Vec<u8>, now: Timestamp) {
        if self.random.chance(self.conditions.loss) {
            return;
        }
        if self.random.chance(self.conditions.duplicate) {
            self.deliver(datagram.clone(), now);
        }
        self.deliver(datagram, now);
    }

    /// The next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        let entry = self.in_flight.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// When the next datagram arrives.
    pub fn next_arrival(&self) -> Option<Timestamp> {
        self.in_flight.first_key_value().map(|(key, _)| key.0)
    }

    fn deliver(&mut self, datagram: Vec<u8>, now: Timestamp) {
        let mut arrival = now + self.conditions.delay + self.conditions.jitter.mul_f64(self.random.unit());
        if self.random.chance(self.conditions.reorder) {
            arrival = arrival + self.conditions.reorder_delay;
        } else {
            arrival = arrival.max(self.last_in_order);
            self.last_in_order = arrival;
        }
        self.in_flight.insert((arrival, self.entered), datagram);
        self.entered += 1;
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014): small, seeded, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `end - 1`; `end` is at least 1.
    pub const fn below(&mut self, end: u64) -> u64 {
        ((self.bits() as u128 * end as u128) >> 64) as u64
    }

    /// 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(conditions: NetConditions) -> Vec<(u64, u32)> {
        let mut network = Network::new(conditions);
        for datagram in 0..10_000u32 {
            network.push(datagram.to_le_bytes().to_vec(), Timestamp::from_us(u64::from(datagram) * 100));
        }
        let mut seen = Vec::new();
        while let Some(at) = network.next_arrival() {
            assert_eq!(network.pop(Timestamp::from_us(at.as_us() - 1)), None);
            let datagram = network.pop(at).unwrap_or_default();
            seen.push((at.as_us(), u32::from_le_bytes([datagram[0], datagram[1], datagram[2], datagram[3]])));
        }
        seen
    }

    #[test]
    fn a_perfect_network_only_delays() {
        let seen = arrivals(NetConditions::perfect(Duration::from_millis(3)));
        assert_eq!(seen.len(), 10_000);
        assert!(seen.iter().all(|&(at, datagram)| at == u64::from(datagram) * 100 + 3_000));
    }

    #[test]
    fn the_conditions_hold_and_the_seed_decides() {
        let conditions = NetConditions {
            loss: 0.1,
            duplicate: 0.05,
            reorder: 0.02,
            reorder_delay: Duration::from_millis(1),
            jitter: Duration::from_micros(300),
            ..NetConditions::perfect(Duration::from_millis(3))
        };
        let seen = arrivals(conditions);
        assert!((9_350..9_550).contains(&seen.len()), "{}", seen.len());
        let overtaken = seen.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        assert!((100..300).contains(&overtaken), "{overtaken}");
        assert_eq!(seen, arrivals(conditions));
        assert_ne!(seen, arrivals(NetConditions { seed: 1, ..conditions }));
    }
}
