//! The decoder of the processor back end.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use picture::coded::{BlockState, ReceivedFrame};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use rayon::prelude::*;

use super::decode_block::{self, DecodeScratch, Job, LANES};
use super::open_planes;
use super::per_thread::PerThread;
use super::plane::Plane;
use super::tile::{TILE, TilePlace};
use crate::cpu::backend;
use crate::motion::predictor::ResidualDecoder;
use crate::reference::check_decode;
use crate::reference::quad::Damaged;
use crate::reference::quantise::Quantiser;
use crate::{BackendInfo, DecodeError, DecodeTimes, FrameDecoder, Picture};

/// Groups of blocks that a thread takes at a time.
const GROUPS_PER_TASK: usize = 2;

/// A block whose bytes are there.
struct Coded<'a> {
    job: Job<'a>,
    place: &'a TilePlace,
    is_coarse: bool,
    is_zero: &'a mut bool,
}

/// Decoder of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuDecoder {
    params: StreamParams,
    layout: BlockLayout,
    planes: Vec<Plane>,
    places: Vec<TilePlace>,
    /// Of every block: whether the bands hold nothing but zeros there.
    is_zero: Vec<bool>,
    /// Planes of what is added to predictions.
    residuals: Vec<Vec<f32>>,
    scratches: PerThread<DecodeScratch>,
    damaged: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

impl CpuDecoder {
    /// Creates a decoder for the blocks of `layout`, the stream's or what is left of it without the finest levels;
    /// `reason` says why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, layout: BlockLayout, reason: String) -> Self {
        let (planes, places) = open_planes(&layout, params);
        let is_zero = vec![true; places.len()];
        let (residuals, times) = (vec![Vec::new(); planes.len()], DecodeTimes::default());
        let (scratches, backend) = (PerThread::new(DecodeScratch::boxed), backend(reason));
        Self { params: *params, layout, planes, places, is_zero, residuals, scratches, damaged: 0, times, backend }
    }

    /// Decodes all blocks into the bands; returns how many were damaged. Of those missing or damaged the first `coarse`
    /// stay as they were, others become zero.
    fn decode_blocks(&mut self, frame: &ReceivedFrame, coarse: usize) -> u64 {
        let dropped = self.layout.dropped_levels();
        let mut coded = Vec::with_capacity(self.places.len());
        for (index, (place, is_zero)) in self.places.iter().zip(&mut self.is_zero).enumerate() {
            let is_coarse = index < coarse;
            match frame.block(index) {
                BlockState::Coded(bytes) => {
                    let step = frame.header.step_of(index).coarser_by(place.coarser);
                    let quantiser = Quantiser::new(step).without_levels(dropped);
                    coded.push(Coded { job: Job { bytes, shape: place.shape, quantiser }, place, is_coarse, is_zero });
                }
                // What is missing of the coarse ones stays as it was.
                BlockState::Missing if is_coarse => {}
                BlockState::Missing | BlockState::Zero => clear(place, is_zero, &mut self.planes[place.channel]),
            }
        }
        // Blocks of the same shape, and equally much to do, side by side.
        coded.sort_unstable_by_key(|Coded { job, .. }| (job.shape.width, job.shape.height, job.bytes.len()));
        let planes: Vec<_> = self.planes.iter_mut().map(Mutex::new).collect();
        let groups = coded.par_chunks_mut(LANES).with_min_len(GROUPS_PER_TASK);
        groups.map(|group| self.scratches.with(|scratch| decode_group(scratch, group, &planes))).sum()
    }

    /// Decodes a frame of this stream into a picture of it.
    fn decode_checked(&mut self, frame: &ReceivedFrame, out: &mut Picture) {
        let start = Instant::now();
        self.damaged += self.decode_blocks(frame, self.layout.coarse_blocks());
        self.times.decode = start.elapsed();
        let start = Instant::now();
        let bytes = planes_of(&self.layout, out);
        self.planes.par_iter_mut().zip(bytes).for_each(|(plane, bytes)| plane.inverse(bytes));
        self.times.inverse = start.elapsed();
    }
}

/// Returns the planes of a picture; those of channels that it has not are empty.
fn planes_of<'a>(layout: &BlockLayout, picture: &'a mut Picture) -> [&'a mut [u8]; 3] {
    let mut rest = picture.data_mut();
    let mut planes = <[&mut [u8]; 3]>::default();
    for (plane, pyramid) in planes.iter_mut().zip(layout.pyramids()) {
        *plane = rest.split_off_mut(..pyramid.plane().pixels()).unwrap_or_default();
    }
    planes
}

impl ResidualDecoder for CpuDecoder {
    fn add_residual(&mut self, frame: &ReceivedFrame, picture: &mut Picture) -> Result<(), DecodeError> {
        check_decode(frame, picture, &self.params, &self.layout)?;
        rayon::scope(|_| {
            let start = Instant::now();
            self.damaged += self.decode_blocks(frame, 0);
            self.times.decode = start.elapsed();
            let start = Instant::now();
            let planes = self.planes.par_iter_mut().zip(&mut self.residuals).zip(planes_of(&self.layout, picture));
            planes.for_each(|((plane, room), bytes)| plane.inverse_onto(bytes, room));
            self.times.inverse = start.elapsed();
        });
        Ok(())
    }
}

/// Decodes up to [`LANES`] blocks; returns how many were damaged.
fn decode_group(scratch: &mut DecodeScratch, group: &mut [Coded<'_>], planes: &[Mutex<&mut Plane>]) -> u64 {
    let mut damaged = 0;
    let mut store = |block: &mut Coded<'_>, result: Result<(), Damaged>, tile: &[f32; TILE]| {
        let mut plane = planes[block.place.channel].lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => {
                plane.store(block.place, tile);
                *block.is_zero = false;
            }
            Err(Damaged) => {
                damaged += 1;
                // It counts as missing.
                if !block.is_coarse {
                    clear(block.place, block.is_zero, &mut plane);
                }
            }
        }
    };
    if let Some(all) = group.first_chunk_mut::<LANES>() {
        let results = decode_block::decode_lanes(scratch, all.each_ref().map(|block| block.job));
        for ((block, result), tile) in all.iter_mut().zip(results).zip(&scratch.tiles) {
            store(block, result, tile);
        }
    } else {
        for block in group {
            let result = decode_block::decode_one(scratch, block.job);
            store(block, result, &scratch.tiles[0]);
        }
    }
    damaged
}

/// Makes a block zero that is not yet.
fn clear(place: &TilePlace, is_zero: &mut bool, plane: &mut Plane) {
    if !*is_zero {
        plane.store(place, &[0.0; TILE]);
        *is_zero = true;
    }
}

impl FrameDecoder for CpuDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        check_decode(frame, out, &self.params, &self.layout)?;
        // On a thread of the pool: each of the steps would else wake the pool and be woken by it.
        rayon::scope(|_| self.decode_checked(frame, out));
        Ok(())
    }

    fn times(&self) -> DecodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged
    }
}
