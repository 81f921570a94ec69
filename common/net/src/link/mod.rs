//! The event loop of both programs: connections, redialled or awaited for ever, between streams and the network.
//!
//! A program implements [`Stream`] for each end of a stream, puts those that it has with a peer into [`Streams`], and gives them to
//! [`run`].

mod active;
mod busy;
mod dial;
mod door;
mod drive;
mod home;
mod meet;
mod obstacle;
mod path;
mod stream;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use common::config::{Controller, LinkMode, SharedConfig};
use common::path::ways::Kind;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::identity::Identity;
pub use crate::live_rate::LiveRate;
use crate::quic::EndpointOptions;
use crate::reach::Learning;
use crate::tls::Protocol;

pub use self::door::{AtDoor, Reply};
pub use self::drive::run;
pub use self::home::Home;
pub(crate) use self::meet::{TestWay, find_to_test};
pub use self::obstacle::Obstacle;
pub use self::path::PathInUse;
pub(crate) use self::path::Ways;
pub use self::stream::Stream;
pub use self::streams::{HangUp, Streams};

/// A stream's request to the loop. Queued control messages are sent first in every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// This stream has ended; with the last one, close and end well.
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

/// Time between two calls of [`Stream::on_tick`].
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
    /// Makes the loop call [`Stream::on_wake`] soon; several calls may become one.
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
    identity: Arc<Identity>,
    endpoint: EndpointOptions,
    /// Place where it is written down that the peer was found elsewhere than before.
    learning: Option<Learning>,
}

impl LinkOptions {
    /// Returns the options that the configuration says, with this machine's key and Duet's controller, for a connection one way or
    /// both, as the peer's must be. `rate` and `frame_bytes`: the video bit rate sent now and the largest coded frame, which size
    /// the congestion window; zero for a receiver.
    pub fn of(shared: &SharedConfig, protocol: Protocol, rate: LiveRate, frame_bytes: usize) -> Result<Self, Failure> {
        let identity = Arc::new(Identity::load(&Identity::path_of(shared)?)?);
        let endpoint = EndpointOptions::of(shared, &identity, protocol, rate, frame_bytes)?;
        Ok(Self { mode: shared.mode.clone(), identity, endpoint, learning: Learning::of(shared) })
    }

    /// Returns the same with another limit of the bytes in flight.
    pub fn with_controller(mut self, controller: Controller) -> Self {
        self.endpoint.controller = controller;
        self
    }
}
