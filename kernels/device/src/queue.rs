//! A command queue with its memory: thin, checked wrappers around the calls that move work and data.
//!
//! Everything here is asynchronous except [`Queue::finish`], [`wait`], [`Queue::upload_now`] and the one-time mapping
//! of pinned memory.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ocl::core::{self as cl, OclPrm};

use crate::answer::failed;
use crate::handle::Handle;
use crate::kernel::{Arg, Kernel};
use crate::memory::fits;
use crate::{Device, DeviceError, Result, fault};

/// Device memory, whatever it holds.
pub type Mem = Arc<Handle<cl::Mem>>;

/// Commands of which a queue notes the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Nothing.
    Off,
    /// Of transfers, [`Queue::marker`]s and [`Queue::launch_marked`], not of other kernels.
    Markers,
    /// Of every command.
    Commands,
}

/// An in-order queue of one device; all are the same one where [`Device::queues_overlap`] is false.
///
/// There is one queue that notes when commands ran and one that does not, of which one is in use: noting costs time,
/// and keeps commands of several queues from running closely side by side.
#[derive(Clone)]
pub struct Queue {
    noting: Arc<Handle<cl::CommandQueue>>,
    plain: Arc<Handle<cl::CommandQueue>>,
    timing: Arc<AtomicU8>,
    context: Arc<Handle<cl::Context>>,
    device: Arc<Device>,
}

impl Queue {
    /// Allocates device memory with these values.
    pub fn constant<T: OclPrm>(&self, values: &[T]) -> Result<Buffer<T>> {
        let buffer = self.buffer(values.len())?;
        self.upload_now(values, &buffer)?;
        Ok(buffer)
    }

    /// Creates a queue on `device` that notes when commands ran.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Self::with(device, true)
    }

    /// Creates a queue on `device`; one that is not `timed` makes no events for its kernels.
    pub fn with(device: &Arc<Device>, timed: bool) -> Result<Self> {
        let timing = if timed { Timing::Commands } else { Timing::Off };
        Self::switched_by(device, Arc::new(AtomicU8::new(timing as u8)))
    }

    fn switched_by(device: &Arc<Device>, timing: Arc<AtomicU8>) -> Result<Self> {
        let context = device.context()?;
        fault::check("clCreateCommandQueue")?;
        let (noting, plain) = (device.queue(true)?, device.queue(false)?);
        Ok(Self { noting, plain, timing, context, device: device.clone() })
    }

    /// Creates another queue on the same device, timed whenever this one is.
    pub fn beside(&self) -> Result<Self> {
        Self::switched_by(&self.device, self.timing.clone())
    }

    /// Sets the commands noted from here on, of this queue, its clones and those beside it. All queued commands must
    /// have ended, and nobody else may use any of them meanwhile.
    pub fn set_timing(&self, timing: Timing) {
        self.timing.store(timing as u8, Ordering::Relaxed);
    }

    /// Sets the timing for a frame that is `measured` or not: by stages where noting every kernel would keep queues
    /// from working closely side by side.
    pub fn set_measured(&self, measured: bool) {
        self.set_timing(match measured {
            false => Timing::Off,
            true if self.device.queues_overlap => Timing::Markers,
            true => Timing::Commands,
        });
    }

    /// Returns true if few kernels are noted, and stages are known by the commands before and after them.
    pub fn is_marked(&self) -> bool {
        self.timing.load(Ordering::Relaxed) == Timing::Markers as u8
    }

    fn notes(&self, timing: Timing) -> bool {
        self.timing.load(Ordering::Relaxed) >= timing as u8
    }

    fn in_use(&self) -> &Handle<cl::CommandQueue> {
        if self.notes(Timing::Markers) { &self.noting } else { &self.plain }
    }

    /// Returns the moment at which everything queued before has ended.
    pub fn marker(&self) -> Result<Event> {
        let mut event = cl::Event::null();
        fault::check("clEnqueueMarkerWithWaitList")?;
        cl::enqueue_marker_with_wait_list(self.in_use(), NO_WAIT, Some(&mut event), None)
            .map_err(failed("clEnqueueMarkerWithWaitList"))?;
        Ok(event.into())
    }

    /// Returns the device it belongs to.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Allocates device memory for `len` values.
    pub fn buffer<T: OclPrm>(&self, len: usize) -> Result<Buffer<T>> {
        self.allocate(len, cl::MemFlags::READ_WRITE)
    }

    fn allocate<T: OclPrm>(&self, len: usize, flags: cl::MemFlags) -> Result<Buffer<T>> {
        let len = len.max(1);
        let needed_bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        fits("in one piece", needed_bytes, self.device.largest_buffer_bytes())?;
        let len_there = match &self.device.counted {
            None => len,
            Some(counted) => {
                counted.add(needed_bytes, flags, (self.device.info.memory_bytes, self.device.shares_host_memory))?;
                1
            }
        };
        fault::check("clCreateBuffer")?;
        // SAFETY: no host pointer is passed.
        let mem = unsafe { cl::create_buffer::<_, T>(&**self.context, flags, len_there, None) };
        let mem = mem.map_err(|error| match error.api_status() {
            // Others have what it could give otherwise.
            Some(cl::Status::CL_MEM_OBJECT_ALLOCATION_FAILURE | cl::Status::CL_OUT_OF_RESOURCES) => {
                let reason = format!("it has no room left for {needed_bytes} bytes");
                DeviceError::Failed { call: "clCreateBuffer", reason }
            }
            _ => failed("clCreateBuffer")(error),
        })?;
        #[cfg(debug_assertions)]
        if self.device.counted.is_none() {
            crate::memory::noted::allocation(needed_bytes);
        }
        Ok(Buffer { mem: Arc::new(mem.into()), len, values: PhantomData })
    }

    /// Allocates host memory for `len` values that the device reads and writes without another copy, mapped for life
    /// and zero at first.
    pub fn pinned<T: OclPrm>(&self, len: usize) -> Result<Pinned<T>> {
        let flags = cl::MemFlags::READ_WRITE | cl::MemFlags::ALLOC_HOST_PTR;
        let mut buffer = self.allocate::<T>(len, flags)?;
        if self.device.counted.is_some() {
            buffer.len = 1;
        }
        let access = cl::MapFlags::READ | cl::MapFlags::WRITE;
        fault::check("clEnqueueMapBuffer")?;
        // SAFETY: the range is the whole buffer, and nothing else maps it.
        let mut map = unsafe {
            cl::enqueue_map_buffer::<T, _, _, _>(
                self.in_use(),
                &**buffer.mem,
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
        Ok(Pinned { start, map, buffer, queue: self.clone() })
    }

    /// Runs `kernel` in `groups` groups of `group_size` work-items, both (columns, rows). There is an event if the queue
    /// is timed.
    pub fn launch(&self, kernel: &Kernel, groups: [usize; 2], group_size: [usize; 2]) -> Result<Option<Event>> {
        self.launch_from(kernel, [0, 0], groups, group_size, &[])
    }

    /// Launches as [`Self::launch`] does, a kernel that is noted where few are.
    pub fn launch_marked(&self, kernel: &Kernel, groups: [usize; 2], group_size: [usize; 2]) -> Result<Option<Event>> {
        self.launch_noted(kernel, [0, 0], groups, group_size, &[], Timing::Markers)
    }

    /// Launches as [`Self::launch`] does, from work-item `first` on, the global offset, after the events in `after`.
    pub fn launch_from(
        &self,
        kernel: &Kernel,
        first: [usize; 2],
        groups: [usize; 2],
        group_size: [usize; 2],
        after: &[Event],
    ) -> Result<Option<Event>> {
        self.launch_noted(kernel, first, groups, group_size, after, Timing::Commands)
    }

    /// Launches; returns an event if the queue notes as much as `timing`.
    fn launch_noted(
        &self,
        kernel: &Kernel,
        first: [usize; 2],
        groups: [usize; 2],
        group_size: [usize; 2],
        after: &[Event],
        timing: Timing,
    ) -> Result<Option<Event>> {
        let offset = Some([first[0], first[1], 0]).filter(|_| first != [0, 0]);
        let global = [groups[0] * group_size[0], groups[1] * group_size[1], 1];
        let local = Some([group_size[0], group_size[1], 1]);
        let mut event = cl::Event::null();
        if self.device.counted.is_some() {
            return Ok(None);
        }
        let timed = self.notes(timing);
        let noted = timed.then_some(&mut event);
        let list = wait_list(after);
        fault::check("clEnqueueNDRangeKernel")?;
        // SAFETY: the arguments were set from buffers that live as long as the kernel; kernels stay inside the
        // shapes that they are given.
        unsafe { cl::enqueue_kernel(self.in_use(), &kernel.handle, 2, offset, &global, local, list.as_ref(), noted) }
            .map_err(failed("clEnqueueNDRangeKernel"))?;
        Ok(timed.then(|| event.into()))
    }

    /// Copies the first `len` values of `from` to the front of `to`.
    pub fn upload<T: OclPrm>(&self, from: &Pinned<T>, to: &Buffer<T>, len: usize) -> Result<Event> {
        self.upload_range(from, 0, to, 0, len)
    }

    /// Copies `len` values of `from`, starting at `at`, to `to`, starting at `to_at`.
    pub fn upload_range<T: OclPrm>(
        &self,
        from: &Pinned<T>,
        at: usize,
        to: &Buffer<T>,
        to_at: usize,
        len: usize,
    ) -> Result<Event> {
        check_range("clEnqueueWriteBuffer", at.saturating_add(len), from.buffer.len)?;
        check_range("clEnqueueWriteBuffer", to_at.saturating_add(len), to.len)?;
        let mut event = cl::Event::null();
        fault::check("clEnqueueWriteBuffer")?;
        // SAFETY: the range lies in the pinned memory, which outlives the command (its owner finishes the queue before
        // reuse and drop).
        unsafe {
            let data = std::slice::from_raw_parts(from.start.add(at), len);
            cl::enqueue_write_buffer(self.in_use(), &**to.mem, false, to_at, data, NO_WAIT, Some(&mut event))
        }
        .map_err(failed("clEnqueueWriteBuffer"))?;
        Ok(event.into())
    }

    /// Copies `from` to the front of `to`, both in device memory.
    pub fn copy<T: OclPrm>(&self, from: &Buffer<T>, to: &Buffer<T>) -> Result<Event> {
        check_range("clEnqueueCopyBuffer", from.len, to.len)?;
        let (mut event, len) = (cl::Event::null(), from.len);
        fault::check("clEnqueueCopyBuffer")?;
        cl::enqueue_copy_buffer::<T, _, _, _>(
            self.in_use(),
            &**from.mem,
            &**to.mem,
            0,
            0,
            len,
            NO_WAIT,
            Some(&mut event),
        )
        .map_err(failed("clEnqueueCopyBuffer"))?;
        Ok(event.into())
    }

    /// Makes later commands of the queue run after `events` of any queue of the device.
    pub fn wait_for(&self, events: &[Event]) -> Result<()> {
        let list = wait_list(events);
        fault::check("clEnqueueBarrierWithWaitList")?;
        cl::enqueue_barrier_with_wait_list(self.in_use(), list.as_ref(), NO_EVENT, None)
            .map_err(failed("clEnqueueBarrierWithWaitList"))
    }

    /// Copies `values` from any host memory to the front of `to` and waits until they have been read.
    pub fn upload_now<T: OclPrm>(&self, values: &[T], to: &Buffer<T>) -> Result<()> {
        check_range("clEnqueueWriteBuffer", values.len(), to.len)?;
        if self.device.counted.is_some() {
            return Ok(());
        }
        fault::check("clEnqueueWriteBuffer")?;
        // SAFETY: the call blocks until `values` has been read.
        unsafe { cl::enqueue_write_buffer(self.in_use(), &**to.mem, true, 0, values, NO_WAIT, NO_EVENT) }
            .map_err(failed("clEnqueueWriteBuffer"))
    }

    /// Copies the first `len` values of `from` to the front of `to`.
    pub fn download<T: OclPrm>(&self, from: &Buffer<T>, to: &mut Pinned<T>, len: usize) -> Result<Event> {
        self.download_range(from, 0, to, 0, len)
    }

    /// Copies `len` values of `from`, starting at `at`, to `to`, starting at `to_at`.
    pub fn download_range<T: OclPrm>(
        &self,
        from: &Buffer<T>,
        at: usize,
        to: &mut Pinned<T>,
        to_at: usize,
        len: usize,
    ) -> Result<Event> {
        check_range("clEnqueueReadBuffer", at.saturating_add(len), from.len)?;
        check_range("clEnqueueReadBuffer", to_at.saturating_add(len), to.buffer.len)?;
        let mut event = cl::Event::null();
        fault::check("clEnqueueReadBuffer")?;
        // SAFETY: as in `upload_range`.
        unsafe {
            let data = std::slice::from_raw_parts_mut(to.start.add(to_at), len);
            cl::enqueue_read_buffer(self.in_use(), &**from.mem, false, at, data, NO_WAIT, Some(&mut event))
        }
        .map_err(failed("clEnqueueReadBuffer"))?;
        Ok(event.into())
    }

    /// Sets all values of `buffer` to zero.
    pub fn clear<T: OclPrm>(&self, buffer: &Buffer<T>) -> Result<()> {
        if self.device.counted.is_some() {
            return Ok(());
        }
        fault::check("clEnqueueFillBuffer")?;
        cl::enqueue_fill_buffer(self.in_use(), &**buffer.mem, T::default(), 0, buffer.len, NO_WAIT, NO_EVENT, None)
            .map_err(failed("clEnqueueFillBuffer"))
    }

    /// Starts what was queued.
    pub fn flush(&self) -> Result<()> {
        fault::check("clFlush")?;
        cl::flush(self.in_use()).map_err(failed("clFlush"))
    }

    /// Waits until everything queued has run.
    pub fn finish(&self) -> Result<()> {
        fault::check("clFinish")?;
        cl::finish(self.in_use()).map_err(failed("clFinish"))
    }

    /// Finishes as [`Self::finish`] does, after a failure, of which another one would say nothing new: host memory may
    /// be used again, since a device that cannot even finish runs nothing.
    pub fn settle(&self) {
        let _ = cl::finish(&self.noting);
        let _ = cl::finish(&self.plain);
    }
}

/// Passes on the result of a frame. After a failure, waits until no command of these queues uses staging memory, which
/// the next frame fills.
pub fn settled<'a, T, E>(result: Result<T, E>, queues: impl IntoIterator<Item = &'a Queue>) -> Result<T, E> {
    if result.is_err() {
        queues.into_iter().for_each(Queue::settle);
    }
    result
}

const NO_WAIT: Option<()> = None;
const NO_EVENT: Option<()> = None;

fn check_range(call: &'static str, needed: usize, there: usize) -> Result<()> {
    if needed <= there {
        return Ok(());
    }
    Err(DeviceError::Failed { call, reason: format!("{needed} values do not fit a buffer of {there}") })
}

/// The end of a command.
#[derive(Clone, Debug)]
pub struct Event(Arc<Handle<cl::Event>>);

impl From<cl::Event> for Event {
    fn from(event: cl::Event) -> Self {
        Self(Arc::new(event.into()))
    }
}

impl Event {
    /// Returns the start and end of the command, nanoseconds of the device's clock; `None` if nobody noted them. Waits
    /// for its end, because with some drivers a finished queue does not mean a finished event.
    pub fn ran(&self) -> Result<Option<(u64, u64)>> {
        wait(std::slice::from_ref(self))?;
        fault::check("clGetEventProfilingInfo")?;
        let time = |which| match cl::get_event_profiling_info(&**self.0, which) {
            Err(error) if error.api_status() == Some(cl::Status::CL_PROFILING_INFO_NOT_AVAILABLE) => Ok(None),
            info => info.and_then(cl::ProfilingInfoResult::time).map(Some).map_err(failed("clGetEventProfilingInfo")),
        };
        Ok(time(cl::ProfilingInfo::Start)?.zip(time(cl::ProfilingInfo::End)?))
    }
}

/// Events side by side, as OpenCL takes them.
#[derive(Debug)]
struct WaitList(Vec<ocl::ffi::cl_event>);

// SAFETY: pointer and length are those of the list, which outlives the reference; the events live as long as those it
// was made of, which the callers hold during the call.
unsafe impl cl::ClWaitListPtr for &WaitList {
    unsafe fn as_ptr_ptr(&self) -> *const ocl::ffi::cl_event {
        self.0.as_ptr()
    }

    fn count(&self) -> u32 {
        self.0.len() as u32
    }
}

fn wait_list(after: &[Event]) -> Option<WaitList> {
    // SAFETY: the pointers are used only while `after` is borrowed by the caller.
    let raw = |event: &Event| unsafe { *event.0.as_ptr_ref() };
    (!after.is_empty()).then(|| WaitList(after.iter().map(raw).collect()))
}

/// Waits for all `events`.
pub fn wait(events: &[Event]) -> Result<()> {
    fault::check("clWaitForEvents")?;
    match wait_list(events) {
        Some(list) => cl::wait_for_events(events.len() as u32, &&list).map_err(failed("clWaitForEvents")),
        None => Ok(()),
    }
}

/// Returns the time from the first start to the last end of these events' commands, by the device's clock.
pub fn span(events: &[Event]) -> Result<Duration> {
    let times = events.iter().map(Event::ran).collect::<Result<Vec<_>, _>>()?;
    let times = times.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| DeviceError::Failed {
        call: "clGetEventProfilingInfo",
        reason: "CL_PROFILING_INFO_NOT_AVAILABLE".to_owned(),
    })?;
    let start = times.iter().map(|(start, _)| *start).min().unwrap_or(0);
    let end = times.iter().map(|(_, end)| *end).max().unwrap_or(0);
    Ok(Duration::from_nanos(end.saturating_sub(start)))
}

/// Device memory.
pub struct Buffer<T> {
    mem: Mem,
    len: usize,
    values: PhantomData<T>,
}

#[allow(clippy::len_without_is_empty, reason = "there is always room for a value")]
impl<T> Buffer<T> {
    /// Returns the number of values it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the memory itself, which lives as long as any handle.
    pub fn handle(&self) -> Mem {
        self.mem.clone()
    }

    /// Returns it as a kernel's argument.
    pub fn arg(&self) -> Arg<'_> {
        Arg::Memory(&self.mem)
    }
}

/// Host memory that the device can reach.
pub struct Pinned<T: OclPrm> {
    start: *mut T,
    map: cl::MemMap<T>,
    buffer: Buffer<T>,
    queue: Queue,
}

// SAFETY: `start` points into the mapping, which belongs to this value alone.
unsafe impl<T: OclPrm> Send for Pinned<T> {}

impl<T: OclPrm> Pinned<T> {
    /// Returns the values. The caller has waited for transfers into them.
    pub fn values(&self) -> &[T] {
        // SAFETY: mapped for life, `len` values, initialised when mapped.
        unsafe { std::slice::from_raw_parts(self.start, self.buffer.len) }
    }

    /// Returns the values, to be written. The caller has waited for transfers out of them.
    pub fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.buffer.len) }
    }
}

impl<T: OclPrm> Drop for Pinned<T> {
    fn drop(&mut self) {
        // A lost device must not turn a clean end into a panic: failures here have no consequence.
        self.queue.settle();
        let _ = cl::enqueue_unmap_mem_object(&self.queue.plain, &**self.buffer.mem, &self.map, NO_WAIT, NO_EVENT);
        self.queue.settle();
    }
}
