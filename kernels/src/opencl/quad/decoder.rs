//! The OpenCL decoder: every channel uploads its blocks' bytes, decodes, transforms back and rounds on its own queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::copy::copy_planes;
use device::queue::{Event, settled, wait};
use device::timeline::{DeviceStage, Recorder, Sampling, Timeline};
use device::{Device, Result};
use picture::coded::{FrameHeader, ReceivedFrame};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::block_decoder::ChannelDecoder;
use super::blocks::{ChannelBlocks, Square};
use crate::opencl::backend;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::download::Downloader;
use crate::reference::check_decode;
use crate::{BackendInfo, DecodeError, DecodeTimes, FrameDecoder, OpenError, Picture};

/// Decoder on an OpenCL device.
pub(crate) struct OpenClDecoder {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    channels: Vec<ChannelDecoder>,
    downloaders: Vec<Downloader>,
    recorder: Recorder,
    sampling: Sampling,
    timeline: Timeline,
    times: DecodeTimes,
    damaged: u64,
    backend: BackendInfo,
}

impl OpenClDecoder {
    /// Makes a decoder for the blocks of `layout`, a stream's or what is left of it without the finest levels, on this
    /// device with its settings; `reason` says why this back end was chosen.
    pub(crate) fn new(
        device: &Arc<Device>,
        params: &StreamParams,
        layout: BlockLayout,
        reason: &str,
    ) -> Result<Self, OpenError> {
        let pipelines = ChannelPipeline::of_layout(device, params, &layout, true)?;
        let dropped = layout.dropped_levels();
        let channel = |pipeline: &ChannelPipeline| {
            let blocks = ChannelBlocks::new(&pipeline.queue, pipeline.channel, &layout)?;
            ChannelDecoder::new(Square::from(pipeline), blocks, dropped)
        };
        let channels = pipelines.iter().map(channel).collect::<Result<_, _>>()?;
        let downloaders = pipelines.iter().map(Downloader::new).collect::<Result<_, _>>()?;
        Ok(Self {
            params: *params,
            layout,
            pipelines,
            channels,
            downloaders,
            recorder: Recorder::default(),
            sampling: Sampling::default(),
            timeline: Timeline::default(),
            times: DecodeTimes::default(),
            damaged: 0,
            backend: backend(device, reason),
        })
    }

    /// Starts decoding the blocks of a channel, which are in its pinned memory.
    fn start(&mut self, channel: usize, header: FrameHeader) -> Result<()> {
        let (pipeline, recorder) = (&self.pipelines[channel], &mut self.recorder);
        let (upload, decoding) = self.channels[channel].start(&pipeline.queue, header)?;
        recorder.note(pipeline.channel, DeviceStage::Upload, upload);
        if let Some(event) = decoding {
            pipeline.begin(&event, recorder);
            recorder.note(pipeline.channel, DeviceStage::Code, event);
        }
        Ok(())
    }

    /// Transforms a channel back and starts to bring it to the host: the events of its samples and of everything.
    fn bring(&mut self, channel: usize) -> Result<[Event; 2]> {
        let (pipeline, recorder) = (&self.pipelines[channel], &mut self.recorder);
        let samples = self.downloaders[channel].run(pipeline, recorder)?;
        let damaged = self.channels[channel].fetch_damaged(&pipeline.queue)?;
        recorder.note(pipeline.channel, DeviceStage::Download, damaged.clone());
        Ok([samples, damaged])
    }

    fn run(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<()> {
        let start = Instant::now();
        self.recorder.clear();
        let measured = self.sampling.measures_next();
        self.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(measured));
        let (mut running, mut damaged) = (Vec::with_capacity(self.pipelines.len()), 0);
        for (channel, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            damaged += channel.fill(&pipeline.queue, frame, 0)?;
        }
        // All channels' blocks go first: they take the longest.
        for index in 0..self.pipelines.len() {
            self.start(index, frame.header)?;
        }
        for index in 0..self.pipelines.len() {
            running.push(self.bring(index)?);
        }
        let planes =
            self.downloaders.iter().zip(&running).map(|(downloader, [there, _])| (downloader.samples(), there));
        copy_planes(planes, out.data_mut())?;
        for (channel, [_, end]) in self.channels.iter().zip(&running) {
            wait(std::slice::from_ref(end))?;
            damaged += channel.damaged();
        }
        self.damaged += damaged;
        if measured {
            self.timeline = self.recorder.timeline()?;
        }
        self.times = times(&self.timeline, start.elapsed());
        Ok(())
    }
}

impl FrameDecoder for OpenClDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        check_decode(frame, out, &self.params, &self.layout)?;
        let result = self.run(frame, out);
        Ok(settled(result, self.pipelines.iter().map(|pipeline| &pipeline.queue))?)
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

/// Divides the `total` of a frame in the ratio of the device's time for block decoder, prediction (none of most) and
/// inverse transform.
pub(in crate::opencl) fn times(timeline: &Timeline, total: Duration) -> DecodeTimes {
    let stages = [DeviceStage::Code, DeviceStage::Compensate, DeviceStage::Transform];
    let [code, compensate, transform] = stages.map(|stage| timeline.busy_ns(stage));
    let part = |stage: u64| total.mul_f64(stage as f64 / (code + compensate + transform).max(1) as f64);
    let (decode, compensate) = (part(code), part(compensate));
    let device = Duration::from_nanos(timeline.computing_ns());
    DecodeTimes { decode, compensate, inverse: total.saturating_sub(decode + compensate), device }
}
