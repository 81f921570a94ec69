//! Which settings the devices of this process run with: the built-in ones, or those that were measured for them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use common::params::CodecParams;

use super::device::{self, Device};
use super::tuning::Tuning;
use crate::tune::cache::{self, NotUsed};
use crate::{DeviceInfo, Error};

/// Whether cached settings are used.
static FROM_CACHE: AtomicBool = AtomicBool::new(false);

/// From now on devices are opened with the settings that `wavelet tune` measured for them, where there are any. For
/// the start of a program: what is open already keeps its settings.
pub fn use_tuned_settings() {
    FROM_CACHE.store(true, Ordering::Relaxed);
}

/// Where a device's settings come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in, since nobody asked for others.
    BuiltIn,
    /// Built in, since there are no others that can be used.
    NotTuned(NotUsed),
    /// Measured on this device and kept in this file.
    Cache(PathBuf),
}

/// What a device runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsInUse {
    /// The device.
    pub device: DeviceInfo,
    /// Its settings.
    pub tuning: Tuning,
    /// Where they come from.
    pub origin: Origin,
}

/// The settings of the device whose name contains `device`, or of the best one.
pub fn settings_in_use(device: Option<&str>) -> Result<SettingsInUse, Error> {
    let (device, origin) = device::named(device)?.in_use();
    Ok(SettingsInUse { device: device.info.clone(), tuning: device.tuning.clone(), origin: origin.clone() })
}

/// A device of this machine, with its built-in settings and with those from the cache.
pub(super) struct Found {
    built_in: (Arc<Device>, Origin),
    cached: OnceLock<(Arc<Device>, Origin)>,
}

impl Found {
    pub(super) fn new(device: Device) -> Self {
        Self { built_in: (Arc::new(device), Origin::BuiltIn), cached: OnceLock::new() }
    }

    pub(super) fn info(&self) -> &DeviceInfo {
        &self.built_in.0.info
    }

    /// The device with its built-in settings.
    pub(super) fn built_in(&self) -> &Arc<Device> {
        &self.built_in.0
    }

    /// The device as it is to be opened, and where its settings come from.
    pub(super) fn in_use(&self) -> &(Arc<Device>, Origin) {
        if FROM_CACHE.load(Ordering::Relaxed) { self.cached.get_or_init(|| self.read_cache()) } else { &self.built_in }
    }

    /// With the cached settings, if there are any and the device runs them.
    fn read_cache(&self) -> (Arc<Device>, Origin) {
        let built_in = &self.built_in.0;
        let used = cache::read(&built_in.info).and_then(|(path, tuning)| {
            let unfit = |why| NotUsed::Refused { path: path.clone(), why };
            tuning.check(built_in.max_group_size).map_err(unfit)?;
            let device = built_in.with_tuning(tuning);
            device.transform_program(CodecParams::default().boundary).map_err(|error| unfit(error.to_string()))?;
            Ok((Arc::new(device), Origin::Cache(path)))
        });
        used.unwrap_or_else(|why| (built_in.clone(), Origin::NotTuned(why)))
    }
}
