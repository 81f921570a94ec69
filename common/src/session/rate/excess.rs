//! Loss that says something about the rate: more than the path always loses, for longer than a moment.

use std::time::Duration;

use crate::units::Timestamp;

/// Loss is looked at in spans of this length.
const SPAN: Duration = Duration::from_millis(300);
/// Spans with fewer datagrams are continued.
const DATAGRAMS_MIN: u32 = 20;
/// Spans in a row that must show it: no single outage fills so many.
const PERSISTENT: u32 = 3;
/// Share lost beyond the usual that counts as too much for the link.
const EXCESS: f64 = 0.10;
/// Spans after which the usual loss is found anew, about ten seconds.
const USUAL_SPANS: u32 = 33;

/// Watches the fate of datagrams, in the order of sending.
#[derive(Clone, Debug)]
pub(super) struct ExcessLoss {
    since: Timestamp,
    datagrams: u32,
    lost: u32,
    in_a_row: u32,
    /// Smallest share of a span in this group of spans and in the one before.
    usual: [Option<f64>; 2],
    spans: u32,
    /// No alarm yet: what is lost from the start may be our own doing, so a path is taken for one that loses nothing.
    is_new: bool,
}

impl Default for ExcessLoss {
    fn default() -> Self {
        let since = Timestamp::default();
        Self { since, datagrams: 0, lost: 0, in_a_row: 0, usual: [Some(0.0), None], spans: 0, is_new: true }
    }
}

impl ExcessLoss {
    /// So many datagrams' fate became known at `now`, of which some were lost. True if loss has persisted.
    pub(super) fn on_fates(&mut self, datagrams: u32, lost: u32, now: Timestamp) -> bool {
        self.datagrams = self.datagrams.saturating_add(datagrams);
        self.lost = self.lost.saturating_add(lost);
        if now.since(self.since) < SPAN || self.datagrams < DATAGRAMS_MIN {
            return false;
        }
        let share = f64::from(self.lost) / f64::from(self.datagrams);
        if self.spans.is_multiple_of(USUAL_SPANS) && self.spans > 0 {
            self.usual = [None, self.usual[0]];
        }
        self.usual[0] = Some(self.usual[0].map_or(share, |usual| usual.min(share)));
        self.spans = self.spans.wrapping_add(1);
        (self.since, self.datagrams, self.lost) = (now, 0, 0);
        self.in_a_row = if share > self.usual() + EXCESS { self.in_a_row + 1 } else { 0 };
        if self.in_a_row < PERSISTENT {
            return false;
        }
        self.in_a_row = 0;
        if std::mem::take(&mut self.is_new) {
            (self.usual, self.spans) = ([None; 2], 0);
        }
        true
    }

    /// Whether the last span showed it.
    pub(super) fn is_unusual(&self) -> bool {
        self.in_a_row > 0
    }

    /// What the path loses when nothing is wrong, 0 to 1.
    pub(super) fn usual(&self) -> f64 {
        self.usual.into_iter().flatten().reduce(f64::min).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
