//! The encoder and decoder that a daemon uses, whatever computes them.

use std::fmt::{self, Display};
use std::time::Duration;

pub use picture::backend::BackendChoice;
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};

use crate::{DecodeError, EncodeError, Picture, PictureRef};

/// Turns pictures into coded frames.
pub trait Encoder: Send {
    /// Codes one picture of the stream's size, in any pixel format.
    ///
    /// The same pictures in the same order give the same bytes on every back end.
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError>;

    /// Returns the durations of the last frame's stages.
    fn times(&self) -> EncodeTimes;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;
}

/// Turns received frames into pictures.
pub trait Decoder: Send {
    /// Decodes into `out`, which must have the stream's size and planar format ([`Picture::decoded_from`]).
    ///
    /// A missing or damaged coarse block (one of the first [`picture::pyramid::BlockLayout::coarse_blocks`])
    /// keeps the coefficients of the frame before; any other is zero.
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError>;

    /// Returns the durations of the last frame's stages.
    fn times(&self) -> DecodeTimes;

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;

    /// Returns the number of blocks, since the decoder was opened, that had bytes that no encoder makes.
    fn damaged_blocks(&self) -> u64;
}

/// Limit of a frame's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// [`picture::run::coded_size`] is at most this, and as near to it as the picture's detail allows.
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
    /// Search for vectors, and their code; zero for a frame that is coded alone, as is the next one.
    pub motion: Duration,
    /// Prediction with these vectors, and the picture that the frame decodes to.
    pub compensate: Duration,
    /// Colour conversion and wavelet transform.
    pub transform: Duration,
    /// Quantiser, block coder and rate control.
    pub code: Duration,
    /// Time in which a device besides the processor computed, transfers apart, for the frame last measured; zero
    /// without one.
    pub device: Duration,
}

/// Duration of the stages of a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeTimes {
    /// Block decoder and dequantiser; of a predicted frame its vectors, too.
    pub decode: Duration,
    /// Prediction from the frame that it refers to; zero without one.
    pub compensate: Duration,
    /// Inverse transform and rounding to samples.
    pub inverse: Duration,
    /// As [`EncodeTimes::device`].
    pub device: Duration,
}

/// Environment variable that keeps [`BackendChoice::Auto`] from OpenCL; its value says why.
pub const WITHOUT_OPENCL: &str = "DUET_WITHOUT_OPENCL";

/// Longest time for a driver to compile one program.
///
/// PoCL, the slowest known, takes some 15 s for all programs of a decoder on two processors that a dozen other programs
/// keep busy; a machine may be slower and busier still. Whoever waits for a device must wait longer than this, so that
/// a compiler that hangs is told as such.
pub const BUILD_MAX: Duration = Duration::from_secs(85);

/// The back ends that this build has, the specification first: OpenCL with the feature `opencl` only.
#[cfg(feature = "opencl")]
pub const BACK_ENDS: [BackendChoice; 3] = [BackendChoice::Reference, BackendChoice::Cpu, BackendChoice::Opencl];
/// The back ends that this build has, the specification first: OpenCL with the feature `opencl` only.
#[cfg(not(feature = "opencl"))]
pub const BACK_ENDS: [BackendChoice; 2] = [BackendChoice::Reference, BackendChoice::Cpu];

/// A back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// An OpenCL device.
    Opencl,
    /// The processor: vectorised, several threads.
    Cpu,
    /// The processor: plain, slow, the specification.
    Reference,
}

impl Backend {
    /// Returns the name that the command line and the statistics have for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opencl => "opencl",
            Self::Cpu => "cpu",
            Self::Reference => "reference",
        }
    }
}

impl Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The back end that computes, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// The back end.
    pub kind: Backend,
    /// The device's own name, or the processor's threads and instruction set.
    pub device: String,
    /// Reason of the choice, one sentence.
    pub reason: String,
}

impl BackendInfo {
    /// Returns true if it computes on a device, in calls of a driver that may fail, or not return.
    pub fn is_device(&self) -> bool {
        self.kind == Backend::Opencl
    }

    /// Returns the reason for the processor to take over from it, when its device cannot go on because of `why`.
    pub fn given_up(&self, why: &dyn Display) -> String {
        format!("`{}` was given up: {why}", self.device)
    }
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
    /// The back end, never the reference.
    pub backend: Backend,
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
