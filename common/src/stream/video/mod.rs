//! A stream of video: its two ends as state machines without a clock or a socket.
//!
//! The owner tells an end what happened (`on_*`, each with the time), with the path to its peer, then drains it: control messages,
//! datagrams, events; then sleeps until `poll_timeout` or the next event and calls `handle_timeout`.
//!
//! ```text
//! sender: Welcome   receiver: Ready   sender: media datagrams ..          either: Bye
//!                                     receiver: reports of states ..
//! ```
//!
//! In a stream the sender may say Welcome again, to pictures of another size: no media until the next Ready.

mod arrival;
mod backlog;
pub mod band;
mod budget;
mod jitter;
mod overtaking;
pub mod packetise;
pub mod prediction;
pub mod protection;
pub mod reassemble;
mod receiver;
mod sender;

pub use self::receiver::{ArrivedFrame, ReceiverCounters, ReceiverEvent, ReceiverOptions, VideoReceiver};
pub use self::sender::{FrameTimes, SenderCounters, SenderEvent, VideoSender};

use crate::path::Rank;

/// Number of the stream of a camera's pictures.
pub const VIDEO: u8 = 0;

/// Rank of pictures: they take what others leave.
const RANK: Rank = Rank(9);
