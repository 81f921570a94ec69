//! Coefficients from an OpenCL device, which has them from the samples on.

use std::ops::Range;

use kernels::BackendInfo;
use rayon::prelude::*;

use super::params::{FrontParams, NEGATIVE};
use crate::jpeg2000::error::Jpeg2000Error;
use crate::jpeg2000::image::{Samples, Source};
use crate::jpeg2000::job::Job;
use crate::jpeg2000::planes::{KB, KG, KR, PER_BLUE, PER_RED};
use crate::jpeg2000::transforms::parts;
use crate::opencl::front::{FrontBlock, FrontShape, OpenClFront, Weights};

/// The device's part, and what of it is where.
pub(in crate::jpeg2000) struct DeviceFront {
    front: Either,
    sample_bytes: usize,
    is_narrow: bool,
    digits: u32,
    /// Of each block: the component, and the bytes of its coefficients there.
    places: Vec<(usize, Range<usize>)>,
    /// The blocks that the device has.
    blocks: Vec<Vec<FrontBlock>>,
}

/// Integers for the 5/3, floats for the 9/7.
enum Either {
    Whole(OpenClFront<i32>),
    Float(OpenClFront<f32>),
}

/// Samples that a thread copies at once.
const PIECE: usize = 1 << 16;

impl DeviceFront {
    pub(super) fn open(
        params: &FrontParams,
        jobs: &[Job],
        device: Option<&str>,
        reason: &str,
    ) -> Result<Self, Jpeg2000Error> {
        let FrontParams { extents, levels, is_reversible, mixes_colours, depth, fraction_bits, is_narrow } = params;
        let parts = parts(extents, *levels, *is_reversible)?;
        let coded_bytes = if *is_narrow { 2 } else { 4 };
        let sample_bytes = if *depth <= 8 { 1 } else { 2 };
        let mut starts = vec![0; extents.len()];
        let place = |job: &Job| {
            let start = &mut starts[job.component];
            let first = *start;
            *start += job.place.width * job.place.height * coded_bytes;
            (job.component, first..*start)
        };
        let places: Vec<_> = jobs.iter().map(place).collect();
        let blocks = blocks(jobs, extents.len(), *fraction_bits);
        let shape = FrontShape {
            parts: &parts,
            extents,
            mixes_colours: *mixes_colours,
            weights: Weights { light: [KR, KG, KB], differences: [PER_BLUE, PER_RED] },
            sample_bytes,
            coded_bytes,
            digits: *fraction_bits,
            blocks: &blocks,
        };
        let front = match is_reversible {
            true => Either::Whole(OpenClFront::open(&shape, device, reason)?),
            false => Either::Float(OpenClFront::open(&shape, device, reason)?),
        };
        Ok(Self { front, sample_bytes, is_narrow: *is_narrow, digits: *fraction_bits, places, blocks })
    }

    pub(super) fn transform(&mut self, source: &Source<'_>) -> Result<(), Jpeg2000Error> {
        let sample_bytes = self.sample_bytes;
        let fill = |at: usize, to: &mut [u8]| {
            let middle = source.shapes[at].middle();
            let to = to.par_chunks_mut(PIECE * sample_bytes);
            match &source.samples {
                Samples::Pixels { bytes, apart } => {
                    to.zip(bytes.par_chunks(PIECE * apart)).for_each(|(to, from)| {
                        let from = from[at..].iter().step_by(*apart);
                        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.wrapping_sub(middle as u8));
                    });
                }
                Samples::Planes(planes) => {
                    to.zip(planes[at].par_chunks(PIECE)).for_each(|(to, from)| match sample_bytes {
                        1 => to.iter_mut().zip(from).for_each(|(to, from)| *to = (from - middle) as u8),
                        _ => {
                            let words = to.as_chunks_mut().0.iter_mut().zip(from);
                            words.for_each(|(to, from)| *to = ((from - middle) as i16).to_ne_bytes());
                        }
                    })
                }
            }
        };
        let result = match &mut self.front {
            Either::Whole(front) => front.transform(fill),
            Either::Float(front) => front.transform(fill),
        };
        Ok(result.map_err(kernels::TransformError::from)?)
    }

    pub(super) fn quantise(&mut self, jobs: &[Job]) -> Result<(), Jpeg2000Error> {
        let blocks = blocks(jobs, self.blocks.len(), self.digits);
        let changed = (blocks != self.blocks).then_some(&blocks[..]);
        let result = match &mut self.front {
            Either::Whole(front) => front.quantise(changed),
            Either::Float(front) => front.quantise(changed),
        };
        result.map_err(kernels::TransformError::from)?;
        self.blocks = blocks;
        Ok(())
    }

    pub(super) fn coded(&self) -> Coded<'_> {
        let of = |at: usize| match &self.front {
            Either::Whole(front) => front.coded(at),
            Either::Float(front) => front.coded(at),
        };
        let components = (0..self.blocks.len()).map(of).collect();
        Coded { components, places: &self.places, is_narrow: self.is_narrow }
    }

    pub(super) fn backend(&self) -> &BackendInfo {
        match &self.front {
            Either::Whole(front) => front.backend(),
            Either::Float(front) => front.backend(),
        }
    }
}

/// Blocks as the device left them.
pub(in crate::jpeg2000) struct Coded<'a> {
    components: Vec<&'a [u8]>,
    places: &'a [(usize, Range<usize>)],
    is_narrow: bool,
}

impl Coded<'_> {
    pub(super) fn block(&self, at: usize, values: &mut Vec<u32>) {
        let (component, bytes) = &self.places[at];
        let coded = &self.components[*component][bytes.clone()];
        match self.is_narrow {
            true => values.extend(coded.as_chunks().0.iter().map(|&value| {
                let value = u32::from(u16::from_ne_bytes(value));
                value & 0x7fff | (value & 0x8000) << 16
            })),
            false => values.extend(coded.as_chunks().0.iter().map(|&value| u32::from_ne_bytes(value))),
        }
    }
}

// The sign of a narrow coefficient comes where that of a wide one is.
const _: () = assert!(0x8000_u32 << 16 == NEGATIVE);

/// Returns the blocks of each component, one after the other.
fn blocks(jobs: &[Job], components: usize, digits: u32) -> Vec<Vec<FrontBlock>> {
    let mut blocks: Vec<Vec<FrontBlock>> = vec![Vec::new(); components];
    let mut starts = vec![0; components];
    for job in jobs {
        let start = &mut starts[job.component];
        blocks[job.component].push(FrontBlock {
            row: job.corner.1 as i32,
            column: job.corner.0 as i32,
            width: job.place.width as i32,
            height: job.place.height as i32,
            start: *start,
            inverse: job.scale.inverse(digits),
        });
        *start += (job.place.width * job.place.height) as i32;
    }
    blocks
}
