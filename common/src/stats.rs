//! Statistics: how long the stages take, and the lines of the statistics file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::named::named;
use crate::percentiles::{Percentiles, TimeHistogram};
use crate::reason::ReasonCounts;

named! {
    /// A stage on a frame's way from the camera to the eye; their times add up. `compensate` is one of both ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Stage {
        /// From the camera's time stamp to the picture in our memory.
        Capture = "capture",
        /// Effects on the picture, before it is coded: only where there are any.
        Effects = "effects",
        /// Onto the device.
        Upload = "upload",
        /// Search for vectors, and their code: of predicted frames only.
        Motion = "motion",
        /// Prediction with vectors; at the sender also the picture that the receiver will have: of streams with prediction only.
        Compensate = "compensate",
        /// Colour and wavelet transform.
        Transform = "transform",
        /// Quantiser and block coder.
        Code = "code",
        /// From the coded frame to its last datagram at the socket.
        Pace = "pace",
        /// From the last datagram at the socket to its arrival.
        Network = "network",
        /// From the last arrival to release to the decoder.
        Reassemble = "reassemble",
        /// Block decoder.
        Decode = "decode",
        /// Inverse transform and download.
        Inverse = "inverse",
        /// From the picture in our memory to the display.
        Present = "present",
    }
}

/// A histogram for each stage.
#[derive(Clone, Debug, Default)]
pub struct StageHistograms {
    stages: [TimeHistogram; Stage::ALL.len()],
}

impl StageHistograms {
    /// Adds a value to a stage.
    pub fn record(&mut self, stage: Stage, time: Duration) {
        self.stages[stage as usize].record(time);
    }

    /// Percentiles of the stages that have values, in the order of the frame's way.
    pub fn summary(&self) -> StageSummary {
        let with_values = Stage::ALL.iter().zip(&self.stages).filter(|(_, histogram)| histogram.count() > 0);
        StageSummary(with_values.map(|(&stage, histogram)| (stage, histogram.percentiles())).collect())
    }
}

/// Percentiles of each stage that has values; as JSON an object with the stages' names as keys, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageSummary(pub Vec<(Stage, Percentiles)>);

impl Serialize for StageSummary {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(stage, percentiles)| (stage.name(), percentiles)))
    }
}

/// A peer that has been silent for longer is not there: a receiver pings twice a second, and a sender answers.
pub const HEARD_MAX: Duration = Duration::from_millis(700);

named! {
    /// States of a call.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[non_exhaustive]
    pub enum CallState {
        /// No peer is connected.
        #[default]
        Waiting = "waiting",
        /// A peer is connected; no video has come, or it has ended.
        Connected = "connected",
        /// Video flows.
        Streaming = "streaming",
        /// Video should flow, but for most of a second nothing has come.
        Silent = "silent",
    }
}

/// Time of a line, and the call's state then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Wall clock, milliseconds since 1970-01-01 UTC.
    pub unix_ms: u64,
    /// State of the call.
    pub state: CallState,
    /// True if a peer is connected and has been heard of a moment ago.
    pub connected: bool,
    /// Way of packets to the peer, in words, as far as that is known; null without one.
    pub path: Option<&'static str>,
    /// Times that this has changed since the program's start.
    pub path_changes: u64,
}

/// Pictures of a camera that have come and could not be used, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnusablePictures {
    /// Without a byte.
    pub empty: u64,
    /// With fewer bytes than a picture has.
    pub short: u64,
    /// Damaged, as the driver says.
    pub flagged: u64,
    /// Not fetched by the driver.
    pub failed: u64,
    /// Not decoded: damaged, or of an unknown kind.
    pub damaged: u64,
}

impl UnusablePictures {
    /// Returns all of them.
    pub fn sum(&self) -> u64 {
        let Self { empty, short, flagged, failed, damaged } = *self;
        empty + short + flagged + failed + damaged
    }
}

/// A line of the sender's statistics file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SenderReport {
    /// Time, and how the call stood then.
    #[serde(flatten)]
    pub standing: Standing,
    /// Pictures taken from the source.
    pub frames_captured: u64,
    /// Frames of which all datagrams left.
    pub frames_sent: u64,
    /// Pictures not coded, or frames not sent whole, because newer ones came or nobody listened.
    pub frames_dropped: u64,
    /// Pictures of the source that could not be used, such as damaged JPEGs; among those dropped.
    pub frames_damaged: u64,
    /// Those of a camera, by reason.
    pub frames_unusable: UnusablePictures,
    /// Bytes of all datagrams.
    pub bytes_sent: u64,
    /// Coded bits per pixel of the frames sent.
    pub bits_per_pixel: f64,
    /// Rate that the frames are made for, bits a second.
    pub rate_target_bps: u64,
    /// Round trip; null before it is known.
    pub rtt_us: Option<u64>,
    /// Share of the datagrams that did not arrive, 0 to 1.
    pub loss: f64,
    /// Times that the path ceased to carry the larger packets.
    pub black_holes: u64,
    /// Time for which this program should have run while it streamed, and did not, milliseconds.
    pub stalled_ms: f64,
    /// Frames coded from a state of the receiver.
    pub frames_predicted: u64,
    /// Frames decoded again because the receiver lacked a part of them.
    pub frames_replayed: u64,
    /// States of the receiver whose hash was not that of the sender's.
    pub state_mismatches: u64,
    /// Number of decisions of the rate control, and of frames that did not leave whole, by reason.
    #[serde(serialize_with = "ReasonCounts::sender")]
    pub reasons: ReasonCounts,
    /// Back end: opencl, cpu or reference.
    pub backend: String,
    /// Device.
    pub device: String,
    /// Percentiles of each stage.
    pub stages_us: StageSummary,
    /// True if this is the last line.
    #[serde(rename = "final")]
    pub is_final: bool,
}

/// A line of the receiver's statistics file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceiverReport {
    /// Time, and how the call stood then.
    #[serde(flatten)]
    pub standing: Standing,
    /// Frames released with all their blocks.
    pub frames_complete: u64,
    /// Frames released at their deadline with blocks missing.
    pub frames_partial: u64,
    /// Frames never released.
    pub frames_lost: u64,
    /// Frames not decoded because the state that they refer to was not there.
    pub frames_lacking_reference: u64,
    /// Pictures given to the sink.
    pub frames_shown: u64,
    /// Bytes of all datagrams.
    pub bytes_received: u64,
    /// Datagrams rebuilt from parity.
    pub fec_recovered: u64,
    /// Longest time without a new picture, milliseconds.
    pub freeze_ms_max: f64,
    /// 99th percentile of the time between pictures, milliseconds.
    pub gap_ms_p99: f64,
    /// Longest time for which the line held a picture up longer than the one before, milliseconds.
    pub held_line_ms_max: f64,
    /// The same of the computer of either end.
    pub held_computer_ms_max: f64,
    /// Latency from capture to present.
    pub latency_us: Percentiles,
    /// Sender's clock minus ours; null before it is known.
    pub clock_offset_us: Option<i64>,
    /// Bound of its error, which is that of the latencies, too; null before it is known.
    pub clock_error_us: Option<u64>,
    /// True if that error is so large that the latencies are doubtful: more than 2 ms.
    pub clock_suspect: bool,
    /// Back end: opencl, cpu or reference.
    pub backend: String,
    /// Device.
    pub device: String,
    /// Percentiles of each stage.
    pub stages_us: StageSummary,
    /// Interarrival jitter of the datagrams as in RFC 3550.
    pub jitter_us: u64,
    /// 95 of 100 frames came at most this much later than expected.
    pub lateness_us_p95: u64,
    /// Datagrams that came after their frame was released.
    pub datagrams_late: u64,
    /// Datagrams that were none of this stream.
    pub datagrams_malformed: u64,
    /// Number of frames that were not shown whole, by reason.
    #[serde(serialize_with = "ReasonCounts::receiver")]
    pub reasons: ReasonCounts,
    /// True if this is the last line.
    #[serde(rename = "final")]
    pub is_final: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut histogram = TimeHistogram::new();
        assert_eq!(histogram.percentiles(), Percentiles::default());
        for us in 1..=1_000 {
            histogram.record(Duration::from_micros(us));
        }
        let expected = Percentiles { p50: 500, p95: 950, p99: 990, count: 1_000, sum: 500_500 };
        assert_eq!(histogram.percentiles(), expected);
        histogram.record(Duration::from_secs(100));
        assert_eq!((histogram.count(), histogram.percentiles().sum), (1_001, 60_500_500));
    }

    #[test]
    fn stages_keep_the_order_of_the_way() {
        let mut stages = StageHistograms::default();
        for stage in [Stage::Present, Stage::Capture, Stage::Network] {
            stages.record(stage, Duration::from_micros(7));
        }
        let seven = r#"{"p50":7,"p95":7,"p99":7}"#;
        assert_eq!(
            serde_json::to_string(&stages.summary()).unwrap(),
            format!(r#"{{"capture":{seven},"network":{seven},"present":{seven}}}"#)
        );
    }

    #[track_caller]
    fn check_keys(report: &impl Serialize, keys: &str) {
        let line = serde_json::to_string(report).unwrap();
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
        let mut expected: Vec<_> = keys.split_whitespace().collect();
        expected.sort_unstable();
        let mut found: Vec<_> = object.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn report_keys_are_a_contract() {
        check_keys(
            &SenderReport::default(),
            "frames_captured frames_sent frames_dropped bytes_sent bits_per_pixel rate_target_bps rtt_us loss
             black_holes stalled_ms frames_damaged frames_unusable frames_predicted frames_replayed state_mismatches backend device
             stages_us final unix_ms state connected path path_changes reasons",
        );
        check_keys(
            &ReceiverReport::default(),
            "frames_complete frames_partial frames_lost frames_lacking_reference frames_shown bytes_received fec_recovered
             freeze_ms_max
             gap_ms_p99 latency_us clock_offset_us clock_error_us clock_suspect backend device stages_us final datagrams_late datagrams_malformed
             jitter_us lateness_us_p95 held_line_ms_max held_computer_ms_max
             unix_ms state connected path path_changes reasons",
        );
    }

    #[test]
    fn the_keys_of_reasons_are_a_contract() {
        let keys = |report: serde_json::Value| report["reasons"].clone();
        check_keys(
            &keys(serde_json::to_value(SenderReport::default()).unwrap()),
            "cut_delay cut_collapse cut_loss cut_silence cut_competition queue_emptied queue_stands silence_over
             competition_began competition_probed competition_ended ceiling_set ceiling_forgotten bursts_doubted
             growth_began growth_ended probing_began detail_left_out frame_overtaken",
        );
        check_keys(
            &keys(serde_json::to_value(ReceiverReport::default()).unwrap()),
            "parts_missing pushed_out frame_unusable frame_stale frames_skipped",
        );
    }
}
