//! A handshake that someone else begins, and what becomes of it.

use std::net::SocketAddr;
use std::time::Duration;

use super::connection::Connection;
use super::endpoint::{Endpoint, HANDSHAKE_TIMEOUT, longest};
use super::error::QuicError;
use super::probing::Probing;
use super::unproved::Attempt;
use crate::tls::Protocol;

/// Longest time from the handshake's end to the control stream.
pub(super) const CONTROL_TIMEOUT: Duration = longest(Duration::from_secs(2));

impl Endpoint {
    /// Waits for the control stream, which the other side opens.
    pub(super) async fn control_stream(
        &self,
        inner: &quinn::Connection,
    ) -> Result<(quinn::SendStream, quinn::RecvStream), QuicError> {
        let stream = tokio::time::timeout(CONTROL_TIMEOUT, inner.accept_bi()).await;
        stream.map_err(|_| QuicError::TimedOut)?.map_err(|error| self.explain(error))
    }

    /// Returns the next handshake that someone begins; `None` once the endpoint is closed.
    pub(crate) async fn incoming(&self) -> Option<Incoming> {
        self.inner.accept().await.map(|inner| Incoming { inner, endpoint: self.clone() })
    }
}

/// A handshake that someone has begun.
#[derive(Debug)]
pub(crate) struct Incoming {
    inner: quinn::Incoming,
    endpoint: Endpoint,
}

impl Incoming {
    /// Returns the address of the caller.
    pub(crate) fn address(&self) -> SocketAddr {
        self.endpoint.socket.pair_of(self.inner.remote_address()).to
    }

    /// Returns true if the other side has proved that it receives at its address.
    pub(crate) fn address_is_validated(&self) -> bool {
        self.inner.remote_address_validated()
    }

    /// Asks for that proof, at no cost to this side.
    pub(crate) fn demand_address_validation(self) {
        // An error means that it has proved it already and is then refused.
        let _ = self.inner.retry();
    }

    /// Gives it no answer.
    pub(crate) fn ignore(self) {
        self.inner.ignore();
    }

    /// Turns it away.
    pub(crate) fn refuse(self) {
        self.inner.refuse();
    }

    /// Completes the handshake and, for a call, waits for the control stream.
    pub(crate) async fn accept(self) -> Result<Accepted, QuicError> {
        let (endpoint, inner) = self.handshake().await?;
        if protocol_of(&inner) == Some(Protocol::LinkTest) {
            return endpoint.probing(inner).map(Accepted::LinkTest);
        }
        let (send, receive) = endpoint.control_stream(&inner).await?;
        endpoint.connection(inner, send, receive).map(Accepted::Call)
    }

    /// Completes the handshake.
    pub(super) async fn handshake(self) -> Result<(Endpoint, quinn::Connection), QuicError> {
        let endpoint = self.endpoint;
        let is_proved = self.inner.remote_address_validated();
        let (connecting, attempt) = Attempt::answer(endpoint.socket.unproved(), is_proved, || self.inner.accept());
        let mut connecting = std::pin::pin!(connecting.map_err(|error| endpoint.explain(error))?);
        // Dropped before QUIC's part of it.
        let attempt = attempt;
        let Ok(connected) = tokio::time::timeout(HANDSHAKE_TIMEOUT, &mut connecting).await else {
            attempt.fall_silent();
            return Err(QuicError::TimedOut);
        };
        let inner = connected.map_err(|error| endpoint.explain(error))?;
        attempt.succeed();
        Ok((endpoint, inner))
    }
}

/// A new connection, by its protocol.
#[derive(Debug)]
pub(crate) enum Accepted {
    Call(Connection),
    LinkTest(Probing),
}

/// Returns the protocol on which both sides have agreed.
fn protocol_of(connection: &quinn::Connection) -> Option<Protocol> {
    let data = connection.handshake_data()?.downcast::<quinn::crypto::rustls::HandshakeData>().ok()?;
    Protocol::of_name(&data.protocol?)
}
