//! Any transform in plain Rust.

use std::fmt::Debug;

use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::convolution::{Tables, Weighted};
use super::sample::{Sample, Steps};
use super::{backend, check_picture, colour, dwt};
use crate::transform::Filter;
use crate::wavelet::{Element, Wavelet};
use crate::{Backend, BackendInfo, OpenError, PictureRef, Transform, TransformError, TransformParams, Values};

/// Opens this transform; `reason` says why this back end was chosen.
pub(crate) fn open_transform(params: &TransformParams, reason: String) -> Result<Box<dyn Transform>, OpenError> {
    params.check_scheme(Backend::Reference)?;
    open_within(params, backend(reason))
}

/// Opens this transform as a part of another back end.
pub(crate) fn open_within(params: &TransformParams, backend: BackendInfo) -> Result<Box<dyn Transform>, OpenError> {
    Ok(match (&params.filter, params.element) {
        (Filter::Wavelet(wavelet), Element::F32) => by_steps::<f32>(*wavelet, params, backend),
        (Filter::Wavelet(wavelet), Element::F64) => by_steps::<f64>(*wavelet, params, backend),
        (Filter::Wavelet(wavelet), Element::I32) => by_steps::<i32>(*wavelet, params, backend),
        (Filter::Bank(_), Element::F32) => by_tables::<f32>(params, backend),
        (Filter::Bank(_), Element::F64) => by_tables::<f64>(params, backend),
        (Filter::Bank(_), element) => return Err(params.wrong_element(element)),
    })
}

fn by_steps<T: Sample>(wavelet: Wavelet, params: &TransformParams, backend: BackendInfo) -> Box<dyn Transform> {
    let boundary = params.boundary;
    let engine = |_: &Pyramid| LiftingEngine { steps: T::steps(wavelet), boundary };
    Box::new(ReferenceTransform::new(params, backend, engine))
}

fn by_tables<T: Weighted>(params: &TransformParams, backend: BackendInfo) -> Box<dyn Transform> {
    let engine = |pyramid: &Pyramid| Tables::<T>::new(&params.filter, params.boundary, pyramid);
    Box::new(ReferenceTransform::new(params, backend, engine))
}

/// Transform of the reference back end.
#[derive(Debug)]
struct ReferenceTransform<E> {
    params: TransformParams,
    pyramids: Vec<Pyramid>,
    /// One for each channel's plane.
    engines: Vec<E>,
    backend: BackendInfo,
}

impl<E: Engine> ReferenceTransform<E> {
    fn new(params: &TransformParams, backend: BackendInfo, engine: impl Fn(&Pyramid) -> E) -> Self {
        let pyramids = params.pyramids();
        let engines = pyramids.iter().map(engine).collect();
        Self { params: params.clone(), pyramids, engines, backend }
    }

    fn split(&self, planes: &[Vec<E::Element>]) -> Values {
        let channels = self.engines.iter().zip(planes).zip(&self.pyramids);
        E::Element::wrap(channels.map(|((engine, plane), pyramid)| engine.forward(plane, pyramid)).collect())
    }
}

impl<E: Engine> Transform for ReferenceTransform<E> {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let planes = colour::planes(picture, self.params.chroma);
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
trait Engine: Debug + Send {
    type Element: Sample;

    fn forward(&self, plane: &[Self::Element], pyramid: &Pyramid) -> Vec<Self::Element>;
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

impl<T: Weighted> Engine for Tables<T> {
    type Element = T;

    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        self.forward(plane, pyramid)
    }

    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        self.inverse(square, pyramid)
    }
}
