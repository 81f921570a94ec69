//! Addresses at which a machine may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use super::kinds::Kind;
use super::scope::Scope;

/// Most addresses that one machine gives another.
pub const ADDRESSES_MAX: usize = 8;
/// Bytes of the longest candidate in a message: its kind and family, an IPv6 address, a port.
const CANDIDATE_BYTES_MAX: usize = 1 + 16 + 2;
/// Bytes of the longest list of them.
pub const CANDIDATES_BYTES_MAX: usize = 1 + ADDRESSES_MAX * CANDIDATE_BYTES_MAX;

const _: () = assert!(ADDRESSES_MAX <= u8::MAX as usize, "a byte counts them");

/// An address at which a machine may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Kind of the address.
    pub kind: Kind,
    /// The address, never an IPv4 address within an IPv6 one.
    pub address: SocketAddr,
}

impl Candidate {
    /// Returns the candidate if [`usable`].
    pub fn new(kind: Kind, address: SocketAddr) -> Option<Self> {
        let address = canonical(address);
        usable(address).then_some(Self { kind, address })
    }

    /// Returns true if the address means something in its own house only, or between a carrier and its homes.
    pub(super) fn is_in_house(&self) -> bool {
        matches!(self.kind, Kind::Host | Kind::HostIpv6) && Scope::of(self.address.ip()) < Scope::World
    }

    /// Appends its bytes: kind and family, address, port.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let kind = self.kind.number();
        match self.address.ip() {
            IpAddr::V4(ip) => {
                bytes.push(kind);
                bytes.extend(ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes.push(kind | V6);
                bytes.extend(ip.octets());
            }
        }
        bytes.extend(self.address.port().to_be_bytes());
    }

    /// Takes one from the front of `bytes`; none if that is no candidate.
    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let first = take::<1>(bytes)?[0];
        let kind = Kind::of_number(first & !V6)?;
        let ip: IpAddr = match first & V6 {
            0 => Ipv4Addr::from(take::<4>(bytes)?).into(),
            _ => Ipv6Addr::from(take::<16>(bytes)?).into(),
        };
        let address = SocketAddr::new(ip, u16::from_be_bytes(take(bytes)?));
        Self::new(kind, address).filter(|candidate| candidate.address == address)
    }

    /// Appends a count and so many candidates, [`ADDRESSES_MAX`] at most. Addresses of one cable are left out: their zone is
    /// this machine's own name of it.
    pub(crate) fn encode_all(candidates: &[Self], bytes: &mut Vec<u8>) {
        let candidates = candidates.iter().filter(|candidate| !is_of_one_cable(candidate.address)).take(ADDRESSES_MAX);
        let candidates: Vec<_> = candidates.collect();
        bytes.push(candidates.len() as u8);
        for candidate in candidates {
            candidate.encode(bytes);
        }
    }

    /// Takes what [`Candidate::encode_all`] has written.
    pub(crate) fn decode_all(bytes: &mut &[u8]) -> Option<Vec<Self>> {
        let count = usize::from(take::<1>(bytes)?[0]);
        if count > ADDRESSES_MAX {
            return None;
        }
        (0..count).map(|_| Self::decode(bytes)).collect()
    }
}

/// Bit of the first byte that tells an IPv6 address.
const V6: u8 = 0x80;

/// Takes `N` bytes from the front.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

/// Returns the address as people write it: an IPv4 address within an IPv6 one as itself, and a zone where it means something.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    let SocketAddr::V6(v6) = address else { return address };
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => {
            let zone = if ip.is_unicast_link_local() { v6.scope_id() } else { 0 };
            SocketAddrV6::new(ip, v6.port(), 0, zone).into()
        }
        v4 => SocketAddr::new(v4, v6.port()),
    }
}

/// Returns true for an IPv6 address that each cable may have (`fe80::...`): only with the zone, the number of one of this machine's
/// networks, it is that of one machine.
pub fn is_of_one_cable(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local())
}

/// Returns true if a packet can be sent there that reaches one machine: no port 0, no group, no address of one cable of which
/// nothing says which.
pub fn usable(address: SocketAddr) -> bool {
    let one = match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            !(ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_broadcast()
                || ip.octets()[0] == 0
                || ip.octets()[0] >= 240)
        }
        IpAddr::V6(ip) => {
            let is_anywhere = matches!(address, SocketAddr::V6(v6) if ip.is_unicast_link_local() && v6.scope_id() == 0);
            !(ip.is_unspecified() || ip.is_multicast() || is_anywhere)
        }
    };
    one && address.port() != 0
}

/// Returns the candidates of all lists, each address once, the preferred kinds first, [`ADDRESSES_MAX`] at most. Where they
/// are too many, each kind keeps its first ones.
pub fn merge(lists: &[&[Candidate]]) -> Vec<Candidate> {
    let mut merged: Vec<Candidate> = Vec::new();
    for &candidate in lists.iter().copied().flatten() {
        match merged.iter_mut().find(|known| known.address == candidate.address) {
            Some(known) => known.kind = known.kind.min(candidate.kind),
            None => merged.push(candidate),
        }
    }
    merged.sort_by_key(|candidate| candidate.kind);
    // A machine with many networks must not push out the one address by which others find it.
    while merged.len() > ADDRESSES_MAX {
        let count = |kind: Kind| merged.iter().filter(|candidate| candidate.kind == kind).count();
        let most = merged.iter().map(|candidate| candidate.kind).max_by_key(|&kind| count(kind));
        let Some(last) = merged.iter().rposition(|candidate| Some(candidate.kind) == most) else { break };
        merged.remove(last);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(kind: Kind, text: &str) -> Candidate {
        Candidate::new(kind, text.parse().unwrap()).unwrap()
    }

    #[test]
    fn addresses_that_reach_no_single_machine_are_none() {
        for wrong in [
            "0.0.0.0:1",
            "1.2.3.4:0",
            "224.0.0.1:9",
            "255.255.255.255:9",
            "0.1.2.3:9",
            "[::]:9",
            "[ff02::1]:9",
            "[fe80::1]:9",
        ] {
            assert_eq!(Candidate::new(Kind::ServerReflexive, wrong.parse().unwrap()), None, "{wrong}");
        }
        let mapped = Candidate::new(Kind::ServerReflexive, "[::ffff:1.2.3.4]:9".parse().unwrap()).unwrap();
        assert_eq!(mapped.address, "1.2.3.4:9".parse().unwrap());
    }

    #[test]
    fn an_address_of_one_cable_keeps_its_zone_here_and_is_told_to_nobody() {
        let on_cable = candidate(Kind::HostIpv6, "[fe80::1%3]:9");
        assert_eq!(on_cable.address, "[fe80::1%3]:9".parse().unwrap());
        assert_ne!(on_cable, candidate(Kind::HostIpv6, "[fe80::1%4]:9"), "another machine");
        assert_eq!(canonical("[2001:db8::1%3]:9".parse().unwrap()), "[2001:db8::1]:9".parse().unwrap());
        assert!(is_of_one_cable(on_cable.address) && !is_of_one_cable("169.254.1.1:9".parse().unwrap()));
        let mut bytes = Vec::new();
        Candidate::encode_all(&[on_cable, candidate(Kind::Host, "192.168.1.7:4820")], &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(Candidate::decode_all(&mut rest), Some(vec![candidate(Kind::Host, "192.168.1.7:4820")]));
        // Nor is one taken from anybody.
        bytes.clear();
        on_cable.encode(&mut bytes);
        assert_eq!(Candidate::decode(&mut bytes.as_slice()), None);
    }

    #[test]
    fn an_address_of_this_machine_may_be_one_outside() {
        for (kind, address, is_in_house) in [
            (Kind::Host, "192.168.1.7:9", true),
            (Kind::Host, "100.127.1.7:9", true),
            (Kind::Host, "100.128.1.7:9", false),
            (Kind::Host, "203.0.113.7:9", false),
            (Kind::HostIpv6, "[fd00::7]:9", true),
            (Kind::HostIpv6, "[2001:db8::7]:9", false),
            (Kind::ServerReflexive, "10.0.0.7:9", false),
        ] {
            assert_eq!(candidate(kind, address).is_in_house(), is_in_house, "{address}");
        }
    }

    #[test]
    fn the_one_address_that_is_seen_stays_among_many_local_ones() {
        let local: Vec<_> = (1..20).map(|n| candidate(Kind::Host, &format!("10.0.0.{n}:4820"))).collect();
        let seen =
            [candidate(Kind::ServerReflexive, "203.0.113.5:4820"), candidate(Kind::ServerReflexive, "10.0.0.1:4820")];
        let merged = merge(&[&seen, &local]);
        assert_eq!(merged.len(), ADDRESSES_MAX);
        assert_eq!(merged[0], local[0], "an address is there once, as the better kind");
        assert_eq!(*merged.last().unwrap(), seen[0]);
    }

    #[test]
    fn candidates_survive_their_bytes() {
        let all = [
            candidate(Kind::HostIpv6, "[2001:db8::1]:4820"),
            candidate(Kind::Host, "192.168.1.7:4820"),
            candidate(Kind::Mapped, "203.0.113.5:1"),
            candidate(Kind::ServerReflexive, "203.0.113.5:65535"),
        ];
        let mut bytes = Vec::new();
        Candidate::encode_all(&all, &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(Candidate::decode_all(&mut rest).unwrap(), all);
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            assert_eq!(Candidate::decode_all(&mut &bytes[..end]), None);
        }
    }
}
