//! Faults of a daemon or its surroundings during a scenario.

use std::time::Duration;

use crate::machine::device;

/// Something that happens to a daemon or its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Killed, and started again after [`RESTART`].
    KillSender,
    KillReceiver,
    /// Stopped for this long, then continued.
    PauseReceiver(Duration),
    /// These programs are stopped for this long, as a busy computer stops them, then continued.
    Stall {
        sender: bool,
        receiver: bool,
        span: Duration,
    },
    /// As many programs as there are processors compute from now on, at normal priority.
    Busy,
    /// The router gives the dialler another port.
    Rebind,
    /// The sender's network card gets another address in place of its own.
    Move,
    /// This many datagrams a second at the listener's port for this long.
    Flood {
        kind: Flood,
        per_second: u32,
        span: Duration,
    },
    /// Both daemons' wall clocks are off by this, as the program faketime takes it.
    Clock(&'static str),
    /// A program with the sender's key takes its place for this long; then the sender is started again.
    Hostile {
        act: Act,
        span: Duration,
    },
    /// A bulk TCP flow begins in the same direction.
    Tcp,
    /// The OpenCL device of the sender (0) or the receiver (1) does this from now on.
    Device {
        end: usize,
        act: device::DeviceAct,
    },
    /// All OpenCL drivers are taken away.
    RemoveDrivers,
    /// The receiver's threads but the network's and the main one share a fifth of a processor for this long.
    StarveReceiver(Duration),
    /// The line is another for this long, as the scenarios of both ways say.
    Line(Duration),
}

/// Contents of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// 1200 random bytes.
    Junk,
    /// First packets of handshakes that end there, each of another connection.
    Initials,
}

/// Behaviour of a hostile peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends video and, between its datagrams, 10,000 others a second that are none.
    Flood,
    /// Breaks the protocol in every way, one connection after the other.
    Abuse,
    /// Breaks the protocol likewise, in the receiver's place.
    AbuseSender,
}

/// Pause before a killed daemon runs again, as in the systemd units.
pub(crate) const RESTART: Duration = Duration::from_millis(200);
