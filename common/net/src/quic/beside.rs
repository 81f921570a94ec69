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

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use common::path::ways::{Base, KNOCK_BYTES, Pair, canonical};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::mpsc;

use super::relay::{Aliases, Carrier, Unwrapped};
use super::steered::{MARK, Steered, mark};
use super::unproved::Unproved;
use crate::lock::lock;
use crate::wait;

/// First byte of a knock: in a range that RFC 7983 leaves to nobody.
pub(crate) const KNOCK: u8 = 0x0d;
/// Bytes of a knock of the protocol before this one.
pub(crate) const OLD_KNOCK_BYTES: usize = 25;

/// First byte of a probe, a question or an answer of a call's other end: likewise.
pub(crate) const PROBE: u8 = 0x0f;
/// Bytes of the shortest and the longest probe.
const PROBE_BYTES_MIN: usize = 38;
const PROBE_BYTES_MAX: usize = 1500;

/// Datagrams that wait for whoever looks for a way; more are dropped, as the network does.
const WAITING_MAX: usize = 64;
/// Servers that may be asked.
const SERVERS_MAX: usize = 16;
/// Longest STUN message that is looked at.
const STUN_BYTES_MAX: usize = 548;

/// A datagram that is not QUIC's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) from: Pair,
    pub(crate) bytes: Vec<u8>,
}

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
    pub(crate) fn send(&self, route: impl Into<Pair>, bytes: &[u8]) {
        let Pair { to, base: via } = route.into();
        let contents = bytes;
        let transmit = Transmit { destination: to, ecn: None, contents, segment_size: None, src_ip: None };
        let sent = match via {
            Base::Port => self.0.send(to, &transmit),
            Base::OtherPort => self.0.send_from_other_port(to, &transmit),
            Base::Relay => self.0.send_through(to, &transmit, false),
        };
        if let Err(error) = sent {
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

    /// Returns the address that QUIC dials for `route`. Where that does not begin at the first port, QUIC hears from there from
    /// now on.
    pub(crate) fn let_in(&self, route: Pair) -> SocketAddr {
        lock(&self.0.aliases).let_in(route)
    }

    /// Opens another port, in the place of such a one before; returns its number.
    pub(crate) fn open_other_port(&self) -> io::Result<u16> {
        let open = self.0.open_another.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let socket = open()?;
        let port = socket.local_addr()?.port();
        *lock(&self.0.other) = Some(socket);
        // QUIC waits for packets at the sockets of before.
        if let Some(waiting) = lock(&self.0.waiting).take() {
            waiting.wake();
        }
        Ok(port)
    }

    /// Begins a call with whoever has the `address` for QUIC: from now on its packets may take another way. An earlier call
    /// takes none any more.
    pub(crate) fn steer(&self, address: SocketAddr) {
        *lock(&self.0.steered) = Some(Steered::new(canonical(address), self.route_of(address)));
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

    /// Takes the call's packets from there, too.
    pub(crate) fn prove(&self, way: Pair) {
        if let Some(steered) = &mut *lock(&self.0.steered) {
            steered.prove(way);
        }
    }

    /// The peer has answered a question that went that way: it receives there, whoever can forge a source.
    pub(crate) fn answered(&self, way: Pair) {
        if let Some(steered) = &mut *lock(&self.0.steered) {
            steered.answered(way);
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
        way.unwrap_or_else(|| self.route_of(address))
    }

    /// Returns the way on which QUIC's `address` is.
    pub(crate) fn route_of(&self, address: SocketAddr) -> Pair {
        let address = canonical(address);
        lock(&self.0.aliases).of(address).unwrap_or(address.into())
    }
}

/// Opens a socket at any other port.
pub(super) type OpenAnother = Box<dyn Fn() -> io::Result<Arc<dyn AsyncUdpSocket>> + Send + Sync>;

struct Shared {
    inner: Arc<dyn AsyncUdpSocket>,
    open_another: Option<OpenAnother>,
    /// The socket at another port.
    other: Mutex<Option<Arc<dyn AsyncUdpSocket>>>,
    /// Whoever waits for packets.
    waiting: Mutex<Option<Waker>>,
    /// True if the other socket is the next to be looked at, so that neither keeps the other from being heard.
    other_first: AtomicBool,
    is_ipv6: bool,
    servers: Mutex<Vec<SocketAddr>>,
    relay: Mutex<Option<Arc<dyn Carrier>>>,
    aliases: Mutex<Aliases>,
    /// The call of now.
    steered: Mutex<Option<Steered>>,
    moves: AtomicU64,
    /// Handshakes in which nothing has been proved.
    unproved: Arc<Unproved>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("inner", &self.inner).field("other", &self.other).finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the address as this socket writes it.
    fn written(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_ipv6 => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
            _ => address,
        }
    }

    fn send(&self, to: SocketAddr, transmit: &Transmit<'_>) -> io::Result<()> {
        let Transmit { ecn, contents, segment_size, src_ip, .. } = *transmit;
        self.inner.try_send(&Transmit { destination: self.written(to), ecn, contents, segment_size, src_ip })
    }

    /// Sends it from the other port. Where there is none, it is lost.
    fn send_from_other_port(&self, to: SocketAddr, transmit: &Transmit<'_>) -> io::Result<()> {
        let Some(other) = lock(&self.other).clone() else { return Ok(()) };
        let Transmit { ecn, contents, segment_size, src_ip, .. } = *transmit;
        other.try_send(&Transmit { destination: self.written(to), ecn, contents, segment_size, src_ip })
    }

    /// Sends it to `to` through the relay. Where that passes nothing on, it is lost.
    fn send_through(&self, to: SocketAddr, transmit: &Transmit<'_>, lasting: bool) -> io::Result<()> {
        let Some(relay) = lock(&self.relay).clone() else { return Ok(()) };
        let segment = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        let mut packets = Vec::with_capacity(transmit.contents.len() + 256);
        let mut first = 0;
        for datagram in transmit.contents.chunks(segment) {
            if !relay.wrap(to, datagram, lasting, &mut packets) {
                return Ok(());
            }
            if first == 0 {
                first = packets.len();
            }
        }
        let segment_size = transmit.segment_size.map(|_| first);
        let destination = relay.server();
        self.send(destination, &Transmit { destination, ecn: None, contents: &packets, segment_size, src_ip: None })
    }
}

/// Packets before the end of a handshake have a long header (RFC 9000, section 17.2), and this bit.
const LONG_HEADER: u8 = 0x80;

/// The socket as QUIC sees it.
#[derive(Debug)]
pub(super) struct Sorting {
    shared: Arc<Shared>,
    dials: bool,
    aside: mpsc::Sender<Aside>,
}

/// Splits a socket of a dialler or a listener. `open_another`: opens one at another port, if that may be needed.
pub(super) fn split(
    inner: Arc<dyn AsyncUdpSocket>,
    dials: bool,
    open_another: Option<OpenAnother>,
) -> (Arc<Sorting>, Beside) {
    let (aside, incoming) = mpsc::channel(WAITING_MAX);
    let is_ipv6 = inner.local_addr().is_ok_and(|address| address.is_ipv6());
    let shared = Arc::new(Shared {
        inner,
        open_another,
        other: Mutex::default(),
        waiting: Mutex::default(),
        other_first: AtomicBool::new(false),
        is_ipv6,
        servers: Mutex::default(),
        relay: Mutex::default(),
        aliases: Mutex::default(),
        steered: Mutex::default(),
        moves: AtomicU64::new(0),
        unproved: Arc::default(),
    });
    (Arc::new(Sorting { shared: Arc::clone(&shared), dials, aside }), Beside { sending: Sending(shared), incoming })
}

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Quic,
    /// QUIC's, on another way than QUIC knows.
    Marked,
    Aside,
    Junk,
}

/// Tells what a datagram is; `expected`: whether a STUN server's answer may come from its source.
fn sort(datagram: &[u8], expected: impl FnOnce() -> bool) -> Sort {
    match datagram.first() {
        Some(0..=3) if datagram.len() <= STUN_BYTES_MAX && expected() => Sort::Aside,
        Some(&KNOCK) if [KNOCK_BYTES, OLD_KNOCK_BYTES].contains(&datagram.len()) => Sort::Aside,
        Some(&PROBE) if (PROBE_BYTES_MIN..=PROBE_BYTES_MAX).contains(&datagram.len()) => Sort::Aside,
        // No handshake changes its way.
        Some(&MARK) if datagram.get(1).is_some_and(|first| (64..LONG_HEADER).contains(first)) => Sort::Marked,
        Some(64..) => Sort::Quic,
        _ => Sort::Junk,
    }
}

impl Sorting {
    /// Takes out of a buffer what is not QUIC's. A buffer holds datagrams of one length, but for a shorter last one. `via`: the
    /// port at which it came.
    fn take(&self, via: Base, buffer: &mut [u8], meta: &mut RecvMeta) {
        let from = Pair { to: canonical(meta.addr), base: via };
        if via == Base::OtherPort {
            return match buffer.first() {
                Some(&MARK) => self.take_marked(buffer, meta, from),
                _ => self.take_at_other_port(buffer, meta, from),
            };
        }
        let from = from.to;
        let relay = lock(&self.shared.relay).clone().filter(|relay| relay.server() == from);
        match relay {
            None if buffer.first() == Some(&MARK) => self.take_marked(buffer, meta, from.into()),
            None => self.take_direct(buffer, meta, from.into()),
            Some(relay) => self.take_relayed(buffer, meta, &*relay),
        }
    }

    /// Tells what comes at the other port: it is QUIC's if it comes from who was let in.
    fn take_at_other_port(&self, buffer: &[u8], meta: &mut RecvMeta, from: Pair) {
        self.take_direct(buffer, meta, from);
        let known = lock(&self.shared.aliases).address_of(from);
        match known {
            Some(known) => meta.addr = self.shared.written(known),
            None => meta.len = 0,
        }
    }

    fn take_direct(&self, buffer: &[u8], meta: &mut RecvMeta, from: Pair) {
        let bytes = &buffer[..meta.len.min(buffer.len())];
        let mut has_quic = false;
        for datagram in bytes.chunks(meta.stride.max(1)) {
            match sort(datagram, || lock(&self.shared.servers).contains(&from.to)) {
                Sort::Quic => has_quic = true,
                Sort::Aside => self.lay_aside(from, datagram),
                Sort::Marked | Sort::Junk => {}
            }
        }
        // Among packets of QUIC others may stay: QUIC drops what lacks its fixed bit.
        if !has_quic {
            meta.len = 0;
        }
    }

    /// Does the same where marked packets came directly: without their marks they stay, if they are of the call.
    fn take_marked(&self, buffer: &mut [u8], meta: &mut RecvMeta, from: Pair) {
        let base = lock(&self.shared.steered).as_mut().and_then(|steered| steered.base_of(from));
        let (len, stride) = (meta.len.min(buffer.len()), meta.stride.max(1));
        let mut kept = 0;
        for begin in (0..len).step_by(stride) {
            let end = (begin + stride).min(len);
            match sort(&buffer[begin..end], || false) {
                Sort::Marked if base.is_some() => {
                    buffer.copy_within(begin + 1..end, kept);
                    kept += end - begin - 1;
                }
                Sort::Aside => self.lay_aside(from, &buffer[begin..end]),
                Sort::Marked | Sort::Quic | Sort::Junk => {}
            }
        }
        (meta.len, meta.stride) = (kept, stride - 1);
        if let Some(base) = base {
            meta.addr = self.shared.written(base);
        }
    }

    /// Does the same for what the relay's server sends: the buffer keeps what the server has passed on to QUIC. Where
    /// packets of several peers lie in one buffer, those of the first stay.
    fn take_relayed(&self, buffer: &mut [u8], meta: &mut RecvMeta, relay: &dyn Carrier) {
        let (mut quic, mut source, mut stride) = (Vec::new(), None, 0);
        for packet in buffer[..meta.len.min(buffer.len())].chunks(meta.stride.max(1)) {
            let (peer, mut datagram) = match relay.unwrap(packet) {
                Unwrapped::From(peer, datagram) => (peer, datagram),
                Unwrapped::Other
                    if sort(packet, || lock(&self.shared.servers).contains(&relay.server())) == Sort::Aside =>
                {
                    self.lay_aside(relay.server().into(), packet);
                    continue;
                }
                Unwrapped::Handled | Unwrapped::Other => continue,
            };
            let route = Pair { to: peer, base: Base::Relay };
            match sort(&datagram, || false) {
                kind @ (Sort::Quic | Sort::Marked) => {
                    let known = if kind == Sort::Quic {
                        lock(&self.shared.aliases).address_of(route)
                    } else {
                        datagram.remove(0);
                        lock(&self.shared.steered).as_mut().and_then(|steered| steered.base_of(route))
                    };
                    let is_first = known.is_some() && source.is_none();
                    if is_first {
                        (source, stride) = (known, datagram.len());
                    }
                    // Of one length, but for a last one that is shorter.
                    let fits = quic.len() % stride.max(1) == 0 && datagram.len() <= stride;
                    if known.is_some() && known == source && fits {
                        quic.extend(datagram);
                    }
                }
                Sort::Aside => self.lay_aside(route, &datagram),
                Sort::Junk => {}
            }
        }
        meta.len = 0;
        if let Some(source) = source {
            buffer[..quic.len()].copy_from_slice(&quic);
            (meta.addr, meta.len) = (self.shared.written(source), quic.len());
            (meta.stride, meta.ecn) = (stride, None);
        }
    }

    /// Keeps a datagram for its reader; where there is none or too many wait, it is lost.
    fn lay_aside(&self, from: Pair, datagram: &[u8]) {
        let _ = self.aside.try_send(Aside { from, bytes: datagram.to_vec() });
    }

    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let destination = canonical(transmit.destination);
        let way = lock(&self.shared.steered).as_ref().and_then(|steered| steered.way_to(destination));
        if let Some(way) = way {
            return self.send_marked(way, transmit);
        }
        let way = lock(&self.shared.aliases).of(destination);
        match way {
            Some(Pair { to, base: Base::Relay }) => self.shared.send_through(to, transmit, true),
            Some(Pair { to, .. }) => self.shared.send_from_other_port(to, transmit),
            None => self.shared.inner.try_send(transmit),
        }
    }

    /// Sends on another way than QUIC knows.
    fn send_marked(&self, way: Pair, transmit: &Transmit<'_>) -> io::Result<()> {
        let contents = mark(transmit.contents, transmit.segment_size.unwrap_or(transmit.contents.len()));
        let segment_size = transmit.segment_size.map(|segment| segment + 1);
        // The interface of the way that QUIC knows may be another one.
        let marked =
            Transmit { destination: way.to, ecn: transmit.ecn, contents: &contents, segment_size, src_ip: None };
        let sent = match way.base {
            Base::Port => self.shared.send(way.to, &marked),
            Base::OtherPort => self.shared.send_from_other_port(way.to, &marked),
            Base::Relay => self.shared.send_through(way.to, &marked, true),
        };
        match sent {
            // A way that is gone loses packets; it does not end the connection.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Ok(()),
            sent => sent,
        }
    }
}

type Poller = Pin<Box<dyn UdpPoller>>;

/// Waits until both sockets can send: whoever waits does not say for which packet.
#[derive(Debug)]
struct BothWritable {
    shared: Arc<Shared>,
    first: Poller,
    /// The other socket, as of the last look.
    other: Option<(Arc<dyn AsyncUdpSocket>, Poller)>,
}

impl UdpPoller for BothWritable {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.first.as_mut().poll_writable(cx))?;
        let Some(other) = lock(&this.shared.other).clone() else { return Poll::Ready(Ok(())) };
        let is_known = this.other.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, &other));
        if !is_known {
            this.other = Some((Arc::clone(&other), other.create_io_poller()));
        }
        match &mut this.other {
            Some((_, poller)) => poller.as_mut().poll_writable(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncUdpSocket for Sorting {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let first = Arc::clone(&self.shared.inner).create_io_poller();
        Box::pin(BothWritable { shared: Arc::clone(&self.shared), first, other: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let is_handshake = transmit.contents.first().is_some_and(|first| first & LONG_HEADER != 0);
        if is_handshake && !self.shared.unproved.lets_out(transmit.contents) {
            return Ok(());
        }
        self.send(transmit)?;
        if self.dials && is_handshake && self.shared.unproved.lets_out(transmit.contents) {
            // Without room the first one must do.
            let _ = self.send(transmit);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        // Before the look, so that a socket that comes meanwhile is seen or wakes.
        match &mut *lock(&self.shared.waiting) {
            Some(waiting) => waiting.clone_from(cx.waker()),
            nobody => *nobody = Some(cx.waker().clone()),
        }
        let other = lock(&self.shared.other).clone();
        let other_first = other.is_some() && self.shared.other_first.fetch_xor(true, Ordering::Relaxed);
        let ports = if other_first { [Base::OtherPort, Base::Port] } else { [Base::Port, Base::OtherPort] };
        for via in ports {
            let polled = match (via, &other) {
                (Base::OtherPort, None) => continue,
                (Base::OtherPort, Some(other)) => match other.poll_recv(cx, bufs, meta) {
                    // One that fails is none; the first one goes on.
                    Poll::Ready(Err(error)) => {
                        tracing::debug!(%error, "the other port is closed");
                        lock(&self.shared.other).take_if(|known| Arc::ptr_eq(known, other));
                        continue;
                    }
                    polled => polled,
                },
                _ => self.shared.inner.poll_recv(cx, bufs, meta),
            };
            if let Poll::Ready(received) = polled {
                let count = received?;
                for (buffer, meta) in bufs.iter_mut().zip(meta).take(count) {
                    self.take(via, buffer, meta);
                }
                return Poll::Ready(Ok(count));
            }
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.shared.inner.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.shared.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.shared.inner.max_receive_segments()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn a_datagram_is_what_its_first_byte_and_its_source_tell() {
        let knock = [KNOCK; KNOCK_BYTES];
        assert_eq!(sort(&knock, || false), Sort::Aside);
        assert_eq!(sort(&knock[..OLD_KNOCK_BYTES], || false), Sort::Aside, "of the protocol before this one");
        assert_eq!(sort(&knock[1..], || true), Sort::Junk, "of another length");
        for first in 0..=3 {
            assert_eq!(sort(&[first, 1], || true), Sort::Aside);
            assert_eq!(sort(&[first, 1], || false), Sort::Junk, "of a stranger");
            assert_eq!(sort(&[first; 1200], || true), Sort::Junk, "longer than an answer");
        }
        for first in [4, 12, 14, 20, 63] {
            assert_eq!(sort(&[first; KNOCK_BYTES], || true), Sort::Junk);
        }
        for first in [64, 127, 192, 255] {
            assert_eq!(sort(&[first; 1200], || true), Sort::Quic);
        }
        assert_eq!(sort(&[], || true), Sort::Junk);
    }

    /// Keeps what is sent.
    #[derive(Debug, Default)]
    struct Sent(Mutex<Vec<Vec<u8>>>);

    impl AsyncUdpSocket for Sent {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            unimplemented!()
        }

        fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
            self.0.lock().unwrap().push(transmit.contents.to_vec());
            Ok(())
        }

        fn poll_recv(
            &self,
            _: &mut Context<'_>,
            _: &mut [IoSliceMut<'_>],
            _: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(([127, 0, 0, 1], 8).into())
        }
    }

    #[test]
    fn a_diallers_handshake_leaves_twice_and_all_else_once() {
        let sent = Arc::new(Sent::default());
        for (dials, contents) in
            [(true, [0xc0, 1]), (true, [0xe0, 2]), (true, [0x40, 3]), (true, [0x5f, 4]), (false, [0xc0, 5])]
        {
            let destination = ([127, 0, 0, 1], 9).into();
            let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: None, src_ip: None };
            let (socket, _beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, dials, None);
            socket.try_send(&transmit).unwrap();
        }
        let numbers: Vec<_> = sent.0.lock().unwrap().iter().map(|contents| contents[1]).collect();
        assert_eq!(numbers, [1, 1, 2, 2, 3, 4, 5]);
    }

    /// A relay that marks its packets with a byte and the peer's port.
    #[derive(Debug)]
    struct Marks;

    impl Carrier for Marks {
        fn server(&self) -> SocketAddr {
            ([198, 51, 100, 9], 3478).into()
        }

        fn wrap(&self, to: SocketAddr, datagram: &[u8], _: bool, out: &mut Vec<u8>) -> bool {
            out.extend([64, to.port() as u8]);
            out.extend(datagram);
            true
        }

        fn unwrap(&self, packet: &[u8]) -> Unwrapped {
            match packet {
                [64, port, datagram @ ..] => Unwrapped::From(peer(*port), datagram.to_vec()),
                [0, ..] => Unwrapped::Handled,
                _ => Unwrapped::Other,
            }
        }
    }

    fn peer(port: u8) -> SocketAddr {
        ([203, 0, 113, 5], u16::from(port)).into()
    }

    #[test]
    fn a_calls_packets_take_another_way_marked_and_come_from_where_quic_has_the_peer() {
        let sent = Arc::new(Sent::default());
        let (socket, mut beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, false, None);
        beside.sending().set_relay(Some(Arc::new(Marks)));
        let base = beside.sending().let_in(Pair { to: peer(7), base: Base::Relay });
        let send = |destination| {
            let contents = [64, 1, 64, 2];
            let transmit =
                Transmit { destination, ecn: None, contents: &contents, segment_size: Some(2), src_ip: None };
            socket.try_send(&transmit).unwrap();
            std::mem::take(&mut *sent.0.lock().unwrap())
        };
        beside.sending().steer(base);
        assert_eq!(send(base), [vec![64, 7, 64, 1, 64, 7, 64, 2]], "as before");
        beside.sending().take(Some(peer(7).into()));
        assert_eq!((beside.sending().in_use(base), beside.sending().moves()), (peer(7).into(), 1));
        assert_eq!(send(base), [vec![MARK, 64, 1, MARK, 64, 2]]);
        assert_eq!(send(peer(7)), [vec![64, 1, 64, 2]], "a new connection over the same way");
        beside.sending().take(Some(Pair { to: peer(9), base: Base::Relay }));
        assert_eq!(send(base), [vec![64, 9, MARK, 64, 1, 64, 9, MARK, 64, 2]]);

        let take = |packets: &[&[u8]], from: SocketAddr| {
            let mut buffer = packets.concat();
            let mut meta =
                RecvMeta { addr: from, len: buffer.len(), stride: packets[0].len(), ecn: None, dst_ip: None };
            socket.take(Base::Port, &mut buffer, &mut meta);
            (buffer[..meta.len].to_vec(), meta.stride, meta.addr)
        };
        let (first, last): (&[u8], &[u8]) = (&[MARK, 64, 1, 2], &[MARK, 65]);
        assert!(take(&[first, last], peer(7)).0.is_empty(), "nothing has proved that the peer is there");
        beside.sending().prove(peer(7).into());
        assert_eq!(take(&[first, first, last], peer(7)), (vec![64, 1, 2, 64, 1, 2, 65], 3, base));
        assert_eq!(take(&[&[64, 1, 2]], peer(7)).2, peer(7), "a new connection over the same way");
        assert!(take(&[&[MARK, 0xc0, 1, 2]], peer(7)).0.is_empty(), "a handshake");
        // Behind the last of several packets a probe may lie.
        let (long, probe) = ([[MARK].as_slice(), &[64; PROBE_BYTES_MIN]].concat(), [PROBE; PROBE_BYTES_MIN]);
        assert_eq!(take(&[&long, &probe], peer(7)).0, [64; PROBE_BYTES_MIN]);
        assert_eq!(beside.incoming.try_recv().unwrap().bytes, probe);
        let through = [&[64, 9], first].concat();
        assert!(take(&[&through], Marks.server()).0.is_empty());
        beside.sending().prove(Pair { to: peer(9), base: Base::Relay });
        assert_eq!(take(&[&through], Marks.server()), (vec![64, 1, 2], 3, base));
        beside.sending().end_call();
        assert!(take(&[first], peer(7)).0.is_empty());
    }

    #[test]
    fn quic_hears_at_the_other_port_only_who_was_let_in_and_everybody_at_the_first() {
        let sent = Arc::new(Sent::default());
        let another = Arc::clone(&sent);
        let open = Box::new(move || Ok(Arc::clone(&another) as Arc<dyn AsyncUdpSocket>));
        let (socket, mut beside) = split(Arc::new(Sent::default()), false, Some(open));
        let take = |via, packet: &[u8]| {
            let mut buffer = packet.to_vec();
            let mut meta = RecvMeta { addr: peer(7), len: buffer.len(), stride: buffer.len(), ecn: None, dst_ip: None };
            socket.take(via, &mut buffer, &mut meta);
            (meta.len, meta.addr)
        };
        let way = Pair { to: peer(7), base: Base::OtherPort };
        assert_eq!(take(Base::Port, &[64, 1]), (2, peer(7)));
        assert_eq!(take(Base::OtherPort, &[64, 1]).0, 0, "a stranger");
        assert_eq!(take(Base::OtherPort, &[KNOCK; KNOCK_BYTES]).0, 0);
        assert_eq!(beside.incoming.try_recv(), Ok(Aside { from: way, bytes: vec![KNOCK; KNOCK_BYTES] }));
        let address = beside.sending().let_in(way);
        assert_eq!((take(Base::OtherPort, &[64, 1]), take(Base::Port, &[64, 1])), ((2, address), (2, peer(7))));
        assert_eq!(take(Base::OtherPort, &[20, 1]).0, 0, "junk");

        let transmit =
            Transmit { destination: address, ecn: None, contents: &[64, 1], segment_size: None, src_ip: None };
        socket.try_send(&transmit).unwrap();
        assert!(sent.0.lock().unwrap().is_empty(), "there is no other port");
        assert_eq!(beside.sending().open_other_port().unwrap(), 8);
        socket.try_send(&transmit).unwrap();
        beside.sending().send(way, &[1]);
        assert_eq!(*sent.0.lock().unwrap(), [vec![64, 1], vec![1]]);
        // A call's packets, marked.
        beside.sending().steer(peer(9));
        beside.sending().prove(way);
        beside.sending().take(Some(way));
        socket.try_send(&Transmit { destination: peer(9), ..transmit }).unwrap();
        assert_eq!(sent.0.lock().unwrap()[2], [MARK, 64, 1]);
        assert_eq!(take(Base::OtherPort, &[MARK, 64, 1]), (2, peer(9)));
        assert_eq!(take(Base::Port, &[MARK, 64, 1]).0, 0, "not proved there");
    }

    /// Gives what it holds, and then nothing.
    #[derive(Debug, Default)]
    struct Holds(Mutex<VecDeque<io::Result<[u8; 2]>>>);

    impl Holds {
        fn put(&self, datagrams: impl IntoIterator<Item = io::Result<[u8; 2]>>) {
            self.0.lock().unwrap().extend(datagrams);
        }
    }

    impl AsyncUdpSocket for Holds {
        fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
            unimplemented!()
        }

        fn try_send(&self, _: &Transmit<'_>) -> io::Result<()> {
            unimplemented!()
        }

        fn poll_recv(
            &self,
            _: &mut Context<'_>,
            bufs: &mut [IoSliceMut<'_>],
            meta: &mut [RecvMeta],
        ) -> Poll<io::Result<usize>> {
            let Some(datagram) = self.0.lock().unwrap().pop_front() else { return Poll::Pending };
            Poll::Ready(datagram.map(|bytes| {
                bufs[0][..2].copy_from_slice(&bytes);
                meta[0] = RecvMeta { addr: peer(7), len: 2, stride: 2, ..RecvMeta::default() };
                1
            }))
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(([127, 0, 0, 1], 8).into())
        }
    }

    #[derive(Default)]
    struct Wakes(AtomicU64);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn both_ports_are_heard_from_the_start_whichever_has_more_and_one_that_fails_is_closed() {
        let [first, other] = [(); 2].map(|()| Arc::new(Holds::default()));
        let another = Arc::clone(&other);
        let open = Box::new(move || Ok(Arc::clone(&another) as Arc<dyn AsyncUdpSocket>));
        let (socket, beside) = split(Arc::clone(&first) as Arc<dyn AsyncUdpSocket>, false, Some(open));
        let at_other = beside.sending().let_in(Pair { to: peer(7), base: Base::OtherPort });
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        // Where QUIC sees the next packet come from; none: it waits.
        let next = || {
            let (mut buffer, mut meta) = ([0; 2], [RecvMeta::default()]);
            let polled =
                socket.poll_recv(&mut Context::from_waker(&waker), &mut [IoSliceMut::new(&mut buffer)], &mut meta);
            polled.map(|count| assert_eq!(count.unwrap(), 1)).is_ready().then_some(meta[0].addr)
        };
        other.put([Ok([64, 1])]);
        assert_eq!((next(), wakes.0.load(Ordering::Relaxed)), (None, 0));
        beside.sending().open_other_port().unwrap();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "who waits looks at the new one as well");
        assert_eq!(next(), Some(at_other));

        for port in [&first, &other] {
            port.put([(); 9].map(|()| Ok([64, 1])));
        }
        let heard = [(); 6].map(|()| next().unwrap());
        assert_eq!([peer(7), at_other].map(|from| heard.iter().filter(|&&one| one == from).count()), [3, 3]);
        while next().is_some() {}

        other.put([Err(io::ErrorKind::Other.into()), Ok([64, 1])]);
        assert_eq!([next(), next()], [None, None], "it is not looked at any more");
        first.put([Ok([64, 1])]);
        assert_eq!(next(), Some(peer(7)));
    }

    #[test]
    fn what_goes_to_a_peer_behind_the_relay_is_wrapped_each_for_itself() {
        let sent = Arc::new(Sent::default());
        let (socket, beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, false, None);
        let route = Pair { to: peer(7), base: Base::Relay };
        let destination = beside.sending().let_in(route);
        assert_eq!(destination, beside.sending().let_in(route), "one address for each");
        assert_eq!(beside.sending().route_of(destination), route);
        assert_eq!(beside.sending().route_of(peer(7)), peer(7).into());
        let contents = [1, 1, 1, 2, 2];
        let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: Some(3), src_ip: None };
        socket.try_send(&transmit).unwrap();
        assert!(sent.0.lock().unwrap().is_empty(), "there is no relay");
        beside.sending().set_relay(Some(Arc::new(Marks)));
        socket.try_send(&transmit).unwrap();
        assert_eq!(*sent.0.lock().unwrap(), [vec![64, 7, 1, 1, 1, 64, 7, 2, 2]]);
    }

    #[test]
    fn quic_hears_through_the_relay_only_who_was_let_in() {
        let (socket, mut beside) = split(Arc::new(Sent::default()), false, None);
        beside.sending().set_relay(Some(Arc::new(Marks)));
        let take = |packets: &[&[u8]], from: SocketAddr| {
            let mut buffer = packets.concat();
            let stride = packets[0].len();
            let mut meta = RecvMeta { addr: from, len: buffer.len(), stride, ecn: None, dst_ip: None };
            socket.take(Base::Port, &mut buffer, &mut meta);
            (buffer[..meta.len].to_vec(), meta.stride, meta.addr)
        };
        let server = Marks.server();
        let (one, other): (&[u8], &[u8]) = (&[64, 7, 64, 1], &[64, 8, 64, 9]);
        assert!(take(&[one], server).0.is_empty(), "a stranger");
        let seven = beside.sending().let_in(Pair { to: peer(7), base: Base::Relay });
        let last: &[u8] = &[64, 7, 65];
        assert_eq!(take(&[one, other, one, &[0, 1, 2, 3], last], server), (vec![64, 1, 64, 1, 65], 2, seven));
        // Nobody else speaks for the relay, and nobody can bear such an address.
        assert_eq!(take(&[one], peer(7)).2, peer(7));
        let eight = beside.sending().let_in(Pair { to: peer(8), base: Base::Relay });
        assert_eq!(take(&[other], server), (vec![64, 9], 2, eight));
        let knock = [vec![64, 8], vec![KNOCK; KNOCK_BYTES]].concat();
        assert!(take(&[&knock], server).0.is_empty());
        let aside = Aside { from: Pair { to: peer(8), base: Base::Relay }, bytes: vec![KNOCK; KNOCK_BYTES] };
        assert_eq!(beside.incoming.try_recv(), Ok(aside));
    }
}
