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

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use common::path::ways::{ANSWER_BYTES, Base, KNOCK_BYTES, Pair, QUESTION_BYTES, canonical};
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
/// First byte of a probe, a question or an answer of a call's other end: likewise.
pub(crate) const PROBE: u8 = 0x0f;
/// Bytes of the longest probe, which is as long as the longest packet.
const PROBE_BYTES_MAX: usize = 1500;

const _: () = assert!(QUESTION_BYTES <= PROBE_BYTES_MAX);
// Of those that nobody has; the next, 0x10, may be a channel of TURN (RFC 7983, section 7).
const _: () = assert!(3 < KNOCK && KNOCK < MARK && MARK < PROBE && PROBE < 16);

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

/// Opens a socket at any other port.
pub(super) type OpenAnother = Box<dyn Fn() -> io::Result<Arc<dyn AsyncUdpSocket>> + Send + Sync>;

struct Shared {
    inner: Arc<dyn AsyncUdpSocket>,
    open_another: Option<OpenAnother>,
    /// The sockets of further bases.
    others: Mutex<Arc<BTreeMap<Base, Arc<dyn AsyncUdpSocket>>>>,
    /// Whoever waits for packets.
    waiting: Mutex<Option<Waker>>,
    /// The socket to be looked at first, so that none keeps another from being heard.
    turn: AtomicUsize,
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
        f.debug_struct("Shared").field("inner", &self.inner).field("others", &self.others).finish_non_exhaustive()
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

    /// Sends it to the end of that way. From a base that is not open it is lost. If `lasting`, more will follow.
    fn send(&self, pair: Pair, transmit: &Transmit<'_>, lasting: bool) -> io::Result<()> {
        let socket = match pair.base {
            Base::Port => Arc::clone(&self.inner),
            Base::Relay => return self.send_through(pair.to, transmit, lasting),
            base => match lock(&self.others).get(&base) {
                Some(other) => Arc::clone(other),
                None => return Ok(()),
            },
        };
        let Transmit { ecn, contents, segment_size, src_ip, .. } = *transmit;
        socket.try_send(&Transmit { destination: self.written(pair.to), ecn, contents, segment_size, src_ip })
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
        let wrapped = Transmit { destination, ecn: None, contents: &packets, segment_size, src_ip: None };
        self.send(destination.into(), &wrapped, lasting)
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
        others: Mutex::default(),
        waiting: Mutex::default(),
        turn: AtomicUsize::new(0),
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
        Some(&KNOCK) if datagram.len() == KNOCK_BYTES => Sort::Aside,
        Some(&PROBE) if (ANSWER_BYTES..=PROBE_BYTES_MAX).contains(&datagram.len()) => Sort::Aside,
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
        if via != Base::Port {
            return match buffer.first() {
                Some(&MARK) => self.take_marked(buffer, meta, from),
                _ => self.take_at_other_base(buffer, meta, from),
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

    /// Tells what comes at a further base: it is QUIC's if it comes from who was let in.
    fn take_at_other_base(&self, buffer: &[u8], meta: &mut RecvMeta, from: Pair) {
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
            let pair = Pair { to: peer, base: Base::Relay };
            match sort(&datagram, || false) {
                kind @ (Sort::Quic | Sort::Marked) => {
                    let known = if kind == Sort::Quic {
                        lock(&self.shared.aliases).address_of(pair)
                    } else {
                        datagram.remove(0);
                        lock(&self.shared.steered).as_mut().and_then(|steered| steered.base_of(pair))
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
                Sort::Aside => self.lay_aside(pair, &datagram),
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
            Some(way) => self.shared.send(way, transmit, true),
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
        match self.shared.send(way, &marked, true) {
            // A way that is gone loses packets; it does not end the connection.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Ok(()),
            sent => sent,
        }
    }
}

type Poller = Pin<Box<dyn UdpPoller>>;

/// Waits until all sockets can send: whoever waits does not say for which packet.
#[derive(Debug)]
struct AllWritable {
    shared: Arc<Shared>,
    first: Poller,
    /// The others, as of the last look.
    others: BTreeMap<Base, (Arc<dyn AsyncUdpSocket>, Poller)>,
}

impl UdpPoller for AllWritable {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.first.as_mut().poll_writable(cx))?;
        // Called before each packet: nothing is copied, and nobody else's code runs under the lock.
        let others = Arc::clone(&lock(&this.shared.others));
        this.others.retain(|base, (known, _)| others.get(base).is_some_and(|other| Arc::ptr_eq(known, other)));
        for (&base, other) in &*others {
            let new = || (Arc::clone(other), Arc::clone(other).create_io_poller());
            let (_, poller) = this.others.entry(base).or_insert_with(new);
            ready!(poller.as_mut().poll_writable(cx))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncUdpSocket for Sorting {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        let first = Arc::clone(&self.shared.inner).create_io_poller();
        Box::pin(AllWritable { shared: Arc::clone(&self.shared), first, others: BTreeMap::new() })
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
        let others = Arc::clone(&lock(&self.shared.others));
        let turn = self.shared.turn.fetch_add(1, Ordering::Relaxed) % (1 + others.len());
        let sockets = std::iter::once((&Base::Port, &self.shared.inner)).chain(&*others);
        for (&base, socket) in sockets.cycle().skip(turn).take(1 + others.len()) {
            match socket.poll_recv(cx, bufs, meta) {
                // A further one that fails is none; the first one goes on.
                Poll::Ready(Err(error)) if base != Base::Port => {
                    tracing::debug!(%error, "{base:?} is closed");
                    Arc::make_mut(&mut lock(&self.shared.others)).retain(|_, known| !Arc::ptr_eq(known, socket));
                }
                Poll::Ready(received) => {
                    let count = received?;
                    for (buffer, meta) in bufs.iter_mut().zip(meta).take(count) {
                        self.take(base, buffer, meta);
                    }
                    return Poll::Ready(Ok(count));
                }
                Poll::Pending => {}
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
#[path = "beside_tests.rs"]
mod tests;
