//! The settings of this machine's devices, and the file that keeps what the tuner found.

#[cfg(feature = "opencl")]
pub use crate::opencl::cache;
pub use device::in_use::{NotUsed, Origin, SettingsInUse, use_tuned_settings};
pub use device::settings::{SETTINGS, Setting, Tuning};
