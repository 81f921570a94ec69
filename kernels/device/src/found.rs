//! Finding the devices of this machine, each with its built-in settings and with those that were measured for it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ocl::core as cl;

use crate::answer::{failed, text};
use crate::in_use::{NotUsed, Origin, tuned_settings_wanted};
use crate::settings::Tuning;
use crate::{Backend, Device, DeviceInfo, DeviceKind, NotFound};

/// A device of this machine, with its built-in settings and with those from the cache.
pub struct Found {
    built_in: (Arc<Device>, Origin),
    cached: OnceLock<(Arc<Device>, Origin)>,
}

impl Found {
    pub(crate) fn new(device: Device) -> Self {
        Self { built_in: (Arc::new(device), Origin::BuiltIn), cached: OnceLock::new() }
    }

    /// Returns its description.
    pub fn info(&self) -> &DeviceInfo {
        &self.built_in.0.info
    }

    /// Returns the device with its built-in settings.
    pub fn built_in(&self) -> &Arc<Device> {
        &self.built_in.0
    }

    /// Returns the device as it is to be opened, and where its settings come from: `read` is asked once, and only by a
    /// program that wants the settings that were measured.
    pub fn in_use(
        &self,
        read: impl FnOnce(&Arc<Device>) -> Result<(PathBuf, Arc<Device>), NotUsed>,
    ) -> &(Arc<Device>, Origin) {
        if !tuned_settings_wanted() {
            return &self.built_in;
        }
        self.cached.get_or_init(|| match read(self.built_in()) {
            Ok((path, device)) => (device, Origin::Cache(path)),
            Err(why) => (self.built_in().clone(), Origin::NotTuned(why)),
        })
    }
}

/// Returns all OpenCL devices, in the order of their platforms; [`NotFound::Platform`] if there is no driver.
pub fn devices() -> Result<Vec<DeviceInfo>, NotFound> {
    Ok(found()?.iter().map(|device| device.info().clone()).collect())
}

/// Returns the device whose name is or contains `name`, ignoring case; without a name the first GPU, else the first
/// device.
pub fn named(name: Option<&str>) -> Result<&'static Found, NotFound> {
    let all = found()?;
    let chosen = match name {
        Some(name) => {
            let wanted = name.to_lowercase();
            let named = |exact: bool| {
                all.iter().find(|device| {
                    let there = device.info().name.to_lowercase();
                    if exact { there == wanted } else { there.contains(&wanted) }
                })
            };
            named(true).or_else(|| named(false))
        }
        None => all.iter().find(|device| device.info().kind == DeviceKind::Gpu).or(all.first()),
    };
    chosen.ok_or_else(|| match name {
        Some(name) => {
            let names: Vec<_> = all.iter().map(|device| device.info().name.as_str()).collect();
            NotFound::Named { name: name.to_owned(), available: names.join(", ") }
        }
        None => NotFound::Platform,
    })
}

/// Devices of all platforms, looked for once.
fn found() -> Result<&'static [Found], NotFound> {
    static FOUND: OnceLock<Result<Vec<Found>, NotFound>> = OnceLock::new();
    match FOUND.get_or_init(|| Ok(look()?.into_iter().map(Found::new).collect())) {
        Ok(all) => Ok(all),
        Err(error) => Err(error.clone()),
    }
}

fn look() -> Result<Vec<Device>, NotFound> {
    let mut platforms = 0;
    // SAFETY: no array is asked for, only the count. Called directly because the wrapper sleeps for seconds
    // where there is no platform.
    let status = unsafe { ocl::ffi::clGetPlatformIDs(0, std::ptr::null_mut(), &raw mut platforms) };
    if status != 0 || platforms == 0 {
        return Err(NotFound::Platform);
    }
    let mut all = Vec::new();
    for platform in cl::get_platform_ids().map_err(failed("clGetPlatformIDs"))? {
        // A platform without devices reports an error; the others still count.
        let ids = cl::get_device_ids(platform, Some(cl::DeviceType::ALL), None).unwrap_or_default();
        let platform_name = text(cl::get_platform_info(platform, cl::PlatformInfo::Name));
        let queues_overlap = queues_overlap(&text(cl::get_platform_info(platform, cl::PlatformInfo::Version)));
        for id in ids {
            let info = describe(id, platform_name.clone());
            let max_allocation_bytes = match cl::get_device_info(id, cl::DeviceInfo::MaxMemAllocSize) {
                Ok(cl::DeviceInfoResult::MaxMemAllocSize(bytes)) => bytes,
                _ => info.memory_bytes / 4,
            };
            let unified = cl::get_device_info(id, cl::DeviceInfo::HostUnifiedMemory);
            let unified = matches!(unified, Ok(cl::DeviceInfoResult::HostUnifiedMemory(true)));
            let max_group_size = match cl::get_device_info(id, cl::DeviceInfo::MaxWorkGroupSize) {
                Ok(cl::DeviceInfoResult::MaxWorkGroupSize(items)) => items,
                _ => 1,
            };
            all.push(Device {
                id,
                max_allocation_bytes,
                shares_host_memory: info.kind == DeviceKind::Cpu || unified,
                max_group_size,
                tuning: Tuning::default_for(info.kind),
                info,
                queues_overlap,
                has_cache_hints: nvidia_capability(id).is_some_and(|major| major >= 8),
                opened: Arc::default(),
                counted: None,
            });
        }
    }
    if all.is_empty() { Err(NotFound::Platform) } else { Ok(all) }
}

/// Returns the major number of the compute capability of an NVIDIA device.
fn nvidia_capability(id: cl::DeviceId) -> Option<u32> {
    const COMPUTE_CAPABILITY_MAJOR_NV: u32 = 0x4000;
    let extensions = text(cl::get_device_info(id, cl::DeviceInfo::Extensions));
    let is_known = extensions.split_whitespace().any(|name| name == "cl_nv_device_attribute_query");
    let raw = is_known.then(|| cl::get_device_info_raw(id, COMPUTE_CAPABILITY_MAJOR_NV).ok())??;
    Some(u32::from_ne_bytes(*raw.first_chunk()?))
}

fn describe(id: cl::DeviceId, platform: String) -> DeviceInfo {
    let kind = match cl::get_device_info(id, cl::DeviceInfo::Type) {
        Ok(cl::DeviceInfoResult::Type(kind)) if kind.contains(cl::DeviceType::GPU) => DeviceKind::Gpu,
        Ok(cl::DeviceInfoResult::Type(kind)) if kind.contains(cl::DeviceType::CPU) => DeviceKind::Cpu,
        _ => DeviceKind::Accelerator,
    };
    let memory_bytes = match cl::get_device_info(id, cl::DeviceInfo::GlobalMemSize) {
        Ok(cl::DeviceInfoResult::GlobalMemSize(bytes)) => bytes,
        _ => 0,
    };
    let compute_units = match cl::get_device_info(id, cl::DeviceInfo::MaxComputeUnits) {
        Ok(cl::DeviceInfoResult::MaxComputeUnits(units)) => units,
        _ => 1,
    };
    DeviceInfo {
        backend: Backend::Opencl,
        name: text(cl::get_device_info(id, cl::DeviceInfo::Name)),
        platform,
        driver: text(cl::get_device_info(id, cl::DeviceInfo::DriverVersion)),
        kind,
        memory_bytes,
        compute_units,
    }
}

/// Returns true if queues of the platform of this version may run kernels at once: [`Device::queues_overlap`].
fn queues_overlap(version: &str) -> bool {
    let pocl = version.split_once("PoCL ").map(|(_, pocl)| pocl.split(|c: char| !c.is_ascii_digit()).next());
    pocl.is_none_or(|major| major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 6))
}

#[cfg(test)]
mod tests {
    use super::queues_overlap;

    #[test]
    fn only_old_pocl_gets_one_queue() {
        assert!(!queues_overlap("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, LLVM 15.0.6"));
        assert!(!queues_overlap("OpenCL 3.0 PoCL 5.0  Linux"));
        assert!(queues_overlap("OpenCL 3.0 PoCL 6.0  Linux"));
        assert!(queues_overlap("OpenCL 3.0 PoCL 10.1  Linux"));
        assert!(queues_overlap("OpenCL 3.0 CUDA 12.8.90"));
    }
}
