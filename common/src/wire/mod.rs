//! Bytes that cross the network or lie in a file.
//!
//! What is sent often ([`media`], [`run`], [`feedback`]) is laid out by hand; what is sent rarely ([`control`]) is
//! length-prefixed and derived. Every decoder here is total: any bytes give a value or a [`DecodeError`].

pub mod control;
pub mod feedback;
pub mod media;
pub mod params;
pub mod probe;
pub mod run;

/// Version of everything in this module; both ends must have the same.
pub const PROTOCOL_VERSION: u16 = 3;

/// Why bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The layout is broken; the text says what was expected.
    #[error("{0}")]
    Malformed(&'static str),
    /// A picture size out of range.
    #[error(transparent)]
    Size(#[from] crate::frame::InvalidSize),
    /// A control message is longer than [`control::MESSAGE_BYTES_MAX`].
    #[error("a control message of {0} bytes: at most {max} are allowed", max = control::MESSAGE_BYTES_MAX)]
    MessageTooLong(usize),
    /// A file of another version.
    #[error(
        "this is a .duet file of version {found}, and this program reads version {known}: make it anew with this program, or read it with the one that made it",
        known = crate::container::FILE_VERSION
    )]
    FileVersion {
        /// The version found.
        found: u16,
    },
}
