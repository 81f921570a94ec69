//! The parameters of a picture's coefficients.

/// A negative coefficient.
pub(in crate::jpeg2000) const NEGATIVE: u32 = 1 << 31;

/// Everything that a picture's coefficients depend on.
pub(in crate::jpeg2000) struct FrontParams {
    /// Columns and rows of each component.
    pub(in crate::jpeg2000) extents: Vec<(usize, usize)>,
    pub(in crate::jpeg2000) levels: u8,
    pub(in crate::jpeg2000) is_reversible: bool,
    /// The first three components are a colour transform's.
    pub(in crate::jpeg2000) mixes_colours: bool,
    /// Bits of the largest sample.
    pub(in crate::jpeg2000) depth: u8,
    /// Binary digits of a magnitude below the quantiser's step.
    pub(in crate::jpeg2000) fraction_bits: u32,
    /// No coefficient has more than 15 bits.
    pub(in crate::jpeg2000) is_narrow: bool,
}
