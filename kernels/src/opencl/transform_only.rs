//! The transform without the block coder, for measurements and tools.

use common::frame::PixelFormat;
use common::params::StreamParams;
use common::pyramid::BlockLayout;

use super::channel::{self, ChannelPipeline, Uploader};
use super::device::Device;
use super::first_run::FirstRun;
use super::memory::Memory;
use super::queue::Pinned;
use super::timeline::{Recorder, Stage, Timeline};
use super::transform::ChannelTransform;
use super::{backend, device};
use crate::reference::{check_picture, check_squares};
use crate::{BackendInfo, Error, PictureRef, Transform};

/// Transform on an OpenCL device.
pub struct OpenClTransform {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    uploaders: Vec<Uploader>,
    /// One square, or plane, per channel.
    staging: Vec<Pinned<f32>>,
    first_forward: FirstRun<PixelFormat>,
    first_inverse: FirstRun,
    recorder: Recorder,
    timeline: Timeline,
    backend: BackendInfo,
}

impl OpenClTransform {
    /// The transform of a stream's pictures on the device whose name contains `device`, or on the best one; `reason`
    /// says why this back end was chosen.
    pub fn open(params: &StreamParams, device: Option<&str>, reason: String) -> Result<Self, Error> {
        let device = device::find(device)?;
        Self::memory(&device, params)?.check(&device)?;
        let (pipelines, layout) = ChannelPipeline::all(&device, params)?;
        let uploaders = pipelines.iter().map(|p| Uploader::new(p, params)).collect::<Result<_, _>>()?;
        let lens = layout.pyramids().iter().map(ChannelTransform::<f32>::staging_len);
        let staging = pipelines.iter().zip(lens).map(|(p, len)| p.queue.pinned(len)).collect::<Result<_, _>>()?;
        Ok(Self {
            params: *params,
            layout,
            staging,
            pipelines,
            uploaders,
            first_forward: FirstRun::default(),
            first_inverse: FirstRun::default(),
            recorder: Recorder::default(),
            timeline: Timeline::default(),
            backend: backend(&device, reason),
        })
    }

    /// What [`Self::open`] allocates.
    pub(super) fn memory(device: &Device, params: &StreamParams) -> Result<Memory, Error> {
        let (layout, mut memory) = (BlockLayout::new(params), Memory::default());
        ChannelPipeline::memory(device, params, &layout, &mut memory)?;
        Uploader::memory(params, &mut memory);
        for pyramid in layout.pyramids() {
            memory.pinned::<f32>(&[ChannelTransform::<f32>::staging_len(pyramid)]);
        }
        Ok(memory)
    }

    /// The device's commands for the last call.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn run_forward(&mut self, picture: PictureRef<'_>) -> Result<Vec<Vec<f32>>, Error> {
        self.recorder.clear();
        let alone = self.first_forward.begin(&picture.format());
        let overlap = alone.is_none();
        for pipeline in &self.pipelines {
            pipeline.queue.clear(&pipeline.transform.bands)?;
        }
        channel::forward(&self.pipelines, &mut self.uploaders, picture, &self.params, overlap, &mut self.recorder)?;
        for (pipeline, staging) in self.pipelines.iter().zip(&mut self.staging) {
            let bands = &pipeline.transform.bands;
            let event = pipeline.queue.download(bands, 0, staging, bands.len())?;
            self.recorder.note(pipeline.channel, Stage::Download, event);
            pipeline.queue.flush()?;
        }
        let mut squares = Vec::new();
        for ((pipeline, staging), pyramid) in self.pipelines.iter().zip(&self.staging).zip(self.layout.pyramids()) {
            pipeline.queue.finish()?;
            let (side, pitch) = (pyramid.side(), pipeline.transform.band_pitch);
            squares.push(rows(staging.values(), side, side, pitch));
        }
        self.first_forward.done(picture.format());
        self.timeline = self.recorder.timeline()?;
        Ok(squares)
    }

    fn run_inverse(&mut self, squares: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, Error> {
        self.recorder.clear();
        let alone = self.first_inverse.begin(&());
        for (((pipeline, staging), square), pyramid) in
            self.pipelines.iter().zip(&mut self.staging).zip(squares).zip(self.layout.pyramids())
        {
            let (bands, pitch) = (&pipeline.transform.bands, pipeline.transform.band_pitch);
            for (to, from) in staging.values_mut().chunks_mut(pitch).zip(square.chunks(pyramid.side())) {
                to[..from.len()].copy_from_slice(from);
            }
            let event = pipeline.queue.upload(staging, bands, bands.len())?;
            self.recorder.note(pipeline.channel, Stage::Upload, event);
            pipeline.invert(&mut self.recorder)?;
            let (samples, _) = pipeline.transform.samples();
            let event = pipeline.queue.download(samples, 0, staging, samples.len())?;
            self.recorder.note(pipeline.channel, Stage::Download, event);
            if alone.is_some() { pipeline.queue.finish()? } else { pipeline.queue.flush()? }
        }
        let mut planes = Vec::new();
        for (pipeline, staging) in self.pipelines.iter().zip(&self.staging) {
            pipeline.queue.finish()?;
            let (_, pitch) = pipeline.transform.samples();
            planes.push(rows(staging.values(), pipeline.width, pipeline.height, pitch));
        }
        self.first_inverse.done(());
        self.timeline = self.recorder.timeline()?;
        Ok(planes)
    }

    /// Nothing of a failed call may still use the staging memory when the next one fills it.
    fn settle<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            for pipeline in &self.pipelines {
                let _ = pipeline.queue.finish();
            }
        }
        result
    }
}

/// The first `width` values of the first `height` rows, without the gaps between rows.
fn rows(values: &[f32], width: usize, height: usize, pitch: usize) -> Vec<f32> {
    values.chunks(pitch).take(height).flat_map(|row| &row[..width]).copied().collect()
}

impl Transform for OpenClTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Vec<Vec<f32>>, Error> {
        check_picture(picture, &self.params)?;
        let result = self.run_forward(picture);
        self.settle(result)
    }

    fn inverse(&mut self, squares: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, Error> {
        check_squares(squares, &self.layout)?;
        let result = self.run_inverse(squares);
        self.settle(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}
