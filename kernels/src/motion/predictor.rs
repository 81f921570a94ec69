//! The seam between the voices and what is the same for all: a predictor, and the coder of what it leaves.

use std::time::Duration;

use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize};
#[cfg(test)]
use picture::pyramid::Rect;

use super::dering::{Dering, Gains};
#[cfg(test)]
use super::field::Motion;
use super::field::{Field, UNIT};
use super::search::Wanted;
use crate::{
    BackendInfo, DecodeError, DecodeTimes, EncodeError, EncodeTimes, FrameDecoder, FrameEncoder, Picture, PictureRef,
    Target,
};

/// Predicts from one reference at a time.
pub(crate) trait Predictor: Send + Sync {
    /// Predicts from `reference` from now on: planar, of the stream's size.
    fn refer(&mut self, reference: &Picture);

    /// Writes the prediction of `motion` for a rectangle of at most [`WINDOW`](super::field::WINDOW) samples a side; rows
    /// [`WINDOW`](super::field::WINDOW) apart.
    #[cfg(test)]
    fn block(&self, channel: usize, rect: Rect, motion: Motion, out: &mut [u8]);

    /// Writes the prediction of `field`, with all overlaps.
    fn compensate(&self, field: &Field, out: &mut Picture);
}

/// Codes what a prediction leaves of a picture.
pub(crate) trait ResidualEncoder: FrameEncoder {
    /// Takes what a prediction, planar and of the stream's size, leaves of a picture.
    fn take_residual(&mut self, picture: PictureRef<'_>, prediction: &Picture) -> Result<(), EncodeError>;

    /// Encodes what was taken last as [`FrameEncoder::encode`] does; again for each target.
    fn code_residual(&mut self, target: Target) -> Result<CodedFrame, EncodeError>;

    /// Does both.
    #[cfg(test)]
    fn encode_residual(
        &mut self,
        picture: PictureRef<'_>,
        prediction: &Picture,
        target: Target,
    ) -> Result<CodedFrame, EncodeError> {
        self.take_residual(picture, prediction)?;
        self.code_residual(target)
    }
}

/// Codes pictures alone where that costs less than a prediction.
pub(crate) trait AloneEncoder: FrameEncoder {
    /// Returns true if the picture, coded alone at `step`, takes at most `bytes`, as
    /// [`coded_size`](picture::run::coded_size) counts.
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError>;
}

/// Adds to a prediction what was coded besides.
pub(crate) trait ResidualDecoder: FrameDecoder {
    /// Makes the picture out of its prediction. A block that is missing or damaged adds nothing.
    fn add_residual(&mut self, frame: &ReceivedFrame, picture: &mut Picture) -> Result<(), DecodeError>;
}

/// Codes predicted frames on a device, which has the states, too: for each frame one call after another, in this order.
pub(crate) trait DeviceEncoder {
    /// Brings a picture, of the stream's size, to the device, which goes on with it while vectors are looked for.
    fn bring(&mut self, picture: PictureRef<'_>) -> Result<(), EncodeError>;

    /// Returns true if this device looks for vectors itself: one beside the processor does.
    fn looks(&self) -> bool;

    /// Looks for vectors of the picture brought last in a state, which has this number.
    fn look(&mut self, wanted: &Wanted<'_>, from: (u64, &Picture)) -> Result<Field, EncodeError>;

    /// Starts to predict it with these vectors from a state, which has this number, and to transform what that leaves.
    fn predict(&mut self, field: &Field, from: (u64, &Picture)) -> Result<(), EncodeError>;

    /// Codes what is left, as [`FrameEncoder::encode`] does; again for each target.
    fn code(&mut self, target: Target) -> Result<CodedFrame, EncodeError>;

    /// Returns the sums that [`distances`](crate::coder::proven::distances) has of the picture and its prediction.
    fn distances(&self) -> [u64; 2];

    /// Computes what the frame coded last decodes to: the state of this number, and its picture. Returns what filtering each square
    /// of luma would gain.
    fn state(&mut self, number: u64, dering: &Dering, out: &mut Picture) -> Result<Vec<Gains>, DecodeError>;

    /// Divides the time from the vectors to the bytes of the last frame by what the device did meanwhile.
    fn times(&self, total: Duration) -> EncodeTimes;
}

/// Decodes predicted frames on a device, which has the states, too.
pub(crate) trait DeviceDecoder: Send {
    /// Returns the encoder that has the same states, if it was opened with one.
    fn encoder(&mut self) -> Option<&mut dyn DeviceEncoder> {
        None
    }

    /// Starts to decode a frame's blocks, of which `slices` slices of vectors come before.
    fn start(&mut self, frame: &ReceivedFrame, slices: usize) -> Result<(), DecodeError>;

    /// Makes the picture of the frame that was started last, of its vectors and of what is filtered. `from` is the state that it is predicted from, with
    /// its number; its own is `number`. States of the same number are equal.
    fn finish(
        &mut self,
        slices: (&Field, &Dering),
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
