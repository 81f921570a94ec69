//! The socket that a client of the DHT uses, and the names by which the network is entered.

use std::net::{SocketAddr, SocketAddrV4};

use common::dht::{Client, Event, Id};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::{Duration, timeout};

use crate::failure::Failure;
use crate::reach::proof::random;
use crate::{clock, wait};

/// Most entrances, and the time in which their names are to be found: one of them, and each other.
const ENTRANCES_MAX: usize = 8;
const NAMES: Duration = Duration::from_secs(3);
const OTHER_NAMES: Duration = Duration::from_millis(300);
/// Datagrams that are read at once, before anything else is looked at.
const READ_MAX: usize = 64;
/// Longest datagram that is read.
const DATAGRAM_BYTES_MAX: usize = 2048;
/// Time that a try to enter the network takes at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket of a client.
pub(super) struct Wire(pub(super) UdpSocket);

impl Wire {
    /// Waits for something that the client has asked for, and hands it over. What is nobody's wakes nobody: whoever floods this
    /// socket costs the reading of it. Nothing is lost if it is dropped.
    pub(super) async fn wait(&self, client: &mut Client) {
        loop {
            if self.0.readable().await.is_ok() && self.read(client) {
                return;
            }
            // So that others on this thread have their turn.
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn send(&self, client: &mut Client) {
        let number = || random().map_or(0, u32::from_be_bytes);
        while let Some((to, datagram)) = client.poll_transmit(number, clock::now()) {
            if let Err(error) = self.0.send_to(&datagram, to).await {
                tracing::debug!("{to}: {error}");
            }
        }
    }

    /// Hands over what has come; true if the client had asked for some of it.
    fn read(&self, client: &mut Client) -> bool {
        let mut datagram = [0; DATAGRAM_BYTES_MAX];
        let mut is_news = false;
        for _ in 0..READ_MAX {
            match self.0.try_recv_from(&mut datagram) {
                Ok((length, from)) => {
                    if let Some(from) = v4(from) {
                        is_news |= client.on_datagram(from, &datagram[..length], clock::now());
                    }
                }
                // Also an answer of the network that somebody is not there.
                Err(_) => break,
            }
        }
        is_news
    }
}

/// Returns the addresses of these names, and true if one is written as an address of this machine. A name server that says so makes
/// nobody ask this machine's other programs.
pub(super) async fn resolve(nodes: &[String]) -> (Vec<SocketAddrV4>, bool) {
    let mut entrances = Vec::new();
    let look = |node: &String| timeout(NAMES, lookup_host(node.clone()));
    let mut looks: FuturesUnordered<_> = nodes.iter().take(ENTRANCES_MAX).map(look).collect();
    // One is enough to begin with: a name that is not found keeps nobody from those that are.
    let mut patience = NAMES;
    while let Ok(Some(found)) = timeout(patience, looks.next()).await {
        match found {
            Ok(Ok(addresses)) => {
                entrances.extend(addresses.filter_map(v4).take(1));
                patience = OTHER_NAMES;
            }
            Ok(Err(error)) => tracing::debug!("an entrance to the DHT: {error}"),
            Err(_) => tracing::debug!("the name of an entrance to the DHT is not found in time"),
        }
    }
    let is_near = |node: &String| node.parse::<SocketAddrV4>().is_ok_and(|address| address.ip().is_loopback());
    let within_machine = nodes.iter().any(is_near);
    (entrances, within_machine)
}

/// Returns how many nodes answer if the network is entered by `nodes`.
pub(in crate::reach) async fn answers(nodes: &[String]) -> Result<usize, Failure> {
    let (entrances, within_machine) = resolve(nodes).await;
    let mut client = Client::new(within_machine);
    client.set_entrances(entrances);
    let socket = Wire(UdpSocket::bind("0.0.0.0:0").await.map_err(|error| Failure::network(error.to_string()))?);
    client.start(Id(random()?), Id(random()?), None, clock::now());
    let asked = async {
        loop {
            socket.send(&mut client).await;
            while let Some(event) = client.poll_event() {
                if let Event::Done { answers, .. } = event {
                    return answers;
                }
            }
            let next = client.poll_timeout(clock::now());
            tokio::select! {
                () = socket.wait(&mut client) => {}
                () = wait::until(next) => {}
            }
        }
    };
    Ok(timeout(PATIENCE, asked).await.unwrap_or(0))
}

/// Returns the address if it is of IPv4: the network of IPv6 is another one, and small.
fn v4(address: SocketAddr) -> Option<SocketAddrV4> {
    match address {
        SocketAddr::V4(v4) => Some(v4),
        SocketAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_writes_an_address_of_this_machine_has_its_nodes_asked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let names = |text: &str| vec![text.to_owned(), "not.found.invalid:6881".to_owned()];
            let here: SocketAddrV4 = "127.0.0.1:6881".parse().unwrap();
            assert_eq!(resolve(&names("127.0.0.1:6881")).await, (vec![here], true));
            // As a name server says where somebody blocks the network, or wants this machine's other programs asked.
            let (entrances, within_machine) = resolve(&names("localhost:6881")).await;
            assert_eq!((entrances.as_slice(), within_machine), ([here].as_slice(), false));
            let mut client = Client::new(within_machine);
            client.set_entrances(entrances);
            client.start(Id([1; 20]), Id([2; 20]), None, clock::now());
            assert_eq!(client.poll_transmit(|| 1, clock::now()), None);
        });
    }
}
