//! Pings whose answers are never read.

use std::time::{Duration, Instant};

use anyhow::Result;
use common::units::Timestamp;
use common::wire::control::{ControlMessage, StreamEnd, encode};

use super::caller::call;
use super::{Outcome, Testbed};
use crate::hostile::HostileLine;

/// Time for which pings are sent to a sender that takes them.
const SPAN: Duration = Duration::from_secs(8);

/// Pings a listening sender as fast as it takes them and reads nothing.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let (address, mut sender) = testbed.listening_sender()?;
    let mut pings = Vec::new();
    for id in 0..1_000 {
        encode(&ControlMessage::Ping { id, sent: Timestamp::default() }, None, &mut pings);
    }
    let verdict = call(testbed, "receiver", "sender", async |endpoint| {
        let mut line = HostileLine::open(endpoint, address, StreamEnd::Receiver).await?;
        line.greet().await?;
        let end = Instant::now() + SPAN;
        while Instant::now() < end && line.connection.close_reason().is_none() {
            let _ = tokio::time::timeout(Duration::from_millis(100), line.send.write_all(&pings)).await;
            sender.look();
        }
        Ok(line.verdict().await)
    })?;
    let mut outcome = sender.outcome()?;
    outcome.expect(verdict.as_ref().is_some_and(|reason| reason.contains("pings")), format!("told {verdict:?}"));
    outcome.note = format!("told {}", verdict.as_deref().unwrap_or("nothing"));
    Ok(outcome)
}
