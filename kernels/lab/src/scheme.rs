//! Ways to compute a level of a transform.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
