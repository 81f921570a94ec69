//! Which scheme computes which level of a transform.

use common::params::Boundary;
use common::pyramid::Pyramid;

use super::device::Device;
use super::level::{LevelKernels, LevelSize};
use super::line::Lines;
use super::slab::Slab;
use crate::Error;
use crate::wavelet::{Element, Wavelet};

/// A scheme, and [`Lines`] for the levels that it does not take.
pub(super) struct Schemes<T> {
    scheme: Box<dyn LevelKernels<T>>,
    lines: Option<Lines>,
}

impl Schemes<f32> {
    /// For streams: the CDF 9/7 by [`Slab`].
    pub(super) fn stream(device: &Device, boundary: Boundary, pyramid: &Pyramid) -> Result<Self, Error> {
        let slab = Box::new(Slab::new(device, boundary)?);
        Self::new(slab, pyramid, || Lines::new(device, Wavelet::Cdf97, Element::F32, boundary))
    }
}

impl<T> Schemes<T> {
    /// `lines` is called if there is a level that `scheme` does not take.
    fn new(
        scheme: Box<dyn LevelKernels<T>>,
        pyramid: &Pyramid,
        lines: impl FnOnce() -> Result<Lines, Error>,
    ) -> Result<Self, Error> {
        let takes_all = LevelSize::all(pyramid).iter().all(|size| scheme.takes(size));
        let lines = if takes_all { None } else { Some(lines()?) };
        Ok(Self { scheme, lines })
    }

    /// What computes a level of this size.
    pub(super) fn of(&self, size: &LevelSize) -> &dyn LevelKernels<T> {
        match &self.lines {
            Some(lines) if !self.scheme.takes(size) => lines,
            _ => &*self.scheme,
        }
    }
}
