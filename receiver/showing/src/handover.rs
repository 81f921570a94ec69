//! Frames and settings that the network, decode and main threads hand to each other.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use common::config::PublicKey;
use common::path::PathCounters;
use common::stream::video::{ArrivedFrame, ReceiverCounters};
use common::units::{FrameId, Timestamp};
use common::wire::control::SourceState;
use common::wire::states::StatesReport;
use kernels::{BackendInfo, Picture};
use net::link::{Obstacle, PathInUse};
use picture::params::StreamParams;

/// Age from which a waiting frame or picture is not shown: the process stood still, and newer ones are on their way.
pub(crate) const STALE: Duration = Duration::from_secs(1);

/// A request of the network thread.
#[derive(Debug)]
pub enum Job {
    /// Build the decoder of a stream. No frame of it comes before [`Opened`] has been answered.
    Open {
        /// The stream.
        params: StreamParams,
        /// Counts the streams; the answer carries it back.
        serial: u64,
    },
    /// Decode a frame.
    Frame {
        /// The frame.
        arrived: ArrivedFrame,
        /// Sender's clock minus ours, as known when the frame was released, microseconds.
        clock_offset_us: Option<i64>,
    },
}

/// The decoder of stream `serial` is there, or cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Serial number of the stream, from [`Job::Open`].
    pub serial: u64,
    /// Reason for which this machine cannot decode the stream, if it cannot.
    pub refused: Option<String>,
}

/// A stream as the sinks know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Counts the streams.
    pub serial: u64,
    /// Its parameters.
    pub params: StreamParams,
    /// The back end that decodes it.
    pub backend: BackendInfo,
}

/// A picture to show.
#[derive(Debug)]
pub struct Decoded {
    /// The stream it belongs to.
    pub stream: Arc<Stream>,
    /// Number of the frame.
    pub id: FrameId,
    /// The picture.
    pub picture: Picture,
    /// Times of the points it passed.
    pub passed: Passed,
}

/// Times at which a frame passed the points between the stages; sender's times are on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Captured, sender's clock.
    pub capture: Timestamp,
    /// Last datagram at the sender's socket, sender's clock.
    pub sent: Timestamp,
    /// Last datagram here.
    pub received: Timestamp,
    /// Released to the decoder.
    pub released: Timestamp,
    /// Picture ready.
    pub decoded: Timestamp,
    /// Duration of the prediction from another picture and of the inverse transform, within the time from release to picture.
    pub compensate: Duration,
    /// See `compensate`.
    pub inverse: Duration,
    /// Total duration of stalls of the network thread until then.
    pub stalled: Duration,
    /// Sender's clock minus ours, microseconds.
    pub clock_offset_us: Option<i64>,
    /// The blocks that had not come.
    pub missing: Missing,
}

/// Blocks that a frame lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Number of all of them.
    pub blocks: usize,
    /// Number of those without which the picture has no coarse content.
    pub coarse: usize,
}

/// Channel in which the sinks give shown pictures back.
pub type Shown = Sender<Picture>;

/// A request of another thread to the network thread; each is followed by a wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The decoder is there, or cannot be.
    Opened(Opened),
    /// Report of a stream with prediction: the fates of the last frames at the decoder.
    States {
        /// Serial number of the stream, from [`Job::Open`].
        serial: u64,
        /// Report for the sender.
        report: StatesReport,
    },
    /// End the connection and the thread.
    End(End),
}

/// Reasons for which the main thread asks the network thread to end the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All frames that were asked for are shown: the sender ends too.
    Finish,
    /// The window was closed: the sender waits for the next viewer.
    Stop,
}

/// The network thread's knowledge, copied out for the main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// The stream's counters.
    pub counters: ReceiverCounters,
    /// The path's counters.
    pub path_counters: PathCounters,
    /// Sender's clock minus ours, microseconds.
    pub clock_offset_us: Option<i64>,
    /// Bound of that offset's error, microseconds.
    pub clock_error_us: Option<u64>,
    /// True if a sender is streaming.
    pub streaming: bool,
    /// Sender's source, as it has said.
    pub source: SourceState,
    /// Time at which it has said so.
    pub source_told: Timestamp,
    /// The peer that is connected.
    pub peer: Option<PublicKey>,
    /// True if it has greeted.
    pub greeted: bool,
    /// True if it rings there: it greets once somebody takes the call.
    pub rings: bool,
    /// Time of the last datagram.
    pub heard: Timestamp,
    /// Serial number of the last stream that has ended on purpose; 0: none has.
    pub goodbye: u64,
    /// Time at which the other side has ended on purpose last, if it has.
    pub left: Option<Timestamp>,
    /// The way that packets take.
    pub path: PathInUse,
    /// Obstacle that keeps the other side from being met, as far as is known.
    pub obstacle: Option<Obstacle>,
}

/// The network thread's state for the main thread.
#[derive(Clone, Debug, Default)]
pub struct LinkView {
    /// Counters and clock.
    pub snapshot: LinkSnapshot,
    /// The stream's last frame, once the sender has said that it ends.
    pub last_frame: Option<FrameId>,
    /// Names of machines that have called meanwhile and were turned away, until somebody takes them.
    pub called: Vec<String>,
    /// The same, for whoever looks from outside.
    pub told_busy: Vec<String>,
}
