//! The wavelets as lifting steps, and the ways to compute them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A filter bank with a lifting factorisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wavelet {
    /// Cohen-Daubechies-Feauveau 9/7, the one of lossy JPEG 2000.
    #[default]
    Cdf97,
    /// Cohen-Daubechies-Feauveau 5/3 in integers with rounding, reversible, the one of lossless JPEG 2000.
    Cdf53,
    /// Deslauriers-Dubuc (4, 4), also called 13/7.
    Dd137,
}

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
    /// Coefficients of each step.
    pub steps: &'static [&'static [f64]],
    /// Scale of the low band.
    pub low_scale: f64,
    /// Scale of the high band.
    pub high_scale: f64,
    /// True if the steps are in integers with rounding.
    pub reversible: bool,
}

impl Wavelet {
    /// All wavelets.
    pub const ALL: [Self; 3] = [Self::Cdf97, Self::Cdf53, Self::Dd137];

    /// Returns its name, as options and files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdf97 => "cdf97",
            Self::Cdf53 => "cdf53",
            Self::Dd137 => "dd137",
        }
    }

    /// Returns its lifting steps.
    pub fn lifting(self) -> Lifting {
        use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
        // The value of the 2012 report, 1.1496043989790903, is the same in single precision, but its low pass misses
        // sqrt(2) by 1e-10 a level, which double precision sees.
        const K: f64 = 1.149_604_398_860_241;
        match self {
            // Daubechies and Sweldens (1998), section 7.7.
            Self::Cdf97 => Lifting {
                steps: &[
                    &[-1.586_134_342_059_924],
                    &[-0.052_980_118_572_961],
                    &[0.882_911_075_530_934],
                    &[0.443_506_852_043_971],
                ],
                low_scale: K,
                high_scale: 1.0 / K,
                reversible: false,
            },
            Self::Cdf53 => Lifting { steps: &[&[-0.5], &[0.25]], low_scale: 1.0, high_scale: 1.0, reversible: true },
            // Barina, Kula and Zemcik, equation 37.
            Self::Dd137 => Lifting {
                steps: &[&[-9.0 / 16.0, 1.0 / 16.0], &[9.0 / 32.0, -1.0 / 32.0]],
                low_scale: SQRT_2,
                high_scale: FRAC_1_SQRT_2,
                reversible: false,
            },
        }
    }
}

impl fmt::Display for Wavelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Arithmetic of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 32-bit integers: the reversible wavelet.
    I32,
}

impl Element {
    /// Returns the bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F64 => 8,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
        })
    }
}

/// Order in which a level of the transform is computed. All give the same coefficients; the lifting ones that keep
/// the order of operations ([`Scheme::is_exact`]) to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Scheme {
    /// All rows, then all columns, lifting steps in local memory, in one kernel.
    #[default]
    Separable,
    /// Rows in local memory, columns by a sliding window (van der Laan, Roerdink and Jalba, 2009).
    Slab,
    /// Filtering rows, transposing, filtering rows again (Eskildsen et al., 2012).
    Rowcolumn,
    /// Barina, Kula and Zemcik, equation 14.
    Sweldens,
    /// Equation 20.
    Iwahashi,
    /// Equation 31.
    IwahashiStar,
    /// Equation 24.
    Explosive,
    /// Equation 32.
    ExplosiveStar,
    /// Equation 28.
    Monolithic,
    /// Equation 33.
    MonolithicStar,
    /// Equation 10.
    Polyphase,
    /// Equation 34.
    PolyphaseStar,
    /// Two-dimensional filters through an address table (Wong et al., 2007).
    Convolution,
}

impl Scheme {
    /// All schemes with their names.
    pub const NAMES: [(Self, &'static str); 13] = [
        (Self::Separable, "separable"),
        (Self::Slab, "slab"),
        (Self::Rowcolumn, "rowcolumn"),
        (Self::Sweldens, "sweldens"),
        (Self::Iwahashi, "iwahashi"),
        (Self::IwahashiStar, "iwahashi*"),
        (Self::Explosive, "explosive"),
        (Self::ExplosiveStar, "explosive*"),
        (Self::Monolithic, "monolithic"),
        (Self::MonolithicStar, "monolithic*"),
        (Self::Polyphase, "polyphase"),
        (Self::PolyphaseStar, "polyphase*"),
        (Self::Convolution, "convolution"),
    ];

    /// Returns true if it is made of lifting steps, which a filter bank does not have.
    pub fn lifts(self) -> bool {
        !matches!(self, Self::Rowcolumn | Self::Convolution)
    }

    /// Returns true if it keeps the reference's order of operations, so that all arithmetic agrees to the bit.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Separable | Self::Slab)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(scheme, _)| scheme == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A text that names no scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scheme: use {names}", names = Scheme::NAMES.map(|(_, name)| name).join(", "))]
pub struct UnknownScheme(String);

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> Self {
        scheme.to_string()
    }
}

impl TryFrom<String> for Scheme {
    type Error = UnknownScheme;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(scheme, _)| *scheme).ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_have_names() {
        for (scheme, name) in Scheme::NAMES {
            assert_eq!(name.parse(), Ok(scheme));
            assert_eq!(scheme.to_string(), name);
        }
        assert!("fast".parse::<Scheme>().is_err_and(|error| error.to_string().contains("monolithic*")));
    }
}
