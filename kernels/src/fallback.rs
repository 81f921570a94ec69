//! The processor in place of a device that cannot go on in a running call.
//!
//! A device may fail, and its driver may not return. Either way the processor takes over, and [`BackendInfo`] names it and
//! the reason from then on. The frame that failed is coded or decoded again here; one that a driver keeps is lost with it
//! ([`crate::apart`]). Only opening fails for good, so that a device asked for by name is not replaced silently.

use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use crate::codec::{FrameDecoder, FrameEncoder};
#[cfg(feature = "lossless")]
use crate::lossless::{LosslessDecoder, LosslessEncoder};
#[cfg(feature = "lossless")]
use crate::transform::PlaneParams;
use crate::{BackendInfo, CodecError, cpu};

/// An encoder or a decoder that can go on without its device.
pub(crate) trait Replaceable {
    /// Returns the back end in use.
    fn backend(&self) -> &BackendInfo;

    /// Goes on with the processor: no later call goes to the device.
    fn give_up(&mut self, reason: String);
}

/// Does `work`, and once more on the processor if the device fails in it.
pub(crate) fn with_processor<T: Replaceable, A, E: CodecError>(
    tool: &mut T,
    mut work: impl FnMut(&mut T) -> Result<A, E>,
) -> Result<A, E> {
    match work(tool) {
        Err(error) if error.is_of_device() && tool.backend().is_device() => {
            let reason = tool.backend().given_up(&error);
            tool.give_up(reason);
            work(tool)
        }
        result => result,
    }
}

/// Opens what codes frames alone on the processor, in place of a device; [`BackendInfo::given_up`] makes the reason.
pub(crate) fn encoder_instead(params: &StreamParams, reason: String) -> Box<dyn FrameEncoder> {
    #[cfg(feature = "lossless")]
    if params.codec.is_lossless() {
        return Box::new(LosslessEncoder::new(params, cpu::open_transform(&PlaneParams::from(params), reason)));
    }
    Box::new(cpu::CpuEncoder::new(params, reason))
}

/// Opens what decodes them, the blocks of `layout`: the stream's or what is left of it without the finest levels.
pub(crate) fn decoder_instead(params: &StreamParams, layout: BlockLayout, reason: String) -> Box<dyn FrameDecoder> {
    #[cfg(feature = "lossless")]
    if params.codec.is_lossless() {
        let transform = PlaneParams::without_finest(params, layout.dropped_levels());
        let transform = cpu::open_transform(&transform, reason);
        return Box::new(LosslessDecoder::new(params, layout, transform));
    }
    Box::new(cpu::CpuDecoder::new(params, layout, reason))
}
