//! Tells when a round of knocks has failed, so that the next one leaves from another port.

use std::time::Duration;

use super::kinds::Kind;
use crate::units::Timestamp;

/// Length of the first round; each later one is twice as long.
const ROUND: Duration = Duration::from_secs(3);
/// Time for which the other machine may be about to come, and so rounds may fail: nobody knows whether one fails for the
/// port or because the other is not there, and each port that is opened is work for the router.
pub(super) const EXPECTED: Duration = Duration::from_secs(30);

const _: () =
    assert!(ROUND.as_millis() > Kind::Relayed.settle().as_millis(), "a relay is dialled before a round fails");
const _: () = assert!(2 * ROUND.as_millis() < EXPECTED.as_millis(), "more than one may fail");

/// The rounds of one search. It knows no socket and no clock. The first one begins when there is a way to knock at: from another
/// port nobody is found who is not looked for.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    round: Option<Round>,
    /// Time of the last news of the other machine.
    news: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// Time from which on the other machine is expected.
    since: Timestamp,
    ends: Timestamp,
    lasts: Duration,
}

impl Round {
    fn first(now: Timestamp) -> Self {
        Self { since: now, ends: now + ROUND, lasts: ROUND }
    }

    fn is_expecting(&self) -> bool {
        self.ends.since(self.since) < EXPECTED
    }
}

impl Rounds {
    /// Begins anew, if it has begun: the other machine is expected from now on.
    pub fn restart(&mut self, now: Timestamp) {
        if let Some(round) = &mut self.round {
            *round = Round::first(now);
        }
    }

    /// Takes notice of news of the other machine. It is expected from now on if there were none for a while; what comes soon
    /// after others may be an answer to this side's new port, and ports that call for ports would never end.
    pub fn on_news(&mut self, now: Timestamp) {
        if self.news.is_none_or(|last| now.since(last) >= EXPECTED) {
            self.round = Some(Round::first(now));
        }
        self.news = Some(now);
    }

    /// Returns true if a round has failed: the next one shall leave from another port. `is_sought`: whether there is a way to knock
    /// at, or a connection. `is_near`: whether a connection without a relay may be about to come, or is there.
    pub fn poll(&mut self, is_sought: bool, is_near: bool, now: Timestamp) -> bool {
        if !is_sought {
            return false;
        }
        let round = self.round.get_or_insert_with(|| Round::first(now));
        if now < round.ends {
            return false;
        }
        let has_failed = !is_near && round.is_expecting();
        if has_failed {
            round.lasts *= 2;
        }
        round.ends = now + round.lasts;
        has_failed
    }

    /// Returns the time to call [`Rounds::poll`] again; none: nobody is looked for yet, or the other is not expected any more.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.round.filter(Round::is_expecting).map(|round| round.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 + 1_000 * ms)
    }

    /// Returns the times at which another port is opened.
    fn ports(rounds: &mut Rounds, from: u64, to: u64, is_near: impl Fn(u64) -> bool) -> Vec<u64> {
        (from..to).filter(|ms| rounds.poll(true, is_near(*ms), at(*ms))).collect()
    }

    #[test]
    fn rounds_that_fail_are_few_and_longer_each_time() {
        let mut rounds = Rounds::default();
        assert_eq!(ports(&mut rounds, 0, 1_000_000, |_| false), [3_000, 9_000, 21_000]);
        assert_eq!(rounds.poll_timeout(), None);
        rounds.restart(at(1_000_000));
        assert_eq!(ports(&mut rounds, 1_000_000, 1_005_000, |_| false), [1_003_000]);
    }

    #[test]
    fn nothing_fails_before_there_is_anybody_to_find() {
        let mut rounds = Rounds::default();
        rounds.restart(at(0));
        assert!(!(0..600_000).any(|ms| rounds.poll(false, false, at(ms))));
        assert_eq!(rounds.poll_timeout(), None);
        assert_eq!(ports(&mut rounds, 600_000, 604_000, |_| false), [603_000]);
        assert_eq!(rounds.poll_timeout(), Some(at(609_000)));
    }

    #[test]
    fn where_a_way_works_no_round_fails() {
        let mut rounds = Rounds::default();
        assert!(ports(&mut rounds, 0, 20_000, |_| true).is_empty());
        assert_eq!(ports(&mut rounds, 20_000, 100_000, |_| false), [21_000, 27_000], "while it was expected");
    }

    #[test]
    fn news_of_two_sides_do_not_keep_each_other_going() {
        let mut rounds = Rounds::default();
        let _ = ports(&mut rounds, 0, 100_000, |_| false);
        rounds.on_news(at(100_000));
        let mut all = Vec::new();
        for second in 100..400 {
            rounds.on_news(at(1_000 * second));
            all.extend(ports(&mut rounds, 1_000 * second, 1_000 * (second + 1), |_| false));
        }
        assert_eq!(all, [103_000, 109_000, 121_000]);
        rounds.on_news(at(500_000));
        assert_eq!(rounds.poll_timeout(), Some(at(503_000)), "it has come anew");
    }
}
