//! The transform without the block coder, for measurements and tools.

use std::sync::Arc;

use device::queue::{Pinned, settled};
use device::timeline::Recorder;
use device::{Device, Result};
use kernels::Element;
use kernels::OpenError;
use kernels::parts::CDF97;
use kernels::parts::opencl::ChannelPipeline;
use kernels::parts::opencl::backend;
use kernels::parts::opencl::{PicturePlace, Uploads};
use kernels::parts::reference::check_picture;
use kernels::parts::{Transform, Values};
use kernels::{BackendInfo, PictureRef, TransformError};
use picture::params::{CodecParams, StreamParams};
use picture::pyramid::BlockLayout;

use super::planes::PlaneChannel;
use crate::filter::Filter;
use crate::scheme::Scheme;
use crate::transform::TransformParams;

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
        // The transform does not write all of them.
        self.pipelines.iter().try_for_each(|pipeline| pipeline.queue.clear(&pipeline.transform.bands))?;
        self.uploads.forward(&self.pipelines, PicturePlace::Host(picture), true, &mut self.recorder, |_, _| Ok(()))?;
        PlaneChannel::squares(self.channels())
    }

    fn channels(&mut self) -> Vec<PlaneChannel<'_, f32>> {
        let channels = self.pipelines.iter().zip(&mut self.staging).zip(self.layout.pyramids());
        let channels = channels.map(|((ChannelPipeline { queue, transform, .. }, staging), pyramid)| PlaneChannel {
            queue,
            transform,
            staging,
            pyramid,
        });
        channels.collect()
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
        let planes = planes.planes(self.layout.pyramids())?;
        let result = PlaneChannel::forward(self.channels(), planes);
        self.settled(result)
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let squares = squares.squares(self.layout.pyramids())?;
        let result = PlaneChannel::inverse(self.channels(), squares);
        self.settled(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Returns the stream whose pictures are transformed like this, if there is one.
pub(crate) fn as_stream(params: &TransformParams) -> Option<StreamParams> {
    let wavelet = (&params.filter, params.element) == (&Filter::Lifted(CDF97), Element::F32);
    let TransformParams { levels, boundary, padding, .. } = *params;
    let codec = CodecParams { levels, boundary, padding, ..CodecParams::default() };
    let stream = StreamParams { codec, ..StreamParams::new(params.size, params.chroma) };
    (wavelet && matches!(params.scheme, None | Some(Scheme::Slab))).then_some(stream)
}
