//! The transform of planes of any element by any filter and scheme. Colour is converted on the host; pictures of
//! streams have a faster way, [`super::whole::OpenClTransform`].

use std::sync::Arc;

use device::OclPrm;
use device::open_within;
use device::queue::{Buffer, Pinned, Queue, settled};
use device::{Device, Result};
use kernels::parts::opencl::ChannelTransform;
use kernels::parts::opencl::{backend, find};
use kernels::parts::reference::Sample;
use kernels::parts::reference::{check_picture, colour};
use kernels::parts::{Transform, Values};
use kernels::{BackendInfo, PictureRef, TransformError};
use picture::pyramid::Pyramid;

use super::address::Tabled;
use super::choice;
use crate::OpenError;
use crate::transform::TransformParams;

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
        Self::on(&find(device)?, params, reason)
    }

    /// Opens the same on this device with its settings.
    fn on(device: &Arc<Device>, params: &TransformParams, reason: &str) -> Result<Self, OpenError> {
        let pyramids = params.pyramids();
        let channels = open_within(device, |device| {
            let channel = |pyramid: &Pyramid| {
                let queue = Queue::new(device)?;
                let transform = ChannelTransform::new(&queue, pyramid, &choice::open(&queue, params, pyramid)?)?;
                Ok(ChannelPlanes { staging: queue.pinned(transform.staging_len())?, queue, transform })
            };
            pyramids.iter().map(channel).collect::<Result<_, OpenError>>()
        })?;
        Ok(Self { params: params.clone(), channels, pyramids, backend: backend(device, reason) })
    }

    fn channels(&mut self) -> Vec<PlaneChannel<'_, T>> {
        let channels = self.channels.iter_mut().zip(&self.pyramids);
        let channels = channels.map(|(ChannelPlanes { queue, transform, staging }, pyramid)| PlaneChannel {
            queue,
            transform,
            staging,
            pyramid,
        });
        channels.collect()
    }

    fn settled(&self, result: Result<Vec<Vec<T>>>) -> Result<Values, TransformError> {
        Ok(T::wrap(settled(result, self.channels.iter().map(|channel| &channel.queue))?))
    }
}

/// A channel on its way through a transform: its queue, memory on both sides, and geometry.
pub(crate) struct PlaneChannel<'a, T: OclPrm> {
    pub(crate) queue: &'a Queue,
    pub(crate) transform: &'a ChannelTransform<T>,
    /// Room for the square and for the plane.
    pub(crate) staging: &'a mut Pinned<T>,
    pub(crate) pyramid: &'a Pyramid,
}

impl<T: OclPrm> PlaneChannel<'_, T> {
    /// Transforms planes to squares; waits.
    pub(crate) fn forward(mut channels: Vec<Self>, planes: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        for (channel, plane) in channels.iter_mut().zip(planes) {
            let (samples, pitch) = channel.transform.samples();
            channel.queue.clear(&channel.transform.bands)?;
            // Without any level these are bands, and zero below the plane.
            channel.upload(samples, pitch, plane, channel.pyramid.plane().width())?;
            channel.transform.run_forward(channel.queue, &mut Vec::new())?;
        }
        Self::squares(channels)
    }

    /// Returns the squares that have been queued; waits.
    pub(crate) fn squares(mut channels: Vec<Self>) -> Result<Vec<Vec<T>>> {
        channels.iter_mut().try_for_each(|channel| channel.download(&channel.transform.bands))?;
        let square = |channel: &Self| {
            let side = channel.pyramid.side();
            channel.rows(channel.transform.band_pitch, side, side)
        };
        channels.iter().map(square).collect()
    }

    /// Transforms squares to planes; waits.
    pub(crate) fn inverse(mut channels: Vec<Self>, squares: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
        for (channel, square) in channels.iter_mut().zip(squares) {
            let ChannelTransform { bands, band_pitch, .. } = channel.transform;
            channel.upload(bands, *band_pitch, square, channel.pyramid.side())?;
            channel.transform.run_inverse(channel.queue, &mut Vec::new())?;
            channel.download(channel.transform.samples().0)?;
        }
        let plane = |channel: &Self| {
            let size = channel.pyramid.plane();
            channel.rows(channel.transform.samples().1, size.width(), size.height())
        };
        channels.iter().map(plane).collect()
    }

    /// Copies rows of `width` values to the first rows of a buffer, which are `pitch` apart, with zeros between them.
    fn upload(&mut self, to: &Buffer<T>, pitch: usize, values: &[T], width: usize) -> Result<()> {
        for (to, from) in self.staging.values_mut().chunks_mut(pitch).zip(values.chunks(width)) {
            to[..from.len()].copy_from_slice(from);
            to[from.len()..].fill(T::default());
        }
        self.queue.upload(self.staging, to, values.len() / width * pitch)?;
        self.queue.flush()
    }

    /// Starts to bring a buffer to the host.
    fn download(&mut self, from: &Buffer<T>) -> Result<()> {
        self.queue.download(from, self.staging, from.len())?;
        self.queue.flush()
    }

    /// Waits; returns the first `width` values of the first `height` rows that came to the host.
    fn rows(&self, pitch: usize, width: usize, height: usize) -> Result<Vec<T>> {
        self.queue.finish()?;
        Ok(self.staging.values().chunks(pitch).take(height).flat_map(|row| &row[..width]).copied().collect())
    }
}

impl<T: Sample + Tabled> Transform for OpenClPlanes<T> {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let planes = colour::planes(picture, self.params.chroma);
        let planes: Vec<Vec<T>> =
            planes.into_iter().map(|plane| plane.into_iter().map(T::from_centred).collect()).collect();
        let result = PlaneChannel::forward(self.channels(), &planes);
        self.settled(result)
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        let planes = planes.planes(&self.pyramids)?;
        let result = PlaneChannel::forward(self.channels(), planes);
        self.settled(result)
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let squares = squares.squares(&self.pyramids)?;
        let result = PlaneChannel::inverse(self.channels(), squares);
        self.settled(result)
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

#[cfg(test)]
mod tests {
    use device::settings::Tuning;
    use picture::frame::{Chroma, FrameSize};
    use picture::params::{Boundary, Levels, Padding};

    use super::*;
    use crate::filter::Filter;
    use crate::open::open_transform;
    use kernels::BackendChoice;
    use kernels::parts::{CDF53, CDF97, DD137, Lifting};

    /// Returns the device with settings by which quadruples compute every level that is not the tail's, in such tiles.
    fn with_tiles(tile: [usize; 2]) -> Arc<Device> {
        let Tuning { forward_tile, inverse_tile, tail_group_size, .. } = Tuning::CPU;
        let settings = Tuning { small_level: 1 << 24, tail_side: 16, ..Tuning::GPU };
        let settings = Tuning { forward_tile, inverse_tile, tail_group_size, tile, ..settings };
        Arc::new(find(None).unwrap().with_tuning(settings))
    }

    fn check<T: Sample + Tabled>(lifting: &Lifting, boundary: Boundary, tile: [usize; 2]) {
        let device = with_tiles(tile);
        for (width, height) in [(17, 31), (31, 18), (64, 1), (70, 131), (2, 200), (33, 34)] {
            for padding in [Padding::Smooth, Padding::Zero] {
                let params = TransformParams {
                    size: FrameSize::new(width, height).unwrap(),
                    chroma: Chroma::Grey,
                    filter: Filter::Lifted(*lifting),
                    levels: Levels::Full,
                    boundary,
                    padding,
                    element: T::ELEMENT,
                    scheme: None,
                };
                let values = |count: usize| {
                    T::wrap(vec![(0..count).map(|at| T::from_centred(((at * at * 7) % 251) as f32 - 128.0)).collect()])
                };
                let pyramid = &params.pyramids()[0];
                let (plane, square) = (values(pyramid.plane().pixels()), values(pyramid.side().pow(2)));
                let mut reference = open_transform(&params, BackendChoice::Reference, None).unwrap();
                let wanted = (reference.forward_planes(&plane).unwrap(), reference.inverse(&square).unwrap());
                let mut opencl = OpenClPlanes::<T>::on(&device, &params, "").unwrap();
                let found = (opencl.forward_planes(&plane).unwrap(), opencl.inverse(&square).unwrap());
                assert!(found == wanted, "{params:?} with tiles of {tile:?}");
            }
        }
    }

    #[test]
    fn small_levels_agree_at_ugly_sizes() {
        check::<f32>(&CDF97, Boundary::Symmetric, [16, 16]);
        check::<f32>(&CDF97, Boundary::Periodic, [64, 8]);
        check::<f32>(&DD137, Boundary::Zero, [16, 16]);
        check::<f64>(&DD137, Boundary::Symmetric, [32, 8]);
        check::<i32>(&CDF53, Boundary::Zero, [16, 16]);
    }
}
