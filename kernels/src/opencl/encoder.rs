//! The OpenCL encoder: upload, transform and code every channel on its own queue.

use std::ops::Range;
use std::time::{Duration, Instant};

use common::coded::{CodedFrame, StepIndex};
use common::params::StreamParams;
use common::pyramid::BlockLayout;

use super::channel::{ChannelBlocks, ChannelPipeline, constant};
use super::device::Device;
use super::memory::Memory;
use super::queue::{Arg, Buffer, Event, Kernel, Pinned, kernel, set, wait};
use super::timeline::{Interval, Recorder, Stage, Timeline};
use super::upload::{Origin, Uploads};
use super::{backend, device, params as constants};
use crate::rate::{BlockCoder, RateControl};
use crate::reference::check_picture;
use crate::{BackendInfo, DeviceKind, EncodeTimes, Encoder, Error, PictureRef, Target};

/// Encoder on an OpenCL device.
pub struct OpenClEncoder {
    params: StreamParams,
    rate: RateControl,
    coder: Coder,
    uploads: Uploads,
    overlap: bool,
    timeline: Timeline,
    times: EncodeTimes,
    backend: BackendInfo,
}

impl OpenClEncoder {
    /// An encoder for the pictures of a stream on the device whose name contains `device`, or on the best one;
    /// `reason` says why this back end was chosen.
    pub fn open(params: &StreamParams, device: Option<&str>, reason: String) -> Result<Self, Error> {
        let device = device::find(device)?;
        Self::memory(&device, params)?.check(&device)?;
        let (pipelines, layout) = ChannelPipeline::all(&device, params)?;
        let uploads = Uploads::new(&pipelines, params, 1)?;
        let blocks = layout.blocks().len();
        let coders = pipelines.iter().map(|p| {
            let blocks = ChannelBlocks::new(p, &layout)?;
            ChannelCoder::new(p, blocks)
        });
        let channels = coders.collect::<Result<_, _>>()?;
        // Graphics cards take as long for some blocks as for many.
        let chunk = if device.info.kind == DeviceKind::Gpu { 4096 } else { 160 };
        Ok(Self {
            params: *params,
            rate: RateControl::new(blocks, chunk),
            coder: Coder { pipelines, channels, blocks, overlap: true, recorder: Recorder::default() },
            uploads,
            overlap: true,
            timeline: Timeline::default(),
            times: EncodeTimes::default(),
            backend: backend(&device, reason),
        })
    }

    /// What an encoder allocates before the first frame.
    pub(super) fn memory(device: &Device, params: &StreamParams) -> Result<Memory, Error> {
        let (layout, mut memory) = (BlockLayout::new(params), Memory::default());
        ChannelPipeline::memory(device, params, &layout, &mut memory)?;
        Uploads::memory(params, &mut memory);
        let counts = ChannelBlocks::memory(params, &layout, &mut memory);
        for (pyramid, count) in layout.pyramids().iter().zip(counts) {
            ChannelCoder::memory(pyramid.plane().pixels(), count, &mut memory);
        }
        Ok(memory)
    }

    /// Whether transfers and kernels of different channels may run at the same time (they may unless this says
    /// otherwise): for measurements of what that gains.
    pub fn set_overlap(&mut self, overlap: bool) {
        self.overlap = overlap;
    }

    /// Whether the driver lets several queues work at the same time at all (PoCL does so from version 6 on).
    pub fn can_overlap(&self) -> bool {
        self.coder.pipelines.iter().all(|pipeline| pipeline.queue.device().queues_overlap)
    }

    /// The device's commands for the last frame.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn run(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, Error> {
        let start = Instant::now();
        let coder = &mut self.coder;
        coder.recorder.clear();
        self.uploads
            .forward(&coder.pipelines, Origin::Host(picture), coder.overlap, &mut coder.recorder, |_, _| Ok(()))?;
        let header = self.rate.code(coder, target)?;
        let (ends, data) = coder.collect(self.rate.lengths())?;
        self.timeline = coder.recorder.timeline()?;
        self.times = times(&self.timeline, start.elapsed());
        Ok(CodedFrame { header, ends, data })
    }
}

impl Encoder for OpenClEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, Error> {
        check_picture(picture, self.params.size)?;
        let result = self.run(picture, target);
        if result.is_err() {
            // Nothing of a failed frame may still use the staging memory when the next one fills it.
            for pipeline in &self.coder.pipelines {
                pipeline.queue.settle();
            }
        }
        result
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Divides the `total` of a frame: the uploads of samples, then the transforms as far as they were not hidden behind
/// them, then everything else.
fn times(timeline: &Timeline, total: Duration) -> EncodeTimes {
    let transforms = timeline.intervals.iter().filter(|i| i.stage == Stage::Transform);
    let coefficients_ns = transforms.map(|i| i.end_ns).max().unwrap_or(0);
    let first = |i: &&Interval| matches!(i.stage, Stage::Upload | Stage::Transform) && i.start_ns < coefficients_ns;
    let first = Timeline { intervals: timeline.intervals.iter().filter(first).copied().collect() };
    let upload = Duration::from_nanos(first.busy_ns(Stage::Upload));
    let both = Duration::from_nanos(first.span_ns());
    EncodeTimes { upload, transform: both.saturating_sub(upload), code: total.saturating_sub(both.max(upload)) }
}

/// The block coder of a frame: all channels.
struct Coder {
    pipelines: Vec<ChannelPipeline>,
    channels: Vec<ChannelCoder>,
    blocks: usize,
    overlap: bool,
    recorder: Recorder,
}

/// Memory and kernels that code the blocks of one channel.
struct ChannelCoder {
    blocks: ChannelBlocks,
    encode: Kernel,
    sizes: Buffer<u32>,
    sizes_host: Pinned<u32>,
    gather: Kernel,
    places: Buffer<u32>,
    places_host: Pinned<u32>,
    gathered: Buffer<u8>,
    gathered_host: Pinned<u8>,
    /// What the kernels refer to besides; kept so that it lives as long as they do.
    _slots: Buffer<u32>,
    _table: Buffer<u32>,
    _steps: Buffer<f32>,
}

/// Position of the `first` block and of the step among the arguments of `quad_encode`.
const FIRST_ARG: u32 = 3;
const STEP_ARG: u32 = 4;
/// Position of the output among the arguments of `quad_gather`.
const GATHERED_ARG: u32 = 3;

impl ChannelCoder {
    /// Bytes of a frame that there is room for at first: two bits a sample. More is allocated when a frame needs it.
    fn capacity(samples: usize) -> usize {
        samples.div_ceil(4).max(4096)
    }

    /// Adds what [`Self::new`] allocates for a plane of `samples` in `count` blocks.
    fn memory(samples: usize, count: usize, memory: &mut Memory) {
        let slots = count * (constants::SLOT_BYTES / 4);
        memory.buffers::<u32>(&[constants::encoder_table().len(), slots, count, count]);
        memory.buffers::<f32>(&[constants::step_table(0).len()]);
        memory.buffers::<u8>(&[Self::capacity(samples)]);
        memory.pinned::<u32>(&[count, count]);
        memory.pinned::<u8>(&[Self::capacity(samples)]);
    }

    fn new(pipeline: &ChannelPipeline, blocks: ChannelBlocks) -> Result<Self, Error> {
        let queue = &pipeline.queue;
        let count = blocks.indices.len();
        let table = constant(queue, &constants::encoder_table())?;
        let steps = constant(queue, &constants::step_table(0))?;
        let slots = queue.buffer::<u32>(count * (constants::SLOT_BYTES / 4))?;
        let sizes = queue.buffer::<u32>(count)?;
        let transform = &pipeline.transform;
        let encode = kernel(
            &pipeline.program,
            "quad_encode",
            &[
                transform.bands.arg(),
                transform.band_pitch.into(),
                blocks.descriptions.arg(),
                Arg::Int(0),
                Arg::Int(0),
                table.arg(),
                steps.arg(),
                slots.arg(),
                sizes.arg(),
            ],
        )?;
        let capacity = Self::capacity(pipeline.width * pipeline.height);
        let (places, gathered) = (queue.buffer(count)?, queue.buffer(capacity)?);
        let gather =
            kernel(&pipeline.program, "quad_gather", &[slots.arg(), sizes.arg(), places.arg(), gathered.arg()])?;
        Ok(Self {
            blocks,
            encode,
            sizes,
            sizes_host: queue.pinned(count)?,
            gather,
            places,
            places_host: queue.pinned(count)?,
            gathered,
            gathered_host: queue.pinned(capacity)?,
            _slots: slots,
            _table: table,
            _steps: steps,
        })
    }

    /// Which of this channel's blocks lie in `range` of the frame's.
    fn local(&self, range: &Range<usize>) -> Range<usize> {
        let before = |end: usize| self.blocks.indices.partition_point(|&index| index < end);
        before(range.start)..before(range.end)
    }

    /// Starts coding the blocks `local` and fetching their sizes; notes the commands.
    fn start(
        &mut self,
        pipeline: &ChannelPipeline,
        local: &Range<usize>,
        step: StepIndex,
        recorder: &mut Recorder,
    ) -> Result<Event, Error> {
        let queue = &pipeline.queue;
        set(&self.encode, FIRST_ARG, local.start.into())?;
        set(&self.encode, STEP_ARG, Arg::Int(step.index().into()))?;
        let event = queue.launch(&self.encode, [local.len(), 1], [queue.device().tuning.block_group_size, 1], &[])?;
        recorder.note(pipeline.channel, Stage::Code, event);
        let event = queue.download(&self.sizes, local.start, &mut self.sizes_host, local.len())?;
        recorder.note(pipeline.channel, Stage::Download, event.clone());
        queue.flush()?;
        Ok(event)
    }

    /// Starts fetching all blocks' bytes, whose lengths in the frame are `lengths`; notes the commands.
    fn fetch(
        &mut self,
        pipeline: &ChannelPipeline,
        lengths: &[u32],
        recorder: &mut Recorder,
    ) -> Result<Option<Event>, Error> {
        let mut total = 0;
        for (place, &index) in self.places_host.values_mut().iter_mut().zip(&self.blocks.indices) {
            *place = total;
            total += lengths[index];
        }
        let len = total as usize;
        if len == 0 {
            return Ok(None);
        }
        let queue = &pipeline.queue;
        if len > self.gathered.len() {
            let capacity = len + len / 4;
            (self.gathered, self.gathered_host) = (queue.buffer(capacity)?, queue.pinned(capacity)?);
            set(&self.gather, GATHERED_ARG, self.gathered.arg())?;
        }
        let count = self.blocks.indices.len();
        let mut note = |stage, event: Option<Event>| recorder.note(pipeline.channel, stage, event);
        note(Stage::Upload, queue.upload(&self.places_host, &self.places, count)?.into());
        note(Stage::Code, queue.launch(&self.gather, [count, 1], [queue.device().tuning.block_group_size, 1], &[])?);
        let event = queue.download(&self.gathered, 0, &mut self.gathered_host, len)?;
        note(Stage::Download, Some(event.clone()));
        queue.flush()?;
        Ok(Some(event))
    }
}

impl BlockCoder for Coder {
    fn block_count(&self) -> usize {
        self.blocks
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), Error> {
        let mut running = Vec::with_capacity(self.channels.len());
        for (coder, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            let local = coder.local(&range);
            if !local.is_empty() {
                running.push(coder.start(pipeline, &local, step, &mut self.recorder)?);
                if !self.overlap {
                    pipeline.queue.finish()?;
                }
            }
        }
        wait(&running)?;
        for coder in &self.channels {
            let local = coder.local(&range);
            for (&size, &index) in coder.sizes_host.values().iter().zip(&coder.blocks.indices[local]) {
                lengths[index - range.start] = size;
            }
        }
        Ok(())
    }
}

impl Coder {
    /// The ends and bytes of all blocks in coding order.
    fn collect(&mut self, lengths: &[u32]) -> Result<(Vec<u32>, Vec<u8>), Error> {
        let mut running = Vec::with_capacity(self.channels.len());
        for (coder, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            running.extend(coder.fetch(pipeline, lengths, &mut self.recorder)?);
            if !self.overlap {
                pipeline.queue.finish()?;
            }
        }
        let mut ends = vec![0; lengths.len()];
        let mut total = 0;
        for (end, &length) in ends.iter_mut().zip(lengths) {
            total += length;
            *end = total;
        }
        let mut data = vec![0; total as usize];
        wait(&running)?;
        for coder in &self.channels {
            let (places, bytes) = (coder.places_host.values(), coder.gathered_host.values());
            for (&place, &index) in places.iter().zip(&coder.blocks.indices) {
                let (end, len, place) = (ends[index] as usize, lengths[index] as usize, place as usize);
                data[end - len..end].copy_from_slice(&bytes[place..place + len]);
            }
        }
        Ok((ends, data))
    }
}
