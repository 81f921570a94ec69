//! Lifting coefficients of the Cohen-Daubechies-Feauveau 9/7 filter bank (Daubechies and Sweldens, 1998), scaled
//! so that the low pass has a DC gain of sqrt(2): nearly orthonormal, all bands in units of a sample.
//!
//! With even samples `s` and odd samples `d`, the forward transform is `d += ALPHA (s[n] + s[n+1])`,
//! `s += BETA (d[n-1] + d[n])`, `d += GAMMA (s[n] + s[n+1])`, `s += DELTA (d[n-1] + d[n])`, `s *= K`, `d *= K_INVERSE`.
//! Every step is one fused multiply-add in f32, so that all back ends agree to the bit.

/// First step: predicts odd samples.
pub const ALPHA: f32 = -1.586_134_3;
/// Second step: updates even samples.
pub const BETA: f32 = -0.052_980_12;
/// Third step: predicts odd samples.
pub const GAMMA: f32 = 0.882_911_1;
/// Fourth step: updates even samples.
pub const DELTA: f32 = 0.443_506_84;
/// Scale of the low band.
pub const K: f32 = 1.149_604_4;
/// Scale of the high band, 1/K rounded to f32.
pub const K_INVERSE: f32 = (1.0 / 1.149_604_398_979_090_3_f64) as f32;

#[cfg(test)]
mod tests {
    #[test]
    fn coefficients_are_the_rounded_ones() {
        let exact = [
            -1.586_134_342_059_924,
            -0.052_980_118_572_961,
            0.882_911_075_530_934,
            0.443_506_852_043_971,
            1.149_604_398_979_090_3_f64,
        ];
        let ours = [super::ALPHA, super::BETA, super::GAMMA, super::DELTA, super::K];
        assert_eq!(ours, exact.map(|c| c as f32));
    }
}
