//! The bytes of a frame's blocks, brought together from the slots of their channels and to the host.

use device::Result;
use device::kernel::{Kernel, kernel, named};
use device::queue::{Queue, wait};
use device::staged::Staged;
use device::timeline::{DeviceStage, Recorder};
use picture::frame::Channel;

use super::blocks::Square;
use super::channel_coder::ChannelCoder;
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
    places: Staged<GatheredBlock>,
    bytes: Staged<u8>,
}

impl Gather {
    /// Creates the kernel for the blocks of one to three channels of these squares, on the queue of the first.
    pub(crate) fn new(squares: &[Square<'_>], channels: &[ChannelCoder]) -> Result<Self> {
        let (queue, program) = (squares[0].queue, squares[0].program);
        // Two bits a sample at first; more is allocated when a frame needs it.
        let samples: usize = squares.iter().map(|square| square.samples).sum();
        let bytes = Staged::new(queue, samples.div_ceil(4).max(4096))?;
        let places = Staged::new(queue, channels.iter().map(|channel| channel.blocks.indices.len()).sum())?;
        // A channel that is not there has no blocks either.
        let slots = std::array::from_fn(|index| channels[index % channels.len()].slots.arg());
        let slots: [_; 3] = named(["slots_0", "slots_1", "slots_2"], slots);
        let args = [&slots[..], &[("places", places.device.arg()), ("out", bytes.device.arg())]].concat();
        Ok(Self { kernel: kernel(program, "quad_gather", &args)?, places, bytes })
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
        for ((to, place), &length) in self.places.host.values_mut().iter_mut().zip(places).zip(lengths) {
            // Bounded by what buffers hold.
            *to = GatheredBlock { channel: place.channel as u32, slot: place.slot as u32, start: end, length };
            end += length;
            ends.push(end);
        }
        let len = end as usize;
        if len == 0 {
            return Ok((ends, Vec::new()));
        }
        if self.bytes.grow(queue, len)? {
            self.kernel.set("out", self.bytes.device.arg())?;
        }
        let Staged { device, host } = &self.places;
        recorder.note(channel, DeviceStage::Upload, queue.upload(host, device, device.len())?);
        let groups = [lengths.len(), 1];
        let event = queue.launch_marked(&self.kernel, groups, [queue.device().tuning.block_group_size, 1])?;
        recorder.note(channel, DeviceStage::Code, event);
        let event = self.bytes.download(queue, len)?;
        recorder.note(channel, DeviceStage::Download, event.clone());
        queue.flush()?;
        wait(&[event])?;
        Ok((ends, self.bytes.host.values()[..len].to_vec()))
    }
}
