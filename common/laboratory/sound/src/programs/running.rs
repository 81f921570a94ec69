//! A program between the probe's ports.

use faults::daemons::Daemon;
use faults::relay::Relay;

/// A program that runs between the probe's ports.
pub(crate) struct Running {
    /// The end that takes the probe's sound and the one that gives it, and what they need.
    pub(crate) ends: Vec<Daemon>,
    pub(crate) others: Vec<Daemon>,
    pub(crate) relay: Option<Relay>,
    /// The ports, as regular expressions.
    pub(crate) to: String,
    pub(crate) from: String,
}
