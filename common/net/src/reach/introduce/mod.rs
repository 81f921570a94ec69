//! `invite` and `join`, and `pair` with words: two machines that have never met remember each other's keys and addresses.

mod given;
mod invite;
mod join;
mod pair;
mod person;
mod post;

use std::time::{SystemTime, UNIX_EPOCH};

use common::config::{Password, Peer, SharedConfig, Turn};
use common::path::ways::{Candidate, Kind, Pair, Role, Scope, merge};
use common::reach::{Outside, Place};
use common::units::Bitrate;

pub use self::invite::invite;
pub use self::join::join;
pub use self::pair::pair;
pub use self::person::Person;
use super::peers::PeersFile;
use super::proof::{KnockKey, random};
use super::search::{Asks, Found, Search};
use super::{dht, open, port_of};
use crate::failure::Failure;
use crate::identity::Identity;
use crate::live_rate::LiveRate;
use crate::quic::{Beside, Endpoint, EndpointOptions, Takes};
use crate::runtime::on_the_network;
use crate::tls::Protocol;

/// Ports of calls by name: where systems take no ports by themselves, so that the port is free next time.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Ports that are tried.
const PORT_TRIES: usize = 20;

/// Finds out what this machine's way outside is like; takes up to two seconds. None: no server is to be asked.
pub fn outside(config: &SharedConfig) -> Result<Option<Outside>, Failure> {
    if config.stun.is_empty() && config.turn.servers.is_empty() {
        return Ok(None);
    }
    // Nobody is met, so any key does.
    let identity = Identity::generate()?;
    on_the_network(async {
        let (_endpoint, beside, port) = endpoint(config, &identity, Vec::new(), Takes::Nothing)?;
        let knocks = KnockKey::of_nobody()?;
        let mut search = Search::new(beside, port, knocks, Role::Waits, &[], asks(config));
        while search.next().await? != Found::Addresses {}
        Ok(Some(search.outside()))
    })
}

/// Finds out how many nodes of the DHT answer; takes up to ten seconds. None: it is not to be asked.
pub fn dht_answers(config: &SharedConfig) -> Result<Option<usize>, Failure> {
    if config.dht.is_empty() {
        return Ok(None);
    }
    on_the_network(dht::answers(&config.dht)).map(Some)
}

/// Name and password that the relay's example once had: everybody can read them.
const EXAMPLE_USER: &str = "band";
const EXAMPLE_PASSWORD: &str = "CHANGE-ME";

/// Returns true if a relay of the configuration gives a place for the name and the password that its example once had; takes up to two
/// seconds.
pub fn relay_takes_the_example(config: &SharedConfig) -> Result<bool, Failure> {
    let turn =
        Turn { user: EXAMPLE_USER.to_owned(), password: Password(EXAMPLE_PASSWORD.to_owned()), ..config.turn.clone() };
    let outside = outside(&SharedConfig { stun: Vec::new(), turn, open_port: false, ..config.clone() })?;
    Ok(outside.is_some_and(|outside| matches!(outside.relay, Place::At(_))))
}

fn asks(config: &SharedConfig) -> Asks<'_> {
    Asks { stun: &config.stun, turn: &config.turn, open_port: config.open_port }
}

/// Seconds since 1970 on this machine's clock.
fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

pub(super) fn options(gso: bool, identity: &Identity, peers: Vec<Peer>) -> Result<EndpointOptions, Failure> {
    let rate = LiveRate::new(Bitrate::from_bps(0));
    Ok(EndpointOptions { gso, ..EndpointOptions::new(identity, peers, Protocol::Introduction, rate, 0)? })
}

/// Opens a socket at a port that a later call can use again.
fn endpoint(
    config: &SharedConfig,
    identity: &Identity,
    peers: Vec<Peer>,
    takes: Takes,
) -> Result<(Endpoint, Beside, u16), Failure> {
    let options = options(config.gso, identity, peers)?;
    let mut last = Failure::network("there is no free UDP port");
    for _ in 0..PORT_TRIES {
        let port = PORTS.start + u16::from_le_bytes(random()?) % (PORTS.end - PORTS.start);
        match open(&options, port, takes) {
            Ok((endpoint, beside)) => {
                let port = port_of(&endpoint)?;
                return Ok((endpoint, beside, port));
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// A machine as it tells of itself when it is introduced.
struct Other {
    candidates: Vec<Candidate>,
    /// In its owner's words; empty: none.
    name: String,
}

/// Returns the places of a machine in later calls: those it tells, and where it was found. Its place at a relay lasts as
/// long as its program. Addresses in this machine or house are taken of whoever was found there.
fn with_observed(found: Pair, told: &[Candidate]) -> Vec<Candidate> {
    let (relays, told): (Vec<Candidate>, Vec<_>) =
        told.iter().copied().partition(|candidate| candidate.kind == Kind::Relayed);
    let is_direct = !found.is_relayed() && relays.iter().all(|relay| relay.address != found.to);
    let near = if is_direct { Scope::of(found.to.ip()) } else { Scope::World };
    let told: Vec<_> = told.into_iter().filter(|candidate| Scope::of(candidate.address.ip()) >= near).collect();
    let observed = Candidate::new(Kind::ServerReflexive, found.to).filter(|_| is_direct);
    merge(&[&told, observed.as_slice()])
}

fn show_result(name: &str, file: &PeersFile, person: &dyn Person) {
    let path = file.path().display();
    person.say(&format!("{name} is remembered in {path}; `sender call {name}` calls"));
}
