//! The transform of planes of any element by any filter and scheme. Colour is converted on the host; pictures of
//! streams have a faster way, [`super::whole::OpenClTransform`].

use ocl::core::OclPrm;
use picture::pyramid::Pyramid;

use super::ChannelTransform;
use super::address::Tabled;
use super::choice::Schemes;
use crate::opencl::device::memory::open_within;
use crate::opencl::device::queue::{Buffer, Event, Pinned, Queue, settled};
use crate::opencl::device::{self, Result, backend};
use crate::reference::sample::Sample;
use crate::reference::{check_picture, colour};
use crate::{BackendInfo, OpenError, PictureRef, Transform, TransformError, TransformParams, Values};

/// Transform of planes of `T` on an OpenCL device.
pub(crate) struct OpenClPlanes<T: Tabled> {
    params: TransformParams,
    pyramids: Vec<Pyramid>,
    channels: Vec<ChannelPlanes<T>>,
    /// Forward and inverse.
    backend: BackendInfo,
}

/// A channel's queue and memory.
struct ChannelPlanes<T: Tabled> {
    queue: Queue,
    transform: ChannelTransform<T>,
    staging: Pinned<T>,
}

impl<T: Sample + Tabled> OpenClPlanes<T> {
    /// Opens this transform on the device whose name contains `device`, or on the best one; `reason` says why this back
    /// end was chosen.
    pub(crate) fn open(params: &TransformParams, device: Option<&str>, reason: &str) -> Result<Self, OpenError> {
        let device = device::find(device)?;
        let pyramids = params.pyramids();
        let channels = open_within(&device, |device| {
            let channel = |pyramid: &Pyramid| {
                let queue = Queue::new(device)?;
                let transform = ChannelTransform::new(&queue, pyramid, &Schemes::open(&queue, params, pyramid)?)?;
                Ok(ChannelPlanes { staging: queue.pinned(transform.staging_len())?, queue, transform })
            };
            pyramids.iter().map(channel).collect::<Result<_, OpenError>>()
        })?;
        Ok(Self { params: params.clone(), channels, pyramids, backend: backend(&device, reason) })
    }

    fn run_forward(&mut self, planes: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        for ((channel, pyramid), plane) in self.channels.iter_mut().zip(&self.pyramids).zip(planes) {
            let ChannelPlanes { queue, transform, staging } = channel;
            queue.clear(&transform.bands)?;
            let (samples, pitch) = transform.samples();
            upload_rows(queue, staging, samples, pitch, plane, pyramid.plane().width())?;
            transform.run_forward(queue, &mut Vec::new())?;
            queue.download(&transform.bands, staging, transform.bands.len())?;
            queue.flush()?;
        }
        let results = self
            .channels
            .iter()
            .zip(&self.pyramids)
            .map(|(channel, pyramid)| channel.result(channel.transform.band_pitch, pyramid.side(), pyramid.side()));
        let squares = results.collect::<Result<_, _>>()?;
        Ok(squares)
    }

    fn run_inverse(&mut self, squares: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        for ((channel, pyramid), square) in self.channels.iter_mut().zip(&self.pyramids).zip(squares) {
            let ChannelPlanes { queue, transform, staging } = channel;
            upload_rows(queue, staging, &transform.bands, transform.band_pitch, square, pyramid.side())?;
            transform.run_inverse(queue, &mut Vec::new())?;
            let (samples, _) = transform.samples();
            queue.download(samples, staging, samples.len())?;
            queue.flush()?;
        }
        let results = self.channels.iter().zip(&self.pyramids).map(|(channel, pyramid)| {
            channel.result(channel.transform.samples().1, pyramid.plane().width(), pyramid.plane().height())
        });
        let planes = results.collect::<Result<_, _>>()?;
        Ok(planes)
    }

    fn settled(&self, result: Result<Vec<Vec<T>>>) -> Result<Values, TransformError> {
        Ok(T::wrap(settled(result, self.channels.iter().map(|channel| &channel.queue))?))
    }
}

impl<T: Sample + Tabled> ChannelPlanes<T> {
    /// Waits; returns the first `width` values of the first `height` rows that came to the host.
    fn result(&self, pitch: usize, width: usize, height: usize) -> Result<Vec<T>> {
        self.queue.finish()?;
        Ok(rows(self.staging.values(), width, height, pitch))
    }
}

/// Returns the first `width` values of the first `height` rows, without the gaps between rows.
pub(crate) fn rows<T: Copy>(values: &[T], width: usize, height: usize, pitch: usize) -> Vec<T> {
    values.chunks(pitch).take(height).flat_map(|row| &row[..width]).copied().collect()
}

/// Copies rows of `width` values to the first rows of a buffer, which are `pitch` apart, with zeros between them.
pub(crate) fn upload_rows<T: OclPrm>(
    queue: &Queue,
    staging: &mut Pinned<T>,
    to: &Buffer<T>,
    pitch: usize,
    values: &[T],
    width: usize,
) -> Result<Event> {
    for (to, from) in staging.values_mut().chunks_mut(pitch).zip(values.chunks(width)) {
        to[..from.len()].copy_from_slice(from);
        to[from.len()..].fill(T::default());
    }
    queue.upload(staging, to, values.len() / width * pitch)
}

impl<T: Sample + Tabled> Transform for OpenClPlanes<T> {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let planes = colour::planes(picture, self.params.chroma);
        let planes: Vec<Vec<T>> =
            planes.into_iter().map(|plane| plane.into_iter().map(T::from_centred).collect()).collect();
        let result = self.run_forward(&planes);
        self.settled(result)
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        let result = self.run_forward(planes.planes(&self.pyramids)?);
        self.settled(result)
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let result = self.run_inverse(squares.squares(&self.pyramids)?);
        self.settled(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}
