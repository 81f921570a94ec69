//! The transform without the block coder, for measurements and tools.

use std::sync::Arc;

use picture::frame::FrameRate;
use picture::params::{CodecParams, StreamParams};
use picture::pyramid::BlockLayout;

use super::channel::ChannelPipeline;
use super::upload::{PicturePlace, Uploads};
use crate::opencl::device::memory::open_on;
use crate::opencl::device::queue::Pinned;
use crate::opencl::device::timeline::Recorder;
use crate::opencl::device::{Device, Result, backend};
use crate::reference::check_picture;
use crate::transform::Filter;
use crate::wavelet::{Element, Scheme, Wavelet};
use crate::{Backend, BackendInfo, OpenError, PictureRef, Transform, TransformError, TransformParams, Values};

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
    /// Opens this transform on the device whose name contains `device`, or on the best one;
    /// [`OpenError::NotOnThisBackend`] if it is none that OpenCL computes. `reason` says why this back end was chosen.
    pub(crate) fn open(params: &TransformParams, device: Option<&str>, reason: &str) -> Result<Self, OpenError> {
        let params = as_stream(params)?;
        open_on(device, |device| Self::new(device, params, reason))
    }

    fn new(device: &Arc<Device>, params: StreamParams, reason: &str) -> Result<Self, OpenError> {
        let (pipelines, layout) = ChannelPipeline::all(device, &params)?;
        let uploads = Uploads::new(&pipelines, &params, 1)?;
        let staging = pipelines.iter().map(|p| p.queue.pinned(p.transform.staging_len())).collect::<Result<_, _>>()?;
        Ok(Self {
            params,
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
            for (to, from) in staging.values_mut().chunks_mut(pitch).zip(plane.chunks(pipeline.width)) {
                to[..from.len()].copy_from_slice(from);
                to[from.len()..].fill(0.0);
            }
            // Without any level these are bands, and zero below the plane.
            pipeline.queue.upload(staging, samples, pipeline.height * pitch)?;
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
            for (to, from) in staging.values_mut().chunks_mut(pitch).zip(square.chunks(pyramid.side())) {
                to[..from.len()].copy_from_slice(from);
            }
            pipeline.queue.upload(staging, bands, bands.len())?;
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

    /// Passes on the result. After a failure, waits until nothing uses the staging memory, which the next call fills.
    fn settle<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            for pipeline in &self.pipelines {
                pipeline.queue.settle();
            }
        }
        result
    }
}

/// Returns the first `width` values of the first `height` rows, without the gaps between rows.
fn rows(values: &[f32], width: usize, height: usize, pitch: usize) -> Vec<f32> {
    values.chunks(pitch).take(height).flat_map(|row| &row[..width]).copied().collect()
}

impl Transform for OpenClTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let result = self.run_forward(picture);
        Ok(Values::F32(self.settle(result)?))
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        let result = self.run_forward_planes(planes.planes(self.layout.pyramids())?);
        Ok(Values::F32(self.settle(result)?))
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let result = self.run_inverse(squares.squares(self.layout.pyramids())?);
        Ok(Values::F32(self.settle(result)?))
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Returns true if this is the transform of some stream.
pub(crate) fn is_stream(params: &TransformParams) -> bool {
    let wavelet = (&params.filter, params.element) == (&Filter::Wavelet(Wavelet::Cdf97), Element::F32);
    wavelet && matches!(params.scheme, None | Some(Scheme::Slab))
}

/// Returns the stream whose pictures are transformed like this.
fn as_stream(params: &TransformParams) -> Result<StreamParams, OpenError> {
    let cannot =
        |what: String| OpenError::NotOnThisBackend { backend: Backend::Opencl, what, instead: Backend::Reference };
    if !is_stream(params) {
        return Err(cannot(format!("pictures to {} in {}", params.filter, params.element)));
    }
    Ok(StreamParams {
        frame_rate: FrameRate::new(1, 1).ok_or_else(|| cannot("a picture".to_owned()))?,
        codec: CodecParams {
            levels: params.levels,
            boundary: params.boundary,
            padding: params.padding,
            ..CodecParams::default()
        },
        ..StreamParams::new(params.size, params.chroma)
    })
}
