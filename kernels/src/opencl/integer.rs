//! Planes of integers on the device, exactly: what all lossless codes share. Every channel has its own queue.

use std::sync::Arc;

use common::frame::{BitDepth, Channel, Chroma};
use common::params::StreamParams;
use common::pyramid::Pyramid;
use ocl::core::OclPrm;

use super::choice::Schemes;
use super::copy::{copy_in, copy_to_pinned};
use super::device::Device;
use super::kernel::{Arg, Kernel, Program, kernel, set};
use super::memory::Memory;
use super::queue::{Buffer, Event, Pinned, Queue};
use super::source::{self, Convert};
use super::transform::ChannelTransform;
use crate::{Error, Picture, PictureRef, TransformParams};

/// Work-items in a group.
pub(super) const LSIZE: usize = 64;

/// Device memory, and pinned host memory of the same size from and to which it is copied.
pub(super) struct Staged<T: OclPrm> {
    pub(super) device: Buffer<T>,
    pub(super) host: Pinned<T>,
}

impl<T: OclPrm> Staged<T> {
    /// Adds what [`Self::new`] allocates.
    pub(super) fn memory(len: usize, memory: &mut Memory) {
        memory.buffers::<T>(&[len]);
        memory.pinned::<T>(&[len]);
    }

    pub(super) fn new(queue: &Queue, len: usize) -> Result<Self, Error> {
        Ok(Self { device: queue.buffer(len)?, host: queue.pinned(len)? })
    }

    /// Makes room for `len` values; whether that took other memory, in which nothing is yet.
    pub(super) fn grow(&mut self, queue: &Queue, len: usize) -> Result<bool, Error> {
        let is_short = len > self.device.len();
        if is_short {
            *self = Self::new(queue, len + len / 4)?;
        }
        Ok(is_short)
    }

    /// Starts copying `values`, at least one and no more than there is room for, to the device.
    pub(super) fn upload(&mut self, queue: &Queue, values: &[T]) -> Result<Event, Error> {
        self.host.values_mut()[..values.len()].copy_from_slice(values);
        queue.upload(&self.host, &self.device, values.len())
    }

    /// Starts copying the first `len` values to the host.
    pub(super) fn download(&mut self, queue: &Queue, len: usize) -> Result<Event, Error> {
        queue.download(&self.device, &mut self.host, len)
    }
}

/// A channel to come, of which it is known what it will allocate.
pub(super) struct Plan {
    channel: Channel,
    pub(super) queue: Queue,
    pub(super) pyramid: Pyramid,
    schemes: Schemes<i32>,
}

impl Plan {
    /// Those of all channels of a stream whose planes are these `pyramids`.
    pub(super) fn all(device: &Arc<Device>, params: &StreamParams, pyramids: &[Pyramid]) -> Result<Vec<Self>, Error> {
        let transform = TransformParams::from(params);
        let plan = |(&channel, pyramid): (&Channel, &Pyramid)| {
            let queue = Queue::with(device, false)?;
            let schemes = Schemes::open(&queue, &transform, pyramid)?;
            Ok(Self { channel, queue, pyramid: pyramid.clone(), schemes })
        };
        params.chroma.channels().iter().zip(pyramids).map(plan).collect()
    }

    /// Adds what [`Self::open`] allocates.
    pub(super) fn memory(&self, memory: &mut Memory) {
        ChannelTransform::memory(&self.pyramid, &self.schemes, memory);
    }

    /// The channel.
    pub(super) fn open(self) -> Result<IntegerChannel, Error> {
        let plane = self.pyramid.plane();
        Ok(IntegerChannel {
            channel: self.channel,
            width: plane.width(),
            height: plane.height(),
            side: self.pyramid.side(),
            transform: ChannelTransform::new(&self.queue, &self.pyramid, &self.schemes)?,
            queue: self.queue,
        })
    }
}

/// Queue, plane and transform of one channel.
pub(super) struct IntegerChannel {
    pub(super) channel: Channel,
    pub(super) queue: Queue,
    pub(super) width: usize,
    pub(super) height: usize,
    /// Side of the square of coefficients.
    pub(super) side: usize,
    pub(super) transform: ChannelTransform<i32>,
}

impl IntegerChannel {
    /// Runs a kernel with a work-item for every column and row of these.
    pub(super) fn launch(&self, kernel: &Kernel, columns: usize, rows: usize) -> Result<(), Error> {
        if columns > 0 && rows > 0 {
            self.queue.launch(kernel, [columns.div_ceil(LSIZE), rows], [LSIZE, 1], &[])?;
        }
        Ok(())
    }
}

/// Kernels between samples of `depth` and planes.
fn program(device: &Device, depth: BitDepth) -> Result<Program, Error> {
    device.build(&[include_str!("../../cl/rct.cl")], &format!("-D SAMPLE_BITS={}", depth.bits()))
}

/// From the bytes of pictures to the planes of all channels.
pub(super) struct Reader {
    params: StreamParams,
    channels: Vec<ChannelReader>,
}

struct ChannelReader {
    bytes: Staged<u8>,
    samples: Kernel,
    rgb: Kernel,
}

impl Reader {
    /// Most bytes of a picture that each channel uploads.
    fn capacities(params: &StreamParams) -> impl Iterator<Item = usize> {
        let (depth, size, chroma) = (params.codec.depth, params.size, params.chroma);
        let channels = chroma.channels().iter();
        channels.map(move |&channel| depth.bytes() * source::capacity(size, chroma, channel))
    }

    /// Adds what [`Self::new`] allocates.
    pub(super) fn memory(params: &StreamParams, memory: &mut Memory) {
        Self::capacities(params).for_each(|capacity| Staged::<u8>::memory(capacity, memory));
    }

    /// For pictures of a stream.
    pub(super) fn new(channels: &[&IntegerChannel], params: &StreamParams) -> Result<Self, Error> {
        let reader = |(channel, capacity): (&&IntegerChannel, _)| {
            let program = program(channel.queue.device(), params.codec.depth)?;
            let (samples, rgb) = (kernel(&program, "rct_samples", &[])?, kernel(&program, "rct_split", &[])?);
            Ok(ChannelReader { bytes: Staged::new(&channel.queue, capacity)?, samples, rgb })
        };
        let channels = channels.iter().zip(Self::capacities(params)).map(reader).collect::<Result<_, Error>>()?;
        Ok(Self { params: *params, channels })
    }

    /// Starts to bring `picture`, of which [`crate::reference::rct::check_exact`] holds, to the planes of all `channels`, and calls
    /// `then` when that of a channel is queued.
    pub(super) fn run(
        &mut self,
        channels: &[&IntegerChannel],
        picture: PictureRef<'_>,
        mut then: impl FnMut(usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
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
    fn upload(&mut self, queue: &Queue, part: &[u8]) -> Result<Event, Error> {
        let over_bus = !queue.device().shares_host_memory;
        copy_to_pinned(part, &mut self.bytes.host.values_mut()[..part.len()], over_bus);
        let event = queue.upload(&self.bytes.host, &self.bytes.device, part.len())?;
        queue.flush()?;
        Ok(event)
    }

    /// Makes the plane of `bytes`.
    fn load(&self, channel: &IntegerChannel, convert: &Convert, bytes: &Buffer<u8>) -> Result<(), Error> {
        let (plane, pitch) = channel.transform.samples();
        let mut args = vec![bytes.arg()];
        let kernel = match *convert {
            Convert::Samples { at, down } => {
                args.extend([at.offset, at.row_bytes, at.step, at.across, down].map(Arg::from));
                &self.samples
            }
            // Other ways make no exact planes, and such pictures are refused.
            _ => {
                args.push(channel.channel.index().into());
                &self.rgb
            }
        };
        args.extend([plane.arg(), pitch.into(), channel.width.into(), channel.height.into()]);
        for (index, arg) in args.into_iter().enumerate() {
            set(kernel, index as u32, arg)?;
        }
        channel.launch(kernel, channel.width, channel.height)
    }
}

/// From planes to the bytes of a picture.
pub(super) enum Writer {
    /// All planes together, in the first channel's queue.
    Rgb { merge: Kernel, picture: Staged<u8> },
    /// Each plane alone.
    Planes(Vec<(Kernel, Staged<u8>)>),
}

impl Writer {
    fn bytes(params: &StreamParams, pyramids: &[Pyramid]) -> Vec<usize> {
        let sample = params.codec.depth.bytes();
        let planes = pyramids.iter().map(|pyramid| sample * pyramid.plane().pixels());
        if params.chroma == Chroma::Rgb { vec![planes.sum()] } else { planes.collect() }
    }

    /// Adds what [`Self::new`] allocates.
    pub(super) fn memory(params: &StreamParams, pyramids: &[Pyramid], memory: &mut Memory) {
        Self::bytes(params, pyramids).into_iter().for_each(|bytes| Staged::<u8>::memory(bytes, memory));
    }

    /// For the planes of a stream's `channels`, which are `pyramids`.
    pub(super) fn new(
        channels: &[&IntegerChannel],
        params: &StreamParams,
        pyramids: &[Pyramid],
    ) -> Result<Self, Error> {
        let bytes = Self::bytes(params, pyramids);
        let program = |channel: &IntegerChannel| program(channel.queue.device(), params.codec.depth);
        if let (Chroma::Rgb, &[luma, blue, red]) = (params.chroma, channels) {
            let picture = Staged::new(&luma.queue, bytes[0])?;
            let planes = [luma, blue, red].map(|channel| channel.transform.samples().0.arg());
            let pitch = luma.transform.samples().1;
            let out = [pitch.into(), picture.device.arg(), luma.width.into(), luma.height.into()];
            let merge = kernel(&*program(luma)?, "rct_merge", &[&planes[..], &out].concat())?;
            return Ok(Self::Rgb { merge, picture });
        }
        let writer = |(channel, bytes): (&&IntegerChannel, usize)| {
            let (plane, pitch) = channel.transform.samples();
            let samples = Staged::new(&channel.queue, bytes)?;
            let args = [plane.arg(), pitch.into(), samples.device.arg(), channel.width.into(), channel.height.into()];
            Ok((kernel(&*program(channel)?, "rct_bytes", &args)?, samples))
        };
        Ok(Self::Planes(channels.iter().zip(bytes).map(writer).collect::<Result<_, Error>>()?))
    }

    /// Starts to bring the plane of channel `index` to the host, if it goes there alone.
    pub(super) fn start(&mut self, channel: &IntegerChannel, index: usize) -> Result<(), Error> {
        let Self::Planes(planes) = self else { return Ok(()) };
        let (to_bytes, samples) = &mut planes[index];
        channel.launch(to_bytes, channel.width, channel.height)?;
        let len = samples.device.len();
        samples.download(&channel.queue, len)?;
        Ok(())
    }

    /// Waits for everything; `ends` are the last commands of all channels.
    pub(super) fn finish(&mut self, channels: &[&IntegerChannel], ends: &[Event]) -> Result<(), Error> {
        if let (Self::Rgb { merge, picture }, Some(first)) = (self, channels.first()) {
            first.queue.wait_for(ends)?;
            first.launch(merge, first.width, first.height)?;
            let len = picture.device.len();
            picture.download(&first.queue, len)?;
        }
        channels.iter().try_for_each(|channel| channel.queue.finish())
    }

    /// Fills a picture of the planes' size, after [`Self::finish`].
    pub(super) fn fill(&self, out: &mut Picture) {
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
