//! The event loop that both daemons turn: one connection, redialled or awaited for ever, between a session and
//! the network.
//!
//! A daemon implements [`Link`] over its session; [`run`] calls it. All calls come from one thread.

mod both;
mod dial;
mod drive;
pub(crate) mod gate;
mod live_rate;
mod meet;
mod obstacle;
mod others;
mod path;
mod runtime;

use std::sync::Arc;
use std::time::Duration;

use common::config::{Controller, LinkMode, Peer, SharedConfig};
use common::reach::Kind;
use common::session::ProtocolViolation;
use common::units::Timestamp;
use common::wire::control::{ControlMessage, StreamEnd};
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::identity::Identity;
use crate::quic::EndpointOptions;
use crate::reach::Learning;
use crate::tls::Protocol;

pub use self::both::{BothWays, HangUp, Onlooker};
pub(crate) use self::dial::ADDRESSES_MAX;
pub use self::drive::run;
pub use self::live_rate::LiveRate;
pub(crate) use self::meet::{TestWay, find_to_test};
pub use self::obstacle::Obstacle;
pub use self::path::PathInUse;
pub(crate) use self::path::Ways;
pub(crate) use self::runtime::on_the_network;

/// A daemon as the loop sees it: its session, and what becomes of what comes out.
pub trait Link {
    /// Takes the connection of a peer whose key is proved.
    fn on_connected(&mut self, peer: &Peer, max_datagram: usize, now: Timestamp);
    /// The connection is gone; another may come.
    fn on_disconnected(&mut self, now: Timestamp);
    /// Takes a control message; `speaker`: which end it comes from, as the peer says.
    fn on_control(
        &mut self,
        speaker: StreamEnd,
        message: ControlMessage,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation>;
    /// A datagram came: media at a receiver, feedback at a sender.
    fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) {
        let _ = (bytes, now);
    }
    /// Takes notice that packets take another way from now on; the connection is the same.
    fn on_path_changed(&mut self, now: Timestamp) {
        let _ = now;
    }
    /// Takes what a datagram can hold from now on, bytes: it changes with the path, and a larger one is not sent.
    fn on_max_datagram(&mut self, bytes: usize) {
        let _ = bytes;
    }
    /// Takes what keeps the other machine from being met, as far as is known, whenever that changes; none: nothing, or there is a
    /// connection.
    fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        let _ = obstacle;
    }
    /// Takes notice of another machine that has called meanwhile and was told that this one is in a call.
    fn on_called(&mut self, peer: &Peer) {
        let _ = peer;
    }
    /// Does what is due after [`Waker::wake`] was called on some thread.
    fn on_wake(&mut self, now: Timestamp);
    /// Called every [`TICK`], connected or not: for statistics and the watchdog.
    fn on_tick(&mut self, state: Option<LinkState>, now: Timestamp);
    /// Does what is due at the session's deadline.
    fn handle_timeout(&mut self, now: Timestamp);
    /// The process was asked to stop (SIGINT, SIGTERM): queue a goodbye.
    fn on_stop(&mut self, now: Timestamp);
    /// Returns the next control message to send, and as which end.
    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)>;
    /// The next datagram to send now.
    fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        let _ = now;
        None
    }
    /// Returns the longest time without any packet that means nothing; after it a dialler dials beside the old
    /// connection. Without a stream, that is a few times QUIC's keep-alive.
    fn silence_max(&self) -> Duration {
        IDLE_SILENCE
    }
    /// True if this daemon is for one stream and ends with it: one of so many frames, or from or to a file. Any other one
    /// waits for the next call, or goes on dialling, whatever its peer does.
    fn is_for_one_stream(&self) -> bool;
    /// Returns the time to call [`Link::handle_timeout`].
    fn poll_timeout(&self) -> Option<Timestamp>;
    /// Returns the next task of the loop. Called after everything else, until it gives `None`.
    fn poll_action(&mut self, now: Timestamp) -> Option<Action>;
}

/// A daemon's request to the loop. Queued control messages are sent first in every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Close and end well.
    End,
    /// Close and end with this failure.
    Fail(Failure),
    /// Close; dial or await again.
    Disconnect,
}

/// Figures of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Smoothed round trip.
    pub rtt: Duration,
    /// Times that this connection's path ceased to carry packets as large as before.
    pub black_holes: u64,
    /// The way that packets take.
    pub path: Kind,
}

/// Time between two calls of [`Link::on_tick`].
pub const TICK: Duration = Duration::from_millis(250);

/// The sentence of a program that shall dial when nobody has told it whom.
pub const NOBODY: &str = "there is nobody to call: give --to HOST, or an address in [network] or [[peer]]; to wait for a \
                          call instead, give --listen IP:PORT";

/// Longest normal silence where nothing but keep-alives goes.
pub const IDLE_SILENCE: Duration = Duration::from_millis(1500);

/// Returns the longest normal silence while a stream of a frame every `interval` runs, in which feedback reports and
/// video are answered at once.
pub fn streaming_silence(interval: Duration) -> Duration {
    3 * interval + Duration::from_millis(100)
}

/// Wakes the loop from any thread.
#[derive(Clone, Debug, Default)]
pub struct Waker(pub(crate) Arc<Notify>);

impl Waker {
    /// Makes the loop call [`Link::on_wake`] soon; several calls may become one.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

/// Options of the loop.
#[derive(Debug)]
pub struct LinkOptions {
    /// End that dials.
    mode: LinkMode,
    /// This machine's key.
    identity: Identity,
    endpoint: EndpointOptions,
    /// Place where it is written down that the peer was found elsewhere than before.
    learning: Option<Learning>,
}

impl LinkOptions {
    /// Returns the options that the configuration says, with this machine's key and Duet's controller, for a connection one way or
    /// both, as the peer's must be. `rate` and `frame_bytes`: the video bit rate sent now and the largest coded frame, which size
    /// the congestion window; zero for a receiver.
    pub fn of(shared: &SharedConfig, protocol: Protocol, rate: LiveRate, frame_bytes: usize) -> Result<Self, Failure> {
        let identity = Identity::load(&Identity::path_of(shared)?)?;
        let endpoint = EndpointOptions::of(shared, &identity, protocol, rate, frame_bytes)?;
        Ok(Self { mode: shared.mode.clone(), identity, endpoint, learning: Learning::of(shared) })
    }

    /// Returns the same with another limit of the bytes in flight.
    pub fn with_controller(mut self, controller: Controller) -> Self {
        self.endpoint.controller = controller;
        self
    }
}
