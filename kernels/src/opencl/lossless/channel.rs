//! Planes of integers on the device, exactly: what all lossless codes share. Every channel has its own queue.

use std::sync::Arc;

use device::kernel::Kernel;
use device::queue::Queue;
use device::{Device, Result};
use picture::frame::Channel;
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

use crate::opencl::transform::ChannelTransform;
use crate::opencl::transform::choice::Schemes;
use crate::{OpenError, TransformParams};

/// Work-items in a group.
pub(crate) const LSIZE: usize = 64;

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
            self.queue.launch(kernel, [columns.div_ceil(LSIZE), rows], [LSIZE, 1])?;
        }
        Ok(())
    }
}
