//! A listener that is killed and runs again: the time until its peer knows.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Outcome, Testbed};
use crate::testbed::unix_time;

/// Number of times that it is killed.
const KILLS: usize = 3;
/// Pictures that show that the call goes on.
const PICTURES: usize = 5;

/// Kills a receiver in a call and starts it anew at once.
pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let (address, mut receiver) = testbed.listening_receiver()?;
    let peer = testbed.key("sender")?;
    let mut sender = testbed.calling_sender(address)?;
    testbed.wait_for_pictures(&mut receiver, PICTURES)?;
    sender.begin();
    let (mut known, mut latest, mut gap) = (0, Duration::ZERO, 0f64);
    for number in 1..=KILLS {
        let began = unix_time()?;
        receiver.kill()?;
        receiver = testbed.start("receiver", &mut testbed.receiver(address, &peer)?)?;
        testbed.wait_until_bound(address, &mut receiver)?;
        let bound = Instant::now();
        let log = testbed.file("sender.log");
        let count = |text: &str| std::fs::read_to_string(&log).unwrap_or_default().matches(text).count();
        let before = known;
        sender.until("a new connection", || {
            if known == before && count("has restarted") > before {
                known += 1;
                latest = latest.max(bound.elapsed());
            }
            Ok(count("connected to ") > number)
        })?;
        testbed.wait_for_pictures(&mut receiver, PICTURES)?;
        gap = gap.max(testbed.gap_ms(began)?);
    }
    let mut outcome = sender.outcome()?;
    outcome.gap_ms = Some(gap);
    outcome.note = format!("{known} of {KILLS} times it knew, at most {} ms after", latest.as_millis());
    outcome.expect(known > 0, "it never knew that the listener had restarted");
    Ok(outcome)
}
