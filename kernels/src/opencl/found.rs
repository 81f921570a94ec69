//! Finding a device with the settings that it is to run with, and opening something on it.

use std::path::PathBuf;
use std::sync::Arc;

use device::Device;
use device::in_use::{NotUsed, SettingsInUse};
use device::open_within;
use picture::params::CodecParams;

use super::cache;
use super::transform::programs::transform_program;
use crate::{Backend, BackendInfo, DeviceInfo, OpenError};

/// Returns all OpenCL devices, in the order of their platforms.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenError> {
    Ok(device::devices()?)
}

/// Returns the settings of the device whose name contains `device`, or of the best one.
pub(crate) fn settings_in_use(device: Option<&str>) -> Result<SettingsInUse, OpenError> {
    let (device, origin) = device::named(device)?.in_use(tuned);
    Ok(SettingsInUse { device: device.info.clone(), tuning: device.tuning.clone(), origin: origin.clone() })
}

/// Returns the device whose name is or contains `name`, ignoring case, with the settings in use; without a name the
/// first GPU, else the first device.
pub fn find(name: Option<&str>) -> Result<Arc<Device>, OpenError> {
    Ok(device::named(name)?.in_use(tuned).0.clone())
}

/// Returns the device with the cached settings and their file, if there are any and the device runs them.
fn tuned(device: &Arc<Device>) -> Result<(PathBuf, Arc<Device>), NotUsed> {
    let (path, tuning) = cache::read(&device.info)?;
    let unfit = |why| NotUsed::Refused { path: path.clone(), why };
    tuning.check(device.max_group_size).map_err(unfit)?;
    let tuned = device.with_tuning(tuning);
    // Only processors run these.
    if tuned.tuning.group_size == 1 {
        transform_program(&tuned, CodecParams::default().boundary).map_err(|error| unfit(error.to_string()))?;
    }
    Ok((path, Arc::new(tuned)))
}

/// Opens within the limits of the device whose name contains `device`, or of the best one.
pub fn open_on<T>(device: Option<&str>, open: impl Fn(&Arc<Device>) -> Result<T, OpenError>) -> Result<T, OpenError> {
    open_within(&find(device)?, open)
}

/// Returns the description of the back end, chosen for `reason`.
pub fn backend(device: &Device, reason: &str) -> BackendInfo {
    BackendInfo { kind: Backend::Opencl, device: device.info.name.clone(), reason: reason.to_owned() }
}
