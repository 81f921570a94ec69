//! Loss that the rate causes: persistent loss beyond the path's usual loss.

use std::time::Duration;

use crate::units::Timestamp;

/// Length of the spans over which loss is counted.
const SPAN: Duration = Duration::from_millis(300);
/// Least number of datagrams in a span; spans with fewer are continued.
const DATAGRAMS_MIN: u32 = 20;
/// Least number of datagrams that show the usual loss of a path: spans are added up to so many.
const USUAL_DATAGRAMS: u32 = 100;
/// Number of spans in a row that must show it: no single outage fills so many.
const PERSISTENT: u32 = 3;
/// Share lost beyond the usual that counts as too much for the link.
const EXCESS: f64 = 0.10;
/// Standard deviations by which chance alone makes a share of few datagrams larger.
const DEVIATIONS: f64 = 4.0;
/// Spans after which the usual loss is found anew, about ten seconds.
const USUAL_SPANS: u32 = 33;

/// Datagrams whose fate is known.
#[derive(Clone, Copy, Debug, Default)]
struct Fates {
    datagrams: u32,
    lost: u32,
}

impl Fates {
    fn add(&mut self, more: Self) {
        self.datagrams = self.datagrams.saturating_add(more.datagrams);
        self.lost = self.lost.saturating_add(more.lost);
    }

    /// Returns the share that was lost; at least one datagram.
    fn share(self) -> f64 {
        f64::from(self.lost) / f64::from(self.datagrams)
    }

    /// Returns the standard deviation of that share if each is lost by chance.
    fn deviation(self) -> f64 {
        (self.share() * (1.0 - self.share()) / f64::from(self.datagrams)).sqrt()
    }
}

/// Watches the fate of datagrams, in the order of sending.
#[derive(Clone, Debug)]
pub(super) struct ExcessLoss {
    since: Timestamp,
    span: Fates,
    /// Fates in the spans in a row that have lost too much, and the number of these spans.
    excess: Fates,
    in_a_row: u32,
    /// Fates since the usual loss was last compared.
    lately: Fates,
    /// Smallest share lost in this group of spans and in the one before.
    usual: [Option<f64>; 2],
    spans: u32,
    /// True before the first alarm: loss from the start may be our own, so the path's usual loss is taken as zero.
    is_new: bool,
    /// Share of the last span that was lost, and what was usual then.
    seen: [f64; 2],
}

impl Default for ExcessLoss {
    fn default() -> Self {
        Self {
            since: Timestamp::default(),
            span: Fates::default(),
            excess: Fates::default(),
            in_a_row: 0,
            lately: Fates::default(),
            usual: [Some(0.0), None],
            spans: 0,
            is_new: true,
            seen: [0.0; 2],
        }
    }
}

impl ExcessLoss {
    /// Takes the fates of so many datagrams, known at `now`, of which some were lost. True if loss has persisted.
    pub(super) fn on_fates(&mut self, datagrams: u32, lost: u32, now: Timestamp) -> bool {
        self.span.add(Fates { datagrams, lost });
        if now.since(self.since) < SPAN || self.span.datagrams < DATAGRAMS_MIN {
            return false;
        }
        self.since = now;
        let span = std::mem::take(&mut self.span);
        if self.spans.is_multiple_of(USUAL_SPANS) && self.spans > 0 {
            self.usual = [None, self.usual[0]];
        }
        self.spans = self.spans.wrapping_add(1);
        self.lately.add(span);
        if self.lately.datagrams >= USUAL_DATAGRAMS {
            let share = std::mem::take(&mut self.lately).share();
            self.usual[0] = Some(self.usual[0].map_or(share, |usual| usual.min(share)));
        }
        self.seen = [span.share(), self.usual()];
        if span.share() > self.usual() + EXCESS {
            self.in_a_row += 1;
            self.excess.add(span);
        } else {
            (self.in_a_row, self.excess) = (0, Fates::default());
        }
        if self.in_a_row < PERSISTENT || !self.is_unusual() {
            return false;
        }
        (self.in_a_row, self.excess) = (0, Fates::default());
        if std::mem::take(&mut self.is_new) {
            (self.usual, self.spans) = ([None; 2], 0);
        }
        true
    }

    /// Returns true if the last span lost more than usual, and more than by chance.
    pub(super) fn is_unusual(&self) -> bool {
        self.in_a_row > 0 && self.excess.share() > self.usual() + EXCESS.max(DEVIATIONS * self.excess.deviation())
    }

    /// Returns the share that was lost of the last span, and the usual one then, 0 to 1.
    pub(super) fn seen(&self) -> [f64; 2] {
        self.seen
    }

    /// Returns the share that the path loses when nothing is wrong, 0 to 1.
    pub(super) fn usual(&self) -> f64 {
        self.usual.into_iter().flatten().reduce(f64::min).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netsim::Random;

    /// Spans of 100 datagrams until loss counts; each line of `lost` is one span's.
    fn first_alarm(lost: impl IntoIterator<Item = u32>) -> Option<usize> {
        let mut excess = ExcessLoss::default();
        let span = |n: usize| Timestamp::from_us((n as u64 + 1) * 300_000);
        lost.into_iter().enumerate().position(|(n, lost)| excess.on_fates(100, lost, span(n)))
    }

    #[test]
    fn only_loss_that_is_unusual_and_persists_counts() {
        assert_eq!(first_alarm([9; 200]), None, "the path loses as much as ever");
        let mut excess = ExcessLoss::default();
        let alarms = (1..200).filter(|n| excess.on_fates(100, 20, Timestamp::from_us(n * 300_000)));
        assert_eq!(alarms.collect::<Vec<_>>(), [3], "a cut has not helped: the path loses as much as ever");
        assert_eq!(first_alarm([0, 0, 60, 60, 0, 5, 5, 5, 5, 5, 5]), None, "an outage, and little loss");
        assert_eq!(first_alarm([1, 2, 50, 50, 50, 50]), Some(4));
    }

    #[test]
    fn chance_is_no_excess_among_few_datagrams() {
        // A tenth of 22 datagrams a span, an hour long: one by one spans lose from none to a third.
        let (mut random, mut excess) = (Random::new(1), ExcessLoss::default());
        let alarms = (1..12_000).filter(|n| {
            let lost = (0..22).filter(|_| random.chance(0.1)).count() as u32;
            excess.on_fates(22, lost, Timestamp::from_us(n * 300_000))
        });
        let alarms = alarms.count();
        assert!(alarms <= 12, "{alarms}");
    }
}
