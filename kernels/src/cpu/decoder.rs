//! The decoder of the processor back end.

use std::time::Instant;

use common::coded::{BlockState, ReceivedFrame};
use common::params::StreamParams;
use common::pyramid::BlockLayout;
use rayon::prelude::*;

use super::decode_block::{self, Job, Scratch};
use super::plane::Plane;
use super::tile::{Place, TILE};
use super::{backend, colour, open_planes};
use crate::reference::check_decode;
use crate::reference::quantise::Quantiser;
use crate::{BackendInfo, DecodeTimes, Decoder, Error, Picture};

/// Pairs of blocks that a thread takes at a time.
const PAIRS_PER_TASK: usize = 4;

/// What is known of a tile.
#[derive(Clone, Copy, Debug)]
struct Held {
    is_zero: bool,
    /// Whether the bands hold something else where it goes.
    is_new: bool,
}

/// Decoder of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuDecoder {
    params: StreamParams,
    layout: BlockLayout,
    planes: Vec<Plane>,
    places: Vec<Place>,
    /// The coefficients of every block; those of coarse blocks outlive the frame.
    tiles: Vec<f32>,
    held: Vec<Held>,
    damaged: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

impl CpuDecoder {
    /// A decoder for the blocks of `layout`, the stream's or what is left of it without the finest levels; `reason` says
    /// why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, layout: BlockLayout, reason: String) -> Self {
        let (planes, places) = open_planes(&layout, params);
        let held = vec![Held { is_zero: true, is_new: false }; places.len()];
        let tiles = vec![0.0; places.len() * TILE];
        let times = DecodeTimes::default();
        Self { params: *params, layout, planes, places, tiles, held, damaged: 0, times, backend: backend(reason) }
    }

    /// Decodes all blocks into `tiles`; returns how many were damaged.
    fn decode_blocks(&mut self, frame: &ReceivedFrame) -> u64 {
        let (coarse, dropped) = (self.layout.coarse_blocks(), self.layout.dropped_levels());
        let pairs = self.tiles.par_chunks_mut(2 * TILE).zip(self.places.par_chunks(2));
        let pairs = pairs.zip(self.held.par_chunks_mut(2)).enumerate();
        type Pair<'a> = ((&'a mut [f32], &'a [Place]), &'a mut [Held]);
        let decode = |scratches: &mut Box<[Scratch; 2]>, (pair, ((tiles, places), held)): (usize, Pair<'_>)| {
            let job = |at: usize| {
                let index = 2 * pair + at;
                let BlockState::Coded(bytes) = frame.block(index) else { return None };
                places.get(at).map(|place| {
                    let quantiser =
                        Quantiser::new(frame.header.step_of(index).coarser_by(place.coarser)).without_levels(dropped);
                    Job { bytes, shape: place.shape, quantiser }
                })
            };
            let jobs = [job(0), job(1)];
            let mut damaged = [false; 2];
            let (first, second) = tiles.split_at_mut(TILE);
            if let [Some(a), Some(b)] = jobs {
                let results = decode_block::decode_two(scratches, [a, b], [&mut *first, &mut *second]);
                damaged = results.map(|result| result.is_err());
            } else if let Some(job) = jobs[0] {
                damaged[0] = decode_block::decode_one(&mut scratches[0], job, first).is_err();
            } else if let Some(job) = jobs[1] {
                damaged[1] = decode_block::decode_one(&mut scratches[1], job, second).is_err();
            }
            for (at, (tile, held)) in [first, second].into_iter().zip(held).enumerate() {
                let index = 2 * pair + at;
                // A damaged block counts as missing.
                let is_missing = damaged[at] || frame.block(index) == BlockState::Missing;
                let is_zero = frame.block(index) == BlockState::Zero || (is_missing && index >= coarse);
                if is_zero && !held.is_zero {
                    tile.fill(0.0);
                }
                held.is_new = if is_zero { !held.is_zero } else { !is_missing };
                if held.is_new {
                    held.is_zero = is_zero;
                }
            }
            damaged.into_iter().map(u64::from).sum::<u64>()
        };
        pairs.with_min_len(PAIRS_PER_TASK).map_init(Scratch::two, decode).sum()
    }

    /// Decodes a frame of this stream into a picture of it.
    fn decode_checked(&mut self, frame: &ReceivedFrame, out: &mut Picture) {
        let start = Instant::now();
        self.damaged += self.decode_blocks(frame);
        let (tiles, places, held) = (&self.tiles, &self.places, &self.held);
        self.planes.par_iter_mut().enumerate().for_each(|(channel, plane)| {
            let pitch = plane.pitch();
            for ((tile, place), held) in tiles.chunks_exact(TILE).zip(places).zip(held) {
                if place.channel == channel && held.is_new {
                    place.store(tile, plane.bands_mut(), pitch);
                }
            }
        });
        self.times.decode = start.elapsed();
        let start = Instant::now();
        self.planes.par_iter_mut().for_each(Plane::inverse);
        colour::finish(&self.planes, self.params.chroma, out);
        self.times.inverse = start.elapsed();
    }
}

impl Decoder for CpuDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), Error> {
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
