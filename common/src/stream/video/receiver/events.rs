//! Choices of a receiving end, and the events and counts that it gives its owner.

use std::time::Duration;

use picture::frame::FrameSize;
use picture::params::StreamParams;

use crate::reason::ReasonCounts;
use crate::stats::ReceiverCounts;
use crate::stream::video::reassemble::AssembledFrame;
use crate::units::Timestamp;

/// Choices of a receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverOptions {
    /// Time after its expected arrival for which a frame is waited for; none: three quarters of a frame interval, but a
    /// fifth once its end has been seen. One interval later the next frame arrives, and would often replace this one
    /// before it could be shown.
    pub latency_max: Option<Duration>,
    /// True if frames that waited while this machine stood still or the line was dead are dropped, as is right for a
    /// display and not for a recording.
    pub drops_backlog: bool,
    /// Size of the largest pictures that are taken, in pixels and in the squares of their transform; none: any size.
    pub size_max: Option<FrameSize>,
}

/// A frame to decode and show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedFrame {
    /// Its blocks that arrived; later frames have higher numbers.
    pub assembled: AssembledFrame,
    /// Time of its release to the decoder.
    pub released: Timestamp,
    /// Total duration of stalls of this program until then.
    pub stalled: Duration,
}

/// An event that the owner of a receiving end must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A stream begins (again): build the decoder, then call [`ready`](super::VideoReceiver::ready).
    Start(StreamParams),
    /// A frame to decode.
    Frame(ArrivedFrame),
    /// The stream has ended, or [`finish`](super::VideoReceiver::finish) was called: send what is queued, close and exit.
    Finished,
    /// The peer stops but may come back.
    PeerStopping,
    /// The peer has a newer connection from us.
    PeerReplaced,
    /// The peer says that we broke the protocol, and how.
    PeerRejected(String),
}

/// The counts of a receiving end since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Frames released with all their blocks.
    pub frames_complete: u64,
    /// Frames released with blocks missing.
    pub frames_partial: u64,
    /// Frames sent (as far as their numbers tell) but never released.
    pub frames_lost: u64,
    /// Those that reach the statistics as they are.
    pub counts: ReceiverCounts,
    /// Bytes of all datagrams.
    pub bytes_received: u64,
    /// Datagrams that brought something new.
    pub datagrams_accepted: u64,
    /// Datagrams that brought nothing new.
    pub datagrams_duplicate: u64,
    /// Datagrams that came after their frame, or a newer one, was released.
    pub datagrams_late: u64,
    /// Datagrams of frames impossibly far ahead.
    pub datagrams_too_far_ahead: u64,
    /// Datagrams that were none of this stream.
    pub datagrams_malformed: u64,
    /// Datagrams while no stream was on.
    pub datagrams_unexpected: u64,
    /// Interarrival jitter of this stream's datagrams as in RFC 3550, microseconds.
    pub jitter_us: u64,
    /// 95 of 100 frames of this stream came at most this much later than expected, microseconds.
    pub lateness_us_p95: u64,
    /// Missing datagrams rebuilt from parity.
    pub fec_recovered: u64,
    /// Protection groups that contradict themselves, and rebuilt datagrams that are none of this stream.
    pub fec_malformed: u64,
    /// Deadlines that passed, and frames that never came, by reason.
    pub reasons: ReasonCounts,
}
