//! Where connections come from: a task that dials for ever, or one that accepts.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::linktest;
use crate::quic::{Accepted, Connection, Endpoint, EndpointOptions, QuicError};

/// Pause between two attempts.
const RETRY: Duration = Duration::from_millis(500);
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Dials `address`, hands over the connection, waits until it has ended, and begins anew. Ends with an error that
/// trying again cannot mend.
pub(super) async fn dial_for_ever(
    options: EndpointOptions,
    address: String,
    connections: Sender<Result<Connection, QuicError>>,
) {
    let mut sockets = Sockets { options, v4: None, v6: None };
    let mut reported = false;
    loop {
        let next = tokio::time::Instant::now() + RETRY;
        match attempt(&mut sockets, &address).await {
            Ok(connection) => {
                reported = false;
                let end = connection.end();
                if connections.send(Ok(connection)).await.is_err() {
                    return;
                }
                end.wait().await;
            }
            Err(error) if error.is_final() => {
                let _ = connections.send(Err(error)).await;
                return;
            }
            Err(error) => {
                if !reported {
                    tracing::info!("{address}: {error}; trying again every {} ms", RETRY.as_millis());
                    reported = true;
                }
            }
        }
        tokio::time::sleep_until(next).await;
    }
}

async fn attempt(sockets: &mut Sockets, address: &str) -> Result<Connection, QuicError> {
    let unreachable = |message: String| QuicError::Unreachable { address: address.to_owned(), message };
    let found = tokio::net::lookup_host(address).await.map_err(|error| unreachable(error.to_string()))?;
    let mut last = unreachable("the name has no address".to_owned());
    for address in found.take(ADDRESSES_MAX) {
        match sockets.of(address)?.dial(address).await {
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
    fn of(&mut self, address: SocketAddr) -> Result<&Endpoint, QuicError> {
        let (socket, any) = match address {
            SocketAddr::V4(_) => (&mut self.v4, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))),
            SocketAddr::V6(_) => (&mut self.v6, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        };
        match socket {
            Some(endpoint) => Ok(endpoint),
            None => Ok(socket.insert(Endpoint::bind(&self.options, any, false)?)),
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
                Err(error) => tracing::warn!("a connection from {address} was not accepted: {error}"),
            }
        });
    }
}
