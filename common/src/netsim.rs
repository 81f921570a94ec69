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
        Self { seed: 0, loss: 0.0, duplicate: 0.0, reorder: 0.0, reorder_delay: Duration::ZERO, delay, jitter: Duration::ZERO }
    }
}

/// One direction of a network.
#[derive(Clone, Debug)]
pub struct Network {
    conditions: NetConditions,
    in_flight: BTreeMap<(Timestamp, u64), Vec<u8>>,
}

impl Network {
    /// An empty network.
    pub fn new(conditions: NetConditions) -> Self {
        todo!()
    }

    /// A datagram enters.
    pub fn push(&mut self, datagram: Vec<u8>, now: Timestamp) {
        todo!()
    }

    /// The next datagram that has arrived by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        todo!()
    }

    /// When the next datagram arrives.
    pub fn next_arrival(&self) -> Option<Timestamp> {
        todo!()
    }
}
