//! What is known about the stream: the statistics file's lines and the window's line.

use std::time::Duration;

use common::session::ReceiverCounters;
use common::stats::{ReceiverReport, Stage, StageHistograms, TimeHistogram};
use common::units::Timestamp;

use crate::decode::{Passed, Stream};

/// Of what holds pictures up for less the window's line says nothing.
const HELD_MIN: Duration = Duration::from_millis(20);

/// The network thread's knowledge, copied out for the main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// The session's counters.
    pub counters: ReceiverCounters,
    /// Sender's clock minus ours, microseconds.
    pub clock_offset_us: Option<i64>,
    /// True if a sender is streaming.
    pub streaming: bool,
}

/// Times and counts of the pictures shown.
#[derive(Debug, Default)]
pub struct Presentation {
    shown: u64,
    latency: TimeHistogram,
    stages: StageHistograms,
    gaps: TimeHistogram,
    freeze_max: Duration,
    last_shown: Option<Timestamp>,
    /// The last picture's way, and when it was shown.
    last: Option<(Passed, Timestamp)>,
    held: Held,
    recent: Recent,
}

/// How long pictures were held up longer than those before them, at most: by the line, and by a computer of either end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    line: Duration,
    computer: Duration,
}

impl Held {
    /// What held `passed`, shown at `presented`, longer than the picture before.
    fn between((before, shown): &(Passed, Timestamp), passed: &Passed, presented: Timestamp) -> Self {
        let longer = |now: Duration, then: Duration| now.saturating_sub(then);
        let stalled = passed.stalled.saturating_sub(before.stalled);
        let apart = passed.received.since(before.received);
        let line = longer(apart, passed.sent.since(before.sent)).saturating_sub(stalled);
        let here = longer(presented.since(passed.received), shown.since(before.received));
        let there = longer(passed.sent.since(passed.capture), before.sent.since(before.capture));
        // Nobody stalls for longer than the pictures are apart.
        Self { line, computer: (stalled.min(apart) + here).max(there) }
    }

    fn longest(self, other: Self) -> Self {
        Self { line: self.line.max(other.line), computer: self.computer.max(other.computer) }
    }
}

/// Since the last line of the window.
#[derive(Debug, Default)]
struct Recent {
    began: Timestamp,
    shown: u64,
    latency: Duration,
    held: Held,
    before: ReceiverCounters,
}

impl Presentation {
    /// Pictures shown so far.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// A stream begins; the pause before it is no freeze.
    pub fn on_start(&mut self) {
        self.last_shown = None;
        self.last = None;
    }

    /// A picture was on the display at `presented`.
    pub fn on_shown(&mut self, passed: &Passed, presented: Timestamp) {
        self.shown += 1;
        self.recent.shown += 1;
        if let Some(last) = self.last_shown.replace(presented) {
            let gap = presented.since(last);
            self.gaps.record(gap);
            self.freeze_max = self.freeze_max.max(gap);
        }
        if let Some(last) = self.last.replace((*passed, presented)) {
            let held = Held::between(&last, passed, presented);
            (self.held, self.recent.held) = (self.held.longest(held), self.recent.held.longest(held));
        }
        if let Some(offset) = passed.clock_offset_us {
            let latency = presented.since(to_own(passed.capture, offset));
            self.latency.record(latency);
            self.recent.latency = latency;
            self.stages.record(Stage::Network, passed.received.since(to_own(passed.sent, offset)));
        }
        let decode_and_inverse = passed.decoded.since(passed.released);
        self.stages.record(Stage::Reassemble, passed.released.since(passed.received));
        self.stages.record(Stage::Decode, decode_and_inverse.saturating_sub(passed.inverse));
        self.stages.record(Stage::Inverse, passed.inverse.min(decode_and_inverse));
        self.stages.record(Stage::Present, presented.since(passed.decoded));
    }

    /// A line of the statistics file. A stream that stands still now counts as frozen until `now`.
    pub fn report(
        &self,
        link: &LinkSnapshot,
        stream: Option<&Stream>,
        now: Timestamp,
        is_final: bool,
    ) -> ReceiverReport {
        let standing = match self.last_shown {
            Some(last) if link.streaming && !is_final => now.since(last),
            _ => Duration::ZERO,
        };
        let ms = |us: u64| us as f64 / 1e3;
        ReceiverReport {
            frames_complete: link.counters.frames_complete,
            frames_partial: link.counters.frames_partial,
            frames_lost: link.counters.frames_lost,
            frames_shown: self.shown,
            bytes_received: link.counters.bytes_received,
            fec_recovered: link.counters.fec_recovered,
            freeze_ms_max: self.freeze_max.max(standing).as_secs_f64() * 1e3,
            gap_ms_p99: ms(self.gaps.percentiles().p99),
            held_line_ms_max: self.held.line.as_secs_f64() * 1e3,
            held_computer_ms_max: self.held.computer.as_secs_f64() * 1e3,
            latency_us: self.latency.percentiles(),
            clock_offset_us: link.clock_offset_us,
            backend: stream.map(|s| s.backend.kind.to_string()).unwrap_or_default(),
            device: stream.map(|s| s.backend.device.clone()).unwrap_or_default(),
            stages_us: self.stages.summary(),
            jitter_us: link.counters.jitter_us,
            lateness_us_p95: link.counters.lateness_us_p95,
            datagrams_late: link.counters.datagrams_late,
            datagrams_malformed: link.counters.datagrams_malformed,
            is_final,
        }
    }

    /// The window's line about the time since the last call.
    pub fn status_line(&mut self, link: &LinkSnapshot, now: Timestamp) -> String {
        let seconds = now.since(self.recent.began).as_secs_f64().max(1e-3);
        let (then, counters) = (self.recent.before, link.counters);
        let bits = 8.0 * (counters.bytes_received - then.bytes_received.min(counters.bytes_received)) as f64;
        let whole = counters.frames_complete.saturating_sub(then.frames_complete);
        let broken =
            (counters.frames_partial + counters.frames_lost).saturating_sub(then.frames_partial + then.frames_lost);
        let loss = broken as f64 / (whole + broken).max(1) as f64;
        let Held { line, computer } = self.recent.held;
        let (held, by) = if computer > line { (computer, "a computer") } else { (line, "the line") };
        let held = if held < HELD_MIN { String::new() } else { format!("  held {} ms by {by}", held.as_millis()) };
        let line = if link.streaming {
            format!(
                "{:.1} fps  {:.0} ms  {:.1} Mbit/s  loss {:.1} %  recovered {}  late {}  lost {}{held}",
                self.recent.shown as f64 / seconds,
                self.recent.latency.as_secs_f64() * 1e3,
                bits / seconds / 1e6,
                100.0 * loss,
                counters.fec_recovered,
                counters.datagrams_late,
                counters.frames_lost
            )
        } else {
            "waiting for the sender".to_owned()
        };
        self.recent =
            Recent { began: now, shown: 0, latency: self.recent.latency, held: Held::default(), before: counters };
        line
    }
}

/// A time on the sender's clock as one on ours.
pub(crate) fn to_own(sender: Timestamp, offset_us: i64) -> Timestamp {
    Timestamp::from_us(sender.as_us().saturating_add_signed(offset_us.saturating_neg()))
}

#[cfg(test)]
mod tests {
    use common::stats::Percentiles;

    use super::*;
    use crate::decode::Missing;

    fn at(us: u64) -> Timestamp {
        Timestamp::from_us(us)
    }

    fn near(percentiles: Percentiles, us: u64) -> bool {
        percentiles.p50.abs_diff(us) <= us / 500
    }

    #[test]
    fn stages_add_up_to_the_latency_after_sending() {
        let mut presentation = Presentation::default();
        // The sender's clock is 5000 us ahead: it captured at our 10000 and sent at our 30000.
        let passed = Passed {
            capture: at(15_000),
            sent: at(35_000),
            received: at(42_000),
            released: at(43_000),
            decoded: at(53_000),
            inverse: Duration::from_micros(4_000),
            stalled: Duration::ZERO,
            clock_offset_us: Some(5_000),
            missing: Missing::default(),
        };
        presentation.on_shown(&passed, at(55_000));
        let report = presentation.report(&LinkSnapshot::default(), None, at(60_000), true);
        assert!(near(report.latency_us, 45_000), "{:?}", report.latency_us);
        let expected = [
            (Stage::Network, 12_000),
            (Stage::Reassemble, 1_000),
            (Stage::Decode, 6_000),
            (Stage::Inverse, 4_000),
            (Stage::Present, 2_000),
        ];
        assert_eq!(report.stages_us.0.len(), expected.len());
        for ((stage, percentiles), (wanted, us)) in report.stages_us.0.iter().zip(expected) {
            assert!(*stage == wanted && near(*percentiles, us), "{stage:?} {percentiles:?}");
        }
    }

    #[test]
    fn a_standing_picture_is_a_freeze_and_a_pause_between_streams_is_not() {
        let passed = Passed {
            capture: at(0),
            sent: at(0),
            received: at(0),
            released: at(0),
            decoded: at(0),
            inverse: Duration::ZERO,
            stalled: Duration::ZERO,
            clock_offset_us: None,
            missing: Missing::default(),
        };
        let mut presentation = Presentation::default();
        let streaming = LinkSnapshot { streaming: true, ..LinkSnapshot::default() };
        presentation.on_shown(&passed, at(0));
        presentation.on_shown(&passed, at(40_000));
        assert_eq!(presentation.report(&streaming, None, at(50_000), false).freeze_ms_max, 40.0);
        assert_eq!(presentation.report(&streaming, None, at(540_000), false).freeze_ms_max, 500.0);
        presentation.on_start();
        presentation.on_shown(&passed, at(9_000_000));
        let report = presentation.report(&streaming, None, at(9_000_000), true);
        assert_eq!((report.freeze_ms_max, report.frames_shown), (40.0, 3));
        assert_eq!(report.latency_us, Percentiles::default(), "without a clock offset there is no latency");
    }

    #[test]
    fn what_holds_a_picture_is_the_line_or_a_computer() {
        let ms = Duration::from_millis;
        let streaming = LinkSnapshot { streaming: true, ..LinkSnapshot::default() };
        // Captured, sent, received, shown, and how long the network thread had stood still.
        let held = |second: [u64; 4], stalled: u64| {
            let mut presentation = Presentation::default();
            for ([capture, sent, received, shown], stalled) in [([0, 5, 30, 35], 0), (second, stalled)] {
                let passed = Passed {
                    capture: at(1_000 * capture),
                    sent: at(1_000 * sent),
                    received: at(1_000 * received),
                    released: at(1_000 * received),
                    decoded: at(1_000 * received),
                    inverse: Duration::ZERO,
                    stalled: ms(stalled),
                    clock_offset_us: None,
                    missing: Missing::default(),
                };
                presentation.on_shown(&passed, at(1_000 * shown));
            }
            let report = presentation.report(&streaming, None, at(1_000_000), true);
            let line = presentation.status_line(&streaming, at(1_000_000));
            let words = line.split("lost 0").last().unwrap_or_default().to_owned();
            (report.held_line_ms_max, report.held_computer_ms_max, words)
        };
        assert_eq!(held([17, 22, 47, 52], 0), (0.0, 0.0, String::new()));
        assert_eq!(held([17, 22, 127, 132], 0), (80.0, 0.0, "  held 80 ms by the line".to_owned()));
        assert_eq!(held([17, 22, 127, 132], 80), (0.0, 80.0, "  held 80 ms by a computer".to_owned()));
        assert_eq!(held([17, 22, 47, 112], 0), (0.0, 60.0, "  held 60 ms by a computer".to_owned()));
        assert_eq!(held([17, 92, 117, 122], 0), (0.0, 70.0, "  held 70 ms by a computer".to_owned()));
    }

    #[test]
    fn the_line_covers_the_time_since_the_last_one() {
        let mut presentation = Presentation::default();
        let counters = ReceiverCounters {
            frames_complete: 27,
            frames_lost: 3,
            datagrams_late: 7,
            fec_recovered: 5,
            bytes_received: 250_000,
            ..Default::default()
        };
        let link = LinkSnapshot { counters, clock_offset_us: None, streaming: true };
        presentation.recent.shown = 27;
        assert_eq!(
            presentation.status_line(&link, at(1_000_000)),
            "27.0 fps  0 ms  2.0 Mbit/s  loss 10.0 %  recovered 5  late 7  lost 3"
        );
        assert_eq!(
            presentation.status_line(&link, at(2_000_000)),
            "0.0 fps  0 ms  0.0 Mbit/s  loss 0.0 %  recovered 5  late 7  lost 3"
        );
    }
}
