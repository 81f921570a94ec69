//! A listed peer that connects and moves all the time, so that each of its deeds costs the victim a write of the file of
//! peers, and what is taken out of that file meanwhile comes back.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use common::config::parse_receiver;
use common::wire::control::StreamEnd;

use super::{Outcome, Testbed};
use crate::daemons::Daemon;
use crate::hostile::{self, HostileLine};

/// Length of each part of the attack.
const SPAN: Duration = Duration::from_secs(4);
/// Most writes of the file in all that time.
const WRITES_MAX: usize = 1;
/// Most lines that the victim may log of where the peer is.
const LINES_MAX: usize = 5;
/// From one look at the file to the next; from one move of a connection to the next.
const LOOK: Duration = Duration::from_millis(1);
const MOVE: Duration = Duration::from_millis(6);
/// Time for which a peer is listed, and for which it is watched whether it comes back.
const LISTED: Duration = Duration::from_millis(50);
const TAKEN_OUT: Duration = Duration::from_millis(30);
/// Longest wait for the victim's first word.
const PATIENCE: Duration = Duration::from_secs(2);

/// Addresses of the introduction.
const INTRODUCED: [&str; 2] = ["127.0.0.1:9", "203.0.113.5:20000"];
const SETTINGS: &str = "[reach]\nstun = []\nopen_port = false\nhouse = false\n\n";

/// Connects from another port hundreds of times, then again while the victim's owner takes the peer out of the file, and
/// then moves one connection from port to port.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let file = testbed.file("victim.toml");
    // Who has the smaller key dials.
    let own = testbed.identity("receiver")?.public_key();
    let mut names = (0..).map(|number| format!("peer{number}"));
    let peer = names.find(|name| {
        let key = testbed.identity(name).map(|identity| identity.public_key());
        key.is_ok_and(|key| key.as_bytes() < own.as_bytes())
    });
    let peer = peer.context("a smaller key")?;
    let listed = format!(
        "{SETTINGS}[[peer]]\nname = \"friend\"\npublic_key = \"{}\"\naddresses = {INTRODUCED:?}\nport = {}\n",
        testbed.key(&peer)?,
        address.port()
    );
    std::fs::write(&file, &listed)?;
    let mut command = testbed.program("receiver")?;
    command.arg("--config").arg(&file).args(["--peer", "friend", "--sink", "headless"]);
    let mut victim = testbed.start("receiver", &mut command)?;
    testbed.wait_until_bound(address, &mut victim)?;
    victim.begin();

    let (connections, writes) =
        beside(&mut victim, |stop| connect(testbed, &peer, address, stop), |stop| count_writes(&file, stop))?;
    let introduced: Vec<_> = parse_receiver(&std::fs::read_to_string(&file)?)?.peers;
    let known = introduced.first().and_then(|peer| peer.addresses.clone()).unwrap_or_default();
    let (more, (rounds, back)) =
        beside(&mut victim, |stop| connect(testbed, &peer, address, stop), |stop| take_out(&file, &listed, stop))?;
    let (moves, moved) =
        beside(&mut victim, |stop| walk(testbed, &peer, address, stop), |stop| count_writes(&file, stop))?;

    let mut outcome = victim.outcome()?;
    let lines = victim.said().matches("is remembered at").count();
    outcome.note = format!(
        "{} connections, {moves} moves: {} writes of the file, {lines} lines of where it is; taken out {rounds} times, there \
         again {back} times",
        connections + more,
        writes + moved,
    );
    outcome.expect(connections > 0 && rounds > 0 && moves > 0, "nothing was tried");
    outcome.expect(writes + moved <= WRITES_MAX, format!("{} writes of the file", writes + moved));
    outcome.expect(back == 0, format!("a peer that was taken out was there again {back} times of {rounds}"));
    outcome.expect(known == INTRODUCED, format!("the introduction's addresses are {known:?} now"));
    outcome.expect(lines <= LINES_MAX, format!("{lines} lines of where the peer is"));
    Ok(outcome)
}

/// Does both beside each other for [`SPAN`].
fn beside<A: Send, B: Send>(
    victim: &mut Daemon,
    attack: impl FnOnce(&AtomicBool) -> Result<A> + Send,
    watch: impl FnOnce(&AtomicBool) -> Result<B> + Send,
) -> Result<(A, B)> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (attacking, watching) = (scope.spawn(|| attack(&stop)), scope.spawn(|| watch(&stop)));
        victim.watch(SPAN);
        stop.store(true, Ordering::Relaxed);
        let broken = |_| anyhow!("a thread broke down");
        Ok((attacking.join().map_err(broken)??, watching.join().map_err(broken)??))
    })
}

/// Connects from one port after the other; returns how often it was heard.
fn connect(testbed: &Testbed, own: &str, address: SocketAddr, stop: &AtomicBool) -> Result<usize> {
    let config = hostile::client(&testbed.identity(own)?, testbed.identity("receiver")?.public_key())?;
    hostile::block_on(async {
        let mut heard = 0;
        while !stop.load(Ordering::Relaxed) {
            let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config.clone())?;
            heard += usize::from(greet(&endpoint, address).await.is_ok());
            endpoint.close(0u32.into(), b"");
        }
        Ok(heard)
    })
}

/// Connects and waits until the victim has taken this connection for its call.
async fn greet(endpoint: &quinn::Endpoint, address: SocketAddr) -> Result<HostileLine> {
    let greeted = async {
        let mut line = HostileLine::open(endpoint, address, StreamEnd::Sender).await?;
        line.greet().await?;
        line.hear().await?;
        Ok(line)
    };
    tokio::time::timeout(PATIENCE, greeted).await?
}

/// Moves a connection from port to port, and makes another one if it ends; returns how often it has moved.
fn walk(testbed: &Testbed, own: &str, address: SocketAddr, stop: &AtomicBool) -> Result<usize> {
    let config = hostile::client(&testbed.identity(own)?, testbed.identity("receiver")?.public_key())?;
    hostile::block_on(async {
        let mut moves = 0;
        while !stop.load(Ordering::Relaxed) {
            let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config.clone())?;
            let Ok(line) = greet(&endpoint, address).await else { continue };
            while !stop.load(Ordering::Relaxed) && line.connection.close_reason().is_none() {
                endpoint.rebind(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)?;
                // A packet that shows where it is now.
                let _ = line.connection.send_datagram(vec![0; 32].into());
                tokio::time::sleep(MOVE).await;
                moves += 1;
            }
        }
        Ok(moves)
    })
}

/// Counts the writes of the file that are seen: each puts another file in its place.
fn count_writes(file: &Path, stop: &AtomicBool) -> Result<usize> {
    let number = || std::fs::metadata(file).map(|known| (known.ino(), known.mtime_nsec()));
    let (mut count, mut last) = (0, number()?);
    while !stop.load(Ordering::Relaxed) {
        let now = number()?;
        count += usize::from(std::mem::replace(&mut last, now) != now);
        std::thread::sleep(LOOK);
    }
    Ok(count)
}

/// Lists the peer and takes it out again, each time as an editor does; returns how often, and how often it was there again.
fn take_out(file: &Path, listed: &str, stop: &AtomicBool) -> Result<(usize, usize)> {
    let beside = file.with_extension("edited");
    let put = |text: &str| -> Result<()> {
        std::fs::write(&beside, text)?;
        Ok(std::fs::rename(&beside, file)?)
    };
    let (mut rounds, mut back) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        put(listed)?;
        std::thread::sleep(LISTED);
        put(SETTINGS)?;
        let end = Instant::now() + TAKEN_OUT;
        let is_back = || std::fs::read_to_string(file).is_ok_and(|text| text.contains("[[peer]]"));
        let mut was_back = false;
        while Instant::now() < end {
            was_back |= is_back();
            std::thread::sleep(LOOK);
        }
        (rounds, back) = (rounds + 1, back + usize::from(was_back));
    }
    put(listed)?;
    Ok((rounds, back))
}
