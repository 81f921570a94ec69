//! One colour channel on the device: its own queue, pinned staging memory and device memory, from bytes of a picture
//! to coefficients and back. Channels share nothing but what they upload for one another, so that the transfers of
//! one overlap the kernels of another.

use std::ops::Range;
use std::sync::Arc;

use device::kernel::{Kernel, Program};
use device::queue::{Event, Queue};
use device::timeline::{DeviceStage, Recorder};
use device::{Device, Result};
use picture::frame::Channel;
use picture::params::{Boundary, StreamParams};
use picture::pyramid::{BlockLayout, Pyramid};

use super::ChannelTransform;
use super::choice::Schemes;
use crate::OpenError;
use crate::opencl::transform::programs::codec_program;

/// Queue, planes and transform of one channel.
pub struct ChannelPipeline {
    /// The channel.
    pub channel: Channel,
    /// Its queue.
    pub queue: Queue,
    /// Kernels for its blocks.
    pub program: Program,
    /// Memory and launches of its transform.
    pub transform: ChannelTransform<f32>,
    /// Schemes that the transform was made with.
    pub schemes: Schemes<f32>,
    /// Extension at the ends of rows and columns.
    pub boundary: Boundary,
    /// Columns of its plane.
    pub width: usize,
    /// Rows of its plane.
    pub height: usize,
    /// Side of the square of coefficients.
    pub side: usize,
}

impl ChannelPipeline {
    /// Returns the pipelines of all channels of a stream, and its layout.
    pub fn all(device: &Arc<Device>, params: &StreamParams) -> Result<(Vec<Self>, BlockLayout), OpenError> {
        Self::all_with(device, params, true)
    }

    /// Opens the same; only if they are `timed` there is an event of every kernel.
    pub fn all_with(
        device: &Arc<Device>,
        params: &StreamParams,
        timed: bool,
    ) -> Result<(Vec<Self>, BlockLayout), OpenError> {
        let layout = BlockLayout::new(params);
        Ok((Self::of_layout(device, params, &layout, timed)?, layout))
    }

    /// Returns the pipelines of all channels of `layout`, the stream's or what is left of it without the finest levels.
    pub(crate) fn of_layout(
        device: &Arc<Device>,
        params: &StreamParams,
        layout: &BlockLayout,
        timed: bool,
    ) -> Result<Vec<Self>, OpenError> {
        let channels = params.chroma.channels().iter().zip(layout.pyramids());
        let pipelines =
            channels.map(|(&channel, pyramid)| Self::new(Queue::with(device, timed)?, params, channel, pyramid));
        pipelines.collect()
    }

    fn new(queue: Queue, params: &StreamParams, channel: Channel, pyramid: &Pyramid) -> Result<Self, OpenError> {
        let (device, boundary) = (queue.device(), params.codec.boundary);
        let program = codec_program(device, false)?;
        let schemes = Schemes::stream(device, boundary, pyramid)?;
        let transform = ChannelTransform::new(&queue, pyramid, &schemes)?;
        let (width, height) = (pyramid.plane().width(), pyramid.plane().height());
        Ok(Self { channel, queue, program, transform, schemes, boundary, width, height, side: pyramid.side() })
    }

    /// Runs one group per row of the plane in `rows`.
    pub(crate) fn launch_rows(&self, kernel: &Kernel, rows: Range<usize>, after: &[Event]) -> Result<Option<Event>> {
        let group_size = [self.queue.device().tuning.group_size, 1];
        if rows.is_empty() {
            return Ok(None);
        }
        self.queue.launch_from(kernel, [0, rows.start], [1, rows.len()], group_size, after)
    }

    /// Notes that the kernels of a stage begin behind this command, if kernels are not noted one by one.
    pub fn begin(&self, after: &Event, recorder: &mut Recorder) {
        if self.queue.is_marked() {
            recorder.begin(self.channel, after);
        }
    }

    /// Notes that the kernels of `stage`, if it has begun, end before this command.
    pub fn end(&self, stage: DeviceStage, before: &Event, recorder: &mut Recorder) {
        if self.queue.is_marked() {
            recorder.end(self.channel, stage, before);
        }
    }

    /// Transforms a plane to bands; notes the commands.
    pub fn split(&self, recorder: &mut Recorder) -> Result<()> {
        let mut events = Vec::new();
        self.transform.run_forward(&self.queue, &mut events)?;
        events.into_iter().for_each(|event| recorder.note(self.channel, DeviceStage::Transform, event));
        Ok(())
    }

    /// Bands to plane; notes the commands.
    pub fn invert(&self, recorder: &mut Recorder) -> Result<()> {
        let mut events = Vec::new();
        self.transform.run_inverse(&self.queue, &mut events)?;
        events.into_iter().for_each(|event| recorder.note(self.channel, DeviceStage::Transform, event));
        Ok(())
    }
}
