//! Addresses of this machine, and of servers by their names.

use std::net::{IpAddr, SocketAddr};

use common::path::ways::{Candidate, Kind};
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
            IpAddr::V4(_) => Kind::Host,
            IpAddr::V6(_) if !ipv6 => continue,
            IpAddr::V6(_) => Kind::HostIpv6,
        };
        if let Some(candidate) = Candidate::new(kind, SocketAddr::new(ip, port)) {
            found.push((ip.is_loopback(), candidate));
        }
    }
    let only_loopback = found.iter().all(|(loopback, _)| *loopback);
    found.into_iter().filter(|(loopback, _)| *loopback == only_loopback).map(|(_, candidate)| candidate).collect()
}

/// Returns the addresses of this machine's networks, by which a change of networks is noticed.
pub(crate) fn own() -> Vec<Candidate> {
    local(1, true)
}

/// Returns true if a network of this machine is up, besides the loopback. A system that does not tell has one.
pub(crate) fn has_network() -> bool {
    let Ok(interfaces) = getifaddrs() else { return true };
    let works = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let mut others = interfaces.filter(|interface| !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK));
    others.any(|interface| interface.flags.contains(works) && interface.address.as_ref().and_then(ip).is_some())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// Returns the first address of each family: of a server that has many these tell all that there is to learn.
pub(super) fn one_of_each_family(all: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut v4, mut v6) = (None, None);
    for address in all {
        let first = if address.is_ipv4() { &mut v4 } else { &mut v6 };
        first.get_or_insert(address);
    }
    v4.into_iter().chain(v6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_name_with_forty_addresses_one_of_each_family_is_asked() {
        let address = |text: String| text.parse::<SocketAddr>().unwrap();
        let v6 = (1..=20).map(|n| address(format!("[2001:db8::{n}]:3478")));
        let v4 = (1..=20).map(|n| address(format!("203.0.113.{n}:3478")));
        let all: Vec<_> = v6.chain(v4).collect();
        assert_eq!(one_of_each_family(all.iter().copied()), [all[20], all[0]]);
        assert_eq!(one_of_each_family(all[..20].iter().copied()), [all[0]]);
        assert!(one_of_each_family([]).is_empty());
    }
}
