//! Filter banks that are given as numbers, from a TOML file.

/// A two-band filter bank that reconstructs perfectly: analysis and synthesis filters.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBank {
    /// Low-pass filter of the analysis: (position of the first tap, taps).
    pub analysis_low: Taps,
    /// High-pass filter of the analysis.
    pub analysis_high: Taps,
    /// Low-pass filter of the synthesis.
    pub synthesis_low: Taps,
    /// High-pass filter of the synthesis.
    pub synthesis_high: Taps,
}

/// A finite filter.
///
/// Analysis: `low[n] = sum over k of taps[k] x[2n + first + k]`, `high[n] = sum over k of taps[k] x[2n + first + k]`,
/// so a high-pass filter centred on odd samples has its middle at 1. Synthesis, adding both bands:
/// `x[2n + first + k] += taps[k] low[n]`, and likewise for `high[n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps {
    /// Position of the first tap.
    pub first: i32,
    /// Coefficients.
    pub taps: Vec<f64>,
}
