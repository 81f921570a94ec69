//! Link tests on the network: the two ends of [`common::linktest`] with a clock and a connection.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::config::{LinkMode, Meet, Peer, SharedConfig};
use common::linktest::{Found, LinkTest, Silent};
use common::path::ways::Kind;
use common::units::Bitrate;

use crate::clock;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::limited;
use crate::link::{TestWay, Ways, find_to_test};
use crate::live_rate::LiveRate;
use crate::quic::{CloseCode, Endpoint, EndpointOptions, Probing, QuicError};
use crate::quoted::Quoted;
use crate::runtime::on_the_network;
use crate::tls::Protocol;
use crate::zones;

/// Longest link test that is answered, the other way included.
const ANSWER_MAX: Duration = Duration::from_secs(90);
/// Interval of checking whether the send buffer has room, and, in a running test, whether a call has begun.
const LOOK: Duration = Duration::from_millis(1);
/// Rate that sets a congestion window so large that it never limits a test.
const WINDOW_RATE: Bitrate = Bitrate::from_bps(400_000_000);
const WINDOW_FRAME_BYTES: usize = 256 << 10;

const IN_A_CALL: &str = "it is in a call, which a test would disturb; end the call first";
const TOO_LONG: &str = "the test takes too long";
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
    let mut test = LinkTest::answer(probing.max_datagram(), clock::now());
    let (code, why) = tokio::select! {
        _ = drive(&probing, &mut test) => (CloseCode::Done, "done"),
        () = becomes(busy) => (CloseCode::Busy, IN_A_CALL),
        () = tokio::time::sleep(ANSWER_MAX) => (CloseCode::Done, TOO_LONG),
    };
    probing.close(code, why).await;
    ANSWERING.store(false, Ordering::Relaxed);
}

/// Lets one side of a test send and take datagrams until it is over, or has an outcome; an error if the connection ends before.
async fn drive(probing: &Probing, test: &mut LinkTest) -> Result<(), QuicError> {
    let mut wide = None;
    loop {
        let mut full = false;
        while let Some(datagram) = room(probing, &mut full).and_then(|()| test.poll_datagram(clock::now())) {
            probing.send(datagram);
        }
        if test.is_measuring() {
            wide.get_or_insert_with(|| probing.widen(WINDOW_RATE));
        }
        let Some(next) = test.poll_timeout().filter(|_| test.outcome().is_none()) else { return Ok(()) };
        let next = if full { clock::now() + LOOK } else { next };
        tokio::select! {
            datagram = probing.receive() => test.on_datagram(&datagram?, clock::now()),
            () = tokio::time::sleep_until(clock::to_tokio(next)) => {}
        }
    }
}

/// Waits until that is true.
async fn becomes(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

/// The machine to which the link is tested.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Whoever listens at this `HOST:PORT`.
    Address(&'a str),
    /// The one that is found as a call finds it.
    Named(&'a Meet),
}

/// The findings of a test in both directions.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The machine at the other end.
    pub peer: Peer,
    /// The way that packets took, and where to.
    pub way: (Kind, SocketAddr),
    /// Both ways of the line.
    pub found: Found,
}

/// Tests the link to a machine that must list this one's key: over the way that a call would take. `config` gives
/// identity, peers and socket options. Takes 15 to 40 seconds; ends early on SIGINT as every program does.
pub fn run(config: &SharedConfig, target: Target<'_>) -> Result<Tested, Failure> {
    let identity = Identity::load(&Identity::path_of(config)?)?;
    let rate = LiveRate::new(WINDOW_RATE);
    let options = EndpointOptions::of(config, &identity, Protocol::LinkTest, rate, WINDOW_FRAME_BYTES)?;
    on_the_network(async {
        match target {
            Target::Address(address) => {
                let mode = LinkMode::Dial(address.to_owned());
                test(&dial(&options, address).await?, &Ways::of(&mode)).await
            }
            Target::Named(meet) => {
                let way: TestWay = find_to_test(&options, &identity, meet).await?;
                test(&way.probing, &Ways::of(&LinkMode::Meet(Box::new(meet.clone())))).await
            }
        }
    })
}

/// Measures both directions.
async fn test(probing: &Probing, ways: &Ways) -> Result<Tested, Failure> {
    let route = probing.route();
    let mut test = LinkTest::begin(probing.max_datagram(), clock::now());
    let driven = drive(probing, &mut test).await;
    probing.close(CloseCode::Done, "done").await;
    // What was measured here is worth something without the other side's turn.
    let found = match (test.so_far(), driven) {
        (Some(found), _) => found.map_err(Failure::network)?,
        (None, Err(error)) => return Err(ended(error)),
        (None, Ok(())) => return Err(Failure::network(Silent)),
    };
    Ok(Tested { peer: probing.peer().clone(), way: (ways.kind_of(route), route.to), found })
}

async fn dial(options: &EndpointOptions, address: &str) -> Result<Probing, Failure> {
    let unreachable = |message: String| {
        Failure::network(format!("{address} cannot be reached: {message}; is a receiver listening there?"))
    };
    let found = zones::look_up(address).await.map_err(|error| unreachable(error.to_string()))?;
    let mut last = unreachable("the name has no address".to_owned());
    for address in found.into_iter().take(zones::DIALLED_MAX) {
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
