//! A connection to a peer, with its control stream: what comes, what goes, and how it ends.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use common::config::Peer;
use common::path::ways::Pair;
use quinn::{ConnectionError, VarInt};

use super::endpoint::{CloseCode, Endpoint};
use super::error::QuicError;

/// Time for a last packet to leave.
pub(super) const LEAVING: Duration = Duration::from_millis(20);

impl Endpoint {
    /// Connects to `address` and opens the control stream. The peer may still refuse this side's key afterwards.
    pub(crate) async fn dial(&self, address: SocketAddr) -> Result<Connection, QuicError> {
        let inner = self.connect(address).await?;
        let (send, receive) = inner.open_bi().await.map_err(|error| self.explain(error))?;
        self.connection(inner, send, receive)
    }

    pub(super) fn connection(
        &self,
        inner: quinn::Connection,
        send: quinn::SendStream,
        receive: quinn::RecvStream,
    ) -> Result<Connection, QuicError> {
        let peer = self.peer_of(&inner)?;
        Ok(Connection { inner, peer, send, receive, explain: self.clone() })
    }
}

/// A connection to a peer that has proved its key, with its control stream.
#[derive(Debug)]
pub(crate) struct Connection {
    inner: quinn::Connection,
    peer: Peer,
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    explain: Endpoint,
}

/// Something that came.
#[derive(Debug)]
pub(crate) enum Input {
    Datagram(Bytes),
    /// This many bytes of the control stream lie in the buffer given.
    Control(usize),
    /// This many bytes of the control stream were handed over.
    Written(usize),
}

impl Connection {
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.pair().to
    }

    /// Returns the way that packets to the peer take now.
    pub(crate) fn pair(&self) -> Pair {
        self.explain.socket.in_use(self.inner.remote_address())
    }

    /// Returns that way if the peer has answered a question there, so that it has proved to receive there: QUIC follows a
    /// packet's source before anything is proved.
    pub(crate) fn proved_pair(&self) -> Option<Pair> {
        let pair = self.pair();
        self.explain.socket.has_answered(pair).then_some(pair)
    }

    /// Returns how often packets have changed their way, on this connection and those before.
    pub(crate) fn moves(&self) -> u64 {
        self.explain.socket.moves()
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.inner.rtt()
    }

    /// Returns the largest datagram that fits a packet on this path now, bytes; 0 if the peer takes none.
    pub(crate) fn max_datagram(&self) -> usize {
        self.inner.max_datagram_size().unwrap_or(0)
    }

    /// Times that the path ceased to carry packets as large as before.
    pub(crate) fn black_holes(&self) -> u64 {
        self.inner.stats().path.black_holes_detected
    }

    /// Returns true if the send buffer takes another datagram without dropping an older one.
    pub(crate) fn has_room(&self) -> bool {
        self.inner.datagram_send_buffer_space() > self.max_datagram()
    }

    /// Sends a datagram; one that has become too large for the path is dropped.
    pub(crate) fn send_datagram(&self, datagram: Vec<u8>) {
        if let Err(error) = self.inner.send_datagram(datagram.into()) {
            tracing::debug!(%error, "a datagram was not sent");
        }
    }

    /// Returns a datagram that is already here.
    pub(crate) async fn try_datagram(&self) -> Option<Bytes> {
        tokio::select! {
            biased;
            datagram = self.inner.read_datagram() => datagram.ok(),
            () = std::future::ready(()) => None,
        }
    }

    /// Waits for input and for room to write `pending` to the control stream. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self, buffer: &mut [u8], pending: &[u8]) -> Result<Input, QuicError> {
        let error = tokio::select! {
            biased;
            read = self.receive.read(buffer) => match read {
                Ok(Some(count)) => return Ok(Input::Control(count)),
                // The control stream has ended: the peer will close.
                Ok(None) => self.inner.closed().await,
                Err(_) => self.inner.closed().await,
            },
            written = self.send.write(pending), if !pending.is_empty() => match written {
                Ok(count) => return Ok(Input::Written(count)),
                Err(_) => self.inner.closed().await,
            },
            datagram = self.inner.read_datagram() => match datagram {
                Ok(datagram) => return Ok(Input::Datagram(datagram)),
                Err(error) => error,
            },
        };
        Err(self.explain.explain(error))
    }

    /// Sends what is left of the control stream, waits until the peer has it, at most `limit`, and closes.
    pub(crate) async fn finish(mut self, pending: &[u8], limit: Duration, code: CloseCode, reason: &str) {
        let deliver = async {
            if self.send.write_all(pending).await.is_ok() && self.send.finish().is_ok() {
                let _ = self.send.stopped().await;
            }
        };
        let _ = tokio::time::timeout(limit, deliver).await;
        self.close(code, reason);
        // The packet that says so must leave before the process does, or the peer waits in vain.
        tokio::time::sleep(LEAVING).await;
    }

    /// Writes the first bytes of the control stream, which are few: they fit its window.
    pub(crate) fn begin(&mut self, first: Vec<u8>) {
        let mut writing = std::pin::pin!(self.send.write_all(&first));
        // Whoever has gone does not need them.
        let _ = writing.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    }

    /// Closes at once.
    pub(crate) fn close(&self, code: CloseCode, reason: &str) {
        self.inner.close(VarInt::from_u32(code as u32), reason.as_bytes());
    }

    /// Returns a handle for whoever looks for a better way.
    pub(crate) fn in_call(&self) -> InCall {
        InCall { inner: self.inner.clone(), peer: self.peer.name.clone() }
    }

    /// Returns a handle that tells when the connection has ended.
    pub(crate) fn end(&self) -> End {
        End(self.inner.clone())
    }
}

/// Bytes from which the keys of a call's seals are made: one for each direction.
pub(crate) const SEAL_BYTES: usize = 64;

/// A connection of a call, for whoever looks for a better way for it.
#[derive(Clone, Debug)]
pub(crate) struct InCall {
    inner: quinn::Connection,
    peer: String,
}

impl PartialEq for InCall {
    fn eq(&self, other: &Self) -> bool {
        self.inner.stable_id() == other.inner.stable_id()
    }
}

impl InCall {
    /// Returns the peer's name.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Returns the peer's address for QUIC, which changes if QUIC sees that it does.
    pub(crate) fn address(&self) -> SocketAddr {
        self.inner.remote_address()
    }

    /// Returns the length of the longest packets that are sent, bytes.
    pub(crate) fn longest(&self) -> usize {
        self.inner.stats().path.current_mtu.into()
    }

    /// Returns bytes that only the two ends of this connection know (RFC 5705).
    pub(crate) fn shared(&self) -> Result<[u8; SEAL_BYTES], QuicError> {
        let mut bytes = [0; SEAL_BYTES];
        let exported = self.inner.export_keying_material(&mut bytes, b"duet probes", b"");
        exported.map_err(|_| QuicError::Other("the connection has no keys to seal anything with".to_owned()))?;
        Ok(bytes)
    }
}

/// Tells when a connection has ended and whether it lives.
pub(crate) struct End(quinn::Connection);

impl End {
    pub(crate) async fn wait(&self) {
        self.0.closed().await;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.close_reason().is_some()
    }

    /// Returns true if the peer has ended it in so many words.
    pub(crate) fn was_closed(&self) -> bool {
        let reason = self.0.close_reason();
        matches!(reason, Some(ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_)))
    }

    /// Packets that have come so far.
    pub(crate) fn packets(&self) -> u64 {
        self.0.stats().udp_rx.datagrams
    }
}
