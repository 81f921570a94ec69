//! The OpenCL encoder: upload, transform and code every channel on its own queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::queue::{Queue, settled};
use device::timeline::{DeviceStage, Interval, Sampling, Timeline};
use device::{Device, Result};
use picture::coded::{CodedFrame, StepIndex};
use picture::params::StreamParams;

use super::block_coder::FrameCoder;
use super::blocks::ChannelBlocks;
use crate::motion::predictor::AloneEncoder;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::upload::Uploads;
use crate::opencl::{backend, open_on};
use crate::rate::RateControl;
use crate::reference::check_picture;
use crate::reference::quantise::DeadZone;
use crate::{BackendInfo, EncodeError, EncodeTimes, FrameEncoder, OpenError, PictureRef, Target};

/// Encoder on an OpenCL device.
pub struct OpenClEncoder {
    params: StreamParams,
    rate: RateControl,
    coder: FrameCoder,
    uploads: Uploads,
    sampling: Sampling,
    timeline: Timeline,
    times: EncodeTimes,
    backend: BackendInfo,
}

impl OpenClEncoder {
    /// Opens an encoder for the pictures of a stream on the device whose name contains `device`, or on the best one;
    /// `reason` says why this back end was chosen.
    pub fn open(params: &StreamParams, device: Option<&str>, reason: &str) -> Result<Self, OpenError> {
        open_on(device, |device| Self::new(device, params, reason))
    }

    /// Makes the same on this device with its settings.
    pub(crate) fn new(device: &Arc<Device>, params: &StreamParams, reason: &str) -> Result<Self, OpenError> {
        let (pipelines, layout) = ChannelPipeline::all(device, params)?;
        let uploads = Uploads::new(&pipelines, params, 1)?;
        let blocks = layout.blocks().len();
        let blocks_of = |p: &ChannelPipeline| ChannelBlocks::new(&p.queue, p.channel, &layout);
        let channel_blocks = pipelines.iter().map(blocks_of).collect::<Result<_, _>>()?;
        let (areas, rate) = areas_and_rate(device, blocks);
        Ok(Self {
            params: *params,
            rate,
            coder: FrameCoder::new(pipelines, channel_blocks, areas, DeadZone::OF_PICTURES)?,
            uploads,
            sampling: Sampling::default(),
            timeline: Timeline::default(),
            times: EncodeTimes::default(),
            backend: backend(device, reason),
        })
    }

    /// Sets whether transfers and kernels of different channels may run at the same time (they may unless this says
    /// otherwise): for measurements of what that gains.
    pub fn set_overlap(&mut self, overlap: bool) {
        self.coder.overlap = overlap;
    }

    /// Returns true if the driver lets several queues work at the same time at all (PoCL does so from version 6 on).
    pub fn can_overlap(&self) -> bool {
        self.queues().all(|queue| queue.device().queues_overlap)
    }

    /// Measures the next two frames and every `frames`-th one after the first of them: [`Self::timeline`] is of the
    /// last frame measured, and so are upload and transform in [`FrameEncoder::times`]. Where channels overlap, stages are
    /// measured and not their kernels, which would keep channels apart.
    pub fn measure_every(&mut self, frames: u64) {
        self.sampling = Sampling::every(frames);
    }

    /// Returns what the device did for the last frame that was measured.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn run(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        let start = Instant::now();
        let coder = &mut self.coder;
        coder.begin(&self.rate.first_steps(target));
        let measured = self.sampling.measures_next();
        coder.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(measured));
        coder.forward(&mut self.uploads, picture)?;
        let header = self.rate.code(coder, target)?;
        let (ends, data) = coder.collect(header, self.rate.lengths())?;
        if measured {
            self.timeline = coder.recorder.timeline()?;
        }
        self.times = times(&self.timeline, start.elapsed());
        Ok(CodedFrame { reference: 0, header, ends, data })
    }

    /// Codes a picture alone.
    pub fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        let result = self.run(picture, target);
        settled(result, self.queues())
    }

    fn run_fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool> {
        let coder = &mut self.coder;
        coder.begin(&[step]);
        coder.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(false));
        coder.forward(&mut self.uploads, picture)?;
        let fits = self.rate.fits(coder, step, bytes)?;
        // It may be known before all channels have been coded.
        coder.pipelines.iter().try_for_each(|pipeline| pipeline.queue.finish())?;
        Ok(fits)
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.coder.pipelines.iter().map(|pipeline| &pipeline.queue)
    }
}

impl FrameEncoder for OpenClEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        Self::encode(self, picture, target)
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

impl AloneEncoder for OpenClEncoder {
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError> {
        check_picture(picture, self.params.size)?;
        let result = self.run_fits(picture, step, bytes);
        Ok(settled(result, self.queues())?)
    }
}

/// Blocks that a processor codes at a time near the budget.
const CHUNK: usize = 160;

/// Areas of a device that codes whole frames.
const AREAS: usize = 3;

/// Returns the areas of a device's [`FrameCoder`], and the rate control of its frames of so many blocks.
pub(crate) fn areas_and_rate(device: &Device, blocks: usize) -> (usize, RateControl) {
    // It takes as long for some blocks as for many: graphics cards do.
    let codes_whole_frames = device.tuning.block_group_size > 1;
    if codes_whole_frames { (AREAS, RateControl::new(blocks, blocks)) } else { (1, RateControl::new(blocks, CHUNK)) }
}

/// Divides the `total` of a frame: the uploads of samples, then the transforms as far as they were not hidden behind
/// them, then everything else.
fn times(timeline: &Timeline, total: Duration) -> EncodeTimes {
    let transforms = timeline.intervals.iter().filter(|i| i.stage == DeviceStage::Transform);
    let coefficients_ns = transforms.map(|i| i.end_ns).max().unwrap_or(0);
    let first =
        |i: &&Interval| matches!(i.stage, DeviceStage::Upload | DeviceStage::Transform) && i.start_ns < coefficients_ns;
    let first = Timeline { intervals: timeline.intervals.iter().filter(first).copied().collect() };
    let upload = Duration::from_nanos(first.busy_ns(DeviceStage::Upload));
    let both = Duration::from_nanos(first.span_ns());
    EncodeTimes {
        upload,
        transform: both.saturating_sub(upload),
        code: total.saturating_sub(both.max(upload)),
        device: Duration::from_nanos(timeline.computing_ns()),
        ..EncodeTimes::default()
    }
}
