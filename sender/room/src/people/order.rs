//! Instructions and news for the one who listens and calls.

use calling::Handle;
use common::config::PublicKey;
use net::failure::Failure;
use net::link::AtDoor;

use super::person::Answer;

/// An instruction, or news for the thread.
pub(super) enum Order {
    /// All of them, at once.
    Call(Vec<PublicKey>),
    Take(PublicKey),
    Decline(PublicKey),
    HangUp,
    Answer(Answer),
    Reload,
    /// True: files still list it.
    Removed(PublicKey, bool),
    AtDoor(AtDoor),
    /// All that the call needs is open.
    Opened(Vec<Handle>),
    CallEnded(Result<(), Failure>),
    Close,
}
