//! What is known about the stream: the statistics file's lines and the window's line.

use std::time::Duration;

use common::session::ReceiverCounters;
use common::stats::{ReceiverReport, Stage, StageHistograms, TimeHistogram};
use common::units::Timestamp;

use crate::decode::{Passed, Stream};

/// What the network thread knows, copied out for the main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// The session's counters.
    pub counters: ReceiverCounters,
    /// Sender's clock minus ours, microseconds.
    pub clock_offset_us: Option<i64>,
    /// Whether a sender is streaming.
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
    recent: Recent,
}

/// Since the last line of the window.
#[derive(Debug, Default)]
struct Recent {
    began: Timestamp,
    shown: u64,
    latency: Duration,
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
            latency_us: self.latency.percentiles(),
            clock_offset_us: link.clock_offset_us,
            backend: stream.map(|s| s.backend.name.to_owned()).unwrap_or_default(),
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
        let line = if link.streaming {
            format!(
                "{:.1} fps  {:.0} ms  {:.1} Mbit/s  loss {:.1} %  recovered {}  late {}  lost {}",
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
        self.recent = Recent { began: now, shown: 0, latency: self.recent.latency, before: counters };
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
