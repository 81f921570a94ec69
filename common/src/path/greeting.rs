//! The greeting of two machines.

use crate::wire::PROTOCOL_VERSION;

/// Directions in which a machine's streams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// It only sends.
    Sends,
    /// It only receives.
    Receives,
    /// It sends and receives, as its peer does.
    Both,
}

/// Returns an error, as a sentence for both ends, unless the peer speaks our version and takes what we send, or sends what we take.
pub(super) fn check_hello(version: u16, sends: bool, own: Directions) -> Result<(), String> {
    if version != PROTOCOL_VERSION {
        return Err(format!(
            "protocol versions {version} and {PROTOCOL_VERSION} do not understand each other: update the older program"
        ));
    }
    match (own, sends) {
        (Directions::Sends, true) => Err("both ends are senders: one must be a receiver".to_owned()),
        (Directions::Receives, false) => Err("both ends are receivers: one must be a sender".to_owned()),
        _ => Ok(()),
    }
}
