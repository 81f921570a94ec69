//! Filter banks that are given as numbers, from a TOML file.

use std::collections::BTreeMap;

use picture::params::{Boundary, Padding};
use serde::{Deserialize, Serialize};

/// Most taps of a filter.
pub const MAX_TAPS: usize = 64;
/// Largest distance of a tap from position 0.
pub const MAX_POSITION: i32 = 64;
/// Largest magnitude of a tap.
pub const MAX_TAP: f64 = 1000.0;
/// Largest entry of synthesis times analysis minus the identity: above it a bank does not reconstruct. The taps of a
/// published table of eight digits pass; f32 cannot tell the difference from zero.
pub const MAX_RESIDUAL: f64 = 1e-7;

/// A two-band filter bank that reconstructs perfectly on the infinite line: analysis and synthesis filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct FilterBank {
    pub(crate) analysis: Pair,
    pub(crate) synthesis: Pair,
}

/// The two filters of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The low-pass filter.
    pub low: FilterTaps,
    /// The high-pass filter.
    pub high: FilterTaps,
}

/// A finite filter.
///
/// Analysis: `low[n] = sum over k of taps[k] x[2n + first + k]`, and `high[n]` likewise, so a high-pass filter that
/// is centred on odd samples has its middle at 1. Synthesis, adding both bands:
/// `x[2n + first + k] += taps[k] low[n]`, and likewise for `high[n]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterTaps {
    /// Position of the first tap.
    pub first: i32,
    /// Coefficients.
    pub taps: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    analysis: Pair,
    synthesis: Pair,
}

/// Errors of numbers that are not a filter bank.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum BankError {
    /// The text is no TOML, or lacks keys or has others.
    #[error("line {line} is wrong: {reason}")]
    Text { line: usize, reason: String },
    /// No tap, or too many.
    #[error("the {filter} filter has {count} taps: 1 to {MAX_TAPS} are possible")]
    TapCount { filter: &'static str, count: usize },
    /// A tap that is no finite number, or a huge one.
    #[error("tap {index} of the {filter} filter is {value}: numbers up to {MAX_TAP} are possible")]
    Tap { filter: &'static str, index: usize, value: f64 },
    /// Taps far from position 0.
    #[error("the {filter} filter starts at {first}: its taps must lie between -{MAX_POSITION} and {MAX_POSITION}")]
    Position { filter: &'static str, first: i32 },
    /// Analysis and then synthesis does not give the samples back.
    #[error(
        "the filters do not reconstruct perfectly: synthesis times analysis differs from the identity by up to \
         {residual:.3e} (at most {MAX_RESIDUAL:e} is accepted)"
    )]
    NotPerfect { residual: f64 },
    /// It gives them back on the infinite line, but not at the ends of a row.
    #[error(
        "the filters reconstruct, but not at the ends of rows of {length} samples with the boundary `{boundary}`: \
         synthesis times analysis differs from the identity by up to {residual:.3e}; for this size {}",
        advice(.instead)
    )]
    NotPerfectAtEnds { boundary: String, length: usize, residual: f64, instead: Vec<(Boundary, Padding)> },
}

fn advice(instead: &[(Boundary, Padding)]) -> String {
    let name =
        |(boundary, padding): &(Boundary, Padding)| format!("boundary `{boundary:?}` with padding `{padding:?}`");
    match instead {
        [] => "no boundary and padding do".to_owned(),
        _ => instead.iter().map(name).collect::<Vec<_>>().join(" or ").to_lowercase() + " would do",
    }
}

impl FilterBank {
    /// Creates a bank of these filters; an error if they are out of bounds or do not reconstruct.
    pub fn new(analysis: Pair, synthesis: Pair) -> Result<Self, BankError> {
        let analysis =
            Pair { low: analysis.low.checked("analysis low")?, high: analysis.high.checked("analysis high")? };
        let synthesis =
            Pair { low: synthesis.low.checked("synthesis low")?, high: synthesis.high.checked("synthesis high")? };
        let bank = Self { analysis, synthesis };
        let residual = bank.residual();
        if residual <= MAX_RESIDUAL { Ok(bank) } else { Err(BankError::NotPerfect { residual }) }
    }

    /// Reads a bank in the form of `banks/*.toml`.
    pub fn from_toml(text: &str) -> Result<Self, BankError> {
        let unchecked: Unchecked = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
            BankError::Text { line, reason: error.message().replace('\n', ", ") }
        })?;
        Self::try_from(unchecked)
    }

    /// Returns the analysis filters.
    pub fn analysis(&self) -> &Pair {
        &self.analysis
    }

    /// Returns the synthesis filters.
    pub fn synthesis(&self) -> &Pair {
        &self.synthesis
    }

    /// Returns the largest entry of synthesis times analysis minus the identity, on the infinite line.
    ///
    /// That product repeats after two samples, so it is known from the responses to an impulse at 0 and at 1:
    /// `r[m] = sum over both bands and n of synthesis[m - 2n] analysis[at - 2n]`.
    pub fn residual(&self) -> f64 {
        let mut residual = 0.0_f64;
        for at in [0, 1] {
            let mut response = BTreeMap::from([(at, -1.0)]);
            for (analysis, synthesis) in
                [(&self.analysis.low, &self.synthesis.low), (&self.analysis.high, &self.synthesis.high)]
            {
                for (position, tap) in analysis.positions() {
                    if (at - position) % 2 == 0 {
                        for (to, weight) in synthesis.positions() {
                            *response.entry(to + at - position).or_insert(0.0) += tap * weight;
                        }
                    }
                }
            }
            residual = response.values().fold(residual, |most, value| most.max(value.abs()));
        }
        residual
    }
}

impl TryFrom<Unchecked> for FilterBank {
    type Error = BankError;

    fn try_from(unchecked: Unchecked) -> Result<Self, BankError> {
        Self::new(unchecked.analysis, unchecked.synthesis)
    }
}

impl FilterTaps {
    /// Returns the position of the last tap.
    pub fn last(&self) -> i32 {
        self.first + self.taps.len() as i32 - 1
    }

    /// Returns each tap with its position.
    pub fn positions(&self) -> impl Iterator<Item = (i32, f64)> {
        (self.first..).zip(self.taps.iter().copied())
    }

    /// Returns the tap at a position, 0 where there is none.
    pub fn at(&self, position: i32) -> f64 {
        usize::try_from(position - self.first).ok().and_then(|index| self.taps.get(index)).copied().unwrap_or(0.0)
    }

    /// Returns the filter with `weights` at their places, `middle` being position 0.
    pub(crate) fn around(middle: usize, weights: &[(usize, f64)]) -> Self {
        let places = || weights.iter().map(|(place, _)| *place);
        let (first, last) = (places().min().unwrap_or(middle), places().max().unwrap_or(middle));
        let mut taps = vec![0.0; last + 1 - first];
        for (place, weight) in weights {
            taps[place - first] = *weight;
        }
        Self { first: first as i32 - middle as i32, taps }
    }

    /// Drops zeros at its ends; an error if it is out of bounds.
    fn checked(mut self, filter: &'static str) -> Result<Self, BankError> {
        let count = self.taps.len();
        if count == 0 || count > MAX_TAPS {
            return Err(BankError::TapCount { filter, count });
        }
        if let Some(index) = self.taps.iter().position(|tap| !tap.is_finite() || tap.abs() > MAX_TAP) {
            return Err(BankError::Tap { filter, index, value: self.taps[index] });
        }
        if !(-MAX_POSITION..=MAX_POSITION + 1 - count as i32).contains(&self.first) {
            return Err(BankError::Position { filter, first: self.first });
        }
        while self.taps.len() > 1 && self.taps.last() == Some(&0.0) {
            self.taps.pop();
        }
        while self.taps.len() > 1 && self.taps[0] == 0.0 {
            self.taps.remove(0);
            self.first += 1;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::parts::{CDF53, CDF97, DD137};

    /// Returns a Haar bank of sums and differences; `low` replaces the synthesis low-pass filter.
    fn haar(low: &str) -> String {
        let filter = |side: &str, name: &str, taps: &str| format!("[{side}.{name}]\nfirst = 0\ntaps = {taps}\n");
        filter("analysis", "low", "[0.5, 0.5]")
            + &filter("analysis", "high", "[0.5, -0.5]")
            + &filter("synthesis", "low", low)
            + &filter("synthesis", "high", "[1, -1]")
    }

    #[test]
    fn a_bank_is_read_and_written() {
        let bank = FilterBank::from_toml(&haar("[1, 1, 0.0]")).unwrap();
        assert_eq!(bank.synthesis().low, FilterTaps { first: 0, taps: vec![1.0, 1.0] });
        assert_eq!(bank.residual(), 0.0);
        assert_eq!(FilterBank::from_toml(&toml::to_string(&bank).unwrap()).unwrap(), bank);
    }

    #[test]
    fn what_does_not_reconstruct_is_refused_with_the_residual() {
        let error = FilterBank::from_toml(&haar("[1, 0.75]")).unwrap_err();
        assert_eq!(error, BankError::NotPerfect { residual: 0.125 });
        let text = error.to_string();
        assert!(text.contains("do not reconstruct") && text.contains("1.250e-1"), "{text}");
        let halves = FilterTaps { first: 0, taps: vec![0.5, 0.5] };
        let pair = Pair { low: halves.clone(), high: halves };
        assert_eq!(FilterBank::new(pair.clone(), pair), Err(BankError::NotPerfect { residual: 0.5 }));
    }

    #[test]
    fn numbers_out_of_bounds_are_refused() {
        for (taps, part) in [
            ("[]", "0 taps"),
            ("[inf, 1]", "tap 0"),
            ("[1, nan]", "tap 1"),
            ("[1e9, 1]", "1000000000"),
            ("[\"1\"]", "expected"),
        ] {
            let error = FilterBank::from_toml(&haar(taps)).unwrap_err().to_string();
            assert!(error.contains(part), "{taps}: {error}");
        }
        let many = format!("[{}]", "1.0,".repeat(65));
        assert!(FilterBank::from_toml(&haar(&many)).unwrap_err().to_string().contains("65 taps"));
        for first in ["-65", "2147483647", "64"] {
            let text = haar("[1, 1]").replace("first = 0", &format!("first = {first}"));
            assert!(FilterBank::from_toml(&text).unwrap_err().to_string().contains("starts at"), "{first}");
        }
        for wrong in ["first = 99999999999", "first = 0\ncolour = 1"] {
            let text = haar("[1, 1]").replace("first = 0", wrong);
            assert!(matches!(FilterBank::from_toml(&text), Err(BankError::Text { line: 2.., .. })), "{wrong}");
        }
        for text in ["", "[analysis]", "1", "\u{0}"] {
            let error = FilterBank::from_toml(text).unwrap_err();
            assert!(matches!(error, BankError::Text { line: 1, .. }), "{error}");
        }
    }

    #[test]
    fn the_files_in_banks_are_what_they_say() {
        let wavelets = [
            (CDF97, include_str!("../banks/cdf97.toml")),
            (CDF53, include_str!("../banks/cdf53.toml")),
            (DD137, include_str!("../banks/dd137.toml")),
        ];
        for (wavelet, text) in wavelets {
            let (file, lifting) = (FilterBank::from_toml(text).unwrap(), FilterBank::of(&wavelet));
            assert!(file.residual() < 1e-14);
            for (a, b) in [(file.analysis(), lifting.analysis()), (file.synthesis(), lifting.synthesis())] {
                for (a, b) in [(&a.low, &b.low), (&a.high, &b.high)] {
                    assert_eq!((a.first, a.taps.len()), (b.first, b.taps.len()), "{wavelet}");
                    assert!(a.taps.iter().zip(&b.taps).all(|(a, b)| (a - b).abs() < 1e-15), "{wavelet}");
                }
            }
        }
        for text in [include_str!("../banks/haar.toml"), include_str!("../banks/daubechies4.toml")] {
            let bank = FilterBank::from_toml(text).unwrap();
            assert_eq!(bank.analysis(), bank.synthesis(), "orthonormal");
            let sum: f64 = bank.analysis().low.taps.iter().sum();
            assert!(bank.residual() < 1e-15 && (sum - 2_f64.sqrt()).abs() < 1e-15);
        }
    }
}
