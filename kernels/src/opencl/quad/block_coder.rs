//! The block coder of a frame on the device: all channels, each on its own queue.
//!
//! A device that codes all blocks as fast as some has several areas of slots, each for the whole frame at one step. It codes
//! each channel, as soon as that is transformed, at the two steps that the search starts from; what the search asks for is
//! then mostly there already.

use std::ops::Range;

use common::coded::{FrameHeader, StepIndex};

use super::gather::{Gather, Place};
use crate::opencl::device::kernel::{Arg, Kernel, kernel, set};
use crate::opencl::device::memory::Memory;
use crate::opencl::device::queue::{Buffer, Event, Pinned, Queue, wait};
use crate::opencl::device::timeline::{Recorder, Stage};
use crate::opencl::transform::channel::{ChannelBlocks, ChannelPipeline, Square, constant};
use crate::opencl::transform::params as constants;
use crate::opencl::transform::upload::{Origin, Uploads};
use crate::rate::BlockCoder;
use crate::{Error, PictureRef};

/// Areas of a device that codes whole frames.
const AREAS: usize = 3;

/// How many areas a device has: one if it codes no more blocks than it must.
pub(crate) fn areas(codes_whole_frames: bool) -> usize {
    if codes_whole_frames { AREAS } else { 1 }
}

/// A frame, or a part of it, at one step into one area.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) step: StepIndex,
    pub(crate) area: usize,
}

/// The block coder of a frame: all channels.
pub(crate) struct Coder {
    pub(crate) pipelines: Vec<ChannelPipeline>,
    pub(crate) recorder: Recorder,
    pub(crate) overlap: bool,
    channels: Vec<ChannelCoder>,
    gather: Gather,
    /// Channel of each block of the frame, and its number there.
    owners: Vec<(usize, usize)>,
    blocks: usize,
    /// Where there are several: the step at which each area holds the whole frame.
    areas: Vec<Option<StepIndex>>,
    /// The ends of what [`Self::forward`] started.
    running: Vec<Event>,
}

impl Coder {
    /// For the blocks of each channel, of which a frame has `blocks` in all.
    pub(crate) fn new(
        pipelines: Vec<ChannelPipeline>,
        channel_blocks: Vec<ChannelBlocks>,
        areas: usize,
    ) -> Result<Self, Error> {
        let owners = owners(&channel_blocks);
        let channels = pipelines.iter().zip(channel_blocks);
        let channels = channels.map(|(p, blocks)| ChannelCoder::new(p.square(), blocks, areas));
        let channels: Vec<_> = channels.collect::<Result<_, _>>()?;
        let squares: Vec<_> = pipelines.iter().map(ChannelPipeline::square).collect();
        let (gather, blocks) = (Gather::new(&squares, &channels)?, owners.len());
        let (areas, running, recorder) = (vec![None; areas], Vec::new(), Recorder::default());
        Ok(Self { pipelines, recorder, overlap: true, channels, gather, owners, blocks, areas, running })
    }

    /// Adds what [`Self::new`] allocates for channels that have `samples` samples in all and so many blocks each.
    pub(crate) fn memory(samples: usize, counts: &[usize], areas: usize, memory: &mut Memory) {
        counts.iter().for_each(|&count| ChannelCoder::memory(count, areas, memory));
        Gather::memory(samples, counts.iter().sum(), memory);
    }

    /// Forgets the last frame; the search for this one will begin with `steps`.
    pub(crate) fn begin(&mut self, steps: &[StepIndex]) {
        self.recorder.clear();
        self.areas.fill(None);
        self.running.clear();
        if self.areas.len() > 1 {
            self.areas.iter_mut().zip(steps).for_each(|(area, &step)| *area = Some(step));
        }
    }

    /// Uploads and transforms all channels, and starts coding each at the steps with which the search begins.
    pub(crate) fn forward(&mut self, uploads: &mut Uploads, picture: PictureRef<'_>) -> Result<(), Error> {
        let pass = |(area, step): (usize, &Option<StepIndex>)| step.map(|step| Pass { step, area });
        let passes: Vec<_> = self.areas.iter().enumerate().filter_map(pass).collect();
        let Self { pipelines, channels, recorder, running, .. } = self;
        uploads.forward(pipelines, Origin::Host(picture), self.overlap, recorder, |index, recorder| {
            if !passes.is_empty() {
                let all = 0..channels[index].blocks.indices.len();
                running.push(channels[index].start(&pipelines[index], &all, &passes, recorder)?);
            }
            Ok(())
        })
    }

    /// The area that holds the whole frame at `step`, coded now if need be in another area than that of `keep`.
    fn area(&mut self, step: StepIndex, keep: Option<StepIndex>) -> Result<usize, Error> {
        if let Some(area) = self.areas.iter().position(|&held| held == Some(step)) {
            return Ok(area);
        }
        let distance = |held: Option<StepIndex>| match held {
            None => u8::MAX,
            Some(held) if Some(held) == keep => 0,
            Some(held) => held.index().abs_diff(step.index()),
        };
        let area = (0..self.areas.len()).max_by_key(|&area| distance(self.areas[area])).unwrap_or(0);
        self.run(0..self.blocks, &[Pass { step, area }])?;
        self.areas[area] = Some(step);
        Ok(area)
    }

    /// Codes the blocks of `range` in each of one or two passes, and waits for their sizes.
    fn run(&mut self, range: Range<usize>, passes: &[Pass]) -> Result<(), Error> {
        let mut running = Vec::with_capacity(self.channels.len());
        for (coder, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            let local = coder.local(&range);
            if !local.is_empty() {
                running.push(coder.start(pipeline, &local, passes, &mut self.recorder)?);
                if !self.overlap {
                    pipeline.queue.finish()?;
                }
            }
        }
        wait(&running)
    }

    /// The ends and bytes of all blocks of the frame of this `header`, in coding order, when its search is over and gave
    /// `lengths`.
    pub(crate) fn collect(&mut self, header: FrameHeader, lengths: &[u32]) -> Result<(Vec<u32>, Vec<u8>), Error> {
        let (fine, mut areas) = (header.fine_blocks as usize, [0; 2]);
        if self.areas.len() > 1 {
            let (step, coarser) = (header.step, header.step.coarser());
            areas = [self.area(step, Some(coarser))?; 2];
            if fine < self.blocks {
                areas[1] = self.area(coarser, Some(step))?;
            }
        }
        let Self { pipelines, channels, gather, owners, recorder, .. } = self;
        let places = owners.iter().enumerate().map(|(index, &(channel, number))| {
            let area = areas[usize::from(index >= fine)];
            Place { channel, slot: area * channels[channel].blocks.indices.len() + number }
        });
        gather.run(&pipelines[0].queue, pipelines[0].channel, places, lengths, recorder)
    }
}

impl BlockCoder for Coder {
    fn block_count(&self) -> usize {
        self.blocks
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), Error> {
        wait(&std::mem::take(&mut self.running))?;
        let area = if self.areas.len() > 1 {
            self.area(step, None)?
        } else {
            self.run(range.clone(), &[Pass { step, area: 0 }])?;
            0
        };
        for coder in &self.channels {
            let (local, count) = (coder.local(&range), coder.blocks.indices.len());
            let sizes = &coder.sizes_host.values()[area * count..][local.clone()];
            for (&size, &index) in sizes.iter().zip(&coder.blocks.indices[local]) {
                lengths[index - range.start] = size;
            }
        }
        Ok(())
    }
}

/// Channel of each block of a frame, and its number there.
pub(crate) fn owners(channels: &[ChannelBlocks]) -> Vec<(usize, usize)> {
    let mut owners = vec![(0, 0); channels.iter().map(|channel| channel.indices.len()).sum()];
    for (channel, blocks) in channels.iter().enumerate() {
        blocks.indices.iter().enumerate().for_each(|(number, &index)| owners[index] = (channel, number));
    }
    owners
}

/// Memory and kernels that code the blocks of one channel.
pub(crate) struct ChannelCoder {
    pub(crate) blocks: ChannelBlocks,
    encode: Kernel,
    /// Bytes of each block, area by area.
    sizes: Buffer<u32>,
    sizes_host: Pinned<u32>,
    /// Room for each block's bytes, area by area.
    pub(crate) slots: Buffer<u32>,
    /// What the kernel refers to besides; kept so that it lives as long as it does.
    _table: Buffer<u32>,
    _steps: Buffer<f32>,
}

/// Position of the `first` block among the arguments of `quad_encode`; the number of blocks follows, and step and area of
/// each pass.
const FIRST_ARG: u32 = 4;

impl ChannelCoder {
    /// Adds what [`Self::new`] allocates for `count` blocks.
    pub(crate) fn memory(count: usize, areas: usize, memory: &mut Memory) {
        let slots = areas * count * (constants::SLOT_BYTES / 4);
        memory.buffers::<u32>(&[constants::encoder_table().len(), slots, areas * count]);
        memory.buffers::<f32>(&[constants::step_table(0).len()]);
        memory.pinned::<u32>(&[areas * count]);
    }

    /// For these blocks of a square of coefficients, with so many areas.
    pub(crate) fn new(square: Square<'_>, blocks: ChannelBlocks, areas: usize) -> Result<Self, Error> {
        let (queue, count) = (square.queue, blocks.indices.len());
        let table = constant(queue, &constants::encoder_table())?;
        let steps = constant(queue, &constants::step_table(0))?;
        let slots = queue.buffer::<u32>(areas * count * (constants::SLOT_BYTES / 4))?;
        let sizes = queue.buffer::<u32>(areas * count)?;
        let encode = kernel(
            square.program,
            "quad_encode",
            &[
                square.bands,
                square.pitch.into(),
                blocks.descriptions.arg(),
                count.into(),
                Arg::Int(0),
                Arg::Int(0),
                Arg::Int(0),
                Arg::Int(0),
                Arg::Int(0),
                Arg::Int(0),
                table.arg(),
                steps.arg(),
                slots.arg(),
                sizes.arg(),
            ],
        )?;
        Ok(Self {
            blocks,
            encode,
            sizes,
            sizes_host: queue.pinned(areas * count)?,
            slots,
            _table: table,
            _steps: steps,
        })
    }

    /// Which of this channel's blocks lie in `range` of the frame's.
    fn local(&self, range: &Range<usize>) -> Range<usize> {
        let before = |end: usize| self.blocks.indices.partition_point(|&index| index < end);
        before(range.start)..before(range.end)
    }

    /// Bytes of each block in the first area, when they have come.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes_host.values()[..self.blocks.indices.len()]
    }

    /// Starts coding the blocks `local` in each of one or two passes.
    pub(crate) fn launch(&self, queue: &Queue, local: &Range<usize>, passes: &[Pass]) -> Result<Option<Event>, Error> {
        let mut args: Vec<Arg<'_>> = vec![local.start.into(), local.len().into()];
        for pass in passes {
            args.extend([Arg::Int(pass.step.index().into()), pass.area.into()]);
        }
        for (index, arg) in args.into_iter().enumerate() {
            set(&self.encode, FIRST_ARG + index as u32, arg)?;
        }
        let tuning = &queue.device().tuning;
        let groups = [local.len().div_ceil(tuning.blocks_per_group), passes.len()];
        queue.launch_marked(&self.encode, groups, [tuning.block_group_size, 1])
    }

    /// Starts fetching the sizes of these blocks, those of all passes at once and what lies between.
    pub(crate) fn fetch(&mut self, queue: &Queue, local: &Range<usize>, passes: &[Pass]) -> Result<Event, Error> {
        let (areas, count) = (passes.iter().map(|pass| pass.area), self.blocks.indices.len());
        let (low, high) = (areas.clone().min().unwrap_or(0), areas.max().unwrap_or(0));
        let (from, to) = (low * count + local.start, high * count + local.end);
        let event = queue.download_range(&self.sizes, from, &mut self.sizes_host, from, to - from)?;
        queue.flush()?;
        Ok(event)
    }

    /// Both; notes the commands.
    fn start(
        &mut self,
        pipeline: &ChannelPipeline,
        local: &Range<usize>,
        passes: &[Pass],
        recorder: &mut Recorder,
    ) -> Result<Event, Error> {
        if let Some(event) = self.launch(&pipeline.queue, local, passes)? {
            pipeline.end(Stage::Transform, &event, recorder);
            recorder.note(pipeline.channel, Stage::Code, event);
        }
        let event = self.fetch(&pipeline.queue, local, passes)?;
        recorder.note(pipeline.channel, Stage::Download, event.clone());
        Ok(event)
    }
}
