//! The OpenCL decoder of the profile `pcwt`: every channel on its own queue, the groups of a level at once.

use std::sync::Arc;

use device::kernel::{Arg, Kernel, Program, kernel};
use device::queue::settled;
use device::staged::Staged;
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::PictureWriter;
use kernels::parts::opencl::backend;
use kernels::parts::reference::check_target;
use kernels::{BackendInfo, Picture};
use picture::params::StreamParams;

use super::{ChannelTree, Channels, program};
use crate::pcwt::{self, CodeError, PcwtDecoder, PcwtError, ReceivedChannel, parse, trees};

/// Decoder on an OpenCL device.
pub(crate) struct OpenClPcwtDecoder {
    params: StreamParams,
    trees: Vec<pcwt::Tree>,
    channels: Channels,
    coders: Vec<TreeDecoder>,
    writer: PictureWriter,
    backend: BackendInfo,
}

impl OpenClPcwtDecoder {
    /// Makes a decoder for a stream on this device; `reason` says why this back end was chosen.
    pub(crate) fn new(device: &Arc<Device>, params: &StreamParams, reason: &str) -> Result<Self, OpenError> {
        let channels = ChannelTree::all(device, params)?;
        let program = program(device)?;
        let coders =
            channels.iter().map(|channel| TreeDecoder::new(channel, &program)).collect::<Result<Vec<_>, _>>()?;
        let writer = PictureWriter::new(&channels.planes(), params)?;
        let backend = backend(device, reason);
        Ok(Self { params: *params, trees: trees(params), channels, coders, writer, backend })
    }

    fn run(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), CodeError> {
        let frame = parse(bytes, &self.trees)?;
        let mut ends = Vec::new();
        for (index, (channel, coder)) in self.channels.iter().zip(&mut self.coders).enumerate() {
            let queue = &channel.plane.queue;
            coder.start(channel, &frame.channels[index], frame.qmin)?;
            channel.plane.transform.run_inverse(queue, &mut Vec::new())?;
            self.writer.start(&channel.plane, index)?;
            ends.push(coder.damaged.download(queue, 1)?);
            queue.flush()?;
        }
        self.writer.finish(&self.channels.planes(), &ends)?;
        for (channel, (coder, tree)) in self.coders.iter().zip(&self.trees).enumerate() {
            let of = tree.groups.len();
            if let Some(group) = coder.damaged.host.values().first().and_then(|&left| of.checked_sub(left as usize))
                && group < of
            {
                return Err(PcwtError::Group { channel, group, of }.into());
            }
        }
        self.writer.fill(out);
        Ok(())
    }
}

impl PcwtDecoder for OpenClPcwtDecoder {
    fn decode(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), CodeError> {
        check_target(out, self.params.size, &self.params)?;
        let result = self.run(bytes, out);
        settled(result, self.channels.queues())
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Memory and kernels that decode one channel.
struct TreeDecoder {
    data: Staged<u8>,
    ends: Staged<u32>,
    damaged: Staged<i32>,
    decode: Kernel,
}

impl TreeDecoder {
    fn new(channel: &ChannelTree, program: &Program) -> Result<Self> {
        let (plane, groups) = (&channel.plane, channel.tree.groups.len());
        let (queue, transform) = (&plane.queue, &plane.transform);
        let samples = plane.width * plane.height;
        let (data, ends, damaged) = (Staged::new(queue, samples)?, Staged::new(queue, groups)?, Staged::new(queue, 1)?);
        let zero = Arg::Int(0);
        let args = [
            ("data", data.device.arg()),
            ("ends", ends.device.arg()),
            ("bands", channel.bands.arg()),
            ("groups", channel.groups.arg()),
            ("first", zero),
            ("count", zero),
            ("all", groups.into()),
            ("peak", zero),
            ("qmin", zero),
            ("maxima", channel.maxima.arg()),
            ("square", transform.bands.arg()),
            ("pitch", transform.band_pitch.into()),
            ("damaged", damaged.device.arg()),
        ];
        Ok(Self { decode: kernel(program, "pcwt_decode", &args)?, data, ends, damaged })
    }

    /// Queues everything up to the coefficients.
    fn start(&mut self, channel: &ChannelTree, received: &ReceivedChannel<'_>, qmin: u8) -> Result<()> {
        let (queue, tree, len) = (&channel.plane.queue, &channel.tree, received.data.len());
        if self.data.grow(queue, len)? {
            self.decode.set("data", self.data.device.arg())?;
        }
        if len > 0 {
            self.data.upload(queue, received.data)?;
        }
        self.ends.upload(queue, &received.ends)?;
        queue.clear(&self.damaged.device)?;
        self.decode.set("peak", Arg::Int(received.peak.into()))?;
        self.decode.set("qmin", Arg::Int(qmin.into()))?;
        for level in &tree.levels {
            self.decode.set("first", level.groups.start.into())?;
            self.decode.set("count", level.groups.len().into())?;
            channel.plane.launch(&self.decode, level.groups.len(), 1)?;
        }
        Ok(())
    }
}
