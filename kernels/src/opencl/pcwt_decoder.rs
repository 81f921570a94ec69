//! The OpenCL decoder of the profile `pcwt`: every channel on its own queue, the groups of a level at once.

use std::sync::Arc;

use common::frame::{BitDepth, Chroma};
use common::params::StreamParams;

use super::device::Device;
use super::kernel::{Arg, Kernel, Program, kernel, set};
use super::pcwt::{ChannelTree, Channels, Staged, program};
use super::{backend, device};
use crate::pcwt::{PcwtDecoder, PcwtError, ReceivedChannel, parse, trees};
use crate::reference::check_target;
use crate::{BackendInfo, Error, Picture, pcwt};

/// Decoder on an OpenCL device.
pub struct OpenClPcwtDecoder {
    params: StreamParams,
    trees: Vec<pcwt::Tree>,
    channels: Channels,
    coders: Vec<Coder>,
    /// Planes to RGB, in the first channel's queue.
    merge: Kernel,
    picture: Staged<u8>,
    backend: BackendInfo,
}

impl OpenClPcwtDecoder {
    /// A decoder for a stream on the device whose name contains `device`, or on the best one; `reason` says why this back end
    /// was chosen.
    pub fn open(params: &StreamParams, device: Option<&str>, reason: String) -> Result<Self, Error> {
        let device = device::find(device)?;
        let channels = ChannelTree::all(&device, params, |tree, pyramid, memory| {
            memory.buffers::<u32>(&[tree.groups.len()]);
            memory.pinned::<u32>(&[tree.groups.len()]);
            // Most often more than the groups take, and the picture.
            let (pixels, sample) = (pyramid.plane().pixels(), params.codec.depth.bytes());
            let bytes = [2 * pixels, 3 * sample * pixels];
            memory.buffers::<u8>(&bytes);
            memory.pinned::<u8>(&bytes);
        })?;
        Self::with(&device, params, channels, reason)
    }

    fn with(device: &Arc<Device>, params: &StreamParams, channels: Channels, reason: String) -> Result<Self, Error> {
        let (depth, program) = (params.codec.depth, program(device, params.codec.depth)?);
        let coders =
            channels.iter().map(|channel| Coder::new(channel, &program, depth)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = channels.first() else {
            return Err(Error::Device { call: "clCreateBuffer", reason: "a stream without channels".to_owned() });
        };
        let rgb = params.chroma == Chroma::Rgb;
        let samples = depth.bytes() * params.chroma.picture_format().bytes(params.size);
        let picture = Staged::new(&first.queue, if rgb { samples } else { 0 })?;
        let merge = kernel(&program, "rct_merge", &[])?;
        if let (true, [luma, blue, red]) = (rgb, &channels[..]) {
            let planes = [luma, blue, red].map(|channel| channel.transform.samples().0.arg());
            let pitch = luma.transform.samples().1;
            let out = [pitch.into(), picture.device.arg(), luma.width.into(), luma.height.into()];
            for (index, arg) in planes.into_iter().chain(out).enumerate() {
                set(&merge, index as u32, arg)?;
            }
        }
        let backend = backend(device, reason);
        Ok(Self { params: *params, trees: trees(params), channels, coders, merge, picture, backend })
    }

    fn run(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), Error> {
        let frame = parse(bytes, &self.trees)?;
        let rgb = self.params.chroma == Chroma::Rgb;
        let mut ends = Vec::new();
        for ((channel, coder), received) in self.channels.iter().zip(&mut self.coders).zip(&frame.channels) {
            coder.start(channel, received, frame.qmin)?;
            channel.transform.run_inverse(&channel.queue, &mut Vec::new())?;
            if !rgb {
                channel.launch(&coder.to_bytes, channel.width, channel.height)?;
                let len = coder.samples.device.len();
                coder.samples.download(&channel.queue, len)?;
            }
            ends.push(coder.damaged.download(&channel.queue, 1)?);
            channel.queue.flush()?;
        }
        let data = out.data_mut();
        if let (true, Some(first)) = (rgb, self.channels.first()) {
            first.queue.wait_for(&ends)?;
            first.launch(&self.merge, first.width, first.height)?;
            self.picture.download(&first.queue, data.len())?;
        }
        self.channels.iter().try_for_each(|channel| channel.queue.finish())?;
        for (channel, (coder, tree)) in self.coders.iter().zip(&self.trees).enumerate() {
            let of = tree.groups.len();
            if let Some(group) = coder.damaged.host.values().first().and_then(|&left| of.checked_sub(left as usize))
                && group < of
            {
                return Err(PcwtError::Group { channel, group, of }.into());
            }
        }
        if rgb {
            data.copy_from_slice(&self.picture.host.values()[..data.len()]);
            return Ok(());
        }
        let mut rest = data;
        for coder in &self.coders {
            let (own, others) = rest.split_at_mut(coder.samples.device.len());
            own.copy_from_slice(&coder.samples.host.values()[..own.len()]);
            rest = others;
        }
        Ok(())
    }
}

impl PcwtDecoder for OpenClPcwtDecoder {
    fn decode(&mut self, bytes: &[u8], out: &mut Picture) -> Result<(), Error> {
        check_target(out, self.params.size, &self.params)?;
        let result = self.run(bytes, out);
        self.channels.after(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Memory and kernels that decode one channel.
struct Coder {
    data: Staged<u8>,
    ends: Staged<u32>,
    damaged: Staged<i32>,
    decode: Kernel,
    to_bytes: Kernel,
    samples: Staged<u8>,
}

/// Positions of arguments of `pcwt_decode`.
const DATA: u32 = 0;
const FIRST: u32 = 4;
const COUNT: u32 = 5;
const PEAK: u32 = 7;
const QMIN: u32 = 8;

impl Coder {
    fn new(channel: &ChannelTree, program: &Program, depth: BitDepth) -> Result<Self, Error> {
        let (queue, groups) = (&channel.queue, channel.tree.groups.len());
        let samples = channel.width * channel.height;
        let (data, ends, damaged) = (Staged::new(queue, samples)?, Staged::new(queue, groups)?, Staged::new(queue, 1)?);
        let zero = Arg::Int(0);
        let tables = [data.device.arg(), ends.device.arg(), channel.bands.arg(), channel.groups.arg()];
        let numbers = [zero, zero, groups.into(), zero, zero];
        let square = [channel.maxima.arg(), channel.transform.bands.arg(), channel.transform.band_pitch.into()];
        let args = [&tables[..], &numbers, &square, &[damaged.device.arg()]].concat();
        let (plane, pitch) = channel.transform.samples();
        let bytes: Staged<u8> = Staged::new(queue, depth.bytes() * samples)?;
        let to_bytes = [plane.arg(), pitch.into(), bytes.device.arg(), channel.width.into(), channel.height.into()];
        Ok(Self {
            decode: kernel(program, "pcwt_decode", &args)?,
            to_bytes: kernel(program, "rct_bytes", &to_bytes)?,
            data,
            ends,
            damaged,
            samples: bytes,
        })
    }

    /// Queues everything up to the coefficients.
    fn start(&mut self, channel: &ChannelTree, received: &ReceivedChannel<'_>, qmin: u8) -> Result<(), Error> {
        let (queue, tree, len) = (&channel.queue, &channel.tree, received.data.len());
        if self.data.grow(queue, len)? {
            set(&self.decode, DATA, self.data.device.arg())?;
        }
        if len > 0 {
            self.data.upload(queue, received.data)?;
        }
        self.ends.upload(queue, &received.ends)?;
        queue.clear(&self.damaged.device)?;
        set(&self.decode, PEAK, Arg::Int(received.peak.into()))?;
        set(&self.decode, QMIN, Arg::Int(qmin.into()))?;
        for level in &tree.levels {
            set(&self.decode, FIRST, level.groups.start.into())?;
            set(&self.decode, COUNT, level.groups.len().into())?;
            channel.launch(&self.decode, level.groups.len(), 1)?;
        }
        Ok(())
    }
}
