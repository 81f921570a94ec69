//! Hostile peers beside a call of two others, until they are told to stop.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use common::config::PublicKey;
use common::netsim::Random;
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{StreamEnd, encode};
use net::tls::Protocol;
use rustls::sign::CertifiedKey;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::weak_key as forged_key;
use crate::flood::Flood;
use crate::initial;
use crate::relay::{Tap, Way};
use crate::testbed::{ENDS, SECOND, SENDER, Testbed};
use crate::{flood, hostile};

/// Callers at once, each from an address of its own.
const CALLERS: u8 = 8;
/// Addresses of handshakes that hang, and the longest time until one begins the next.
const HANGING: u8 = 64;
const HANG: Duration = Duration::from_secs(3);
/// Datagrams of a hanging handshake that get through: the first, and the first with the proof of the address.
const LET_THROUGH: u32 = 2;
/// Calls from one port, whose buffers stay for some seconds after the last one: with 16 calls strangers without a pause took 5 GB.
const CALLS_A_PORT: u32 = 256;
/// Longest wait for a handshake's end, and for a connection's after it.
const ANSWER_MAX: Duration = Duration::from_secs(2);
const FLOOD_PER_SECOND: u32 = 10_000;
const FORGED_PER_SECOND: u32 = 2_000;
/// Bytes of the connection ids that both daemons choose.
const ID_BYTES: usize = 8;

/// A kind of hostile peer.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Description for the table.
    pub(crate) title: &'static str,
    /// Function that disturbs the call until told to stop.
    act: fn(&Ground, &Arc<AtomicBool>) -> Result<u64>,
}

/// All kinds, in the order of the table; the first does nothing, for comparison.
pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "nobody", title: "the call alone", act: nobody },
    Kind { name: "junk", title: "10,000 junk datagrams/s to both ends, from 64 addresses", act: junk },
    Kind { name: "initials", title: "10,000 handshakes/s begun, from 64 addresses", act: initials },
    Kind {
        name: "forged",
        title: "2,000 forged version negotiations, retries, refusals and resets/s with the call's ids, both ways",
        act: forged,
    },
    Kind { name: "stranger", title: "handshakes with a key that is not listed, without a pause", act: stranger },
    Kind { name: "weak-key", title: "handshakes with a key that anybody can sign for, without a pause", act: weak_key },
    Kind { name: "other-protocol", title: "a listed peer that speaks another protocol", act: other_protocol },
    Kind {
        name: "hanging",
        title: "handshakes from 56 addresses that never end; 8 of a listed peer that then says nothing",
        act: hanging,
    },
    Kind { name: "caller", title: "a second listed peer calls again and again", act: caller },
    Kind { name: "abuser", title: "a second listed peer breaks every rule", act: abuser },
    Kind { name: "link-tests", title: "a second listed peer tests the link again and again", act: link_tests },
];

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Kind {
    /// Disturbs the call until `stop` and returns the number of its acts.
    pub(crate) fn run(&self, ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
        (self.act)(ground, stop)
    }
}

/// Addresses and keys of a call that is disturbed.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The daemon that listens, and its key.
    target: SocketAddr,
    peer: PublicKey,
    /// The line between both daemons.
    tap: Tap,
    /// End of the daemon that dials.
    dials: StreamEnd,
    /// Keys of a peer that the daemon that listens allows besides the one that it is in a call with, and of nobody.
    second: Arc<CertifiedKey>,
    stranger: Arc<CertifiedKey>,
    seed: u64,
}

impl Ground {
    /// Returns the call of the testbed's keys in which the daemon at `target` `listens`.
    pub(crate) fn of(bed: &Testbed, listens: usize, target: SocketAddr, tap: Tap, seed: u64) -> Result<Self> {
        let key = |name| bed.identity(name)?.certified_key().map_err(anyhow::Error::from);
        Ok(Self {
            target,
            peer: bed.identity(ENDS[listens])?.public_key(),
            tap,
            dials: if listens == SENDER { StreamEnd::Receiver } else { StreamEnd::Sender },
            second: key(SECOND)?,
            stranger: key("stranger")?,
            seed,
        })
    }

    fn config(&self, key: &Arc<CertifiedKey>, protocol: Protocol) -> Result<quinn::ClientConfig> {
        hostile::client_as(Arc::clone(key), self.peer, protocol)
    }
}

fn nobody(_: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(1)
}

fn junk(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    let targets = [Some(ground.target), ground.tap.client()].into_iter().flatten().collect::<Vec<_>>();
    flood::pour(Flood::Junk, &targets, FLOOD_PER_SECOND, stop)
}

fn initials(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    flood::pour(Flood::Initials, &[ground.target], FLOOD_PER_SECOND, stop)
}

fn stranger(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    call(ground, stop, &ground.stranger, Protocol::Call, CallerAct::Wait)
}

fn weak_key(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    call(ground, stop, &forged_key::key()?, Protocol::Call, CallerAct::Wait)
}

fn other_protocol(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    call(ground, stop, &ground.second, Protocol::BothWays, CallerAct::Wait)
}

fn link_tests(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    call(ground, stop, &ground.second, Protocol::LinkTest, CallerAct::Probe)
}

fn caller(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    let mut hello = Vec::new();
    encode(&hostile::hello(PROTOCOL_VERSION, ground.dials), None, &mut hello);
    call(ground, stop, &ground.second, Protocol::Call, CallerAct::Say(Arc::new(vec![hello])))
}

fn abuser(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    let abuses = hostile::abuses(ground.dials)?.into_iter().map(|(_, bytes)| bytes).collect();
    call(ground, stop, &ground.second, Protocol::Call, CallerAct::Say(Arc::new(abuses)))
}

/// Act of a caller once it is connected. It waits for the connection's end in any case.
#[derive(Clone, Debug)]
pub(super) enum CallerAct {
    Wait,
    /// Opens the control stream and says one of these, each in its turn.
    Say(Arc<Vec<Vec<u8>>>),
    /// Sends datagrams.
    Probe,
}

/// Calls the listener from several addresses, without a pause.
fn call(
    ground: &Ground,
    stop: &Arc<AtomicBool>,
    key: &Arc<CertifiedKey>,
    protocol: Protocol,
    act: CallerAct,
) -> Result<u64> {
    let config = ground.config(key, protocol)?;
    callers(CALLERS, ground.target, stop, act, |_| Ok(config.clone()))
}

/// Lets so many callers, each with an address and a `config`, call `target` without a pause until `stop`; returns how
/// often they have.
pub(super) fn callers(
    count: u8,
    target: SocketAddr,
    stop: &Arc<AtomicBool>,
    act: CallerAct,
    config: impl Fn(u8) -> Result<quinn::ClientConfig>,
) -> Result<u64> {
    let calls = |number: u8| {
        let (config, act, stop) = (config(number), act.clone(), Arc::clone(stop));
        async move {
            let (config, mut calls) = (config?, 0);
            while !stop.load(Ordering::Relaxed) {
                let endpoint = hostile::endpoint(address(number), config.clone())?;
                for _ in 0..CALLS_A_PORT {
                    if !stop.load(Ordering::Relaxed) {
                        calls += 1;
                        // Being refused is what it is there for.
                        let _ = tokio::time::timeout(ANSWER_MAX, one_call(&endpoint, target, &act, calls)).await;
                    }
                }
                endpoint.close(0u32.into(), b"");
            }
            Ok(calls)
        }
    };
    all(count, calls)
}

async fn one_call(endpoint: &quinn::Endpoint, target: SocketAddr, act: &CallerAct, number: u64) -> Result<()> {
    let connection = endpoint.connect(target, "duet")?.await?;
    let _stream = match act {
        CallerAct::Wait => None,
        CallerAct::Say(list) => {
            let (mut send, receive) = connection.open_bi().await?;
            send.write_all(&list[number as usize % list.len()]).await?;
            Some((send, receive))
        }
        CallerAct::Probe => {
            for _ in 0..100 {
                connection.send_datagram(vec![0; 1_000].into())?;
            }
            None
        }
    };
    connection.closed().await;
    Ok(())
}

/// Handshakes that stop half way, and connections of a listed peer that never opens its control stream.
fn hanging(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    let (config, target) = (ground.config(&ground.second, Protocol::Call)?, ground.target);
    let hangs = |number: u8| {
        let (config, stop) = (config.clone(), Arc::clone(stop));
        async move {
            let mut hung = 0;
            while !stop.load(Ordering::Relaxed) {
                hung += 1;
                // Every eighth says nothing after the handshake; its time runs out.
                let _ = if number.is_multiple_of(8) {
                    let endpoint = hostile::endpoint(address(number), config.clone())?;
                    tokio::time::timeout(HANG, one_call(&endpoint, target, &CallerAct::Wait, hung)).await
                } else {
                    tokio::time::timeout(HANG, half_a_handshake(address(number), config.clone(), target)).await
                };
            }
            Ok(hung)
        }
    };
    all(HANGING, hangs)
}

/// Begins a handshake of which only the first datagrams get through. The caller leaves before its last datagrams, and
/// the listener waits for them.
async fn half_a_handshake(from: Ipv4Addr, config: quinn::ClientConfig, target: SocketAddr) -> Result<()> {
    let (near, far) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?, UdpSocket::bind((from, 0)).await?);
    let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config)?;
    let connecting = endpoint.connect(near.local_addr()?, "duet")?;
    let (mut there, mut back, mut passed, mut client) = ([0; 2_048], [0; 2_048], 0, None);
    let pass = async {
        loop {
            tokio::select! {
                received = near.recv_from(&mut there) => {
                    let (count, from) = received?;
                    client = Some(from);
                    passed += 1;
                    if passed <= LET_THROUGH {
                        far.send_to(&there[..count], target).await?;
                    }
                }
                received = far.recv(&mut back) => {
                    if let Some(client) = client {
                        near.send_to(&back[..received?], client).await?;
                    }
                }
            }
        }
    };
    tokio::select! {
        passed = pass => passed,
        _ = connecting => Ok(()),
    }
}

/// Packets forged by an observer of the line: they have the call's connection ids, but no keys.
fn forged(ground: &Ground, stop: &Arc<AtomicBool>) -> Result<u64> {
    let (mut random, began, mut sent) = (Random::new(ground.seed), Instant::now(), 0);
    while !stop.load(Ordering::Relaxed) {
        for way in [Way::There, Way::Back] {
            let other = if way == Way::There { Way::Back } else { Way::There };
            if let (Some(to), Some(from)) = (id(&ground.tap, way), id(&ground.tap, other)) {
                ground.tap.inject(way, &forgery(&mut random, &to, &from)?);
                sent += 1;
            }
        }
        let due = Duration::from_secs(1) * sent / FORGED_PER_SECOND;
        std::thread::sleep(due.saturating_sub(began.elapsed()).max(Duration::from_micros(100)));
    }
    Ok(sent.into())
}

/// Returns the connection id in the newest packet with a short header that went this way.
fn id(tap: &Tap, way: Way) -> Option<[u8; ID_BYTES]> {
    tap.newest(way).filter(|head| head[0] & 0x80 == 0)?.get(1..=ID_BYTES)?.try_into().ok()
}

/// Returns a packet (RFC 9000, section 17) to the connection `to`.
fn forgery(random: &mut Random, to: &[u8], from: &[u8]) -> Result<Vec<u8>> {
    let mut noise = |bytes: u64| -> Vec<u8> { (0..bytes).map(|_| random.bits() as u8).collect() };
    let length = 21 + u64::from(noise(1)[0]);
    // As if the other had asked.
    let asked = initial::Ids { to: from.to_vec(), from: to.to_vec() };
    Ok(match noise(1)[0] % 4 {
        0 => initial::version_negotiation(&asked),
        // Retry: a token and a tag.
        1 => {
            let id = |id: &[u8]| [&[id.len() as u8], id].concat();
            [&[0xf0, 0, 0, 0, 1][..], &id(to), &id(from), &noise(length)].concat()
        }
        // A packet of the connection, or a stateless reset, to whoever has no keys.
        2 => [&[0x40][..], to, &noise(length)].concat(),
        // The end of the handshake, for the key that was shown.
        _ => initial::refusal(&asked, 42)?,
    })
}

/// Runs a task of each number from 1 to `count` side by side and adds up what they return.
fn all<F>(count: u8, task: impl Fn(u8) -> F) -> Result<u64>
where
    F: Future<Output = Result<u64>> + Send + 'static,
{
    hostile::block_on(async {
        let mut tasks: JoinSet<_> = (1..=count).map(task).collect();
        let mut total = 0;
        while let Some(ended) = tasks.join_next().await {
            total += ended??;
        }
        Ok(total)
    })
}

/// Returns the loopback's address of this number.
fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 9, 1, number)
}
