//! Descriptions of back ends and devices.

use std::fmt::{self, Display};
use std::time::Duration;

/// Longest time for a driver to compile one program.
///
/// PoCL, the slowest known, takes some 15 s for all programs of a decoder on two processors that a dozen other programs
/// keep busy; a machine may be slower and busier still. Whoever waits for a device must wait longer than this, so that
/// a compiler that hangs is told as such.
pub const BUILD_MAX: Duration = Duration::from_secs(85);

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
