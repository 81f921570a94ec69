//! One UDP socket for QUIC and for finding the path: STUN and TURN (RFC 7983, RFC 9443) and knocks.
//!
//! A dialler sends its handshake packets twice. If one were lost, QUIC would wait 90 ms for an answer, then twice as
//! long; if the last one were lost, half a second until the first control message goes again, for nothing is repeated
//! before the peer has confirmed the handshake (RFC 9002, section 6.2.1). QUIC drops duplicates. A listener does not do
//! this: it may send at most three times what an unproved address has sent (RFC 9000, section 8.1).
//!
//! The first byte and the source of a datagram tell its kind; with the fixed bit never greased, no QUIC packet looks
//! like another kind. Datagrams of none of these kinds are dropped before QUIC sees them.
//!
//! For QUIC, a peer that is reached through this machine's relay has an address of its own, which no packet from
//! outside can have; here it is exchanged for the relay's. Packets of others through the relay are dropped. During a call
//! its packets may take another way than QUIC knows ([`super::steered`]).
//!
//! Where the first port leads nowhere, a second socket at another port is tried beside it ([`Sending::open_other_port`]).
//! The first one stays open: it is the port that others have stored, that a service listens at and that a router may forward.
//! Peers that the second one reaches have addresses for QUIC as those behind a relay have, and like there only who has
//! knocked is heard.

mod kinds;
mod shared;
mod sorting;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::path::ways::{Base, Pair, canonical};
use quinn::AsyncUdpSocket;
use quinn::udp::Transmit;
use tokio::sync::mpsc;

pub(crate) use self::kinds::{KNOCK, PROBE};
use self::shared::{OpenAnother, Shared};
pub(crate) use self::sorting::Aside;
use self::sorting::Sorting;
use super::relay::Carrier;
use super::steered::Steered;
use super::unproved::Unproved;
use crate::lock::lock;
use crate::wait;

/// Datagrams that wait for whoever looks for a way; more are dropped, as the network does.
const WAITING_MAX: usize = 64;
/// Servers that may be asked.
const SERVERS_MAX: usize = 16;
/// The part of a socket that is not QUIC's: sends and receives STUN and knocks.
#[derive(Debug)]
pub(crate) struct Beside {
    sending: Sending,
    incoming: mpsc::Receiver<Aside>,
}

impl Beside {
    /// Takes STUN messages from `server` from now on; from nobody else.
    pub(crate) fn expect_from(&self, server: SocketAddr) {
        let mut servers = lock(&self.sending.0.servers);
        if servers.len() < SERVERS_MAX && !servers.contains(&server) {
            servers.push(server);
        }
    }

    /// Returns the half that sends.
    pub(crate) fn sending(&self) -> &Sending {
        &self.sending
    }

    /// Waits until the socket can send: a new one cannot before the system has said so.
    pub(crate) async fn writable(&self) {
        let mut poller = Arc::clone(&self.sending.0.inner).create_io_poller();
        // A socket that fails shows it when it receives.
        let _ = std::future::poll_fn(|cx| poller.as_mut().poll_writable(cx)).await;
    }

    /// Returns the next datagram that comes; for ever none once the endpoint has gone.
    pub(crate) async fn receive(&mut self) -> Aside {
        wait::item(&mut self.incoming).await
    }

    /// Forgets what waits.
    pub(crate) fn forget(&mut self) {
        while self.incoming.try_recv().is_ok() {}
    }
}

/// Sends datagrams that are not QUIC's.
#[derive(Clone, Debug)]
pub(crate) struct Sending(Arc<Shared>);

impl Sending {
    /// Returns true if the socket reaches that family of addresses.
    pub(crate) fn reaches(&self, address: SocketAddr) -> bool {
        address.is_ipv4() || self.0.is_ipv6
    }

    /// Sends a datagram, or drops it if the socket takes none now.
    pub(crate) fn send(&self, pair: impl Into<Pair>, bytes: &[u8]) {
        let pair @ Pair { to, .. } = pair.into();
        let transmit = Transmit { destination: to, ecn: None, contents: bytes, segment_size: None, src_ip: None };
        if let Err(error) = self.0.send(pair, &transmit, false) {
            tracing::trace!(%to, %error, "a datagram beside QUIC was not sent");
        }
    }

    /// Returns the handshakes whose packets are counted.
    pub(super) fn unproved(&self) -> &Arc<Unproved> {
        &self.0.unproved
    }

    /// Sets the relay from now on; none: there is no more.
    pub(crate) fn set_relay(&self, relay: Option<Arc<dyn Carrier>>) {
        *lock(&self.0.relay) = relay;
    }

    /// Returns the address that QUIC dials for `pair`. Where that does not begin at the first port, QUIC hears from there from
    /// now on.
    pub(crate) fn let_in(&self, pair: Pair) -> SocketAddr {
        lock(&self.0.aliases).let_in(pair)
    }

    /// Opens another port, in the place of such a one before; returns its number.
    pub(crate) fn open_other_port(&self) -> io::Result<u16> {
        let open = self.0.open_another.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let socket = open()?;
        let port = socket.local_addr()?.port();
        self.open_base(Base::OtherPort, socket);
        Ok(port)
    }

    /// Sends and receives at a further base from now on, in the place of such a one before.
    fn open_base(&self, base: Base, socket: Arc<dyn AsyncUdpSocket>) {
        Arc::make_mut(&mut lock(&self.0.others)).insert(base, socket);
        // QUIC waits for packets at the sockets of before.
        if let Some(waiting) = lock(&self.0.waiting).take() {
            waiting.wake();
        }
    }

    /// Begins a call with whoever has the `address` for QUIC: from now on its packets may take another way. An earlier call
    /// takes none any more.
    pub(crate) fn steer(&self, address: SocketAddr) {
        *lock(&self.0.steered) = Some(Steered::new(canonical(address), self.pair_of(address)));
    }

    /// Ends the call.
    pub(crate) fn end_call(&self) {
        *lock(&self.0.steered) = None;
    }

    /// Sends the call's packets on another way from now on; none: as QUIC says.
    pub(crate) fn take(&self, way: Option<Pair>) {
        if let Some(steered) = &mut *lock(&self.0.steered) {
            steered.take(way);
            self.0.moves.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the call's packets from there, too. `answered`: the peer has answered a question that went that way, so that it receives
    /// there, whoever can forge a source.
    pub(crate) fn prove(&self, way: Pair, answered: bool) {
        if let Some(steered) = &mut *lock(&self.0.steered) {
            steered.prove(way, answered);
        }
    }

    /// Returns true if the peer of the call of now has answered on that way.
    pub(crate) fn has_answered(&self, way: Pair) -> bool {
        lock(&self.0.steered).as_ref().is_some_and(|steered| steered.has_answered(way))
    }

    /// Returns how often packets have changed their way on this socket.
    pub(crate) fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    /// Returns the way that packets to QUIC's `address` take.
    pub(crate) fn in_use(&self, address: SocketAddr) -> Pair {
        let way = lock(&self.0.steered).as_ref().and_then(|steered| steered.way_to(canonical(address)));
        way.unwrap_or_else(|| self.pair_of(address))
    }

    /// Returns the way on which QUIC's `address` is.
    pub(crate) fn pair_of(&self, address: SocketAddr) -> Pair {
        let address = canonical(address);
        lock(&self.0.aliases).of(address).unwrap_or(address.into())
    }
}

/// Splits a socket of a dialler or a listener. `open_another`: opens one at another port, if that may be needed.
pub(super) fn split(
    inner: Arc<dyn AsyncUdpSocket>,
    dials: bool,
    open_another: Option<OpenAnother>,
) -> (Arc<Sorting>, Beside) {
    let (aside, incoming) = mpsc::channel(WAITING_MAX);
    let shared = Arc::new(Shared::new(inner, open_another));
    (Arc::new(Sorting { shared: Arc::clone(&shared), dials, aside }), Beside { sending: Sending(shared), incoming })
}

#[cfg(test)]
mod tests;
