//! The transform alone, of any wavelet, scheme and precision: for tools, measurements and science.

use kernels::parts::PlaneParams;
use kernels::{Backend, Element};
use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, Levels, Padding, StreamParams};
use picture::pyramid::Pyramid;

use crate::OpenError;
use crate::filter::Filter;
use crate::scheme::Scheme;

/// Transform, and the planes to transform.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformParams {
    /// Size of the picture.
    pub size: FrameSize,
    /// Planes, and their sizes.
    pub chroma: Chroma,
    /// The filter that splits rows and columns.
    pub filter: Filter,
    /// Depth of the decomposition.
    pub levels: Levels,
    /// Extension at the ends of each row and column.
    pub boundary: Boundary,
    /// Continuation of the plane in its square.
    pub padding: Padding,
    /// Arithmetic; [`Element::I32`] if and only if the wavelet is reversible.
    pub element: Element,
    /// Order of the computation; `None` leaves it to the back end. Only the OpenCL back end has a choice. It changes
    /// no coefficient beyond rounding, so that any scheme inverts any.
    pub scheme: Option<Scheme>,
}

impl TransformParams {
    /// Returns the geometry of each channel, in channel order.
    pub fn pyramids(&self) -> Vec<Pyramid> {
        let reach = self.filter.reach();
        let pyramid = |&channel| {
            let plane = self.chroma.plane_size(self.size, channel);
            Pyramid::with_reach(plane, self.levels, self.boundary, self.padding, reach)
        };
        self.chroma.channels().iter().map(pyramid).collect()
    }

    pub(crate) fn wrong_element(&self, element: Element) -> OpenError {
        OpenError::WrongElement { filter: self.filter.to_string(), element }
    }

    /// Returns true if only the OpenCL back end computes the scheme.
    pub(crate) fn scheme_needs_opencl(&self) -> bool {
        self.scheme.is_some_and(|scheme| scheme != Scheme::Separable)
    }

    /// Returns [`OpenError::NotOnThisBackend`] if the scheme is one that only OpenCL computes.
    pub(crate) fn check_scheme(&self, backend: Backend) -> Result<(), OpenError> {
        match self.scheme {
            Some(scheme) if self.scheme_needs_opencl() => Err(OpenError::NotOnThisBackend {
                backend,
                what: format!("the scheme {scheme}"),
                instead: Backend::Opencl,
            }),
            _ => Ok(()),
        }
    }
}

impl From<&StreamParams> for TransformParams {
    /// Returns the transform of a stream's pictures.
    fn from(stream: &StreamParams) -> Self {
        let PlaneParams { size, chroma, lifting, levels, boundary, padding, element } = stream.into();
        Self { size, chroma, filter: Filter::Lifted(lifting), levels, boundary, padding, element, scheme: None }
    }
}
