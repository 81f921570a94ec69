//! How many datagrams the network loses, and whether one by one or in bursts.

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
