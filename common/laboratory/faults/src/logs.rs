//! Figures from the files that daemons write: the pictures shown, and statistics.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// A picture that was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture {
    /// Time since the scenario's begin; negative before it. Milliseconds, as all times here.
    pub at: f64,
    /// Number of the frame.
    pub frame: u64,
    /// Latency from capture to display, where the clocks were known.
    pub latency: Option<f64>,
    /// Blocks that did not come in time.
    pub missing_blocks: u64,
    /// Coarse ones of them.
    pub missing_coarse: u64,
}

/// Returns the gaps between pictures in the time from `from` to `to`, the time's ends taken as pictures.
pub fn gaps(pictures: &[Picture], from: f64, to: f64) -> Vec<f64> {
    let inside = pictures.iter().map(|picture| picture.at).filter(|&at| at > from && at < to);
    let points: Vec<f64> = std::iter::once(from).chain(inside).chain([to]).collect();
    points.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the longest of them.
pub fn longest_gap(pictures: &[Picture], from: f64, to: f64) -> f64 {
    gaps(pictures, from, to).into_iter().fold(0.0, f64::max)
}

/// Returns the value below which `share` of `values` lie; not a number without values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Returns the pictures of one receiver's log, at times since `began` (wall clock since 1970).
pub fn pictures(log: &Path, began: Duration) -> Result<Vec<Picture>> {
    let file = File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    // A receiver that was killed may have left a part of a line.
    let mut lines = lines.map_while(|line| serde_json::from_str::<Value>(&line).ok());
    let Some(origin) = lines.next() else { return Ok(Vec::new()) };
    let number = |line: &Value, key: &str| line[key].as_f64().unwrap_or(0.0);
    let offset = number(&origin, "unix_us") - number(&origin, "at_us") - began.as_micros() as f64;
    let picture = |line: Value| Picture {
        at: (number(&line, "shown_us") + offset) / 1e3,
        frame: line["frame"].as_u64().unwrap_or(0),
        latency: line["latency_us"].as_f64().map(|us| us / 1e3),
        missing_blocks: line["missing_blocks"].as_u64().unwrap_or(0),
        missing_coarse: line["missing_coarse"].as_u64().unwrap_or(0),
    };
    Ok(lines.map(picture).collect())
}

/// Returns the last count of bytes in a receiver's statistics file.
pub(crate) fn bytes_received(file: &Path) -> u64 {
    last(file).map_or(0, |line| line["bytes_received"].as_u64().unwrap_or(0))
}

/// Returns how many times a sender's path ceased to carry the larger packets, as its statistics file tells; not a
/// number if it does not. QUIC counts one such change several times, as large packets are under way then: counts in the
/// next line, a second later, belong to the same change.
pub(crate) fn black_holes(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    changes(lines.map(|line| line["black_holes"].as_u64()))
}

/// Returns how frames were coded, in words: `prediction` as the sender was told, and each program's processor time a frame.
pub(crate) fn coding(prediction: &str, sender: &Path, receiver: &Path, took: [Duration; 2], frames: usize) -> String {
    let (sender_line, receiver_line) = (last(sender).unwrap_or_default(), last(receiver).unwrap_or_default());
    let number = |line: &Value, key: &str| line[key].as_f64().unwrap_or(f64::NAN);
    let [sending, receiving] = took.map(|took| took.as_secs_f64() * 1e3 / frames.max(1) as f64);
    let stages = |line: &Value, names: &[&str]| -> String {
        let stage = |name: &&str| {
            let [p50, p95] = ["p50", "p95"].map(|key| line["stages_us"][*name][key].as_f64().map(|us| us / 1e3));
            Some(format!(", {name} {:.0}/{:.0}", p50?, p95?))
        };
        names.iter().filter_map(stage).collect()
    };
    let log = std::fs::read_to_string(sender.with_extension("log")).unwrap_or_default();
    let mut effort = log.lines().filter_map(|line| {
        let (_, after) = line.split_once("motion is searched with ")?;
        after.split_once(' ').map(|(effort, _)| effort.to_lowercase())
    });
    let alone = log.matches("too slow for prediction").count();
    format!(
        "prediction {prediction}: {:.0} % of frames, {} replayed, {} mismatches, {} lacking; effort {}{}; processor {sending:.0}/{receiving:.0} ms a frame; ms p50/p95: wait {}{}",
        100.0 * number(&sender_line, "frames_predicted") / number(&sender_line, "frames_sent"),
        number(&sender_line, "frames_replayed"),
        number(&sender_line, "state_mismatches"),
        number(&receiver_line, "frames_lacking_reference"),
        effort.next_back().unwrap_or_else(|| "medium".to_owned()),
        if alone > 0 { format!(", given up {alone} times") } else { String::new() },
        stages(&sender_line, &["capture", "motion", "compensate", "transform", "code", "pace"])
            .trim_start_matches(", capture "),
        stages(&receiver_line, &["reassemble", "decode", "compensate", "inverse", "present"]),
    )
}

/// Returns the back end that a statistics file tells of last.
pub(crate) fn backend(file: &Path) -> Option<String> {
    Some(last(file)?["backend"].as_str()?.to_owned())
}

/// Returns the difference of the clocks that a receiver's statistics file tells of last, milliseconds.
pub(crate) fn clock_offset(file: &Path) -> Option<f64> {
    Some(last(file)?["clock_offset_us"].as_f64()? / 1e3)
}

/// Returns how many times a counter began to grow.
fn changes(counts: impl Iterator<Item = Option<u64>>) -> f64 {
    let (mut last, mut grows, mut changes) = (0, false, f64::NAN);
    for count in counts {
        let Some(count) = count else { return f64::NAN };
        let grew = count > last;
        changes = if changes.is_nan() { 0.0 } else { changes } + f64::from(u8::from(grew && !grows));
        (last, grows) = (count, grew);
    }
    changes
}

/// Returns the sum of the 99th percentiles of pacing, reassembly and the way to the display, ms.
pub(crate) fn queues_p99(sender: &Path, receiver: &Path) -> f64 {
    let stage = |line: &Option<Value>, name: &str| {
        let us = line.as_ref().and_then(|line| line["stages_us"][name]["p99"].as_f64());
        us.map_or(f64::NAN, |us| us / 1e3)
    };
    let (sender, receiver) = (last(sender), last(receiver));
    stage(&sender, "pace") + stage(&receiver, "reassemble") + stage(&receiver, "present")
}

/// Two lines of statistics have less.
const LINES_BYTES: u64 = 16 << 10;

/// Returns the last whole line of a statistics file.
pub fn last(file: &Path) -> Option<Value> {
    let mut file = File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LINES_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    String::from_utf8_lossy(&bytes).lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "tests")]

    use super::*;

    #[test]
    fn a_counter_that_goes_on_growing_has_changed_once() {
        let changes = |counts: &[u64]| changes(counts.iter().copied().map(Some));
        assert_eq!(changes(&[0, 0, 3, 5, 5]), 1.0);
        assert_eq!(changes(&[0, 1, 1, 2]), 2.0);
        assert_eq!(changes(&[0, 0]), 0.0);
        assert!(changes(&[]).is_nan());
        assert!(super::changes([Some(0), None].into_iter()).is_nan());
    }
}
