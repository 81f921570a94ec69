//! A dialler's packets of the handshake leave twice.
//!
//! Of a lost one QUIC waits 90 ms for an answer, then twice as long, and of a lost last one half a second until the first
//! control message goes again: nothing is repeated before the peer has confirmed the handshake (RFC 9002, section 6.2.1).
//! QUIC drops what comes twice. A listener does not do this: it may send at most three times what an unproved address
//! has sent (RFC 9000, section 8.1).

use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// Packets before the end of a handshake have a long header (RFC 9000, section 17.2), and this bit.
const LONG_HEADER: u8 = 0x80;

/// A socket that does so.
#[derive(Debug)]
pub(super) struct Twice(pub(super) Arc<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for Twice {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.0).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.try_send(transmit)?;
        if transmit.contents.first().is_some_and(|first| first & LONG_HEADER != 0) {
            // Without room the first one must do.
            let _ = self.0.try_send(transmit);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<std::net::SocketAddr> {
        self.0.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.0.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.0.max_receive_segments()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Mutex;

    use super::*;

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

        fn local_addr(&self) -> io::Result<std::net::SocketAddr> {
            unimplemented!()
        }
    }

    #[test]
    fn a_handshake_leaves_twice_and_a_picture_once() {
        let sent = Arc::new(Sent::default());
        let twice = Twice(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>);
        for contents in [[0xc0, 1], [0xe0, 2], [0x40, 3], [0x5f, 4]] {
            let destination = ([127, 0, 0, 1], 9).into();
            let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: None, src_ip: None };
            twice.try_send(&transmit).unwrap();
        }
        let numbers: Vec<_> = sent.0.lock().unwrap().iter().map(|contents| contents[1]).collect();
        assert_eq!(numbers, [1, 1, 2, 2, 3, 4]);
    }
}
