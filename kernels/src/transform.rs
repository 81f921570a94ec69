//! The transform of planes by lifting steps: what lossless coding stands on, and the laboratory.

use picture::frame::{Chroma, FrameSize};
use picture::params::{Boundary, Levels, Padding, StreamParams};
use picture::pyramid::Pyramid;

use crate::lifting::Lifting;
pub use crate::sample::Values;
use crate::{BackendInfo, Element, PictureRef, TransformError};

/// Planes of pictures, and their transform by lifting steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneParams {
    /// Size of the picture.
    pub size: FrameSize,
    /// Planes, and their sizes.
    pub chroma: Chroma,
    /// The steps that split rows and columns.
    pub lifting: Lifting,
    /// Depth of the decomposition.
    pub levels: Levels,
    /// Extension at the ends of each row and column.
    pub boundary: Boundary,
    /// Continuation of the plane in its square.
    pub padding: Padding,
    /// Arithmetic; [`Element::I32`] if and only if the steps are reversible.
    pub element: Element,
}

impl PlaneParams {
    /// Returns the geometry of each channel, in channel order.
    pub fn pyramids(&self) -> Vec<Pyramid> {
        let pyramid = |&channel| {
            let plane = self.chroma.plane_size(self.size, channel);
            Pyramid::with_reach(plane, self.levels, self.boundary, self.padding, self.lifting.reach())
        };
        self.chroma.channels().iter().map(pyramid).collect()
    }

    /// Returns the bytes that a call takes at most on this machine.
    pub(crate) fn host_bytes(&self) -> u64 {
        host_bytes(&self.pyramids(), self.element)
    }

    /// Returns the transform of a stream's pictures without the `dropped` finest levels; as many as every plane has.
    pub(crate) fn without_finest(stream: &StreamParams, dropped: usize) -> Self {
        let levels = match stream.codec.levels {
            Levels::Full => Levels::Full,
            Levels::AtMost(levels) => Levels::AtMost(levels.saturating_sub(u8::try_from(dropped).unwrap_or(u8::MAX))),
        };
        Self { size: stream.size.halved_times(dropped), levels, ..Self::from(stream) }
    }
}

impl From<&StreamParams> for PlaneParams {
    /// Returns the transform of a stream's pictures.
    fn from(stream: &StreamParams) -> Self {
        let lifting = Lifting::of(stream.codec.wavelet);
        Self {
            size: stream.size,
            chroma: stream.chroma,
            lifting,
            levels: stream.codec.levels,
            boundary: stream.codec.boundary,
            padding: stream.codec.padding,
            element: if lifting.reversible { Element::I32 } else { Element::F32 },
        }
    }
}

/// Returns the bytes that a transform of planes of `pyramids` takes at most on this machine: the planes as colour
/// conversion makes them and as they are transformed, the squares, and a working copy of the largest of them.
pub fn host_bytes(pyramids: &[Pyramid], element: Element) -> u64 {
    let samples: usize = pyramids.iter().map(|pyramid| pyramid.plane().pixels()).sum();
    let squares = || pyramids.iter().map(|pyramid| pyramid.side() * pyramid.side());
    let values = samples + squares().sum::<usize>() + squares().max().unwrap_or(0);
    (size_of::<f32>() * samples) as u64 + (element.bytes() * values) as u64
}

/// A transform on some back end.
pub trait Transform: Send {
    /// Converts the colours of a picture of its size, in any pixel format, pads and transforms it: one
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
