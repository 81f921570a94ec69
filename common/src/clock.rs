//! How far the peer's clock is from ours, from pings (as in NTP, RFC 5905 section 8).

use std::collections::VecDeque;
use std::time::Duration;

use crate::units::Timestamp;

/// Offset and round trip from the last pings; the one with the shortest round trip counts, since its two ways
/// were the least unequal.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    rtt_us: u64,
    offset_us: i64,
}

impl ClockOffset {
    /// A ping that left at `ping_sent` and whose answer came at `now` (own clock); the peer got it at `received`
    /// and answered at `sent` (peer's clock). Impossible times are ignored.
    pub fn on_pong(&mut self, ping_sent: Timestamp, received: Timestamp, sent: Timestamp, now: Timestamp) {
        todo!()
    }

    /// Peer's clock minus own, microseconds; none before the first answer.
    pub fn offset_us(&self) -> Option<i64> {
        todo!()
    }

    /// Shortest round trip of the last pings.
    pub fn rtt(&self) -> Option<Duration> {
        todo!()
    }

    /// A point on the peer's clock as a point on ours; none before the first answer.
    pub fn to_own(&self, peer: Timestamp) -> Option<Timestamp> {
        todo!()
    }
}
