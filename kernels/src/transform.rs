//! The transform alone, of any wavelet, scheme and precision: for tools, measurements and science.

use std::sync::Arc;

use common::frame::{Chroma, FrameSize};
use common::params::{Boundary, Levels, Padding};

use crate::bank::FilterBank;
use crate::wavelet::{Element, Scheme, Wavelet};
use crate::{BackendInfo, Error, PictureRef};

/// Which transform of which planes.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformParams {
    /// Size of the picture.
    pub size: FrameSize,
    /// Planes, and their sizes.
    pub chroma: Chroma,
    /// What splits rows and columns.
    pub filter: Filter,
    /// Depth of the decomposition.
    pub levels: Levels,
    /// Extension at the ends of each row and column.
    pub boundary: Boundary,
    /// How the plane continues in its square.
    pub padding: Padding,
    /// Arithmetic; [`Element::I32`] if and only if the wavelet is [`Wavelet::Cdf53`].
    pub element: Element,
    /// Order of the computation; `None` leaves it to the back end. Only the OpenCL back end has a choice.
    pub scheme: Option<Scheme>,
}

/// What splits rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A wavelet in lifting steps.
    Wavelet(Wavelet),
    /// Any filter bank, by convolution.
    Bank(Arc<FilterBank>),
}

/// Values of all channels, channel by channel: squares of coefficients in Mallat layout, or planes of samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Single precision.
    F32(Vec<Vec<f32>>),
    /// Double precision.
    F64(Vec<Vec<f64>>),
    /// Integers.
    I32(Vec<Vec<i32>>),
}

/// A transform on some back end, with all its memory allocated.
pub trait Transform: Send {
    /// Colour conversion, padding and forward transform: one square of coefficients per channel, row by row in
    /// Mallat layout, side [`common::pyramid::Pyramid::side`].
    fn forward(&mut self, picture: PictureRef<'_>) -> Result<Values, Error>;

    /// The same of planes of samples centred at 0, one per channel, of the channel's size, row by row.
    fn forward_planes(&mut self, planes: &Values) -> Result<Values, Error>;

    /// Inverse transform of such squares: one plane per channel, row by row, samples centred at 0 (-128 to 127).
    fn inverse(&mut self, squares: &Values) -> Result<Values, Error>;

    /// What computes.
    fn backend(&self) -> &BackendInfo;
}
