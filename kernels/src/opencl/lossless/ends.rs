//! Both ends of a lossless transform: from the bytes of a picture to planes of integers, and back
//! (`cl/lossless/rct.cl`).

use device::copy::{copy_in, copy_to_pinned};
use device::header::Header;
use device::kernel::{Arg, Kernel, NamedArg, Program, kernel, named};
use device::queue::{Buffer, Event, Queue};
use device::staged::Staged;
use device::{Device, Result};
use picture::frame::{BitDepth, Chroma};
use picture::params::StreamParams;

use super::channel::IntegerChannel;
use crate::opencl::transform::source::{self, Convert};
use crate::{Picture, PictureRef};

/// Kernels between samples of `depth` and planes.
fn program(device: &Device, depth: BitDepth) -> Result<Program> {
    device.build(&Header::default().define("SAMPLE_BITS", depth.bits()), &[include_str!("../../../cl/lossless/rct.cl")])
}

/// Kernels from the bytes of pictures to the planes of all channels.
pub struct PictureReader {
    params: StreamParams,
    channels: Vec<ChannelReader>,
}

/// Arguments of `rct_samples` that say which bytes of a picture are a channel's.
const SOURCE: [&str; 5] = ["offset", "row_samples", "step", "across", "down"];

/// Returns the arguments of a kernel that makes the plane of `channel`.
fn plane_args(channel: &IntegerChannel) -> [NamedArg<'_>; 4] {
    let (plane, pitch) = channel.transform.samples();
    named(["out", "pitch", "width", "height"], [plane.arg(), pitch.into(), channel.width.into(), channel.height.into()])
}

struct ChannelReader {
    bytes: Staged<u8>,
    samples: Kernel,
    rgb: Kernel,
}

impl PictureReader {
    /// Creates the kernels for pictures of a stream.
    pub fn new(channels: &[&IntegerChannel], params: &StreamParams) -> Result<Self> {
        let reader = |channel: &&IntegerChannel| {
            let capacity = source::capacity(params.size, params.chroma, channel.channel);
            let program = program(channel.queue.device(), params.codec.depth)?;
            let bytes = Staged::new(&channel.queue, params.codec.depth.bytes() * capacity)?;
            let (from, to) = ([("in", bytes.device.arg())], plane_args(channel));
            let source = named(SOURCE, [Arg::Int(0); 5]);
            let samples = kernel(&program, "rct_samples", &[&from[..], &source, &to].concat())?;
            let of_channel = [("channel", channel.channel.index().into())];
            let rgb = kernel(&program, "rct_split", &[&from[..], &of_channel, &to].concat())?;
            Ok(ChannelReader { bytes, samples, rgb })
        };
        let channels = channels.iter().map(reader).collect::<Result<_>>()?;
        Ok(Self { params: *params, channels })
    }

    /// Starts to bring `picture`, of which [`crate::reference::rct::check_exact`] holds, to the planes of all
    /// `channels`, and calls `then` when that of a channel is queued.
    pub fn run(
        &mut self,
        channels: &[&IntegerChannel],
        picture: PictureRef<'_>,
        mut then: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let mut uploads: Vec<Event> = Vec::new();
        for (index, channel) in channels.iter().enumerate() {
            let source = source::source(picture.format(), self.params.size, self.params.chroma, channel.channel);
            if source.owner == index {
                let sample = picture.depth().bytes();
                let bytes = &picture.data()[sample * source.bytes.start..sample * source.bytes.end];
                uploads.push(self.channels[index].upload(&channel.queue, bytes)?);
            } else if let Some(event) = uploads.get(source.owner) {
                channel.queue.wait_for(std::slice::from_ref(event))?;
                uploads.push(event.clone());
            }
            self.channels[index].load(channel, &source.convert, &self.channels[source.owner].bytes.device)?;
            then(index)?;
        }
        Ok(())
    }
}

impl ChannelReader {
    /// Starts the transfer of a part of a picture.
    fn upload(&mut self, queue: &Queue, part: &[u8]) -> Result<Event> {
        let over_bus = !queue.device().shares_host_memory;
        copy_to_pinned(part, &mut self.bytes.host.values_mut()[..part.len()], over_bus);
        let event = queue.upload(&self.bytes.host, &self.bytes.device, part.len())?;
        queue.flush()?;
        Ok(event)
    }

    /// Makes the plane of `bytes`.
    fn load(&self, channel: &IntegerChannel, convert: &Convert, bytes: &Buffer<u8>) -> Result<()> {
        let kernel = match *convert {
            Convert::Samples { at, down } => {
                let source = [at.offset, at.row_bytes, at.step, at.across, down];
                SOURCE.into_iter().zip(source).try_for_each(|(name, value)| self.samples.set(name, value.into()))?;
                &self.samples
            }
            // Other ways make no exact planes, and such pictures are refused.
            _ => &self.rgb,
        };
        kernel.set("in", bytes.arg())?;
        channel.launch(kernel, channel.width, channel.height)
    }
}

/// Kernels from planes to the bytes of a picture.
pub enum PictureWriter {
    /// All planes together, in the first channel's queue.
    Rgb {
        /// From all planes to pixels.
        merge: Kernel,
        /// The picture's bytes.
        picture: Staged<u8>,
    },
    /// Each plane alone.
    Planes(Vec<(Kernel, Staged<u8>)>),
}

impl PictureWriter {
    /// Creates the kernels for the planes of a stream's `channels`.
    pub fn new(channels: &[&IntegerChannel], params: &StreamParams) -> Result<Self> {
        let bytes = |channel: &IntegerChannel| params.codec.depth.bytes() * channel.width * channel.height;
        let program = |channel: &IntegerChannel| program(channel.queue.device(), params.codec.depth);
        if let (Chroma::Rgb, &[luma, blue, red]) = (params.chroma, channels) {
            let picture = Staged::new(&luma.queue, channels.iter().map(|channel| bytes(channel)).sum())?;
            let planes = [luma, blue, red].map(|channel| channel.transform.samples().0.arg());
            let out = [
                ("pitch", luma.transform.samples().1.into()),
                ("out", picture.device.arg()),
                ("width", luma.width.into()),
                ("height", luma.height.into()),
            ];
            let args = [&named(["luma", "blue", "red"], planes)[..], &out].concat();
            let merge = kernel(&*program(luma)?, "rct_merge", &args)?;
            return Ok(Self::Rgb { merge, picture });
        }
        let writer = |channel: &&IntegerChannel| {
            let (plane, pitch) = channel.transform.samples();
            let samples = Staged::new(&channel.queue, bytes(channel))?;
            let args = [
                ("in", plane.arg()),
                ("pitch", pitch.into()),
                ("out", samples.device.arg()),
                ("width", channel.width.into()),
                ("height", channel.height.into()),
            ];
            Ok((kernel(&*program(channel)?, "rct_bytes", &args)?, samples))
        };
        Ok(Self::Planes(channels.iter().map(writer).collect::<Result<_>>()?))
    }

    /// Starts to bring the plane of channel `index` to the host, if it goes there alone.
    pub fn start(&mut self, channel: &IntegerChannel, index: usize) -> Result<()> {
        let Self::Planes(planes) = self else { return Ok(()) };
        let (to_bytes, samples) = &mut planes[index];
        channel.launch(to_bytes, channel.width, channel.height)?;
        let len = samples.device.len();
        samples.download(&channel.queue, len)?;
        Ok(())
    }

    /// Waits for everything; `ends` are the last commands of all channels.
    pub fn finish(&mut self, channels: &[&IntegerChannel], ends: &[Event]) -> Result<()> {
        if let (Self::Rgb { merge, picture }, Some(first)) = (self, channels.first()) {
            first.queue.wait_for(ends)?;
            first.launch(merge, first.width, first.height)?;
            let len = picture.device.len();
            picture.download(&first.queue, len)?;
        }
        channels.iter().try_for_each(|channel| channel.queue.finish())
    }

    /// Fills a picture of the planes' size, after [`Self::finish`].
    pub fn fill(&self, out: &mut Picture) {
        let parts: Vec<&Staged<u8>> = match self {
            Self::Rgb { picture, .. } => vec![picture],
            Self::Planes(planes) => planes.iter().map(|(_, samples)| samples).collect(),
        };
        rayon::in_place_scope(|scope| {
            let mut rest = out.data_mut();
            for part in parts {
                let (own, others) = rest.split_at_mut(part.device.len());
                copy_in(scope, &part.host.values()[..own.len()], own);
                rest = others;
            }
        });
    }
}
