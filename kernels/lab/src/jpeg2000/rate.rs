//! Passes of each block that are worth their bytes: post-compression rate-distortion optimisation (Taubman, 2000).

use super::block::tier1::CodedBlock;

/// The passes at which a block is best cut, the most worthwhile first.
#[derive(Clone, Debug, Default)]
pub(super) struct Hull {
    cuts: Vec<Cut>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    passes: usize,
    bytes: usize,
    /// Squared error that is taken away.
    gain: f64,
    /// Squared error by which a byte more, on the way from the cut before, makes less.
    slope: f64,
}

impl Hull {
    /// Returns the cuts of a block; `weight` is the squared error in the picture of one squared quantiser step.
    pub(super) fn new(block: &CodedBlock, weight: f64) -> Self {
        let mut cuts: Vec<Cut> = Vec::new();
        for (at, pass) in block.passes.iter().enumerate() {
            let (passes, bytes, gain) = (at + 1, block.len(at + 1), pass.gain * weight);
            let slope = loop {
                let (from_bytes, from_gain) = cuts.last().map_or((0, 0.0), |cut| (cut.bytes, cut.gain));
                let slope = match bytes.saturating_sub(from_bytes) {
                    0 if gain > from_gain => f64::INFINITY,
                    0 => 0.0,
                    more => (gain - from_gain) / more as f64,
                };
                // A cut that brings less than what follows is none.
                match cuts.last() {
                    Some(last) if slope >= last.slope => cuts.pop(),
                    _ => break slope,
                };
            };
            if slope > 0.0 {
                cuts.push(Cut { passes, bytes, gain, slope });
            }
        }
        Self { cuts }
    }

    fn at(&self, slope: f64) -> Option<&Cut> {
        let count = self.cuts.partition_point(|cut| cut.slope >= slope);
        count.checked_sub(1).map(|last| &self.cuts[last])
    }

    /// Returns the passes that are worth `slope`.
    pub(super) fn passes(&self, slope: f64) -> usize {
        self.at(slope).map_or(0, |cut| cut.passes)
    }

    /// Returns the squared error that they take away.
    pub(super) fn gain(&self, slope: f64) -> f64 {
        self.at(slope).map_or(0.0, |cut| cut.gain)
    }
}

/// Steps of a search for a slope: enough for the last bit of what it is compared with.
const STEPS: usize = 48;
/// Slopes between which it searches, as powers of two.
const SLOPES: (f64, f64) = (-40.0, 60.0);

/// Returns the smallest slope that `fits`, which all larger ones must, too.
pub(super) fn smallest_slope(mut fits: impl FnMut(f64) -> bool) -> f64 {
    let (mut low, mut high) = SLOPES;
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if fits(middle.exp2()) {
            high = middle
        } else {
            low = middle
        }
        if high - low < 1e-3 && (high.exp2() - low.exp2()) < 1e-6 * high.exp2() {
            break;
        }
    }
    high.exp2()
}
