//! A flood of handshakes at a listener that waits for its peer.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Outcome, Stage};
use crate::cases::Flood;
use crate::flood;

/// Handshakes begun a second, none of which goes on.
const PER_SECOND: u32 = 10_000;
/// From the flood's begin to the peer's call.
const BEFORE: Duration = Duration::from_secs(2);
/// The whole flood, unless the picture takes longer.
const SPAN: Duration = Duration::from_secs(6);
const GROWTH_MAX_MB: f64 = 16.0;
const LINES_MAX: usize = 20;

/// Floods a receiver and lets its sender call meanwhile.
pub(super) fn run(stage: &Stage) -> Result<Outcome> {
    let address = stage.free_address()?;
    let mut receiver = stage.start("receiver", &mut stage.receiver(address, &stage.key("sender")?)?)?;
    stage.wait_until_bound(address, &mut receiver)?;
    receiver.begin();
    let flooding = flood::start(Flood::Initials, address, PER_SECOND, SPAN)?;
    receiver.watch(BEFORE);
    // The picture's own memory is not the flood's.
    let mut outcome = receiver.outcome()?;
    let called = Instant::now();
    let _sender = stage.start("sender", &mut stage.sender(address, &stage.key("receiver")?)?)?;
    stage.wait_for_pictures(&mut receiver, 1)?;
    let picture = called.elapsed();
    receiver.watch(SPAN.saturating_sub(BEFORE + picture));
    let whole = receiver.outcome()?;
    (outcome.cpu_s, outcome.log_lines) = (whole.cpu_s, whole.log_lines);
    let lines = outcome.log_lines.unwrap_or_default();
    outcome.note = format!("{}, a picture after {} ms", flooding.note(), picture.as_millis());
    outcome.at_most("growth, MB", outcome.growth_mb, GROWTH_MAX_MB);
    outcome.expect(lines <= LINES_MAX, format!("{lines} lines in the log"));
    Ok(outcome)
}
