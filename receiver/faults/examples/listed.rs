//! Time after which a receiver refuses a stranger that shows somebody's key and cannot sign for it, for a key that it lists
//! and for one that it does not: `listed PROGRAMS [HANDSHAKES]`, 10,000 of each by default.

#![allow(clippy::print_stdout, reason = "a table")]

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use faults::attack::Testbed;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use shell::identity::Identity;
use shell::tls::{PeerVerifier, Protocol, client_config, spki};

/// Addresses from which the stranger calls in turn: from each only some handshakes a second may fail.
const ADDRESSES: u8 = 200;

/// What is known of the refusals of one key.
#[derive(Default)]
struct Refusals {
    us: Vec<f64>,
    errors: std::collections::BTreeMap<String, usize>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let programs = PathBuf::from(arguments.next().context("listed PROGRAMS [HANDSHAKES]")?);
    let count: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("duet-listed-{}", std::process::id()));
    let testbed = Testbed::new(&programs, &folder)?;
    let address = testbed.free_address()?;
    let mut victim = testbed.start("receiver", &mut testbed.receiver(address, &testbed.key("sender")?)?)?;
    testbed.wait_until_bound(address, &mut victim)?;

    let thief = Identity::generate()?.certified_key()?;
    let receiver = testbed.identity("receiver")?.public_key();
    let keys = [testbed.identity("sender")?.public_key(), Identity::generate()?.public_key()];
    let configs = keys.iter().map(|key| {
        let shown = CertifiedKey::new(vec![CertificateDer::from(spki(key))], Arc::clone(&thief.key));
        let tls = client_config(Arc::new(shown), PeerVerifier::new([receiver]), Protocol::Call)?;
        Ok(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)))
    });
    let configs: Vec<_> = configs.collect::<Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut refusals = [Refusals::default(), Refusals::default()];
    runtime.block_on(async {
        let endpoints = (1..=ADDRESSES).map(|last| quinn::Endpoint::client((Ipv4Addr::new(127, 0, 1, last), 0).into()));
        let endpoints: Vec<_> = endpoints.collect::<Result<_, _>>()?;
        for number in 0..count {
            let endpoint = &endpoints[number % endpoints.len()];
            // Neither key is always the first.
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                let connected = endpoint.connect_with(configs[which].clone(), address, "duet")?.await;
                let begun = Instant::now();
                let error = match connected {
                    Ok(connection) => connection.closed().await,
                    Err(error) => error,
                };
                refusals[which].us.push(begun.elapsed().as_secs_f64() * 1e6);
                *refusals[which].errors.entry(error.to_string()).or_default() += 1;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    println!("| key | handshakes | 10 %, us | median, us | 90 %, us | 99 %, us | answers |");
    println!("|---|---|---|---|---|---|---|");
    for (name, Refusals { us, errors }) in ["listed", "not listed"].into_iter().zip(&mut refusals) {
        us.sort_by(f64::total_cmp);
        let quantile = |share: f64| us.get((us.len() as f64 * share) as usize).copied().unwrap_or_default();
        let [ten, median, ninety, last] = [0.1, 0.5, 0.9, 0.99].map(quantile);
        let answers: Vec<_> = errors.iter().map(|(error, count)| format!("{count} x {error}")).collect();
        println!(
            "| {name} | {} | {ten:.0} | {median:.0} | {ninety:.0} | {last:.0} | {} |",
            us.len(),
            answers.join(", ")
        );
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}
