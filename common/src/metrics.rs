//! Statistics as a metrics page: the text format of Prometheus, version 0.0.4.
//!
//! Names follow its conventions: seconds, bytes and ratios instead of the statistics file's microseconds and
//! milliseconds, and counters that end in `_total`. <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt::Write as _;

use crate::percentiles::Percentiles;
use crate::reason::{Cause, ReasonCounts};
use crate::stats::{CallState, ReceiverReport, SenderReport, StageSummary, Standing, UnusablePictures};

/// Something whose values can stand on a metrics page.
pub trait Metrics {
    /// The program that it is of; part of all names.
    const PROGRAM: &'static str;

    /// Appends every value with its help and type.
    fn write(&self, page: &mut Page);
}

/// The text of a metrics page under construction. Names are given without the program's in front of them.
#[derive(Clone, Debug)]
pub struct Page {
    program: &'static str,
    text: String,
}

impl Page {
    /// Returns the page of `metrics` alone.
    pub fn of<M: Metrics>(metrics: &M) -> String {
        let mut page = Self { program: M::PROGRAM, text: String::new() };
        metrics.write(&mut page);
        page.text
    }

    /// Writes a count that only grows; `_total` ends its name.
    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = self.family(&format!("{name}_total"), "counter", help);
        self.sample(&name, &[], value as f64);
    }

    /// Writes a value that rises and falls; left out while it is not known.
    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        let name = self.family(name, "gauge", help);
        if let Some(value) = value {
            self.sample(&name, &[], value);
        }
    }

    /// Writes the value 1, with labels for what does not fit a number.
    fn info(&mut self, help: &str, labels: &[(&str, &str)]) {
        let name = self.family("info", "gauge", help);
        self.sample(&name, labels, 1.0);
    }

    /// Writes the state of the call: whether a peer is connected, and which state it is of all there are.
    fn standing(&mut self, Standing { state, connected, .. }: &Standing) {
        self.gauge("connected", "1 if a peer is connected and answers.", Some(f64::from(u8::from(*connected))));
        let name = self.family("state", "gauge", "1 for how the call stands, 0 for how it does not.");
        for one in CallState::ALL {
            self.sample(&name, &[("state", one.name())], f64::from(u8::from(one == *state)));
        }
    }

    /// Number of times that each of these kinds of reason has occurred.
    fn reasons(&mut self, causes: &[Cause], counts: &ReasonCounts) {
        let help = "Decisions about the rate, and frames not sent or shown whole, by reason.";
        let name = self.family("reasons_total", "counter", help);
        for &cause in causes {
            self.sample(&name, &[("reason", cause.name())], counts.get(cause) as f64);
        }
    }

    /// Pictures of a camera that could not be used, by reason.
    fn unusable(&mut self, pictures: &UnusablePictures) {
        let UnusablePictures { empty, short, flagged, failed, damaged } = *pictures;
        let name =
            self.family("frames_unusable_total", "counter", "Pictures of a camera that could not be used, by reason.");
        let of = [("empty", empty), ("short", short), ("flagged", flagged), ("failed", failed), ("damaged", damaged)];
        for (reason, count) in of {
            self.sample(&name, &[("reason", reason)], count as f64);
        }
    }

    /// Percentiles of each stage.
    fn stages(&mut self, stages: &StageSummary) {
        let name = self.family("stage_seconds", "summary", "Time that a frame spends in each stage.");
        for (stage, percentiles) in &stages.0 {
            self.quantiles(&name, &[("stage", stage.name())], *percentiles);
        }
    }

    /// Writes a summary's samples: quantiles, sum and number, from which a mean over any time follows.
    fn quantiles(&mut self, name: &str, labels: &[(&str, &str)], percentiles: Percentiles) {
        let Percentiles { p50, p95, p99, count, sum } = percentiles;
        for (quantile, us) in [("0.5", p50), ("0.95", p95), ("0.99", p99)] {
            self.sample(name, &[labels, &[("quantile", quantile)]].concat(), us as f64 / 1e6);
        }
        self.sample(&format!("{name}_sum"), labels, sum as f64 / 1e6);
        self.sample(&format!("{name}_count"), labels, count as f64);
    }

    /// Begins what has one name, with its help and type; returns the whole name.
    fn family(&mut self, name: &str, kind: &str, help: &str) -> String {
        let name = format!("duet_{}_{name}", self.program);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        name
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (at, (key, text)) in labels.iter().enumerate() {
            let opening = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{opening}{key}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Metrics for SenderReport {
    const PROGRAM: &'static str = "sender";

    fn write(&self, page: &mut Page) {
        // Named one by one, so that a new statistic cannot be forgotten here.
        let Self {
            standing,
            frames_captured,
            frames_sent,
            frames_dropped,
            frames_damaged,
            frames_unusable,
            bytes_sent,
            bits_per_pixel,
            rate_target_bps,
            rtt_us,
            loss,
            black_holes,
            stalled_ms,
            frames_predicted,
            frames_replayed,
            state_mismatches,
            reasons,
            backend,
            device,
            stages_us,
            is_final: _,
        } = self;
        page.counter("frames_captured", "Pictures taken from the source.", *frames_captured);
        page.counter("frames_sent", "Frames of which all datagrams left.", *frames_sent);
        page.counter("frames_dropped", "Pictures not coded or not sent whole.", *frames_dropped);
        page.counter("frames_damaged", "Pictures of the source that could not be used.", *frames_damaged);
        page.unusable(frames_unusable);
        page.counter("bytes_sent", "Bytes of all datagrams.", *bytes_sent);
        page.gauge("bits_per_pixel", "Coded bits per pixel of the frames sent.", Some(*bits_per_pixel));
        page.gauge("rate_target_bits_per_second", "Rate that the frames are made for.", Some(*rate_target_bps as f64));
        page.gauge("rtt_seconds", "Round trip.", rtt_us.map(|us| us as f64 / 1e6));
        page.gauge("loss_ratio", "Share of the datagrams that did not arrive, 0 to 1.", Some(*loss));
        page.counter("black_holes", "Times that the path ceased to carry the larger packets.", *black_holes);
        page.gauge(
            "stalled_seconds",
            "Time for which the sender should have run while it streamed, and did not.",
            Some(stalled_ms / 1e3),
        );
        page.standing(standing);
        page.counter("frames_predicted", "Frames coded from a state of the receiver.", *frames_predicted);
        page.counter(
            "frames_replayed",
            "Frames decoded again because the receiver lacked a part of them.",
            *frames_replayed,
        );
        page.counter(
            "state_mismatches",
            "States of the receiver whose hash was not that of the sender's.",
            *state_mismatches,
        );
        page.reasons(Cause::SENDER, reasons);
        page.info("What codes.", &[("backend", backend), ("device", device)]);
        page.stages(stages_us);
    }
}

impl Metrics for ReceiverReport {
    const PROGRAM: &'static str = "receiver";

    fn write(&self, page: &mut Page) {
        let Self {
            standing,
            frames_complete,
            frames_partial,
            frames_lost,
            frames_lacking_reference,
            frames_shown,
            bytes_received,
            fec_recovered,
            freeze_ms_max,
            gap_ms_p99,
            held_line_ms_max,
            held_computer_ms_max,
            latency_us,
            clock_offset_us,
            clock_error_us,
            // Of the error whoever reads the page makes the same.
            clock_suspect: _,
            backend,
            device,
            stages_us,
            datagrams_late,
            datagrams_malformed,
            jitter_us,
            lateness_us_p95,
            reasons,
            is_final: _,
        } = self;
        page.counter("frames_complete", "Frames with all their blocks.", *frames_complete);
        page.counter("frames_partial", "Frames with blocks missing.", *frames_partial);
        page.counter("frames_lost", "Frames never given to the decoder.", *frames_lost);
        page.counter(
            "frames_lacking_reference",
            "Frames not decoded because the state that they refer to was not there.",
            *frames_lacking_reference,
        );
        page.counter("frames_shown", "Pictures given to the sink.", *frames_shown);
        page.counter("bytes_received", "Bytes of all datagrams.", *bytes_received);
        page.counter("fec_recovered", "Datagrams rebuilt from parity.", *fec_recovered);
        page.reasons(Cause::RECEIVER, reasons);
        page.counter("datagrams_late", "Datagrams that came after their frame was released.", *datagrams_late);
        page.counter("datagrams_malformed", "Datagrams that were none of this stream.", *datagrams_malformed);
        page.gauge("freeze_seconds_max", "Longest time without a new picture.", Some(freeze_ms_max / 1e3));
        page.gauge("gap_seconds_p99", "99th percentile of the time between pictures.", Some(gap_ms_p99 / 1e3));
        page.gauge(
            "held_by_line_seconds_max",
            "Longest time for which the line held a picture up longer than the one before.",
            Some(held_line_ms_max / 1e3),
        );
        page.gauge(
            "held_by_computer_seconds_max",
            "The same of the computer of either end.",
            Some(held_computer_ms_max / 1e3),
        );
        page.gauge(
            "jitter_seconds",
            "Interarrival jitter of the datagrams as in RFC 3550.",
            Some(*jitter_us as f64 / 1e6),
        );
        page.gauge(
            "lateness_seconds_p95",
            "95 of 100 frames came at most this much later than expected.",
            Some(*lateness_us_p95 as f64 / 1e6),
        );
        let name = page.family("latency_seconds", "summary", "From capture to present.");
        page.quantiles(&name, &[], *latency_us);
        page.gauge(
            "clock_offset_seconds",
            "Sender's clock minus the receiver's.",
            clock_offset_us.map(|us| us as f64 / 1e6),
        );
        page.gauge(
            "clock_error_seconds",
            "Bound of the offset's error, and of the latencies'.",
            clock_error_us.map(|us| us as f64 / 1e6),
        );
        page.standing(standing);
        page.info("What decodes.", &[("backend", backend), ("device", device)]);
        page.stages(stages_us);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::stats::Stage;

    /// Checks the format line by line: each family has help, then its type, then only samples of its own name.
    #[track_caller]
    fn check_format(page: &str) -> Vec<String> {
        let (mut families, mut samples) = (BTreeSet::new(), Vec::new());
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            let (name, help) = line.strip_prefix("# HELP ").unwrap().split_once(' ').unwrap();
            assert!(help.ends_with('.') && families.insert(name.to_owned()), "{line}");
            let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
            while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
                let rest = sample.strip_prefix(name).unwrap();
                let part = rest.strip_prefix("_sum").or(rest.strip_prefix("_count"));
                assert!(part.is_none() || kind == "summary", "{sample}");
                let rest = part.unwrap_or(rest);
                let (labels, value) = rest.rsplit_once(' ').unwrap();
                assert!(labels.is_empty() || labels.starts_with('{') && labels.ends_with('}'), "{sample}");
                assert!(value.parse::<f64>().unwrap().is_finite(), "{sample}");
                samples.push(sample.to_owned());
            }
        }
        assert!(page.ends_with('\n') && families.len() > 8);
        samples
    }

    #[test]
    fn the_senders_page_has_its_values() {
        let percentiles = Percentiles { p50: 1_500, p95: 2_000, p99: 3_000_000, count: 3, sum: 3_003_500 };
        let report = SenderReport {
            frames_captured: 7,
            rtt_us: Some(23_000),
            loss: 0.25,
            backend: "opencl".to_owned(),
            device: "a \"fast\" one\\\n".to_owned(),
            stages_us: StageSummary(vec![(Stage::Code, percentiles)]),
            ..SenderReport::default()
        };
        let samples = check_format(&Page::of(&report));
        for wanted in [
            "duet_sender_frames_captured_total 7",
            "duet_sender_rtt_seconds 0.023",
            "duet_sender_loss_ratio 0.25",
            r#"duet_sender_reasons_total{reason="cut_delay"} 0"#,
            r#"duet_sender_reasons_total{reason="frame_overtaken"} 0"#,
            r#"duet_sender_info{backend="opencl",device="a \"fast\" one\\\n"} 1"#,
            r#"duet_sender_stage_seconds{stage="code",quantile="0.5"} 0.0015"#,
            r#"duet_sender_stage_seconds{stage="code",quantile="0.99"} 3"#,
            r#"duet_sender_stage_seconds_sum{stage="code"} 3.0035"#,
            r#"duet_sender_stage_seconds_count{stage="code"} 3"#,
        ] {
            assert!(samples.iter().any(|sample| sample == wanted), "{wanted} is missing in {samples:#?}");
        }
    }

    #[test]
    fn the_receivers_page_has_its_values() {
        let report = ReceiverReport {
            frames_lost: 3,
            fec_recovered: 12,
            freeze_ms_max: 40.0,
            latency_us: Percentiles { p50: 43_000, p95: 50_000, p99: 60_000, count: 4, sum: 180_000 },
            clock_offset_us: Some(-5),
            clock_error_us: Some(2_500),
            standing: Standing { unix_ms: 7, state: CallState::Silent, connected: true, ..Standing::default() },
            ..ReceiverReport::default()
        };
        let samples = check_format(&Page::of(&report));
        for wanted in [
            "duet_receiver_frames_lost_total 3",
            "duet_receiver_fec_recovered_total 12",
            r#"duet_receiver_reasons_total{reason="parts_missing"} 0"#,
            "duet_receiver_freeze_seconds_max 0.04",
            r#"duet_receiver_latency_seconds{quantile="0.95"} 0.05"#,
            "duet_receiver_latency_seconds_sum 0.18",
            "duet_receiver_latency_seconds_count 4",
            "duet_receiver_clock_offset_seconds -0.000005",
            "duet_receiver_clock_error_seconds 0.0025",
            "duet_receiver_connected 1",
            r#"duet_receiver_state{state="silent"} 1"#,
            r#"duet_receiver_state{state="streaming"} 0"#,
        ] {
            assert!(samples.iter().any(|sample| sample == wanted), "{wanted} is missing in {samples:#?}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_sample() {
        let samples = check_format(&Page::of(&SenderReport::default()));
        assert!(!samples.iter().any(|sample| sample.starts_with("duet_sender_rtt")), "{samples:#?}");
    }
}
