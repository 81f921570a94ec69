//! Datagrams that nobody asked for.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::netsim::Random;
use quinn::crypto::rustls::QuicClientConfig;
use shell::identity::Identity;
use shell::tls::{PeerVerifier, Protocol, client_config};

use crate::cases::Flood;

/// Datagrams sent at once.
const AT_ONCE: usize = 10;
/// Different handshakes that are begun, over and over.
const HANDSHAKES: usize = 300;

/// Sends `per_second` datagrams a second to `target` for `span`, on a thread of its own.
pub(crate) fn start(kind: Flood, target: SocketAddr, per_second: u32, span: Duration) -> Result<()> {
    let datagrams = match kind {
        Flood::Junk => junk(),
        Flood::Initials => initials()?,
    };
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    std::thread::spawn(move || {
        let (began, mut sent) = (Instant::now(), 0);
        let mut next = datagrams.iter().cycle();
        while began.elapsed() < span {
            for datagram in next.by_ref().take(AT_ONCE) {
                // An error is the receiver's port that is closed for a moment.
                let _ = socket.send_to(datagram, target);
            }
            sent += AT_ONCE as u32;
            let due = Duration::from_secs(1) * sent / per_second;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
    });
    Ok(())
}

fn junk() -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    let mut datagram = || (0..150).flat_map(|_| random.bits().to_le_bytes()).collect();
    (0..HANDSHAKES).map(|_| datagram()).collect()
}

/// First packets of handshakes, sound ones: made by dialling a socket that does not answer.
fn initials() -> Result<Vec<Vec<u8>>> {
    let mute = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    mute.set_read_timeout(Some(Duration::from_secs(1)))?;
    let address = mute.local_addr()?;
    let stranger = Identity::generate()?;
    let tls = client_config(stranger.certified_key()?, PeerVerifier::new([stranger.public_key()]), Protocol::Call)?;
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut datagrams = Vec::new();
    runtime.block_on(async {
        let endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
        while datagrams.len() < HANDSHAKES {
            let connecting = endpoint.connect_with(config.clone(), address, "duet")?;
            // The first packet leaves while this waits.
            let _ = tokio::time::timeout(Duration::from_millis(2), connecting).await;
            let mut buffer = [0; 2048];
            let (count, _) = mute.recv_from(&mut buffer).context("no handshake was begun")?;
            datagrams.push(buffer[..count].to_vec());
        }
        Ok(datagrams)
    })
}
