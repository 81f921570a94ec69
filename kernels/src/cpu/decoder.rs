//! The decoder of the processor back end.

use std::time::Instant;

use common::coded::{BlockState, ReceivedFrame};
use common::params::StreamParams;
use common::pyramid::BlockLayout;
use rayon::prelude::*;

use super::decode_block::{self, Scratch};
use super::dwt::Plane;
use super::tile::{Place, TILE};
use super::{backend, colour, open_planes};
use crate::reference::check_decode;
use crate::reference::quantise::Quantiser;
use crate::{BackendInfo, DecodeTimes, Decoder, Error, Picture};

/// Blocks that a thread takes at a time.
const BLOCKS_PER_TASK: usize = 8;

/// Decoder of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuDecoder {
    params: StreamParams,
    layout: BlockLayout,
    planes: Vec<Plane>,
    places: Vec<Place>,
    /// The coefficients of every block; those of coarse blocks outlive the frame.
    tiles: Vec<f32>,
    damaged: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

impl CpuDecoder {
    /// A decoder for a stream; `reason` says why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, reason: String) -> Self {
        let layout = BlockLayout::new(params);
        let (planes, places) = open_planes(&layout, params);
        let tiles = vec![0.0; places.len() * TILE];
        let times = DecodeTimes::default();
        Self { params: *params, layout, planes, places, tiles, damaged: 0, times, backend: backend(reason) }
    }

    /// Decodes all blocks into `tiles`; returns how many were damaged.
    fn decode_blocks(&mut self, frame: &ReceivedFrame) -> u64 {
        let coarse = self.layout.coarse_blocks();
        let blocks = self.tiles.par_chunks_exact_mut(TILE).zip(&self.places).enumerate();
        let decode = |scratch: &mut Scratch, (index, (tile, place)): (usize, (&mut [f32], &Place))| {
            let state = frame.block(index);
            if let BlockState::Coded(bytes) = state {
                let before = (index < coarse).then(|| tile.to_vec());
                let quantiser = Quantiser::new(frame.header.step_of(index));
                if decode_block::decode(scratch, bytes, place.shape, quantiser, tile).is_ok() {
                    return 0;
                }
                match before {
                    Some(before) => tile.copy_from_slice(&before),
                    None => tile.fill(0.0),
                }
                return 1;
            }
            if state == BlockState::Zero || index >= coarse {
                tile.fill(0.0);
            }
            0
        };
        blocks.with_min_len(BLOCKS_PER_TASK).map_init(Scratch::default, decode).sum()
    }
}

impl Decoder for CpuDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), Error> {
        let start = Instant::now();
        check_decode(frame, out, &self.params, &self.layout)?;
        self.damaged += self.decode_blocks(frame);
        let (tiles, places) = (&self.tiles, &self.places);
        self.planes.par_iter_mut().enumerate().for_each(|(channel, plane)| {
            let pitch = plane.pitch();
            for (tile, place) in tiles.chunks_exact(TILE).zip(places).filter(|(_, place)| place.channel == channel) {
                place.store(tile, plane.bands_mut(), pitch);
            }
        });
        self.times.decode = start.elapsed();
        let start = Instant::now();
        self.planes.iter_mut().for_each(Plane::inverse);
        colour::finish(&self.planes, self.params.chroma, out);
        self.times.inverse = start.elapsed();
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
