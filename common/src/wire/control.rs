//! Messages on the one bidirectional stream of a connection: u32 little-endian length, then the message.
//!
//! The only file that names bincode. The library is no longer maintained and can be made to allocate without
//! bound, so it runs under a limit and only inside a connection whose peer has proved its key.


use super::DecodeError;
use crate::params::StreamParams;
use crate::units::{FrameId, SequenceNumber, Timestamp};

/// Longest message, without its length prefix.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Longest text in a [`ByeReason::Protocol`], bytes; longer ones are cut.
pub const REASON_BYTES_MAX: usize = 200;

const PREFIX_BYTES: usize = 4;

/// Which end of the video a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends video.
    Sender,
    /// Receives video.
    Receiver,
}

/// What the two ends tell each other besides video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlMessage {
    /// First message of both ends.
    Hello {
        /// [`super::PROTOCOL_VERSION`] of the speaker.
        version: u16,
        /// Which end the speaker is.
        role: Role,
    },
    /// Sender to receiver after both Hellos: a stream begins (again).
    Welcome {
        /// Its parameters.
        params: StreamParams,
        /// Number of the first frame that will be sent.
        start_frame: FrameId,
    },
    /// Receiver to sender: the decoder is there, send.
    Ready,
    /// Receiver to sender: what time is it?
    Ping {
        /// Chosen by the receiver, repeated in the answer.
        id: u32,
        /// Receiver's clock.
        sent: Timestamp,
    },
    /// Sender to receiver.
    Pong {
        /// Of the ping.
        id: u32,
        /// Of the ping, receiver's clock.
        ping_sent: Timestamp,
        /// When the ping came, sender's clock.
        received: Timestamp,
        /// When this answer left, sender's clock.
        sent: Timestamp,
    },
    /// Receiver to sender, every 20 ms while video flows.
    Feedback(Feedback),
    /// Last message of either end.
    Bye {
        /// Why.
        reason: ByeReason,
    },
}

/// What a receiver has seen since the stream began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Highest sequence number seen.
    pub highest: SequenceNumber,
    /// Datagrams received, each number once.
    pub received: u32,
    /// Sequence numbers up to `highest` that have not come.
    pub lost: u32,
    /// Frames released with all their blocks.
    pub frames_complete: u32,
    /// Frames released with blocks missing.
    pub frames_partial: u32,
    /// The last frame released; none yet.
    pub last_frame: Option<FrameId>,
    /// Smallest round trip of the last pings, microseconds; none measured yet.
    pub rtt_us: Option<u32>,
}

/// Why a peer leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByeReason {
    /// The video has ended: both ends are done.
    Finished {
        /// The last frame sent; none from a receiver, or if none was sent.
        last_frame: Option<FrameId>,
    },
    /// The peer stops but may come back.
    Stopping,
    /// The other end broke the protocol; the text says how, at most [`REASON_BYTES_MAX`] bytes.
    Protocol(String),
    /// Another connection of the same peer has taken this one's place.
    ReplacedByNewer,
}

/// Appends `message` with its length prefix to `out`.
pub fn encode(message: &ControlMessage, out: &mut Vec<u8>) {
    todo!()
}

/// Takes the stream's bytes as they come and gives whole messages.
#[derive(Debug, Default)]
pub struct ControlReader {
    buffer: Vec<u8>,
}

impl ControlReader {
    /// Adds what was read from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message; `None`: more bytes are needed. After an error the stream is of no use.
    #[expect(clippy::should_implement_trait, reason = "fallible, and the end is not the end for ever")]
    pub fn next(&mut self) -> Result<Option<ControlMessage>, DecodeError> {
        todo!()
    }
}
