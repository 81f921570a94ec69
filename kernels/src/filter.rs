//! Filters that split rows and columns: a wavelet in lifting steps, or any filter bank.

use std::fmt;
use std::sync::Arc;

use picture::pyramid::FilterReach;

use crate::bank::FilterBank;
use crate::wavelet::Wavelet;

/// A filter that splits rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A wavelet in lifting steps.
    Wavelet(Wavelet),
    /// Any filter bank, by convolution.
    Bank(Arc<FilterBank>),
}

impl Filter {
    /// Returns the reach of the analysis filters, if they are known to be symmetric.
    pub(crate) fn reach(&self) -> Option<FilterReach> {
        let Self::Wavelet(wavelet) = self else { return None };
        // A step of n pairs reaches 2n - 1 samples to each side. The last one makes low coefficients of high ones.
        let reach = |step: &&[f64]| 2 * step.len() - 1;
        let (last, others) = wavelet.lifting().steps.split_last()?;
        let others: usize = others.iter().map(reach).sum();
        Some(FilterReach { low: others + reach(last), high: others - 1 })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wavelet(wavelet) => wavelet.fmt(f),
            Self::Bank(_) => f.write_str("a filter bank"),
        }
    }
}
