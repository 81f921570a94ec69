//! An OpenCL device: its context, its queues, and the programs that are built for it.
//!
//! Devices are looked for once per process and a device's context is shared by everything that uses it: some
//! drivers do not stand being opened from several threads at once.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use ocl::core as cl;

use crate::answer::{failed, text};
use crate::handle::Handle;
use crate::header::Header;
use crate::kernel::Program;
use crate::memory::Memory;
use crate::settings::Tuning;
use crate::{DeviceError, DeviceInfo, Result, hang, limits};

/// An OpenCL device of this machine with the settings to run with.
#[derive(Clone)]
pub struct Device {
    pub(crate) id: cl::DeviceId,
    /// Its description.
    pub info: DeviceInfo,
    /// Largest single buffer that the driver allows, bytes.
    pub(crate) max_allocation_bytes: u64,
    /// True if its memory is the host's.
    pub shares_host_memory: bool,
    /// Most work-items in a group.
    pub max_group_size: usize,
    /// The settings to run with.
    pub tuning: Tuning,
    /// True if several queues may run kernels at once. Not in PoCL before version 6, which looks a finished kernel up
    /// by its text and group size alone: two sizes of grid in flight mix up their use counts, and an assertion ends the
    /// process (`pocl_release_dlhandle_cache`). One kernel fills all cores there, so one queue loses nothing.
    pub queues_overlap: bool,
    /// True if kernels may tell its second-level cache what to keep (`cl/transform/dwt_tile.cl`).
    pub has_cache_hints: bool,
    pub(crate) opened: Arc<Mutex<Opened>>,
    /// If there is this, buffers are counted there, and have room for one value each.
    pub(crate) counted: Option<Arc<Memory>>,
}

/// Handles made once for a device, whatever its settings.
#[derive(Default)]
pub(crate) struct Opened {
    context: Option<Arc<Handle<cl::Context>>>,
    /// The only queue of a device whose queues may not overlap.
    queue: Option<Arc<Handle<cl::CommandQueue>>>,
    /// Programs by their text.
    programs: Vec<(String, Program)>,
}

impl Device {
    /// Returns the largest single buffer, bytes.
    pub(crate) fn largest_buffer_bytes(&self) -> u64 {
        self.max_allocation_bytes.min(self.info.memory_bytes)
    }

    /// Returns the device's context, made on first use.
    pub(crate) fn context(&self) -> Result<Arc<Handle<cl::Context>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        self.context_of(&mut opened)
    }

    fn context_of(&self, opened: &mut Opened) -> Result<Arc<Handle<cl::Context>>> {
        if let Some(context) = &opened.context {
            return Ok(context.clone());
        }
        let context = cl::create_context(None, &[self.id], None, None).map_err(failed("clCreateContext"))?;
        let context = Arc::new(Handle::from(context));
        opened.context = Some(context.clone());
        Ok(context)
    }

    /// Returns a new queue, or the only one; one that is `timed` notes when commands ran, the only one always does.
    pub(crate) fn queue(&self, timed: bool) -> Result<Arc<Handle<cl::CommandQueue>>> {
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

    /// Returns the bytes of local memory; the least that OpenCL allows if the driver does not say.
    pub fn local_memory_bytes(&self) -> usize {
        match cl::get_device_info(self.id, cl::DeviceInfo::LocalMemSize) {
            Ok(cl::DeviceInfoResult::LocalMemSize(bytes)) => usize::try_from(bytes).unwrap_or(usize::MAX),
            _ => 32 << 10,
        }
    }

    /// Returns true if it computes in f64.
    pub fn has_doubles(&self) -> bool {
        let extensions = text(cl::get_device_info(self.id, cl::DeviceInfo::Extensions));
        extensions.split_whitespace().any(|extension| extension == "cl_khr_fp64")
    }

    /// Returns the same device with other settings. Both share one context.
    pub fn with_tuning(&self, tuning: Tuning) -> Self {
        Self { tuning, ..self.clone() }
    }

    /// Returns the same device, whose buffers are only counted.
    pub(crate) fn counting(&self, counted: Arc<Memory>) -> Self {
        Self { counted: Some(counted), ..self.clone() }
    }

    /// Returns true once [`Self::build`] has built this.
    pub fn is_built(&self, header: &Header, sources: &[&str]) -> bool {
        let key = key(header, sources);
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.programs.iter().any(|(of, _)| *of == key)
    }

    /// Returns the program of these texts, one after another behind `header`; built on first use.
    pub fn build(&self, header: &Header, sources: &[&str]) -> Result<Program> {
        let key = key(header, sources);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, program)) = opened.programs.iter().find(|(of, _)| *of == key) {
            return Ok(program.clone());
        }
        // Also the check behind it: some drivers compile there.
        let _watch = hang::watch(&self.info.name);
        let context = self.context_of(&mut opened)?;
        let text = |string: &str| {
            CString::new(string)
                .map_err(|error| DeviceError::Failed { call: "clBuildProgram", reason: error.to_string() })
        };
        let sources = std::iter::once(header.text()).chain(sources.iter().copied());
        let sources = sources.map(text).collect::<Result<Vec<_>, _>>()?;
        let program =
            cl::create_program_with_source(&**context, &sources).map_err(failed("clCreateProgramWithSource"))?;
        // Compilers count their warnings on stderr, where users would wonder at them.
        // Names of arguments are there to be compared with in builds for tests, whatever the driver keeps otherwise.
        let options = text(if cfg!(debug_assertions) { "-w -cl-kernel-arg-info" } else { "-w" })?;
        cl::build_program(&program, Some(&[self.id]), &options, None, None).map_err(failed("clBuildProgram"))?;
        let program = Arc::new(Handle::from(program));
        limits::check(self.id, &program)?;
        opened.programs.push((key, program.clone()));
        Ok(program)
    }
}

/// Returns the key that tells a program from others.
fn key(header: &Header, sources: &[&str]) -> String {
    [&[header.text()], sources].concat().join("\n")
}
