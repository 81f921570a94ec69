//! Choice of the scheme for each level of a transform.

use device::Device;
use picture::params::Boundary;
use picture::pyramid::Pyramid;

use super::level::{LevelKernels, LevelSize};
use super::line::Lines;
use super::slab::Slab;
use super::small::Small;
use super::tail::Tail;
use super::tile::Separable;
use crate::lifting::{CDF97, Lifting};
use crate::{Element, OpenError};

/// A scheme, and [`Lines`] for the levels that it does not take.
pub struct Schemes<T> {
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
        match device.tuning.group_size {
            1 => Self::slab(device, boundary, pyramid),
            _ => Self::separable(device, &CDF97, Element::F32, boundary, pyramid),
        }
    }
}

impl<T> Schemes<T> {
    /// Opens the 9/7 in f32 by sliding windows, on a device whose groups have one work-item.
    pub fn slab(device: &Device, boundary: Boundary, pyramid: &Pyramid) -> Result<Self, OpenError> {
        let slab = Box::new(Slab::new(device, boundary)?);
        let mut slab = Self::new(slab, pyramid, || Lines::new(device, &CDF97, Element::F32, boundary))?;
        slab.tail = Some(Tail::new(device, &CDF97, Element::F32, boundary)?);
        Ok(slab)
    }

    /// Opens any wavelet in any element by the separable scheme.
    pub fn separable(
        device: &Device,
        lifting: &Lifting,
        element: Element,
        boundary: Boundary,
        pyramid: &Pyramid,
    ) -> Result<Self, OpenError> {
        let tiles = Box::new(Separable::new(device, lifting, element, boundary)?);
        let mut separable = Self::new(tiles, pyramid, || Lines::new(device, lifting, element, boundary))?;
        if device.tuning.small_level > 0 {
            let small = Small::new(device, lifting, element, boundary)?;
            separable.small = Some((small, device.tuning.small_level));
        }
        separable.tail = Some(Tail::new(device, lifting, element, boundary)?);
        Ok(separable)
    }

    /// Creates a choice of `scheme`, which takes any size, for all levels.
    pub fn all(scheme: Box<dyn LevelKernels<T>>) -> Self {
        Self { scheme, lines: None, small: None, tail: None }
    }

    /// Creates a choice; `lines` is called if there is a level that `scheme` does not take.
    pub fn new(
        scheme: Box<dyn LevelKernels<T>>,
        pyramid: &Pyramid,
        lines: impl FnOnce() -> device::Result<Lines>,
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
