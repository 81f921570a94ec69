//! The voice that predicts on the processor.

use picture::frame::{Chroma, FrameSize};

use crate::Picture;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::cpu::motion::planes::Luma;
use crate::motion::field::Field;
use crate::motion::predictor::{Predictor, planes};
use crate::reference::compensate::ReferencePredictor;

/// A predictor, with the luma of its reference for the search, which is the processor's for every voice.
pub(super) enum Voice {
    Cpu(CpuPredictor),
    Reference(ReferencePredictor, Chroma, Luma),
}

impl Voice {
    pub(super) fn cpu(chroma: Chroma, size: FrameSize) -> Self {
        Self::Cpu(CpuPredictor::new(chroma, size))
    }

    pub(super) fn reference(chroma: Chroma, size: FrameSize) -> Self {
        Self::Reference(ReferencePredictor::new(chroma, size), chroma, Luma::new(size))
    }

    /// Predicts from `reference` from now on: planar, of the stream's size.
    pub(super) fn refer(&mut self, reference: &Picture) {
        match self {
            Self::Cpu(predictor) => predictor.refer(reference),
            Self::Reference(predictor, chroma, luma) => {
                predictor.refer(reference);
                luma.take(planes(*chroma, reference.size(), reference.data())[0]);
            }
        }
    }

    /// Returns the luma of the reference.
    pub(super) fn luma(&self) -> &Luma {
        match self {
            Self::Cpu(predictor) => predictor.luma(),
            Self::Reference(_, _, luma) => luma,
        }
    }

    /// Writes the prediction of `field`, with all overlaps.
    pub(super) fn compensate(&self, field: &Field, out: &mut Picture) {
        match self {
            Self::Cpu(predictor) => predictor.compensate(field, out),
            Self::Reference(predictor, ..) => predictor.compensate(field, out),
        }
    }
}
