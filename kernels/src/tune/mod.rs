//! Settings that suit one OpenCL device better than another: their defaults, the tuner that measures them, and the file
//! that keeps what it found.

#[cfg(feature = "opencl")]
pub mod cache;
pub(crate) mod in_use;
#[cfg(feature = "opencl")]
mod search;
pub(crate) mod settings;
#[cfg(feature = "opencl")]
mod tuner;

pub use self::in_use::{NotUsed, Origin, SettingsInUse, use_tuned_settings};
pub use self::settings::{SETTINGS, Setting, Tuning};
#[cfg(feature = "opencl")]
pub use self::tuner::{BUDGET, Progress, Report, SIZES, SizeTimes, tune};
#[cfg(feature = "opencl")]
pub use crate::opencl::PassTimes;
