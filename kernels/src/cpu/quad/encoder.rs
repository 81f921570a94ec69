//! The encoder of the processor back end.

use std::time::Instant;

use picture::coded::{CodedFrame, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use rayon::prelude::*;

use super::encode_blocks::Blocks;
use super::open_planes;
use super::plane::Plane;
use crate::cpu::backend;
use crate::motion::predictor::{AloneEncoder, ResidualEncoder, planes};
use crate::rate::RateControl;
use crate::reference::check_picture;
use crate::reference::quantise::DeadZone;
use crate::{BackendInfo, EncodeError, EncodeTimes, FrameEncoder, Picture, PictureRef, Target};

/// Blocks recoded at a time near the budget.
const CHUNK: usize = 32;

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
        Self {
            params: *params,
            rate: RateControl::new(places.len(), CHUNK),
            blocks: Blocks::new(planes, places),
            times: EncodeTimes::default(),
            backend: backend(reason),
        }
    }

    /// Makes coefficients, which are quantised with this dead zone until there are others.
    fn transform(&mut self, dead_zone: DeadZone, transform: impl FnOnce(&mut [Plane]) + Send) {
        let start = Instant::now();
        self.blocks.transform(dead_zone, transform);
        self.times.transform = start.elapsed();
    }

    /// Codes the coefficients made last.
    fn code(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        let start = Instant::now();
        let header = self.rate.code(&mut self.blocks, target)?;
        let frame = CodedFrame::from_blocks(header, self.blocks.codes());
        self.times.code = start.elapsed();
        Ok(frame)
    }

    /// Makes the coefficients of a picture.
    fn transform_picture(&mut self, picture: PictureRef<'_>) {
        let chroma = self.params.chroma;
        self.transform(DeadZone::OF_PICTURES, |planes| {
            let channels = planes.par_iter_mut().zip(chroma.channels());
            channels.for_each(|(plane, &channel)| plane.forward(picture, chroma, channel));
        });
    }
}

impl FrameEncoder for CpuEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        // On a thread of the pool: each of the steps would else wake the pool and be woken by it.
        rayon::scope(|_| {
            self.transform_picture(picture);
            self.code(target)
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
    fn take_residual(&mut self, picture: PictureRef<'_>, prediction: &Picture) -> Result<(), EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        let predicted = planes(chroma, self.params.size, prediction.data());
        self.transform(DeadZone::OF_RESIDUALS, |planes| {
            let channels = planes.par_iter_mut().zip(chroma.channels()).zip(predicted);
            channels.for_each(|((plane, &channel), predicted)| {
                plane.forward_residual(picture, predicted, chroma, channel);
            });
        });
        Ok(())
    }

    fn code_residual(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        rayon::scope(|_| self.code(target))
    }
}

impl AloneEncoder for CpuEncoder {
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError> {
        check_picture(picture, self.params.size)?;
        rayon::scope(|_| {
            self.transform_picture(picture);
            Ok(self.rate.fits(&mut self.blocks, step, bytes)?)
        })
    }
}
