//! `nodes ADDRESS..`: a node of BitTorrent's DHT at each of these IPv4 addresses, which enter their network by the first, at
//! port 6881, until the program is ended. Each address must be of another network, as on the internet.

use std::error::Error;
use std::net::Ipv4Addr;

use mainline::Dht;

/// Port of each.
const PORT: u16 = 6881;

fn main() -> Result<(), Box<dyn Error>> {
    let addresses = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<Ipv4Addr>, _>>()?;
    let first = addresses.first().ok_or("nodes ADDRESS..: an IPv4 address for each node")?;
    let entrance = format!("{first}:{PORT}");
    let start = |address: &Ipv4Addr| {
        let mut node = Dht::builder();
        let node = node.server_mode().bootstrap(&[&entrance]);
        node.bind_address(*address).port(PORT).build()
    };
    let nodes = addresses.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for node in &nodes[1..] {
        runtime.block_on(node.clone().as_async().bootstrapped());
    }
    println!("{} nodes", nodes.len());
    loop {
        std::thread::park();
    }
}
