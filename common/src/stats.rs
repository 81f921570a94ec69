//! Statistics: how long the stages take, and the lines of the statistics file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A stage on a frame's way from the camera to the eye; their times add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// From the camera's time stamp to the picture in our memory.
    Capture,
    /// Onto the device.
    Upload,
    /// Colour and wavelet transform.
    Transform,
    /// Quantiser and block coder.
    Code,
    /// From the coded frame to its last datagram at the socket.
    Pace,
    /// From the last datagram at the socket to its arrival.
    Network,
    /// From the last arrival to release to the decoder.
    Reassemble,
    /// Block decoder.
    Decode,
    /// Inverse transform and download.
    Inverse,
    /// From the picture in our memory to the display.
    Present,
}

impl Stage {
    /// All of them in the order of the frame's way.
    pub const ALL: [Self; 10] = [
        Self::Capture,
        Self::Upload,
        Self::Transform,
        Self::Code,
        Self::Pace,
        Self::Network,
        Self::Reassemble,
        Self::Decode,
        Self::Inverse,
        Self::Present,
    ];

    /// Its name in files, spans and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Upload => "upload",
            Self::Transform => "transform",
            Self::Code => "code",
            Self::Pace => "pace",
            Self::Network => "network",
            Self::Reassemble => "reassemble",
            Self::Decode => "decode",
            Self::Inverse => "inverse",
            Self::Present => "present",
        }
    }
}

/// Percentiles of a time, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the values are at most this.
    pub p50: u64,
    /// 95 of 100 are.
    pub p95: u64,
    /// 99 of 100 are.
    pub p99: u64,
}

/// Distribution of a time, 1 us to 60 s, to three digits.
#[derive(Clone, Debug)]
pub struct TimeHistogram(hdrhistogram::Histogram<u64>);

impl TimeHistogram {
    /// No values yet.
    pub fn new() -> Self {
        todo!()
    }

    /// Adds a value; beyond 60 s it counts as 60 s.
    pub fn record(&mut self, time: Duration) {
        todo!()
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        todo!()
    }

    /// All zero if there are no values.
    pub fn percentiles(&self) -> Percentiles {
        todo!()
    }

    /// Largest value, microseconds; 0 if there are none.
    pub fn max_us(&self) -> u64 {
        todo!()
    }
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::new()
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
        todo!()
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

/// A line of the sender's statistics file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SenderReport {
    /// Pictures taken from the source.
    pub frames_captured: u64,
    /// Frames of which all datagrams left.
    pub frames_sent: u64,
    /// Pictures not coded, or frames not sent whole, because newer ones came or nobody listened.
    pub frames_dropped: u64,
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
    /// Back end: opencl, cpu or reference.
    pub backend: String,
    /// Device.
    pub device: String,
    /// Percentiles of each stage.
    pub stages_us: StageSummary,
    /// Whether this is the last line.
    #[serde(rename = "final")]
    pub is_final: bool,
}

/// A line of the receiver's statistics file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceiverReport {
    /// Frames released with all their blocks.
    pub frames_complete: u64,
    /// Frames released at their deadline with blocks missing.
    pub frames_partial: u64,
    /// Frames never released.
    pub frames_lost: u64,
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
    /// From capture to present.
    pub latency_us: Percentiles,
    /// Sender's clock minus ours; null before it is known.
    pub clock_offset_us: Option<i64>,
    /// Back end: opencl, cpu or reference.
    pub backend: String,
    /// Device.
    pub device: String,
    /// Percentiles of each stage.
    pub stages_us: StageSummary,
    /// Datagrams that came after their frame was released.
    pub datagrams_late: u64,
    /// Datagrams that were none of this stream.
    pub datagrams_malformed: u64,
    /// Whether this is the last line.
    #[serde(rename = "final")]
    pub is_final: bool,
}
