//! The pings of a link test: round trips and loss, with and without load.

use std::time::Duration;

use crate::percentiles::TimeHistogram;
use crate::units::Timestamp;
use crate::wire::probe::TestDatagram;

const PING_INTERVAL: Duration = Duration::from_millis(20);
/// A ping that has not been answered for so long is lost.
const PONG_MAX: Duration = Duration::from_secs(1);

/// Pings and what came back.
#[derive(Debug)]
pub(super) struct Pings {
    pub(super) next: Timestamp,
    number: u16,
    /// Sent without load.
    sent: u32,
    /// Pings answered in time, of those.
    pub(super) answered: u32,
    pub(super) idle: TimeHistogram,
    pub(super) loaded: TimeHistogram,
    /// The first number sent under load.
    first_loaded: Option<u16>,
    seen: Vec<u16>,
}

impl Pings {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            next: now,
            number: 0,
            sent: 0,
            answered: 0,
            idle: TimeHistogram::new(),
            loaded: TimeHistogram::new(),
            first_loaded: None,
            seen: Vec::new(),
        }
    }

    pub(super) fn poll(&mut self, now: Timestamp, loaded: bool) -> Option<Vec<u8>> {
        if self.next > now {
            return None;
        }
        self.next = now + PING_INTERVAL;
        self.number = self.number.wrapping_add(1);
        if loaded {
            self.first_loaded.get_or_insert(self.number);
        } else {
            self.sent += 1;
        }
        Some(TestDatagram::Ping { number: self.number, sent: now }.to_bytes(0))
    }

    pub(super) fn on_pong(&mut self, number: u16, sent: Timestamp, now: Timestamp, loaded: bool) {
        let rtt = now.since(sent);
        if rtt > PONG_MAX || number == 0 || number > self.number || self.seen.contains(&number) {
            return;
        }
        self.seen.push(number);
        match self.first_loaded {
            Some(first) if number >= first => {
                if loaded {
                    self.loaded.record(rtt);
                }
            }
            _ => {
                self.answered += 1;
                self.idle.record(rtt);
            }
        }
    }

    /// Returns the share of the pings without load that had no answer.
    pub(super) fn loss(&self) -> f64 {
        1.0 - f64::from(self.answered.min(self.sent)) / f64::from(self.sent.max(1))
    }
}
