//! The devices of this machine, each with its built-in settings and with those that were measured for it.

use std::sync::{Arc, OnceLock};

use common::params::CodecParams;

use super::Device;
use crate::opencl::device;
use crate::tune::in_use::tuned_settings_wanted;
use crate::tune::{NotUsed, Origin, SettingsInUse, cache};
use crate::{DeviceInfo, Error};

/// The settings of the device whose name contains `device`, or of the best one.
pub(crate) fn settings_in_use(device: Option<&str>) -> Result<SettingsInUse, Error> {
    let (device, origin) = device::named(device)?.in_use();
    Ok(SettingsInUse { device: device.info.clone(), tuning: device.tuning.clone(), origin: origin.clone() })
}

/// A device of this machine, with its built-in settings and with those from the cache.
pub(crate) struct Found {
    built_in: (Arc<Device>, Origin),
    cached: OnceLock<(Arc<Device>, Origin)>,
}

impl Found {
    pub(crate) fn new(device: Device) -> Self {
        Self { built_in: (Arc::new(device), Origin::BuiltIn), cached: OnceLock::new() }
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.built_in.0.info
    }

    /// The device with its built-in settings.
    pub(crate) fn built_in(&self) -> &Arc<Device> {
        &self.built_in.0
    }

    /// The device as it is to be opened, and where its settings come from.
    pub(crate) fn in_use(&self) -> &(Arc<Device>, Origin) {
        if tuned_settings_wanted() { self.cached.get_or_init(|| self.read_cache()) } else { &self.built_in }
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
