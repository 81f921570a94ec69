//! A dialler whose listener is in a call with another machine.

use std::time::Duration;

use anyhow::Result;

use super::wire::{Deed, Wire};
use super::{Outcome, Stage};

/// Time for which it dials.
const SPAN: Duration = Duration::from_secs(4);
/// Handshakes in that time: one a second, and some that come faster first.
const HANDSHAKES_MAX: usize = 8;

/// Dials a receiver that another sender has called.
pub(super) fn run(stage: &Stage) -> Result<Outcome> {
    let address = stage.free_address()?;
    let (first, second, own) = (stage.key("sender")?, stage.key("second")?, stage.key("receiver")?);
    let mut receiver = stage.start("receiver", stage.receiver(address, &first)?.args(["--peer", &second]))?;
    stage.wait_until_bound(address, &mut receiver)?;
    let mut calling = stage.start("sender", &mut stage.sender(address, &own)?)?;
    stage.wait_for_pictures(&mut calling, 1)?;
    let wire = Wire::to(address, Deed::Pass)?;
    let mut command = stage.sender_as("second", wire.address, &own)?;
    let mut dialler = stage.start("second", &mut command)?;
    dialler.until("a handshake", || Ok(wire.begun() > 0))?;
    receiver.begin();
    receiver.watch(SPAN);
    let mut outcome = receiver.outcome()?;
    let handshakes = wire.begun();
    outcome.note = format!("{:.1} handshakes a second", handshakes as f64 / SPAN.as_secs_f64());
    outcome.expect(handshakes <= HANDSHAKES_MAX, format!("{handshakes} handshakes in {} s", SPAN.as_secs()));
    outcome.expect(wire.retries() > 0, "in a call, it lets somebody begin a handshake who has not proved its address");
    outcome.expect(dialler.daemon.said().contains("in a call"), "it is not told that the listener is in a call");
    Ok(outcome)
}
