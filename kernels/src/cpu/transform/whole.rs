//! The transform alone, of any wavelet and element.

use picture::params::Boundary;
use picture::pyramid::Pyramid;
use rayon::prelude::*;

use super::level::PlaneRows;
use super::pyramid::{Order, PlaneTransform, extent, padded_pitch};
use crate::cpu::vector::VectorSample;
use crate::cpu::{backend, colour};
use crate::lifting::Lifting;
use crate::reference::check_picture;
use crate::transform::PlaneParams;
use crate::{BackendInfo, Element, PictureRef, Transform, TransformError, Values};

/// Opens this transform; `reason` says why this back end was chosen.
pub fn open_transform(params: &PlaneParams, reason: String) -> Box<dyn Transform> {
    match params.element {
        Element::F32 => Box::new(CpuTransform::<f32>::new(params, reason)),
        Element::F64 => Box::new(CpuTransform::<f64>::new(params, reason)),
        Element::I32 => Box::new(CpuTransform::<i32>::new(params, reason)),
    }
}

/// Transform of the processor back end.
#[derive(Debug)]
struct CpuTransform<T: VectorSample> {
    params: PlaneParams,
    pyramids: Vec<Pyramid>,
    channels: Vec<ChannelTransform<T>>,
    backend: BackendInfo,
}

impl<T: VectorSample> CpuTransform<T> {
    fn new(params: &PlaneParams, reason: String) -> Self {
        let pyramids = params.pyramids();
        let channels =
            pyramids.iter().map(|pyramid| ChannelTransform::new(pyramid, &params.lifting, params.boundary)).collect();
        Self { params: *params, pyramids, channels, backend: backend(reason) }
    }

    /// Returns memory for every coefficient, by channel.
    fn empty_squares(&self) -> Vec<Vec<T>> {
        self.pyramids.iter().map(|pyramid| vec![T::default(); pyramid.side() * pyramid.side()]).collect()
    }

    /// Returns memory for every sample, by channel.
    fn empty_planes(&self) -> Vec<Vec<T>> {
        self.pyramids.iter().map(|pyramid| vec![T::default(); pyramid.plane().pixels()]).collect()
    }

    fn split(&mut self, planes: &[Vec<T>], squares: &mut [Vec<T>]) {
        let jobs = self.channels.par_iter_mut().zip(planes).zip(squares);
        jobs.for_each(|((channel, plane), square)| channel.split(plane, square));
    }

    fn merge(&mut self, squares: &[Vec<T>], planes: &mut [Vec<T>]) {
        let jobs = self.channels.par_iter_mut().zip(squares).zip(planes);
        jobs.for_each(|((channel, square), plane)| channel.merge(square, plane));
    }
}

impl<T: VectorSample> Transform for CpuTransform<T> {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        let planes: Vec<Vec<T>> = chroma
            .channels()
            .iter()
            .map(|&channel| {
                let size = chroma.plane_size(picture.size(), channel);
                let mut plane = vec![0.0; size.pixels()];
                colour::load_plane(picture, chroma, channel, &mut plane, size.width());
                plane.into_iter().map(T::from_centred).collect()
            })
            .collect();
        let mut squares = self.empty_squares();
        self.split(&planes, &mut squares);
        Ok(T::wrap(squares))
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        let planes = planes.planes(&self.pyramids)?;
        let mut squares = self.empty_squares();
        self.split(planes, &mut squares);
        Ok(T::wrap(squares))
    }

    fn forward_planes_into(&mut self, planes: &Values, squares: &mut Values) -> Result<(), TransformError> {
        let planes = planes.planes(&self.pyramids)?;
        self.split(planes, squares.squares_mut(&self.pyramids)?);
        Ok(())
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let squares = squares.squares(&self.pyramids)?;
        let mut planes = self.empty_planes();
        self.merge(squares, &mut planes);
        Ok(T::wrap(planes))
    }

    fn inverse_into(&mut self, squares: &Values, planes: &mut Values) -> Result<(), TransformError> {
        let squares = squares.squares(&self.pyramids)?;
        self.merge(squares, planes.planes_mut(&self.pyramids)?);
        Ok(())
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// The transform of one channel.
#[derive(Debug)]
struct ChannelTransform<T: VectorSample> {
    pyramid: Pyramid,
    transform: PlaneTransform<T>,
    /// The plane in its square and the distance of its rows, if the padding is transformed too.
    padded: Option<(Vec<T>, usize)>,
}

impl<T: VectorSample> ChannelTransform<T> {
    fn new(pyramid: &Pyramid, lifting: &Lifting, boundary: Boundary) -> Self {
        let (columns, rows) = extent(pyramid);
        let pitch = padded_pitch(columns);
        let is_padded = (columns, rows) != (pyramid.plane().width(), pyramid.plane().height());
        let padded = is_padded.then(|| (vec![T::default(); rows * pitch], pitch));
        Self { pyramid: pyramid.clone(), transform: PlaneTransform::new(pyramid, lifting, boundary), padded }
    }

    fn split(&mut self, plane: &[T], square: &mut [T]) {
        let (width, side) = (self.pyramid.plane().width(), self.pyramid.side());
        if plane.len() < side * side {
            // Between and behind the bands.
            square.fill(T::default());
        }
        let mut samples = PlaneRows { data: plane, pitch: width };
        if let Some((padded, pitch)) = &mut self.padded {
            padded.fill(T::default());
            for (to, from) in padded.chunks_mut(*pitch).zip(plane.chunks_exact(width)) {
                to[..width].copy_from_slice(from);
            }
            samples = PlaneRows { data: padded, pitch: *pitch };
        }
        self.transform.forward(samples, square, Order::Square);
    }

    fn merge(&mut self, square: &[T], plane: &mut [T]) {
        let width = self.pyramid.plane().width();
        match &mut self.padded {
            None => self.transform.inverse(square, Order::Square, plane, width),
            Some((padded, pitch)) => {
                self.transform.inverse(square, Order::Square, padded, *pitch);
                for (to, from) in plane.chunks_exact_mut(width).zip(padded.chunks(*pitch)) {
                    to.copy_from_slice(&from[..width]);
                }
            }
        }
    }
}
