//! Strangers that call a listener without a pause, from addresses that are their own, while it waits for its peer.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::wire::PROTOCOL_VERSION;
use common::wire::control::{ControlMessage, Role};
use tokio::task::JoinSet;

use super::caller::call;
use super::{Outcome, Stage};
use crate::hostile::{self, Line};

/// Strangers, each with an address.
const STRANGERS: u8 = 16;
/// From the first call to the peer's.
const BEFORE: Duration = Duration::from_secs(2);
/// Longest wait for the listener's Hello; one that is attacked and no more than busy takes a small part of it.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const GROWTH_MAX_MB: f64 = 16.0;
const LINES_MAX: usize = 20;

/// Lets strangers call a receiver, then its peer, which says Hello and waits for the answer.
pub(super) fn run(stage: &Stage) -> Result<Outcome> {
    let address = stage.free_address()?;
    let mut receiver = stage.start("receiver", &mut stage.receiver(address, &stage.key("sender")?)?)?;
    stage.wait_until_bound(address, &mut receiver)?;
    let config = hostile::client(&stage.identity("stranger")?, stage.identity("receiver")?.public_key())?;
    let (over, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (theirs, counted) = (Arc::clone(&over), Arc::clone(&calls));
    receiver.begin();
    let began = Instant::now();
    let strangers = std::thread::spawn(move || knock(&config, address, &theirs, &counted));
    receiver.watch(BEFORE);
    let called = Instant::now();
    let answered = call(stage, "sender", "receiver", async |endpoint| {
        tokio::time::timeout(ANSWER_MAX, async {
            loop {
                let Ok(mut line) = Line::open(endpoint, address, Role::Sender).await else { continue };
                line.say(&ControlMessage::Hello { version: PROTOCOL_VERSION, role: Role::Sender }).await?;
                return line.hear().await;
            }
        })
        .await
        .context("no answer")?
    });
    let answer = called.elapsed();
    over.store(true, Ordering::Relaxed);
    let per_second = calls.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    let knocked = strangers.join().map_err(|_| anyhow::anyhow!("the strangers broke down"))?;
    let mut outcome = receiver.outcome()?;
    let lines = outcome.log_lines.unwrap_or_default();
    outcome.note = format!("{per_second:.0} calls a second, the peer is answered after {} ms", answer.as_millis());
    outcome.at_most("growth, MB", outcome.growth_mb, GROWTH_MAX_MB);
    outcome.expect(lines <= LINES_MAX, format!("{lines} lines in the log"));
    outcome.expect(answered.is_ok(), "the peer is not answered");
    knocked.map(|()| outcome)
}

/// Calls `address` from all addresses until it is over.
fn knock(config: &quinn::ClientConfig, address: SocketAddr, over: &AtomicBool, calls: &AtomicU64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut strangers = JoinSet::new();
        let mut endpoints = Vec::new();
        for number in 1..=STRANGERS {
            endpoints.push(hostile::endpoint(Ipv4Addr::new(127, 9, 1, number), config.clone())?);
        }
        let begin = |endpoint: &quinn::Endpoint| {
            let endpoint = endpoint.clone();
            async move {
                if let Ok(connecting) = endpoint.connect(address, "duet")
                    && let Ok(connection) = connecting.await
                {
                    connection.closed().await;
                }
                endpoint
            }
        };
        endpoints.iter().for_each(|endpoint| drop(strangers.spawn(begin(endpoint))));
        while let Some(Ok(endpoint)) = strangers.join_next().await {
            if over.load(Ordering::Relaxed) {
                break;
            }
            calls.fetch_add(1, Ordering::Relaxed);
            strangers.spawn(begin(&endpoint));
        }
        Ok(())
    })
}
