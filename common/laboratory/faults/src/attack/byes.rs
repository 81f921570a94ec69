//! Peers that say goodbye in every possible way.

use std::time::Duration;

use anyhow::{Context, Result};
use common::wire::control::{ByeReason, ControlMessage, StreamEnd};

use super::caller::{call, listen};
use super::{Outcome, Testbed};
use crate::daemons::Daemon;
use crate::hostile::HostileLine;

/// Time for which a dialler is watched that is sent away each time.
const WATCHED: Duration = Duration::from_secs(3);
/// Calls of a dialler in that time, at most: one a second, and some that come faster first.
const CALLS_MAX: usize = 10;
/// Longest time until a daemon's required message.
const PATIENCE: Duration = Duration::from_secs(10);

fn goodbyes() -> [ByeReason; 3] {
    let lie = "you have broken the protocol\nand nobody may call you".to_owned();
    [ByeReason::Finished { last_frame: None }, ByeReason::Protocol(lie), ByeReason::ReplacedByNewer]
}

/// Says Hello, hears the other's and says goodbye.
async fn part(line: &mut HostileLine, reason: ByeReason) -> Result<()> {
    line.greet().await?;
    line.hear().await?;
    line.say(&ControlMessage::Bye { reason }).await?;
    let _ = tokio::time::timeout(Duration::from_millis(300), line.verdict()).await;
    line.connection.close(0u32.into(), b"");
    Ok(())
}

/// Calls a listening daemon, once for each goodbye; returns true if it still takes calls afterwards.
fn to_a_listener(
    testbed: &Testbed,
    victim: &mut Daemon,
    name: &str,
    own: StreamEnd,
    address: std::net::SocketAddr,
) -> Result<()> {
    let key = ["receiver", "sender"][usize::from(own == StreamEnd::Sender)];
    call(testbed, key, name, async |endpoint| {
        for reason in goodbyes() {
            let line = tokio::time::timeout(PATIENCE, HostileLine::open(endpoint, address, own)).await;
            let mut line = line.context("no answer")?.context("after another goodbye")?;
            part(&mut line, reason).await?;
            victim.look();
        }
        let mut line = HostileLine::open(endpoint, address, own).await.context("after all goodbyes")?;
        line.greet().await?;
        line.hear().await.context("after all goodbyes")?;
        Ok(())
    })
}

/// Says goodbye to a listening receiver, to a listening sender, and to a sender that dials.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let mut all = Outcome::default();
    let (address, mut receiver) = testbed.listening_receiver()?;
    let held = to_a_listener(testbed, &mut receiver, "receiver", StreamEnd::Sender, address);
    add(&mut all, "listening receiver", held, &mut receiver)?;

    let (address, mut sender) = testbed.listening_sender()?;
    let held = to_a_listener(testbed, &mut sender, "sender", StreamEnd::Receiver, address);
    add(&mut all, "listening sender", held, &mut sender)?;
    drop(sender);

    let mut calls = 0;
    let held = listen(testbed, "receiver", "sender", async |endpoint, address| {
        let mut sender = testbed.calling_sender(address)?;
        let mut reasons = goodbyes().into_iter().cycle();
        let first = tokio::time::timeout(PATIENCE, HostileLine::accept(endpoint, StreamEnd::Receiver))
            .await
            .context("no call")??;
        let mut line = Some(first);
        sender.begin();
        let watched = async {
            loop {
                if let (Some(line), Some(reason)) = (&mut line, reasons.next()) {
                    calls += 1;
                    let _ = part(line, reason).await;
                }
                line = HostileLine::accept(endpoint, StreamEnd::Receiver).await.ok();
            }
        };
        let _: Result<(), _> = tokio::time::timeout(WATCHED, watched).await;
        sender.look();
        add(&mut all, "dialling sender", Ok(()), &mut sender)
    });
    all.expect(held.is_ok(), format!("{held:?}"));
    all.expect(calls <= CALLS_MAX, format!("{calls} calls in {} s", WATCHED.as_secs()));
    all.note = format!("{calls} calls of a dialler in {} s", WATCHED.as_secs());
    Ok(all)
}

/// Adds the outcome of the daemon `name` to that of the others.
fn add(all: &mut Outcome, name: &str, held: Result<()>, victim: &mut Daemon) -> Result<()> {
    // One that ends takes a moment for it.
    victim.watch(Duration::from_millis(300));
    let outcome = victim.outcome()?;
    all.expect(outcome.exit_code.is_none(), format!("the {name} has ended with {:?}", outcome.exit_code));
    all.exit_code = all.exit_code.or(outcome.exit_code);
    if let (Err(error), None) = (held, outcome.exit_code) {
        all.bars.0.push(format!("the {name}: {error:#}"));
    }
    let lines = outcome.log_lines.unwrap_or_default();
    all.log_lines = Some(all.log_lines.unwrap_or_default() + lines);
    Ok(())
}
