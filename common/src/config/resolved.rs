//! The checked values that the programs run with; those that are keys are described in the table of keys.

#![allow(missing_docs, reason = "the table of keys says what they are")]

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use picture::backend::BackendChoice;
use picture::effects::Effects;
use picture::frame::{Chroma, FrameRate, FrameSize};
use picture::params::CodecParams;
use sound::format::{Channels, Coding};

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
    pub size: Option<FrameSize>,
    pub frame_rate: Option<FrameRate>,
    pub chroma: Chroma,
    pub codec: CodecParams,
    pub prediction: Prediction,
    /// Most that the rate may be raised to during a call: `rate_max`, or twice the rate.
    pub rate_most: Bitrate,
    pub rate: Bitrate,
    /// Rate of another program's sound on the same line, as somebody has said, 0 where there is none; unset: it is found.
    pub beside: Option<Bitrate>,
    pub protection: Protection,
    pub controller: Controller,
    pub record: Option<PathBuf>,
    pub effects: Effects,
    /// The audience, if there is to be one.
    pub publish: Option<PublishConfig>,
}

/// An audience, checked as far as no relay is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishConfig {
    /// As it is written; who publishes reads it.
    pub url: Password,
    pub token: Password,
    pub title: String,
    pub names: Vec<String>,
    pub starts: String,
    pub cap: Bitrate,
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
    /// The rate of pictures.
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

/// The kind of file that a window keeps a picture in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotFile {
    /// PNG.
    #[default]
    Png,
    /// JPEG 2000 of Part 15 (HTJ2K), without loss.
    Jph,
}

/// A receiver's configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The part that both daemons have.
    pub shared: SharedConfig,
    pub window: WindowBackend,
    pub status_line: bool,
    pub snapshot: SnapshotFile,
    /// Longest wait for the missing parts of a frame; `None`: three quarters of a frame interval.
    pub latency_max: Option<Duration>,
    pub size_max: FrameSize,
    pub pictures_file: Option<PathBuf>,
    pub record: Option<PathBuf>,
}

/// The part that both daemons have.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedConfig {
    /// Name of this machine's owner, which others are told when they are introduced; empty: none.
    pub name: String,
    pub backend: BackendChoice,
    pub device: Option<String>,
    pub tuned: bool,
    /// End that dials.
    pub mode: LinkMode,
    pub socket_buffer_bytes: usize,
    pub gso: bool,
    pub dscp: Option<u8>,
    pub share_port: bool,
    /// STUN servers, `HOST:PORT`.
    pub stun: Vec<String>,
    pub open_port: bool,
    /// Relays.
    pub turn: Turn,
    pub mailbox: Option<String>,
    /// Nodes by which the DHT is entered, `HOST:PORT`; none: it is not used.
    pub dht: Vec<String>,
    pub identity_file: Option<PathBuf>,
    /// The file that this is from, where the caller says so.
    pub file: Option<PathBuf>,
    /// Machines that may connect; a daemon does not run without one.
    pub peers: Vec<Peer>,
    pub stats_file: Option<PathBuf>,
    pub metrics: Option<SocketAddr>,
    pub sound: SoundConfig,
}

/// Sound, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoundConfig {
    /// As it is written; the half that opens the card reads it.
    pub card: String,
    /// Samples of a packet: 64, 128 or 256.
    pub period: u16,
    pub channels: Channels,
    pub coding: SoundCoding,
    pub sync: Sync,
    pub practice_delay: bool,
}

/// Coding of the sound that is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoundCoding {
    /// PCM of 16 bits; Opus while the line bears too little.
    #[default]
    Auto,
    /// Always this.
    Always(Coding),
}

/// Relation of sound and picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Each as soon as it is there.
    #[default]
    Free,
    /// The sound waits for the picture.
    Picture,
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
    /// Nodes by which the DHT is entered, `HOST:PORT`; none: it is not used.
    pub dht: Vec<String>,
    /// STUN servers that are asked for what a note has to say, `HOST:PORT`; none without a mailbox server and the DHT.
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
