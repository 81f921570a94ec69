//! The block coder of a frame on the device: all channels, each on its own queue.
//!
//! A device that codes all blocks as fast as some has several areas of slots, each for the whole frame at one step. It
//! codes each channel, as soon as that is transformed, at the two steps that the search starts from; what the search
//! asks for is then mostly there already.

use std::ops::Range;

use device::Result;
use device::queue::{Event, wait};
use device::timeline::Recorder;
use picture::coded::{FrameHeader, StepIndex};

use super::blocks::{ChannelBlocks, Square};
use super::channel_coder::{ChannelCoder, CodingPass};
use super::gather::{Gather, SlotPlace};
use crate::PictureRef;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::upload::{PicturePlace, Uploads};
use crate::rate::BlockCoder;
use crate::reference::quantise::DeadZone;

/// The block coder of a frame: all channels.
pub(crate) struct FrameCoder {
    pub(crate) pipelines: Vec<ChannelPipeline>,
    pub(crate) recorder: Recorder,
    pub(crate) overlap: bool,
    pub(crate) channels: Vec<ChannelCoder>,
    gather: Gather,
    /// Channel of each block of the frame, and its number there.
    owners: Vec<(usize, usize)>,
    blocks: usize,
    /// With several areas, the step at which each holds the whole frame.
    areas: Vec<Option<StepIndex>>,
    /// The ends of what [`Self::forward`] or [`Self::start`] started.
    running: Vec<Event>,
}

impl FrameCoder {
    /// Creates a coder for the blocks of each channel, with this dead zone.
    pub(crate) fn new(
        pipelines: Vec<ChannelPipeline>,
        channel_blocks: Vec<ChannelBlocks>,
        areas: usize,
        zone: DeadZone,
    ) -> Result<Self> {
        let owners = owners(&channel_blocks);
        let channels = pipelines.iter().zip(channel_blocks);
        let channels = channels.map(|(p, blocks)| ChannelCoder::new(p.into(), blocks, areas, zone));
        let channels: Vec<_> = channels.collect::<Result<_, _>>()?;
        let squares: Vec<_> = pipelines.iter().map(Square::from).collect();
        let (gather, blocks) = (Gather::new(&squares, &channels)?, owners.len());
        let (areas, running, recorder) = (vec![None; areas], Vec::new(), Recorder::default());
        Ok(Self { pipelines, recorder, overlap: true, channels, gather, owners, blocks, areas, running })
    }

    /// Forgets the last frame; the search for this one will begin with `steps`.
    pub(crate) fn begin(&mut self, steps: &[StepIndex]) {
        self.recorder.clear();
        self.expect(steps);
    }

    fn expect(&mut self, steps: &[StepIndex]) {
        self.areas.fill(None);
        self.running.clear();
        if self.areas.len() > 1 {
            self.areas.iter_mut().zip(steps).for_each(|(area, &step)| *area = Some(step));
        }
    }

    /// The passes over whole frames that the search begins with.
    fn passes(&self) -> Vec<CodingPass> {
        let pass = |(area, step): (usize, &Option<StepIndex>)| step.map(|step| CodingPass { step, area });
        self.areas.iter().enumerate().filter_map(pass).collect()
    }

    /// Starts coding all channels, which are transformed or will be before that, for a search that begins with `steps`.
    pub(crate) fn start(&mut self, steps: &[StepIndex]) -> Result<()> {
        self.expect(steps);
        let passes = self.passes();
        if passes.is_empty() {
            return Ok(());
        }
        for (coder, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            let all = 0..coder.blocks.indices.len();
            self.running.push(coder.start(pipeline, &all, &passes, &mut self.recorder)?);
        }
        Ok(())
    }

    /// Uploads and transforms all channels, and starts coding each at the steps with which the search begins.
    pub(crate) fn forward(&mut self, uploads: &mut Uploads, picture: PictureRef<'_>) -> Result<()> {
        let passes = self.passes();
        let Self { pipelines, channels, recorder, running, .. } = self;
        uploads.forward(pipelines, PicturePlace::Host(picture), self.overlap, recorder, |index, recorder| {
            if !passes.is_empty() {
                let all = 0..channels[index].blocks.indices.len();
                running.push(channels[index].start(&pipelines[index], &all, &passes, recorder)?);
            }
            Ok(())
        })
    }

    /// Returns the area that holds the whole frame at `step`, coded now if need be in another area than that of `keep`.
    fn area(&mut self, step: StepIndex, keep: Option<StepIndex>) -> Result<usize> {
        if let Some(area) = self.areas.iter().position(|&held| held == Some(step)) {
            return Ok(area);
        }
        let distance = |held: Option<StepIndex>| match held {
            None => u8::MAX,
            Some(held) if Some(held) == keep => 0,
            Some(held) => held.index().abs_diff(step.index()),
        };
        let area = (0..self.areas.len()).max_by_key(|&area| distance(self.areas[area])).unwrap_or(0);
        self.run(0..self.blocks, &[CodingPass { step, area }])?;
        self.areas[area] = Some(step);
        Ok(area)
    }

    /// Codes the blocks of `range` in each of one or two passes, and waits for their sizes.
    fn run(&mut self, range: Range<usize>, passes: &[CodingPass]) -> Result<()> {
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

    /// Returns the ends and bytes of all blocks of the frame of this `header`, in coding order, when its search is over
    /// and gave `lengths`.
    pub(crate) fn collect(&mut self, header: FrameHeader, lengths: &[u32]) -> Result<(Vec<u32>, Vec<u8>)> {
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
            SlotPlace { channel, slot: area * channels[channel].blocks.indices.len() + number }
        });
        gather.run(&pipelines[0].queue, pipelines[0].channel, places, lengths, recorder)
    }
}

impl BlockCoder for FrameCoder {
    fn block_count(&self) -> usize {
        self.blocks
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<()> {
        wait(&std::mem::take(&mut self.running))?;
        let area = if self.areas.len() > 1 {
            self.area(step, None)?
        } else {
            self.run(range.clone(), &[CodingPass { step, area: 0 }])?;
            0
        };
        for coder in &self.channels {
            let (local, count) = (coder.local(&range), coder.blocks.indices.len());
            let sizes = &coder.sizes.host.values()[area * count..][local.clone()];
            for (&size, &index) in sizes.iter().zip(&coder.blocks.indices[local]) {
                lengths[index - range.start] = size;
            }
        }
        Ok(())
    }
}

/// Returns the channel of each block of a frame, and its number there.
pub(crate) fn owners(channels: &[ChannelBlocks]) -> Vec<(usize, usize)> {
    let mut owners = vec![(0, 0); channels.iter().map(|channel| channel.indices.len()).sum()];
    for (channel, blocks) in channels.iter().enumerate() {
        blocks.indices.iter().enumerate().for_each(|(number, &index)| owners[index] = (channel, number));
    }
    owners
}
