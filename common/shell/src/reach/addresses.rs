//! This machine's own addresses.

use std::net::{IpAddr, SocketAddr};

use common::reach::{Candidate, Kind};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// Returns the addresses of this machine's networks with `port`; the loopback's only if there is no other.
pub(super) fn local(port: u16, ipv6: bool) -> Vec<Candidate> {
    let mut found: Vec<(bool, Candidate)> = Vec::new();
    // A system that does not tell has none.
    for interface in getifaddrs().into_iter().flatten() {
        if !interface.flags.contains(InterfaceFlags::IFF_UP) {
            continue;
        }
        let Some(ip) = interface.address.as_ref().and_then(ip) else { continue };
        let kind = match ip {
            IpAddr::V4(_) => Kind::Local,
            IpAddr::V6(_) if !ipv6 => continue,
            IpAddr::V6(_) => Kind::Ipv6,
        };
        if let Some(candidate) = Candidate::new(kind, SocketAddr::new(ip, port)) {
            found.push((ip.is_loopback(), candidate));
        }
    }
    let only_loopback = found.iter().all(|(loopback, _)| *loopback);
    found.into_iter().filter(|(loopback, _)| *loopback == only_loopback).map(|(_, candidate)| candidate).collect()
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}
