//! The lines on which both sides are measured.

use std::time::Duration;

use common::netsim::{NetConditions, Pauses, Scenario, lines};
use common::units::Bitrate;

use crate::scenario::case::FAR;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn narrow(mbit: u64, queue: Duration) -> NetConditions {
    FAR.limited(Bitrate::from_bps(1_000_000 * mbit), queue)
}

/// A line.
pub(super) struct Line {
    /// Its name on the command line.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) there: Scenario,
    pub(super) back: Scenario,
    /// Most that may be sent, Mbit/s: a measurement each.
    pub(super) caps: &'static [u32],
}

/// Returns all lines, for `length` from `from` on. A recording takes the place of a made-up mobile line.
pub(super) fn all(seed: u64, from: Duration, length: Duration, recordings: &[String]) -> Vec<Line> {
    // The page may be slow to end.
    let end = from + length + ms(60_000);
    let line = |name, title, (there, back): (Scenario, Scenario), caps| {
        // Other fates on the way back.
        Line { name, title, there: there.with_seed(seed), back: back.with_seed(seed ^ 0x5eed), caps }
    };
    let there = |scenario: Scenario| (scenario, Scenario::from(FAR));
    let queue = ms(100);
    let lossy = Scenario::from(NetConditions { loss: 0.05, ..FAR });
    let change =
        [(ms(0), narrow(8, queue)), (from + length / 3, narrow(1, queue)), (from + length * 2 / 3, narrow(8, queue))];
    let pauses = |least, most| Pauses::random(seed, ms(2_000), end, ms(1_000), ms(least), ms(most));
    let wifi = pauses(40, 150);
    let radio =
        (Scenario::from(FAR).paused(Pauses::NONE, wifi.clone()), Scenario::from(FAR).paused(wifi, Pauses::NONE));
    let still = || Scenario::from(FAR).paused(pauses(48, 112), pauses(48, 112));
    let mobile = match recordings.first() {
        Some(recording) => lines::recorded(recording, FAR, ms(200)),
        None => lines::mobile(seed, end, FAR, ms(200)),
    };
    vec![
        line("clean", "nothing", there(FAR.into()), &[2, 8]),
        line("loss", "5 % of packets lost, both ways", (lossy.clone(), lossy), &[2, 8]),
        line("narrow", "line of 5 Mbit/s, 100 ms of queue", there(narrow(5, queue).into()), &[8]),
        line("change", "line of 8, 1, 8 Mbit/s, 100 ms of queue", there(Scenario::table(&change)), &[8]),
        line("wifi", "Wi-Fi pauses of 40 to 150 ms each second", radio, &[2, 8]),
        line("stalls", "the network stands still for 48 to 112 ms each second", (still(), still()), &[8]),
        line(
            "steps",
            "20, 6, 12, 3 Mbit/s, another every 0.5 to 2 s",
            there(lines::steps(seed, end, FAR, ms(500))),
            &[8],
        ),
        line("mobile", "a mobile line, 200 ms of queue", there(mobile), &[8]),
    ]
}
