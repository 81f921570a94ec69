//! The transform without the block coder, for measurements and tools.

use std::sync::Arc;

use picture::params::{CodecParams, StreamParams};
use picture::pyramid::BlockLayout;

use super::channel::ChannelPipeline;
use super::planes::{rows, upload_rows};
use super::upload::{PicturePlace, Uploads};
use crate::opencl::device::queue::{Pinned, settled};
use crate::opencl::device::timeline::Recorder;
use crate::opencl::device::{Device, Result, backend};
use crate::reference::check_picture;
use crate::transform::Filter;
use crate::wavelet::{Element, Scheme, Wavelet};
use crate::{BackendInfo, OpenError, PictureRef, Transform, TransformError, TransformParams, Values};

/// Transform on an OpenCL device.
pub(crate) struct OpenClTransform {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    uploads: Uploads,
    /// One square, or plane, per channel.
    staging: Vec<Pinned<f32>>,
    /// Of no use here: parts that streams share note their commands.
    recorder: Recorder,
    backend: BackendInfo,
}

impl OpenClTransform {
    /// Makes the transform of a stream's pictures on this device; `reason` says why this back end was chosen.
    pub(crate) fn new(device: &Arc<Device>, params: &StreamParams, reason: &str) -> Result<Self, OpenError> {
        let (pipelines, layout) = ChannelPipeline::all(device, params)?;
        let uploads = Uploads::new(&pipelines, params, 1)?;
        let staging = pipelines.iter().map(|p| p.queue.pinned(p.transform.staging_len())).collect::<Result<_, _>>()?;
        Ok(Self {
            params: *params,
            layout,
            staging,
            pipelines,
            uploads,
            recorder: Recorder::default(),
            backend: backend(device, reason),
        })
    }

    fn run_forward(&mut self, picture: PictureRef<'_>) -> Result<Vec<Vec<f32>>> {
        self.recorder.clear();
        self.clear_bands()?;
        self.uploads.forward(&self.pipelines, PicturePlace::Host(picture), true, &mut self.recorder, |_, _| Ok(()))?;
        self.download_squares()
    }

    fn run_forward_planes(&mut self, planes: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        self.recorder.clear();
        self.clear_bands()?;
        for ((pipeline, staging), plane) in self.pipelines.iter().zip(&mut self.staging).zip(planes) {
            let (samples, pitch) = pipeline.transform.samples();
            // Without any level these are bands, and zero below the plane.
            upload_rows(&pipeline.queue, staging, samples, pitch, plane, pipeline.width)?;
            pipeline.split(&mut self.recorder)?;
            pipeline.queue.flush()?;
        }
        self.download_squares()
    }

    /// Sets the bands to zero, because the transform does not write all of them.
    fn clear_bands(&self) -> Result<()> {
        self.pipelines.iter().try_for_each(|pipeline| pipeline.queue.clear(&pipeline.transform.bands))
    }

    /// Brings the coefficients to the host.
    fn download_squares(&mut self) -> Result<Vec<Vec<f32>>> {
        for (pipeline, staging) in self.pipelines.iter().zip(&mut self.staging) {
            let bands = &pipeline.transform.bands;
            pipeline.queue.download(bands, staging, bands.len())?;
            pipeline.queue.flush()?;
        }
        let mut squares = Vec::new();
        for ((pipeline, staging), pyramid) in self.pipelines.iter().zip(&self.staging).zip(self.layout.pyramids()) {
            pipeline.queue.finish()?;
            let (side, pitch) = (pyramid.side(), pipeline.transform.band_pitch);
            squares.push(rows(staging.values(), side, side, pitch));
        }
        Ok(squares)
    }

    fn run_inverse(&mut self, squares: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        self.recorder.clear();
        for (((pipeline, staging), square), pyramid) in
            self.pipelines.iter().zip(&mut self.staging).zip(squares).zip(self.layout.pyramids())
        {
            let (bands, pitch) = (&pipeline.transform.bands, pipeline.transform.band_pitch);
            upload_rows(&pipeline.queue, staging, bands, pitch, square, pyramid.side())?;
            pipeline.invert(&mut self.recorder)?;
            let (samples, _) = pipeline.transform.samples();
            pipeline.queue.download(samples, staging, samples.len())?;
            pipeline.queue.flush()?;
        }
        let mut planes = Vec::new();
        for (pipeline, staging) in self.pipelines.iter().zip(&self.staging) {
            pipeline.queue.finish()?;
            let (_, pitch) = pipeline.transform.samples();
            planes.push(rows(staging.values(), pipeline.width, pipeline.height, pitch));
        }
        Ok(planes)
    }

    fn settled(&self, result: Result<Vec<Vec<f32>>>) -> Result<Values, TransformError> {
        Ok(Values::F32(settled(result, self.pipelines.iter().map(|pipeline| &pipeline.queue))?))
    }
}

impl Transform for OpenClTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let result = self.run_forward(picture);
        self.settled(result)
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        let result = self.run_forward_planes(planes.planes(self.layout.pyramids())?);
        self.settled(result)
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let result = self.run_inverse(squares.squares(self.layout.pyramids())?);
        self.settled(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Returns the stream whose pictures are transformed like this, if there is one.
pub(crate) fn as_stream(params: &TransformParams) -> Option<StreamParams> {
    let wavelet = (&params.filter, params.element) == (&Filter::Wavelet(Wavelet::Cdf97), Element::F32);
    let TransformParams { levels, boundary, padding, .. } = *params;
    let codec = CodecParams { levels, boundary, padding, ..CodecParams::default() };
    let stream = StreamParams { codec, ..StreamParams::new(params.size, params.chroma) };
    (wavelet && matches!(params.scheme, None | Some(Scheme::Slab))).then_some(stream)
}
