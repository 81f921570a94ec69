//! Kind of this machine's way to the outside, as servers outside have seen it, and the consequences for a call.

use std::net::{IpAddr, SocketAddr};

use super::candidate::Candidate;

/// The way outside, over IPv4 unless there is IPv6 only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// No server has answered.
    Silent,
    /// No router translates: this is the machine's own address.
    Open(IpAddr),
    /// The router shows all destinations one port.
    OnePort(IpAddr),
    /// The router shows each destination another port.
    PortPerDestination(IpAddr),
    /// A router translates; one server alone has answered, so that no more is known.
    Translated(IpAddr),
}

impl Outside {
    /// Returns what the machine with the addresses `own` sits behind; `seen`: where each server that answered has seen
    /// it.
    pub fn of(own: &[Candidate], seen: &[SocketAddr]) -> Self {
        let v4: Vec<_> = seen.iter().filter(|address| address.is_ipv4()).collect();
        let seen = if v4.is_empty() { seen.iter().collect() } else { v4 };
        let Some(&&first) = seen.first() else { return Self::Silent };
        if own.iter().any(|candidate| candidate.address.ip() == first.ip()) {
            return Self::Open(first.ip());
        }
        match seen.as_slice() {
            [_] => Self::Translated(first.ip()),
            all if all.iter().all(|&&address| address == first) => Self::OnePort(first.ip()),
            _ => Self::PortPerDestination(first.ip()),
        }
    }

    /// Returns true if calls by name find fewer homes than they could.
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Silent | Self::PortPerDestination(_))
    }

    /// Returns the finding and what follows, as a musician would say it.
    pub fn sentence(&self) -> String {
        match self {
            Self::Silent => {
                "no STUN server answers: UDP may not leave this house, or the servers are down; within the house \
                             calls work all the same"
                    .to_owned()
            }
            Self::Open(ip) => format!("no router stands before this machine ({ip}): every home finds it"),
            Self::OnePort(ip) => format!("a router that keeps its ports ({ip}): a way to most homes is found"),
            Self::PortPerDestination(ip) => format!(
                "a router that gives each destination another port ({ip}): a way is found only to homes with a more open \
                 router, or over IPv6"
            ),
            Self::Translated(ip) => {
                format!("a router ({ip}); only one STUN server answers, so what kind it is cannot be told")
            }
        }
    }

    /// Returns what a person can do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Silent => Some("allow UDP in the firewall, or name other servers in `[reach] stun`"),
            Self::PortPerDestination(_) => Some(
                "look in the router for `full cone` or `endpoint independent` NAT, or forward a UDP port to this machine",
            ),
            Self::Open(_) | Self::OnePort(_) | Self::Translated(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::reach::Kind;

    #[test]
    fn the_kind_of_router_follows_from_what_two_servers_see() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let home = [Candidate::new(Kind::Local, address("192.168.1.2:7")).unwrap()];
        let (one, other, six) = (address("203.0.113.5:7"), address("203.0.113.5:8"), address("[2001:db8::1]:7"));
        let ip = one.ip();
        for (seen, outside) in [
            (&[][..], Outside::Silent),
            (&[one], Outside::Translated(ip)),
            (&[one, one], Outside::OnePort(ip)),
            (&[six, one, one], Outside::OnePort(ip)),
            (&[one, other], Outside::PortPerDestination(ip)),
            (&[address("192.168.1.2:9")], Outside::Open(home[0].address.ip())),
        ] {
            let found = Outside::of(&home, seen);
            assert_eq!(found, outside);
            assert_eq!(found.is_bad(), found.advice().is_some());
            assert!(found.sentence().len() > 20);
        }
    }
}
