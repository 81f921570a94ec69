//! The transform alone, of any wavelet, scheme and precision: for tools, measurements and science.

use picture::frame::{Chroma, FrameSize};
use picture::params::{self, Boundary, Levels, Padding, StreamParams};
use picture::pyramid::Pyramid;

use crate::address;
pub use crate::filter::Filter;
pub use crate::reference::sample::Values;
use crate::wavelet::{Element, Scheme, Wavelet};
use crate::{Backend, BackendInfo, OpenError, PictureRef, TransformError};

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
    /// Arithmetic; [`Element::I32`] if and only if the wavelet is [`Wavelet::Cdf53`].
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

    /// Returns [`OpenError::WrongElement`] unless the arithmetic is one that the filter has,
    /// [`OpenError::SchemeNotFor`] if a filter bank is to be lifted, [`OpenError::FilterBank`] if it does not
    /// reconstruct all rows and columns.
    pub fn check(&self) -> Result<(), OpenError> {
        let reversible = self.filter == Filter::Wavelet(Wavelet::Cdf53);
        if reversible != (self.element == Element::I32) {
            return Err(self.wrong_element(self.element));
        }
        if let (Filter::Bank(_), Some(scheme)) = (&self.filter, self.scheme.filter(|scheme| scheme.lifts())) {
            let (filter, element, instead) = (self.filter.to_string(), self.element, Scheme::Rowcolumn);
            return Err(OpenError::SchemeNotFor { scheme, filter, element, instead });
        }
        Ok(address::check(self)?)
    }

    pub(crate) fn wrong_element(&self, element: Element) -> OpenError {
        OpenError::WrongElement { filter: self.filter.to_string(), element }
    }

    /// Returns the bytes that a call takes at most on this machine: the planes as colour conversion makes them and as
    /// they are transformed, the squares, and a working copy of the largest of them.
    pub(crate) fn host_bytes(&self) -> u64 {
        let pyramids = self.pyramids();
        let samples: usize = pyramids.iter().map(|pyramid| pyramid.plane().pixels()).sum();
        let squares = || pyramids.iter().map(|pyramid| pyramid.side() * pyramid.side());
        let values = samples + squares().sum::<usize>() + squares().max().unwrap_or(0);
        (size_of::<f32>() * samples) as u64 + (self.element.bytes() * values) as u64
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

impl TransformParams {
    /// Returns the transform of a stream's pictures without the `dropped` finest levels; as many as every plane has.
    pub(crate) fn without_finest(stream: &StreamParams, dropped: usize) -> Self {
        let levels = match stream.codec.levels {
            Levels::Full => Levels::Full,
            Levels::AtMost(levels) => Levels::AtMost(levels.saturating_sub(u8::try_from(dropped).unwrap_or(u8::MAX))),
        };
        Self { size: stream.size.halved_times(dropped), levels, ..Self::from(stream) }
    }
}

impl From<&StreamParams> for TransformParams {
    /// Returns the transform of a stream's pictures.
    fn from(stream: &StreamParams) -> Self {
        let (wavelet, element) = match stream.codec.wavelet {
            params::Wavelet::Cdf97 => (Wavelet::Cdf97, Element::F32),
            params::Wavelet::Cdf53 => (Wavelet::Cdf53, Element::I32),
        };
        Self {
            size: stream.size,
            chroma: stream.chroma,
            filter: Filter::Wavelet(wavelet),
            levels: stream.codec.levels,
            boundary: stream.codec.boundary,
            padding: stream.codec.padding,
            element,
            scheme: None,
        }
    }
}

/// A transform on some back end.
pub trait Transform: Send {
    /// Converts the colours of a picture of [`TransformParams::size`], in any pixel format, pads and transforms it: one
    /// square of coefficients per channel, row by row in Mallat layout, side [`picture::pyramid::Pyramid::side`].
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, TransformError>;

    /// Transforms planes of samples centred at 0, one per channel, of the channel's size, row by row.
    fn forward_planes(&mut self, planes: &Values) -> Result<Values, TransformError>;

    /// Transforms as [`Self::forward_planes`] does, into memory that is there: as many values as it returns.
    fn forward_planes_into(&mut self, planes: &Values, squares: &mut Values) -> Result<(), TransformError> {
        *squares = self.forward_planes(planes)?;
        Ok(())
    }

    /// Transforms such squares back: one plane per channel, row by row, samples centred at 0 (-128 to 127).
    fn inverse(&mut self, squares: &Values) -> Result<Values, TransformError>;

    /// Transforms as [`Self::inverse`] does, into memory that is there: as many values as it returns.
    fn inverse_into(&mut self, squares: &Values, planes: &mut Values) -> Result<(), TransformError> {
        *planes = self.inverse(squares)?;
        Ok(())
    }

    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;
}
