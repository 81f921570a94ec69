//! Addresses of names, and those of one network cable (`[fe80::1%eth0]:4820`), whose zone is a network of this machine.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use common::path::ways::is_of_one_cable;
use nix::net::if_::{if_indextoname, if_nametoindex};

/// Addresses of one name that are dialled.
pub(crate) const DIALLED_MAX: usize = 4;

/// Returns the addresses of `HOST:PORT`. A network that this machine does not have now is an error like a name that is not known.
pub(crate) async fn look_up(address: &str) -> io::Result<Vec<SocketAddr>> {
    match on_cable(address) {
        Some(found) => Ok(vec![found?.into()]),
        None => Ok(tokio::net::lookup_host(address).await?.collect()),
    }
}

/// Does the same and waits for it.
pub fn look_up_now(address: &str) -> io::Result<Vec<SocketAddr>> {
    match on_cable(address) {
        Some(found) => Ok(vec![found?.into()]),
        None => Ok(address.to_socket_addrs()?.collect()),
    }
}

/// Returns `address` with the number of its zone in the place of a name, where this machine has such a network.
pub fn numbered(address: &str) -> String {
    on_cable(address).and_then(Result::ok).map_or_else(|| address.to_owned(), |found| found.to_string())
}

/// Returns the address with the name of its zone, which is the same the next time that the machine is started.
pub fn named(address: SocketAddr) -> String {
    let name = match address {
        SocketAddr::V6(v6) if is_of_one_cable(address) => if_indextoname(v6.scope_id()).ok(),
        _ => None,
    };
    match name.as_ref().and_then(|name| name.to_str().ok()) {
        Some(name) => format!("[{}%{name}]:{}", address.ip(), address.port()),
        None => address.to_string(),
    }
}

/// Returns what `[IP%ZONE]:PORT` means; none: it is written in another way.
fn on_cable(address: &str) -> Option<io::Result<SocketAddrV6>> {
    let (host, port) = address.strip_prefix('[')?.rsplit_once("]:")?;
    let (ip, zone) = host.split_once('%')?;
    let (ip, port) = (ip.parse::<Ipv6Addr>().ok()?, port.parse::<u16>().ok()?);
    let number = zone.parse::<u32>().ok().map_or_else(|| if_nametoindex(zone), Ok);
    let missing = |_| io::Error::new(io::ErrorKind::NotFound, format!("this machine has no network `{zone}` now"));
    Some(number.map_err(missing).map(|number| SocketAddrV6::new(ip, port, 0, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_the_name_or_the_number_of_a_network_of_this_machine() {
        let number = if_nametoindex("lo").unwrap();
        let there: SocketAddr = SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, number).into();
        for written in ["[fe80::1%lo]:7", &format!("[fe80::1%{number}]:7")] {
            assert_eq!(look_up_now(written).unwrap(), [there], "{written}");
            assert_eq!(numbered(written), there.to_string());
        }
        assert_eq!(named(there), "[fe80::1%lo]:7");
        let error = look_up_now("[fe80::1%nowhere0]:7").unwrap_err().to_string();
        assert_eq!(error, "this machine has no network `nowhere0` now");
        assert_eq!(numbered("[fe80::1%nowhere0]:7"), "[fe80::1%nowhere0]:7");
    }

    #[test]
    fn other_addresses_are_what_they_were() {
        for address in ["127.0.0.1:7", "[2001:db8::1]:7", "[::1]:7"] {
            let found: SocketAddr = address.parse().unwrap();
            assert_eq!((look_up_now(address).unwrap(), named(found)), (vec![found], address.to_owned()));
            assert_eq!(numbered(address), address);
        }
        assert_eq!(numbered("home.example:4820"), "home.example:4820");
    }
}
