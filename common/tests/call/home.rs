//! Lines and computers of homes: pauses, stalls, rates that jump. Each row makes a call from a seed.

use std::time::Duration;

use common::netsim::{NetConditions, Pauses, Random, Scenario};

use super::{Call, mbit, ms};

/// The stream begins; pauses and stalls hold from here to there; it ends.
pub(crate) const STALLS: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(28)];
pub(crate) const END: Duration = Duration::from_secs(40);
/// Datagrams of 1200 bytes that a socket of the system's default size holds.
const SOCKET_DATAGRAMS: usize = 92;

/// Part of the call that stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stalls {
    Nothing,
    Sender,
    Receiver,
    Both,
    /// The network, both ways, and holds so many datagrams meanwhile.
    Relay(usize),
    /// The last link, both ways.
    WiFi,
    /// The last link of the media, at regular times: it sends in batches.
    Batches,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) stalls: Stalls,
    /// Mean length and time between two.
    pub(crate) span: u64,
    pub(crate) every: u64,
    /// Mbit/s.
    pub(crate) cap: u64,
    pub(crate) loss: f64,
    /// Rate of the line from second 0, 10 and 20 on.
    pub(crate) line: [u64; 3],
}

const fn row(name: &'static str, stalls: Stalls, cap: u64) -> Row {
    Row { name, stalls, span: 80, every: 1_000, cap, loss: 0.0, line: [0; 3] }
}

/// As measured with both programs, and some more.
pub(crate) const ROWS: [Row; 22] = [
    row("nothing", Stalls::Nothing, 20),
    row("sender", Stalls::Sender, 20),
    row("receiver", Stalls::Receiver, 20),
    row("both", Stalls::Both, 20),
    row("relay", Stalls::Relay(SOCKET_DATAGRAMS), 20),
    row("relay, large sockets", Stalls::Relay(usize::MAX), 20),
    row("relay, large sockets", Stalls::Relay(usize::MAX), 8),
    row("relay, large sockets", Stalls::Relay(usize::MAX), 2),
    Row { span: 40, every: 500, ..row("relay, large sockets", Stalls::Relay(usize::MAX), 8) },
    Row { span: 120, every: 3_000, ..row("relay, large sockets", Stalls::Relay(usize::MAX), 8) },
    Row { every: 500, ..row("both", Stalls::Both, 2) },
    Row { loss: 0.05, ..row("both", Stalls::Both, 8) },
    Row { loss: 0.05, ..row("relay, large sockets", Stalls::Relay(usize::MAX), 8) },
    Row { span: 50, every: 500, line: [5; 3], ..row("both", Stalls::Both, 8) },
    Row { line: [5; 3], ..row("relay", Stalls::Relay(SOCKET_DATAGRAMS), 8) },
    Row { span: 30, every: 200, ..row("both", Stalls::Both, 8) },
    Row { line: [20; 3], ..row("Wi-Fi", Stalls::WiFi, 30) },
    Row { line: [10; 3], span: 9, every: 10, ..row("batches", Stalls::Batches, 20) },
    Row { line: [10; 3], span: 18, every: 20, ..row("batches", Stalls::Batches, 20) },
    Row { line: [20; 3], span: 200, ..row("both", Stalls::Both, 30) },
    Row { line: [8, 1, 8], ..row("line 8, 1, 8", Stalls::Nothing, 8) },
    Row { line: [20, 2, 20], ..row("line 20, 2, 20", Stalls::Nothing, 20) },
];

/// Figures of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Mbit/s that arrived in second 4 to 6, in the stalls on average and in their worst second, and from two seconds
    /// after the last on.
    pub(crate) before: f64,
    pub(crate) during: f64,
    pub(crate) worst: f64,
    pub(crate) after: f64,
    /// Time until 90 % of the rate before is reached after the last stall, or after the line's return.
    pub(crate) back: Duration,
    /// Wait beyond the path, in the stalls.
    pub(crate) wait_p95: Duration,
    /// Longest wait in the four seconds after the line's return, or after the last stall.
    pub(crate) overshoot: Duration,
}

impl Row {
    pub(crate) fn call(&self, seed: u64, kernel_stamps: bool) -> Call {
        let [from, to] = STALLS;
        let pauses = |seed| {
            let [least, most] = [self.span * 6 / 10, self.span * 14 / 10].map(ms);
            Pauses::random(seed, from, to, ms(self.every), least, most)
        };
        let way = NetConditions { loss: self.loss, ..NetConditions::perfect(ms(25)) };
        let line = |rate| if rate == 0 { way } else { way.limited(mbit(rate), ms(100)) };
        let steps = [(0, self.line[0]), (10, self.line[1]), (20, self.line[2])];
        // At different times within a frame.
        let shift = Duration::from_micros(Random::new(seed).below(16_667));
        let steps = steps.map(|(second, rate)| (Duration::from_secs(second) + shift, line(rate)));
        let mut media = Scenario::table(&steps).with_seed(seed);
        let mut back = Scenario::from(way);
        match self.stalls {
            Stalls::Relay(held) => {
                media = media.paused(pauses(seed), pauses(seed)).holding(held);
                back = back.paused(pauses(seed), pauses(seed)).holding(held);
            }
            Stalls::WiFi => {
                media = media.paused(Pauses::NONE, pauses(seed));
                back = back.paused(pauses(seed), Pauses::NONE);
            }
            Stalls::Batches => {
                let batches = (to - from).as_millis() as u64 / self.every;
                let pauses = (0..batches).map(|n| (from + shift + ms(self.every * n), ms(self.span)));
                media = media.paused(Pauses::NONE, Pauses::new(pauses));
            }
            _ => {}
        }
        let mut call = Call::new(mbit(self.cap), media, back);
        call.kernel_stamps = kernel_stamps;
        if matches!(self.stalls, Stalls::Sender | Stalls::Both) {
            call.stalls[0] = pauses(seed);
        }
        if matches!(self.stalls, Stalls::Receiver | Stalls::Both) {
            call.stalls[1] = pauses(seed ^ 0xb07);
        }
        call
    }

    pub(crate) fn run(&self, seed: u64, kernel_stamps: bool) -> (Call, Outcome) {
        let mut call = self.call(seed, kernel_stamps);
        call.run(END);
        let s = Duration::from_secs;
        let rate = |from, to| call.rates(from, to).0;
        let steps = self.line[0] != self.line[1];
        let last = if steps { s(20) } else { STALLS[1] };
        let before = rate(s(4), s(6));
        let back = (0..200).map(|n| last + ms(50 * n)).find(|&at| rate(at, at + ms(200)) >= 0.9 * before);
        let outcome = Outcome {
            before,
            during: rate(STALLS[0], STALLS[1]),
            worst: (6..28).map(|second| rate(s(second), s(second + 1))).fold(f64::MAX, f64::min),
            after: rate(last + s(2), last + s(4)),
            back: back.map_or(s(10), |at| at + ms(200) - last),
            wait_p95: call.wait_percentile(0.95, STALLS[0], STALLS[1]),
            overshoot: call.wait_max(last + ms(300), last + s(4)),
        };
        (call, outcome)
    }
}
