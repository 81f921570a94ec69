//! The way to the other side: whom to dial, where to listen, and who helps two machines to find each other.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::config::choice::{checked, choice, value};
use crate::config::error::ConfigError;
use crate::config::resolved::{LinkMode, Meet, Password, Peer, Turn};
use crate::config::table::{ConfigFile, PeerSection};
use crate::path::ways::{ADDRESSES_MAX, Candidate, Kind, PLACES_MAX, is_of_one_cable, usable};
use crate::public_key::PublicKey;
use crate::reach::FOUND_MAX;

/// Nodes by which the DHT is entered, at most.
const DHT_NODES_MAX: usize = 8;
/// Longest name or password at a relay, bytes.
const TURN_WORD_MAX: usize = 256;
/// Machines at most that are told that this one is in a call.
const OTHERS_MAX: usize = 32;
/// Names what is wrong where nobody is known.
const NOBODY_TO_MEET: &str = "`meet` needs a peer: type `invite` on one side and `join` on the other";

/// UDP port of a listener that names none.
pub const DEFAULT_PORT: u16 = 4820;

pub(super) fn link_mode(file: &ConfigFile, dials_by_default: bool) -> Result<LinkMode, ConfigError> {
    let ConfigFile { network, peers, .. } = file;
    let (dial, listen, meet) = (("dial", Mode::Dial), ("listen", Mode::Listen), ("meet", Mode::Meet));
    let modes = if dials_by_default { [dial, listen, meet] } else { [listen, dial, meet] };
    let mode = network.mode.as_deref().unwrap_or(modes[0].0);
    let mode = choice("network.mode", mode, &modes)?;
    let introduced = peers.iter().find(|peer| peer.addresses.is_some());
    if mode == Mode::Meet {
        let introduced = introduced.or(peers.first()).ok_or_else(|| value("network.mode", NOBODY_TO_MEET))?;
        let mut meet = meeting(introduced, file)?;
        // What is wrong about them is no reason not to call somebody else.
        let others = file.others.iter().filter_map(|other| meeting(other, file).ok());
        meet.others = others.filter(|other| other.port != meet.port).take(OTHERS_MAX).collect();
        return Ok(LinkMode::Meet(Box::new(meet)));
    }
    if mode == Mode::Dial {
        let of_peer = || peers.iter().find_map(|peer| peer.address.as_ref());
        let Some(address) = network.address.as_ref().or_else(of_peer) else {
            return match introduced {
                Some(peer) if network.mode.is_none() => meeting(peer, file).map(Box::new).map(LinkMode::Meet),
                _ => Ok(LinkMode::DialNobody),
            };
        };
        let to_dial = with_port(address).ok_or_else(|| {
            let message =
                format!("`{address}` is not an address to dial: write HOST or HOST:PORT, such as home.example:4820");
            value("network.address", message)
        })?;
        return has_its_zone("network.address", to_dial).map(LinkMode::Dial);
    }
    let address = network.address.clone().unwrap_or_else(|| format!("[::]:{DEFAULT_PORT}"));
    let address = has_its_zone("network.address", address)?;
    address.parse().map(LinkMode::Listen).map_err(|_| {
        let message = match address.contains('%') {
            true => format!("`{address}` is not an address to listen at: this machine has no network of that name"),
            false => {
                format!(
                    "`{address}` is not an address to listen at: write IP:PORT, such as 0.0.0.0:4820 or [::]:4820; one that \
                     only the sender dials belongs in [sender.network]"
                )
            }
        };
        value("network.address", message)
    })
}

/// Returns `address`, a `HOST:PORT`, unless it is one that each cable may have and lacks the zone that says which.
fn has_its_zone(key: &'static str, address: String) -> Result<String, ConfigError> {
    match address.parse() {
        Ok(found) if is_of_one_cable(found) && !usable(found) && found.port() > 0 => Err(value(
            key,
            format!(
                "`{address}` may be on any cable: say on which of this machine's networks, as in [{}%eth0]:{}",
                found.ip(),
                found.port()
            ),
        )),
        _ => Ok(address),
    }
}

/// Returns `HOST:PORT` for `HOST[:PORT]`, with [`DEFAULT_PORT`] where there is none and an IPv6 address in brackets; nothing
/// for a text that is no such address.
pub fn with_port(address: &str) -> Option<String> {
    if address.is_empty() || address.contains(char::is_whitespace) {
        return None;
    }
    let without_zone = address.split_once('%').map_or(address, |(ip, _)| ip);
    if without_zone.parse::<Ipv6Addr>().is_ok() {
        return Some(format!("[{address}]:{DEFAULT_PORT}"));
    }
    match address.rsplit_once(':') {
        None => Some(format!("{address}:{DEFAULT_PORT}")),
        Some((_, rest)) if rest.ends_with(']') => Some(format!("{address}:{DEFAULT_PORT}")),
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => {
            Some(address.to_owned())
        }
        Some(_) => None,
    }
}

/// Values of `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Dial,
    Listen,
    Meet,
}

/// Returns the address as one where a machine may be; none if it reaches no single machine. How it was found shows.
pub fn candidate_of(address: SocketAddr) -> Option<Candidate> {
    let kind = match address.ip().to_canonical() {
        IpAddr::V6(_) => Kind::HostIpv6,
        IpAddr::V4(ip) if ip.is_private() || ip.is_loopback() => Kind::Host,
        IpAddr::V4(_) => Kind::ServerReflexive,
    };
    Candidate::new(kind, address)
}

/// Returns the way to find a peer: where it was found when it was introduced, or its address. Without any it may call
/// from anywhere.
fn meeting(raw: &PeerSection, file: &ConfigFile) -> Result<Meet, ConfigError> {
    let texts = raw.addresses.as_deref().unwrap_or_default();
    let found = raw.found.as_deref().unwrap_or_default();
    let candidate = |(key, text): (&'static str, &String)| {
        text.parse()
            .ok()
            .and_then(candidate_of)
            .ok_or_else(|| value(key, format!("`{text}` is not an address: write IP:PORT, such as 203.0.113.5:20000")))
    };
    let introduced = raw.addresses.is_some();
    if introduced && texts.is_empty() || texts.len() > ADDRESSES_MAX {
        return Err(value("peer.addresses", format!("{} addresses: it takes 1 to {ADDRESSES_MAX}", texts.len())));
    }
    if found.len() > FOUND_MAX {
        return Err(value("peer.found", format!("{} addresses: it takes {FOUND_MAX} at most", found.len())));
    }
    let port = raw.port.or((!introduced).then_some(DEFAULT_PORT)).filter(|port| *port > 0);
    let host = raw.address.as_ref().filter(|_| !introduced).map(|address| {
        let host = with_port(address).ok_or_else(|| {
            value(
                "peer.address",
                format!("`{address}` is not an address: write HOST or HOST:PORT, such as home.example:4820"),
            )
        })?;
        has_its_zone("peer.address", host)
    });
    // Numbers of networks change from one start of the machine to the next, so that one on a cable is looked up.
    let known = found.iter().map(|text| ("peer.found", text)).chain(texts.iter().map(|text| ("peer.addresses", text)));
    let (on_cables, others): (Vec<_>, Vec<_>) = known.partition(|(_, text)| text.contains('%'));
    let host = host.or_else(|| on_cables.first().map(|(_, text)| Ok(text.to_string())));
    let (mailbox, dht) = (mailbox(file)?, dht(file)?);
    Ok(Meet {
        peer: peer(raw)?,
        candidates: others.into_iter().map(candidate).collect::<Result<_, _>>()?,
        host: host.transpose()?,
        port: port
            .ok_or_else(|| value("peer.port", "this machine's UDP port is missing: 1 to 65535, beside `addresses`"))?,
        turn: turn(file)?,
        open_port: file.expert.open_port,
        house: file.expert.house,
        stun: if mailbox.is_some() || !dht.is_empty() { stun(file)? } else { Vec::new() },
        mailbox,
        dht,
        others: Vec::new(),
    })
}

/// Returns the nodes by which the DHT is entered; none if it is not to be used.
pub(super) fn dht(file: &ConfigFile) -> Result<Vec<String>, ConfigError> {
    let nodes = &file.expert.dht_nodes;
    if let Some(wrong) = nodes.iter().find(|node| !is_server(node)) {
        let message = format!("`{wrong}` is no node: write HOST:PORT, such as router.bittorrent.com:6881");
        return Err(value("expert.dht_nodes", message));
    }
    if nodes.len() > DHT_NODES_MAX || file.network.dht && nodes.is_empty() {
        return Err(value("expert.dht_nodes", format!("{} nodes: it takes 1 to {DHT_NODES_MAX}", nodes.len())));
    }
    Ok(if file.network.dht { nodes.clone() } else { Vec::new() })
}

pub(super) fn stun(file: &ConfigFile) -> Result<Vec<String>, ConfigError> {
    let servers = &file.expert.stun;
    match servers.iter().find(|server| !is_server(server)) {
        Some(server) => {
            Err(value("expert.stun", format!("`{server}` is no server: write HOST:PORT, such as stun.example:3478")))
        }
        None => Ok(servers.clone()),
    }
}

/// True for `HOST:PORT`.
fn is_server(text: &str) -> bool {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(1..))) && !text.contains(char::is_whitespace)
}

pub(super) fn mailbox(file: &ConfigFile) -> Result<Option<String>, ConfigError> {
    let text = &file.reach.mailbox;
    if text.is_empty() {
        return Ok(None);
    }
    let server = text.strip_prefix("ws://").map(|rest| rest.split('/').next().unwrap_or_default());
    if server.is_some_and(|server| is_server(server) || !server.is_empty() && !server.contains([':', ' '])) {
        return Ok(Some(text.clone()));
    }
    let message = format!(
        "`{text}` is no mailbox server: write ws://HOST:PORT/PATH, such as ws://meet.example:4000/v1 (what it carries is \
         sealed by the words, so that it needs no wss)"
    );
    Err(value("reach.mailbox", message))
}

pub(super) fn turn(file: &ConfigFile) -> Result<Turn, ConfigError> {
    let reach = &file.reach;
    let servers = reach.turn.iter().map(|text| {
        let server = text.strip_prefix("turn:").filter(|server| is_server(server));
        server.map(str::to_owned).ok_or_else(|| {
            value("reach.turn", format!("`{text}` is no relay: write turn:HOST:PORT, such as turn:relay.example:3478"))
        })
    });
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let (user, password) =
        (reach.turn_user.clone().unwrap_or_default(), reach.turn_password.clone().unwrap_or_default());
    for (key, text) in [("reach.turn_user", &user), ("reach.turn_password", &password)] {
        if !servers.is_empty() && text.is_empty() {
            return Err(value(
                key,
                "is missing: the relays in `reach.turn` serve whoever has a name and a password there",
            ));
        }
        if text.len() > TURN_WORD_MAX {
            return Err(value(key, format!("is too long: at most {TURN_WORD_MAX} bytes")));
        }
    }
    let [first, last] = file.expert.turn_ports;
    if first == 0 || last < first || last - first >= PLACES_MAX {
        let message =
            format!("[{first}, {last}] is no range: write the first and the last port, at most {PLACES_MAX} in all");
        return Err(value("expert.turn_ports", message));
    }
    Ok(Turn { servers, user, password: Password(password), ports: first..=last })
}

pub(super) fn metrics(address: &str) -> Result<SocketAddr, ConfigError> {
    address.parse().map_err(|_| {
        let message =
            format!("`{address}` is not an address for the metrics page: write IP:PORT, such as 127.0.0.1:9464");
        value("expert.metrics", message)
    })
}

pub(super) fn peer(raw: &PeerSection) -> Result<Peer, ConfigError> {
    let text = raw.public_key.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| {
        let whose = raw.name.as_ref().map(|name| format!(" of `{name}`")).unwrap_or_default();
        let message = format!(
            "a [[peer]] section{whose} has none: put the line there that `identity` prints on that machine, or get to know it with \
             `invite` and `join`"
        );
        value("peer.public_key", message)
    })?;
    let key: PublicKey = checked("peer.public_key", text.parse())?;
    Ok(Peer { name: raw.name.clone().unwrap_or_else(|| key.start()), key })
}
