//! The encoder of predicted frames: the prediction from a state in device memory, the transform and the code of what it leaves
//! (`quad`), and the state that comes of that, in device memory again, with its picture on the host.
//!
//! Vectors are looked for here on a graphics card, otherwise by the host while the picture comes to the device; the host codes them while
//! the device predicts.

use std::sync::Arc;
use std::time::Duration;

use device::copy::copy_planes;
use device::queue::{Pinned, settled};
use device::timeline::{DeviceStage, Sampling, Timeline};
use device::{Device, Result};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::params::StreamParams;

use super::channel::ChannelPrediction;
use super::decoder::OpenClPredictedDecoder;
use super::dering::{ChannelDering, ChannelGains};
use super::params::FieldCells;
use super::residual::{ChannelResidual, Distances};
use super::search::DeviceSearch;
use super::states::Place;
use crate::motion::dering::{Dering, Gains};
use crate::motion::field::Field;
use crate::motion::predictor::{DeviceDecoder, DeviceEncoder, planes};
use crate::motion::search::Wanted;
use crate::opencl::quad::block_coder::FrameCoder;
use crate::opencl::quad::blocks::{ChannelBlocks, Square};
use crate::opencl::quad::encoder::areas_and_rate;
use crate::opencl::quad::restorer::ChannelRestorer;
use crate::opencl::transform::channel::ChannelPipeline;
use crate::opencl::transform::upload::Uploads;
use crate::rate::RateControl;
use crate::reference::check_picture;
use crate::reference::quantise::DeadZone;
use crate::{
    BackendInfo, CodecError, DecodeError, DecodeTimes, EncodeError, EncodeTimes, OpenError, Picture, PictureRef, Target,
};

/// Encoder of predicted frames on an OpenCL device, with the decoder of the same states.
pub(crate) struct OpenClPredictedEncoder {
    params: StreamParams,
    decoder: OpenClPredictedDecoder,
    rate: RateControl,
    coder: FrameCoder,
    uploads: Uploads,
    channels: Vec<PredictedChannel>,
    distances: Distances,
    gains: ChannelGains,
    cells: FieldCells,
    /// On a device that looks for vectors itself.
    search: Option<DeviceSearch>,
    /// Place of the state that they were looked for in, until they are used.
    looked: Option<Place>,
    staging: Vec<Pinned<u8>>,
    /// Place of the prediction of the frame in work, and later of its state.
    place: Place,
    header: FrameHeader,
    sampling: Sampling,
    is_measured: bool,
    /// From the vectors to the bytes of the last frame measured.
    timeline: Timeline,
    /// Time in which the device computed for it.
    computing: Duration,
}

/// Kernels of one channel besides those of a frame that is coded alone.
struct PredictedChannel {
    prediction: ChannelPrediction,
    residual: ChannelResidual,
    restorer: ChannelRestorer,
    dering: ChannelDering,
}

impl OpenClPredictedEncoder {
    /// Makes an encoder, and the decoder of its states, for the arguments of [`OpenClPredictedDecoder::new`].
    pub(crate) fn new(
        device: &Arc<Device>,
        params: &StreamParams,
        states: u8,
        reason: &str,
    ) -> Result<Self, OpenError> {
        let decoder = OpenClPredictedDecoder::new(device, params, states, reason)?;
        let (pipelines, layout) = ChannelPipeline::all(device, params)?;
        let uploads = Uploads::to_planes(&pipelines, params)?;
        let units = Field::new(params.size).units();
        let cells = FieldCells::new(&pipelines[0].queue, params.size)?;
        let place = decoder.states.first();
        let distances = Distances::new(&pipelines[0], decoder.states.plane(place, 0))?;
        let staging = |pipeline: &ChannelPipeline| pipeline.queue.pinned(pipeline.width * pipeline.height);
        let staging = pipelines.iter().map(staging).collect::<Result<_>>()?;
        let (mut channels, mut channel_blocks) = (Vec::new(), Vec::new());
        for (index, pipeline) in pipelines.iter().enumerate() {
            let (plane, state) = ((params.chroma, params.size, index), decoder.states.plane(place, index));
            let blocks = ChannelBlocks::new(&pipeline.queue, pipeline.channel, &layout)?;
            channels.push(PredictedChannel {
                prediction: ChannelPrediction::new(&pipeline.queue, plane, units, cells.device(), None, state)?,
                residual: ChannelResidual::new(pipeline, state)?,
                dering: ChannelDering::new(&pipeline.queue, plane, state)?,
                restorer: ChannelRestorer::new(&Square::from(pipeline), &blocks)?,
            });
            channel_blocks.push(blocks);
        }
        let gains = ChannelGains::new(
            &pipelines[0].queue,
            params.size,
            channels[0].residual.source(),
            decoder.states.plane(place, 0),
        )?;
        let search = (device.tuning.search_group_size > 0).then(|| {
            let halves = channels[0].prediction.halves().unwrap_or(decoder.states.plane(place, 0));
            let luma = [channels[0].residual.source(), halves, decoder.states.plane(place, 0)];
            DeviceSearch::new(&pipelines, (params.chroma, params.size), luma)
        });
        let search = search.transpose()?;
        let (areas, rate) = areas_and_rate(device, layout.blocks().len());
        Ok(Self {
            params: *params,
            decoder,
            rate,
            coder: FrameCoder::new(pipelines, channel_blocks, areas, DeadZone::OF_RESIDUALS)?,
            uploads,
            channels,
            distances,
            gains,
            cells,
            search,
            looked: None,
            staging,
            place,
            header: FrameHeader { step: StepIndex::MAX, fine_blocks: 0 },
            sampling: Sampling::default(),
            is_measured: false,
            timeline: Timeline::default(),
            computing: Duration::ZERO,
        })
    }

    fn run_bring(&mut self, picture: PictureRef<'_>) -> Result<()> {
        let FrameCoder { pipelines, recorder, .. } = &mut self.coder;
        recorder.clear();
        self.looked = None;
        self.is_measured = self.sampling.measures_next();
        pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(self.is_measured));
        self.uploads.planes(pipelines, picture, recorder)
    }

    fn run_look(&mut self, wanted: &Wanted<'_>, (number, picture): (u64, &Picture)) -> Result<Field> {
        let FrameCoder { pipelines, recorder, .. } = &mut self.coder;
        let planes = planes(self.params.chroma, self.params.size, picture.data());
        let states = &mut self.decoder.states;
        let from = states.bring((number, &planes[..]), pipelines, &mut self.staging, recorder)?;
        let (queue, state) = (&pipelines[0].queue, states.plane(from, 0));
        self.channels[0].prediction.refer(queue, state)?;
        self.looked = Some(from);
        // Nobody asks a device that does not look.
        let Some(search) = &mut self.search else { return Ok(Field::new(self.params.size)) };
        search.run(pipelines, wanted, state)
    }

    fn run_predict(&mut self, field: &Field, (number, picture): (u64, &Picture)) -> Result<()> {
        let FrameCoder { pipelines, recorder, .. } = &mut self.coder;
        let cells = self.cells.upload(&pipelines[0].queue, field, recorder)?;
        let planes = planes(self.params.chroma, self.params.size, picture.data());
        let states = &mut self.decoder.states;
        let from = states.bring((number, &planes[..]), pipelines, &mut self.staging, recorder)?;
        self.place = states.oldest(Some(from));
        for (index, (pipeline, channel)) in pipelines.iter().zip(&self.channels).enumerate() {
            let queue = &pipeline.queue;
            // What the first queue uploaded comes before in it.
            if index > 0 {
                queue.wait_for(std::slice::from_ref(&cells))?;
            }
            let prediction = states.plane(self.place, index);
            let mut compensating = Vec::new();
            if index > 0 || self.looked.take() != Some(from) {
                compensating.extend(channel.prediction.refer(queue, states.plane(from, index))?);
            }
            compensating.extend(channel.prediction.run(queue, prediction)?);
            if index == 0 {
                compensating.extend(self.distances.run(queue, prediction)?);
            }
            if let Some(last) = compensating.last() {
                pipeline.begin(last, recorder);
            }
            compensating.into_iter().for_each(|event| recorder.note(pipeline.channel, DeviceStage::Compensate, event));
            recorder.note(pipeline.channel, DeviceStage::Transform, channel.residual.take(pipeline, prediction)?);
            pipeline.split(recorder)?;
            if queue.is_marked() {
                pipeline.end(DeviceStage::Transform, &queue.marker()?, recorder);
            }
            if index == 0 {
                recorder.note(pipeline.channel, DeviceStage::Download, self.distances.fetch(queue)?);
            }
            queue.flush()?;
        }
        Ok(())
    }

    fn run_code(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        let coder = &mut self.coder;
        coder.start(&self.rate.first_steps(target))?;
        let header = self.rate.code(coder, target)?;
        let (ends, data) = coder.collect(header, self.rate.lengths())?;
        if self.is_measured {
            self.timeline = coder.recorder.timeline()?;
        }
        self.header = header;
        Ok(CodedFrame { reference: 0, header, ends, data })
    }

    fn run_state(&mut self, number: u64, dering: &Dering, out: &mut Picture) -> Result<Vec<Gains>> {
        let FrameCoder { pipelines, recorder, .. } = &mut self.coder;
        let states = &mut self.decoder.states;
        let mut running = Vec::with_capacity(pipelines.len());
        for (index, (pipeline, channel)) in pipelines.iter().zip(&mut self.channels).enumerate() {
            let (queue, unfiltered) = (&pipeline.queue, states.plane(self.place, index));
            if let Some(restoring) = channel.restorer.run(queue, self.header)? {
                pipeline.begin(&restoring, recorder);
                recorder.note(pipeline.channel, DeviceStage::Code, restoring);
            }
            pipeline.invert(recorder)?;
            recorder.note(pipeline.channel, DeviceStage::Compensate, channel.residual.add(pipeline, unfiltered)?);
            if index == 0 {
                recorder.note(pipeline.channel, DeviceStage::Compensate, self.gains.run(queue, unfiltered)?);
                recorder.note(pipeline.channel, DeviceStage::Download, self.gains.fetch(queue)?);
            }
            if !dering.is_none() {
                let filtering = channel.dering.run(queue, dering, unfiltered, states.spare(index))?;
                recorder.note(pipeline.channel, DeviceStage::Compensate, filtering);
                states.take_filtered(self.place, index);
            }
            let state = states.plane(self.place, index);
            let event = queue.download(state, &mut self.staging[index], state.len())?;
            pipeline.end(DeviceStage::Transform, &event, recorder);
            recorder.note(pipeline.channel, DeviceStage::Download, event.clone());
            queue.flush()?;
            running.push(event);
        }
        let planes = self.staging.iter().zip(&running).map(|(staging, there)| (staging.values(), there));
        copy_planes(planes, out.data_mut())?;
        states.keep(self.place, number);
        if self.is_measured {
            self.computing = Duration::from_nanos(recorder.timeline()?.computing_ns());
        }
        Ok(self.gains.there())
    }

    /// Passes on a result. After a failure nothing may still use the staging memory when the next frame fills it, and nobody knows
    /// what states hold if it is the device's.
    fn settle<T, E: CodecError>(&mut self, result: Result<T, E>) -> Result<T, E> {
        if result.as_ref().is_err_and(E::is_of_device) {
            self.decoder.states.forget();
        }
        settled(result, self.coder.pipelines.iter().map(|pipeline| &pipeline.queue))
    }
}

impl DeviceEncoder for OpenClPredictedEncoder {
    fn bring(&mut self, picture: PictureRef<'_>) -> Result<(), EncodeError> {
        check_picture(picture, self.params.size)?;
        let result = self.run_bring(picture);
        Ok(self.settle(result)?)
    }

    fn looks(&self) -> bool {
        self.search.is_some()
    }

    fn look(&mut self, wanted: &Wanted<'_>, from: (u64, &Picture)) -> Result<Field, EncodeError> {
        let result = self.run_look(wanted, from);
        Ok(self.settle(result)?)
    }

    fn predict(&mut self, field: &Field, from: (u64, &Picture)) -> Result<(), EncodeError> {
        let result = self.run_predict(field, from);
        Ok(self.settle(result)?)
    }

    fn code(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        let result = self.run_code(target);
        self.settle(result)
    }

    fn distances(&self) -> [u64; 2] {
        self.distances.sums()
    }

    fn state(&mut self, number: u64, dering: &Dering, out: &mut Picture) -> Result<Vec<Gains>, DecodeError> {
        let result = self.run_state(number, dering, out);
        Ok(self.settle(result)?)
    }

    fn times(&self, total: Duration) -> EncodeTimes {
        let stages = [DeviceStage::Compensate, DeviceStage::Transform, DeviceStage::Code];
        let [compensate, transform, code] = stages.map(|stage| self.timeline.busy_ns(stage));
        let part = |stage: u64| total.mul_f64(stage as f64 / (compensate + transform + code).max(1) as f64);
        let (compensate, transform) = (part(compensate), part(transform));
        let code = total.saturating_sub(compensate + transform);
        EncodeTimes { compensate, transform, code, device: self.computing, ..EncodeTimes::default() }
    }
}

impl DeviceDecoder for OpenClPredictedEncoder {
    fn encoder(&mut self) -> Option<&mut dyn DeviceEncoder> {
        Some(self)
    }

    fn start(&mut self, frame: &ReceivedFrame, slices: usize) -> Result<(), DecodeError> {
        self.decoder.start(frame, slices)
    }

    fn finish(
        &mut self,
        slices: (&Field, &Dering),
        from: (u64, &Picture),
        number: u64,
        out: &mut Picture,
    ) -> Result<(), DecodeError> {
        self.decoder.finish(slices, from, number, out)
    }

    fn times(&self) -> DecodeTimes {
        self.decoder.times()
    }

    fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }

    fn damaged_blocks(&self) -> u64 {
        self.decoder.damaged_blocks()
    }
}
