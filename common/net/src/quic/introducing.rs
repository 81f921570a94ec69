//! Connections on which two machines are introduced: a control stream and nothing else, under a protocol name of their
//! own, so that no call ever sees them. Whoever invites takes any key here, and decides by what is said.

use std::net::SocketAddr;

use common::config::PublicKey;
use common::path::ways::Pair;
use common::reach::{LENGTH_BYTES, MESSAGE_BYTES_MAX, Message};
use quinn::VarInt;

use super::connection::LEAVING;
use super::endpoint::{CloseCode, Endpoint, key_of};
use super::error::QuicError;
use super::incoming::{CONTROL_TIMEOUT, Incoming};

/// Bytes that both ends of a connection know and nobody else does.
pub(crate) const SHARED_BYTES: usize = 32;

/// A connection to a machine that has proved its key, whichever that is.
#[derive(Debug)]
pub(crate) struct Introducing {
    inner: quinn::Connection,
    key: PublicKey,
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    explain: Endpoint,
}

impl Endpoint {
    /// Connects to `address`, where a peer of this endpoint must answer, to be introduced to it.
    pub(crate) async fn dial_to_introduce(&self, address: SocketAddr) -> Result<Introducing, QuicError> {
        let inner = self.connect(address).await?;
        let (send, receive) = inner.open_bi().await.map_err(|error| self.explain(error))?;
        self.introducing(inner, send, receive)
    }

    fn introducing(
        &self,
        inner: quinn::Connection,
        send: quinn::SendStream,
        receive: quinn::RecvStream,
    ) -> Result<Introducing, QuicError> {
        let key = key_of(&inner).ok_or(QuicError::SignatureInvalid)?;
        Ok(Introducing { inner, key, send, receive, explain: self.clone() })
    }
}

impl Incoming {
    /// Completes the handshake with whoever it is and waits for the control stream.
    pub(crate) async fn accept_to_introduce(self) -> Result<Introducing, QuicError> {
        let (endpoint, inner) = self.handshake().await?;
        let (send, receive) = endpoint.control_stream(&inner).await?;
        endpoint.introducing(inner, send, receive)
    }
}

impl Introducing {
    /// Returns the other machine's key.
    pub(crate) fn key(&self) -> PublicKey {
        self.key
    }

    /// Returns the way on which the other machine is.
    pub(crate) fn pair(&self) -> Pair {
        self.explain.socket.pair_of(self.inner.remote_address())
    }

    /// Returns bytes that belong to this connection only (RFC 5705), so that proofs over them are void elsewhere.
    pub(crate) fn shared(&self) -> Result<[u8; SHARED_BYTES], QuicError> {
        let mut bytes = [0; SHARED_BYTES];
        let exported = self.inner.export_keying_material(&mut bytes, b"duet introduction", b"");
        exported.map_err(|_| QuicError::Other("the connection has no keys to prove anything over".to_owned()))?;
        Ok(bytes)
    }

    /// Says something.
    pub(crate) async fn say(&mut self, message: &Message) -> Result<(), QuicError> {
        match self.send.write_all(&message.encode()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Waits for what the other side says, a few seconds at most.
    pub(crate) async fn hear(&mut self) -> Result<Message, QuicError> {
        let heard = tokio::time::timeout(CONTROL_TIMEOUT, async {
            let mut length = [0; LENGTH_BYTES];
            self.receive.read_exact(&mut length).await.ok()?;
            let length = match Message::length(length) {
                Ok(length) => length,
                Err(error) => return Some(Err(error)),
            };
            let mut body = [0; MESSAGE_BYTES_MAX];
            self.receive.read_exact(&mut body[..length]).await.ok()?;
            Some(Message::decode(&body[..length]))
        });
        match heard.await {
            Ok(Some(message)) => message.map_err(|error| QuicError::Other(error.to_string())),
            Ok(None) => Err(self.ended().await),
            Err(_) => Err(QuicError::TimedOut),
        }
    }

    /// Waits for the other side's goodbye, a few seconds at most; true if it said that all is done.
    pub(crate) async fn is_done(&self) -> bool {
        let ended = tokio::time::timeout(CONTROL_TIMEOUT, self.inner.closed()).await;
        let done = VarInt::from_u32(CloseCode::Done as u32);
        matches!(ended, Ok(quinn::ConnectionError::ApplicationClosed(close)) if close.error_code == done)
    }

    /// Closes, and gives the packet that says so a moment to leave.
    pub(crate) async fn close(&self, code: CloseCode, reason: &str) {
        self.inner.close(VarInt::from_u32(code as u32), reason.as_bytes());
        tokio::time::sleep(LEAVING).await;
    }

    async fn ended(&self) -> QuicError {
        match tokio::time::timeout(CONTROL_TIMEOUT, self.inner.closed()).await {
            Ok(error) => self.explain.explain(error),
            Err(_) => QuicError::TimedOut,
        }
    }
}
