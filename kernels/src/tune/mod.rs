//! Settings that suit one OpenCL device better than another: their defaults, the tuner that measures them, and the file
//! that keeps what it found.

#[cfg(feature = "opencl")]
pub mod cache;
#[cfg(feature = "opencl")]
mod search;
#[cfg(feature = "opencl")]
mod tuner;

pub use device::in_use::{NotUsed, Origin, SettingsInUse, use_tuned_settings};
pub use device::settings::{SETTINGS, Setting, Tuning};

#[cfg(feature = "opencl")]
pub use self::tuner::{BUDGET, Progress, Report, SIZES, SizeTimes, tune};
#[cfg(feature = "opencl")]
pub use crate::opencl::PassTimes;
