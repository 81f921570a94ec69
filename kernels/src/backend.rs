//! Back ends and devices: which there are, and which one computes.

use std::fmt::Display;

pub use device::{BUILD_MAX, Backend, DeviceInfo, DeviceKind};
pub use picture::backend::BackendChoice;

/// Environment variable that keeps [`BackendChoice::Auto`] from OpenCL; its value says why.
pub const WITHOUT_OPENCL: &str = "DUET_WITHOUT_OPENCL";

/// The back ends that this build has, the specification first: OpenCL with the feature `opencl` only.
#[cfg(feature = "opencl")]
pub const BACK_ENDS: [BackendChoice; 3] = [BackendChoice::Reference, BackendChoice::Cpu, BackendChoice::Opencl];
/// The back ends that this build has, the specification first: OpenCL with the feature `opencl` only.
#[cfg(not(feature = "opencl"))]
pub const BACK_ENDS: [BackendChoice; 2] = [BackendChoice::Reference, BackendChoice::Cpu];

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
