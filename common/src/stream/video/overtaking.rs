//! The wait for datagrams that others have overtaken.

use std::time::Duration;

use crate::units::Timestamp;

/// Datagrams after which it is known whether a path lets them overtake each other: those of about a second.
const LEARNT: u32 = 500;
/// Time for which the longest wait is remembered; twice as long at most.
const MEMORY: Duration = Duration::from_secs(10);
/// Ratio of the wait to the longest one seen.
const MARGIN: u32 = 2;
/// Shortest wait: timers are no finer.
const LEAST: Duration = Duration::from_millis(1);

/// Times by which datagrams come after those that have overtaken them. Most paths keep the order, and then what is
/// missing at a frame's end is lost and not late (as in RACK: RFC 8985, section 6.2, step 4).
#[derive(Clone, Debug)]
pub(super) struct Overtaking {
    datagrams: u32,
    /// The longest since this time, and in the span of memory before.
    longest: [Duration; 2],
    since: Timestamp,
}

impl Overtaking {
    /// Creates a state in which nothing is known of the path.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { datagrams: 0, longest: [Duration::ZERO; 2], since: now }
    }

    /// Takes a datagram that comes `late` after the first one that has overtaken it; zero: none has.
    pub(super) fn on_datagram(&mut self, late: Duration, now: Timestamp) {
        self.datagrams = self.datagrams.saturating_add(1);
        if now.since(self.since) > MEMORY {
            (self.longest, self.since) = ([Duration::ZERO, self.longest[0]], now);
        }
        self.longest[0] = self.longest[0].max(late);
    }

    /// Returns the time for which a datagram that has been overtaken is worth waiting for, at most `most`.
    pub(super) fn wait(&self, most: Duration) -> Duration {
        if self.datagrams < LEARNT {
            return most;
        }
        let longest = self.longest[0].max(self.longest[1]);
        longest.saturating_mul(MARGIN).max(LEAST).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_micros(3_300);

    #[test]
    fn a_path_that_keeps_the_order_is_not_waited_for() {
        let at = |ms: u64| Timestamp::from_us(1_000 * ms);
        let mut overtaking = Overtaking::new(at(0));
        assert_eq!(overtaking.wait(MOST), MOST, "unknown");
        (0..500).for_each(|n| overtaking.on_datagram(Duration::ZERO, at(n)));
        assert_eq!(overtaking.wait(MOST), LEAST);
        assert_eq!(overtaking.wait(Duration::ZERO), Duration::ZERO, "never longer than asked for");
        overtaking.on_datagram(Duration::from_micros(900), at(1_000));
        assert_eq!(overtaking.wait(MOST), Duration::from_micros(1_800));
        overtaking.on_datagram(Duration::MAX, at(1_100));
        assert_eq!(overtaking.wait(MOST), MOST);
        overtaking.on_datagram(Duration::ZERO, at(11_200));
        assert_eq!(overtaking.wait(MOST), MOST, "remembered");
        (22..24).for_each(|s| overtaking.on_datagram(Duration::ZERO, at(11_000 * s)));
        assert_eq!(overtaking.wait(MOST), LEAST, "and forgotten");
    }
}
