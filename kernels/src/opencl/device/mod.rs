//! Finding and opening OpenCL devices, and building the kernels for them.
//!
//! Devices are looked for once per process and a device's context is shared by everything that uses it: some
//! drivers do not stand being opened from several threads at once.

pub(crate) mod copy;
pub(crate) mod fault;
#[cfg(test)]
mod fault_tests;
pub(crate) mod found;
pub(crate) mod handle;
pub(crate) mod kernel;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod queue;
pub(crate) mod timeline;

use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use common::params::Boundary;
use ocl::core as cl;

use self::found::Found;
use self::handle::Handle;
use self::kernel::Program;
use crate::opencl::transform::params;
use crate::tune::Tuning;
use crate::wavelet::Scheme;
use crate::{BackendInfo, DeviceInfo, DeviceKind, Error};

/// Sliding windows for groups of many work-items.
pub(crate) const SLAB: [&str; 7] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lifting.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/dwt.cl"),
    include_str!("../../../cl/transform/idwt.cl"),
];
/// Sliding windows for single work-items.
pub(crate) const STRIP: [&str; 8] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/shared/boundary.cl"),
    include_str!("../../../cl/shared/lifting.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/strip.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/dwt_strip.cl"),
    include_str!("../../../cl/transform/idwt_strip.cl"),
];
/// The kernels for blocks.
const CODEC: [&str; 5] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/quad/quad.cl"),
    include_str!("../../../cl/quad/quad_quantise.cl"),
    include_str!("../../../cl/quad/quad_encode.cl"),
    include_str!("../../../cl/quad/quad_decode.cl"),
];

/// An OpenCL device of this machine with the settings to run with.
#[derive(Clone)]
pub(crate) struct Device {
    pub(crate) id: cl::DeviceId,
    pub(crate) info: DeviceInfo,
    /// Largest single buffer that the driver allows, bytes.
    max_allocation_bytes: u64,
    /// Whether its memory is the host's.
    pub(crate) shares_host_memory: bool,
    /// Most work-items in a group.
    pub(crate) max_group_size: usize,
    pub(crate) tuning: Tuning,
    /// Whether several queues may run kernels at once. Not in PoCL before version 6, which looks a finished kernel up
    /// by its text and group size alone: two sizes of grid in flight mix up their use counts, and an assertion ends
    /// the process (`pocl_release_dlhandle_cache`). One kernel fills all cores there, so one queue loses nothing.
    pub(crate) queues_overlap: bool,
    /// Whether kernels may tell its second-level cache what to keep (`cl/transform/dwt_tile.cl`).
    pub(crate) has_cache_hints: bool,
    opened: Arc<Mutex<Opened>>,
}

/// What is made once for a device, whatever its settings.
#[derive(Default)]
struct Opened {
    context: Option<Arc<Handle<cl::Context>>>,
    /// The only queue of a device whose queues may not overlap.
    queue: Option<Arc<Handle<cl::CommandQueue>>>,
    /// By options and text.
    programs: Vec<(String, Program)>,
}

/// All OpenCL devices, in the order of their platforms; [`Error::NoOpenClPlatform`] if there is no driver.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    Ok(found()?.iter().map(|device| device.info().clone()).collect())
}

/// The device whose name is or contains `name`, ignoring case, with the settings in use; without a name the first GPU,
/// else the first device.
pub(crate) fn find(name: Option<&str>) -> Result<Arc<Device>, Error> {
    Ok(named(name)?.in_use().0.clone())
}

/// The device `name` as it was found, see [`find`].
pub(crate) fn named(name: Option<&str>) -> Result<&'static Found, Error> {
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
            Error::NoSuchDevice { name: name.to_owned(), available: names.join(", ") }
        }
        None => Error::NoOpenClPlatform,
    })
}

/// Devices of all platforms, looked for once.
fn found() -> Result<&'static [Found], Error> {
    static FOUND: OnceLock<Result<Vec<Found>, Error>> = OnceLock::new();
    match FOUND.get_or_init(|| Ok(look()?.into_iter().map(Found::new).collect())) {
        Ok(all) => Ok(all),
        Err(error) => Err(error.clone()),
    }
}

fn look() -> Result<Vec<Device>, Error> {
    let mut platforms = 0;
    // SAFETY: no array is asked for, only the count. Called directly because the wrapper sleeps for seconds
    // where there is no platform.
    let status = unsafe { ocl::ffi::clGetPlatformIDs(0, std::ptr::null_mut(), &raw mut platforms) };
    if status != 0 || platforms == 0 {
        return Err(Error::NoOpenClPlatform);
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
            });
        }
    }
    if all.is_empty() { Err(Error::NoOpenClPlatform) } else { Ok(all) }
}

/// Major number of the compute capability of an NVIDIA device.
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
        backend: "opencl",
        name: text(cl::get_device_info(id, cl::DeviceInfo::Name)),
        platform,
        driver: text(cl::get_device_info(id, cl::DeviceInfo::DriverVersion)),
        kind,
        memory_bytes,
        compute_units,
    }
}

/// Whether queues of the platform with this version text may run kernels at once, see [`Device::queues_overlap`].
fn queues_overlap(version: &str) -> bool {
    let pocl = version.split_once("PoCL ").map(|(_, pocl)| pocl.split(|c: char| !c.is_ascii_digit()).next());
    pocl.is_none_or(|major| major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 6))
}

/// What computes, for `reason`.
pub(crate) fn backend(device: &Device, reason: String) -> BackendInfo {
    BackendInfo { name: "opencl", device: device.info.name.clone(), reason }
}

pub(crate) fn text<T: std::fmt::Display>(info: Result<T, cl::Error>) -> String {
    info.map(|value| value.to_string().trim_matches(['\0', ' ']).to_owned()).unwrap_or_default()
}

impl Device {
    /// Largest single buffer, bytes.
    pub(crate) fn largest_buffer_bytes(&self) -> u64 {
        self.max_allocation_bytes.min(self.info.memory_bytes)
    }

    /// The device's context, made on first use.
    pub(crate) fn context(&self) -> Result<Arc<Handle<cl::Context>>, Error> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        self.context_of(&mut opened)
    }

    fn context_of(&self, opened: &mut Opened) -> Result<Arc<Handle<cl::Context>>, Error> {
        if let Some(context) = &opened.context {
            return Ok(context.clone());
        }
        let context = cl::create_context(None, &[self.id], None, None).map_err(failed("clCreateContext"))?;
        let context = Arc::new(Handle::from(context));
        opened.context = Some(context.clone());
        Ok(context)
    }

    /// A new queue, or the only one; one that is `timed` notes when commands ran, the only one always does.
    pub(crate) fn queue(&self, timed: bool) -> Result<Arc<Handle<cl::CommandQueue>>, Error> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = &opened.queue {
            return Ok(queue.clone());
        }
        let context = self.context_of(&mut opened)?;
        let timed = timed || !self.queues_overlap;
        let properties = timed.then_some(cl::CommandQueueProperties::PROFILING_ENABLE);
        let queue = cl::create_command_queue(&**context, self.id, properties);
        let queue = Arc::new(Handle::from(queue.map_err(failed("clCreateCommandQueue"))?));
        if !self.queues_overlap {
            opened.queue = Some(queue.clone());
        }
        Ok(queue)
    }

    /// Bytes of local memory; the least that OpenCL allows if the driver does not say.
    pub(crate) fn local_memory_bytes(&self) -> usize {
        match cl::get_device_info(self.id, cl::DeviceInfo::LocalMemSize) {
            Ok(cl::DeviceInfoResult::LocalMemSize(bytes)) => usize::try_from(bytes).unwrap_or(usize::MAX),
            _ => 32 << 10,
        }
    }

    /// Whether it computes in f64.
    pub(crate) fn has_doubles(&self) -> bool {
        let extensions = text(cl::get_device_info(self.id, cl::DeviceInfo::Extensions));
        extensions.split_whitespace().any(|extension| extension == "cl_khr_fp64")
    }

    /// The same device with other settings. Both share one context.
    pub(crate) fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning, ..self.clone() }
    }

    /// The kernels for blocks, built on first use; an error if the device cannot run them.
    pub(crate) fn codec_program(&self, lossless: bool) -> Result<Program, Error> {
        // The boundary means nothing to them.
        let options = params::defines(&self.tuning, Boundary::Symmetric);
        self.build(&CODEC, &format!("{options} -D LOSSLESS={}", u8::from(lossless)))
    }

    /// The kernels for the transform of streams with this boundary, likewise.
    pub(crate) fn transform_program(&self, boundary: Boundary) -> Result<Program, Error> {
        self.fused_program(boundary, "")
    }

    /// The same with these options of `cl/shared/source.cl`.
    pub(crate) fn fused_program(&self, boundary: Boundary, options: &str) -> Result<Program, Error> {
        self.build(self.windows(), &[&params::defines(&self.tuning, boundary), options].concat())
    }

    fn windows(&self) -> &'static [&'static str] {
        if self.tuning.group_size == 1 { &STRIP } else { &SLAB }
    }

    /// Whether [`Self::transform_program`] has been built, and nothing else is needed.
    pub(crate) fn has_transform(&self, boundary: Boundary) -> bool {
        let key = key(self.windows(), &params::defines(&self.tuning, boundary));
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        self.tuning.scheme == Scheme::Slab && opened.programs.iter().any(|(of, _)| *of == key)
    }

    /// The program of these texts, one after another, under compiler `options`; built on first use.
    pub(crate) fn build(&self, sources: &[&str], options: &str) -> Result<Program, Error> {
        let key = key(sources, options);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, program)) = opened.programs.iter().find(|(of, _)| *of == key) {
            return Ok(program.clone());
        }
        let context = self.context_of(&mut opened)?;
        let text = |string: &str| {
            CString::new(string).map_err(|error| Error::Device { call: "clBuildProgram", reason: error.to_string() })
        };
        let sources = sources.iter().map(|source| text(source)).collect::<Result<Vec<_>, _>>()?;
        let program =
            cl::create_program_with_source(&**context, &sources).map_err(failed("clCreateProgramWithSource"))?;
        // Compilers count their warnings on stderr, where users would wonder at them.
        let options = text(&format!("{options} -w"))?;
        cl::build_program(&program, Some(&[self.id]), &options, None, None).map_err(failed("clBuildProgram"))?;
        let program = Arc::new(Handle::from(program));
        limits::check(self.id, &program)?;
        opened.programs.push((key, program.clone()));
        Ok(program)
    }
}

/// What tells a program from others.
fn key(sources: &[&str], options: &str) -> String {
    [&[options], sources].concat().join("\n")
}

/// Turns a failure of `call` into this crate's error.
pub(crate) fn failed(call: &'static str) -> impl Fn(cl::Error) -> Error {
    move |error| {
        let reason = match error.api_status() {
            Some(status) => format!("{status:?}"),
            None => error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        Error::Device { call, reason }
    }
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
