//! A connection for a link test: datagrams only, under a protocol name of its own, so that no call ever sees it.

use std::net::SocketAddr;

use bytes::Bytes;
use common::config::Peer;
use common::path::ways::Pair;
use common::units::Bitrate;
use quinn::VarInt;

use super::connection::LEAVING;
use super::endpoint::{CloseCode, Endpoint};
use super::error::QuicError;
use crate::live_rate::LiveRate;

/// A connection to a peer that has proved its key, over which only a link test's datagrams go.
#[derive(Debug)]
pub(crate) struct Probing {
    inner: quinn::Connection,
    peer: Peer,
    explain: Endpoint,
}

/// A congestion window that is wider than a call needs.
#[derive(Debug)]
pub(crate) struct Widened {
    rate: LiveRate,
    before: Bitrate,
}

impl Drop for Widened {
    fn drop(&mut self) {
        // A call that has begun meanwhile sets its rate with the next feedback.
        self.rate.set(self.before);
    }
}

impl Endpoint {
    /// Connects to `address` to test the link. The peer may still refuse this side's key afterwards.
    pub(crate) async fn dial_to_probe(&self, address: SocketAddr) -> Result<Probing, QuicError> {
        self.probing(self.connect(address).await?)
    }

    pub(super) fn probing(&self, inner: quinn::Connection) -> Result<Probing, QuicError> {
        let peer = self.peer_of(&inner)?;
        Ok(Probing { inner, peer, explain: self.clone() })
    }
}

impl Probing {
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.pair().to
    }

    /// Returns the way that packets to the peer take.
    pub(crate) fn pair(&self) -> Pair {
        self.explain.socket.pair_of(self.inner.remote_address())
    }

    /// Opens the congestion window for traffic of `rate` until the value returned is dropped.
    pub(crate) fn widen(&self, rate: Bitrate) -> Widened {
        let rate_of_now = self.explain.rate.clone();
        let before = rate_of_now.get();
        rate_of_now.set(rate);
        Widened { rate: rate_of_now, before }
    }

    /// Returns the largest datagram that fits a packet on this path now, bytes; 0 if the peer takes none.
    pub(crate) fn max_datagram(&self) -> usize {
        self.inner.max_datagram_size().unwrap_or(0)
    }

    /// Returns true if the send buffer takes another datagram without dropping an older one.
    pub(crate) fn has_room(&self) -> bool {
        self.inner.datagram_send_buffer_space() > self.max_datagram()
    }

    /// Sends a datagram; one that does not fit the path is dropped.
    pub(crate) fn send(&self, datagram: Vec<u8>) {
        if let Err(error) = self.inner.send_datagram(datagram.into()) {
            tracing::debug!(%error, "a datagram was not sent");
        }
    }

    /// Returns the next datagram that comes.
    pub(crate) async fn receive(&self) -> Result<Bytes, QuicError> {
        self.inner.read_datagram().await.map_err(|error| self.explain.explain(error))
    }

    /// Closes, and gives the packet that says so a moment to leave.
    pub(crate) async fn close(&self, code: CloseCode, reason: &str) {
        self.inner.close(VarInt::from_u32(code as u32), reason.as_bytes());
        tokio::time::sleep(LEAVING).await;
    }
}
