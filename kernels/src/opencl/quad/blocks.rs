//! The blocks of one channel as the kernels know them, and the square of coefficients that they lie in.

use device::Result;
use device::kernel::{Arg, Program};
use device::queue::{Buffer, Queue};
use picture::frame::Channel;
use picture::pyramid::{Block, BlockLayout, Orientation};

use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::params::BlockInfo;
use crate::reference::quad::Shape;

/// Device side of one channel's block coder: queue, kernels (`cl/quad/quad_encode.cl`, `cl/quad/quad_decode.cl`), and
/// the square of coefficients.
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

impl<'a> From<&'a ChannelPipeline> for Square<'a> {
    fn from(pipeline: &'a ChannelPipeline) -> Self {
        let ChannelPipeline { queue, program, transform, width, height, side, .. } = pipeline;
        let (bands, pitch) = (transform.bands.arg(), transform.band_pitch);
        Square { queue, program, bands, pitch, side: *side, samples: width * height }
    }
}

/// The blocks of one channel in coding order, as the kernels know them.
pub(crate) struct ChannelBlocks {
    /// Their indices in the frame, rising.
    pub(crate) indices: Vec<usize>,
    /// Their descriptions on the device.
    pub(crate) descriptions: Buffer<BlockInfo>,
}

impl ChannelBlocks {
    /// Returns the blocks of `channel`, whose `queue` this is.
    pub(crate) fn new(queue: &Queue, channel: Channel, layout: &BlockLayout) -> Result<Self> {
        Self::keeping(queue, channel, layout, layout.coarse_blocks())
    }

    /// Returns the same, of which the first `kept` of a frame stay as they were when they are missing, and others become zero.
    pub(crate) fn keeping(queue: &Queue, channel: Channel, layout: &BlockLayout, kept: usize) -> Result<Self> {
        let of_channel = |(_, block): &(usize, &Block)| block.channel == channel;
        let (indices, descriptions): (Vec<usize>, Vec<BlockInfo>) = (layout.blocks().iter().enumerate())
            .filter(of_channel)
            .map(|(index, block)| (index, describe(index, block, index < kept)))
            .unzip();
        let descriptions = queue.constant(&descriptions)?;
        Ok(Self { indices, descriptions })
    }
}

/// Returns the description of a block. All numbers are bounded by the largest square and the blocks in it.
fn describe(index: usize, block: &Block, is_coarse: bool) -> BlockInfo {
    let rect = block.rect;
    BlockInfo {
        x: rect.x as i32,
        y: rect.y as i32,
        width: rect.width as i32,
        height: rect.height as i32,
        class: Shape::from(block).class as i32,
        diagonal: (block.orientation == Orientation::HH).into(),
        index: index as i32,
        coarse: is_coarse.into(),
        coarser: block.coarser.into(),
    }
}
