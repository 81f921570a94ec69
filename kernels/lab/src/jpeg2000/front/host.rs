//! Coefficients from bands in this machine's memory.

use kernels::parts::cpu::{CompactSample, CompactTransform, compact_pitch};
use kernels::parts::{CDF53, CDF97, PlaneParams};
use kernels::{Backend, BackendInfo};
use picture::frame::Chroma;
use picture::pyramid::Pyramid;

use super::params::{FrontParams, NEGATIVE};
use super::rows::{self, Mixed};
use super::squares::SquareTransform;
use super::turned::Turned;
use crate::jpeg2000::error::Jpeg2000Error;
use crate::jpeg2000::image::{Shape, Source};
use crate::jpeg2000::job::Job;
use crate::jpeg2000::memory::Pages;
use crate::jpeg2000::transforms::parts;
use crate::transform::TransformParams;
use kernels::parts::cpu::fast;

/// The transform, and what goes in and comes out of it.
pub(in crate::jpeg2000) struct HostFront {
    turned: Turned,
    lane: Either,
    mixes_colours: bool,
    fraction_bits: u32,
    backend: BackendInfo,
}

/// Integers for the 5/3, floats for the 9/7.
enum Either {
    Whole(Lane<i32>),
    Float(Lane<f32>),
}

/// The transforms of all components, one after another.
struct Lane<T> {
    /// One for each size.
    transforms: Vec<Box<dyn CompactTransform<T>>>,
    /// Each component's.
    places: Vec<usize>,
    bands: Vec<Pages<T>>,
}

impl HostFront {
    pub(super) fn open(params: &FrontParams, backend: BackendInfo) -> Result<Self, Jpeg2000Error> {
        let lane = match params.is_reversible {
            true => Either::Whole(Lane::open(params, &backend)?),
            false => Either::Float(Lane::open(params, &backend)?),
        };
        let &FrontParams { mixes_colours, fraction_bits, .. } = params;
        Ok(Self { turned: Turned::new(), lane, mixes_colours, fraction_bits, backend })
    }

    pub(super) fn transform(&mut self, source: &Source<'_>) -> Result<(), Jpeg2000Error> {
        self.turned.fill(source);
        match &mut self.lane {
            Either::Whole(lane) => lane.transform(&self.turned, &source.shapes, self.mixes_colours),
            Either::Float(lane) => lane.transform(&self.turned, &source.shapes, self.mixes_colours),
        }
    }

    pub(super) fn bands(&self) -> HostBands<'_> {
        let values = match &self.lane {
            Either::Whole(lane) => Values::Whole(&lane.bands),
            Either::Float(lane) => Values::Float(&lane.bands),
        };
        HostBands { values, digits: self.fraction_bits }
    }

    pub(super) fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

impl<T: CompactSample + Mixed> Lane<T> {
    fn open(params: &FrontParams, backend: &BackendInfo) -> Result<Self, Jpeg2000Error> {
        let FrontParams { extents, levels, is_reversible, .. } = params;
        let lifting = if *is_reversible { &CDF53 } else { &CDF97 };
        let (mut transforms, mut places, mut bands) = (Vec::new(), Vec::new(), Vec::new());
        for (_, params) in parts(extents, *levels, *is_reversible)? {
            let pyramids = params.pyramids();
            let Some(pyramid) = pyramids.first() else { continue };
            places.extend(pyramids.iter().map(|_| transforms.len()));
            bands.extend(pyramids.iter().map(|pyramid| Pages::zeros(len(pyramid))));
            transforms.push(match backend.kind {
                Backend::Reference => {
                    let TransformParams { size, levels, boundary, padding, element, .. } = params;
                    let chroma = Chroma::Grey;
                    let params = PlaneParams { size, chroma, lifting: *lifting, levels, boundary, padding, element };
                    Box::new(SquareTransform::open(&params, pyramid))
                }
                _ => T::open_compact(pyramid, lifting),
            });
        }
        Ok(Self { transforms, places, bands })
    }

    fn transform(&mut self, turned: &Turned, shapes: &[Shape], mixes: bool) -> Result<(), Jpeg2000Error> {
        for (component, (bands, shape)) in self.bands.iter_mut().zip(shapes).enumerate() {
            let of = (component, mixes && component < 3);
            let transform = &mut self.transforms[self.places[component]];
            match turned {
                Turned::Bytes(planes) => transform.forward(&|y, to| rows::row(planes, shape, of, y, to), bands),
                Turned::Words(planes) => transform.forward(&|y, to| rows::row(planes, shape, of, y, to), bands),
            }?;
        }
        Ok(())
    }
}

/// Returns the values that bands take.
fn len(pyramid: &Pyramid) -> usize {
    compact_pitch(pyramid) * pyramid.plane().height()
}

/// Bands, of which blocks are quantised one by one.
pub(in crate::jpeg2000) struct HostBands<'a> {
    values: Values<'a>,
    digits: u32,
}

enum Values<'a> {
    Whole(&'a [Pages<i32>]),
    Float(&'a [Pages<f32>]),
}

impl HostBands<'_> {
    pub(super) fn block(&self, job: &Job, values: &mut Vec<u32>) {
        let digits = self.digits;
        match self.values {
            Values::Whole(bands) => {
                let whole = |value: i32| value.unsigned_abs().wrapping_shl(digits) | (value as u32 & NEGATIVE);
                columns(job, &bands[job.component], values, whole);
            }
            Values::Float(bands) => {
                let scale = job.scale.inverse(digits);
                let whole = |value: f32| ((value.abs() * scale) as i32 as u32) | value.to_bits() & NEGATIVE;
                columns(job, &bands[job.component], values, whole);
            }
        }
    }
}

/// Makes `values` of a block column by column, as it lies in the bands.
#[inline(always)]
fn columns<T: Copy>(job: &Job, bands: &[T], values: &mut Vec<u32>, value: impl Fn(T) -> u32) {
    let (start, height) = (job.corner.1 * job.pitch + job.corner.0, job.place.height);
    values.resize(job.place.width * height, 0);
    let columns = bands[start..].chunks(job.pitch);
    fast(
        #[inline(always)]
        || {
            for (to, from) in values.chunks_exact_mut(height).zip(columns) {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = value(from));
            }
        },
    );
}
