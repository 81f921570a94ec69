//! Link tests on the network: the end of [`common::linktest`] that begins one, with a clock and a connection.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use common::config::{LinkMode, Meet, Peer, SharedConfig};
use common::linktest::{Found, LinkTest, Silent};
use common::path::ways::Kind;

use crate::answering::{WINDOW_RATE, drive};
use crate::clock;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::link::{TestWay, Ways, find_to_test};
use crate::live_rate::LiveRate;
use crate::quic::{CloseCode, Endpoint, EndpointOptions, Probing, QuicError};
use crate::quoted::Quoted;
use crate::runtime::on_the_network;
use crate::tls::Protocol;
use crate::zones;

/// The largest frame that the congestion window is made for, bytes.
const WINDOW_FRAME_BYTES: usize = 256 << 10;

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
/// identity, peers and socket options. Takes 15 to 60 seconds; ends early on SIGINT as every program does.
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
    let pair = probing.pair();
    let mut test = LinkTest::begin(probing.max_datagram(), clock::now());
    let driven = drive(probing, &mut test).await;
    probing.close(CloseCode::Done, "done").await;
    // What was measured here is worth something without the other side's turn.
    let found = match (test.so_far(), driven) {
        (Some(found), _) => found.map_err(Failure::network)?,
        (None, Err(error)) => return Err(ended(error)),
        (None, Ok(())) => return Err(Failure::network(Silent)),
    };
    Ok(Tested { peer: probing.peer().clone(), way: (ways.kind_of(pair), pair.to), found })
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

fn ended(error: QuicError) -> Failure {
    match error {
        QuicError::Closed(reason) => {
            Failure::network(format!("the other side does not test the link: {}", Quoted(&reason)))
        }
        error => error.into(),
    }
}
