//! One colour channel on the device: its own queue, pinned staging memory and device memory, from bytes of a picture
//! to coefficients and back. Channels share nothing but what they upload for one another, so that the transfers of
//! one overlap the kernels of another.

use std::ops::Range;
use std::sync::Arc;

use common::frame::Channel;
use common::params::{Boundary, StreamParams};
use common::pyramid::{Block, BlockLayout, Orientation, Pyramid};

use super::choice::Schemes;
use super::ends::Last;
use super::{ChannelTransform, source};
use crate::Error;
use crate::opencl::device::Device;
use crate::opencl::device::kernel::{Arg, Kernel, Program};
use crate::opencl::device::memory::Memory;
use crate::opencl::device::queue::{Buffer, Event, Pinned, Queue};
use crate::opencl::device::timeline::{Recorder, Stage};
use crate::reference::quad::Shape;

/// Queue, planes and transform of one channel.
pub(crate) struct ChannelPipeline {
    pub(crate) channel: Channel,
    pub(crate) queue: Queue,
    pub(crate) program: Program,
    pub(crate) transform: ChannelTransform<f32>,
    /// What the transform was made with.
    pub(crate) schemes: Schemes<f32>,
    pub(crate) boundary: Boundary,
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Side of the square of coefficients.
    pub(crate) side: usize,
}

impl ChannelPipeline {
    /// The pipelines of all channels of a stream, and its layout.
    pub(crate) fn all(device: &Arc<Device>, params: &StreamParams) -> Result<(Vec<Self>, BlockLayout), Error> {
        Self::all_with(device, params, true)
    }

    /// The same; only if they are `timed` there is an event of every kernel.
    pub(crate) fn all_with(
        device: &Arc<Device>,
        params: &StreamParams,
        timed: bool,
    ) -> Result<(Vec<Self>, BlockLayout), Error> {
        let layout = BlockLayout::new(params);
        Ok((Self::of_layout(device, params, &layout, timed)?, layout))
    }

    /// The pipelines of all channels of `layout`, the stream's or what is left of it without the finest levels.
    pub(crate) fn of_layout(
        device: &Arc<Device>,
        params: &StreamParams,
        layout: &BlockLayout,
        timed: bool,
    ) -> Result<Vec<Self>, Error> {
        let channels = params.chroma.channels().iter().zip(layout.pyramids());
        let pipelines =
            channels.map(|(&channel, pyramid)| Self::new(Queue::with(device, timed)?, params, channel, pyramid));
        pipelines.collect()
    }

    /// Adds what [`Self::all`] allocates.
    pub(crate) fn memory(
        device: &Device,
        params: &StreamParams,
        layout: &BlockLayout,
        memory: &mut Memory,
    ) -> Result<(), Error> {
        let boundary = params.codec.boundary;
        layout.pyramids().iter().try_for_each(|pyramid| {
            ChannelTransform::memory(pyramid, &Schemes::stream(device, boundary, pyramid)?, memory);
            Ok(())
        })
    }

    fn new(queue: Queue, params: &StreamParams, channel: Channel, pyramid: &Pyramid) -> Result<Self, Error> {
        let (device, boundary) = (queue.device(), params.codec.boundary);
        let program = device.codec_program(false)?;
        let schemes = Schemes::stream(device, boundary, pyramid)?;
        let transform = ChannelTransform::new(&queue, pyramid, &schemes)?;
        let (width, height) = (pyramid.plane().width(), pyramid.plane().height());
        Ok(Self { channel, queue, program, transform, schemes, boundary, width, height, side: pyramid.side() })
    }

    /// Its coefficients.
    pub(crate) fn square(&self) -> Square<'_> {
        let (bands, pitch) = (self.transform.bands.arg(), self.transform.band_pitch);
        let samples = self.width * self.height;
        Square { queue: &self.queue, program: &self.program, bands, pitch, side: self.side, samples }
    }

    /// Runs one group per row of the plane in `rows`.
    pub(crate) fn launch_rows(
        &self,
        kernel: &Kernel,
        rows: Range<usize>,
        after: &[Event],
    ) -> Result<Option<Event>, Error> {
        let group_size = [self.queue.device().tuning.group_size, 1];
        if rows.is_empty() {
            return Ok(None);
        }
        self.queue.launch_from(kernel, [0, rows.start], [1, rows.len()], group_size, after)
    }

    /// The kernels of a stage begin behind this command, if kernels are not noted one by one.
    pub(crate) fn begin(&self, after: &Event, recorder: &mut Recorder) {
        if self.queue.is_marked() {
            recorder.begin(self.channel, after);
        }
    }

    /// The kernels of `stage`, if it has begun, end before this command.
    pub(crate) fn end(&self, stage: Stage, before: &Event, recorder: &mut Recorder) {
        if self.queue.is_marked() {
            recorder.end(self.channel, stage, before);
        }
    }

    /// Plane to bands; notes the commands.
    pub(crate) fn split(&self, recorder: &mut Recorder) -> Result<(), Error> {
        let mut events = Vec::new();
        self.transform.run_forward(&self.queue, &mut events)?;
        events.into_iter().for_each(|event| recorder.note(self.channel, Stage::Transform, event));
        Ok(())
    }

    /// Bands to plane; notes the commands.
    pub(crate) fn invert(&self, recorder: &mut Recorder) -> Result<(), Error> {
        let mut events = Vec::new();
        self.transform.run_inverse(&self.queue, &mut events)?;
        events.into_iter().for_each(|event| recorder.note(self.channel, Stage::Transform, event));
        Ok(())
    }
}

/// The way of decoded coefficients to samples on the host.
pub(crate) struct Downloader {
    bytes: Buffer<u8>,
    staging: Pinned<u8>,
    last: Last,
}

impl Downloader {
    /// Adds what [`Self::new`] allocates for all channels.
    pub(crate) fn memory(layout: &BlockLayout, memory: &mut Memory) {
        for pyramid in layout.pyramids() {
            let len = pyramid.plane().pixels();
            memory.buffers::<u8>(&[len]);
            memory.pinned::<u8>(&[len]);
        }
    }

    /// For the coefficients of `pipeline`.
    pub(crate) fn new(pipeline: &ChannelPipeline) -> Result<Self, Error> {
        let len = pipeline.width * pipeline.height;
        let (bytes, staging) = (pipeline.queue.buffer(len)?, pipeline.queue.pinned(len)?);
        let last = Last::new(pipeline, &source::to_bytes(&bytes, pipeline.width))?;
        Ok(Self { bytes, staging, last })
    }

    /// Transforms the bands back, rounds and brings the samples to the host; notes the commands and returns the last one's
    /// event.
    pub(crate) fn run(&mut self, pipeline: &ChannelPipeline, recorder: &mut Recorder) -> Result<Event, Error> {
        self.last.run(pipeline, recorder)?;
        let len = pipeline.width * pipeline.height;
        let event = pipeline.queue.download(&self.bytes, &mut self.staging, len)?;
        pipeline.end(Stage::Transform, &event, recorder);
        recorder.note(pipeline.channel, Stage::Download, event.clone());
        pipeline.queue.flush()?;
        Ok(event)
    }

    /// The samples, row by row, once the event of [`Self::run`] has happened.
    pub(crate) fn samples(&self) -> &[u8] {
        self.staging.values()
    }
}

/// Where the blocks of one channel are coded: queue, kernels (`cl/quad/quad_encode.cl`, `cl/quad/quad_decode.cl`), and the square of
/// coefficients.
#[derive(Clone, Copy)]
pub(crate) struct Square<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) program: &'a Program,
    pub(crate) bands: Arg<'a>,
    pub(crate) pitch: usize,
    pub(crate) side: usize,
    /// Samples of the plane.
    pub(crate) samples: usize,
}

/// The blocks of one channel in coding order, as the kernels know them.
pub(crate) struct ChannelBlocks {
    /// Their indices in the frame, rising.
    pub(crate) indices: Vec<usize>,
    /// Their descriptions on the device.
    pub(crate) descriptions: Buffer<i32>,
}

/// Ints of one block's description.
const DESCRIPTION: usize = 9;

impl ChannelBlocks {
    /// How many blocks each channel has, and what [`Self::new`] allocates for them.
    pub(crate) fn memory(params: &StreamParams, layout: &BlockLayout, memory: &mut Memory) -> Vec<usize> {
        let of = |&channel: &Channel| layout.blocks().iter().filter(|block| block.channel == channel).count();
        let counts: Vec<_> = params.chroma.channels().iter().map(of).collect();
        counts.iter().for_each(|count| memory.buffers::<i32>(&[DESCRIPTION * count]));
        counts
    }

    /// The blocks of `channel`, whose `queue` this is.
    pub(crate) fn new(queue: &Queue, channel: Channel, layout: &BlockLayout) -> Result<Self, Error> {
        let of_channel = |(_, block): &(usize, &Block)| block.channel == channel;
        let (indices, descriptions): (Vec<usize>, Vec<[i32; DESCRIPTION]>) = (layout.blocks().iter().enumerate())
            .filter(of_channel)
            .map(|(index, block)| (index, describe(index, block, layout)))
            .unzip();
        let descriptions = constant(queue, descriptions.as_flattened())?;
        Ok(Self { indices, descriptions })
    }
}

/// A block as cl/quad/quad.cl has it.
fn describe(index: usize, block: &Block, layout: &BlockLayout) -> [i32; DESCRIPTION] {
    let shape = Shape::from(block);
    let diagonal = usize::from(block.orientation == Orientation::HH);
    let coarse = usize::from(index < layout.coarse_blocks());
    let (rect, coarser) = (block.rect, usize::from(block.coarser));
    // All are bounded by the largest square and the blocks in it.
    [rect.x, rect.y, rect.width, rect.height, shape.class, diagonal, index, coarse, coarser].map(|value| value as i32)
}

/// Device memory with these values.
pub(crate) fn constant<T: ocl::core::OclPrm>(queue: &Queue, values: &[T]) -> Result<Buffer<T>, Error> {
    let buffer = queue.buffer(values.len())?;
    queue.upload_now(values, &buffer)?;
    Ok(buffer)
}
