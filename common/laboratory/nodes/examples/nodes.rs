//! `nodes ADDRESS..`: a node of BitTorrent's DHT at each of these IPv4 addresses, which enter their network by the first, at
//! port 6881, until the program is ended. Each address must be of another network, as on the internet.

use std::error::Error;
use std::net::Ipv4Addr;

fn main() -> Result<(), Box<dyn Error>> {
    let addresses = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<Ipv4Addr>, _>>()?;
    let _nodes = nodes::scatter(&addresses)?;
    println!("{} nodes", addresses.len());
    loop {
        std::thread::park();
    }
}
