//! The line while others' sound shares it: what it bears, from bursts that take it for [`BURST_MS`] at most, and what it leaves.
//!
//! Sound programs bear no wait in the router's queue, so while there is one a frame leaves more slowly than the line takes it, and
//! its datagrams' distances at the receiver are those at which they left: they show nothing. What left at one time does: it reaches
//! the queue together, nothing of others comes between, and the distances at which it arrives are those of the line. These bursts are
//! short, so a single one is as inexact as the receiver's clock; the line is all bits of the last ones through all the time they took.
//!
//! A frame that leaves faster than what the others leave of the line waits longer from datagram to datagram. That is the proof that
//! the bursts have shown too much, or that more is there than was said: then what came through is the limit. It is forgotten at once when
//! newer bursts show a faster line and no queue grows: that was a dip. If the queue is there again then, it is forgotten more slowly.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::sent::Arrival;
use super::delay::Wait;
use super::found::Sights;
use crate::units::Timestamp;

/// Longest time for which a burst takes the line, seconds.
const BURST_S: f64 = 0.002;
/// Datagrams that leave within this time are one burst, microseconds: the loop hands them over one by one.
const AT_ONCE_US: u128 = 200;
/// Bursts kept, and the fewest that show a line.
const BURSTS: usize = 64;
const BURSTS_LEAST: usize = 6;
/// Age from which on a burst says nothing of the line, if there are newer ones.
const MEMORY: Duration = Duration::from_secs(4);
/// Time between bursts that are made for their own sake, while the line is known.
const BURST_INTERVAL: Duration = Duration::from_millis(400);
/// Longest time of a burst that counts, in what it should take, and microseconds besides: a longer one met a machine that stood still.
const LONG: f64 = 3.0;
const LONG_US: f64 = 1_000.0;
/// Ratio to the line known of bursts that show another line, if those of this time together do, seconds.
const OTHER: f64 = 1.4;
const OTHER_S: f64 = 0.006;
/// Bursts in a row like that after which each frame begins with one, to be sure soon.
const DOUBTFUL: usize = 2;

/// Longest and shortest part of a frame that is looked at for a growing queue, microseconds.
const RUN_US: u64 = 14_000;
const RUN_LEAST_US: u64 = 7_000;
/// Fewest datagrams of it.
const RUN_DATAGRAMS: usize = 6;
/// Datagrams that left further apart are of two parts, microseconds.
const RUN_GAP_US: u128 = 4_000;
/// Parts that are looked at together.
const RUNS: usize = 6;
/// Growth of the wait, as a share of the time in which they left, that shows a queue: the median of these parts, and each of two in a
/// row, so that a machine that stands still for a moment does not look like one.
const GROWS: f64 = 0.07;
const GROWS_FAST: f64 = 0.25;
/// Time in which the limit by a queue is forgotten by a factor of e, seconds; the one of the begin, before anything was a queue.
const FORGOTTEN_S: f64 = 20.0;
const FORGOTTEN_FIRST_S: f64 = 0.3;
/// The same once bursts say that the line is faster again, at first; twice as much each time that the limit comes back.
const FORGOTTEN_DIP_S: f64 = 0.3;
/// Time without a queue and fewest bursts since the limit, for that; time after which a limit is none that comes back.
const DIP_OVER: Duration = Duration::from_secs(1);
const DIP_BURSTS: usize = 3;
const COMES_BACK: Duration = Duration::from_secs(30);
/// Time for which another way is taken to bear what that of before did, as long as nothing shows it.
const GUESSED: Duration = Duration::from_secs(1);
/// Most that a line is taken to bear when it begins, bits a second.
const FIRST_BPS: f64 = 4e6;

/// Sound on the line, bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::path) struct Beside {
    /// Of others, which nobody here sends.
    pub(in crate::path) others: f64,
    /// Of this path's own stream, which is part of the target.
    pub(in crate::path) own: f64,
}

/// A burst that has arrived, without its first datagram.
#[derive(Clone, Copy, Debug)]
struct Burst {
    at: Timestamp,
    bits: f64,
    /// Microseconds from its first to its last arrival.
    span_us: f64,
}

/// A part of a frame.
#[derive(Clone, Debug, Default)]
struct Run {
    /// Time of leaving of its first datagram, microseconds.
    first_sent_us: u64,
    last_sent_us: u64,
    first_received_us: u64,
    last_received_us: u64,
    /// Bits without those of the first datagram.
    bits: f64,
    /// Wait of each, microseconds.
    waits: Vec<i64>,
}

/// Measurement of a part of a frame.
#[derive(Clone, Copy, Debug)]
struct Grown {
    /// Growth of the wait in the time of leaving.
    slope: f64,
    sent_us: u64,
    received_us: u64,
    bits: f64,
}

/// A queue that has shown a limit.
#[derive(Clone, Copy, Debug)]
struct Limited {
    /// Its arrival.
    at: Timestamp,
    /// The limit then, bits a second.
    bps: f64,
    /// Time in which it is forgotten by a factor of e if it was a dip, seconds.
    dip_s: f64,
}

/// Knowledge of the line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// First and last datagram of the burst that arrives, and bits without the first.
    open: Option<(Arrival, Arrival, f64)>,
    bursts: VecDeque<Burst>,
    /// Bursts in a row that have shown another line than is known.
    others: usize,
    run: Run,
    runs: VecDeque<Grown>,
    /// Bits a second that the bursts have shown.
    shown: Option<f64>,
    /// Limit by a queue, bits a second, and whether it is that of the begin.
    limit: f64,
    is_first: bool,
    /// The queue that has shown the limit last.
    limited: Option<Limited>,
    /// Rate that the way of before has borne, bits a second, and the time for which it is taken for that of this one.
    guess: Option<(f64, Duration)>,
    /// Look for what fills the line besides us.
    pub(super) found: Sights,
    /// Time at which a datagram, and a burst, left last.
    left: Option<Timestamp>,
    burst_left: Option<Timestamp>,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            open: None,
            bursts: VecDeque::new(),
            others: 0,
            run: Run::default(),
            runs: VecDeque::new(),
            shown: None,
            limit: FIRST_BPS,
            is_first: true,
            limited: None,
            guess: None,
            found: Sights::default(),
            left: None,
            burst_left: None,
        }
    }
}

impl Line {
    /// Returns the bits a second that the line bears with all that is on it.
    pub(super) fn bears(&self) -> Option<f64> {
        self.shown.or(self.guess.map(|guess| guess.0)).map(|shown| shown.min(self.limit))
    }

    /// Returns the bits a second that bursts have shown.
    pub(super) fn shown(&self) -> Option<f64> {
        self.shown
    }

    /// Returns what is known when all that leaves takes another way from now on.
    pub(super) fn elsewhere(&self) -> Self {
        match self.bears() {
            Some(bears) => {
                Self { guess: Some((bears, GUESSED)), limit: f64::INFINITY, is_first: false, ..Self::default() }
            }
            None => Self::default(),
        }
    }

    /// Takes notice that the line is known already when it is first limited.
    pub(super) fn limit_to_shown(&mut self) {
        (self.limit, self.is_first) = (f64::INFINITY, false);
    }

    /// Takes notice that a datagram leaves.
    pub(super) fn on_sent(&mut self, now: Timestamp) {
        if self.left.is_some_and(|left| now.since(left).as_micros() <= AT_ONCE_US) {
            self.burst_left = Some(now);
        }
        self.left = Some(now);
    }

    /// Returns the bytes on the wire that may leave at once for the sake of knowing the line; none: not now.
    pub(super) fn burst_bytes(&self, now: Timestamp) -> Option<usize> {
        let is_known = self.bursts.len() >= 2 * BURSTS_LEAST && self.others < DOUBTFUL;
        let is_new = is_known && self.burst_left.is_some_and(|at| now.since(at) < BURST_INTERVAL);
        (!is_new).then(|| (BURST_S * self.bears().unwrap_or(0.0) / 8.0) as usize)
    }

    /// Takes an arrival, in the order of sending. `others`: bits a second of all sound on the line; none:
    /// nothing is known, and a frame may fill the line.
    pub(super) fn on_arrival(&mut self, arrival: &Arrival, wait: Wait, others: Option<f64>) {
        if wait.is_held {
            (self.open, self.run) = (None, Run::default());
            self.found.on_hold(arrival.received);
            return;
        }
        let is_of_burst = self.take_of_burst(arrival);
        // A packet of sound begins no burst and is of no frame: it bridges the gaps between them.
        if arrival.is_sound {
            return;
        }
        if !is_of_burst {
            self.end_burst();
            self.open = Some((*arrival, *arrival, 0.0));
        }
        self.take_run(arrival, wait, others);
    }

    /// Returns true if it left together with the burst that arrives, to which it is added.
    fn take_of_burst(&mut self, arrival: &Arrival) -> bool {
        let goes_on = |first: &Arrival| arrival.sent.since(first.sent).as_micros() <= AT_ONCE_US;
        let Some((_, last, bits)) = self.open.as_mut().filter(|open| goes_on(&open.0)) else { return false };
        *last = *arrival;
        *bits += 8.0 * arrival.bytes as f64;
        true
    }

    fn end_burst(&mut self) {
        let Some((first, last, bits)) = self.open.take().filter(|open| open.2 > 0.0) else { return };
        let longest_us = self.shown.map_or(f64::MAX, |shown| LONG_US + LONG * 1e6 * bits / shown);
        let span_us = (last.received.since(first.received).as_micros().min(1 << 40) as f64).min(longest_us);
        let at = last.received;
        self.bursts.push_back(Burst { at, bits, span_us });
        let is_old = |first: &Burst| at.since(first.at) > MEMORY;
        while self.bursts.len() > BURSTS
            || (self.bursts.len() > 2 * BURSTS_LEAST && self.bursts.front().is_some_and(is_old))
        {
            self.bursts.pop_front();
        }
        self.look_for_another();
        self.weigh();
    }

    /// Forgets the bursts of before if the last ones show another line.
    fn look_for_another(&mut self) {
        let Some(shown) = self.shown else { return };
        let is_other = |bits: f64, span_us: f64| {
            let bps = 1e6 * bits / span_us.max(1.0);
            bps > OTHER * shown || OTHER * bps < shown
        };
        self.others = match self.bursts.back() {
            Some(last) if is_other(last.bits, last.span_us) => self.others + 1,
            _ => 0,
        };
        let (mut bits, mut span_us) = (0.0, 0.0);
        for (place, burst) in self.bursts.iter().enumerate().rev() {
            (bits, span_us) = (bits + burst.bits, span_us + burst.span_us);
            if bits >= OTHER_S * shown {
                if is_other(bits, span_us) {
                    self.bursts.drain(..place);
                }
                return;
            }
        }
    }

    /// Finds what the bursts show.
    fn weigh(&mut self) {
        if self.bursts.len() < BURSTS_LEAST && self.shown.is_none() {
            return;
        }
        let sum = |of: fn(&Burst) -> f64| self.bursts.iter().map(of).sum::<f64>();
        self.shown = Some(1e6 * sum(|burst| burst.bits) / sum(|burst| burst.span_us).max(1.0));
    }

    fn take_run(&mut self, arrival: &Arrival, wait: Wait, others: Option<f64>) {
        let (sent, received) = (arrival.sent.as_us(), arrival.received.as_us());
        let run = &mut self.run;
        let gap = u128::from(sent.saturating_sub(run.last_sent_us));
        if run.waits.is_empty() || gap > RUN_GAP_US || sent < run.last_sent_us || received < run.first_received_us {
            self.end_run(others);
            self.run = Run {
                first_sent_us: sent,
                last_sent_us: sent,
                first_received_us: received,
                last_received_us: received,
                bits: 0.0,
                waits: vec![wait.us],
            };
            return;
        }
        run.last_sent_us = sent;
        run.last_received_us = run.last_received_us.max(received);
        run.bits += 8.0 * arrival.bytes as f64;
        run.waits.push(wait.us);
        if sent - run.first_sent_us >= RUN_US {
            self.end_run(others);
        }
    }

    fn end_run(&mut self, others: Option<f64>) {
        let run = std::mem::take(&mut self.run);
        let sent_us = run.last_sent_us - run.first_sent_us;
        let least_us = if others.is_some() { RUN_LEAST_US } else { RUN_LEAST_US / 2 };
        if run.waits.len() < RUN_DATAGRAMS || sent_us < least_us {
            return;
        }
        let Some(others) = others else {
            if let Some(shown) = self.shown {
                let (sent_s, received_s) =
                    (1e-6 * sent_us as f64, 1e-6 * (run.last_received_us - run.first_received_us) as f64);
                self.found.on_run(shown, run.bits, sent_s, received_s, Timestamp::from_us(run.last_received_us));
            }
            return;
        };
        // The shortest of a third is one that met no packet of another's; from the middle of the first to that of the last.
        let third = run.waits.len() / 3;
        let least = |waits: &[i64]| waits.iter().copied().min().unwrap_or(0);
        let growth_us = least(&run.waits[run.waits.len() - third..]) - least(&run.waits[..third]);
        let slope = 1.5 * growth_us as f64 / sent_us as f64;
        let received_us = run.last_received_us - run.first_received_us;
        self.runs.push_back(Grown { slope, sent_us, received_us, bits: run.bits });
        if self.runs.len() > RUNS {
            self.runs.pop_front();
        }
        let mut slopes: Vec<_> = self.runs.iter().map(|run| run.slope).collect();
        let grows_fast = slopes.len() > 1 && slopes.iter().rev().take(2).all(|&slope| slope >= GROWS_FAST);
        slopes.sort_unstable_by(f64::total_cmp);
        let count = if grows_fast { 2 } else { RUNS };
        if !grows_fast && (slopes.len() < RUNS || slopes[RUNS / 2] < GROWS) {
            return;
        }
        // The others had the same part of the line as of what came to it.
        let sum = |of: fn(&Grown) -> f64| self.runs.iter().rev().take(count).map(of).sum::<f64>().max(1.0);
        let bits = 1e6 * sum(|run| run.bits);
        let (sent, came) = (bits / sum(|run| run.sent_us as f64), bits / sum(|run| run.received_us as f64));
        let bears = came * (1.0 + others / sent);
        self.runs.clear();
        let before_bps = self.limit;
        (self.limit, self.is_first) = (bears.min(self.bears().unwrap_or(bears)), false);
        let at = Timestamp::from_us(run.last_received_us);
        let dip_s = match self.limited {
            // Within one dip, however long it is, there are several.
            Some(before) if before_bps < OTHER * before.bps => before.dip_s,
            Some(before) if at.since(before.at) < COMES_BACK => (2.0 * before.dip_s).min(FORGOTTEN_S),
            _ => FORGOTTEN_DIP_S,
        };
        self.limited = Some(Limited { at, bps: self.limit, dip_s });
    }

    /// Returns the time in which the limit is forgotten by a factor of e, seconds.
    fn forgotten_s(&self) -> f64 {
        let Some(Limited { at, bps, dip_s }) = self.limited else {
            return if self.is_first { FORGOTTEN_FIRST_S } else { FORGOTTEN_S };
        };
        let is_over = self.bursts.back().is_some_and(|last| last.at.since(at) >= DIP_OVER);
        let newer = self.bursts.iter().filter(|burst| burst.at > at);
        let (count, bits, span_us) = newer.fold((0, 0.0, 0.0), |(count, bits, span_us), burst| {
            (count + 1, bits + burst.bits, span_us + burst.span_us)
        });
        let is_faster = count >= DIP_BURSTS && 1e6 * bits >= OTHER * bps * span_us;
        if is_over && is_faster { dip_s } else { FORGOTTEN_S }
    }

    /// Forgets the limit little by little, `span` after it was last done.
    pub(super) fn forget(&mut self, span: Duration) {
        self.guess = self.guess.and_then(|(bears, left)| Some((bears, left.checked_sub(span)?)));
        // Nothing is learnt while nothing comes.
        if let Some(shown) = self.shown {
            self.limit *= (span.as_secs_f64().min(0.1) / self.forgotten_s()).exp();
            if self.limit >= shown {
                (self.limit, self.is_first) = (f64::INFINITY, false);
            }
        }
    }
}
