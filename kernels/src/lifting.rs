//! Lifting coefficients of the Cohen-Daubechies-Feauveau 9/7 filter bank (Daubechies and Sweldens, 1998), scaled
//! so that the low pass has a DC gain of sqrt(2): nearly orthonormal, all bands in units of a sample.
//!
//! With even samples `s` and odd samples `d`, the forward transform is `d += ALPHA (s[n] + s[n+1])`,
//! `s += BETA (d[n-1] + d[n])`, `d += GAMMA (s[n] + s[n+1])`, `s += DELTA (d[n-1] + d[n])`, `s *= K`, `d *= K_INVERSE`.
//! Every step is one fused multiply-add in f32, so that all back ends agree to the bit.

/// First step: predicts odd samples.
pub const ALPHA: f32 = -1.586_134_342_059_924_f64 as f32;
/// Second step: updates even samples.
pub const BETA: f32 = -0.052_980_118_572_961_f64 as f32;
/// Third step: predicts odd samples.
pub const GAMMA: f32 = 0.882_911_075_530_934_f64 as f32;
/// Fourth step: updates even samples.
pub const DELTA: f32 = 0.443_506_852_043_971_f64 as f32;
/// Scale of the low band.
pub const K: f32 = 1.149_604_398_979_090_3_f64 as f32;
/// Scale of the high band, 1/K rounded to f32.
pub const K_INVERSE: f32 = (1.0 / 1.149_604_398_979_090_3_f64) as f32;
