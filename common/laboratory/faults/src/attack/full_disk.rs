//! A recording on a disk that is full, with and without another sink beside it.

use std::process::Command;

use anyhow::Result;

use super::{Outcome, Testbed};
use crate::testbed::unix_time;

/// Blocks of 512 bytes that a file may have: some pictures.
const BLOCKS_MAX: u32 = 2_000;
/// Pictures after which the disk is certainly full.
const PICTURES: usize = 40;

pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let beside = attempt(testbed, &["headless", "y4m:/dev/full"], None)?;
    let alone = attempt(testbed, &["y4m:/dev/full"], None)?;
    let mut outcome = attempt(testbed, &[&format!("y4m:{}", testbed.file("recording").display())], Some(BLOCKS_MAX))?;
    for (name, other) in [("beside another sink", beside), ("alone", alone)] {
        outcome.bars.0.extend(other.bars.0.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    Ok(outcome)
}

fn attempt(testbed: &Testbed, sinks: &[&str], blocks_max: Option<u32>) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let program = testbed.program("receiver")?;
    let mut command = Command::new("sh");
    let limit = blocks_max.map_or_else(|| "unlimited".to_owned(), |blocks| blocks.to_string());
    command.args(["-c", "ulimit -f \"$BLOCKS\"; exec \"$0\" \"$@\""]).env("BLOCKS", limit);
    command.arg(program.get_program()).args(program.get_args());
    command.args(["--listen", &address.to_string(), "--peer", &testbed.key("sender")?, "--config"]);
    command.arg(testbed.pictures_config("receiver", "pictures")?);
    for sink in sinks {
        command.args(["--sink", sink]);
    }
    let mut receiver = testbed.start("receiver", &mut command)?;
    testbed.wait_until_bound(address, &mut receiver)?;
    let mut sender = testbed.calling_sender(address)?;

    receiver.begin();
    let from = unix_time()?;
    let shown = testbed.wait_for_pictures(&mut receiver, PICTURES);
    let mut outcome = receiver.outcome()?;
    if shown.is_err() {
        outcome.expect(false, format!("the call ended with {:?}", outcome.exit_code));
        return Ok(outcome);
    }
    outcome.gap_ms = Some(testbed.gap_ms(from)?);
    let warnings = receiver.said().matches("nothing more is recorded there").count();
    outcome.expect(warnings == 1, format!("{warnings} warnings that nothing is recorded"));
    receiver.signal("TERM")?;
    let code = receiver.wait()?;
    outcome.expect(code == 3, format!("the receiver ended with {code}"));
    outcome.exit_code = Some(code);
    sender.check()?;
    Ok(outcome)
}
