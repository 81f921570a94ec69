//! Statistics as a metrics page: the text format of Prometheus, version 0.0.4.
//!
//! Names follow its conventions: seconds, bytes and ratios instead of the statistics file's microseconds and
//! milliseconds, and counters that end in `_total`. <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt::Write as _;

use serde::Serialize;

use crate::percentiles::Percentiles;

/// Something whose values can stand on a metrics page.
pub trait Metrics {
    /// The program that it is of; part of all names.
    const PROGRAM: &'static str;

    /// Appends every value with its help and type.
    fn write(&self, page: &mut Page);
}

/// The text of a metrics page under construction. Names are given as in the statistics file, without the program's in front of them.
#[derive(Clone, Debug)]
pub struct Page {
    /// The program that it is of.
    pub(crate) program: &'static str,
    text: String,
    /// Texts, which do not fit a number.
    labels: Vec<(&'static str, String)>,
}

impl Page {
    /// Returns the page of `metrics` alone.
    pub fn of<M: Metrics>(metrics: &M) -> String {
        let mut page = Self { program: M::PROGRAM, text: String::new(), labels: Vec::new() };
        metrics.write(&mut page);
        let labels = std::mem::take(&mut page.labels);
        let labels: Vec<_> = labels.iter().map(|(key, text)| (*key, text.as_str())).collect();
        let name = page.family("info", "gauge", "Back end and device that code or decode.");
        page.sample(&name, &labels, 1.0);
        page.text
    }

    /// Leaves out a value that is for the file only.
    pub(crate) fn hidden<T>(&mut self, _: &str, _: &str, _: &T) {}

    /// Writes a count that only grows.
    pub(crate) fn counter(&mut self, name: &str, help: &str, count: &u64) {
        let name = self.family(&format!("{name}_total"), "counter", help);
        self.sample(&name, &[], *count as f64);
    }

    /// Writes such counts by their reasons.
    pub(crate) fn by_reason(&mut self, name: &str, help: &str, counts: impl IntoIterator<Item = (&'static str, u64)>) {
        let name = self.family(&format!("{name}_total"), "counter", help);
        counts.into_iter().for_each(|(reason, count)| self.sample(&name, &[("reason", reason)], count as f64));
    }

    /// Writes a value that rises and falls, in the unit that a page has instead of that in its name.
    /// It is left out while it is not known.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: &impl Serialize) {
        let (name, divisor) = unit_of(name);
        let name = self.family(&name, "gauge", help);
        let value = serde_json::to_value(value).ok().and_then(|value| value.as_f64());
        value.into_iter().for_each(|value| self.sample(&name, &[], value / divisor));
    }

    /// Writes 1 for the state that it is, 0 for all others there are.
    pub(crate) fn state(&mut self, name: &str, help: &str, states: impl IntoIterator<Item = (&'static str, bool)>) {
        let name = self.family(name, "gauge", help);
        states.into_iter().for_each(|(state, is)| self.sample(&name, &[("state", state)], f64::from(u8::from(is))));
    }

    /// Takes a text for the labels of the sample that has all of them.
    pub(crate) fn label(&mut self, name: &'static str, _: &str, text: &str) {
        self.labels.push((name, text.to_owned()));
    }

    /// Writes the percentiles of a time.
    pub(crate) fn summary(&mut self, name: &str, help: &str, times: &Percentiles) {
        let name = self.family(&unit_of(name).0, "summary", help);
        self.quantiles(&name, &[], *times);
    }

    /// Writes those of several by their names, which are values of the label `key`.
    pub(crate) fn summaries<'a>(
        &mut self,
        (name, key): (&str, &str),
        help: &str,
        times: impl IntoIterator<Item = (&'a str, Percentiles)>,
    ) {
        let name = self.family(&unit_of(name).0, "summary", help);
        times.into_iter().for_each(|(of, percentiles)| self.quantiles(&name, &[(key, of)], percentiles));
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
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}", help.trim());
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

/// Returns the name with the unit that a page has, and how many of the file's are one of it.
fn unit_of(name: &str) -> (String, f64) {
    let units = [("us", "seconds", 1e6), ("ms", "seconds", 1e3), ("bps", "bits_per_second", 1.0)];
    let unit = |part: &str| units.into_iter().find(|unit| unit.0 == part);
    let parts: Vec<_> = name.split('_').map(|part| unit(part).map_or(part, |unit| unit.1)).collect();
    (parts.join("_"), name.split('_').find_map(unit).map_or(1.0, |unit| unit.2))
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::stats::{CallState, ReceiverReport, SenderReport, Stage, StageSummary, Standing};

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
