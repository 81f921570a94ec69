//! An attacker on the path answers a dialler in the name of the machine that it calls.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use net::tls::{PeerVerifier, Protocol, server_config};
use quinn::crypto::rustls::QuicServerConfig;

use super::{Outcome, Testbed};
use crate::initial::{refusal, version_negotiation};
use crate::relay::{Deed, Relay};

/// Handshakes that are answered before and during the call.
const FORGED: usize = 2;
/// Pictures that show that the call goes on.
const PICTURES: usize = 3;
/// TLS: handshake_failure.
const ALERT: u8 = 40;

/// Forges an answer that speaks another version of QUIC.
pub(super) fn version(testbed: &Testbed) -> Result<Outcome> {
    against(testbed, Deed::Forge(|asked| Ok(version_negotiation(asked))))
}

/// Forges an answer that refuses the handshake.
pub(super) fn alert(testbed: &Testbed) -> Result<Outcome> {
    against(testbed, Deed::Forge(|asked| refusal(asked, ALERT)))
}

/// Answers with another key.
pub(super) fn key(testbed: &Testbed) -> Result<Outcome> {
    let own = testbed.identity("stranger")?.certified_key()?;
    let tls = server_config(own, PeerVerifier::new([testbed.identity("sender")?.public_key()]), Protocol::Call)?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let endpoint = runtime.block_on(async { quinn::Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()) })?;
    let address = endpoint.local_addr()?;
    let over = endpoint.clone();
    let answering = std::thread::spawn(move || {
        runtime.block_on(async {
            while let Some(incoming) = endpoint.accept().await {
                // The dialler ends it.
                let _ = incoming.await;
            }
        });
    });
    let outcome = against(testbed, Deed::Divert(address));
    over.close(0u32.into(), b"");
    let _ = answering.join();
    outcome
}

/// Answers before a call and in one, then stops; a sender that gets through both times has not believed it.
fn against(testbed: &Testbed, deed: Deed) -> Result<Outcome> {
    let (listener, _receiver) = testbed.listening_receiver()?;
    let wire = Relay::on_path(listener, deed)?;
    let mut sender = testbed.calling_sender(wire.address())?;
    sender.begin();
    let mut calls = 0;
    let mut course = || -> Result<()> {
        for _ in 0..2 {
            let before = wire.tap().begun();
            wire.tap().set(deed);
            sender.until("a handshake", || Ok(wire.tap().begun() >= before + FORGED))?;
            wire.tap().set(Deed::Pass);
            testbed.wait_for_pictures(&mut sender, PICTURES)?;
            calls += 1;
        }
        Ok(())
    };
    let ended = course();
    let mut outcome = sender.outcome()?;
    outcome.note = format!("{} of 2 times the call came about", calls);
    if let Err(error) = ended {
        outcome.expect(false, format!("{error:#}"));
    }
    Ok(outcome)
}
