//! Estimate of the network's losses, single and in bursts.

/// An estimate of the last seconds' loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossEstimate {
    /// Share of the datagrams that do not arrive, 0 to 1.
    pub share: f64,
    /// Mean number of consecutive datagrams that are lost together, at least 1.
    pub burst_mean: f64,
}

impl Default for LossEstimate {
    fn default() -> Self {
        Self { share: 0.0, burst_mean: 1.0 }
    }
}

/// Age, datagrams, at which one weighs `1/e` of the newest: two seconds of 20 Mbit/s, and enough to tell 1 % from 2 %.
const MEMORY: f64 = 4_000.0;
/// Number of datagrams without loss that the estimate begins with, so that it rises from 0.
const PRIOR: f64 = 100.0;

/// Decaying counts of datagrams whose fate is known.
#[derive(Clone, Debug, Default)]
pub(super) struct LossMeter {
    datagrams: f64,
    lost: f64,
    bursts: f64,
    in_burst: bool,
}

impl LossMeter {
    /// Takes the fate of the next datagram in the order of sending.
    pub(super) fn on_fate(&mut self, is_lost: bool) {
        let keep = 1.0 - 1.0 / MEMORY;
        self.datagrams = self.datagrams * keep + 1.0;
        self.lost = self.lost * keep + f64::from(u8::from(is_lost));
        self.bursts = self.bursts * keep + f64::from(u8::from(is_lost && !self.in_burst));
        self.in_burst = is_lost;
    }

    /// Returns the estimate from the counts so far.
    pub(super) fn estimate(&self) -> LossEstimate {
        let burst_mean = if self.bursts > 0.0 { (self.lost / self.bursts).max(1.0) } else { 1.0 };
        LossEstimate { share: self.lost / (self.datagrams + PRIOR), burst_mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_and_bursts_are_those_of_the_network() {
        let mut meter = LossMeter::default();
        assert_eq!(meter.estimate(), LossEstimate::default());
        for datagram in 0..20_000 {
            meter.on_fate(datagram % 100 < 4);
        }
        let LossEstimate { share, burst_mean } = meter.estimate();
        assert!((0.037..0.042).contains(&share) && (3.8..4.2).contains(&burst_mean), "{share} {burst_mean}");
        for _ in 0..20_000 {
            meter.on_fate(false);
        }
        assert!(meter.estimate().share < 0.001);
    }

    #[test]
    fn one_lost_datagram_at_the_start_is_not_much() {
        let mut meter = LossMeter::default();
        meter.on_fate(true);
        assert!(meter.estimate().share < 0.01);
    }
}
