//! Filters that split rows and columns: a wavelet in lifting steps, or any filter bank.

use std::fmt;
use std::sync::Arc;

use kernels::parts::{CDF53, CDF97, DD137, Lifting};
use picture::pyramid::FilterReach;

use crate::bank::FilterBank;

/// All wavelets that have a name.
pub const WAVELETS: [Lifting; 3] = [CDF97, CDF53, DD137];

/// A filter that splits rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A wavelet in lifting steps.
    Lifted(Lifting),
    /// Any filter bank, by convolution.
    Bank(Arc<FilterBank>),
}

impl Filter {
    /// Returns the reach of the analysis filters, if they are known to be symmetric.
    pub(crate) fn reach(&self) -> Option<FilterReach> {
        match self {
            Self::Lifted(lifting) => lifting.reach(),
            Self::Bank(_) => None,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lifted(lifting) => lifting.fmt(f),
            Self::Bank(_) => f.write_str("a filter bank"),
        }
    }
}
