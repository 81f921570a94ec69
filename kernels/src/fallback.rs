//! Fallback to the processor when the OpenCL device of a running call is lost.
//!
//! The frame that failed is coded or decoded again. Only opening fails for good, so that a device asked for by name is
//! not replaced silently; [`BackendInfo`] names the processor and the failure from then on. A device whose calls do not
//! return is for the caller to notice, who opens the processor's with [`encoder_instead`].

use picture::coded::{CodedFrame, ReceivedFrame};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

#[cfg(feature = "lossless")]
use crate::lossless::{LosslessDecoder, LosslessEncoder};
#[cfg(feature = "lossless")]
use crate::transform::PlaneParams;
use crate::{
    BackendInfo, CodecError, DecodeError, DecodeTimes, Decoder, EncodeError, EncodeTimes, Encoder, Picture, PictureRef,
    Target, cpu,
};

/// An encoder that falls back. Its rate control starts anew then: frames stay in their budgets.
pub(crate) struct FallbackEncoder {
    params: StreamParams,
    encoder: Box<dyn Encoder>,
}

impl FallbackEncoder {
    /// Wraps `encoder`, which serves until its device is lost.
    pub(crate) fn new(params: &StreamParams, encoder: Box<dyn Encoder>) -> Self {
        Self { params: *params, encoder }
    }
}

impl Encoder for FallbackEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        let result = self.encoder.encode(picture, target);
        let Some(reason) = result.as_ref().err().and_then(|error| lost(error, self.encoder.backend())) else {
            return result;
        };
        self.encoder = encoder_instead(&self.params, reason);
        self.encoder.encode(picture, target)
    }

    fn times(&self) -> EncodeTimes {
        self.encoder.times()
    }

    fn backend(&self) -> &BackendInfo {
        self.encoder.backend()
    }
}

/// A decoder that falls back. The coefficients of the last frame are lost with the device: coarse blocks missing in the
/// very frame that failed are zero, that is grey.
pub(crate) struct FallbackDecoder {
    params: StreamParams,
    layout: BlockLayout,
    decoder: Box<dyn Decoder>,
    /// Damaged blocks that decoders before this one counted.
    damaged_before: u64,
}

impl FallbackDecoder {
    /// Wraps `decoder`, which serves until its device is lost.
    pub(crate) fn new(params: &StreamParams, layout: BlockLayout, decoder: Box<dyn Decoder>) -> Self {
        Self { params: *params, layout, decoder, damaged_before: 0 }
    }
}

impl Decoder for FallbackDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        let result = self.decoder.decode(frame, out);
        let Some(reason) = result.as_ref().err().and_then(|error| lost(error, self.decoder.backend())) else {
            return result;
        };
        self.damaged_before += self.decoder.damaged_blocks();
        self.decoder = smaller_decoder_instead(&self.params, self.layout.clone(), reason);
        self.decoder.decode(frame, out)
    }

    fn times(&self) -> DecodeTimes {
        self.decoder.times()
    }

    fn backend(&self) -> &BackendInfo {
        self.decoder.backend()
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged_before + self.decoder.damaged_blocks()
    }
}

/// Returns why the processor takes over from `backend`, if this error says that its device cannot go on.
fn lost(error: &impl CodecError, backend: &BackendInfo) -> Option<String> {
    error.is_of_device().then(|| backend.given_up(error))
}

/// Opens the processor's encoder in place of one whose device cannot go on; [`BackendInfo::given_up`] makes the reason.
pub fn encoder_instead(params: &StreamParams, reason: String) -> Box<dyn Encoder> {
    #[cfg(feature = "lossless")]
    if params.codec.is_lossless() {
        return Box::new(LosslessEncoder::new(params, cpu::open_transform(&PlaneParams::from(params), reason)));
    }
    Box::new(cpu::CpuEncoder::new(params, reason))
}

/// Opens the processor's decoder; as [`encoder_instead`].
pub fn decoder_instead(params: &StreamParams, reason: String) -> Box<dyn Decoder> {
    smaller_decoder_instead(params, BlockLayout::new(params), reason)
}

/// Opens [`decoder_instead`] for the blocks of `layout`, the stream's or what is left of it without the finest levels.
pub(crate) fn smaller_decoder_instead(params: &StreamParams, layout: BlockLayout, reason: String) -> Box<dyn Decoder> {
    #[cfg(feature = "lossless")]
    if params.codec.is_lossless() {
        let transform = PlaneParams::without_finest(params, layout.dropped_levels());
        let transform = cpu::open_transform(&transform, reason);
        return Box::new(LosslessDecoder::new(params, layout, transform));
    }
    Box::new(cpu::CpuDecoder::new(params, layout, reason))
}
