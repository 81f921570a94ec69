//! Datagrams that nobody asked for.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// A flood under way.
pub(crate) struct Flooding {
    sent: Arc<AtomicU64>,
    bytes: usize,
    span: Duration,
}

impl Flooding {
    /// How much was sent.
    pub(crate) fn note(self) -> String {
        let per_second = self.sent.load(Ordering::Relaxed) as f64 / self.span.as_secs_f64();
        format!("{per_second:.0} a second, {:.0} Mbit/s", per_second * self.bytes as f64 * 8e-6)
    }
}

/// Sends `per_second` datagrams a second to `target` for `span`, or as many as this machine can, on a thread of its own.
pub(crate) fn start(kind: Flood, target: SocketAddr, per_second: u32, span: Duration) -> Result<Flooding> {
    let datagrams = match kind {
        Flood::Junk => junk(),
        Flood::Initials => initials()?,
    };
    let any = if target.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let socket = UdpSocket::bind((any, 0))?;
    let count = Arc::new(AtomicU64::new(0));
    let flooding = Flooding { sent: Arc::clone(&count), bytes: datagrams.first().map_or(0, Vec::len), span };
    std::thread::spawn(move || {
        let (began, mut sent) = (Instant::now(), 0);
        let mut next = datagrams.iter().cycle();
        while began.elapsed() < span {
            for datagram in next.by_ref().take(AT_ONCE) {
                // An error is the receiver's port that is closed for a moment.
                let _ = socket.send_to(datagram, target);
            }
            sent += AT_ONCE as u32;
            count.store(sent.into(), Ordering::Relaxed);
            let due = Duration::from_secs(1) * sent / per_second;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
    });
    Ok(flooding)
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
