//! The blocks of one channel of a residual as a decoder will have them, made of their coefficients: an encoder need not decode.

use device::Result;
use device::kernel::{Arg, Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use picture::coded::FrameHeader;

use super::blocks::{ChannelBlocks, Square};
use crate::opencl::transform::params::{StepValues, step_table};
use crate::opencl::transform::programs::restore_program;
use crate::reference::quantise::DeadZone;

/// Kernel for the blocks of one channel.
pub(crate) struct ChannelRestorer {
    kernel: Kernel,
    blocks: usize,
    /// The kernel refers to it.
    _steps: Buffer<StepValues>,
}

impl ChannelRestorer {
    /// Creates the kernel for these blocks of a residual's square, which live longer.
    pub(crate) fn new(square: &Square<'_>, blocks: &ChannelBlocks) -> Result<Self> {
        let (queue, count) = (square.queue, blocks.indices.len());
        let steps = queue.constant(&step_table(0, DeadZone::OF_RESIDUALS))?;
        let args = [
            ("bands", square.bands),
            ("pitch", square.pitch.into()),
            ("blocks", blocks.descriptions.arg()),
            ("count", count.into()),
            ("steps", steps.arg()),
            ("step", Arg::Int(0)),
            ("fine_blocks", Arg::Int(0)),
        ];
        let kernel = kernel(&*restore_program(queue.device())?, "quad_restore", &args)?;
        Ok(Self { kernel, blocks: count, _steps: steps })
    }

    /// Starts to replace the coefficients by those that a frame of this header decodes to; returns the kernel's event, if the queue
    /// notes it.
    pub(crate) fn run(&self, queue: &Queue, header: FrameHeader) -> Result<Option<Event>> {
        // More fine blocks than any frame has mean all of them.
        let fine_blocks = i32::try_from(header.fine_blocks).unwrap_or(i32::MAX);
        self.kernel.set("step", Arg::Int(header.step.index().into()))?;
        self.kernel.set("fine_blocks", Arg::Int(fine_blocks))?;
        let tuning = &queue.device().tuning;
        let groups = [self.blocks.div_ceil(tuning.blocks_per_group), 1];
        queue.launch_marked(&self.kernel, groups, [tuning.block_group_size, 1])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::opencl::find;
    use picture::coded::StepIndex;
    use picture::frame::{Chroma, FrameSize};
    use picture::params::StreamParams;

    use super::*;
    use crate::opencl::transform::channel::ChannelPipeline;
    use crate::reference::quad::Shape;
    use crate::reference::quantise::Quantiser;
    use crate::reference::rows;
    use device::settings::Tuning;

    /// Returns coefficients of which some blocks have a few that are not quantised to zero, others many.
    fn coefficients(count: usize) -> Vec<f32> {
        let noise = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) >> 12) as f32 / (1 << 19) as f32 - 1.0;
        let value = |at: usize| match at % 97 {
            0 => noise(at) * 500.0,
            1..20 => noise(at) * 20.0,
            _ => noise(at) * (1 + at / 2_000 % 4) as f32 * 4.0,
        };
        (0..count).map(value).collect()
    }

    #[test]
    fn what_is_restored_is_what_the_reference_decodes() {
        let device = find(None).unwrap();
        let shape = |block_group_size, blocks_per_group| Tuning { block_group_size, blocks_per_group, ..Tuning::CPU };
        for (width, height, chroma, fine_blocks) in
            [(203, 117, Chroma::C420, 17), (1, 7, Chroma::Grey, 0), (64, 33, Chroma::C444, 1 << 20)]
        {
            let params = StreamParams::new(FrameSize::new(width, height).unwrap(), chroma);
            let header = FrameHeader { step: StepIndex::new(56).unwrap(), fine_blocks };
            for tuning in [(32, 4), (64, 2), (1, 1)].map(|(size, blocks)| shape(size, blocks)) {
                let device = Arc::new(device.with_tuning(tuning));
                let (pipelines, layout) = ChannelPipeline::all(&device, &params).unwrap();
                for pipeline in &pipelines {
                    let (queue, square) = (&pipeline.queue, Square::from(pipeline));
                    let bands = &pipeline.transform.bands;
                    let mut wanted = coefficients(bands.len());
                    queue.upload_now(&wanted, bands).unwrap();
                    let blocks = layout.blocks().iter().enumerate();
                    for (index, block) in blocks.filter(|(_, block)| block.channel == pipeline.channel) {
                        let step = header.step_of(index).coarser_by(block.coarser);
                        let quantiser = Quantiser::new(step).with_dead_zone(DeadZone::OF_RESIDUALS);
                        let values: Vec<_> = rows(block, square.pitch).flat_map(|row| wanted[row].to_vec()).collect();
                        let quantised = quantiser.quantise_block(&values, Shape::from(block));
                        for (row, values) in rows(block, square.pitch).zip(quantised.chunks(block.rect.width)) {
                            let restored: Vec<_> = values.iter().map(|&value| quantiser.dequantise(value)).collect();
                            wanted[row].copy_from_slice(&restored);
                        }
                    }
                    let blocks = ChannelBlocks::new(queue, pipeline.channel, &layout).unwrap();
                    ChannelRestorer::new(&square, &blocks).unwrap().run(queue, header).unwrap();
                    let mut found = queue.pinned(bands.len()).unwrap();
                    queue.download(bands, &mut found, bands.len()).unwrap();
                    queue.finish().unwrap();
                    assert!(found.values() == wanted, "{width} x {height} {:?}, {:?}", pipeline.channel, device.tuning);
                }
            }
        }
    }
}
