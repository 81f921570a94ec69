//! Everything one frame needs on its way through a pipeline.

use std::sync::Arc;

use device::queue::{Pinned, Queue};
use device::timeline::{DeviceStage, Recorder, Timeline};
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::ChannelPipeline;
use kernels::parts::opencl::{PicturePlace, Uploads};

use super::flow::{Flow, PipelineParams};
use super::quantised::QuantisedSquare;

/// Queues and memory of one frame.
pub(crate) struct Lane {
    flow: Flow,
    timed: bool,
    pipelines: Vec<ChannelPipeline>,
    uploads: Option<Uploads>,
    inputs: Vec<Pinned<f32>>,
    outputs: Vec<Pinned<f32>>,
    quantised: Vec<QuantisedSquare>,
    recorder: Recorder,
}

impl Lane {
    pub(crate) fn new(device: &Arc<Device>, params: &PipelineParams) -> Result<Self, OpenError> {
        let PipelineParams { stream, flow, stripes, timed, .. } = params;
        let (pipelines, layout) = ChannelPipeline::all_with(device, stream, *timed)?;
        let uploads = flow.picture().map(|_| Uploads::new(&pipelines, stream, *stripes)).transpose()?;
        let mut lane = Self {
            flow: *flow,
            timed: *timed,
            uploads,
            inputs: Vec::new(),
            outputs: Vec::new(),
            quantised: Vec::new(),
            recorder: Recorder::default(),
            pipelines,
        };
        for (pipeline, pyramid) in lane.pipelines.iter().zip(layout.pyramids()) {
            let len = pipeline.transform.staging_len();
            if takes_values(*flow) {
                lane.inputs.push(pipeline.queue.pinned(len)?);
            }
            if gives_values(*flow) {
                lane.outputs.push(pipeline.queue.pinned(len)?);
            }
            if let Flow::PictureToQuantised(_, step) = *flow {
                lane.quantised.push(QuantisedSquare::new(pipeline, stream, pyramid.side(), step)?);
            }
        }
        Ok(lane)
    }

    /// Returns pinned memory for a picture.
    pub(crate) fn picture(&mut self) -> &mut [u8] {
        self.uploads.as_mut().map_or(&mut [], Uploads::staging)
    }

    /// Returns pinned memory for the values of a channel, and the number of values from row to row.
    pub(crate) fn input(&mut self, channel: usize) -> (&mut [f32], usize) {
        let inverse = self.flow == Flow::HostToPlanes;
        match (self.pipelines.get(channel), self.inputs.get_mut(channel)) {
            (Some(pipeline), Some(input)) => {
                let (len, pitch) = extent(pipeline, inverse);
                (&mut input.values_mut()[..len], pitch)
            }
            _ => (&mut [], 1),
        }
    }

    /// Returns the values of a channel once the frame has ended, and the number of values from row to row.
    pub(crate) fn output(&self, channel: usize) -> (&[f32], usize) {
        let inverse = self.flow == Flow::HostToPlanes;
        match (self.pipelines.get(channel), self.outputs.get(channel)) {
            (Some(pipeline), Some(output)) => {
                let (len, pitch) = extent(pipeline, !inverse);
                (&output.values()[..len], pitch)
            }
            _ => (&[], 1),
        }
    }

    /// Queues a frame. With `overlap` false one channel ends before the next one starts.
    pub(crate) fn start(&mut self, origin: Option<PicturePlace<'_>>, overlap: bool) -> Result<()> {
        self.recorder.clear();
        if let (Some(uploads), Some(origin)) = (&mut self.uploads, origin) {
            let (quantised, outputs) = (&self.quantised, &mut self.outputs);
            return uploads.forward(&self.pipelines, origin, overlap, &mut self.recorder, |index, recorder| {
                let pipeline = &self.pipelines[index];
                if let Some(quantised) = quantised.get(index) {
                    recorder.note(pipeline.channel, DeviceStage::Code, quantised.run(pipeline)?);
                }
                outputs.get_mut(index).map_or(Ok(()), |output| download(pipeline, output, true, recorder))
            });
        }
        for ((pipeline, input), output) in self.pipelines.iter().zip(&self.inputs).zip(&mut self.outputs) {
            let recorder = &mut self.recorder;
            let inverse = self.flow == Flow::HostToPlanes;
            let (samples, _) = pipeline.transform.samples();
            let to = if inverse { &pipeline.transform.bands } else { samples };
            let event = pipeline.queue.upload(input, to, to.len())?;
            recorder.note(pipeline.channel, DeviceStage::Upload, event);
            if inverse {
                pipeline.invert(recorder)?
            } else {
                pipeline.split(recorder)?
            }
            download(pipeline, output, !inverse, recorder)?;
            if overlap { pipeline.queue.flush()? } else { pipeline.queue.finish()? }
        }
        Ok(())
    }

    /// Waits for the frame.
    pub(crate) fn finish(&self) -> Result<()> {
        self.queues().try_for_each(Queue::finish)
    }

    /// Waits, whatever fails.
    pub(crate) fn settle(&self) {
        self.queues().for_each(Queue::settle);
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.pipelines.iter().map(|pipeline| &pipeline.queue)
    }

    /// Copies of the quantised squares.
    pub(crate) fn quantised(&self) -> Result<Vec<Vec<i32>>> {
        self.quantised.iter().zip(&self.pipelines).map(|(quantised, pipeline)| quantised.values(pipeline)).collect()
    }

    /// Returns the frame's commands; none if the queues are not timed.
    pub(crate) fn timeline(&self) -> Result<Timeline> {
        if self.timed { self.recorder.timeline() } else { Ok(Timeline::default()) }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.settle();
    }
}

fn takes_values(flow: Flow) -> bool {
    matches!(flow, Flow::PlanesToHost | Flow::HostToPlanes)
}

fn gives_values(flow: Flow) -> bool {
    matches!(flow, Flow::PictureToHost(_) | Flow::PlanesToHost | Flow::HostToPlanes)
}

/// Returns the values of the square or of the plane of a channel, and how many there are from row to row.
fn extent(pipeline: &ChannelPipeline, square: bool) -> (usize, usize) {
    let transform = &pipeline.transform;
    let (samples, pitch) = transform.samples();
    if square { (transform.bands.len(), transform.band_pitch) } else { (samples.len(), pitch) }
}

/// Starts to bring the square or the plane of a channel to the host.
fn download(pipeline: &ChannelPipeline, to: &mut Pinned<f32>, square: bool, recorder: &mut Recorder) -> Result<()> {
    let (samples, _) = pipeline.transform.samples();
    let from = if square { &pipeline.transform.bands } else { samples };
    let event = pipeline.queue.download(from, to, from.len())?;
    recorder.note(pipeline.channel, DeviceStage::Download, event);
    Ok(())
}
