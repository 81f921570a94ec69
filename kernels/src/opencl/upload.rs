//! The way of pictures to the device: pinned memory for one picture, and for each channel the bytes that it uploads and
//! the kernels that make a plane of them.

use std::ops::Range;

use common::frame::{Channel, FrameSize, PixelFormat};
use common::params::StreamParams;

use super::channel::ChannelPipeline;
use super::kernel::{Arg, Kernel, kernel, set};
use super::memory::Memory;
use super::queue::{Buffer, Event, Pinned, Queue, copy_bytes};
use super::source::{self, Convert, Source};
use super::timeline::{Recorder, Stage};
use crate::reference::colour::RGB_TO_YCBCR;
use crate::{Error, PictureRef};

/// All formats, of which the longest decides how much memory a picture takes.
const FORMATS: [PixelFormat; 7] = [
    PixelFormat::Rgb8,
    PixelFormat::YCbCr8,
    PixelFormat::Yuyv,
    PixelFormat::Nv12,
    PixelFormat::I420,
    PixelFormat::I444,
    PixelFormat::Grey8,
];

/// Where the bytes of a picture are.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// In [`Uploads::staging`] already.
    Staged(PixelFormat),
    /// Anywhere; they are copied to the pinned memory stripe by stripe.
    Host(PictureRef<'a>),
}

/// Memory and kernels for pictures of any format of a stream's size.
pub(super) struct Uploads {
    params: StreamParams,
    staging: Pinned<u8>,
    channels: Vec<ChannelUpload>,
    /// In how many horizontal stripes a picture travels.
    stripes: usize,
    /// Where stripes travel, so that the kernels of one run beside the copy of the next.
    stripe_queue: Queue,
    /// Everything that may use the staging memory.
    queues: Vec<Queue>,
}

/// Memory and kernels of one channel.
struct ChannelUpload {
    bytes: Buffer<u8>,
    zero: Kernel,
    samples: Kernel,
    means: Kernel,
    rgb: Kernel,
    rgb_means: Kernel,
}

impl Uploads {
    /// Adds what [`Self::new`] allocates.
    pub(super) fn memory(params: &StreamParams, memory: &mut Memory) {
        memory.pinned::<u8>(&[picture_bytes(params.size)]);
        for &channel in params.chroma.channels() {
            memory.buffers::<u8>(&[source::capacity(params.size, params.chroma, channel)]);
        }
    }

    /// For the stream of `pipelines`, of which there is at least one. Pictures travel in `stripes` stripes.
    pub(super) fn new(pipelines: &[ChannelPipeline], params: &StreamParams, stripes: usize) -> Result<Self, Error> {
        let Some(first) = pipelines.first() else {
            return Err(Error::Device { call: "clCreateBuffer", reason: "a stream without channels".to_owned() });
        };
        let stripe_queue = if stripes > 1 { first.queue.beside()? } else { first.queue.clone() };
        let channel = |pipeline: &ChannelPipeline| {
            let kernel = |name| kernel(&pipeline.program, name, &[]);
            let capacity = source::capacity(params.size, params.chroma, pipeline.channel);
            Ok(ChannelUpload {
                bytes: pipeline.queue.buffer(capacity)?,
                zero: kernel("plane_zero")?,
                samples: kernel("plane_samples")?,
                means: kernel("plane_means")?,
                rgb: kernel("plane_from_rgb")?,
                rgb_means: kernel("plane_from_rgb_means")?,
            })
        };
        let queues = pipelines.iter().map(|p| p.queue.clone()).chain([stripe_queue.clone()]).collect();
        Ok(Self {
            params: *params,
            staging: first.queue.pinned(picture_bytes(params.size))?,
            channels: pipelines.iter().map(channel).collect::<Result<_, Error>>()?,
            stripes: stripes.max(1),
            stripe_queue,
            queues,
        })
    }

    /// The pinned memory, for a picture of any format. No upload may be under way.
    pub(super) fn staging(&mut self) -> &mut [u8] {
        self.staging.values_mut()
    }

    /// Uploads a picture, transforms every channel and queues what comes `then` for each; notes the commands. With
    /// `overlap` false one channel ends before the next one starts.
    pub(super) fn forward(
        &mut self,
        pipelines: &[ChannelPipeline],
        origin: Origin<'_>,
        overlap: bool,
        recorder: &mut Recorder,
        mut then: impl FnMut(usize, &mut Recorder) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let format = match origin {
            Origin::Staged(format) => format,
            Origin::Host(picture) => picture.format(),
        };
        let mut uploaded: Vec<Vec<Event>> = vec![Vec::new(); pipelines.len()];
        for (index, pipeline) in pipelines.iter().enumerate() {
            let source = source::source(format, self.params.size, self.params.chroma, pipeline.channel);
            for stripe in 0..self.stripes {
                let rows = stripe_rows(self.params.size.height(), stripe, self.stripes);
                if source.owner == index && !source.bytes.is_empty() {
                    let event = self.upload(index, pipeline, &source, &rows, origin)?;
                    recorder.note(pipeline.channel, Stage::Upload, event.clone());
                    uploaded[index].push(event);
                }
                // What the own queue uploaded comes before in the queue.
                let own = source.owner == index && self.stripes == 1;
                let after: Vec<_> = uploaded[source.owner].get(stripe).filter(|_| !own).cloned().into_iter().collect();
                let event = self.convert(index, pipeline, &source, &rows, &after)?;
                recorder.note(pipeline.channel, Stage::Transform, event);
            }
            pipeline.split(recorder)?;
            then(index, recorder)?;
            if overlap { pipeline.queue.flush()? } else { pipeline.queue.finish()? }
        }
        Ok(())
    }

    /// Uploads what `source` has of the picture's `rows`.
    fn upload(
        &mut self,
        index: usize,
        pipeline: &ChannelPipeline,
        source: &Source,
        rows: &Range<usize>,
        origin: Origin<'_>,
    ) -> Result<Event, Error> {
        let row_bytes = source.bytes.len() / source.rows;
        let rows = scaled(rows, source.rows < self.params.size.height());
        let (from, to) = (rows.start * row_bytes, rows.end * row_bytes);
        let range = source.bytes.start + from..source.bytes.start + to;
        if let Origin::Host(picture) = origin {
            copy_bytes(&picture.data()[range.clone()], &mut self.staging.values_mut()[range.clone()]);
        }
        let queue = if self.stripes > 1 { &self.stripe_queue } else { &pipeline.queue };
        let event = queue.upload_range(&self.staging, range.start, &self.channels[index].bytes, from, range.len())?;
        queue.flush()?;
        Ok(event)
    }

    /// Makes what the plane of a channel has of the picture's `rows`.
    fn convert(
        &self,
        index: usize,
        pipeline: &ChannelPipeline,
        source: &Source,
        rows: &Range<usize>,
        after: &[Event],
    ) -> Result<Option<Event>, Error> {
        let (upload, bytes) = (&self.channels[index], &self.channels[source.owner].bytes);
        let (plane, pitch) = pipeline.transform.samples();
        let size = [self.params.size.width(), self.params.size.height()].map(Arg::from);
        let mut args = Vec::with_capacity(12);
        let kernel = match source.convert {
            Convert::Zero => &upload.zero,
            Convert::Samples { at, down } => {
                args.extend([bytes.arg(), at.offset.into(), at.row_bytes.into(), at.step.into(), at.across.into()]);
                args.push(down.into());
                &upload.samples
            }
            Convert::Means { at } => {
                args.extend([bytes.arg(), at.offset.into(), at.row_bytes.into(), at.step.into(), at.across.into()]);
                args.extend(size);
                &upload.means
            }
            Convert::Rgb => {
                args.push(bytes.arg());
                args.extend(rgb_weights(pipeline.channel));
                args.extend(size);
                &upload.rgb
            }
            Convert::RgbMeans => {
                args.push(bytes.arg());
                args.extend(rgb_weights(pipeline.channel));
                args.extend(size);
                &upload.rgb_means
            }
        };
        args.extend([plane.arg(), pitch.into(), pipeline.width.into()]);
        for (index, arg) in args.into_iter().enumerate() {
            set(kernel, index as u32, arg)?;
        }
        pipeline.launch_rows(kernel, scaled(rows, pipeline.height < self.params.size.height()), after)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        // Nothing may read the staging memory any more.
        self.queues.iter().for_each(Queue::settle);
    }
}

fn rgb_weights(channel: Channel) -> [Arg<'static>; 4] {
    let ([r, g, b], constant) = RGB_TO_YCBCR[channel.index()];
    [r, g, b, constant].map(Arg::Float)
}

/// Most bytes of a picture of any format.
fn picture_bytes(size: FrameSize) -> usize {
    FORMATS.into_iter().map(|format| format.bytes(size)).max().unwrap_or(0)
}

/// The picture's rows in stripe `index` of `stripes`; all but the last one end at an even row.
fn stripe_rows(height: usize, index: usize, stripes: usize) -> Range<usize> {
    let cut = |index: usize| if index == stripes { height } else { (height * index / stripes) & !1 };
    cut(index)..cut(index + 1)
}

/// The rows of a plane that has half as many, rounded up, if it is `halved`. Stripes start at even rows.
fn scaled(rows: &Range<usize>, halved: bool) -> Range<usize> {
    if halved { rows.start / 2..rows.end.div_ceil(2) } else { rows.clone() }
}
