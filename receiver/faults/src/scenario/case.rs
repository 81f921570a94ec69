//! Scenarios: conditions of the network and faults of the daemons.

use std::time::Duration;

use common::netsim::{NetConditions, Scenario};
use common::units::Bitrate;

use crate::relay::Passed;
use crate::scenario::fault::{Act, Fault};
use crate::scenario::measured::Measured;

const LINE_LENGTH_MIN: Duration = Duration::from_secs(45);

/// Path between the daemons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Through the relay.
    Relay,
    /// The sender dials the receiver.
    Direct,
    /// The receiver dials the sender.
    Reversed,
    /// The sender dials the receiver, each in a network namespace of its own.
    Spaces,
    /// A line of two network namespaces with a queue of the system's own, so that TCP can be in it, too.
    Line { rate: Bitrate, queue: Duration },
}

/// One scenario.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) route: Route,
    /// Conditions from the dialler to the listener.
    pub(crate) there: Scenario,
    pub(crate) back: Scenario,
    pub(crate) faults: Vec<(Duration, Fault)>,
    /// True if QUIC's usual controller must fail here: if it does not, the network was not bad.
    pub(crate) is_proof: bool,
    /// True if the check compares with [`CLEAN`].
    pub(crate) needs_clean: bool,
    /// Back end of both daemons, if it is not the one asked for.
    pub(crate) backend: Option<&'static str>,
    /// Source and rate, if they are not those asked for.
    pub(crate) stream: Option<(&'static str, &'static str)>,
    /// Returns the faults found, one sentence each.
    pub(crate) check: fn(&Measured) -> Vec<String>,
    /// Returns true if the network has done its part.
    pub(crate) fired: fn(&Passed) -> bool,
}

impl Case {
    /// Returns the duration of a run, at least `asked`: a TCP flow must find its share, and all faults must come.
    pub(crate) fn length(&self, asked: Duration) -> Duration {
        let least = if matches!(self.route, Route::Line { .. }) { LINE_LENGTH_MIN } else { Duration::ZERO };
        let last = self.faults.iter().map(|(at, _)| *at + Duration::from_secs(3)).max().unwrap_or_default();
        asked.max(least).max(last)
    }

    /// Returns true if OpenCL devices must obey the scenario.
    pub(crate) fn needs_layer(&self) -> bool {
        self.needs_drivers() || self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Device { .. }))
    }

    /// Returns true if drivers are taken away.
    pub(crate) fn needs_drivers(&self) -> bool {
        self.faults.iter().any(|(_, fault)| matches!(fault, Fault::RemoveDrivers))
    }

    /// Returns true if a hostile peer sends video of its own.
    pub(crate) fn has_other_pictures(&self) -> bool {
        self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Hostile { act: Act::Flood, .. }))
    }

    /// Returns true if the daemons run under a limit of memory.
    pub(crate) fn limits_memory(&self) -> bool {
        self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Hostile { act: Act::Abuse | Act::AbuseSender, .. }))
    }

    /// Returns true if the daemons' wall clocks are changed.
    pub(crate) fn needs_clock(&self) -> bool {
        self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Clock(_)))
    }
}

/// The scenario that others are compared with.
pub(crate) const CLEAN: &str = "clean";
/// Name of the run on this machine alone, whose latency is told in words.
pub(crate) const LOOPBACK: &str = "L1";

/// One way of a 50 ms round trip.
pub(crate) const FAR: NetConditions = NetConditions::perfect(Duration::from_millis(25));
