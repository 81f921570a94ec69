//! The decoder of predicted frames: blocks and transform as of other frames (`quad`), then the prediction from a state in device
//! memory and what the blocks add to it, which is the next state there, and its picture on the host.

use std::sync::Arc;
use std::time::Instant;

use picture::coded::ReceivedFrame;
use picture::frame::Channel;
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::channel::ChannelPrediction;
use super::params::{Cell, cell_count, write_cells};
use super::states::{Place, States};
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, planes};
use crate::opencl::device::Result;
use crate::opencl::device::copy::copy_planes;
use crate::opencl::device::memory::Memory;
use crate::opencl::device::queue::{Buffer, Event, Pinned, wait};
use crate::opencl::device::timeline::{DeviceStage, Recorder, Sampling, Timeline};
use crate::opencl::device::{self, Device, backend};
use crate::opencl::quad::block_decoder::ChannelDecoder;
use crate::opencl::quad::blocks::{ChannelBlocks, Square};
use crate::opencl::quad::decoder::times;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::reference::check_decode;
use crate::{BackendInfo, DecodeError, DecodeTimes, DeviceError, OpenError, Picture};

/// Decoder of predicted frames on an OpenCL device.
pub(crate) struct OpenClPredictedDecoder {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    channels: Vec<ChannelDecoder>,
    predictions: Vec<ChannelPrediction>,
    staging: Vec<Pinned<u8>>,
    cells: Buffer<Cell>,
    cells_host: Pinned<Cell>,
    states: States,
    recorder: Recorder,
    sampling: Sampling,
    timeline: Timeline,
    times: DecodeTimes,
    damaged: u64,
    backend: BackendInfo,
}

/// A frame to decode: its blocks and vectors, the state that it is predicted from, and the number of its own.
struct Job<'a> {
    frame: &'a ReceivedFrame,
    field: &'a Field,
    from: (u64, &'a Picture),
    number: u64,
}

impl OpenClPredictedDecoder {
    /// Opens a decoder for the frames of a stream without prediction, predicted from the last `states` ones, on the device whose
    /// name contains `device`, or on the best one; `reason` says why this back end was chosen.
    pub(crate) fn open(
        params: &StreamParams,
        states: u8,
        device: Option<&str>,
        reason: String,
    ) -> Result<Self, OpenError> {
        Self::on(&device::find(device)?, params, states, reason)
    }

    /// Opens the same on this device with its settings.
    pub(crate) fn on(
        device: &Arc<Device>,
        params: &StreamParams,
        states: u8,
        reason: String,
    ) -> Result<Self, OpenError> {
        let layout = BlockLayout::new(params);
        Self::memory(device, params, &layout, states)?.check(device)?;
        let pipelines = ChannelPipeline::of_layout(device, params, &layout, true)?;
        let Some(first) = pipelines.first().map(|pipeline| &pipeline.queue) else {
            let reason = "a stream without channels".to_owned();
            return Err(DeviceError::Failed { call: "clCreateBuffer", reason }.into());
        };
        let channel = |pipeline: &ChannelPipeline| {
            // What is missing adds nothing.
            let blocks = ChannelBlocks::keeping(&pipeline.queue, pipeline.channel, &layout, 0)?;
            ChannelDecoder::new(Square::from(pipeline), blocks, 0)
        };
        let channels = pipelines.iter().map(channel).collect::<Result<_>>()?;
        let units = Field::new(params.size).units();
        let (cells, cells_host) = (first.buffer(cell_count(units))?, first.pinned(cell_count(units))?);
        let states = States::new(&pipelines, states)?;
        let any = states.first();
        let prediction = |(channel, pipeline): (usize, &ChannelPipeline)| {
            let plane = (params.chroma, params.size, channel);
            let residual = pipeline.transform.samples();
            ChannelPrediction::new(&pipeline.queue, plane, units, &cells, residual, states.plane(any, channel))
        };
        let predictions = pipelines.iter().enumerate().map(prediction).collect::<Result<_>>()?;
        let staging = |pipeline: &ChannelPipeline| pipeline.queue.pinned(pipeline.width * pipeline.height);
        let staging = pipelines.iter().map(staging).collect::<Result<_>>()?;
        Ok(Self {
            params: *params,
            layout,
            pipelines,
            channels,
            predictions,
            staging,
            cells,
            cells_host,
            states,
            recorder: Recorder::default(),
            sampling: Sampling::default(),
            timeline: Timeline::default(),
            times: DecodeTimes::default(),
            damaged: 0,
            backend: backend(device, reason),
        })
    }

    /// Returns the memory that a decoder allocates before the first frame.
    pub(crate) fn memory(
        device: &Device,
        params: &StreamParams,
        layout: &BlockLayout,
        states: u8,
    ) -> Result<Memory, OpenError> {
        let mut memory = Memory::default();
        ChannelPipeline::memory(device, params, layout, &mut memory)?;
        let counts = ChannelBlocks::memory(params, layout, &mut memory);
        for (pyramid, count) in layout.pyramids().iter().zip(counts) {
            ChannelDecoder::memory(pyramid.plane().pixels(), count, &mut memory);
            memory.pinned::<u8>(&[pyramid.plane().pixels()]);
        }
        let cells = cell_count(Field::new(params.size).units());
        memory.buffers::<Cell>(&[cells]);
        memory.pinned::<Cell>(&[cells]);
        States::memory(layout, states, &mut memory);
        ChannelPrediction::memory(params.size, &mut memory);
        Ok(memory)
    }

    /// Returns the place of the state that a frame is predicted from, which is brought there if it is not there yet.
    fn place_of(&mut self, (number, picture): (u64, &Picture)) -> Result<Place> {
        if let Some(place) = self.states.find(number) {
            return Ok(place);
        }
        let place = self.states.oldest(None);
        let planes = planes(self.params.chroma, self.params.size, picture.data());
        for (index, (pipeline, plane)) in self.pipelines.iter().zip(planes).enumerate() {
            let staging = &mut self.staging[index];
            staging.values_mut()[..plane.len()].copy_from_slice(plane);
            let event = pipeline.queue.upload(staging, self.states.plane(place, index), plane.len())?;
            self.recorder.note(pipeline.channel, DeviceStage::Upload, event);
        }
        self.states.keep(place, number);
        Ok(place)
    }

    /// Starts decoding the blocks of a channel, which are in its pinned memory.
    fn start(&mut self, index: usize, frame: &ReceivedFrame) -> Result<()> {
        let (pipeline, recorder) = (&self.pipelines[index], &mut self.recorder);
        let (upload, decoding) = self.channels[index].start(&pipeline.queue, frame.header)?;
        recorder.note(pipeline.channel, DeviceStage::Upload, upload);
        if let Some(event) = decoding {
            pipeline.begin(&event, recorder);
            recorder.note(pipeline.channel, DeviceStage::Code, event);
        }
        Ok(())
    }

    /// Transforms what was decoded of a channel back, makes the state `to` of that and, once the vectors are there, of the state
    /// `from`, and starts to bring it to the host: the events of its samples and of everything.
    fn bring(&mut self, index: usize, [from, to]: [Place; 2], cells: &Event) -> Result<[Event; 2]> {
        let (pipeline, recorder) = (&self.pipelines[index], &mut self.recorder);
        let (from, to) = (self.states.plane(from, index), self.states.plane(to, index));
        pipeline.invert(recorder)?;
        // What the first queue uploaded comes before in it.
        if index > 0 {
            pipeline.queue.wait_for(std::slice::from_ref(cells))?;
        }
        let compensating = self.predictions[index].run(&pipeline.queue, from, to)?;
        if let Some(first) = compensating.first() {
            pipeline.end(DeviceStage::Transform, first, recorder);
        }
        compensating.into_iter().for_each(|event| recorder.note(pipeline.channel, DeviceStage::Compensate, event));
        let samples = pipeline.queue.download(to, &mut self.staging[index], to.len())?;
        recorder.note(pipeline.channel, DeviceStage::Download, samples.clone());
        let damaged = self.channels[index].fetch_damaged(&pipeline.queue)?;
        recorder.note(pipeline.channel, DeviceStage::Download, damaged.clone());
        Ok([samples, damaged])
    }

    fn run(&mut self, job: Job<'_>, out: &mut Picture) -> Result<()> {
        let start = Instant::now();
        self.recorder.clear();
        let measured = self.sampling.next();
        self.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(measured));
        let mut damaged = 0;
        for (channel, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            damaged += channel.fill(&pipeline.queue, job.frame)?;
        }
        write_cells(job.field, self.cells_host.values_mut());
        let first = &self.pipelines[0].queue;
        let cells = first.upload(&self.cells_host, &self.cells, self.cells.len())?;
        first.flush()?;
        self.recorder.note(Channel::Y, DeviceStage::Upload, cells.clone());
        let from = self.place_of(job.from)?;
        let to = self.states.oldest(Some(from));
        // All channels' blocks go first: they take the longest.
        for index in 0..self.pipelines.len() {
            self.start(index, job.frame)?;
        }
        let bring = (0..self.pipelines.len()).map(|index| self.bring(index, [from, to], &cells));
        let running = bring.collect::<Result<Vec<_>>>()?;
        let planes = self.staging.iter().zip(&running).map(|(staging, [there, _])| (staging.values(), there));
        copy_planes(planes, out.data_mut())?;
        for (channel, [_, end]) in self.channels.iter().zip(&running) {
            wait(std::slice::from_ref(end))?;
            damaged += channel.damaged();
        }
        self.states.keep(to, job.number);
        self.damaged += damaged;
        if measured {
            self.timeline = self.recorder.timeline()?;
        }
        self.times = times(&self.timeline, start.elapsed());
        Ok(())
    }
}

impl DeviceDecoder for OpenClPredictedDecoder {
    fn decode(
        &mut self,
        frame: &ReceivedFrame,
        field: &Field,
        from: (u64, &Picture),
        number: u64,
        out: &mut Picture,
    ) -> Result<(), DecodeError> {
        check_decode(frame, out, &self.params, &self.layout)?;
        let result = self.run(Job { frame, field, from, number }, out);
        if result.is_err() {
            // Nothing of a failed frame may still use the staging memory when the next one fills it.
            for pipeline in &self.pipelines {
                pipeline.queue.settle();
            }
            self.states.forget();
        }
        Ok(result?)
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
