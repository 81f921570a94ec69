//! The profile `pcwt`: whole pictures by maximum lengths over the coefficient trees of the CDF 5/3 (J. Ao, 2014), lossless or
//! without the last bit planes.
//!
//! What is coded is in `kernels/README.md`, what it looks like in `kernels/BITSTREAM.md`. Every back end makes the same bytes
//! and the same samples.

mod frame;
mod host;
pub(crate) mod tree;

use common::params::{Profile, StreamParams, Wavelet};
use common::pyramid::Pyramid;

pub use self::frame::QMIN_MAX;
pub(crate) use self::frame::{CodedChannel, MAX_LENGTH, ReceivedChannel, parse, write};
use self::host::HostCoder;
pub(crate) use self::tree::{GROUP_SIDE, Group, Tree};
use crate::codec::{Resolved, resolve};
use crate::{BackendChoice, BackendInfo, Error, Picture, PictureRef, TransformParams};
use crate::{memory, opencl};

/// Turns pictures into frames of the profile `pcwt`.
pub trait PcwtEncoder: Send {
    /// Codes one picture of the stream's size, whose format must be one that the stream's chroma sampling keeps exactly
    /// ([`Error::NotExact`] if it is none). `qmin`, 0 to [`QMIN_MAX`], is how many of the last bits of every magnitude are
    /// left out: with 0 every sample comes back as it was.
    fn encode(&mut self, picture: PictureRef<'_>, qmin: u8) -> Result<Vec<u8>, Error>;

    /// What computes.
    fn backend(&self) -> &BackendInfo;
}

/// Turns frames of the profile `pcwt` into pictures.
pub trait PcwtDecoder: Send {
    /// Decodes into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]); [`Error::Pcwt`] if
    /// `bytes` is something that no encoder makes, and then `out` holds anything.
    fn decode(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), Error>;

    /// What computes.
    fn backend(&self) -> &BackendInfo;
}

/// Why a frame of the profile `pcwt` cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PcwtError {
    /// Fewer bytes than the head of a frame.
    #[error("the head of a frame of this size takes {needed} bytes, there are {given}")]
    TooShort {
        /// Bytes up to the first group.
        needed: usize,
        /// Bytes there are.
        given: usize,
    },
    /// More bit planes left out than there can be.
    #[error("Qmin is {found}: it must be 0 to {QMIN_MAX}")]
    Qmin {
        /// What was given.
        found: u8,
    },
    /// Longer magnitudes than the coder takes.
    #[error("coefficients of {found} bits: there must be at most {MAX_LENGTH}")]
    Peak {
        /// Bits of the largest magnitude.
        found: u8,
    },
    /// Groups that are longer or shorter together than the frame.
    #[error("the groups of the frame take {wanted} bytes together, there are {given}")]
    Length {
        /// Sum of their lengths.
        wanted: usize,
        /// Bytes behind the head.
        given: usize,
    },
    /// Bits that no encoder makes.
    #[error("group {group} of {of} of channel {channel} is damaged")]
    Group {
        /// Channel, from 0.
        channel: usize,
        /// The first such group of the channel, from 0.
        group: usize,
        /// How many groups the channel has.
        of: usize,
    },
}

/// How the bits of a group's elements are joined (Ao 2014, section 3.5.1 and its future work).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// One work-item writes all elements of a group, one after another.
    Serial,
    /// Each work-item writes its elements where they belong, by atomic operations.
    Atomic,
}

/// Opens an encoder for the pictures of a stream of this profile. `device` as in [`crate::open_encoder`].
pub fn open_pcwt_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn PcwtEncoder>, Error> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_pcwt_encoder(params, device.as_deref(), reason, None)?,
        Resolved::Cpu => Box::new(HostCoder::open(params, BackendChoice::Cpu)?),
        Resolved::Reference => Box::new(HostCoder::open(params, BackendChoice::Reference)?),
    })
}

/// Opens an encoder of the OpenCL back end that joins the elements of a group in the given way: it makes the same bytes, in
/// another time.
pub fn open_joining_encoder(
    params: &StreamParams,
    device: Option<&str>,
    joining: Joining,
) -> Result<Box<dyn PcwtEncoder>, Error> {
    check(params)?;
    opencl::open_pcwt_encoder(params, device, "asked for".to_owned(), Some(joining))
}

/// Opens a decoder for a stream of this profile. `device` as in [`crate::open_encoder`].
pub fn open_pcwt_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn PcwtDecoder>, Error> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_pcwt_decoder(params, device.as_deref(), reason)?,
        Resolved::Cpu => Box::new(HostCoder::open(params, BackendChoice::Cpu)?),
        Resolved::Reference => Box::new(HostCoder::open(params, BackendChoice::Reference)?),
    })
}

/// The trees of each channel.
pub(crate) fn trees(params: &StreamParams) -> Vec<Tree> {
    let plane = |&channel| params.chroma.plane_size(params.size, channel);
    let channels = params.chroma.channels();
    channels.iter().map(|channel| Tree::new(&Pyramid::new(plane(channel), &params.codec))).collect()
}

/// Whether this is a stream of this profile, and one that this machine's memory holds.
fn check(params: &StreamParams) -> Result<(), Error> {
    if (params.codec.profile, params.codec.wavelet) != (Profile::Pcwt, Wavelet::Cdf53) {
        return Err(Error::WrongProfile { wanted: "pcwt, with the CDF 5/3" });
    }
    memory::check(TransformParams::from(params).host_bytes())
}
