//! The checked values that the programs run with.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use picture::backend::BackendChoice;
use picture::effects::Effects;
use picture::frame::{Chroma, FrameRate, FrameSize};
use picture::params::CodecParams;

use crate::path::ways::{Candidate, PLACES_MAX};
use crate::public_key::PublicKey;
use crate::stream::video::protection::Protection;
use crate::units::Bitrate;

/// Ports of a relay unless others are named: the first of those that systems leave free, and few, so that two machines can
/// find each other at the same relay.
pub(super) const TURN_PORTS: [u16; 2] = [49_152, 49_152 + PLACES_MAX - 1];

/// A sender's configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// The part that both daemons have.
    pub shared: SharedConfig,
    /// Size for a source that does not name its own.
    pub size: Option<FrameSize>,
    /// Frame rate for a source that does not name its own.
    pub frame_rate: Option<FrameRate>,
    /// Chroma sampling of the stream.
    pub chroma: Chroma,
    /// Transform and coefficient code.
    pub codec: CodecParams,
    /// Says if frames are coded from those that the receiver holds.
    pub prediction: Prediction,
    /// Most that the rate may be raised to during a call: `rate_max`, or twice the rate.
    pub rate_most: Bitrate,
    /// Highest video bit rate, `rate_max` applied.
    pub rate: Bitrate,
    /// True if frames are protected against loss.
    pub protection: Protection,
    /// The limit of the bytes in flight.
    pub controller: Controller,
    /// File or folder for the frames that are sent.
    pub record: Option<PathBuf>,
    /// Changes of pictures before they are coded.
    pub effects: Effects,
}

/// Use of prediction: frames coded from what the receiver holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prediction {
    /// Never.
    #[default]
    Off,
    /// Always.
    On,
    /// Those that the processor codes, where it is fast enough.
    Auto,
}

/// The limit of the bytes in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controller {
    /// The session's rate.
    #[default]
    Duet,
    /// QUIC's usual controller (RFC 9438), for comparison.
    Cubic,
}

/// The library that opens the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowBackend {
    /// winit; if it opens no window, minifb.
    #[default]
    Auto,
    /// On X11.
    Minifb,
    /// On Wayland or X11.
    Winit,
}

/// A receiver's configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The part that both daemons have.
    pub shared: SharedConfig,
    /// The library that opens the window.
    pub window: WindowBackend,
    /// True if the status line is shown at start.
    pub status_line: bool,
    /// Longest wait for the missing parts of a frame; `None`: three quarters of a frame interval.
    pub latency_max: Option<Duration>,
    /// Pictures of more pixels are refused.
    pub size_max: FrameSize,
    /// File with a line for each picture shown.
    pub pictures_file: Option<PathBuf>,
    /// File or folder for the frames that come.
    pub record: Option<PathBuf>,
}

/// The part that both daemons have.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedConfig {
    /// The back end that codes or decodes.
    pub backend: BackendChoice,
    /// Part of an OpenCL device's name.
    pub device: Option<String>,
    /// True if work-group shapes that were measured for the device are used.
    pub tuned: bool,
    /// End that dials.
    pub mode: LinkMode,
    /// Bytes asked for each of the socket's buffers.
    pub socket_buffer_bytes: usize,
    /// True if several datagrams may go out in one system call.
    pub gso: bool,
    /// Class of the packets (DSCP).
    pub dscp: Option<u8>,
    /// True if this machine sends and receives over one connection.
    pub share_port: bool,
    /// STUN servers, `HOST:PORT`.
    pub stun: Vec<String>,
    /// True if the router is asked to open a port.
    pub open_port: bool,
    /// Relays.
    pub turn: Turn,
    /// Mailbox server, `ws://HOST:PORT/PATH`.
    pub mailbox: Option<String>,
    /// Private key file; `None`: the default place.
    pub identity_file: Option<PathBuf>,
    /// The file that this is from, where the caller says so.
    pub file: Option<PathBuf>,
    /// Machines that may connect; a daemon does not run without one.
    pub peers: Vec<Peer>,
    /// Statistics file.
    pub stats_file: Option<PathBuf>,
    /// Address of the metrics page.
    pub metrics: Option<SocketAddr>,
}

/// Ways of making the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkMode {
    /// Connect to this `HOST:PORT`.
    Dial(String),
    /// Connect, but nobody has said whom to.
    DialNobody,
    /// Wait at this address.
    Listen(SocketAddr),
    /// Find this peer, wherever one of the two is behind a router.
    Meet(Box<Meet>),
}

/// Relays that pass packets on where there is no direct way (TURN).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// `HOST:PORT` of each; empty: there is none.
    pub servers: Vec<String>,
    /// Name that they know.
    pub user: String,
    /// Its password.
    pub password: Password,
    /// Ports at which they pass packets on.
    pub ports: RangeInclusive<u16>,
}

impl Default for Turn {
    fn default() -> Self {
        let ports = TURN_PORTS[0]..=TURN_PORTS[1];
        Self { servers: Vec::new(), user: String::new(), password: Password::default(), ports }
    }
}

/// A word that stays out of logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// A peer that was introduced, and how to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meet {
    /// The peer.
    pub peer: Peer,
    /// Addresses to try.
    pub candidates: Vec<Candidate>,
    /// The same as a `HOST:PORT` that a name server knows.
    pub host: Option<String>,
    /// This machine's UDP port, which the other side knows.
    pub port: u16,
    /// Relays, for where there is no direct way.
    pub turn: Turn,
    /// True if the router is asked to open the port.
    pub open_port: bool,
    /// True if both look for each other in the same house.
    pub house: bool,
    /// Mailbox server for notes, `ws://HOST:PORT/PATH`.
    pub mailbox: Option<String>,
    /// STUN servers that are asked for what a note has to say, `HOST:PORT`; none without a mailbox server.
    pub stun: Vec<String>,
    /// Others that were introduced, at ports of their own: they are told that this machine is in a call.
    pub others: Vec<Meet>,
}

impl LinkMode {
    /// Returns true if this side makes the connection.
    pub const fn dials(&self) -> bool {
        matches!(self, Self::Dial(_) | Self::DialNobody)
    }
}

/// A machine that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Name for messages.
    pub name: String,
    /// Its key.
    pub key: PublicKey,
}
