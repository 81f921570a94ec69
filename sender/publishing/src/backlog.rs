//! An estimate of what waits for the line to the relay. Writing never blocks, so that somebody has to count.

use std::time::Duration;

use common::units::Timestamp;

/// Time that may wait before no group begins, at the rate of all tracks.
const HIGH: Duration = Duration::from_millis(250);
/// Bytes that a connection sends without anything to send: what keeps it alive.
const IDLE_BYTES: u64 = 600;
/// Time of so little after which nothing waits.
const IDLE: Duration = Duration::from_millis(300);

/// Bytes written against bytes that have left.
#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    bps: u64,
    waits: u64,
    /// Bytes that the connection had sent, and when it began to send next to nothing.
    sent: u64,
    idle_since: Option<Timestamp>,
}

impl Backlog {
    pub(crate) fn new(bps: u64) -> Self {
        Self { bps, waits: 0, sent: 0, idle_since: None }
    }

    pub(crate) fn on_written(&mut self, bytes: usize) {
        self.waits += bytes as u64;
    }

    /// Takes how many bytes the connection has sent; none: there is none.
    pub(crate) fn on_sent(&mut self, sent: Option<u64>, now: Timestamp) {
        let Some(sent) = sent else {
            // What waited is lost with it, and the next begins with the newest group.
            (self.waits, self.sent, self.idle_since) = (0, 0, None);
            return;
        };
        let left = sent.saturating_sub(std::mem::replace(&mut self.sent, sent));
        self.waits = self.waits.saturating_sub(left);
        if left > IDLE_BYTES {
            self.idle_since = None;
        } else if now.since(*self.idle_since.get_or_insert(now)) >= IDLE {
            // What was dropped on the way never leaves.
            self.waits = 0;
        }
    }

    fn bytes_of(&self, time: Duration) -> u64 {
        self.bps / 8 * time.as_millis() as u64 / 1000
    }

    /// Returns true if no group shall begin.
    pub(crate) fn is_high(&self) -> bool {
        self.waits > self.bytes_of(HIGH)
    }

    /// Returns true if groups shall end before their time.
    pub(crate) fn is_full(&self) -> bool {
        self.waits > self.bytes_of(3 * HIGH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_what_was_written_and_has_not_left() {
        let at = |ms: u64| Timestamp::from_us(1000 * ms);
        let mut backlog = Backlog::new(1_600_000);
        let mut sent = 0;
        for tick in 0..100 {
            backlog.on_written(6_600);
            sent += 6_900;
            backlog.on_sent(Some(sent), at(33 * tick));
            assert!(!backlog.is_high());
        }
        // A line of a tenth.
        let mut tick = 100;
        while !backlog.is_high() {
            backlog.on_written(6_600);
            sent += 690;
            backlog.on_sent(Some(sent), at(33 * tick));
            tick += 1;
        }
        assert!((107..110).contains(&tick), "{tick}");
        while !backlog.is_full() {
            backlog.on_written(6_600);
            sent += 690;
            backlog.on_sent(Some(sent), at(33 * tick));
            tick += 1;
        }
        // The relay takes nothing more: what waits is given up.
        backlog.on_sent(Some(sent + 10), at(5_000));
        backlog.on_sent(Some(sent + 20), at(5_200));
        assert!(backlog.is_full());
        backlog.on_sent(Some(sent + 30), at(5_310));
        assert_eq!(backlog.waits, 0);
        backlog.on_written(1 << 30);
        backlog.on_sent(None, at(5_400));
        assert_eq!(backlog.waits, 0);
    }
}
