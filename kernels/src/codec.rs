//! The encoder and decoder that a daemon uses, whatever computes them.

use std::str::FromStr;
use std::time::Duration;

use common::coded::{CodedFrame, ReceivedFrame, StepIndex};
use common::frame::BitDepth;
use common::params::{CodecParams, Profile, StreamParams, Wavelet};
use common::pyramid::BlockLayout;

use crate::fallback::{FallbackDecoder, FallbackEncoder};
use crate::lossless::{LosslessDecoder, LosslessEncoder};
use crate::transform::{Transform, TransformParams};
use crate::tune::SettingsInUse;
use crate::{Error, Picture, PictureRef, cpu, memory, opencl, reference};

/// Turns pictures into coded frames. All its memory is allocated when it is opened.
pub trait Encoder: Send {
    /// Codes one picture of the stream's size, in any pixel format.
    ///
    /// The same pictures in the same order give the same bytes on every back end.
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, Error>;

    /// How long the stages of the last frame took.
    fn times(&self) -> EncodeTimes;

    /// What computes.
    fn backend(&self) -> &BackendInfo;
}

/// Turns received frames into pictures. All its memory is allocated when it is opened.
pub trait Decoder: Send {
    /// Decodes into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]).
    ///
    /// A missing or damaged coarse block (one of the first [`common::pyramid::BlockLayout::coarse_blocks`])
    /// keeps the coefficients of the frame before; any other is zero.
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), Error>;

    /// How long the stages of the last frame took.
    fn times(&self) -> DecodeTimes;

    /// What computes.
    fn backend(&self) -> &BackendInfo;

    /// How many blocks since the decoder was opened had bytes that no encoder makes.
    fn damaged_blocks(&self) -> u64;
}

/// How many bits a frame may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// [`common::wire::run::coded_size`] is at most this, and as near to it as the picture's detail allows.
    Bytes(usize),
    /// All blocks at this quantiser step, however many bytes that takes.
    Step(StepIndex),
    /// Every sample as it is: of a stream coded with the CDF 5/3, and of no other.
    Lossless,
}

/// Duration of the stages of an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeTimes {
    /// Picture to the device.
    pub upload: Duration,
    /// Colour conversion and wavelet transform.
    pub transform: Duration,
    /// Quantiser, block coder and rate control.
    pub code: Duration,
    /// Time in which a device besides the processor computed, transfers apart, for the frame last measured; zero without one.
    pub device: Duration,
}

/// Duration of the stages of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeTimes {
    /// Block decoder and dequantiser.
    pub decode: Duration,
    /// Inverse transform and rounding to samples.
    pub inverse: Duration,
    /// As [`EncodeTimes::device`].
    pub device: Duration,
}

/// Which back end to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// A GPU through OpenCL if there is one, else the processor.
    #[default]
    Auto,
    /// OpenCL, on whatever device it offers.
    Opencl,
    /// The processor: vectorised, several threads.
    Cpu,
    /// The processor: plain, slow, the specification.
    Reference,
}

/// A text that names no back end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no backend: use auto, opencl, cpu or reference")]
pub struct UnknownBackend(String);

impl BackendChoice {
    /// The back ends that this build has, the specification first: [`Self::Opencl`] with the feature `opencl` only.
    #[cfg(feature = "opencl")]
    pub const BUILT: [Self; 3] = [Self::Reference, Self::Cpu, Self::Opencl];
    /// The back ends that this build has, the specification first: [`Self::Opencl`] with the feature `opencl` only.
    #[cfg(not(feature = "opencl"))]
    pub const BUILT: [Self; 2] = [Self::Reference, Self::Cpu];
}

impl FromStr for BackendChoice {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "opencl" => Ok(Self::Opencl),
            "cpu" => Ok(Self::Cpu),
            "reference" => Ok(Self::Reference),
            _ => Err(UnknownBackend(text.to_owned())),
        }
    }
}

/// What computes, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// `opencl`, `cpu` or `reference`.
    pub name: &'static str,
    /// The device's own name, or the processor's threads and instruction set.
    pub device: String,
    /// Why it was chosen, one sentence.
    pub reason: String,
}

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A processor.
    Cpu,
    /// A graphics card, or the graphics part of a processor.
    Gpu,
    /// Anything else.
    Accelerator,
}

/// A device that a back end can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// `opencl` or `cpu`.
    pub backend: &'static str,
    /// The device's name, as `--device` takes it.
    pub name: String,
    /// The OpenCL platform's name; empty for the `cpu` back end.
    pub platform: String,
    /// Driver version; empty for the `cpu` back end.
    pub driver: String,
    /// Kind of device.
    pub kind: DeviceKind,
    /// Device memory in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Parallel compute units (cores).
    pub compute_units: u32,
}

/// All devices: what OpenCL offers, then the processor. Never empty; no OpenCL is not an error here.
pub fn devices() -> Vec<DeviceInfo> {
    let mut found = opencl::devices().unwrap_or_default();
    found.push(cpu::device());
    found
}

/// Opens an encoder for the pictures of a stream. `device` is the name, or part of the name, of an OpenCL device.
///
/// If that device is lost later, the encoder goes on with the processor and [`Encoder::backend`] says so.
pub fn open_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Encoder>, Error> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => {
            let encoder = opencl::open_encoder(params, device.as_deref(), reason)?;
            Box::new(FallbackEncoder::new(params, encoder))
        }
        _ if params.codec.wavelet == Wavelet::Cdf53 => {
            let transform = open_transform(&TransformParams::from(params), choice, device)?;
            Box::new(LosslessEncoder::new(params, transform))
        }
        Resolved::Cpu => Box::new(cpu::CpuEncoder::new(params, reason)),
        Resolved::Reference => Box::new(reference::ReferenceEncoder::new(params, reason)),
    })
}

/// Opens a decoder for a stream. `device` as in [`open_encoder`].
///
/// If that device is lost later, the decoder goes on with the processor; only what it knew of the frame before is lost.
pub fn open_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Decoder>, Error> {
    open_smaller_decoder(params, 0, choice, device)
}

/// [`open_decoder`] for pictures of 1/2^`dropped_levels` of the width and height, rounded up
/// ([`common::frame::FrameSize::halved_times`]): the low band after that many levels, at the brightness of the picture.
///
/// It takes the same frames; blocks of the levels left out are neither decoded nor need be there.
/// [`Error::TooManyLevels`] if a plane has fewer levels.
pub fn open_smaller_decoder(
    params: &StreamParams,
    dropped_levels: usize,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Decoder>, Error> {
    check(params)?;
    let layout = BlockLayout::new(params).without_finest(dropped_levels)?;
    let (backend, reason) = resolve(choice, device)?;
    Ok(match backend {
        Resolved::Opencl(device) => {
            let decoder = opencl::open_decoder(params, layout.clone(), device.as_deref(), reason)?;
            Box::new(FallbackDecoder::new(params, layout, decoder))
        }
        _ if params.codec.wavelet == Wavelet::Cdf53 => {
            let transform = TransformParams::without_finest(params, dropped_levels);
            Box::new(LosslessDecoder::new(params, layout, open_transform(&transform, choice, device)?))
        }
        Resolved::Cpu => Box::new(cpu::CpuDecoder::new(params, layout, reason)),
        Resolved::Reference => Box::new(reference::ReferenceDecoder::new(params, layout, reason)),
    })
}

/// Whether this is a stream of the profile `quad`, of samples that its wavelet takes.
fn check(params: &StreamParams) -> Result<(), Error> {
    let CodecParams { profile, wavelet, depth, .. } = params.codec;
    match (profile, wavelet, depth) {
        (Profile::Pcwt, ..) => Err(Error::WrongProfile { wanted: "quad" }),
        (Profile::Quad, Wavelet::Cdf97, BitDepth::Ten) => Err(Error::DepthNotLossy { depth }),
        (Profile::Quad, ..) => Ok(()),
    }
}

/// Opens a transform alone. `device` as in [`open_encoder`].
pub fn open_transform(
    params: &TransformParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Transform>, Error> {
    params.check()?;
    memory::check(params.host_bytes())?;
    let (backend, reason) = match (choice, params.scheme) {
        (BackendChoice::Auto, Some(scheme)) if params.scheme_needs_opencl() => {
            (Resolved::Opencl(device.map(str::to_owned)), format!("only OpenCL computes the scheme {scheme}"))
        }
        _ => resolve(choice, device)?,
    };
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_transform(params, device.as_deref(), reason)?,
        Resolved::Cpu => cpu::open_transform(params, reason)?,
        Resolved::Reference => Box::new(reference::ReferenceTransform::new(params, reason)?),
    })
}

/// What the OpenCL device runs with that [`open_encoder`] would take for these arguments; `None` if it takes none.
pub fn settings_of(choice: BackendChoice, device: Option<&str>) -> Option<SettingsInUse> {
    match resolve(choice, device) {
        Ok((Resolved::Opencl(device), _)) => opencl::settings_in_use(device.as_deref()).ok(),
        _ => None,
    }
}

/// A back end that is there.
pub(crate) enum Resolved {
    Opencl(Option<String>),
    Cpu,
    Reference,
}

/// The back end for `choice`, and the sentence that says why.
pub(crate) fn resolve(choice: BackendChoice, device: Option<&str>) -> Result<(Resolved, String), Error> {
    let no_device = |backend| match device {
        Some(name) => Err(Error::DeviceNotApplicable { backend, name: name.to_owned() }),
        None => Ok("asked for".to_owned()),
    };
    match (choice, device) {
        (BackendChoice::Cpu, _) => Ok((Resolved::Cpu, no_device("cpu")?)),
        (BackendChoice::Reference, _) => Ok((Resolved::Reference, no_device("reference")?)),
        (BackendChoice::Opencl, _) => Ok((Resolved::Opencl(device.map(str::to_owned)), "asked for".to_owned())),
        (BackendChoice::Auto, Some(name)) => {
            Ok((Resolved::Opencl(Some(name.to_owned())), format!("the device `{name}` was asked for")))
        }
        (BackendChoice::Auto, None) => match opencl::devices() {
            Ok(found) => match found.into_iter().find(|d| d.kind == DeviceKind::Gpu) {
                Some(gpu) => {
                    Ok((Resolved::Opencl(Some(gpu.name)), "it is the first GPU that OpenCL offers".to_owned()))
                }
                None => Ok((Resolved::Cpu, "OpenCL offers no GPU".to_owned())),
            },
            Err(error) => Ok((Resolved::Cpu, error.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn back_ends_have_names() {
        assert_eq!("cpu".parse(), Ok(BackendChoice::Cpu));
        assert_eq!(
            "cuda".parse::<BackendChoice>().unwrap_err().to_string(),
            "`cuda` is no backend: use auto, opencl, cpu or reference"
        );
    }

    #[test]
    fn the_processor_takes_no_device_name() {
        let error = resolve(BackendChoice::Cpu, Some("H200")).err().unwrap();
        assert!(error.to_string().contains("`H200`"), "{error}");
    }

    #[test]
    fn there_is_always_a_device() {
        assert!(devices().iter().any(|d| d.backend == "cpu" && d.compute_units > 0));
    }
}
