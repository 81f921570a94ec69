//! The OpenCL encoder of lossless streams: colour, the 5/3 in integers and the block coder without a quantiser, every
//! channel on its own queue.

use std::sync::Arc;
use std::time::Instant;

use device::kernel::Program;
use device::queue::{settled, wait};
use device::timeline::Recorder;
use device::{Device, Result};
use picture::coded::{CodedFrame, FrameHeader, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::channel::IntegerChannel;
use super::ends::PictureReader;
use crate::opencl::backend;
use crate::opencl::quad::block_coder::owners;
use crate::opencl::quad::blocks::{ChannelBlocks, Square};
use crate::opencl::quad::channel_coder::{ChannelCoder, CodingPass};
use crate::opencl::quad::gather::{Gather, SlotPlace};
use crate::opencl::transform::programs::codec_program;
use crate::reference::quantise::DeadZone;
use crate::reference::{check_size, rct};
use crate::{BackendInfo, EncodeError, EncodeTimes, FrameEncoder, OpenError, PictureRef, Target};

/// Encoder on an OpenCL device.
pub(crate) struct OpenClLosslessEncoder {
    params: StreamParams,
    channels: Vec<IntegerChannel>,
    reader: PictureReader,
    coders: Vec<ChannelCoder>,
    gather: Gather,
    /// Channel of each block of the frame, and its number there.
    owners: Vec<(usize, usize)>,
    times: EncodeTimes,
    backend: BackendInfo,
}

/// Blocks as they are, all at once.
const PASS: CodingPass = CodingPass { step: StepIndex::ONE, area: 0 };

impl OpenClLosslessEncoder {
    /// Makes an encoder for the pictures of a stream on this device with its settings; `reason` says why this back end
    /// was chosen.
    pub(crate) fn new(device: &Arc<Device>, params: &StreamParams, reason: &str) -> Result<Self, OpenError> {
        let layout = BlockLayout::new(params);
        let channels = IntegerChannel::all(device, params, layout.pyramids())?;
        let program = codec_program(device, true)?;
        let blocks = channels.iter().map(|channel| ChannelBlocks::new(&channel.queue, channel.channel, &layout));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        let (owners, squares) = (owners(&blocks), squares(&channels, &program));
        let coders = squares
            .iter()
            .zip(blocks)
            .map(|(&square, blocks)| ChannelCoder::new(square, blocks, 1, DeadZone::OF_PICTURES));
        let coders = coders.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            params: *params,
            reader: PictureReader::new(&channels.iter().collect::<Vec<_>>(), params)?,
            gather: Gather::new(&squares, &coders)?,
            coders,
            owners,
            times: EncodeTimes::default(),
            backend: backend(device, reason),
            channels,
        })
    }

    fn run(&mut self, picture: PictureRef<'_>) -> Result<CodedFrame> {
        let start = Instant::now();
        let Self { channels, reader, coders, gather, owners, .. } = self;
        let mut running = Vec::with_capacity(channels.len());
        reader.run(&channels.iter().collect::<Vec<_>>(), picture, |index| {
            let (queue, coder) = (&channels[index].queue, &mut coders[index]);
            channels[index].transform.run_forward(queue, &mut Vec::new())?;
            let all = 0..coder.blocks.indices.len();
            coder.launch(queue, &all, &[PASS])?;
            running.push(coder.fetch(queue, &all, &[PASS])?);
            Ok(())
        })?;
        wait(&running)?;
        let lengths: Vec<_> = owners.iter().map(|&(channel, number)| coders[channel].sizes()[number]).collect();
        let places = owners.iter().map(|&(channel, slot)| SlotPlace { channel, slot });
        let (first, mut recorder) = (&channels[0], Recorder::default());
        let (ends, data) = gather.run(&first.queue, first.channel, places, &lengths, &mut recorder)?;
        // Nothing tells the parts of a frame from one another.
        self.times.code = start.elapsed();
        let header = FrameHeader { step: PASS.step, fine_blocks: lengths.len() as u32 };
        Ok(CodedFrame { reference: 0, header, ends, data })
    }
}

/// Returns the coefficients of all channels, for the kernels of `program`.
pub(crate) fn squares<'a>(channels: &'a [IntegerChannel], program: &'a Program) -> Vec<Square<'a>> {
    let square = |channel: &'a IntegerChannel| Square {
        queue: &channel.queue,
        program,
        bands: channel.transform.bands.arg(),
        pitch: channel.transform.band_pitch,
        side: channel.side,
        samples: channel.width * channel.height,
    };
    channels.iter().map(square).collect()
}

impl FrameEncoder for OpenClLosslessEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        if target != Target::Lossless {
            return Err(EncodeError::WrongTarget { stream: "lossless" });
        }
        check_size(picture, self.params.size, self.params.codec.depth)?;
        rct::check_exact(picture, self.params.chroma)?;
        let result = self.run(picture);
        Ok(settled(result, self.channels.iter().map(|channel| &channel.queue))?)
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}
