//! The lines on which sound is measured.

use std::time::Duration;

use common::netsim::{Bursts, NetConditions, Pauses, Scenario};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A line.
pub(crate) struct Condition {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    conditions: NetConditions,
    /// True if it pauses each second.
    pauses: bool,
}

/// A home's line each way.
const QUIET: NetConditions = NetConditions::perfect(ms(25));

/// All lines.
pub(crate) const ALL: [Condition; 7] = [
    condition("loopback", "no line between", NetConditions::perfect(ms(0))),
    condition("quiet", "25 ms each way", QUIET),
    condition("loss1", "1 % of packets lost", NetConditions { loss: 0.01, ..QUIET }),
    condition("loss5", "5 % of packets lost", NetConditions { loss: 0.05, ..QUIET }),
    condition(
        "bursts",
        "1 % lost in bursts of 8",
        NetConditions { bursts: Some(Bursts { average: 0.01, mean_length: 8.0 }), ..QUIET },
    ),
    condition("jitter", "jitter of half a bell, 5 ms", NetConditions { jitter_spread: ms(5), ..QUIET }),
    Condition {
        pauses: true,
        ..condition("pauses", "stands still for 40 to 150 ms each second", NetConditions::perfect(ms(5)))
    },
];

const fn condition(name: &'static str, title: &'static str, conditions: NetConditions) -> Condition {
    Condition { name, title, conditions, pauses: false }
}

impl Condition {
    /// Returns the delay of the line one way.
    pub(crate) fn delay(&self) -> Duration {
        self.conditions.delay
    }

    /// Returns both ways for so long, by a seed.
    pub(crate) fn ways(&self, seed: u64, length: Duration) -> [Scenario; 2] {
        // Other fates on the way back.
        [seed, seed ^ 0x5eed].map(|seed| {
            let scenario = Scenario::from(self.conditions).with_seed(seed);
            match self.pauses {
                true => scenario.paused(Pauses::NONE, Pauses::random(seed, ms(0), length, ms(1_000), ms(40), ms(150))),
                false => scenario,
            }
        })
    }
}
