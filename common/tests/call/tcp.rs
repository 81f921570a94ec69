//! A bulk TCP flow with Cubic (RFC 9438), as far as a queue notices it: window, slow start, loss, no timers.

use std::collections::VecDeque;
use std::time::Duration;

use common::units::Timestamp;

/// A segment with its headers; told from media by its first byte.
const SEGMENT: usize = 1_222;
const MARK: u8 = 0xee;
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// One flow with always more to send.
pub(crate) struct Tcp {
    back: Duration,
    window: f64,
    threshold: f64,
    max: f64,
    cut: (Timestamp, f64),
    next: u32,
    acked: u32,
    /// Sequence numbers below this were sent before the last cut.
    recovered: u32,
    /// Acknowledgements on their way back: time of arrival, and number acknowledged.
    acks: VecDeque<(Timestamp, u32)>,
    sent_at: VecDeque<Timestamp>,
    rtt: f64,
    in_flight: u32,
    arrived: usize,
    /// It has nothing more to send.
    pub(crate) is_over: bool,
}

impl Tcp {
    /// Creates a flow that begins now and whose acknowledgements take `back`.
    pub(crate) fn new(back: Duration) -> Self {
        Self {
            back,
            window: 10.0,
            threshold: f64::MAX,
            max: 0.0,
            cut: (Timestamp::default(), 0.0),
            next: 0,
            acked: 0,
            recovered: 0,
            acks: VecDeque::new(),
            sent_at: VecDeque::new(),
            rtt: 0.05,
            in_flight: 0,
            arrived: 0,
            is_over: false,
        }
    }

    /// Returns the bytes that arrived since the last call.
    pub(crate) fn take_arrived(&mut self) -> usize {
        std::mem::take(&mut self.arrived)
    }

    /// Takes what came out of the network, if it is this flow's.
    pub(crate) fn on_segment(&mut self, bytes: &[u8], now: Timestamp) -> bool {
        if bytes[0] != MARK {
            return false;
        }
        self.arrived += bytes.len() + 28;
        let number = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        self.acks.push_back((now + self.back, number));
        true
    }

    /// Returns the time of the next event.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.acks.front().map(|ack| ack.0)
    }

    /// Returns the next segment that may leave.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        while let Some((_, number)) = self.acks.pop_front_if(|ack| ack.0 <= now) {
            self.on_ack(number, now);
        }
        if self.is_over || f64::from(self.in_flight) >= self.window {
            return None;
        }
        let mut segment = vec![0; SEGMENT];
        segment[0] = MARK;
        segment[1..5].copy_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        self.in_flight += 1;
        self.sent_at.push_back(now);
        Some(segment)
    }

    /// Takes an acknowledgement. The queue keeps the order, so whatever lies between two is lost.
    fn on_ack(&mut self, number: u32, now: Timestamp) {
        let passed = number + 1 - self.acked;
        let sent = self.sent_at.drain(..passed as usize).next_back().unwrap_or(now);
        self.rtt = now.since(sent).as_secs_f64().max(1e-3);
        (self.acked, self.in_flight) = (number + 1, self.in_flight - passed);
        if passed > 1 && number >= self.recovered {
            self.max = if self.window < self.max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
            self.window = (BETA * self.window).max(2.0);
            (self.threshold, self.recovered, self.cut) = (self.window, self.next, (now, self.window));
        } else if self.window < self.threshold {
            self.window += 1.0;
        } else {
            let since = now.since(self.cut.0).as_secs_f64() + self.rtt;
            let k = ((self.max - self.cut.1).max(0.0) / C).cbrt();
            let cubic = C * (since - k).powi(3) + self.max;
            let reno = self.cut.1 + 3.0 * (1.0 - BETA) / (1.0 + BETA) * since / self.rtt;
            self.window = self.window.max(cubic.max(reno).min(1.5 * self.window));
        }
    }
}
