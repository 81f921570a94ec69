//! Strangers and peers that write the log.

use std::time::{Duration, Instant};

use anyhow::Result;
use common::wire::control::StreamEnd;

use super::caller::call;
use super::{Outcome, Testbed};
use crate::hostile::HostileLine;

const STRANGERS: usize = 1_000;
const FORGED: &str = "2026-01-01T00:00:00Z  INFO somebody else says this";
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);

/// Knocks with a key that is not listed, again and again; then a peer says goodbye with a line of a log.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let (address, mut receiver) = testbed.listening_receiver()?;
    call(testbed, "stranger", "receiver", async |endpoint| {
        for _ in 0..STRANGERS {
            let connection = endpoint.connect(address, "duet")?.await;
            if let Ok(connection) = connection {
                connection.closed().await;
            }
        }
        Ok(())
    })?;
    call(testbed, "sender", "receiver", async |endpoint| {
        // After so many strangers from this address, the listener may want a pause.
        let deadline = Instant::now() + PATIENCE;
        let mut line = loop {
            match HostileLine::open(endpoint, address, StreamEnd::Sender).await {
                Err(_) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                opened => break opened?,
            }
        };
        line.greet().await?;
        line.hear().await?;
        line.connection.close(7u32.into(), format!("goodbye\n{FORGED}").as_bytes());
        endpoint.wait_idle().await;
        Ok(())
    })?;
    receiver.until("the goodbye", || Ok(receiver_log(testbed).contains(FORGED)))?;
    let mut outcome = receiver.outcome()?;
    let is_forged = receiver_log(testbed).lines().any(|line| line.starts_with(FORGED));
    // A thousand in a row fail faster than some a second, on any machine.
    outcome.expect(receiver_log(testbed).contains("too many from there have failed"), "nobody is turned away");
    outcome.expect(!is_forged, "a peer has written a line of its own");
    outcome.note = format!("a forged line: {}", if is_forged { "yes" } else { "no" });
    Ok(outcome)
}

fn receiver_log(testbed: &Testbed) -> String {
    std::fs::read_to_string(testbed.file("receiver.log")).unwrap_or_default()
}
