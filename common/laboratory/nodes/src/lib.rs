//! A DHT on the loopback for tests of Duet's client: nodes of the crate `mainline`, which come and go, and hostile ones.

#![forbid(unsafe_code)]

mod hostile;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mainline::{Dht, Testnet};

pub use self::hostile::Conduct;

/// Nodes that stay, as the well-known ones do by which the network is entered.
const LASTING: usize = 4;

/// Port of nodes at addresses of their own.
pub const PORT: u16 = 6881;

/// Nodes at addresses of their own, until this is dropped.
#[derive(Debug)]
pub struct Scattered(#[allow(dead_code, reason = "the nodes end with it")] Vec<Dht>);

/// Starts a node at each of these addresses, of which each must be of another network, as on the internet; they enter their network by the
/// first. Returns once all are in it. Must not be called on a tokio runtime.
pub fn scatter(addresses: &[Ipv4Addr]) -> io::Result<Scattered> {
    let first = addresses.first().ok_or_else(|| io::Error::other("an IPv4 address for each node is needed"))?;
    let entrance = format!("{first}:{PORT}");
    let start = |address: &Ipv4Addr| {
        let mut node = Dht::builder();
        let node = node.server_mode().bootstrap(&[&entrance]);
        node.bind_address(*address).port(PORT).build()
    };
    let nodes = addresses.iter().map(start).collect::<io::Result<Vec<_>>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for node in &nodes[1..] {
        runtime.block_on(node.clone().as_async().bootstrapped());
    }
    Ok(Scattered(nodes))
}

/// A network of nodes.
#[derive(Debug)]
pub struct Nodes {
    testnet: Testnet,
    entrances: Vec<String>,
    asked: Arc<AtomicU64>,
}

impl Nodes {
    /// Starts `right` nodes, more than four, and as many of each hostile kind as are asked for. Must be called on a tokio runtime.
    pub async fn start(right: usize, hostile_each: u64) -> io::Result<Self> {
        let testnet = Testnet::builder(right).build()?;
        let mut entrances: Vec<_> = testnet.bootstrap.iter().take(LASTING).cloned().collect();
        let asked = Arc::new(AtomicU64::new(0));
        for seed in 0..hostile_each {
            for conduct in Conduct::ALL {
                entrances.push(hostile::start(conduct, seed, Arc::clone(&asked)).await?);
            }
        }
        Ok(Self { testnet, entrances, asked })
    }

    /// Returns `HOST:PORT` of nodes by which the network is entered: four that stay, and all hostile ones.
    pub fn entrances(&self) -> &[String] {
        &self.entrances
    }

    /// Returns how often hostile nodes were asked.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Lets so many nodes go, which ones by `seed`, and others come.
    pub fn churn(&mut self, count: usize, seed: usize) -> io::Result<()> {
        for n in 0..count {
            let at = LASTING + (seed * 7 + n * 13) % (self.testnet.nodes.len() - LASTING);
            self.testnet.nodes.swap_remove(at);
            let mut node = Dht::builder();
            let node = node.server_mode().bootstrap(&self.testnet.bootstrap[..LASTING]);
            self.testnet.nodes.push(node.bind_address(Ipv4Addr::LOCALHOST).port(0).build()?);
        }
        Ok(())
    }
}
