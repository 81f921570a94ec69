//! The limits of a frame of the profile, and the error beyond them.

/// Most bits of a magnitude that the coder takes. Samples of 8 bits give at most 13, those of 10 two more.
pub(crate) const MAX_LENGTH: u8 = 20;
/// Most bit planes that can be left out: what is left still fits an i32 when it is decoded.
pub const QMIN_MAX: u8 = 10;

/// Errors of making or reading a frame of the profile `pcwt`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PcwtError {
    /// Fewer bytes than the head of a frame.
    #[error("the head of a frame of this size takes {needed} bytes, there are {given}")]
    TooShort { needed: usize, given: usize },
    /// More bit planes left out than there can be.
    #[error("Qmin is {found}: it must be 0 to {QMIN_MAX}")]
    Qmin { found: u8 },
    /// Longer magnitudes than the coder takes.
    #[error("coefficients of {found} bits: there must be at most {MAX_LENGTH}")]
    Peak { found: u8 },
    /// Groups that are longer or shorter together than the frame.
    #[error("the groups of the frame take {wanted} bytes together, there are {given}")]
    Length { wanted: usize, given: usize },
    /// Bits that no encoder makes.
    #[error("group {group} of {of} of channel {channel} is damaged")]
    Group { channel: usize, group: usize, of: usize },
}
