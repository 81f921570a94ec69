//! A dialler whose listener is in a call with another machine.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, Testbed};
use crate::relay::{Deed, Relay};

/// Time for which it dials.
const SPAN: Duration = Duration::from_secs(4);
/// Handshakes in that time: one a second, and some that come faster first.
const HANDSHAKES_MAX: usize = 8;

/// Dials a receiver that another sender has called.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let (first, second, own) = (testbed.key("sender")?, testbed.key("second")?, testbed.key("receiver")?);
    let mut receiver = testbed.start("receiver", testbed.receiver(address, &first)?.args(["--peer", &second]))?;
    testbed.wait_until_bound(address, &mut receiver)?;
    let mut calling = testbed.calling_sender(address)?;
    testbed.wait_for_pictures(&mut calling, 1)?;
    let wire = Relay::on_path(address, Deed::Pass)?;
    let mut dialler = testbed.start("second", &mut testbed.sender("second", "--to", wire.address())?)?;
    dialler.until("a handshake", || Ok(wire.tap().begun() > 0))?;
    receiver.begin();
    receiver.watch(SPAN);
    let mut outcome = receiver.outcome()?;
    let handshakes = wire.tap().begun();
    outcome.note = format!("{:.1} handshakes a second", handshakes as f64 / SPAN.as_secs_f64());
    outcome.expect(handshakes <= HANDSHAKES_MAX, format!("{handshakes} handshakes in {} s", SPAN.as_secs()));
    outcome.expect(
        wire.tap().retries() > 0,
        "in a call, it lets somebody begin a handshake who has not proved its address",
    );
    // Without a name the listener is called by the start of its key.
    let name: String = own.trim_start_matches("duet-key-").chars().take(8).collect();
    let told = dialler.said().matches(&format!("{name} is in a call")).count();
    outcome.expect(told == 1, format!("it is told {told} times in a minute that the listener is in a call"));
    let noted = receiver.said().matches(" called, but ").count();
    outcome.expect(noted == 1, format!("the listener notes {noted} times in a minute that it was called"));
    Ok(outcome)
}
