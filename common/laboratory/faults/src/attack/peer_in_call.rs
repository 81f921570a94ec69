//! A listed peer in a call by name, which makes its probes itself.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use common::path::ways::{Probe, Role};
use common::wire::control::{ControlMessage, StreamEnd};
use net::identity::Identity;
use net::reach::Seals;
use net::tls::Protocol;

use super::Testbed;
use crate::daemons::Daemon;
use crate::hostile::{self, HostileLine};

/// First bytes of probes, and of a call's packets on another way than that on which it began.
const PROBE: u8 = 0x0f;
pub(super) const MARK: u8 = 0x0e;
/// Time between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// A peer that is in a call with the victim.
pub(super) struct PeerInCall {
    /// Its socket, from which all that it says comes.
    pub(super) front: UdpSocket,
    seals: Seals,
    /// The victim.
    target: SocketAddr,
    /// Its questions and answers as they came here.
    sealed: Receiver<Vec<u8>>,
    silent: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl PeerInCall {
    /// Returns what the victim has asked and answered here of late.
    pub(super) fn probes(&self) -> impl Iterator<Item = Probe> {
        self.sealed.try_iter().filter_map(|sealed| Probe::decode(&self.seals.open(&sealed)?))
    }

    /// Sends a probe from `socket`.
    pub(super) fn say(&self, socket: &UdpSocket, probe: &Probe, length: usize) -> Result<usize> {
        let sealed = self.seals.seal(probe.encode(length))?;
        Ok(socket.send_to(&sealed, self.target)?)
    }

    /// Lets nothing of the call pass any more.
    pub(super) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }
}

impl Drop for PeerInCall {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Returns the name of an identity of the testbed whose key is smaller than the program's, or larger.
pub(super) fn friend(testbed: &Testbed, is_smaller: bool) -> Result<String> {
    let own = testbed.identity("sender")?.public_key();
    for number in 0.. {
        let name = format!("friend{number}");
        if (testbed.identity(&name)?.public_key().as_bytes() < own.as_bytes()) == is_smaller {
            return Ok(name);
        }
    }
    unreachable!("numbers do not end")
}

/// Starts `sender call friend` as `own`, for the holder of the key `friend`, who was last at `known`; returns its address, too. Its
/// log is `LOG.log`.
pub(super) fn calling(
    testbed: &Testbed,
    log: &'static str,
    own: &str,
    friend: &str,
    known: &str,
) -> Result<(SocketAddr, Daemon)> {
    let port = testbed.free_address()?.port();
    let config = testbed.file(&format!("{log}-calls.toml"));
    let text = format!(
        "[reach]\nstun = []\nopen_port = false\nhouse = false\n[[peer]]\nname = \"friend\"\npublic_key = \"{}\"\nport = \
         {port}\naddresses = [\"{known}\"]\n",
        testbed.key(friend)?
    );
    std::fs::write(&config, text)?;
    let mut command = testbed.plain_as("sender", own)?;
    command.args(["call", "friend", "--sink", "headless", "--backend", "cpu", "--rate", "2M"]);
    command.args(["--source", "pattern:size=320x180:fps=30", "--config"]).arg(config);
    let mut victim = testbed.start(log, &mut command)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    testbed.wait_until_bound(address, &mut victim)?;
    Ok((address, victim))
}

/// Calls a program as a friend of it, lets its video come and does `act`.
pub(super) fn in_call<T>(
    testbed: &Testbed,
    act: impl AsyncFnOnce(&PeerInCall, &mut Daemon) -> Result<T>,
) -> Result<(T, Daemon)> {
    // The smaller key dials.
    let name = friend(testbed, true)?;
    let front = socket(Ipv4Addr::LOCALHOST)?;
    let (target, mut victim) = calling(testbed, "sender", "sender", &name, &front.local_addr()?.to_string())?;
    let (own, peer) = (testbed.identity(&name)?, testbed.identity("sender")?.public_key());
    let client = hostile::client_as(Identity::certified_key(&own)?, peer, Protocol::BothWays)?;
    hostile::block_on(async {
        let back = socket(Ipv4Addr::LOCALHOST)?;
        let (silent, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let sealed = carry(&front, &back, target, &silent, &over)?;
        let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, client)?;
        let mut line = HostileLine::open(&endpoint, back.local_addr()?, StreamEnd::Receiver).await?;
        let mut shared = [0; 64];
        let exported = line.connection.export_keying_material(&mut shared, b"duet probes", b"");
        exported.ok().context("the connection has no keys")?;
        line.greet().await?;
        while !matches!(line.hear().await?, ControlMessage::Welcome { .. }) {}
        line.say(&ControlMessage::Ready).await?;
        line.connection.read_datagram().await.context("no video")?;
        let seals = Seals::new(&shared, Role::Dials).context("keys")?;
        let peer = PeerInCall { front, seals, target, sealed, silent, over };
        let result = act(&peer, &mut victim).await;
        line.connection.close(0u32.into(), b"");
        Ok((result?, victim))
    })
}

/// Carries packets between `back`, which faces the peer's own QUIC, and the victim, until it is over; returns the victim's probes.
fn carry(
    front: &UdpSocket,
    back: &UdpSocket,
    target: SocketAddr,
    silent: &Arc<AtomicBool>,
    over: &Arc<AtomicBool>,
) -> Result<Receiver<Vec<u8>>> {
    let client = Arc::new(AtomicU64::new(0));
    let (keep, sealed) = channel();
    let ([front_there, front_here], [back_there, back_here]) =
        ([front.try_clone()?, front.try_clone()?], [back.try_clone()?, back.try_clone()?]);
    let (known, is_silent, is_over) = (Arc::clone(&client), Arc::clone(silent), Arc::clone(over));
    std::thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while !is_over.load(Ordering::Relaxed) {
            let Ok((count, from)) = back_there.recv_from(&mut buffer) else { continue };
            known.store(from.port().into(), Ordering::Relaxed);
            if !is_silent.load(Ordering::Relaxed) {
                let _ = front_there.send_to(&buffer[..count], target);
            }
        }
    });
    let (is_silent, is_over) = (Arc::clone(silent), Arc::clone(over));
    std::thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while !is_over.load(Ordering::Relaxed) {
            let Ok((count, _)) = front_here.recv_from(&mut buffer) else { continue };
            let to = SocketAddr::from((Ipv4Addr::LOCALHOST, client.load(Ordering::Relaxed) as u16));
            if buffer[0] == PROBE {
                let _ = keep.send(buffer[..count].to_vec());
            } else if !is_silent.load(Ordering::Relaxed) && to.port() != 0 {
                let _ = back_here.send_to(&buffer[..count], to);
            }
        }
    });
    Ok(sealed)
}

/// Opens a socket whose reader looks up now and then.
pub(super) fn socket(ip: Ipv4Addr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((ip, 0))?;
    socket.set_read_timeout(Some(LOOK))?;
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    Ok(socket)
}

/// Packets that a third party gets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Got {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Bytes of a call's packets.
    pub(super) of_call: u64,
}

/// Takes what has come to a third party.
pub(super) fn take(socket: &UdpSocket, got: &mut Got) -> Result<()> {
    socket.set_nonblocking(true)?;
    let mut buffer = [0; 2_048];
    while let Ok((count, _)) = socket.recv_from(&mut buffer) {
        got.packets += 1;
        got.bytes += count as u64;
        got.of_call += if buffer[0] == MARK { count as u64 } else { 0 };
    }
    Ok(())
}
