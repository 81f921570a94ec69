//! Networks in which an address means something.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The largest network in which an address means one machine. The order is that of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One machine.
    Machine,
    /// One house, a private network, or between a carrier and its homes; or nowhere that anybody should send to.
    House,
    /// The internet.
    World,
}

impl Scope {
    /// Returns that of an address. One of IPv6 that stands for one of IPv4 has that one's.
    pub fn of(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self::of_v4(ip),
            IpAddr::V6(ip) => Self::of_v6(ip),
        }
    }

    fn of_v4(ip: Ipv4Addr) -> Self {
        let [first, second, third, _] = ip.octets();
        let is_carriers = first == 100 && second & 0xc0 == 64;
        // Of protocols, and of measurements (RFC 6890).
        let is_special = (first, second, third) == (192, 0, 0) || first == 198 && second & 0xfe == 18;
        match first {
            0 | 127 => Self::Machine,
            _ if ip.is_private() || ip.is_link_local() || is_carriers || is_special => Self::House,
            224.. => Self::House,
            _ => Self::World,
        }
    }

    fn of_v6(ip: Ipv6Addr) -> Self {
        let v4 = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match ip.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Machine,
            // Written into IPv6: by itself, for a translator (RFC 6052, 8215), and for 6to4.
            [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
            [0x64, 0xff9b, 1, ..] => Self::House,
            [0x2002, high, low, ..] => v4(high, low),
            // Local to a site (of before, too), to a cable, and groups.
            [0xfc00..=0xfdff | 0xfe80..=0xffff, ..] => Self::House,
            _ => Self::World,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_an_address_is_that_of_the_machine_that_it_reaches() {
        for (scope, addresses) in [
            (
                Scope::Machine,
                &[
                    "127.0.0.1",
                    "127.9.9.9",
                    "0.0.0.0",
                    "::1",
                    "::",
                    "::ffff:127.0.0.1",
                    "64:ff9b::7f00:1",
                    "2002:7f00:1::",
                    "::127.0.0.1",
                ][..],
            ),
            (
                Scope::House,
                &[
                    "10.0.0.1",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.1.1",
                    "169.254.169.254",
                    "100.64.0.1",
                    "100.127.0.1",
                    "192.0.0.8",
                    "198.18.0.1",
                    "198.19.0.1",
                    "224.0.0.251",
                    "255.255.255.255",
                    "fe80::1",
                    "fec0::1",
                    "fc00::1",
                    "fdff::1",
                    "ff02::fb",
                    "::ffff:10.0.0.1",
                    "64:ff9b::a00:1",
                    "64:ff9b:1::1",
                    "2002:c0a8:101::1",
                ],
            ),
            (
                Scope::World,
                &[
                    "203.0.113.5",
                    "100.128.0.1",
                    "172.32.0.1",
                    "192.0.1.1",
                    "198.20.0.1",
                    "2001:db8::1",
                    "2002:cb00:7105::1",
                    "64:ff9b::cb00:7105",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(Scope::of(address.parse().unwrap()), scope, "{address}");
            }
        }
        assert!(Scope::Machine < Scope::House && Scope::House < Scope::World);
    }
}
