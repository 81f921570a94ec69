//! The clock of a peer, which is asked for by pings.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::ClockOffset;
use crate::units::Timestamp;
use crate::wire::control::ControlMessage;

/// Number and interval of the first pings, which are fast so that the clocks are known before the first frame.
const FIRST_PINGS: u32 = 8;
const FIRST_PING_INTERVAL: Duration = Duration::from_millis(50);
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Pings whose answer is still awaited.
const PINGS_OUTSTANDING: usize = 8;

/// The pings of one connection, and what their answers show of the clock there.
#[derive(Clone, Debug)]
pub(super) struct PeerClock {
    next_at: Timestamp,
    next_id: u32,
    outstanding: VecDeque<(u32, Timestamp)>,
    clock: ClockOffset,
}

impl PeerClock {
    /// Begins at `now`.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { next_at: now, next_id: 0, outstanding: VecDeque::new(), clock: ClockOffset::default() }
    }

    /// Returns the time of the next ping.
    pub(super) fn next_at(&self) -> Timestamp {
        self.next_at
    }

    /// Returns the ping that leaves now.
    pub(super) fn ping(&mut self, now: Timestamp) -> ControlMessage {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.outstanding.truncate(PINGS_OUTSTANDING - 1);
        self.outstanding.push_front((id, now));
        self.next_at = now + if id < FIRST_PINGS { FIRST_PING_INTERVAL } else { PING_INTERVAL };
        ControlMessage::Ping { id, sent: now }
    }

    /// Takes an answer: the peer got ping `id` at `received` and answered at `sent`, by its clock.
    pub(super) fn on_pong(&mut self, id: u32, received: Timestamp, sent: Timestamp, now: Timestamp) {
        if let Some(at) = self.outstanding.iter().position(|ping| ping.0 == id)
            && let Some((_, ping_sent)) = self.outstanding.remove(at)
        {
            self.clock.on_pong(ping_sent, received, sent, now);
        }
    }

    /// Returns the peer's clock.
    pub(super) fn clock(&self) -> &ClockOffset {
        &self.clock
    }
}
