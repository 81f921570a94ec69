//! Planes of integers on the device, exactly: what all lossless codes share. Every channel has its own queue.

use std::sync::Arc;

use device::kernel::Kernel;
use device::queue::Queue;
use device::{Device, Result};
use picture::frame::Channel;
use picture::params::StreamParams;
use picture::pyramid::Pyramid;

use crate::lifting::CDF53;
use crate::opencl::transform::ChannelTransform;
use crate::opencl::transform::choice::Schemes;
use crate::{Element, OpenError};

/// Work-items in a group.
pub const LSIZE: usize = 64;

/// Queue, plane and transform of one channel.
pub struct IntegerChannel {
    /// The channel.
    pub channel: Channel,
    /// Its queue.
    pub queue: Queue,
    /// Columns of its plane.
    pub width: usize,
    /// Rows of its plane.
    pub height: usize,
    /// Side of the square of coefficients.
    pub side: usize,
    /// Its memory and launches.
    pub transform: ChannelTransform<i32>,
}

impl IntegerChannel {
    /// Returns all channels of a stream whose planes are these `pyramids`.
    pub fn all(device: &Arc<Device>, params: &StreamParams, pyramids: &[Pyramid]) -> Result<Vec<Self>, OpenError> {
        let channel = |(&channel, pyramid): (&Channel, &Pyramid)| {
            let queue = Queue::with(device, false)?;
            let schemes = Schemes::separable(device, &CDF53, Element::I32, params.codec.boundary, pyramid)?;
            let (width, height) = (pyramid.plane().width(), pyramid.plane().height());
            let transform = ChannelTransform::new(&queue, pyramid, &schemes)?;
            Ok(Self { channel, queue, width, height, side: pyramid.side(), transform })
        };
        params.chroma.channels().iter().zip(pyramids).map(channel).collect()
    }

    /// Runs a kernel with a work-item for every column and row of these.
    pub fn launch(&self, kernel: &Kernel, columns: usize, rows: usize) -> Result<()> {
        if columns > 0 && rows > 0 {
            self.queue.launch(kernel, [columns.div_ceil(LSIZE), rows], [LSIZE, 1])?;
        }
        Ok(())
    }
}
