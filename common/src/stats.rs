//! Statistics: how long the stages take, and the lines of the statistics file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::{Metrics, Page};
use crate::named::named;
use crate::percentiles::{Percentiles, TimeHistogram};
use crate::reason::{Cause, ReasonCounts};

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
        /// Sound flows, and no video.
        Sound = "sound",
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

/// Counts that `counts!` declares.
trait Counted {
    fn write(&self, page: &mut Page);
}

/// Declares counts that are kept where something is counted, and reach the report as they are.
macro_rules! counts {
    ($(#[doc = $about:literal])+ $counts:ident { $($(#[doc = $help:literal])+ $field:ident,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct $counts {
            $($(#[doc = $help])+ pub $field: u64,)+
        }

        impl $counts {
            /// Returns a line for a window for each that has occurred.
            pub fn lines(&self) -> Vec<String> {
                let all = [$((self.$field, concat!($($help),+))),+];
                let occurred = all.into_iter().filter(|(count, _)| *count > 0);
                occurred.map(|(count, help)| format!("{}: {count}", help.trim().trim_end_matches('.'))).collect()
            }
        }

        impl Counted for $counts {
            fn write(&self, page: &mut Page) {
                $(page.counter(stringify!($field), concat!($($help),+), &self.$field);)+
            }
        }
    };
}

counts! {
    /// Counts of the sending end of a stream.
    SenderCounts {
        /// Bytes of all datagrams.
        bytes_sent,
    }
}

counts! {
    /// Counts of the receiving end of a stream.
    ReceiverCounts {
        /// Frames not decoded because the state that they refer to was not there.
        frames_lacking_reference,
    }
}

counts! {
    /// Counts of the sound that is sent.
    SoundSentCounts {
        /// Packets of sound that have left.
        sound_packets_sent,
        /// Packets of sound that were too late to leave.
        sound_packets_unsent,
        /// Bytes of all datagrams of sound.
        sound_bytes_sent,
    }
}

counts! {
    /// Counts of what the audience gets.
    AudienceCounts {
        /// Sessions with the audience's relay.
        audience_sessions,
        /// Attempts to begin one that have failed.
        audience_failures,
        /// Pictures for the audience.
        audience_pictures,
        /// Small ones.
        audience_pictures_small,
        /// Packets of sound for the audience.
        audience_sounds,
        /// Pictures and packets left out, because the line or the rate had no room for them.
        audience_dropped,
    }
}

/// State of the way to an audience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// Counts.
    pub counts: AudienceCounts,
    /// Parts that are given: 0 nothing, 1 sound, 2 the small picture, too, 3 both.
    pub part: u64,
    /// A relay has taken the call.
    pub is_connected: bool,
    /// It shows it to nobody: the token is for another name.
    pub is_unseen: bool,
    /// Somebody watches.
    pub is_watched: bool,
}

counts! {
    /// Counts of the sound that is heard.
    SoundHeardCounts {
        /// Packets of sound that came.
        sound_packets_received,
        /// Packets of sound played from a whole copy in a later one.
        sound_packets_repaired,
        /// Packets of sound played from a copy of 4 bits a sample in a later one.
        sound_packets_repaired_coarsely,
        /// Packets of sound of which some was missing and was concealed.
        sound_packets_concealed,
        /// Runs of such packets.
        sound_gaps,
        /// Packets of sound that came after their time.
        sound_packets_late,
        /// Packets of sound that never came.
        sound_packets_lost,
        /// Packets of sound that cannot be, or have no place: damaged, far ahead, or too many.
        sound_packets_refused,
    }
}

/// Kinds of values that are several on a page.
impl Page {
    fn standing(&mut self, _: &str, _: &str, Standing { state, connected, .. }: &Standing) {
        self.gauge("connected", "1 if a peer is connected and answers.", &u64::from(*connected));
        let states = CallState::ALL.map(|one| (one.name(), one == *state));
        self.state("state", "1 for how the call stands, 0 for how it does not.", states);
    }

    fn unusable(
        &mut self,
        name: &str,
        help: &str,
        UnusablePictures { empty, short, flagged, failed, damaged }: &UnusablePictures,
    ) {
        let of = [("empty", empty), ("short", short), ("flagged", flagged), ("failed", failed), ("damaged", damaged)];
        self.by_reason(name, help, of.map(|(reason, count)| (reason, *count)));
    }

    fn reasons(&mut self, name: &str, help: &str, counts: &ReasonCounts) {
        let causes = if self.program == SenderReport::PROGRAM { Cause::SENDER } else { Cause::RECEIVER };
        self.by_reason(name, help, causes.iter().map(|&cause| (cause.name(), counts.get(cause))));
    }

    fn counted(&mut self, _: &str, _: &str, counts: &impl Counted) {
        counts.write(self);
    }

    fn stages(&mut self, name: &str, help: &str, stages: &StageSummary) {
        self.summaries((name, "stage"), help, stages.0.iter().map(|(stage, times)| (stage.name(), *times)));
    }
}

/// Declares a report: of each value its help, name, type and kind, and another name on the page if that has one. The kinds are
/// methods of [`Page`].
macro_rules! report {
    ($(#[doc = $about:literal])+ $report:ident $program:literal {
        $($(#[doc = $help:literal])+ $(#[serde $serde:tt])? $field:ident: $type:ty, $kind:ident $(as $name:literal)?;)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $report {
            $($(#[doc = $help])+ $(#[serde $serde])? pub $field: $type,)+
        }

        impl Metrics for $report {
            const PROGRAM: &'static str = $program;

            fn write(&self, page: &mut Page) {
                $(page.$kind([$($name,)? stringify!($field)][0], concat!($($help),+), &self.$field);)+
            }
        }
    };
}

report! {
    /// A line of the sender's statistics file.
    SenderReport "sender" {
        /// Time, and how the call stood then.
        #[serde(flatten)]
        standing: Standing, standing;
        /// Pictures taken from the source.
        frames_captured: u64, counter;
        /// Frames of which all datagrams left.
        frames_sent: u64, counter;
        /// Pictures not coded, or frames not sent whole, because newer ones came or nobody listened.
        frames_dropped: u64, counter;
        /// Pictures of the source that could not be used, such as damaged JPEGs; among those dropped.
        frames_damaged: u64, counter;
        /// Pictures of a camera that could not be used, by reason.
        frames_unusable: UnusablePictures, unusable;
        /// Counts of the sending end of the stream.
        #[serde(flatten)]
        counts: SenderCounts, counted;
        /// Counts of the sound that is sent.
        #[serde(flatten)]
        sound: SoundSentCounts, counted;
        /// Counts of what the audience gets.
        #[serde(flatten)]
        audience: AudienceCounts, counted;
        /// Parts that the audience is given: 0 nothing, 1 sound, 2 the small picture, too, 3 both; not there, or null in the file, without one.
        audience_part: Option<u64>, gauge;
        /// True if a relay has taken the call, false if not; null without an audience.
        audience_connected: Option<bool>, hidden;
        /// True if somebody watches; null without an audience.
        audience_watched: Option<bool>, hidden;
        /// True if the relay shows the call to nobody, since its token is for another name; null without an audience.
        audience_unseen: Option<bool>, hidden;
        /// Coded bits per pixel of the frames sent.
        bits_per_pixel: f64, gauge;
        /// Rate that the frames are made for, bits a second.
        rate_target_bps: u64, gauge;
        /// Rate of sound on the line, said, found or this program's own; not there, or null in the file, where nothing is known of any.
        beside_bps: Option<u64>, gauge;
        /// Capacity of the line with all that is on it, looked for while sound is beside; not there, or null, before it is known.
        line_bps: Option<u64>, gauge;
        /// Round trip; not there, or null in the file, before it is known.
        rtt_us: Option<u64>, gauge;
        /// Share of the datagrams that did not arrive, 0 to 1.
        loss: f64, gauge as "loss_ratio";
        /// Times that the path ceased to carry the larger packets.
        black_holes: u64, counter;
        /// Time for which this program should have run while it streamed, and did not.
        stalled_ms: f64, gauge;
        /// Frames coded from a state of the receiver.
        frames_predicted: u64, counter;
        /// Frames from each of these back to the one that it was predicted from, added up.
        reference_ages: u64, counter;
        /// Frames that were coded for this receiver alone, since those of a band could not be its own.
        frames_apart: u64, counter;
        /// Frames decoded again because the receiver lacked a part of them.
        frames_replayed: u64, counter;
        /// States of the receiver whose hash was not that of the sender's.
        state_mismatches: u64, counter;
        /// Decisions of the rate control, and frames that did not leave whole, by reason.
        #[serde(serialize_with = "ReasonCounts::sender")]
        reasons: ReasonCounts, reasons;
        /// Back end: opencl, cpu or reference.
        backend: String, label;
        /// Device.
        device: String, label;
        /// Time that a frame spends in each stage.
        stages_us: StageSummary, stages as "stage_us";
        /// True if this is the last line.
        #[serde(rename = "final")]
        is_final: bool, hidden;
    }
}

report! {
    /// A line of the receiver's statistics file.
    ReceiverReport "receiver" {
        /// Time, and how the call stood then.
        #[serde(flatten)]
        standing: Standing, standing;
        /// Frames released with all their blocks.
        frames_complete: u64, counter;
        /// Frames released at their deadline with blocks missing.
        frames_partial: u64, counter;
        /// Frames never released.
        frames_lost: u64, counter;
        /// Counts of the receiving end of the stream.
        #[serde(flatten)]
        counts: ReceiverCounts, counted;
        /// Counts of the sound that is heard.
        #[serde(flatten)]
        sound: SoundHeardCounts, counted;
        /// Delay that the sound has beyond the line's own; not there, or null in the file, without sound.
        sound_added_ms: Option<f64>, gauge;
        /// Sender's sample clock against this machine's, parts per million; not there, or null in the file, before it is known.
        sound_drift_ppm: Option<f64>, gauge;
        /// Delay from the microphone there to the ear here; not there, or null in the file, before it is known.
        ear_ms: Option<f64>, gauge;
        /// Delay from the camera there to the eye here; likewise.
        eye_ms: Option<f64>, gauge;
        /// Sound that a recording lacks and that may still be filled in; not there, or null in the file, where none is recorded.
        sound_lacking_ms: Option<f64>, gauge;
        /// Pictures given to the sink.
        frames_shown: u64, counter;
        /// Bytes of all datagrams.
        bytes_received: u64, counter;
        /// Datagrams rebuilt from parity.
        fec_recovered: u64, counter;
        /// Longest time without a new picture.
        freeze_ms_max: f64, gauge;
        /// 99th percentile of the time between pictures.
        gap_ms_p99: f64, gauge;
        /// Longest time for which the line held a picture up longer than the one before.
        held_line_ms_max: f64, gauge as "held_by_line_ms_max";
        /// Longest time for which the computer of either end held one up longer than the one before.
        held_computer_ms_max: f64, gauge as "held_by_computer_ms_max";
        /// Latency from capture to present.
        latency_us: Percentiles, summary;
        /// Sender's clock minus the receiver's; not there, or null in the file, before it is known.
        clock_offset_us: Option<i64>, gauge;
        /// Bound of its error, which is that of the latencies, too; not there, or null in the file, before it is known.
        clock_error_us: Option<u64>, gauge;
        /// True if that error is so large that the latencies are doubtful: more than 2 ms.
        clock_suspect: bool, hidden;
        /// Back end: opencl, cpu or reference.
        backend: String, label;
        /// Device.
        device: String, label;
        /// Time that a frame spends in each stage.
        stages_us: StageSummary, stages as "stage_us";
        /// Interarrival jitter of the datagrams as in RFC 3550.
        jitter_us: u64, gauge;
        /// Lateness that 95 of 100 frames did not exceed.
        lateness_us_p95: u64, gauge;
        /// Datagrams that came after their frame was released.
        datagrams_late: u64, counter;
        /// Datagrams that were none of this stream.
        datagrams_malformed: u64, counter;
        /// Frames that were not shown whole, by reason.
        #[serde(serialize_with = "ReasonCounts::receiver")]
        reasons: ReasonCounts, reasons;
        /// True if this is the last line.
        #[serde(rename = "final")]
        is_final: bool, hidden;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
            "frames_captured frames_sent frames_dropped bytes_sent bits_per_pixel rate_target_bps rtt_us loss beside_bps line_bps
             black_holes stalled_ms frames_damaged frames_unusable frames_predicted reference_ages frames_apart frames_replayed state_mismatches backend device
             stages_us final unix_ms state connected path path_changes reasons
             sound_packets_sent sound_packets_unsent sound_bytes_sent
             audience_sessions audience_failures audience_pictures audience_pictures_small audience_sounds audience_dropped
             audience_part audience_connected audience_watched audience_unseen",
        );
        check_keys(
            &ReceiverReport::default(),
            "frames_complete frames_partial frames_lost frames_lacking_reference frames_shown bytes_received fec_recovered
             freeze_ms_max
             gap_ms_p99 latency_us clock_offset_us clock_error_us clock_suspect backend device stages_us final datagrams_late datagrams_malformed
             jitter_us lateness_us_p95 held_line_ms_max held_computer_ms_max
             unix_ms state connected path path_changes reasons
             sound_packets_received sound_packets_repaired sound_packets_repaired_coarsely sound_packets_concealed sound_gaps
             sound_packets_late sound_packets_lost sound_packets_refused sound_added_ms sound_drift_ppm ear_ms eye_ms
             sound_lacking_ms",
        );
    }

    #[test]
    fn names_on_the_page_are_a_contract() {
        let name = |line: &str| {
            line.strip_prefix("# TYPE duet_")?.split(' ').next()?.split_once('_').map(|it| it.1.to_owned())
        };
        let names = |page: String| page.lines().filter_map(name).collect::<BTreeSet<_>>();
        let wanted = |names: &str| names.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(
            names(Page::of(&SenderReport::default())),
            wanted(
                "audience_sessions_total audience_failures_total audience_pictures_total audience_pictures_small_total
                 audience_sounds_total audience_dropped_total audience_part beside_bits_per_second bits_per_pixel black_holes_total bytes_sent_total connected frames_captured_total
                 frames_damaged_total frames_dropped_total frames_predicted_total reference_ages_total frames_apart_total frames_replayed_total
                 frames_sent_total frames_unusable_total info line_bits_per_second loss_ratio rate_target_bits_per_second reasons_total
                 rtt_seconds stage_seconds stalled_seconds state state_mismatches_total
                 sound_packets_sent_total sound_packets_unsent_total sound_bytes_sent_total",
            )
        );
        assert_eq!(
            names(Page::of(&ReceiverReport::default())),
            wanted(
                "bytes_received_total clock_error_seconds clock_offset_seconds connected datagrams_late_total
                 datagrams_malformed_total fec_recovered_total frames_complete_total frames_lacking_reference_total
                 frames_lost_total frames_partial_total frames_shown_total freeze_seconds_max gap_seconds_p99
                 held_by_computer_seconds_max held_by_line_seconds_max info jitter_seconds latency_seconds
                 lateness_seconds_p95 reasons_total stage_seconds state
                 sound_packets_received_total sound_packets_repaired_total sound_packets_repaired_coarsely_total
                 sound_packets_concealed_total sound_gaps_total sound_packets_late_total sound_packets_lost_total
                 sound_packets_refused_total sound_added_seconds sound_drift_ppm ear_seconds eye_seconds
                 sound_lacking_seconds",
            )
        );
    }

    #[test]
    fn the_keys_of_reasons_are_a_contract() {
        let keys = |report: serde_json::Value| report["reasons"].clone();
        check_keys(
            &keys(serde_json::to_value(SenderReport::default()).unwrap()),
            "cut_delay cut_collapse cut_loss cut_silence cut_competition queue_emptied queue_stands silence_over
             competition_began competition_probed competition_ended ceiling_set ceiling_forgotten sound_found bursts_doubted
             growth_began growth_ended probing_began detail_left_out frame_overtaken",
        );
        check_keys(
            &keys(serde_json::to_value(ReceiverReport::default()).unwrap()),
            "parts_missing pushed_out frame_unusable frame_stale frames_skipped",
        );
    }
}
