//! Watching a broadcast from a program, as trials and tests do.

use std::time::Instant;

use moq_net::{Client, Session, broadcast, time};

use crate::dial::{DialError, Dialler};
use crate::relay::{origin, raw};
use crate::target::Target;

/// Streams that a relay may have open at once: each group is one.
const STREAMS: u32 = 10_000;

/// A relay does not let watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It cannot be dialled.
    #[error("{0}")]
    Dial(String),
    /// It takes no datagrams, without which the protocol's library breaks down.
    #[error("it takes no datagrams")]
    NoDatagrams,
    /// It refuses.
    #[error("{0}")]
    Refused(#[from] moq_net::Error),
    /// The session has broken down.
    #[error("the session has broken down")]
    Ended,
}

impl From<DialError> for WatchError {
    fn from(error: DialError) -> Self {
        Self::Dial(error.to_string())
    }
}

/// The place from which any number of watchers join one broadcast. It lives on a tokio runtime.
pub struct Watchers(Dialler);

/// One who watches, until it is dropped.
pub struct Watcher {
    /// The broadcast.
    pub broadcast: broadcast::Consumer,
    _session: Session,
}

impl Watchers {
    /// Gets ready to dial.
    pub fn new(target: Target) -> Result<Self, WatchError> {
        Ok(Self(Dialler::new(target, STREAMS)?))
    }

    /// Dials until somebody answers, and waits until the broadcast is there.
    ///
    /// Errors: the relay ends the session before.
    pub async fn join(&self) -> Result<Watcher, WatchError> {
        let connection = self.0.dial(|_| ()).await;
        let target = self.0.target();
        let (origin, keeper) = origin();
        tokio::spawn(time::run(keeper));
        let client = Client::new().with_subscriber(origin.clone()).with_path(target.path());
        let raw = raw(&connection).ok_or(WatchError::NoDatagrams)?;
        let (session, driver) = client.connect(Instant::now(), raw).await?;
        let driven = tokio::spawn(time::run(driver));
        let consumer = origin.consume();
        tokio::select! {
            broadcast = consumer.routed_broadcast(target.name.as_str()) => {
                Ok(Watcher { broadcast: broadcast?, _session: session })
            }
            // Who may not watch is greeted, and sent away.
            why = driven => Err(why.map_or(WatchError::Ended, WatchError::Refused)),
        }
    }
}
