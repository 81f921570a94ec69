//! The decoder of predicted frames: blocks and transform as of other frames (`quad`), then the prediction from a state in device
//! memory and what the blocks add to it, which is the next state there, and its picture on the host.

use std::sync::Arc;
use std::time::Instant;

use device::copy::copy_planes;
use device::queue::{Event, Pinned, settled, wait};
use device::timeline::{DeviceStage, Recorder, Sampling, Timeline};
use device::{Device, Result};
use picture::coded::ReceivedFrame;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::channel::ChannelPrediction;
use super::dering::ChannelDering;
use super::params::FieldCells;
use super::states::{DeviceStates, Place};
use crate::motion::dering::Dering;
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, planes};
use crate::opencl::backend;
use crate::opencl::quad::block_decoder::ChannelDecoder;
use crate::opencl::quad::blocks::{ChannelBlocks, Square};
use crate::opencl::quad::decoder::times;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::reference::check_target;
use crate::{BackendInfo, DecodeError, DecodeTimes, OpenError, Picture};

/// Decoder of predicted frames on an OpenCL device.
pub(crate) struct OpenClPredictedDecoder {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    channels: Vec<ChannelDecoder>,
    predictions: Vec<ChannelPrediction>,
    derings: Vec<ChannelDering>,
    staging: Vec<Pinned<u8>>,
    cells: FieldCells,
    pub(super) states: DeviceStates,
    recorder: Recorder,
    sampling: Sampling,
    timeline: Timeline,
    times: DecodeTimes,
    /// Begin of the frame in work.
    begin: Instant,
    is_measured: bool,
    /// Blocks of the frame in work that are too long for any encoder.
    too_long: u64,
    damaged: u64,
    backend: BackendInfo,
}

impl OpenClPredictedDecoder {
    /// Makes a decoder for the frames of a stream without prediction, predicted from the last `states` ones, on this device
    /// with its settings; `reason` says why this back end was chosen.
    pub(crate) fn new(
        device: &Arc<Device>,
        params: &StreamParams,
        states: u8,
        reason: &str,
    ) -> Result<Self, OpenError> {
        let layout = BlockLayout::new(params);
        let pipelines = ChannelPipeline::of_layout(device, params, &layout, true)?;
        let channel = |pipeline: &ChannelPipeline| {
            // What is missing adds nothing.
            let blocks = ChannelBlocks::keeping(&pipeline.queue, pipeline.channel, &layout, 0)?;
            ChannelDecoder::new(Square::from(pipeline), blocks, 0)
        };
        let channels = pipelines.iter().map(channel).collect::<Result<_>>()?;
        let units = Field::new(params.size).units();
        let cells = FieldCells::new(&pipelines[0].queue, params.size)?;
        let states = DeviceStates::new(&pipelines, states)?;
        let any = states.first();
        let prediction = |(channel, pipeline): (usize, &ChannelPipeline)| {
            let plane = (params.chroma, params.size, channel);
            let residual = Some(pipeline.transform.samples());
            ChannelPrediction::new(&pipeline.queue, plane, units, cells.device(), residual, states.plane(any, channel))
        };
        let predictions = pipelines.iter().enumerate().map(prediction).collect::<Result<_>>()?;
        let dering = |(channel, pipeline): (usize, &ChannelPipeline)| {
            ChannelDering::new(&pipeline.queue, (params.chroma, params.size, channel), states.plane(any, channel))
        };
        let derings = pipelines.iter().enumerate().map(dering).collect::<Result<_>>()?;
        let staging = |pipeline: &ChannelPipeline| pipeline.queue.pinned(pipeline.width * pipeline.height);
        let staging = pipelines.iter().map(staging).collect::<Result<_>>()?;
        Ok(Self {
            params: *params,
            layout,
            pipelines,
            channels,
            predictions,
            derings,
            staging,
            cells,
            states,
            recorder: Recorder::default(),
            sampling: Sampling::default(),
            timeline: Timeline::default(),
            times: DecodeTimes::default(),
            begin: Instant::now(),
            is_measured: false,
            too_long: 0,
            damaged: 0,
            backend: backend(device, reason),
        })
    }

    /// Brings the blocks of a frame, of which `first` others come before, to the device and starts to decode them.
    fn run_start(&mut self, frame: &ReceivedFrame, first: usize) -> Result<()> {
        (self.begin, self.too_long) = (Instant::now(), 0);
        self.recorder.clear();
        self.is_measured = self.sampling.measures_next();
        self.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(self.is_measured));
        // All channels' blocks go first: they take the longest.
        for (channel, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            self.too_long += channel.fill(&pipeline.queue, frame, first)?;
            let (upload, decoding) = channel.start(&pipeline.queue, frame.header)?;
            self.recorder.note(pipeline.channel, DeviceStage::Upload, upload);
            self.recorder.note(pipeline.channel, DeviceStage::Code, decoding);
        }
        Ok(())
    }

    /// Transforms what was decoded of a channel back, makes the state `to` of that and, once the vectors are there, of the state
    /// `from`, filters it, and starts to bring it to the host: the events of its samples and of everything.
    fn bring(&mut self, index: usize, [from, place]: [Place; 2], cells: &Event, dering: &Dering) -> Result<[Event; 2]> {
        let (pipeline, recorder) = (&self.pipelines[index], &mut self.recorder);
        let (from, to) = (self.states.plane(from, index), self.states.plane(place, index));
        if pipeline.queue.is_marked() {
            // The blocks may have been there before the vectors.
            pipeline.begin(&pipeline.queue.marker()?, recorder);
        }
        pipeline.invert(recorder)?;
        // What the first queue uploaded comes before in it.
        if index > 0 {
            pipeline.queue.wait_for(std::slice::from_ref(cells))?;
        }
        let mut compensating = self.predictions[index].refer(&pipeline.queue, from)?;
        compensating.extend(self.predictions[index].run(&pipeline.queue, to)?);
        if let Some(first) = compensating.first() {
            pipeline.end(DeviceStage::Transform, first, recorder);
        }
        compensating.into_iter().for_each(|event| recorder.note(pipeline.channel, DeviceStage::Compensate, event));
        if !dering.is_none() {
            let filtering = self.derings[index].run(&pipeline.queue, dering, to, self.states.spare(index))?;
            recorder.note(pipeline.channel, DeviceStage::Compensate, filtering);
            self.states.take_filtered(place, index);
        }
        let to = self.states.plane(place, index);
        let samples = pipeline.queue.download(to, &mut self.staging[index], to.len())?;
        recorder.note(pipeline.channel, DeviceStage::Download, samples.clone());
        let damaged = self.channels[index].fetch_damaged(&pipeline.queue)?;
        recorder.note(pipeline.channel, DeviceStage::Download, damaged.clone());
        Ok([samples, damaged])
    }

    fn run_finish(
        &mut self,
        (field, dering): (&Field, &Dering),
        (number_from, picture): (u64, &Picture),
        number: u64,
        out: &mut Picture,
    ) -> Result<()> {
        let cells = self.cells.upload(&self.pipelines[0].queue, field, &mut self.recorder)?;
        let planes = planes(self.params.chroma, self.params.size, picture.data());
        let state = (number_from, &planes[..]);
        let from = self.states.bring(state, &self.pipelines, &mut self.staging, &mut self.recorder)?;
        let to = self.states.oldest(Some(from));
        let bring = (0..self.pipelines.len()).map(|index| self.bring(index, [from, to], &cells, dering));
        let running = bring.collect::<Result<Vec<_>>>()?;
        let planes = self.staging.iter().zip(&running).map(|(staging, [there, _])| (staging.values(), there));
        copy_planes(planes, out.data_mut())?;
        let mut damaged = self.too_long;
        for (channel, [_, end]) in self.channels.iter().zip(&running) {
            wait(std::slice::from_ref(end))?;
            damaged += channel.damaged();
        }
        self.damaged += damaged;
        self.states.keep(to, number);
        if self.is_measured {
            self.timeline = self.recorder.timeline()?;
        }
        self.times = times(&self.timeline, self.begin.elapsed());
        Ok(())
    }

    /// Passes on a result. After a failure nothing may still use the staging memory when the next frame fills it, and nobody knows
    /// what states hold.
    fn settle(&mut self, result: Result<()>) -> Result<(), DecodeError> {
        if result.is_err() {
            self.states.forget();
        }
        Ok(settled(result, self.pipelines.iter().map(|pipeline| &pipeline.queue))?)
    }
}

impl DeviceDecoder for OpenClPredictedDecoder {
    fn start(&mut self, frame: &ReceivedFrame, slices: usize) -> Result<(), DecodeError> {
        let (wanted, given) = (slices + self.layout.frame_blocks(), frame.block_count());
        if wanted != given {
            return Err(DecodeError::BlockCount { wanted, given });
        }
        let result = self.run_start(frame, slices);
        self.settle(result)
    }

    fn finish(
        &mut self,
        slices: (&Field, &Dering),
        from: (u64, &Picture),
        number: u64,
        out: &mut Picture,
    ) -> Result<(), DecodeError> {
        check_target(out, self.params.size, &self.params)?;
        let result = self.run_finish(slices, from, number, out);
        self.settle(result)
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
