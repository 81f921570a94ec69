//! The rate of one clock by another.

/// Least time by which two clocks are told apart, seconds: in less, jitter says more than they do.
const LEAST_S: f64 = 60.0;

/// Line through pairs of times, seconds, with the least squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slope {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    last_x: f64,
}

impl Slope {
    /// Takes a pair; `x` rises.
    pub(super) fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let from_mean = x - self.mean_x;
        self.mean_x += from_mean / self.count;
        self.mean_y += (y - self.mean_y) / self.count;
        self.xx += from_mean * (x - self.mean_x);
        self.xy += from_mean * (y - self.mean_y);
        self.last_x = x;
    }

    /// Returns the seconds of `y` for one of `x`; 1 as long as nothing can be said.
    pub(super) fn get(&self) -> f64 {
        let slope = self.xy / self.xx;
        // Two crystals are never further apart.
        if self.last_x >= LEAST_S && (slope - 1.0).abs() < 0.002 { slope } else { 1.0 }
    }
}
