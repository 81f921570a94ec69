//! Endless handshakes, at a listener that waits for its peer and at one in a call, whose control stream must answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::units::Timestamp;
use common::wire::control::{ControlMessage, StreamEnd};

use super::beside::{CallerAct, callers};
use super::caller::call;
use super::{Outcome, Testbed};
use crate::daemons::Daemon;
use crate::flood::Flood;
use crate::flood::{self, Flooding};
use crate::hostile::{self, AtWork, HostileLine};

/// Datagrams a second: handshakes begun, and 1 Gbit/s of junk.
const HANDSHAKES: u32 = 10_000;
const JUNK: u32 = 104_000;
/// Time from the flood's begin to the peer's call.
const BEFORE: Duration = Duration::from_secs(2);
/// Duration of the whole flood, unless the picture takes longer.
const SPAN: Duration = Duration::from_secs(6);
/// Duration of each flood in a call.
const IN_CALL: Duration = Duration::from_secs(3);
/// Time from an answer to the next question.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for an answer, which takes some milliseconds where the machine is not busy with anything else.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Strangers, each with an address.
const STRANGERS: u8 = 16;

/// Begins handshakes at a receiver that do not go on.
pub(super) fn begun(testbed: &Testbed) -> Result<Outcome> {
    idle(testbed, |address| flood::start(Flood::Initials, address, HANDSHAKES, SPAN), Flooding::note)
}

/// Lets strangers call a receiver without a pause, from addresses that are their own.
pub(super) fn strangers(testbed: &Testbed) -> Result<Outcome> {
    let config = hostile::client(&testbed.identity("stranger")?, testbed.identity("receiver")?.public_key())?;
    let start = |address| {
        let strangers =
            AtWork::start(move |stop| callers(STRANGERS, address, stop, CallerAct::Wait, |_| Ok(config.clone())));
        Ok((Instant::now(), strangers))
    };
    idle(testbed, start, |(began, strangers)| match strangers.end() {
        Ok(calls) => format!("{:.0} calls a second", calls as f64 / began.elapsed().as_secs_f64()),
        Err(error) => format!("they broke down: {error:#}"),
    })
}

/// Starts a receiver and the flood, lets the peer say Hello, then its sender call; `end` says how much came.
fn idle<F>(
    testbed: &Testbed,
    begin: impl FnOnce(SocketAddr) -> Result<F>,
    end: impl FnOnce(F) -> String,
) -> Result<Outcome> {
    let (address, mut receiver) = testbed.listening_receiver()?;
    let (began, flooding) = (Instant::now(), begin(address)?);
    receiver.watch(BEFORE);
    let called = Instant::now();
    let answered = call(testbed, "sender", "receiver", async |endpoint| {
        let hello = async {
            loop {
                let Ok(mut line) = HostileLine::open(endpoint, address, StreamEnd::Sender).await else { continue };
                line.greet().await?;
                return line.hear().await;
            }
        };
        tokio::time::timeout(ANSWER_MAX, hello).await.context("no answer")?
    });
    let answer = called.elapsed();
    // The picture's own memory is not the flood's.
    let mut outcome = receiver.outcome()?;
    let called = Instant::now();
    let _sender = testbed.calling_sender(address)?;
    testbed.wait_for_pictures(&mut receiver, 1)?;
    let picture = called.elapsed();
    receiver.watch(SPAN.saturating_sub(began.elapsed()));
    let flood = end(flooding);
    add_whole(&mut outcome, &mut receiver)?;
    outcome.note = format!("{flood}, Hello answered after {} ms, a picture after {} ms", ms(answer), ms(picture));
    outcome.expect(answered.is_ok(), format!("the peer is not answered: {answered:?}"));
    Ok(outcome)
}

/// Floods a sender in a call in each way; its receiver asks for the time again and again.
pub(super) fn in_call(testbed: &Testbed) -> Result<Outcome> {
    let (address, mut sender) = testbed.listening_sender()?;
    let mut notes = Vec::new();
    let mut outcome = call(testbed, "receiver", "sender", async |endpoint| {
        let mut line = HostileLine::open(endpoint, address, StreamEnd::Receiver).await?;
        line.greet().await?;
        while !matches!(line.hear().await?, ControlMessage::Welcome { .. }) {}
        line.say(&ControlMessage::Ready).await?;
        line.connection.read_datagram().await.context("no video")?;
        sender.begin();
        for (kind, per_second) in [(Flood::Initials, HANDSHAKES), (Flood::Junk, JUNK)] {
            let start = move || flood::start(kind, address, per_second, IN_CALL);
            let flooding = tokio::task::spawn_blocking(start).await??;
            let (answers, slowest) = ask(&mut line, &mut sender).await?;
            notes.push(format!("{}: {answers} answers, each within {} ms", flooding.note(), ms(slowest)));
        }
        sender.outcome()
    })?;
    add_whole(&mut outcome, &mut sender)?;
    outcome.note = notes.join("; ");
    Ok(outcome)
}

/// Asks for the time while a flood lasts; returns the number of answers, and the time of the slowest.
async fn ask(line: &mut HostileLine, victim: &mut Daemon) -> Result<(u32, Duration)> {
    let (began, mut slowest) = (Instant::now(), Duration::ZERO);
    for id in 0.. {
        if began.elapsed() >= IN_CALL {
            return Ok((id, slowest));
        }
        let asked = Instant::now();
        line.say(&ControlMessage::Ping { id, sent: Timestamp::default() }).await?;
        let answer = async {
            while !matches!(line.hear().await?, ControlMessage::Pong { id: of, .. } if of == id) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(ANSWER_MAX, answer).await.with_context(|| format!("ping {id} is not answered"))??;
        slowest = slowest.max(asked.elapsed());
        victim.look();
        tokio::time::sleep(PAUSE).await;
    }
    Ok((0, slowest))
}

/// Adds processor time and log lines up to the end.
fn add_whole(outcome: &mut Outcome, victim: &mut Daemon) -> Result<()> {
    let whole = victim.outcome()?;
    (outcome.cpu_s, outcome.log_lines) = (whole.cpu_s, whole.log_lines);
    Ok(())
}

const fn ms(span: Duration) -> u128 {
    span.as_millis()
}
