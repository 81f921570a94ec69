//! The two ends of a stream as state machines without a clock or a socket.
//!
//! The owner tells a session what happened (`on_*`, each with the time), then drains it: control messages
//! ([`SenderSession::poll_control`]), datagrams, events; then sleeps until `poll_timeout` or the next event and calls
//! `handle_timeout`.
//!
//! ```text
//! both: Hello   sender: Welcome   receiver: Ready   sender: media datagrams ..   either: Bye
//!                                                receiver: feedback datagrams ..
//! ```
//!
//! In a stream the sender may say Welcome again, to pictures of another size: no media until the next Ready.

mod arrival;
mod backlog;
mod budget;
mod jitter;
mod loss;
mod outbox;
mod overtaking;
mod pacer;
mod rate;
mod reason;
mod receiver;
mod reception;
mod sender;
mod sent;
mod sequence;
mod watch;

pub use loss::LossEstimate;
pub use reason::{Cause, Change, Queue, Reason, ReasonCounts};
pub use receiver::{ArrivedFrame, ReceiverCounters, ReceiverEvent, ReceiverOptions, ReceiverSession};
pub use sender::{FeedbackOutcome, FrameTimes, SenderCounters, SenderEvent, SenderSession};

use crate::wire::PROTOCOL_VERSION;
use crate::wire::control::{ControlMessage, StreamEnd};

/// The peer broke the protocol, or wants what this end does not give; the text is a sentence about it. The session has
/// queued a Bye that says so; send it, then close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolViolation(pub String);

impl ProtocolViolation {
    /// Returns the error of a peer that broke the protocol in this way.
    fn of(text: &str) -> Self {
        Self(format!("the peer broke the protocol: {text}"))
    }
}

fn hello(role: StreamEnd) -> ControlMessage {
    ControlMessage::Hello { version: PROTOCOL_VERSION, role }
}

/// Returns an error, as a sentence for both ends, unless the peer is `expected` and speaks our version.
fn check_hello(version: u16, role: StreamEnd, expected: StreamEnd) -> Result<(), String> {
    if version != PROTOCOL_VERSION {
        return Err(format!(
            "protocol versions {version} and {PROTOCOL_VERSION} do not understand each other: update the older program"
        ));
    }
    if role != expected {
        return Err(match role {
            StreamEnd::Sender => "both ends are senders: one must be a receiver".to_owned(),
            StreamEnd::Receiver => "both ends are receivers: one must be a sender".to_owned(),
        });
    }
    Ok(())
}
