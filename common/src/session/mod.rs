//! The two ends of a stream as state machines without a clock or a socket.
//!
//! The owner tells a session what happened (`on_*`, each with the time), then drains it: control messages
//! ([`SenderSession::poll_control`]), datagrams, events; then sleeps until `poll_timeout` or the next happening and
//! calls `handle_timeout`.
//!
//! ```text
//! both: Hello   sender: Welcome   receiver: Ready   sender: datagrams ..   either: Bye
//! ```

mod receiver;
mod sender;

pub use receiver::{ArrivedFrame, ReceiverCounters, ReceiverEvent, ReceiverOptions, ReceiverSession};
pub use sender::{FrameTimes, SenderCounters, SenderEvent, SenderSession};

/// The peer broke the protocol. The session has queued a Bye that says so; send it, then close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer broke the protocol: {0}")]
pub struct ProtocolViolation(pub String);
