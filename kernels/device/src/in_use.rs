//! Settings of this process's devices: the built-in ones, or those that were measured for them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::DeviceInfo;
use crate::settings::Tuning;

static FROM_CACHE: AtomicBool = AtomicBool::new(false);

/// Opens devices from this call on with the settings that `wavelet tune` measured for them, where there are any. For
/// the start of a program: what is open already keeps its settings.
pub fn use_tuned_settings() {
    FROM_CACHE.store(true, Ordering::Relaxed);
}

#[cfg_attr(not(feature = "opencl"), allow(dead_code, reason = "no device has settings then"))]
/// Returns true after [`use_tuned_settings`].
pub(crate) fn tuned_settings_wanted() -> bool {
    FROM_CACHE.load(Ordering::Relaxed)
}

/// Origin of a device's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in, since nobody asked for others.
    BuiltIn,
    /// Built in, since there are no others that can be used.
    NotTuned(NotUsed),
    /// Measured on this device and kept in this file.
    Cache(PathBuf),
}

/// The settings that a device runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsInUse {
    /// The device.
    pub device: DeviceInfo,
    /// Its settings.
    pub tuning: Tuning,
    /// Their origin.
    pub origin: Origin,
}

/// Reasons for which there are no cached settings to use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum NotUsed {
    /// No cache directory.
    #[error("there is no cache directory: neither XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// The device has not been tuned.
    #[error("it has not been tuned: there is no {}", .0.display())]
    Absent(PathBuf),
    /// The file cannot be used.
    #[error("{} cannot be used: {why}", .path.display())]
    Refused { path: PathBuf, why: String },
    /// The settings were measured with something else than what is here now.
    #[error("{} is out of date: it was made for {what} `{then}`, this is `{now}`", .path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// Name of the value that has changed: `driver`, for instance.
        what: &'static str,
        /// As the file has it.
        then: String,
        /// As it is.
        now: String,
    },
}
