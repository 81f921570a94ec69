//! The voice that predicts and filters on the processor.

use picture::frame::{Chroma, FrameSize};

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
    /// True if the filter has what the last picture was before.
    has_unfiltered: bool,
}

enum Predicting {
    Cpu(CpuPredictor),
    Reference(ReferencePredictor, Luma),
}

impl Voice {
    pub(super) fn cpu(chroma: Chroma, size: FrameSize) -> Self {
        let predictor = Predicting::Cpu(CpuPredictor::new(chroma, size));
        Self { chroma, predictor, filter: CpuDering::new(chroma, size), has_unfiltered: false }
    }

    pub(super) fn reference(chroma: Chroma, size: FrameSize) -> Self {
        let predictor = Predicting::Reference(ReferencePredictor::new(chroma, size), Luma::new(size));
        Self { chroma, predictor, filter: CpuDering::new(chroma, size), has_unfiltered: false }
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

    /// Writes the prediction of `field`, with all overlaps.
    pub(super) fn compensate(&self, field: &Field, out: &mut Picture) {
        match &self.predictor {
            Predicting::Cpu(predictor) => predictor.compensate(field, out),
            Predicting::Reference(predictor, _) => predictor.compensate(field, out),
        }
    }

    /// Filters a picture.
    pub(super) fn dering(&mut self, dering: &Dering, picture: &mut Picture) {
        self.has_unfiltered = !dering.is_none();
        if dering.is_none() {
            return;
        }
        self.filter.take(picture);
        match &self.predictor {
            Predicting::Cpu(_) => self.filter.filter(dering, picture),
            Predicting::Reference(..) => dering::dering(picture, self.chroma, dering),
        }
    }

    /// Returns what filtering each square of luma gains, if that should be `source`, of the picture that [`Self::dering`] has made
    /// `filtered`.
    pub(super) fn gains(&mut self, source: &Bordered, filtered: &Picture) -> Vec<Gains> {
        if !self.has_unfiltered {
            self.filter.take(filtered);
        }
        self.filter.gains(source)
    }
}
