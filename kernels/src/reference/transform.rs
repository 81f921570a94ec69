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

/// Transform of the reference back end.
#[derive(Debug)]
pub struct ReferenceTransform {
    params: TransformParams,
    pyramids: Vec<Pyramid>,
    engines: Engines,
    backend: BackendInfo,
}

/// Transforms of each channel's plane.
#[derive(Debug)]
enum Engines {
    F32(Vec<Box<dyn Engine<f32>>>),
    F64(Vec<Box<dyn Engine<f64>>>),
    I32(Vec<Box<dyn Engine<i32>>>),
}

impl ReferenceTransform {
    /// Creates this transform; `reason` says why this back end was chosen.
    pub fn new(params: &TransformParams, reason: String) -> Result<Self, OpenError> {
        params.check_scheme(Backend::Reference)?;
        Self::within(params, backend(reason))
    }

    /// Creates this transform as a part of another back end.
    pub(crate) fn within(params: &TransformParams, backend: BackendInfo) -> Result<Self, OpenError> {
        let pyramids = params.pyramids();
        let engines = match (&params.filter, params.element) {
            (Filter::Wavelet(wavelet), Element::F32) => Engines::F32(by_steps(*wavelet, params, &pyramids)),
            (Filter::Wavelet(wavelet), Element::F64) => Engines::F64(by_steps(*wavelet, params, &pyramids)),
            (Filter::Wavelet(wavelet), Element::I32) => Engines::I32(by_steps(*wavelet, params, &pyramids)),
            (Filter::Bank(_), Element::F32) => Engines::F32(by_tables(params, &pyramids)),
            (Filter::Bank(_), Element::F64) => Engines::F64(by_tables(params, &pyramids)),
            (Filter::Bank(_), element) => return Err(params.wrong_element(element)),
        };
        Ok(Self { params: params.clone(), pyramids, engines, backend })
    }

    fn split<T: Sample>(&self, engines: &[Box<dyn Engine<T>>], planes: &[Vec<T>]) -> Values {
        let channels = engines.iter().zip(planes).zip(&self.pyramids);
        T::wrap(channels.map(|((engine, plane), pyramid)| engine.forward(plane, pyramid)).collect())
    }

    fn merge<T: Sample>(&self, engines: &[Box<dyn Engine<T>>], squares: &[Vec<T>]) -> Values {
        let channels = engines.iter().zip(squares).zip(&self.pyramids);
        T::wrap(channels.map(|((engine, square), pyramid)| engine.inverse(square, pyramid)).collect())
    }
}

impl Transform for ReferenceTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError> {
        check_picture(picture, self.params.size)?;
        let planes = colour::planes(picture, self.params.chroma);
        Ok(match &self.engines {
            Engines::F32(engines) => self.split(engines, &planes),
            Engines::F64(engines) => self.split(engines, &converted(planes)),
            Engines::I32(engines) => self.split(engines, &converted(planes)),
        })
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError> {
        Ok(match &self.engines {
            Engines::F32(engines) => self.split(engines, planes.planes(&self.pyramids)?),
            Engines::F64(engines) => self.split(engines, planes.planes(&self.pyramids)?),
            Engines::I32(engines) => self.split(engines, planes.planes(&self.pyramids)?),
        })
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError> {
        Ok(match &self.engines {
            Engines::F32(engines) => self.merge(engines, squares.squares(&self.pyramids)?),
            Engines::F64(engines) => self.merge(engines, squares.squares(&self.pyramids)?),
            Engines::I32(engines) => self.merge(engines, squares.squares(&self.pyramids)?),
        })
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Returns planes of what colour conversion gives in another element.
fn converted<T: Sample>(planes: Vec<Vec<f32>>) -> Vec<Vec<T>> {
    planes.into_iter().map(|plane| plane.into_iter().map(T::from_centred).collect()).collect()
}

/// Transforms a plane into a square of coefficients and back.
trait Engine<T>: Debug + Send {
    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T>;
    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T>;
}

#[derive(Debug)]
struct LiftingEngine<T: Sample> {
    steps: Steps<T>,
    boundary: Boundary,
}

impl<T: Sample> Engine<T> for LiftingEngine<T> {
    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::forward(plane, pyramid, &self.steps, self.boundary)
    }

    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        dwt::inverse(square, pyramid, &self.steps, self.boundary)
    }
}

impl<T: Weighted> Engine<T> for Tables<T> {
    fn forward(&self, plane: &[T], pyramid: &Pyramid) -> Vec<T> {
        self.forward(plane, pyramid)
    }

    fn inverse(&self, square: &[T], pyramid: &Pyramid) -> Vec<T> {
        self.inverse(square, pyramid)
    }
}

fn by_steps<T: Sample>(wavelet: Wavelet, params: &TransformParams, pyramids: &[Pyramid]) -> Vec<Box<dyn Engine<T>>> {
    let engine = |_| LiftingEngine { steps: T::steps(wavelet), boundary: params.boundary };
    pyramids.iter().map(|pyramid| Box::new(engine(pyramid)) as Box<dyn Engine<T>>).collect()
}

fn by_tables<T: Weighted>(params: &TransformParams, pyramids: &[Pyramid]) -> Vec<Box<dyn Engine<T>>> {
    let engine = |pyramid| Tables::new(&params.filter, params.boundary, pyramid);
    pyramids.iter().map(|pyramid| Box::new(engine(pyramid)) as Box<dyn Engine<T>>).collect()
}
