//! Planes of integers on the device, exactly: what all lossless codes share. Every channel has its own queue.

use std::sync::Arc;

use ocl::core::OclPrm;
use picture::frame::Channel;
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

use crate::opencl::device::kernel::Kernel;
use crate::opencl::device::queue::{Buffer, Event, Pinned, Queue};
use crate::opencl::device::{Device, Result};
use crate::opencl::transform::ChannelTransform;
use crate::opencl::transform::choice::Schemes;
use crate::{OpenError, TransformParams};

/// Work-items in a group.
pub(crate) const LSIZE: usize = 64;

/// Device memory, and pinned host memory of the same size from and to which it is copied.
pub(crate) struct Staged<T: OclPrm> {
    pub(crate) device: Buffer<T>,
    pub(crate) host: Pinned<T>,
}

impl<T: OclPrm> Staged<T> {
    pub(crate) fn new(queue: &Queue, len: usize) -> Result<Self> {
        Ok(Self { device: queue.buffer(len)?, host: queue.pinned(len)? })
    }

    /// Makes room for `len` values; whether that took other memory, in which nothing is yet.
    pub(crate) fn grow(&mut self, queue: &Queue, len: usize) -> Result<bool> {
        let is_short = len > self.device.len();
        if is_short {
            *self = Self::new(queue, len + len / 4)?;
        }
        Ok(is_short)
    }

    /// Starts copying `values`, at least one and no more than there is room for, to the device.
    pub(crate) fn upload(&mut self, queue: &Queue, values: &[T]) -> Result<Event> {
        self.host.values_mut()[..values.len()].copy_from_slice(values);
        queue.upload(&self.host, &self.device, values.len())
    }

    /// Starts copying the first `len` values to the host.
    pub(crate) fn download(&mut self, queue: &Queue, len: usize) -> Result<Event> {
        queue.download(&self.device, &mut self.host, len)
    }
}

/// Queue, plane and transform of one channel.
pub(crate) struct IntegerChannel {
    pub(crate) channel: Channel,
    pub(crate) queue: Queue,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Side of the square of coefficients.
    pub(crate) side: usize,
    pub(crate) transform: ChannelTransform<i32>,
}

impl IntegerChannel {
    /// Returns all channels of a stream whose planes are these `pyramids`.
    pub(crate) fn all(
        device: &Arc<Device>,
        params: &StreamParams,
        pyramids: &[Pyramid],
    ) -> Result<Vec<Self>, OpenError> {
        let transform = TransformParams::from(params);
        let channel = |(&channel, pyramid): (&Channel, &Pyramid)| {
            let queue = Queue::with(device, false)?;
            let schemes = Schemes::open(&queue, &transform, pyramid)?;
            let (width, height) = (pyramid.plane().width(), pyramid.plane().height());
            let transform = ChannelTransform::new(&queue, pyramid, &schemes)?;
            Ok(Self { channel, queue, width, height, side: pyramid.side(), transform })
        };
        params.chroma.channels().iter().zip(pyramids).map(channel).collect()
    }

    /// Runs a kernel with a work-item for every column and row of these.
    pub(crate) fn launch(&self, kernel: &Kernel, columns: usize, rows: usize) -> Result<()> {
        if columns > 0 && rows > 0 {
            self.queue.launch(kernel, [columns.div_ceil(LSIZE), rows], [LSIZE, 1], &[])?;
        }
        Ok(())
    }
}
