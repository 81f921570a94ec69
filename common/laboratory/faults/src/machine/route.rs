//! Paths between the daemons.

use std::time::Duration;

use common::units::Bitrate;

/// Path between the daemons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Through the relay.
    Relay,
    /// One dials the other.
    Direct,
    /// The sender dials the receiver, each in a network namespace of its own.
    Spaces,
    /// A line of two network namespaces with a queue of the system's own, so that TCP can be in it, too.
    Line { rate: Bitrate, queue: Duration },
}
