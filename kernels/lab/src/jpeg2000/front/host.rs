//! Coefficients from squares in this machine's memory.

use kernels::BackendInfo;
use kernels::parts::Values;

use super::params::{FrontParams, NEGATIVE};
use crate::jpeg2000::error::Jpeg2000Error;
use crate::jpeg2000::image::ImageComponent;
use crate::jpeg2000::job::Job;
use crate::jpeg2000::planes::Planes;
use crate::jpeg2000::transforms::{Choice, Transforms};

/// The transform, and what goes in and comes out of it.
pub(in crate::jpeg2000) struct HostFront {
    transforms: Transforms,
    mixes_colours: bool,
    fraction_bits: u32,
    planes: Planes,
    squares: Vec<Values>,
    /// Of each component: the transform's number, and its own there.
    places: Vec<(usize, usize)>,
}

impl HostFront {
    pub(super) fn open(params: &FrontParams, choice: Choice<'_>) -> Result<Self, Jpeg2000Error> {
        let FrontParams { extents, levels, is_reversible, mixes_colours, fraction_bits, .. } = params;
        let transforms = Transforms::open(extents, *levels, *is_reversible, choice)?;
        let places = transforms.places();
        let planes = Planes::new(extents, &transforms.counts(), *is_reversible);
        let (mixes_colours, fraction_bits, squares) = (*mixes_colours, *fraction_bits, transforms.squares());
        Ok(Self { transforms, mixes_colours, fraction_bits, planes, squares, places })
    }

    pub(super) fn transform(&mut self, components: &[ImageComponent]) -> Result<(), Jpeg2000Error> {
        self.planes.fill(components, self.mixes_colours);
        self.transforms.forward(self.planes.parts(), &mut self.squares)
    }

    pub(super) fn squares(&self) -> Squares<'_> {
        Squares { squares: &self.squares, places: &self.places, digits: self.fraction_bits }
    }

    pub(super) fn backend(&self) -> Option<&BackendInfo> {
        self.transforms.backend()
    }
}

/// Squares, of which blocks are quantised one by one.
pub(in crate::jpeg2000) struct Squares<'a> {
    squares: &'a [Values],
    places: &'a [(usize, usize)],
    digits: u32,
}

impl Squares<'_> {
    pub(super) fn block(&self, job: &Job, values: &mut Vec<u32>) {
        let (part, own) = self.places[job.component];
        let digits = self.digits;
        match self.squares.get(part) {
            Some(Values::I32(squares)) => {
                let whole = |value: i32| value.unsigned_abs() << digits | (value as u32 & NEGATIVE);
                columns(job, &squares[own], values, whole);
            }
            Some(Values::F32(squares)) => {
                let scale = job.scale.inverse(digits);
                let whole =
                    |value: f32| ((value.abs() * scale) as u32).min(i32::MAX as u32) | value.to_bits() & NEGATIVE;
                columns(job, &squares[own], values, whole);
            }
            _ => {}
        }
    }
}

/// Appends a block column by column, as it lies in the square.
fn columns<T: Copy>(job: &Job, square: &[T], values: &mut Vec<u32>, value: impl Fn(T) -> u32) {
    let start = job.corner.1 * job.side + job.corner.0;
    for column in square[start..].chunks(job.side).take(job.place.width) {
        values.extend(column[..job.place.height].iter().map(|&from| value(from)));
    }
}
