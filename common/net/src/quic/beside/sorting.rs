//! The socket as QUIC sees it.

use std::collections::BTreeMap;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use common::path::ways::{Base, Pair, canonical};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::mpsc;

use super::super::relay::{Carrier, Unwrapped};
use super::super::steered::{MARK, mark};
use super::kinds::{LONG_HEADER, Sort, sort};
use super::shared::Shared;
use crate::lock::lock;

/// A datagram that is not QUIC's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) from: Pair,
    pub(crate) bytes: Vec<u8>,
}

/// The socket as QUIC sees it.
#[derive(Debug)]
pub(in super::super) struct Sorting {
    pub(super) shared: Arc<Shared>,
    pub(super) dials: bool,
    pub(super) aside: mpsc::Sender<Aside>,
}

impl Sorting {
    /// Takes out of a buffer what is not QUIC's. A buffer holds datagrams of one length, but for a shorter last one. `via`: the
    /// port at which it came.
    pub(super) fn take(&self, via: Base, buffer: &mut [u8], meta: &mut RecvMeta) {
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
