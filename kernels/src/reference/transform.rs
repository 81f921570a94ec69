//! Any transform in plain Rust.

use common::pyramid::Pyramid;

use super::sample::Sample;
use super::{backend, check_picture, colour, dwt};
use crate::transform::Filter;
use crate::wavelet::{Element, Wavelet};
use crate::{BackendInfo, Error, PictureRef, Transform, TransformParams, Values};

/// Transform of the reference back end.
#[derive(Debug)]
pub struct ReferenceTransform {
    params: TransformParams,
    wavelet: Wavelet,
    pyramids: Vec<Pyramid>,
    backend: BackendInfo,
}

impl ReferenceTransform {
    /// This transform; `reason` says why this back end was chosen.
    pub fn new(params: &TransformParams, reason: String) -> Result<Self, Error> {
        params.check_scheme("reference")?;
        let Filter::Wavelet(wavelet) = params.filter else {
            let what = params.filter.to_string();
            return Err(Error::NotOnThisBackend { backend: "reference", what, instead: "opencl" });
        };
        Ok(Self { params: params.clone(), wavelet, pyramids: params.pyramids(), backend: backend(reason) })
    }

    fn split<T: Sample>(&self, planes: &[Vec<T>]) -> Values {
        let steps = T::steps(self.wavelet);
        let channels = planes.iter().zip(&self.pyramids);
        T::wrap(channels.map(|(plane, pyramid)| dwt::forward(plane, pyramid, &steps, self.params.boundary)).collect())
    }

    fn merge<T: Sample>(&self, squares: &[Vec<T>]) -> Values {
        let steps = T::steps(self.wavelet);
        let channels = squares.iter().zip(&self.pyramids);
        T::wrap(channels.map(|(square, pyramid)| dwt::inverse(square, pyramid, &steps, self.params.boundary)).collect())
    }
}

impl Transform for ReferenceTransform {
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, Error> {
        check_picture(picture, self.params.size)?;
        let planes = colour::planes(picture, self.params.chroma);
        Ok(match self.params.element {
            Element::F32 => self.split(&planes),
            Element::F64 => self.split(&converted::<f64>(planes)),
            Element::I32 => self.split(&converted::<i32>(planes)),
        })
    }

    fn forward_planes(&mut self, planes: &Values) -> Result<Values, Error> {
        Ok(match self.params.element {
            Element::F32 => self.split::<f32>(planes.planes(&self.pyramids)?),
            Element::F64 => self.split::<f64>(planes.planes(&self.pyramids)?),
            Element::I32 => self.split::<i32>(planes.planes(&self.pyramids)?),
        })
    }

    fn inverse(&mut self, squares: &Values) -> Result<Values, Error> {
        Ok(match self.params.element {
            Element::F32 => self.merge::<f32>(squares.squares(&self.pyramids)?),
            Element::F64 => self.merge::<f64>(squares.squares(&self.pyramids)?),
            Element::I32 => self.merge::<i32>(squares.squares(&self.pyramids)?),
        })
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Planes of what colour conversion gives in another element.
fn converted<T: Sample>(planes: Vec<Vec<f32>>) -> Vec<Vec<T>> {
    planes.into_iter().map(|plane| plane.into_iter().map(T::from_centred).collect()).collect()
}
