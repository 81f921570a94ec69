//! The seam between the voices and what is the same for all: a predictor, and the coder of what it leaves.

use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize};

#[cfg(test)]
use super::field::Motion;
use super::field::{Field, UNIT};
use crate::cpu::motion::planes::Luma;
use crate::{BackendInfo, DecodeError, DecodeTimes, Decoder, EncodeError, Encoder, Picture, PictureRef, Target};

/// A rectangle of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Predicts from one reference at a time.
pub(crate) trait Predictor: Send + Sync {
    /// Predicts from `reference` from now on: planar, of the stream's size.
    fn refer(&mut self, reference: &Picture);

    /// The luma of the reference, for the search.
    fn luma(&self) -> &Luma;

    /// Writes the prediction of `motion` for a rectangle of at most [`WINDOW`](super::field::WINDOW) samples a side; rows
    /// [`WINDOW`](super::field::WINDOW) apart.
    #[cfg(test)]
    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]);

    /// Writes the prediction of `field`, with all overlaps.
    fn compensate(&self, field: &Field, out: &mut Picture);
}

/// Codes what a prediction leaves of a picture.
pub(crate) trait ResidualEncoder: Encoder {
    /// Encodes as [`Encoder::encode`] does; `prediction` is planar and of the stream's size.
    fn encode_residual(
        &mut self,
        picture: PictureRef<'_>,
        prediction: &Picture,
        target: Target,
    ) -> Result<CodedFrame, EncodeError>;

    /// Returns true if the picture, coded alone at `step`, takes at most `bytes`, as
    /// [`coded_size`](picture::run::coded_size) counts.
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError>;
}

/// Adds to a prediction what was coded besides.
pub(crate) trait ResidualDecoder: Decoder {
    /// Makes the picture out of its prediction. A block that is missing or damaged adds nothing.
    fn add_residual(&mut self, frame: &ReceivedFrame, picture: &mut Picture) -> Result<(), DecodeError>;
}

/// Decodes predicted frames on a device, which has the states, too.
pub(crate) trait DeviceDecoder: Send {
    /// Decodes the blocks of a frame, and its vectors, which are `field`, into `out`. `from` is the state that it is predicted from, with
    /// its number; its own is `number`. States of the same number are equal.
    fn decode(
        &mut self,
        frame: &ReceivedFrame,
        field: &Field,
        from: (u64, &Picture),
        number: u64,
        out: &mut Picture,
    ) -> Result<(), DecodeError>;

    /// Returns the duration of each stage of the last frame.
    fn times(&self) -> DecodeTimes;

    /// Returns the device.
    fn backend(&self) -> &BackendInfo;

    /// Returns the number of damaged blocks since it was opened.
    fn damaged_blocks(&self) -> u64;
}

/// Returns the size of the plane of a channel and the side of its units.
pub(crate) fn plane_size(chroma: Chroma, size: FrameSize, channel: usize) -> (FrameSize, usize) {
    if channel > 0 && chroma == Chroma::C420 { (size.halved(), UNIT / 2) } else { (size, UNIT) }
}

/// Returns the planes of a planar picture of this sampling.
pub(crate) fn planes(chroma: Chroma, size: FrameSize, data: &[u8]) -> Vec<&[u8]> {
    let mut rest = data;
    let channels = 0..chroma.channels().len();
    channels.map(|channel| rest.split_off(..plane_size(chroma, size, channel).0.pixels()).unwrap_or_default()).collect()
}
