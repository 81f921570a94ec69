//! A stranger signs for the key of 32 zero bytes, a likely placeholder in a configuration.
//!
//! That point A has order 4. A verifier asks whether `[S]B = R + [k]A`, with k from a hash; S = 0 and R = 0 are the same
//! signature for every message, and right for the quarter of them whose k is a multiple of 4.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ControlMessage, encode};
use net::identity::Identity;
use net::tls::{Protocol, spki};
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};

use super::{Outcome, Testbed};
use crate::hostile;

/// The key as a configuration has it.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// Handshakes that are tried; all of them fail once in 10,000 attacks on a verifier that accepts the key.
const TRIES: u32 = 32;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tries to get into a receiver whose configuration lists that key.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let mut victim = testbed.start("receiver", &mut testbed.receiver(address, KEY)?)?;
    victim.begin();
    let listens = testbed.wait_until_bound(address, &mut victim);
    if victim.ended()?.is_some() {
        let mut outcome = victim.outcome()?;
        outcome.note = "the configuration is refused".to_owned();
        outcome.expect(victim.said().contains("no private key"), "the log does not say why");
        outcome.expect(outcome.exit_code == Some(2), "another exit code than 2");
        return Ok(outcome);
    }
    listens?;
    let entry = entry(testbed, address)?;
    let mut outcome = victim.outcome()?;
    if let Some(number) = entry {
        outcome.note = format!("in with try {number}");
    }
    outcome.expect(false, "the key is accepted in the configuration");
    Ok(outcome)
}

/// Returns the key and its forged signatures, as a caller shows them.
pub(super) fn key() -> Result<Arc<CertifiedKey>> {
    let mut shown = spki(&Identity::generate()?.public_key());
    let key_at = shown.len() - 32;
    shown[key_at..].fill(0);
    Ok(Arc::new(CertifiedKey::new(vec![CertificateDer::from(shown)], Arc::new(Forger))))
}

/// Returns the number of the try with which the stranger got an answer to its Hello.
fn entry(testbed: &Testbed, address: SocketAddr) -> Result<Option<u32>> {
    let config = hostile::client_as(key()?, testbed.identity("receiver")?.public_key(), Protocol::Call)?;
    hostile::block_on(async {
        let endpoint = hostile::endpoint(Ipv4Addr::LOCALHOST, config)?;
        for number in 1..=TRIES {
            let connection = endpoint.connect(address, "duet")?.await?;
            if matches!(tokio::time::timeout(PATIENCE, answer(&connection)).await, Ok(Ok(()))) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    })
}

/// Says Hello and waits for an answer, which only an accepted peer gets.
async fn answer(connection: &quinn::Connection) -> Result<()> {
    let (mut send, mut receive) = connection.open_bi().await?;
    let mut hello = Vec::new();
    encode(&ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true }, None, &mut hello);
    send.write_all(&hello).await?;
    receive.read_exact(&mut [0]).await?;
    Ok(())
}

/// Signs everything with R = 0, the point with y = 1, and S = 0.
#[derive(Debug)]
struct Forger;

impl SigningKey for Forger {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.contains(&SignatureScheme::ED25519).then(|| Box::new(Self) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Forger {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        let mut signature = vec![0; 64];
        signature[0] = 1;
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
