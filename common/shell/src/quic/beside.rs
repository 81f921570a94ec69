//! One UDP socket for QUIC and for what finds the way: STUN (RFC 7983, RFC 9443) and knocks.
//!
//! A dialler's packets of the handshake leave it twice: of a lost one QUIC waits 90 ms for an answer, then twice as long, and of
//! a lost last one half a second until the first control message goes again, for nothing is repeated before the peer has
//! confirmed the handshake (RFC 9002, section 6.2.1). QUIC drops what comes twice. A listener does not do this: it may send
//! at most three times what an unproved address has sent (RFC 9000, section 8.1).
//!
//! What a datagram is, its first byte and its source tell; with the fixed bit never greased, no QUIC packet looks like
//! another kind. What is none of the three is dropped before QUIC sees it.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::sync::mpsc;

use super::canonical;

/// First byte of a knock: in a range that RFC 7983 leaves to nobody.
pub(crate) const KNOCK: u8 = 0x0d;
/// Bytes of a knock.
pub(crate) const KNOCK_BYTES: usize = 25;

/// Datagrams that wait for whoever looks for a way; more are dropped, as the network does.
const WAITING_MAX: usize = 64;
/// Servers that may be asked.
const SERVERS_MAX: usize = 16;
/// Longest STUN message that is looked at.
const STUN_BYTES_MAX: usize = 548;

/// A datagram that is not QUIC's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) from: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// The part of a socket that is not QUIC's: sends and receives STUN and knocks.
#[derive(Debug)]
pub(crate) struct Beside {
    socket: Arc<Shared>,
    incoming: mpsc::Receiver<Aside>,
}

impl Beside {
    /// Takes STUN messages from `server` from now on; from nobody else.
    pub(crate) fn expect_from(&self, server: SocketAddr) {
        let mut servers = self.socket.servers();
        if servers.len() < SERVERS_MAX && !servers.contains(&server) {
            servers.push(server);
        }
    }

    /// Returns true if the socket reaches that family of addresses.
    pub(crate) fn reaches(&self, address: SocketAddr) -> bool {
        address.is_ipv4() || self.socket.is_ipv6()
    }

    /// Waits until the socket can send: a new one cannot before the system has said so.
    pub(crate) async fn writable(&self) {
        let mut poller = Arc::clone(&self.socket.inner).create_io_poller();
        // A socket that fails shows it when it receives.
        let _ = std::future::poll_fn(|cx| poller.as_mut().poll_writable(cx)).await;
    }

    /// Sends a datagram, or drops it if the socket takes none now.
    pub(crate) fn send(&self, to: SocketAddr, bytes: &[u8]) {
        let to = match to.ip() {
            IpAddr::V4(ip) if self.socket.is_ipv6() => SocketAddr::new(ip.to_ipv6_mapped().into(), to.port()),
            _ => to,
        };
        let transmit = Transmit { destination: to, ecn: None, contents: bytes, segment_size: None, src_ip: None };
        if let Err(error) = self.socket.inner.try_send(&transmit) {
            tracing::trace!(%to, %error, "a datagram beside QUIC was not sent");
        }
    }

    /// The next datagram that comes; for ever none once the endpoint has gone.
    pub(crate) async fn receive(&mut self) -> Aside {
        match self.incoming.recv().await {
            Some(aside) => aside,
            None => std::future::pending().await,
        }
    }

    /// Forgets what waits.
    pub(crate) fn forget(&mut self) {
        while self.incoming.try_recv().is_ok() {}
    }
}

#[derive(Debug)]
struct Shared {
    inner: Arc<dyn AsyncUdpSocket>,
    servers: Mutex<Vec<SocketAddr>>,
}

impl Shared {
    fn servers(&self) -> std::sync::MutexGuard<'_, Vec<SocketAddr>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ipv6(&self) -> bool {
        self.inner.local_addr().is_ok_and(|address| address.is_ipv6())
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

/// Splits a socket of a dialler or a listener.
pub(super) fn split(inner: Arc<dyn AsyncUdpSocket>, dials: bool) -> (Arc<Sorting>, Beside) {
    let (aside, incoming) = mpsc::channel(WAITING_MAX);
    let shared = Arc::new(Shared { inner, servers: Mutex::new(Vec::new()) });
    (Arc::new(Sorting { shared: Arc::clone(&shared), dials, aside }), Beside { socket: shared, incoming })
}

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Quic,
    Aside,
    Junk,
}

/// Tells what a datagram is; `expected`: whether a STUN server's answer may come from its source.
fn sort(datagram: &[u8], expected: impl FnOnce() -> bool) -> Sort {
    match datagram.first() {
        Some(0..=3) if datagram.len() <= STUN_BYTES_MAX && expected() => Sort::Aside,
        Some(&KNOCK) if datagram.len() == KNOCK_BYTES => Sort::Aside,
        Some(64..) => Sort::Quic,
        _ => Sort::Junk,
    }
}

impl Sorting {
    /// Takes out of a buffer what is not QUIC's. A buffer holds datagrams of one length, but for a shorter last one.
    fn take(&self, buffer: &[u8], meta: &mut RecvMeta) {
        let bytes = &buffer[..meta.len.min(buffer.len())];
        let from = canonical(meta.addr);
        let mut has_quic = false;
        for datagram in bytes.chunks(meta.stride.max(1)) {
            match sort(datagram, || self.shared.servers().contains(&from)) {
                Sort::Quic => has_quic = true,
                // Where nobody waits for it or too many wait, it is lost.
                Sort::Aside => drop(self.aside.try_send(Aside { from, bytes: datagram.to_vec() })),
                Sort::Junk => {}
            }
        }
        // Among packets of QUIC others may stay: QUIC drops what lacks its fixed bit.
        if !has_quic {
            meta.len = 0;
        }
    }
}

impl AsyncUdpSocket for Sorting {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.shared.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.shared.inner.try_send(transmit)?;
        if self.dials && transmit.contents.first().is_some_and(|first| first & LONG_HEADER != 0) {
            // Without room the first one must do.
            let _ = self.shared.inner.try_send(transmit);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.shared.inner.poll_recv(cx, bufs, meta))?;
        for (buffer, meta) in bufs.iter().zip(meta).take(count) {
            self.take(buffer, meta);
        }
        Poll::Ready(Ok(count))
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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_what_its_first_byte_and_its_source_tell() {
        let knock = [KNOCK; KNOCK_BYTES];
        assert_eq!(sort(&knock, || false), Sort::Aside);
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
            unimplemented!()
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
            let (socket, _beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, dials);
            socket.try_send(&transmit).unwrap();
        }
        let numbers: Vec<_> = sent.0.lock().unwrap().iter().map(|contents| contents[1]).collect();
        assert_eq!(numbers, [1, 1, 2, 2, 3, 4, 5]);
    }
}
