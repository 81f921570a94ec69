//! Floods of unwanted datagrams.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::netsim::Random;
use net::identity::Identity;

use crate::hostile;
use crate::initial::Hello;
use crate::machine::priority;

/// Datagrams sent at once.
const AT_ONCE: usize = 10;
/// Different handshakes that are begun, over and over: those of two seconds, after which a listener has forgotten them.
const HANDSHAKES: usize = 20_000;
/// Different datagrams of junk.
const JUNK: usize = 300;
/// Addresses of the loopback that a flood comes from.
const SOURCES: u8 = 64;

/// Contents of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// 1200 random bytes.
    Junk,
    /// First packets of handshakes that end there, each of another connection.
    Initials,
}

/// A flood under way.
pub(crate) struct Flooding {
    sent: Arc<AtomicU64>,
    bytes: usize,
    span: Duration,
}

impl Flooding {
    /// Returns the rate of the flood, as text.
    pub(crate) fn note(self) -> String {
        let per_second = self.sent.load(Ordering::Relaxed) as f64 / self.span.as_secs_f64();
        format!("{per_second:.0} a second, {:.0} Mbit/s", per_second * self.bytes as f64 * 8e-6)
    }
}

/// Sends `per_second` datagrams a second to `target` for `span`, or as many as this machine can, on a thread of its
/// own.
pub(crate) fn start(kind: Flood, target: SocketAddr, per_second: u32, span: Duration) -> Result<Flooding> {
    let stream = FloodStream::new(kind, &[target])?;
    let count = Arc::new(AtomicU64::new(0));
    let flooding = Flooding { sent: Arc::clone(&count), bytes: stream.datagrams.first().map_or(0, Vec::len), span };
    let began = Instant::now();
    std::thread::spawn(move || {
        priority::lower();
        stream.pour(per_second, &count, || began.elapsed() < span);
    });
    Ok(flooding)
}

/// Sends `per_second` datagrams a second to all `targets` in turn until `stop`; how many there were.
pub(crate) fn pour(kind: Flood, targets: &[SocketAddr], per_second: u32, stop: &AtomicBool) -> Result<u64> {
    let count = AtomicU64::new(0);
    FloodStream::new(kind, targets)?.pour(per_second, &count, || !stop.load(Ordering::Relaxed));
    Ok(count.into_inner())
}

/// Contents, origin and destination of a flood.
struct FloodStream {
    datagrams: Vec<Vec<u8>>,
    sockets: Vec<UdpSocket>,
    targets: Vec<SocketAddr>,
}

impl FloodStream {
    fn new(kind: Flood, targets: &[SocketAddr]) -> Result<Self> {
        let datagrams = match kind {
            Flood::Junk => junk(),
            Flood::Initials => initials()?,
        };
        let sources = if targets.iter().all(|target| target.ip().is_loopback()) {
            (1..=SOURCES).map(|number| Ipv4Addr::new(127, 9, 0, number)).collect()
        } else {
            vec![Ipv4Addr::UNSPECIFIED]
        };
        let sockets = sources.into_iter().map(|source| UdpSocket::bind((source, 0))).collect::<Result<_, _>>()?;
        Ok(Self { datagrams, sockets, targets: targets.to_owned() })
    }

    fn pour(&self, per_second: u32, count: &AtomicU64, goes_on: impl Fn() -> bool) {
        let (began, mut sent) = (Instant::now(), 0u64);
        let mut next = self.datagrams.iter().cycle();
        let mut lines = self.sockets.iter().cycle().zip(self.targets.iter().cycle());
        while goes_on() {
            for (datagram, (socket, target)) in next.by_ref().zip(lines.by_ref()).take(AT_ONCE) {
                // An error is the receiver's port that is closed for a moment.
                let _ = socket.send_to(datagram, target);
            }
            sent += AT_ONCE as u64;
            count.store(sent, Ordering::Relaxed);
            let due = Duration::from_secs_f64(sent as f64 / f64::from(per_second));
            std::thread::sleep(due.saturating_sub(began.elapsed()));
        }
    }
}

fn junk() -> Vec<Vec<u8>> {
    let mut random = Random::new(1);
    let mut datagram = || (0..150).flat_map(|_| random.bits().to_le_bytes()).collect();
    (0..JUNK).map(|_| datagram()).collect()
}

/// Returns first packets of handshakes, sound ones, each of another: made from what a dialler sends to a socket that
/// does not answer.
fn initials() -> Result<Vec<Vec<u8>>> {
    let mute = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    mute.set_read_timeout(Some(Duration::from_secs(1)))?;
    let address = mute.local_addr()?;
    let stranger = Identity::generate()?;
    let config = hostile::client(&stranger, stranger.public_key())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let first = runtime.block_on(async {
        let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config)?;
        let connecting = endpoint.connect(address, "duet")?;
        // The first packet leaves while this waits.
        let _ = tokio::time::timeout(Duration::from_millis(20), connecting).await;
        let mut buffer = [0; 2048];
        let (count, _) = mute.recv_from(&mut buffer).context("no handshake was begun")?;
        anyhow::Ok(buffer[..count].to_vec())
    })?;
    let (hello, mut random) = (Hello::read(&first)?, Random::new(2));
    (0..HANDSHAKES).map(|_| hello.anew(&mut random)).collect()
}
