//! The way of pictures to the device: pinned memory for one picture, and for each channel the bytes that it uploads and
//! what reads them.

use std::ops::Range;

use device::Result;
use device::copy::copy_to_pinned;
use device::queue::{Buffer, Event, Pinned, Queue};
use device::timeline::{DeviceStage, Recorder};
use picture::frame::{FrameSize, PixelFormat};
use picture::params::StreamParams;

use super::channel::ChannelPipeline;
use super::ends::{First, RowProgress};
use super::source::{self, Source};
use crate::PictureRef;

/// Place of a picture's bytes.
#[derive(Clone, Copy)]
pub enum PicturePlace<'a> {
    /// In [`Uploads::staging`] already.
    Staged(PixelFormat),
    /// Anywhere; they are copied to the pinned memory first.
    Host(PictureRef<'a>),
}

/// Memory and kernels for pictures of any format of a stream's size.
pub struct Uploads {
    params: StreamParams,
    staging: Pinned<u8>,
    channels: Vec<ChannelUpload>,
    /// In how many horizontal stripes a picture travels.
    stripes: usize,
    /// True for [`Self::planes`], false for [`Self::forward`].
    to_planes: bool,
    /// Queue of the stripes, so that the kernels of one run beside the copy of the next.
    stripe_queue: Queue,
    /// Everything that may use the staging memory.
    queues: Vec<Queue>,
}

/// Memory and kernels of one channel.
struct ChannelUpload {
    bytes: Buffer<u8>,
    /// For the format of the last picture.
    start: Option<(PixelFormat, Start)>,
}

/// Start of a channel with the pictures of a format.
struct Start {
    source: Source,
    first: First,
}

impl Uploads {
    /// Creates the upload for the stream of `pipelines`, at least one. Pictures travel in `stripes` stripes.
    pub fn new(pipelines: &[ChannelPipeline], params: &StreamParams, stripes: usize) -> Result<Self> {
        Self::with(pipelines, params, stripes, false)
    }

    /// Creates the upload for [`Self::planes`].
    pub(crate) fn to_planes(pipelines: &[ChannelPipeline], params: &StreamParams) -> Result<Self> {
        Self::with(pipelines, params, 1, true)
    }

    fn with(pipelines: &[ChannelPipeline], params: &StreamParams, stripes: usize, to_planes: bool) -> Result<Self> {
        let first = &pipelines[0];
        let stripe_queue = if stripes > 1 { first.queue.beside()? } else { first.queue.clone() };
        let channel = |pipeline: &ChannelPipeline| {
            let capacity = source::capacity(params.size, params.chroma, pipeline.channel);
            Ok(ChannelUpload { bytes: pipeline.queue.buffer(capacity)?, start: None })
        };
        let queues = pipelines.iter().map(|p| p.queue.clone()).chain([stripe_queue.clone()]).collect();
        let mut uploads = Self {
            params: *params,
            staging: first.queue.pinned(picture_bytes(params.size))?,
            channels: pipelines.iter().map(channel).collect::<Result<_>>()?,
            stripes: stripes.max(1),
            to_planes,
            stripe_queue,
            queues,
        };
        // So that the first frame does not wait for a compiler, unless its format is another one.
        uploads.prepare(pipelines, params.chroma.picture_format())?;
        Ok(uploads)
    }

    /// Returns the pinned memory, for a picture of any format. No upload may be under way.
    pub fn staging(&mut self) -> &mut [u8] {
        self.staging.values_mut()
    }

    /// Uploads a picture, transforms every channel and queues what comes `then` for each; notes the commands. With
    /// `overlap` false one channel ends before the next one starts.
    pub fn forward(
        &mut self,
        pipelines: &[ChannelPipeline],
        origin: PicturePlace<'_>,
        overlap: bool,
        recorder: &mut Recorder,
        mut then: impl FnMut(usize, &mut Recorder) -> Result<()>,
    ) -> Result<()> {
        self.bring(pipelines, origin, recorder, |index, first, recorder| {
            first.rest(&pipelines[index], recorder)?;
            then(index, recorder)?;
            if overlap { Ok(()) } else { pipelines[index].queue.finish() }
        })
    }

    /// Uploads a picture and makes the plane of every channel; notes the commands.
    pub(crate) fn planes(
        &mut self,
        pipelines: &[ChannelPipeline],
        picture: PictureRef<'_>,
        recorder: &mut Recorder,
    ) -> Result<()> {
        self.bring(pipelines, PicturePlace::Host(picture), recorder, |_, _, _| Ok(()))
    }

    /// Uploads a picture, runs what comes first for every channel and queues what comes `then`; notes the commands.
    fn bring(
        &mut self,
        pipelines: &[ChannelPipeline],
        origin: PicturePlace<'_>,
        recorder: &mut Recorder,
        mut then: impl FnMut(usize, &First, &mut Recorder) -> Result<()>,
    ) -> Result<()> {
        let format = match origin {
            PicturePlace::Staged(format) => format,
            PicturePlace::Host(picture) => {
                // All at once: threads take as long to wake up as to copy.
                let over_bus = !self.stripe_queue.device().shares_host_memory;
                copy_to_pinned(picture.data(), &mut self.staging.values_mut()[..picture.data().len()], over_bus);
                picture.format()
            }
        };
        self.prepare(pipelines, format)?;
        let mut uploaded: Vec<Vec<Event>> = vec![Vec::new(); pipelines.len()];
        for (index, pipeline) in pipelines.iter().enumerate() {
            let mut progress = RowProgress::default();
            for stripe in 0..self.stripes {
                let Some((_, Start { source, first })) = &self.channels[index].start else { continue };
                let rows = stripe_rows(self.params.size.height(), stripe, self.stripes);
                if source.owner == index && !source.bytes.is_empty() {
                    let event = self.upload(index, pipeline, source, &rows)?;
                    recorder.note(pipeline.channel, DeviceStage::Upload, event.clone());
                    uploaded[index].push(event);
                }
                // What the own queue uploaded comes before in the queue, and stripes come one after another.
                let own = source.owner == index && self.stripes == 1;
                let after: Vec<_> = uploaded[source.owner].get(stripe).filter(|_| !own).cloned().into_iter().collect();
                if let Some(upload) = uploaded[source.owner].first().filter(|_| stripe == 0) {
                    pipeline.begin(upload, recorder);
                }
                let there = scaled(&rows, pipeline.height < self.params.size.height()).end;
                first.run(pipeline, there, &mut progress, &after, recorder)?;
            }
            if let Some((_, Start { first, .. })) = &self.channels[index].start {
                then(index, first, recorder)?;
            }
            pipeline.queue.flush()?;
        }
        Ok(())
    }

    /// Builds and keeps what pictures of this format start with.
    fn prepare(&mut self, pipelines: &[ChannelPipeline], format: PixelFormat) -> Result<()> {
        let StreamParams { size, chroma, .. } = self.params;
        for (index, pipeline) in pipelines.iter().enumerate() {
            if matches!(self.channels[index].start, Some((of, _)) if of == format) {
                continue;
            }
            let source = source::source(format, size, chroma, pipeline.channel);
            let bytes = &self.channels[source.owner].bytes;
            let first = if self.to_planes {
                First::plane(pipeline, source.convert, bytes, size)?
            } else {
                First::new(pipeline, source.convert, bytes, size)?
            };
            self.channels[index].start = Some((format, Start { source, first }));
        }
        Ok(())
    }

    /// Returns the bytes of the picture that `source` has of its `rows`.
    fn range(&self, source: &Source, rows: &Range<usize>) -> Range<usize> {
        let row_bytes = source.bytes.len() / source.rows;
        let rows = scaled(rows, source.rows < self.params.size.height());
        source.bytes.start + rows.start * row_bytes..source.bytes.start + rows.end * row_bytes
    }

    /// Uploads what `source` has of the picture's `rows`.
    fn upload(&self, index: usize, pipeline: &ChannelPipeline, source: &Source, rows: &Range<usize>) -> Result<Event> {
        let range = self.range(source, rows);
        let queue = if self.stripes > 1 { &self.stripe_queue } else { &pipeline.queue };
        let to = range.start - source.bytes.start;
        let event = queue.upload_range(&self.staging, range.start, &self.channels[index].bytes, to, range.len())?;
        queue.flush()?;
        Ok(event)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        // Nothing may read the staging memory any more.
        self.queues.iter().for_each(Queue::settle);
    }
}

/// Returns the most bytes of a picture of any format.
fn picture_bytes(size: FrameSize) -> usize {
    PixelFormat::ALL.into_iter().map(|format| format.bytes(size)).max().unwrap_or(0)
}

/// Returns the picture's rows in stripe `index` of `stripes`; all but the last one end at an even row.
fn stripe_rows(height: usize, index: usize, stripes: usize) -> Range<usize> {
    let cut = |index: usize| if index == stripes { height } else { (height * index / stripes) & !1 };
    cut(index)..cut(index + 1)
}

/// Returns the rows of a plane that has half as many, rounded up, if it is `halved`. Stripes start at even rows.
fn scaled(rows: &Range<usize>, halved: bool) -> Range<usize> {
    if halved { rows.start / 2..rows.end.div_ceil(2) } else { rows.clone() }
}
