//! The block coder of one channel on the device.

use std::ops::Range;

use device::Result;
use device::kernel::{Arg, Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use device::staged::Staged;
use device::timeline::{DeviceStage, Recorder};
use picture::coded::StepIndex;

use super::blocks::{ChannelBlocks, Square};
use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::params::{self as constants, StepValues};
use crate::reference::quantise::DeadZone;

/// A frame, or a part of it, at one step into one area.
#[derive(Clone, Copy)]
pub(crate) struct CodingPass {
    pub(crate) step: StepIndex,
    pub(crate) area: usize,
}

/// Memory and kernels that code the blocks of one channel.
pub(crate) struct ChannelCoder {
    pub(crate) blocks: ChannelBlocks,
    encode: Kernel,
    /// Bytes of each block, area by area.
    pub(super) sizes: Staged<u32>,
    /// Room for each block's bytes, area by area.
    pub(crate) slots: Buffer<u32>,
    /// Buffers that the kernel refers to besides; kept so that they live as long as it does.
    _table: Buffer<u32>,
    _steps: Buffer<StepValues>,
}

/// Step and area of each pass of a launch, among the arguments of `quad_encode`.
const PASS_ARGS: [[&str; 2]; 2] = [["step", "area"], ["step_1", "area_1"]];

impl ChannelCoder {
    /// Creates a coder for these blocks of a square of coefficients, with so many areas and this dead zone.
    pub(crate) fn new(square: Square<'_>, blocks: ChannelBlocks, areas: usize, zone: DeadZone) -> Result<Self> {
        let (queue, count) = (square.queue, blocks.indices.len());
        let table = queue.constant(&constants::encoder_table())?;
        let steps = queue.constant(&constants::step_table(0, zone))?;
        let slots = queue.buffer::<u32>(areas * count * (constants::SLOT_BYTES / 4))?;
        let sizes = Staged::new(queue, areas * count)?;
        let encode = kernel(
            square.program,
            "quad_encode",
            &[
                ("bands", square.bands),
                ("pitch", square.pitch.into()),
                ("blocks", blocks.descriptions.arg()),
                ("all", count.into()),
                ("first", Arg::Int(0)),
                ("count", Arg::Int(0)),
                ("step", Arg::Int(0)),
                ("area", Arg::Int(0)),
                ("step_1", Arg::Int(0)),
                ("area_1", Arg::Int(0)),
                ("table", table.arg()),
                ("steps", steps.arg()),
                ("slots", slots.arg()),
                ("sizes", sizes.device.arg()),
            ],
        )?;
        Ok(Self { blocks, encode, sizes, slots, _table: table, _steps: steps })
    }

    /// Returns the numbers of this channel's blocks that lie in `range` of the frame's.
    pub(super) fn local(&self, range: &Range<usize>) -> Range<usize> {
        let before = |end: usize| self.blocks.indices.partition_point(|&index| index < end);
        before(range.start)..before(range.end)
    }

    /// Returns the bytes of each block in the first area, when they have come.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes.host.values()[..self.blocks.indices.len()]
    }

    /// Starts coding the blocks `local` in each of one or two passes.
    pub(crate) fn launch(&self, queue: &Queue, local: &Range<usize>, passes: &[CodingPass]) -> Result<Option<Event>> {
        self.encode.set("first", local.start.into())?;
        self.encode.set("count", local.len().into())?;
        for ([step, area], pass) in PASS_ARGS.into_iter().zip(passes) {
            self.encode.set(step, Arg::Int(pass.step.index().into()))?;
            self.encode.set(area, pass.area.into())?;
        }
        let tuning = &queue.device().tuning;
        let groups = [local.len().div_ceil(tuning.blocks_per_group), passes.len()];
        queue.launch_marked(&self.encode, groups, [tuning.block_group_size, 1])
    }

    /// Starts fetching the sizes of these blocks, those of all passes at once and what lies between.
    pub(crate) fn fetch(&mut self, queue: &Queue, local: &Range<usize>, passes: &[CodingPass]) -> Result<Event> {
        let (areas, count) = (passes.iter().map(|pass| pass.area), self.blocks.indices.len());
        let (low, high) = (areas.clone().min().unwrap_or(0), areas.max().unwrap_or(0));
        let (from, to) = (low * count + local.start, high * count + local.end);
        let event = queue.download_range(&self.sizes.device, from, &mut self.sizes.host, from, to - from)?;
        queue.flush()?;
        Ok(event)
    }

    /// Launches the passes and fetches their sizes; notes the commands.
    pub(super) fn start(
        &mut self,
        pipeline: &ChannelPipeline,
        local: &Range<usize>,
        passes: &[CodingPass],
        recorder: &mut Recorder,
    ) -> Result<Event> {
        if let Some(event) = self.launch(&pipeline.queue, local, passes)? {
            pipeline.end(DeviceStage::Transform, &event, recorder);
            recorder.note(pipeline.channel, DeviceStage::Code, event);
        }
        let event = self.fetch(&pipeline.queue, local, passes)?;
        recorder.note(pipeline.channel, DeviceStage::Download, event.clone());
        Ok(event)
    }
}
