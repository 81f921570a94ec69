//! Link tests on the network: the two ends of [`common::linktest`] with a clock and a connection.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::config::{Controller, Peer, SharedConfig};
use common::linktest::{Answerer, Measured, Tester};
use common::units::{Bitrate, Timestamp};

use crate::clock;
use crate::exit::Failure;
use crate::identity::Identity;
use crate::limited;
use crate::link::{LiveRate, on_the_network};
use crate::quic::{CloseCode, Endpoint, EndpointOptions, Probing, QuicError};
use crate::quoted::Quoted;
use crate::tls::Protocol;

/// Longest link test that is answered.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Interval of checking whether the send buffer has room, and, in a running test, whether a call has begun.
const LOOK: Duration = Duration::from_millis(1);
/// Rate that sets a congestion window so large that it never limits a test.
const WINDOW_RATE: Bitrate = Bitrate::from_bps(400_000_000);
const WINDOW_FRAME_BYTES: usize = 256 << 10;

const IN_A_CALL: &str = "it is in a call, which a test would disturb; end the call first";
const TESTING: &str = "another link test is under way";

/// True during a test: only one at a time is answered, since two would measure each other.
static ANSWERING: AtomicBool = AtomicBool::new(false);

/// Answers a tester until it leaves, unless a call is on (`busy`) or begins.
pub(crate) async fn answer(probing: Probing, busy: &AtomicBool) {
    if busy.load(Ordering::Relaxed) {
        return probing.close(CloseCode::Busy, IN_A_CALL).await;
    }
    if ANSWERING.swap(true, Ordering::Relaxed) {
        return probing.close(CloseCode::Busy, TESTING).await;
    }
    limited!(info, "{} at {} tests the link", probing.peer().name, probing.address());
    let mut answerer = Answerer::default();
    let end = clock::now() + ANSWER_MAX;
    loop {
        if busy.load(Ordering::Relaxed) {
            probing.close(CloseCode::Busy, IN_A_CALL).await;
            break;
        }
        // A tester that has gone quiet gets no answers, so looking for a call may wait for its next datagram or this.
        match tokio::time::timeout(Duration::from_millis(100), probing.receive()).await {
            Ok(Ok(datagram)) => {
                if let Some(answer) = answerer.on_datagram(&datagram, clock::now()) {
                    probing.send(answer);
                }
            }
            Ok(Err(_)) => break,
            Err(_) if clock::now() >= end => break,
            Err(_) => {}
        }
        if clock::now() >= end {
            probing.close(CloseCode::Done, "the test takes too long").await;
            break;
        }
    }
    ANSWERING.store(false, Ordering::Relaxed);
}

/// Tests the link to the receiver at `address` (`HOST:PORT`), which must list this machine's key. `config` gives
/// identity, peers and socket options. Takes 10 to 20 seconds; ends early on SIGINT as every program does.
pub fn run(config: &SharedConfig, address: &str) -> Result<(Peer, Measured), Failure> {
    let identity = Identity::load(&crate::cli::identity_path(config)?)?;
    let options = EndpointOptions {
        key: identity.certified_key()?,
        own: identity.public_key(),
        peers: config.peers.clone(),
        socket_buffer_bytes: config.socket_buffer_bytes,
        gso: config.gso,
        controller: Controller::default(),
        rate: LiveRate::new(WINDOW_RATE),
        frame_bytes: WINDOW_FRAME_BYTES,
        protocol: Protocol::LinkTest,
    };
    on_the_network(async {
        let probing = dial(&options, address).await?;
        let measured = measure(&probing).await;
        probing.close(CloseCode::Done, "done").await;
        Ok((probing.peer().clone(), measured?))
    })
}

async fn dial(options: &EndpointOptions, address: &str) -> Result<Probing, Failure> {
    let unreachable = |message: String| {
        Failure::network(format!("{address} cannot be reached: {message}; is a receiver listening there?"))
    };
    let found = tokio::net::lookup_host(address).await.map_err(|error| unreachable(error.to_string()))?;
    let mut last = unreachable("the name has no address".to_owned());
    for address in found {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // A machine may lack a family of addresses that the name has.
        let endpoint = match Endpoint::bind(options, any, false) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                last = error.into();
                continue;
            }
        };
        match endpoint.dial_to_probe(address).await {
            Ok(probing) => return Ok(probing),
            Err(error) if error.is_final() => return Err(error.into()),
            Err(error) if error.is_mistake() => last = error.into(),
            Err(error) => last = unreachable(error.to_string()),
        }
    }
    Err(last)
}

async fn measure(probing: &Probing) -> Result<Measured, Failure> {
    let mut tester = Tester::new(probing.max_datagram(), clock::now());
    loop {
        let mut full = false;
        while let Some(datagram) = room(probing, &mut full).and_then(|()| tester.poll_datagram(clock::now())) {
            probing.send(datagram);
        }
        if let Some(outcome) = tester.outcome() {
            return outcome.map_err(Failure::network);
        }
        let look: Timestamp = clock::now() + LOOK;
        let next = if full { look } else { tester.poll_timeout().unwrap_or(look) };
        tokio::select! {
            datagram = probing.receive() => match datagram {
                Ok(datagram) => tester.on_datagram(&datagram, clock::now()),
                Err(error) => return Err(ended(error)),
            },
            () = tokio::time::sleep_until(clock::to_tokio(next)) => {}
        }
    }
}

/// Returns `Some` if another datagram can be sent; `full` is set if not.
fn room(probing: &Probing, full: &mut bool) -> Option<()> {
    *full = !probing.has_room();
    (!*full).then_some(())
}

fn ended(error: QuicError) -> Failure {
    match error {
        QuicError::Closed(reason) => {
            Failure::network(format!("the other side does not test the link: {}", Quoted(&reason)))
        }
        error => error.into(),
    }
}
