//! The voice that predicts and filters on the processor.

use picture::frame::{Chroma, FrameSize};

use super::search::Overlapped;
use crate::Picture;
use crate::cpu::motion::compensate::CpuPredictor;
use crate::cpu::motion::dering::CpuDering;
use crate::cpu::motion::planes::{Bordered, Luma};
use crate::motion::dering::{Dering, Gains};
use crate::motion::field::Field;
use crate::motion::predictor::{Predictor, planes};
use crate::reference::compensate::ReferencePredictor;
use crate::reference::dering;

/// A predictor with its filter, and what is the processor's for every voice: the luma of the reference for the search, and
/// what filtering gains.
pub(super) struct Voice {
    chroma: Chroma,
    predictor: Predicting,
    filter: CpuDering,
}

enum Predicting {
    Cpu(CpuPredictor),
    Reference(ReferencePredictor, Luma),
}

impl Voice {
    pub(super) fn cpu(chroma: Chroma, size: FrameSize) -> Self {
        let predictor = Predicting::Cpu(CpuPredictor::new(chroma, size));
        Self { chroma, predictor, filter: CpuDering::new(chroma, size) }
    }

    pub(super) fn reference(chroma: Chroma, size: FrameSize) -> Self {
        let predictor = Predicting::Reference(ReferencePredictor::new(chroma, size), Luma::new(size));
        Self { chroma, predictor, filter: CpuDering::new(chroma, size) }
    }

    /// Predicts from `reference` from now on: planar, of the stream's size.
    pub(super) fn refer(&mut self, reference: &Picture) {
        match &mut self.predictor {
            Predicting::Cpu(predictor) => predictor.refer(reference),
            Predicting::Reference(predictor, luma) => {
                predictor.refer(reference);
                luma.take(planes(self.chroma, reference.size(), reference.data())[0]);
            }
        }
    }

    /// Returns the luma of the reference.
    pub(super) fn luma(&self) -> &Luma {
        match &self.predictor {
            Predicting::Cpu(predictor) => predictor.luma(),
            Predicting::Reference(_, luma) => luma,
        }
    }

    /// Writes the prediction of `field`, with all overlaps; `summed`: what a search has made of its luma already.
    pub(super) fn compensate(&self, field: &Field, summed: Option<&Overlapped>, out: &mut Picture) {
        match (&self.predictor, summed) {
            (Predicting::Cpu(predictor), Some(summed)) => {
                summed.luma(out);
                predictor.compensate_from(1, field, out);
            }
            (Predicting::Cpu(predictor), None) => predictor.compensate(field, out),
            (Predicting::Reference(predictor, _), _) => predictor.compensate(field, out),
        }
    }

    /// Filters a picture.
    pub(super) fn dering(&mut self, dering: &Dering, picture: &mut Picture) {
        if dering.is_none() {
            return;
        }
        match &self.predictor {
            Predicting::Cpu(_) => {
                self.filter.take(picture);
                self.filter.filter(dering, picture);
            }
            Predicting::Reference(..) => dering::dering(picture, self.chroma, dering),
        }
    }

    /// Filters a picture whose luma should be `source`, and returns what filtering each square of that gains.
    pub(super) fn dering_towards(&mut self, source: &Bordered, dering: &Dering, picture: &mut Picture) -> Vec<Gains> {
        self.filter.take(picture);
        match &self.predictor {
            Predicting::Cpu(_) => self.filter.filter_and_gain(dering, source, picture),
            Predicting::Reference(..) => {
                dering::dering(picture, self.chroma, dering);
                self.filter.gains(source)
            }
        }
    }
}
