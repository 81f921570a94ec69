//! Where connections come from: a task that dials for ever, or one that accepts.
//!
//! The dialler does not wait until a connection has died: when it has heard nothing for longer than is normal, it
//! dials beside the old connection, and whichever works first is used.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::limited;
use crate::linktest;
use crate::quic::{Accepted, CloseCode, Connection, End, Endpoint, EndpointOptions, QuicError};

/// From one attempt to the next. An attempt goes on meanwhile, so that one finds its way as soon as there is one.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts under way at once.
const ATTEMPTS_MAX: usize = 4;
/// Time between two looks whether anything came.
const LOOK: Duration = Duration::from_millis(25);
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;

/// The longest time without a packet that means nothing; the loop tells, the dialler reads.
#[derive(Debug)]
pub(super) struct Patience(AtomicU64);

impl Patience {
    pub(super) fn new(silence: Duration) -> Self {
        Self(AtomicU64::new(silence.as_millis() as u64))
    }

    pub(super) fn set(&self, silence: Duration) {
        self.0.store(silence.as_millis() as u64, Ordering::Relaxed);
    }

    /// Looks in which nothing came after which the connection has stalled. Looks, not time: while this process itself
    /// stands still, nobody is silent.
    fn looks(&self) -> u64 {
        self.0.load(Ordering::Relaxed).div_ceil(LOOK.as_millis() as u64)
    }
}

/// Dials `address` and hands over the connection; does so anew whenever it has stalled or ended. Ends with an error
/// that trying again cannot mend.
pub(super) async fn dial_for_ever(
    options: EndpointOptions,
    address: String,
    connections: Sender<Result<Connection, QuicError>>,
    patience: Arc<Patience>,
) {
    let sockets = Arc::new(Mutex::new(Sockets { options, v4: None, v6: None }));
    let mut current: Option<End> = None;
    loop {
        if let Some(end) = &current {
            stalled(end, &patience).await;
        }
        match connect(&sockets, &address, current.as_ref()).await {
            Ok(Some(connection)) => {
                current = Some(connection.end());
                if connections.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(error) => {
                let _ = connections.send(Err(error)).await;
                return;
            }
        }
    }
}

/// Waits until the connection has ended or nothing has come for longer than is normal.
async fn stalled(end: &End, patience: &Patience) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut packets, mut silent) = (end.packets(), 0);
    loop {
        tokio::select! {
            () = end.wait() => return,
            _ = looks.tick() => {}
        }
        let before = std::mem::replace(&mut packets, end.packets());
        silent = if packets == before { silent + 1 } else { 0 };
        if silent >= patience.looks() {
            tracing::debug!("nothing has come for {silent} looks: dialling anew");
            return;
        }
    }
}

/// An old connection, and the packets that had come when it stalled.
struct Stalled<'a>(&'a End, u64);

impl Stalled<'_> {
    fn lives(&self) -> bool {
        self.0.packets() != self.1 && !self.0.has_ended()
    }
}

/// Waits until something comes again over the old connection.
async fn revived(old: Option<&Stalled<'_>>) {
    let mut looks = interval(LOOK);
    while !old.is_some_and(Stalled::lives) {
        looks.tick().await;
    }
}

/// Attempts, one after the other and side by side, until one succeeds; none: the old connection works again. An error
/// is final.
async fn connect(
    sockets: &Arc<Mutex<Sockets>>,
    address: &str,
    old: Option<&End>,
) -> Result<Option<Connection>, QuicError> {
    let old = old.map(|end| Stalled(end, end.packets()));
    let mut attempts = JoinSet::new();
    let mut starts = interval(RETRY);
    starts.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = false;
    loop {
        let ended = tokio::select! {
            biased;
            () = revived(old.as_ref()) => return Ok(None),
            Some(ended) = attempts.join_next() => ended,
            _ = starts.tick(), if attempts.len() < ATTEMPTS_MAX => {
                attempts.spawn(attempt(Arc::clone(sockets), address.to_owned()));
                continue;
            }
        };
        match ended {
            Ok(Ok(connection)) if old.as_ref().is_some_and(Stalled::lives) => {
                connection.close(CloseCode::Done, "the old connection works again");
                return Ok(None);
            }
            Ok(Ok(connection)) => return Ok(Some(connection)),
            Ok(Err(error)) if error.is_final() => return Err(error),
            Ok(Err(error)) if !reported => {
                limited!(info, "{address}: {error}; trying again every {} ms", RETRY.as_millis());
                reported = true;
            }
            Ok(Err(_)) => {}
            Err(error) => return Err(QuicError::Other(format!("an attempt to dial broke down: {error}"))),
        }
    }
}

async fn attempt(sockets: Arc<Mutex<Sockets>>, address: String) -> Result<Connection, QuicError> {
    let unreachable = |message: String| QuicError::Unreachable { address: address.clone(), message };
    let found = tokio::net::lookup_host(&address).await.map_err(|error| unreachable(error.to_string()))?;
    let mut last = unreachable("the name has no address".to_owned());
    for address in found.take(ADDRESSES_MAX) {
        let endpoint = sockets.lock().unwrap_or_else(PoisonError::into_inner).of(address)?;
        match endpoint.dial(address).await {
            Err(error) if !error.is_final() => last = error,
            result => return result,
        }
    }
    Err(last)
}

/// A socket for each family of addresses, opened when first needed.
struct Sockets {
    options: EndpointOptions,
    v4: Option<Endpoint>,
    v6: Option<Endpoint>,
}

impl Sockets {
    fn of(&mut self, address: SocketAddr) -> Result<Endpoint, QuicError> {
        let (socket, any) = match address {
            SocketAddr::V4(_) => (&mut self.v4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
            SocketAddr::V6(_) => (&mut self.v6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        };
        match socket {
            Some(endpoint) => Ok(endpoint.clone()),
            None => Ok(socket.insert(Endpoint::bind(&self.options, any, false)?).clone()),
        }
    }
}

/// Accepts handshakes side by side and hands over those that succeed. While `busy`, who knocks must first prove
/// its address.
pub(super) async fn accept_for_ever(
    endpoint: Endpoint,
    connections: Sender<Result<Connection, QuicError>>,
    busy: Arc<AtomicBool>,
) {
    while let Some(incoming) = endpoint.incoming().await {
        if busy.load(Ordering::Relaxed) && !incoming.address_is_validated() {
            incoming.demand_address_validation();
            continue;
        }
        let (connections, busy) = (connections.clone(), Arc::clone(&busy));
        tokio::spawn(async move {
            let address = incoming.address();
            match incoming.accept().await {
                Ok(Accepted::Call(connection)) => {
                    let _ = connections.send(Ok(connection)).await;
                }
                Ok(Accepted::LinkTest(probing)) => linktest::answer(probing, &busy).await,
                Err(error) => limited!(warn, "a connection from {address} was not accepted: {error}"),
            }
        });
    }
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
