//! Choice of the scheme for each level of a transform.

use device::queue::Queue;
use device::settings::StreamScheme;
use device::{Device, Result};
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::address::Tabled;
use super::convolution::Convolution;
use super::level::{LevelKernels, LevelSize};
use super::line::Lines;
use super::rowcolumn::RowColumn;
use super::scheme::Tiles;
use super::slab::Slab;
use super::small::Small;
use super::tail::Tail;
use super::tile::Separable;
use crate::reference::sample::Sample;
use crate::transform::Filter;
use crate::wavelet::{Element, Scheme, Wavelet};
use crate::{Backend, OpenError, TransformParams};

/// A scheme, and [`Lines`] for the levels that it does not take.
pub(crate) struct Schemes<T> {
    scheme: Box<dyn LevelKernels<T>>,
    lines: Option<Lines>,
    /// For levels of up to so many samples, which do not fill the device: the same lifting steps, a barrier each, by
    /// many work-items that do little.
    small: Option<(Small, usize)>,
    tail: Option<Tail>,
}

impl Schemes<f32> {
    /// Opens the transform of streams: the CDF 9/7 by the scheme that suits the device.
    pub(crate) fn stream(device: &Device, boundary: Boundary, pyramid: &Pyramid) -> Result<Self, OpenError> {
        match device.tuning.scheme {
            StreamScheme::Slab => Self::slab(device, boundary, pyramid),
            StreamScheme::Separable => Self::separable(device, Wavelet::Cdf97, Element::F32, boundary, pyramid),
        }
    }
}

impl<T: Sample + Tabled> Schemes<T> {
    fn tiles(
        device: &Device,
        scheme: Scheme,
        wavelet: Wavelet,
        boundary: Boundary,
        pyramid: &Pyramid,
    ) -> Result<Self, OpenError> {
        let tiles = Box::new(Tiles::new(device, scheme, wavelet, T::ELEMENT, boundary)?);
        Self::new(tiles, pyramid, || Lines::new(device, wavelet, T::ELEMENT, boundary))
    }

    /// Opens what the parameters ask for, or what suits them best; [`OpenError::SchemeNotFor`] or
    /// [`OpenError::NotOnThisBackend`] if there is no such thing.
    pub(crate) fn open(queue: &Queue, params: &TransformParams, pyramid: &Pyramid) -> Result<Self, OpenError> {
        let (device, filter, boundary, element) = (queue.device(), &params.filter, params.boundary, T::ELEMENT);
        if element == Element::F64 && !device.has_doubles() {
            let what = format!("{element} on this device");
            return Err(OpenError::NotOnThisBackend { backend: Backend::Opencl, what, instead: Backend::Cpu });
        }
        let default = match filter {
            Filter::Wavelet(Wavelet::Cdf97) if element == Element::F32 => match device.tuning.scheme {
                StreamScheme::Slab => Scheme::Slab,
                StreamScheme::Separable => Scheme::Separable,
            },
            Filter::Wavelet(_) => Scheme::Separable,
            Filter::Bank(_) => Scheme::Rowcolumn,
        };
        let scheme = params.scheme.unwrap_or(default);
        match (scheme, filter) {
            (Scheme::Convolution, _) => {
                Ok(Self::all(Box::new(Convolution::<T>::new(queue, filter, boundary, pyramid)?)))
            }
            (Scheme::Rowcolumn, _) => Ok(Self::all(Box::new(RowColumn::<T>::new(queue, filter, boundary, pyramid)?))),
            (Scheme::Slab, Filter::Wavelet(Wavelet::Cdf97)) if element == Element::F32 => {
                Self::slab(device, boundary, pyramid)
            }
            (Scheme::Separable, &Filter::Wavelet(wavelet)) => {
                Self::separable(device, wavelet, element, boundary, pyramid)
            }
            (Scheme::Slab, _) | (_, Filter::Bank(_)) => {
                let filter = filter.to_string();
                Err(OpenError::SchemeNotFor { scheme, filter, element, instead: default })
            }
            (_, &Filter::Wavelet(wavelet)) => Self::tiles(device, scheme, wavelet, boundary, pyramid),
        }
    }
}

impl<T> Schemes<T> {
    fn slab(device: &Device, boundary: Boundary, pyramid: &Pyramid) -> Result<Self, OpenError> {
        let slab = Box::new(Slab::new(device, boundary)?);
        let mut slab = Self::new(slab, pyramid, || Lines::new(device, Wavelet::Cdf97, Element::F32, boundary))?;
        slab.tail = Some(Tail::new(device, Wavelet::Cdf97, Element::F32, boundary)?);
        Ok(slab)
    }

    fn separable(
        device: &Device,
        wavelet: Wavelet,
        element: Element,
        boundary: Boundary,
        pyramid: &Pyramid,
    ) -> Result<Self, OpenError> {
        let tiles = Box::new(Separable::new(device, wavelet, element, boundary)?);
        let mut separable = Self::new(tiles, pyramid, || Lines::new(device, wavelet, element, boundary))?;
        if device.tuning.small_level > 0 {
            let small = Small::new(device, wavelet, element, boundary)?;
            separable.small = Some((small, device.tuning.small_level));
        }
        separable.tail = Some(Tail::new(device, wavelet, element, boundary)?);
        Ok(separable)
    }

    /// Creates a choice of `scheme`, which takes any size, for all levels.
    fn all(scheme: Box<dyn LevelKernels<T>>) -> Self {
        Self { scheme, lines: None, small: None, tail: None }
    }

    /// Creates a choice; `lines` is called if there is a level that `scheme` does not take.
    fn new(
        scheme: Box<dyn LevelKernels<T>>,
        pyramid: &Pyramid,
        lines: impl FnOnce() -> Result<Lines>,
    ) -> Result<Self, OpenError> {
        let takes_all = LevelSize::all(pyramid).iter().all(|size| scheme.takes(size));
        let lines = if takes_all { None } else { Some(lines()?) };
        Ok(Self { scheme, lines, small: None, tail: None })
    }

    /// Returns the kernels that compute all of these levels, the last of a transform, at once.
    pub(crate) fn tail(&self, sizes: &[LevelSize]) -> Option<&Tail> {
        self.tail.as_ref().filter(|tail| tail.takes(sizes))
    }

    /// Returns the kernels that compute a level of this size.
    pub(crate) fn of(&self, size: &LevelSize) -> &dyn LevelKernels<T> {
        let fits = |(small, most): &&(Small, usize)| {
            size.w * size.h <= *most && <Small as LevelKernels<T>>::takes(small, size)
        };
        if let Some((small, _)) = self.small.as_ref().filter(fits) {
            return small;
        }
        match &self.lines {
            Some(lines) if !self.scheme.takes(size) => lines,
            _ => &*self.scheme,
        }
    }
}
