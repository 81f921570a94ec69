//! The encoder of the processor back end.

use std::ops::Range;
use std::time::Instant;

use picture::coded::{CodedFrame, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use rayon::prelude::*;

use super::encode_block::{self, Scratch};
use super::open_planes;
use super::per_thread::PerThread;
use super::plane::Plane;
use super::tile::TilePlace;
use crate::cpu::backend;
use crate::motion::predictor::{AloneEncoder, ResidualEncoder, planes};
use crate::rate::{BlockCoder, RateControl};
use crate::reference::check_picture;
use crate::reference::quantise::{DeadZone, Quantiser};
use crate::{BackendInfo, DeviceError, EncodeError, EncodeTimes, FrameEncoder, Picture, PictureRef, Target};

/// Blocks recoded at a time near the budget.
const CHUNK: usize = 32;
/// Pairs of blocks that a thread takes at a time.
const PAIRS_PER_TASK: usize = 4;

/// Encoder of the processor back end.
#[derive(Debug)]
pub(crate) struct CpuEncoder {
    params: StreamParams,
    rate: RateControl,
    blocks: Blocks,
    times: EncodeTimes,
    backend: BackendInfo,
}

impl CpuEncoder {
    /// Creates an encoder for the pictures of a stream; `reason` says why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, reason: String) -> Self {
        let layout = BlockLayout::new(params);
        let (planes, places) = open_planes(&layout, params);
        let codes = vec![Vec::new(); places.len()];
        Self {
            params: *params,
            rate: RateControl::new(places.len(), CHUNK),
            blocks: Blocks {
                planes,
                places,
                codes,
                dead_zone: DeadZone::OF_PICTURES,
                scratches: PerThread::new(Scratch::two),
            },
            times: EncodeTimes::default(),
            backend: backend(reason),
        }
    }
}

impl CpuEncoder {
    /// Codes what `transform` leaves in the planes.
    fn encode_planes(
        &mut self,
        target: Target,
        dead_zone: DeadZone,
        transform: impl FnOnce(&mut [Plane]) + Send,
    ) -> Result<CodedFrame, EncodeError> {
        self.blocks.dead_zone = dead_zone;
        // On a thread of the pool: each of the steps would else wake the pool and be woken by it.
        rayon::scope(|_| {
            let start = Instant::now();
            transform(&mut self.blocks.planes);
            self.times.transform = start.elapsed();
            let start = Instant::now();
            let header = self.rate.code(&mut self.blocks, target)?;
            let frame = CodedFrame::from_blocks(header, &self.blocks.codes);
            self.times.code = start.elapsed();
            Ok(frame)
        })
    }
}

impl FrameEncoder for CpuEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        self.encode_planes(target, DeadZone::OF_PICTURES, |planes| {
            let channels = planes.par_iter_mut().zip(chroma.channels());
            channels.for_each(|(plane, &channel)| plane.forward(picture, chroma, channel));
        })
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

impl ResidualEncoder for CpuEncoder {
    fn encode_residual(
        &mut self,
        picture: PictureRef<'_>,
        prediction: &Picture,
        target: Target,
    ) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        let predicted = planes(chroma, self.params.size, prediction.data());
        self.encode_planes(target, DeadZone::OF_RESIDUALS, |planes| {
            let channels = planes.par_iter_mut().zip(chroma.channels()).zip(predicted);
            channels.for_each(|((plane, &channel), predicted)| {
                plane.forward_residual(picture, predicted, chroma, channel);
            });
        })
    }
}

impl AloneEncoder for CpuEncoder {
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        self.blocks.dead_zone = DeadZone::OF_PICTURES;
        rayon::scope(|_| {
            let channels = self.blocks.planes.par_iter_mut().zip(chroma.channels());
            channels.for_each(|(plane, &channel)| plane.forward(picture, chroma, channel));
            Ok(self.rate.fits(&mut self.blocks, step, bytes)?)
        })
    }
}

/// The coefficients of a frame and the code of its blocks.
#[derive(Debug)]
struct Blocks {
    planes: Vec<Plane>,
    places: Vec<TilePlace>,
    codes: Vec<Vec<u8>>,
    dead_zone: DeadZone,
    scratches: PerThread<[Scratch; 2]>,
}

impl BlockCoder for Blocks {
    fn block_count(&self) -> usize {
        self.places.len()
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError> {
        let (planes, scratches, dead_zone) = (&self.planes, &self.scratches, self.dead_zone);
        let pairs = self.codes[range.clone()].par_chunks_mut(2).zip(self.places[range].par_chunks(2));
        let pairs = pairs.zip(lengths.par_chunks_mut(2)).with_min_len(PAIRS_PER_TASK);
        pairs.for_each(|((codes, places), lengths)| {
            scratches.with(|scratches| code_pair(scratches, planes, places, (step, dead_zone), codes));
            for (length, code) in lengths.iter_mut().zip(codes) {
                *length = code.len() as u32;
            }
        });
        Ok(())
    }
}

/// Codes up to two blocks at a step.
fn code_pair(
    scratches: &mut [Scratch; 2],
    planes: &[Plane],
    places: &[TilePlace],
    (step, dead_zone): (StepIndex, DeadZone),
    codes: &mut [Vec<u8>],
) {
    let mut prepared = [false; 2];
    for (((code, place), scratch), prepared) in
        codes.iter_mut().zip(places).zip(scratches.iter_mut()).zip(&mut prepared)
    {
        let plane = &planes[place.channel];
        place.load(plane.bands(), plane.pitch(), &mut scratch.tile);
        code.clear();
        let quantiser = Quantiser::new(step.coarser_by(place.coarser)).with_dead_zone(dead_zone);
        *prepared = encode_block::prepare(scratch, place.shape, quantiser, code);
    }
    let [first, second] = scratches;
    match (prepared, codes) {
        ([true, true], [code, second_code]) => encode_block::finish_two(first, code, second, second_code),
        ([true, false], [code, ..]) => encode_block::finish_one(first, code),
        ([false, true], [_, code]) => encode_block::finish_one(second, code),
        _ => {}
    }
}
