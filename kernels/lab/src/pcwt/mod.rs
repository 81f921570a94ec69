//! The profile `pcwt`: whole pictures by maximum lengths over the coefficient trees of the CDF 5/3 (J. Ao, 2014),
//! lossless or without the last bit planes.
//!
//! The method is in `kernels/MATHEMATICS.md`, the bytes are in `kernels/BITSTREAM.md`. Every back end makes the same bytes
//! and the same samples.

mod cpu;
pub(crate) mod error;
mod frame;
mod host;
mod open;
#[cfg(feature = "opencl")]
pub(crate) mod opencl;
#[cfg(not(feature = "opencl"))]
#[path = "without_opencl.rs"]
mod opencl;
mod reference;
pub(crate) mod tree;

use kernels::{BackendInfo, Picture, PictureRef};
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

pub use self::error::{CodeError, PcwtError, QMIN_MAX};
pub(crate) use self::frame::{CodedChannel, ReceivedChannel, parse, write};
pub use self::open::{open_joining_encoder, open_pcwt_decoder, open_pcwt_encoder};
pub(crate) use self::tree::{GROUP_SIDE, Group, Tree};

/// Turns pictures into frames of the profile `pcwt`.
pub trait PcwtEncoder: Send {
    /// Codes one picture of the stream's size, whose format must be one that the stream's chroma sampling keeps exactly
    /// ([`kernels::PictureError::NotExact`] if it is none). `qmin`, 0 to [`QMIN_MAX`], is how many of the last bits of
    /// every magnitude are left out: with 0 every sample comes back as it was.
    fn encode(&mut self, picture: PictureRef<'_>, qmin: u8) -> Result<Vec<u8>, CodeError>;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;
}

/// Turns frames of the profile `pcwt` into pictures.
pub trait PcwtDecoder: Send {
    /// Decodes into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]);
    /// [`CodeError::Pcwt`] if `bytes` is something that no encoder makes, and then `out` holds anything.
    fn decode(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), CodeError>;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;
}

/// Ways of joining the bits of a group's elements (Ao 2014, section 3.5.1 and its future work).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// One work-item writes all elements of a group, one after another.
    Serial,
    /// Each work-item writes its elements where they belong, by atomic operations.
    Atomic,
}

/// Returns the trees of each channel.
pub(crate) fn trees(params: &StreamParams) -> Vec<Tree> {
    let plane = |&channel| params.chroma.plane_size(params.size, channel);
    let channels = params.chroma.channels();
    channels.iter().map(|channel| Tree::new(&Pyramid::new(plane(channel), &params.codec))).collect()
}
