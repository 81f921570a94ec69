//! All that can happen to a call while it is measured.

use std::time::Duration;

use common::netsim::NetConditions;

use crate::attack::beside::Kind;
use crate::flood::Flood;
use crate::hostile::Act;
use crate::machine::device;

/// Something that happens to a daemon or its surroundings. What has a span is over after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// The daemon of this end is killed, and started again after [`RESTART`].
    Kill(usize),
    /// It is asked to end, and started again likewise.
    End(usize),
    /// The daemons of the ends that are true are stopped, as a busy computer stops them, then continued.
    Pause { ends: [bool; 2], span: Duration },
    /// As many programs as there are processors compute from now on, at normal priority.
    Busy,
    /// The router gives the dialler another port.
    Rebind,
    /// The sender's network card gets another address in place of its own.
    Move,
    /// The line is another one, both ways.
    Line { conditions: NetConditions, span: Duration },
    /// This many datagrams a second at the listener's port.
    Flood { kind: Flood, per_second: u32, span: Duration },
    /// Both daemons' wall clocks are off by this, as the program faketime takes it.
    Clock(&'static str),
    /// A program with one end's key takes its place; then the daemon is started again.
    Hostile { act: Act, span: Duration },
    /// A hostile peer of this kind acts beside the call.
    Beside { kind: &'static Kind, span: Duration },
    /// A bulk TCP flow begins in the same direction.
    Tcp,
    /// The OpenCL device of this end does this from now on.
    Device { end: usize, act: device::DeviceAct },
    /// All OpenCL drivers are taken away.
    RemoveDrivers,
    /// The receiver's threads but the network's and the main one share a fifth of a processor.
    Starve(Duration),
    /// The camera of this end gives no pictures.
    Stall { end: usize, span: Duration },
    /// Somebody sets this in the running program of this end.
    Set { end: usize, wish: &'static str },
}

impl Event {
    /// Returns how long it lasts, if not for good and not for a moment.
    pub(crate) fn span(&self) -> Option<Duration> {
        match *self {
            Self::Pause { span, .. }
            | Self::Line { span, .. }
            | Self::Flood { span, .. }
            | Self::Hostile { span, .. }
            | Self::Beside { span, .. }
            | Self::Starve(span)
            | Self::Stall { span, .. } => Some(span),
            _ => None,
        }
    }
}

/// Pause before a killed daemon runs again, as in the systemd units.
pub(crate) const RESTART: Duration = Duration::from_millis(200);
