//! The OpenCL decoder of lossless streams: block decoder, the 5/3 in integers and colour, every channel on its own
//! queue.

use std::sync::Arc;
use std::time::Instant;

use device::queue::settled;
use device::{Device, Result};
use picture::coded::ReceivedFrame;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::channel::IntegerChannel;
use super::encoder::squares;
use super::ends::PictureWriter;
use crate::opencl::backend;
use crate::opencl::quad::block_decoder::ChannelDecoder;
use crate::opencl::quad::blocks::ChannelBlocks;
use crate::opencl::transform::programs::codec_program;
use crate::reference::check_decode;
use crate::{BackendInfo, DecodeError, DecodeTimes, FrameDecoder, OpenError, Picture};

/// Decoder on an OpenCL device.
pub(crate) struct OpenClLosslessDecoder {
    params: StreamParams,
    layout: BlockLayout,
    channels: Vec<IntegerChannel>,
    decoders: Vec<ChannelDecoder>,
    writer: PictureWriter,
    damaged: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

impl OpenClLosslessDecoder {
    /// Makes a decoder for the blocks of `layout`, a stream's or what is left of it without the finest levels, on this
    /// device with its settings; `reason` says why this back end was chosen.
    pub(crate) fn new(
        device: &Arc<Device>,
        params: &StreamParams,
        layout: BlockLayout,
        reason: &str,
    ) -> Result<Self, OpenError> {
        let channels = IntegerChannel::all(device, params, layout.pyramids())?;
        let program = codec_program(device, true)?;
        let decoder = |(channel, square): (&IntegerChannel, _)| {
            let blocks = ChannelBlocks::new(&channel.queue, channel.channel, &layout)?;
            ChannelDecoder::new(square, blocks, 0)
        };
        let decoders = channels.iter().zip(squares(&channels, &program)).map(decoder).collect::<Result<_, _>>()?;
        let writer = PictureWriter::new(&channels.iter().collect::<Vec<_>>(), params)?;
        let (times, backend) = (DecodeTimes::default(), backend(device, reason));
        Ok(Self { params: *params, layout, channels, decoders, writer, damaged: 0, times, backend })
    }

    fn run(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<()> {
        let start = Instant::now();
        let (mut damaged, mut ends) = (0, Vec::with_capacity(self.channels.len()));
        for (index, (channel, decoder)) in self.channels.iter().zip(&mut self.decoders).enumerate() {
            let queue = &channel.queue;
            damaged += decoder.fill(queue, frame, 0)?;
            decoder.start(queue, frame.header)?;
            channel.transform.run_inverse(queue, &mut Vec::new())?;
            self.writer.start(channel, index)?;
            ends.push(decoder.fetch_damaged(queue)?);
        }
        self.writer.finish(&self.channels.iter().collect::<Vec<_>>(), &ends)?;
        self.writer.fill(out);
        self.damaged += damaged + self.decoders.iter().map(ChannelDecoder::damaged).sum::<u64>();
        // Nothing tells the parts of a frame from one another.
        self.times.decode = start.elapsed();
        Ok(())
    }
}

impl FrameDecoder for OpenClLosslessDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        check_decode(frame, out, &self.params, &self.layout)?;
        let result = self.run(frame, out);
        Ok(settled(result, self.channels.iter().map(|channel| &channel.queue))?)
    }

    fn times(&self) -> DecodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged
    }
}
