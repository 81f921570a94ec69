//! Back ends and devices: which there are, and which one computes.

use std::fmt::{self, Display};
use std::time::Duration;

pub use picture::backend::BackendChoice;

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
#[non_exhaustive]
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
