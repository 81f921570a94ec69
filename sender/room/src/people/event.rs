//! Events, and how things stand.

use common::config::PublicKey;
use net::link::Obstacle;

use super::person::What;

/// A person in an event: the key, and the name in the file of people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The key of that person's machine.
    pub key: PublicKey,
    /// The name here.
    pub name: String,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody calls and waits for [`take`](super::People::take) or [`decline`](super::People::decline).
    Rings(Who),
    /// It rings no longer: the call is taken or declined, or (true) the caller has given up.
    RingEnded(Who, bool),
    /// A call begins: this side calls, or has taken one. The window of the call opens.
    Begins(Who),
    /// The call has ended, or did not come about.
    Ended(Who, Why),
    /// Somebody else has called during a call and was told that this side is busy.
    ToldBusy(Who),
    /// Somebody has called and was told that this side does not want to be disturbed.
    ToldNotToDisturb(Who),
    /// Presence, a name, the list or the state has changed: draw anew.
    Changed,
    /// Something went wrong that the owner must know, in words.
    Trouble(String),
    /// Another start of the program asks this one to show itself.
    Raise,
    /// Another start of the program was given this link.
    Linked(String),
}

/// Reason for the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// This side has hung up or given up.
    Here,
    /// The other side has hung up or given up.
    There,
    /// This side has removed the other.
    Removed,
    /// Something has kept the call from coming about, or ended it.
    Kept(What),
}

/// State of this side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No call: it listens.
    #[default]
    Home,
    /// This side calls, or what a call needs is being opened.
    Calling {
        /// The other person.
        who: Who,
        /// Time since when, milliseconds since 1970.
        since_ms: u64,
        /// True if it rings there.
        rings: bool,
        /// The obstacle between the two, as far as is known.
        why_not: Option<Obstacle>,
    },
    /// In a call.
    InCall {
        /// The other person.
        who: Who,
        /// Time since when, milliseconds since 1970.
        since_ms: u64,
        /// The obstacle between the two, while they are apart.
        why_not: Option<Obstacle>,
    },
    /// In a call with several at once, or calling them.
    InBand {
        /// All of them.
        who: Vec<Who>,
        /// Time since when, milliseconds since 1970.
        since_ms: u64,
    },
}
