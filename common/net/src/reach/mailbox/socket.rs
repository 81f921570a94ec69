//! A WebSocket to a mailbox server: texts in and out.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::protocol::MailboxError;

/// Longest message of a server.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Longest wait for a server.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A connection to a server.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects to `ws://HOST:PORT/PATH`.
    pub(super) async fn connect(server: &str) -> Result<Self, MailboxError> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        match timeout(CONNECT_MAX, connect_async_with_config(server, Some(config), true)).await {
            Ok(Ok((socket, _))) => Ok(Self(socket)),
            Ok(Err(Error::Http(answer))) => Err(MailboxError::NoMailbox(format!("HTTP {}", answer.status()))),
            Ok(Err(error)) => Err(MailboxError::Unreachable(error.to_string())),
            Err(_) => Err(MailboxError::Unreachable(format!("it has not answered for {} s", CONNECT_MAX.as_secs()))),
        }
    }

    /// Sends a text.
    pub(super) async fn send(&mut self, text: String) -> Result<(), MailboxError> {
        self.0.send(Message::text(text)).await.map_err(|_| MailboxError::Lost)
    }

    /// Makes the server answer, so that a connection that has silently gone shows it.
    pub(super) async fn ping(&mut self) -> Result<(), MailboxError> {
        self.0.send(Message::Ping(Vec::new().into())).await.map_err(|_| MailboxError::Lost)
    }

    /// Waits for what the server says next; none: that it is there. Nothing is lost if it is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<String>, MailboxError> {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => Ok(Some(text.as_str().to_owned())),
            Some(Ok(Message::Close(_)) | Err(_)) | None => Err(MailboxError::Lost),
            Some(Ok(_)) => Ok(None),
        }
    }

    /// Ends the connection once the server has read all of it.
    pub(super) async fn close(&mut self) -> Result<(), MailboxError> {
        self.0.close(None).await.map_err(|_| MailboxError::Lost)?;
        while self.0.next().await.is_some_and(|heard| heard.is_ok()) {}
        Ok(())
    }
}
