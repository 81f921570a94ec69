//! A command queue with its kernels and memory: thin, checked wrappers around the calls that move work and data.
//!
//! Everything here is asynchronous except [`Queue::finish`], [`wait`] and the one-time mapping of pinned memory.

use std::marker::PhantomData;
use std::sync::Arc;

use ocl::core::{self as cl, ArgVal, OclPrm};

use super::device::{Device, failed};
use crate::Error;

/// An in-order queue of one device that notes when commands ran.
#[derive(Clone)]
pub(super) struct Queue {
    queue: cl::CommandQueue,
    context: cl::Context,
    device: Arc<Device>,
}

impl Queue {
    /// A new queue on `device`.
    pub(super) fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let context = device.context()?;
        let queue = cl::create_command_queue(&context, device.id, Some(cl::CommandQueueProperties::PROFILING_ENABLE))
            .map_err(failed("clCreateCommandQueue"))?;
        Ok(Self { queue, context, device: device.clone() })
    }

    /// The device it belongs to.
    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Device memory for `len` values.
    pub(super) fn buffer<T: OclPrm>(&self, len: usize) -> Result<Buffer<T>, Error> {
        self.allocate(len, cl::MemFlags::READ_WRITE)
    }

    fn allocate<T: OclPrm>(&self, len: usize, flags: cl::MemFlags) -> Result<Buffer<T>, Error> {
        let len = len.max(1);
        let needed_bytes = (len * size_of::<T>()) as u64;
        let there_bytes = self.device.largest_buffer_bytes();
        let too_large = || Error::OutOfDeviceMemory { extent: "in one piece", needed_bytes, there_bytes };
        if needed_bytes > there_bytes {
            return Err(too_large());
        }
        // SAFETY: no host pointer is passed.
        let mem = unsafe { cl::create_buffer::<_, T>(&self.context, flags, len, None) };
        let mem = mem.map_err(|error| match error.api_status() {
            Some(cl::Status::CL_MEM_OBJECT_ALLOCATION_FAILURE | cl::Status::CL_OUT_OF_RESOURCES) => too_large(),
            _ => failed("clCreateBuffer")(error),
        })?;
        #[cfg(test)]
        super::memory::tests::note_allocation(needed_bytes);
        Ok(Buffer { mem, len, values: PhantomData })
    }

    /// Host memory for `len` values that the device reads and writes without another copy, mapped for life and
    /// zero at first.
    pub(super) fn pinned<T: OclPrm>(&self, len: usize) -> Result<Pinned<T>, Error> {
        let flags = cl::MemFlags::READ_WRITE | cl::MemFlags::ALLOC_HOST_PTR;
        let buffer = self.allocate::<T>(len, flags)?;
        let access = cl::MapFlags::READ | cl::MapFlags::WRITE;
        // SAFETY: the range is the whole buffer, and nothing else maps it.
        let mut map = unsafe {
            cl::enqueue_map_buffer::<T, _, _, _>(
                &self.queue,
                &buffer.mem,
                true,
                access,
                0,
                buffer.len,
                NO_WAIT,
                NO_EVENT,
            )
        }
        .map_err(failed("clEnqueueMapBuffer"))?;
        let start = map.as_mut_ptr();
        // SAFETY: the mapping is `len` values long; all-zero bytes are a value of every OpenCL number.
        unsafe { start.write_bytes(0, buffer.len) };
        Ok(Pinned { start, map, buffer, queue: self.queue.clone() })
    }

    /// Runs `kernel` in `groups` groups of `group_size` work-items, both (columns, rows), after the events in `after`.
    pub(super) fn launch(
        &self,
        kernel: &cl::Kernel,
        groups: [usize; 2],
        group_size: [usize; 2],
        after: &[cl::Event],
    ) -> Result<cl::Event, Error> {
        let mut event = cl::Event::null();
        let global = [groups[0] * group_size[0], groups[1] * group_size[1], 1];
        let local = Some([group_size[0], group_size[1], 1]);
        // SAFETY: the arguments were set from buffers that live as long as the kernel; kernels stay inside the
        // shapes that they are given.
        unsafe { cl::enqueue_kernel(&self.queue, kernel, 2, None, &global, local, wait_list(after), Some(&mut event)) }
            .map_err(failed("clEnqueueNDRangeKernel"))?;
        Ok(event)
    }

    /// Copies the first `len` values of `from` to the front of `to`.
    pub(super) fn upload<T: OclPrm>(&self, from: &Pinned<T>, to: &Buffer<T>, len: usize) -> Result<cl::Event, Error> {
        self.upload_from(from, 0, to, len)
    }

    /// Copies `len` values of `from`, starting at `at`, to the front of `to`.
    pub(super) fn upload_from<T: OclPrm>(
        &self,
        from: &Pinned<T>,
        at: usize,
        to: &Buffer<T>,
        len: usize,
    ) -> Result<cl::Event, Error> {
        check_range("clEnqueueWriteBuffer", at + len, from.buffer.len)?;
        check_range("clEnqueueWriteBuffer", len, to.len)?;
        let mut event = cl::Event::null();
        // SAFETY: the pinned memory outlives the command (its owner finishes the queue before reuse and drop).
        unsafe {
            let data = std::slice::from_raw_parts(from.start.add(at), len);
            cl::enqueue_write_buffer(&self.queue, &to.mem, false, 0, data, NO_WAIT, Some(&mut event))
        }
        .map_err(failed("clEnqueueWriteBuffer"))?;
        Ok(event)
    }

    /// Copies `from` to the front of `to`, both in device memory.
    pub(super) fn copy<T: OclPrm>(&self, from: &Buffer<T>, to: &Buffer<T>) -> Result<cl::Event, Error> {
        check_range("clEnqueueCopyBuffer", from.len, to.len)?;
        let mut event = cl::Event::null();
        cl::enqueue_copy_buffer::<T, _, _, _>(
            &self.queue,
            &from.mem,
            &to.mem,
            0,
            0,
            from.len,
            NO_WAIT,
            Some(&mut event),
        )
        .map_err(failed("clEnqueueCopyBuffer"))?;
        Ok(event)
    }

    /// What is queued from here on runs after `events` of any queue of the device.
    pub(super) fn wait_for(&self, events: &[cl::Event]) -> Result<(), Error> {
        cl::enqueue_barrier_with_wait_list(&self.queue, wait_list(events), NO_EVENT, None)
            .map_err(failed("clEnqueueBarrierWithWaitList"))
    }

    /// Copies `values` from any host memory to `to`, starting at `at`, and waits until they have been read.
    pub(super) fn upload_now<T: OclPrm>(&self, values: &[T], to: &Buffer<T>, at: usize) -> Result<cl::Event, Error> {
        check_range("clEnqueueWriteBuffer", at + values.len(), to.len)?;
        let mut event = cl::Event::null();
        // SAFETY: the call blocks until `values` has been read.
        unsafe { cl::enqueue_write_buffer(&self.queue, &to.mem, true, at, values, NO_WAIT, Some(&mut event)) }
            .map_err(failed("clEnqueueWriteBuffer"))?;
        Ok(event)
    }

    /// Copies `len` values of `from`, starting at `at`, to the front of `to`.
    pub(super) fn download<T: OclPrm>(
        &self,
        from: &Buffer<T>,
        at: usize,
        to: &mut Pinned<T>,
        len: usize,
    ) -> Result<cl::Event, Error> {
        check_range("clEnqueueReadBuffer", at + len, from.len)?;
        check_range("clEnqueueReadBuffer", len, to.buffer.len)?;
        let mut event = cl::Event::null();
        // SAFETY: as in `upload`.
        unsafe {
            let data = std::slice::from_raw_parts_mut(to.start, len);
            cl::enqueue_read_buffer(&self.queue, &from.mem, false, at, data, NO_WAIT, Some(&mut event))
        }
        .map_err(failed("clEnqueueReadBuffer"))?;
        Ok(event)
    }

    /// Sets all values of `buffer` to zero.
    pub(super) fn clear<T: OclPrm>(&self, buffer: &Buffer<T>) -> Result<(), Error> {
        cl::enqueue_fill_buffer(&self.queue, &buffer.mem, T::default(), 0, buffer.len, NO_WAIT, NO_EVENT, None)
            .map_err(failed("clEnqueueFillBuffer"))
    }

    /// Starts what was queued.
    pub(super) fn flush(&self) -> Result<(), Error> {
        cl::flush(&self.queue).map_err(failed("clFlush"))
    }

    /// Waits until everything queued has run.
    pub(super) fn finish(&self) -> Result<(), Error> {
        cl::finish(&self.queue).map_err(failed("clFinish"))
    }
}

const NO_WAIT: Option<()> = None;
const NO_EVENT: Option<()> = None;

fn wait_list(after: &[cl::Event]) -> Option<&[cl::Event]> {
    if after.is_empty() { None } else { Some(after) }
}

fn check_range(call: &'static str, needed: usize, there: usize) -> Result<(), Error> {
    if needed <= there {
        return Ok(());
    }
    Err(Error::Device { call, reason: format!("{needed} values do not fit a buffer of {there}") })
}

/// Waits for all `events`.
pub(super) fn wait(events: &[cl::Event]) -> Result<(), Error> {
    if events.is_empty() {
        return Ok(());
    }
    cl::wait_for_events(events.len() as u32, &events).map_err(failed("clWaitForEvents"))
}

/// When the command of `event` ran: start and end in nanoseconds of the device's clock.
pub(super) fn ran(event: &cl::Event) -> Result<(u64, u64), Error> {
    let time = |which| {
        cl::get_event_profiling_info(event, which)
            .and_then(cl::ProfilingInfoResult::time)
            .map_err(failed("clGetEventProfilingInfo"))
    };
    Ok((time(cl::ProfilingInfo::Start)?, time(cl::ProfilingInfo::End)?))
}

/// Device memory.
pub(super) struct Buffer<T> {
    mem: cl::Mem,
    len: usize,
    values: PhantomData<T>,
}

impl<T> Buffer<T> {
    /// How many values it holds.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The memory itself, which lives as long as any handle.
    pub(super) fn handle(&self) -> cl::Mem {
        self.mem.clone()
    }

    /// As a kernel's argument.
    pub(super) fn arg(&self) -> Arg<'_> {
        Arg::Memory(&self.mem)
    }
}

/// Host memory that the device can reach.
pub(super) struct Pinned<T: OclPrm> {
    start: *mut T,
    map: cl::MemMap<T>,
    buffer: Buffer<T>,
    queue: cl::CommandQueue,
}

// SAFETY: `start` points into the mapping, which belongs to this value alone.
unsafe impl<T: OclPrm> Send for Pinned<T> {}

impl<T: OclPrm> Pinned<T> {
    /// The values. The caller has waited for transfers into them.
    pub(super) fn values(&self) -> &[T] {
        // SAFETY: mapped for life, `len` values, initialised when mapped.
        unsafe { std::slice::from_raw_parts(self.start, self.buffer.len) }
    }

    /// The values, to be written. The caller has waited for transfers out of them.
    pub(super) fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.buffer.len) }
    }
}

impl<T: OclPrm> Drop for Pinned<T> {
    fn drop(&mut self) {
        // A lost device must not turn a clean end into a panic: failures here have no consequence.
        let _ = cl::finish(&self.queue);
        let _ = cl::enqueue_unmap_mem_object(&self.queue, &self.buffer.mem, &self.map, NO_WAIT, NO_EVENT);
        let _ = cl::finish(&self.queue);
    }
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a> {
    Memory(&'a cl::Mem),
    Int(i32),
    Float(f32),
}

impl From<usize> for Arg<'_> {
    /// For sizes; they are bounded by the largest picture and fit.
    fn from(value: usize) -> Self {
        Arg::Int(i32::try_from(value).unwrap_or(i32::MAX))
    }
}

/// The kernel `name` of `program` with its arguments.
pub(super) fn kernel(program: &cl::Program, name: &str, args: &[Arg<'_>]) -> Result<cl::Kernel, Error> {
    let kernel = cl::create_kernel(program, name).map_err(failed("clCreateKernel"))?;
    for (index, arg) in args.iter().enumerate() {
        set(&kernel, index as u32, *arg)?;
    }
    Ok(kernel)
}

/// Sets argument `index`.
pub(super) fn set(kernel: &cl::Kernel, index: u32, arg: Arg<'_>) -> Result<(), Error> {
    let value = match &arg {
        Arg::Memory(mem) => ArgVal::mem(mem),
        Arg::Int(value) => ArgVal::scalar(value),
        Arg::Float(value) => ArgVal::scalar(value),
    };
    cl::set_kernel_arg(kernel, index, value).map_err(failed("clSetKernelArg"))
}
