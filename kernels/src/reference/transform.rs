//! The transform of planes in plain Rust.

use std::fmt::Debug;

use picture::frame::{Chroma, FrameSize};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::{backend, check_picture, colour, dwt};
use crate::sample::{Sample, Steps};
use crate::transform::PlaneParams;
use crate::{BackendInfo, Element, PictureRef, Transform, TransformError, Values};

/// Opens this transform; `reason` says why this back end was chosen.
pub fn open_transform(params: &PlaneParams, reason: String) -> Box<dyn Transform> {
    match params.element {
        Element::F32 => by_steps::<f32>(params, reason),
        Element::F64 => by_steps::<f64>(params, reason),
        Element::I32 => by_steps::<i32>(params, reason),
    }
}

fn by_steps<T: Sample>(params: &PlaneParams, reason: String) -> Box<dyn Transform> {
    let engine = |_: &Pyramid| LiftingEngine { steps: T::steps(&params.lifting), boundary: params.boundary };
    Box::new(ReferenceTransform::new((params.size, params.chroma), params.pyramids(), backend(reason), engine))
}

/// Transform of the reference back end.
#[derive(Debug)]
pub struct ReferenceTransform<E> {
    size: FrameSize,
    chroma: Chroma,
    pyramids: Vec<Pyramid>,
    /// One for each channel's plane.
    engines: Vec<E>,
    backend: BackendInfo,
}

impl<E: Engine> ReferenceTransform<E> {
    /// Creates the transform of pictures of this size and chroma, whose planes are those of `pyramids`.
    pub fn new(
        (size, chroma): (FrameSize, Chroma),
        pyramids: Vec<Pyramid>,
        backend: BackendInfo,
        engine: impl Fn(&Pyramid) -> E,
    ) -> Self {
        let engines = pyramids.iter().map(engine).collect();
        Self { size, chroma, pyramids, engines, backend }
    }

    fn split(&self, planes: &[Vec<E::Element>]) -> Values {
        let channels = self.engines.iter().zip(planes).zip(&self.pyramids);
        E::Element::wrap(channels.map(|((engine, plane), pyramid)| engine.forward(plane, pyramid)).collect())
    }
}

impl<E: Engine> Transform for ReferenceTransform<E> {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.size)?;
        let planes = colour::planes(picture, self.chroma);
        let converted = |plane: Vec<f32>| plane.into_iter().map(E::Element::from_centred).collect();
        Ok(self.split(&planes.into_iter().map(converted).collect::<Vec<_>>()))
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        Ok(self.split(planes.planes(&self.pyramids)?))
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        let channels = self.engines.iter().zip(squares.squares(&self.pyramids)?).zip(&self.pyramids);
        let planes = channels.map(|((engine, square), pyramid)| engine.inverse(square, pyramid));
        Ok(E::Element::wrap(planes.collect()))
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Transforms a plane into a square of coefficients and back.
pub trait Engine: Debug + Send {
    /// The numbers that both are made of.
    type Element: Sample;

    /// Returns the coefficients of a plane.
    fn forward(&self, plane: &[Self::Element], pyramid: &Pyramid) -> Vec<Self::Element>;
    /// Returns the plane of a square.
    fn inverse(&self, square: &[Self::Element], pyramid: &Pyramid) -> Vec<Self::Element>;
}

#[derive(Debug)]
struct LiftingEngine<T: Sample> {
    steps: Steps<T>,
    boundary: Boundary,
}

impl<T: Sample> Engine for LiftingEngine<T> {
    type Element = T;

    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::forward(plane, pyramid, &self.steps, self.boundary)
    }

    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::inverse(square, pyramid, &self.steps, self.boundary)
    }
}
