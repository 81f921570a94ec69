//! Wavelets as lifting steps, and those of streams.

use std::fmt;

use picture::params::Wavelet;
use picture::pyramid::FilterReach;

/// A wavelet as alternating lifting steps on the even samples `s` and the odd samples `d` of a row.
///
/// Step 0 predicts the odd samples, step 1 updates the even ones, and so on. The coefficients of a step belong to
/// symmetric pairs of neighbours, nearest first: with k from 0,
///
/// ```text
/// predict   d[n] += sum over k of c[k] (s[n-k]   + s[n+1+k])
/// update    s[n] += sum over k of c[k] (d[n-1-k] + d[n+k])
/// ```
///
/// each pair as one fused multiply-add, `fma(c[k], left + right, ..)`, nearest first. Then `s` is multiplied by
/// `low_scale` and `d` by `high_scale`, whose product is 1. The inverse multiplies `s` by `high_scale` and `d` by
/// `low_scale` and takes the steps backwards with negated coefficients. A reversible wavelet is not scaled, and its
/// steps round: `d[n] -= floor((s[n] + s[n+1]) / 2)`, `s[n] += floor((d[n-1] + d[n] + 2) / 4)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifting {
    /// Its name, as options and files have it.
    pub name: &'static str,
    /// Coefficients of each step: two or four steps of one or two pairs.
    pub steps: &'static [&'static [f64]],
    /// Scale of the low band.
    pub low_scale: f64,
    /// Scale of the high band.
    pub high_scale: f64,
    /// True if the steps are in integers with rounding.
    pub reversible: bool,
}

/// Cohen-Daubechies-Feauveau 9/7, the one of lossy JPEG 2000 (Daubechies and Sweldens, 1998, section 7.7), scaled so that
/// the low pass has a DC gain of sqrt(2): nearly orthonormal, all bands in units of a sample.
pub const CDF97: Lifting = Lifting {
    name: "cdf97",
    steps: &[&[-1.586_134_342_059_924], &[-0.052_980_118_572_961], &[0.882_911_075_530_934], &[0.443_506_852_043_971]],
    low_scale: KAPPA,
    high_scale: 1.0 / KAPPA,
    reversible: false,
};

/// Cohen-Daubechies-Feauveau 5/3 in integers with rounding, reversible, the one of lossless JPEG 2000.
pub const CDF53: Lifting =
    Lifting { name: "cdf53", steps: &[&[-0.5], &[0.25]], low_scale: 1.0, high_scale: 1.0, reversible: true };

/// Deslauriers-Dubuc (4, 4), also called 13/7 (Barina, Kula and Zemcik, equation 37). No stream has it.
pub const DD137: Lifting = Lifting {
    name: "dd137",
    steps: &[&[-9.0 / 16.0, 1.0 / 16.0], &[9.0 / 32.0, -1.0 / 32.0]],
    low_scale: std::f64::consts::SQRT_2,
    high_scale: std::f64::consts::FRAC_1_SQRT_2,
    reversible: false,
};

// The value of the 2012 report, 1.1496043989790903, is the same in single precision, but its low pass misses sqrt(2) by
// 1e-10 a level, which double precision sees.
const KAPPA: f64 = 1.149_604_398_860_241;

impl Lifting {
    /// Returns the steps of a stream's wavelet.
    pub const fn of(wavelet: Wavelet) -> Self {
        match wavelet {
            Wavelet::Cdf97 => CDF97,
            Wavelet::Cdf53 => CDF53,
        }
    }

    /// Returns the most pairs of neighbours that a step has.
    pub fn taps(&self) -> usize {
        self.steps.iter().map(|step| step.len()).max().unwrap_or(0)
    }

    /// Returns the reach of the analysis filters.
    pub fn reach(&self) -> Option<FilterReach> {
        // A step of n pairs reaches 2n - 1 samples to each side. The last one makes low coefficients of high ones.
        let reach = |step: &&[f64]| 2 * step.len() - 1;
        let (last, others) = self.steps.split_last()?;
        let others: usize = others.iter().map(reach).sum();
        Some(FilterReach { low: others + reach(last), high: others - 1 })
    }
}

impl fmt::Display for Lifting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

// The steps of the 9/7 in f32: with even samples `s` and odd samples `d`, the forward transform is
// `d += ALPHA (s[n] + s[n+1])`, `s += BETA (d[n-1] + d[n])`, `d += GAMMA (s[n] + s[n+1])`, `s += DELTA (d[n-1] + d[n])`,
// `s *= K`, `d *= K_INVERSE`. Every step is one fused multiply-add, so that all back ends agree to the bit.

/// First step: predicts odd samples.
pub(crate) const ALPHA: f32 = CDF97.steps[0][0] as f32;
/// Second step: updates even samples.
pub(crate) const BETA: f32 = CDF97.steps[1][0] as f32;
/// Third step: predicts odd samples.
pub(crate) const GAMMA: f32 = CDF97.steps[2][0] as f32;
/// Fourth step: updates even samples.
pub(crate) const DELTA: f32 = CDF97.steps[3][0] as f32;
/// Scale of the low band.
pub(crate) const K: f32 = CDF97.low_scale as f32;
/// Scale of the high band, 1/K rounded to f32.
pub(crate) const K_INVERSE: f32 = CDF97.high_scale as f32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Files and streams depend on every bit of these.
    #[test]
    fn single_precision_has_the_scale_of_the_report_of_2012() {
        const REPORT: f64 = 1.149_604_398_979_090_3;
        assert_eq!([K, K_INVERSE], [REPORT as f32, (1.0 / REPORT) as f32]);
        let bits = [ALPHA, BETA, GAMMA, DELTA, K, K_INVERSE].map(f32::to_bits);
        assert_eq!(bits, [0xbfcb_0673, 0xbd59_01ae, 0x3f62_0676, 0x3ee3_1355, 0x3f93_263d, 0x3f5e_af70], "{bits:x?}");
    }
}
