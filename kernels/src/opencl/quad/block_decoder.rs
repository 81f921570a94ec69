//! The block decoder of one channel on the device: bytes of blocks to the square of coefficients.

use std::mem::offset_of;

use device::Result;
use device::kernel::{Arg, Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use device::staged::Staged;
use picture::coded::{BlockState, FrameHeader, ReceivedFrame};

use super::blocks::{ChannelBlocks, Square};
use crate::opencl::transform::params::{self as constants, MAX_BLOCK_BYTES, MISSING, Span, StepValues};
use crate::reference::quantise::DeadZone;

/// Memory and kernel that decode the blocks of one channel.
pub(crate) struct ChannelDecoder {
    blocks: ChannelBlocks,
    decode: Kernel,
    /// Start and length of each block here, and then the blocks, so that they travel together.
    bytes: Staged<u8>,
    /// Number of them that the frame has.
    filled: usize,
    damaged: Staged<u32>,
    /// Table that the kernel refers to besides; kept so that it lives as long as it does.
    _table: Buffer<u32>,
    _steps: Buffer<StepValues>,
}

/// Bytes of a block's span.
const SPAN: usize = size_of::<Span>();

impl ChannelDecoder {
    /// Creates a decoder for these blocks of a square, those of a frame without its `dropped` finest levels.
    pub(crate) fn new(square: Square<'_>, blocks: ChannelBlocks, dropped: usize) -> Result<Self> {
        let (queue, count) = (square.queue, blocks.indices.len());
        let table = queue.constant(&constants::decoder_table())?;
        let steps = queue.constant(&constants::step_table(dropped, DeadZone::OF_PICTURES))?;
        // Two bits a sample at first, in whole words; more is allocated when a frame needs it.
        let capacity = SPAN * count + square.samples.div_ceil(4).max(4096).next_multiple_of(4);
        let (bytes, damaged) = (Staged::new(queue, capacity)?, Staged::new(queue, count)?);
        let decode = kernel(
            square.program,
            "quad_decode",
            &[
                ("bytes", bytes.device.arg()),
                ("spans", bytes.device.arg()),
                ("blocks", blocks.descriptions.arg()),
                ("table", table.arg()),
                ("steps", steps.arg()),
                ("step", Arg::Int(0)),
                ("fine_blocks", Arg::Int(0)),
                ("bands", square.bands),
                ("pitch", square.pitch.into()),
                ("side", square.side.into()),
                ("damaged", damaged.device.arg()),
            ],
        )?;
        Ok(Self { blocks, decode, bytes, filled: 0, damaged, _table: table, _steps: steps })
    }

    /// Puts this channel's blocks of `frame`, whose own begin with number `first`, into pinned memory. Returns how many are too
    /// long for any encoder.
    pub(crate) fn fill(&mut self, queue: &Queue, frame: &ReceivedFrame, first: usize) -> Result<u64> {
        self.reserve(queue, frame, first)?;
        let (mut end, mut too_long) = (SPAN * self.blocks.indices.len(), 0);
        let (spans, bytes) = self.bytes.host.values_mut().split_at_mut(end);
        let before = end;
        for (span, &index) in spans.as_chunks_mut::<SPAN>().0.iter_mut().zip(&self.blocks.indices) {
            let Span { start, length } = match frame.block(first + index) {
                BlockState::Missing => Span { start: 0, length: MISSING },
                BlockState::Zero => Span::default(),
                BlockState::Coded(block) if block.len() > MAX_BLOCK_BYTES => {
                    too_long += 1;
                    Span { start: 0, length: MISSING }
                }
                BlockState::Coded(block) => {
                    let start = end;
                    end += block.len();
                    bytes[start - before..end - before].copy_from_slice(block);
                    Span { start: start as u32, length: block.len() as u32 }
                }
            };
            span[offset_of!(Span, start)..][..4].copy_from_slice(&start.to_ne_bytes());
            span[offset_of!(Span, length)..][..4].copy_from_slice(&length.to_ne_bytes());
        }
        self.filled = end;
        Ok(too_long)
    }

    /// Starts decoding what [`Self::fill`] prepared: the upload, and the kernel if the queue notes it.
    pub(crate) fn start(&self, queue: &Queue, header: FrameHeader) -> Result<(Event, Option<Event>)> {
        let upload = queue.upload(&self.bytes.host, &self.bytes.device, self.filled)?;
        self.set_steps(header)?;
        let groups = [self.blocks.indices.len(), 1];
        let decoding = queue.launch_marked(&self.decode, groups, [queue.device().tuning.block_group_size, 1])?;
        queue.flush()?;
        Ok((upload, decoding))
    }

    /// Starts to bring to the host which blocks were damaged.
    pub(crate) fn fetch_damaged(&mut self, queue: &Queue) -> Result<Event> {
        let event = self.damaged.download(queue, self.blocks.indices.len())?;
        queue.flush()?;
        Ok(event)
    }

    /// Makes room for this channel's bytes of `frame`.
    fn reserve(&mut self, queue: &Queue, frame: &ReceivedFrame, first: usize) -> Result<()> {
        let len_of = |&index: &usize| match frame.block(first + index) {
            BlockState::Coded(block) if block.len() <= MAX_BLOCK_BYTES => block.len(),
            _ => 0,
        };
        let len = SPAN * self.blocks.indices.len() + self.blocks.indices.iter().map(len_of).sum::<usize>();
        if self.bytes.grow(queue, len)? {
            ["bytes", "spans"].into_iter().try_for_each(|name| self.decode.set(name, self.bytes.device.arg()))?;
        }
        Ok(())
    }

    fn set_steps(&self, header: FrameHeader) -> Result<()> {
        // More fine blocks than any frame has mean all of them.
        let fine_blocks = i32::try_from(header.fine_blocks).unwrap_or(i32::MAX);
        self.decode.set("step", Arg::Int(header.step.index().into()))?;
        self.decode.set("fine_blocks", Arg::Int(fine_blocks))
    }

    /// Returns the number of damaged blocks, once the frame has been decoded.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged.host.values().iter().map(|&damaged| u64::from(damaged)).sum()
    }
}
