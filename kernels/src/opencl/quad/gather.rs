//! The bytes of a frame's blocks, brought together from the slots of their channels and to the host.

use picture::frame::Channel;

use super::blocks::Square;
use super::channel_coder::ChannelCoder;
use crate::opencl::device::Result;
use crate::opencl::device::kernel::{Kernel, kernel, named};
use crate::opencl::device::queue::{Buffer, Pinned, Queue, wait};
use crate::opencl::device::timeline::{DeviceStage, Recorder};
use crate::opencl::transform::params::GatheredBlock;

/// Place of a block's bytes.
#[derive(Clone, Copy)]
pub(crate) struct SlotPlace {
    pub(crate) channel: usize,
    /// Number among the channel's slots.
    pub(crate) slot: usize,
}

/// Memory and kernel that bring a frame together.
pub(crate) struct Gather {
    kernel: Kernel,
    places: Buffer<GatheredBlock>,
    places_host: Pinned<GatheredBlock>,
    bytes: Buffer<u8>,
    bytes_host: Pinned<u8>,
}

impl Gather {
    /// Creates the kernel for the blocks of one to three channels of these squares, on the queue of the first.
    pub(crate) fn new(squares: &[Square<'_>], channels: &[ChannelCoder]) -> Result<Self> {
        let (queue, program) = (squares[0].queue, squares[0].program);
        // Two bits a sample at first; more is allocated when a frame needs it.
        let samples: usize = squares.iter().map(|square| square.samples).sum();
        let capacity = samples.div_ceil(4).max(4096);
        let blocks: usize = channels.iter().map(|channel| channel.blocks.indices.len()).sum();
        let (places, bytes) = (queue.buffer(blocks)?, queue.buffer(capacity)?);
        // A channel that is not there has no blocks either.
        let slots = std::array::from_fn(|index| channels[index % channels.len()].slots.arg());
        let slots: [_; 3] = named(["slots_0", "slots_1", "slots_2"], slots);
        let args = [&slots[..], &[("places", places.arg()), ("out", bytes.arg())]].concat();
        let kernel = kernel(program, "quad_gather", &args)?;
        let (places_host, bytes_host) = (queue.pinned(blocks)?, queue.pinned(capacity)?);
        Ok(Self { kernel, places, places_host, bytes, bytes_host })
    }

    /// Brings the blocks of a frame, which lie in `places` and have these `lengths`, to the host, when all channels
    /// have been coded: where each ends, and the bytes. Notes the commands as those of `channel`.
    pub(crate) fn run(
        &mut self,
        queue: &Queue,
        channel: Channel,
        places: impl Iterator<Item = SlotPlace>,
        lengths: &[u32],
        recorder: &mut Recorder,
    ) -> Result<(Vec<u32>, Vec<u8>)> {
        let mut ends = Vec::with_capacity(lengths.len());
        let mut end = 0;
        for ((to, place), &length) in self.places_host.values_mut().iter_mut().zip(places).zip(lengths) {
            // Bounded by what buffers hold.
            *to = GatheredBlock { channel: place.channel as u32, slot: place.slot as u32, start: end, length };
            end += length;
            ends.push(end);
        }
        let len = end as usize;
        if len == 0 {
            return Ok((ends, Vec::new()));
        }
        if len > self.bytes.len() {
            let capacity = len + len / 4;
            (self.bytes, self.bytes_host) = (queue.buffer(capacity)?, queue.pinned(capacity)?);
            self.kernel.set("out", self.bytes.arg())?;
        }
        recorder.note(channel, DeviceStage::Upload, queue.upload(&self.places_host, &self.places, self.places.len())?);
        let groups = [lengths.len(), 1];
        let event = queue.launch_marked(&self.kernel, groups, [queue.device().tuning.block_group_size, 1])?;
        recorder.note(channel, DeviceStage::Code, event);
        let event = queue.download(&self.bytes, &mut self.bytes_host, len)?;
        recorder.note(channel, DeviceStage::Download, event.clone());
        queue.flush()?;
        wait(&[event])?;
        Ok((ends, self.bytes_host.values()[..len].to_vec()))
    }
}
