//! Opening an encoder, a decoder or a transform: which back end computes, and why.

use picture::frame::{BitDepth, Chroma, FrameSize};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;

use crate::apart::{self, Patience};
use crate::backend::WITHOUT_OPENCL;
use crate::fallback::{decoder_instead, encoder_instead};
#[cfg(feature = "lossless")]
use crate::lossless::{LosslessDecoder, LosslessEncoder};
use crate::transform::PlaneParams;
use crate::tune::SettingsInUse;
use crate::{
    Backend, BackendChoice, BackendInfo, DeviceInfo, DeviceKind, FrameDecoder, FrameEncoder, OpenError, Options, cpu,
    memory, opencl, reference,
};

/// Returns all devices: what OpenCL offers, then the processor. Never empty; no OpenCL is not an error here.
pub fn devices() -> Vec<DeviceInfo> {
    let mut found = opencl::devices().unwrap_or_default();
    found.push(cpu::device());
    found
}

/// Opens what codes the pictures of a stream alone. `device` is the name, or part of the name, of an OpenCL device.
pub(crate) fn open_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn FrameEncoder>, OpenError> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    let (is_lossless, transform) = (params.codec.is_lossless(), PlaneParams::from(params));
    if is_lossless && !matches!(backend, Resolved::Opencl(_)) {
        memory::check(transform.host_bytes())?;
    }
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_encoder(params, device.as_deref(), reason)?,
        Resolved::Cpu => encoder_instead(params, reason),
        #[cfg(feature = "lossless")]
        Resolved::Reference if is_lossless => {
            Box::new(LosslessEncoder::new(params, reference::transform::open_transform(&transform, reason)))
        }
        Resolved::Reference => Box::new(reference::ReferenceEncoder::new(params, reason)),
    })
}

/// Opens what decodes frames that were coded alone, without the finest `dropped_levels`. `device` as in [`open_encoder`].
pub(crate) fn open_decoder(
    params: &StreamParams,
    dropped_levels: usize,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn FrameDecoder>, OpenError> {
    check(params)?;
    let layout = BlockLayout::new(params).without_finest(dropped_levels)?;
    let (backend, reason) = resolve(choice, device)?;
    let is_lossless = params.codec.is_lossless();
    let transform = PlaneParams::without_finest(params, dropped_levels);
    if !matches!(backend, Resolved::Opencl(_)) {
        memory::check(if is_lossless { transform.host_bytes() } else { decoder_bytes(&layout) })?;
    }
    Ok(match backend {
        Resolved::Opencl(device) => opencl::open_decoder(params, layout, device.as_deref(), reason)?,
        Resolved::Cpu => decoder_instead(params, layout, reason),
        #[cfg(feature = "lossless")]
        Resolved::Reference if is_lossless => {
            let transform = reference::transform::open_transform(&transform, reason);
            Box::new(LosslessDecoder::new(params, layout, transform))
        }
        Resolved::Reference => Box::new(reference::ReferenceDecoder::new(params, layout, reason)),
    })
}

/// Returns the bytes that a decoder of the processor allocates, about: the coefficients, and low bands of a third of
/// their number. A plane that is not decomposed takes no more than the picture.
fn decoder_bytes(layout: &BlockLayout) -> u64 {
    let squares = layout.pyramids().iter().filter(|pyramid| pyramid.levels() > 0).map(|pyramid| {
        let (columns, rows) = pyramid.transform_extent(1);
        (columns * rows) as u64
    });
    squares.sum::<u64>() * 6
}

/// Refuses streams that are not of the profile `quad`, or of samples that its wavelet does not take.
fn check(params: &StreamParams) -> Result<(), OpenError> {
    let CodecParams { profile, depth, .. } = params.codec;
    match (profile, depth) {
        (Profile::Pcwt | Profile::Predicted(_), _) => Err(OpenError::WrongProfile { wanted: "quad" }),
        (Profile::Quad, _) if params.codec.is_lossless() && cfg!(not(feature = "lossless")) => {
            Err(OpenError::BuiltWithoutLossless)
        }
        (Profile::Quad, BitDepth::Ten) if !params.codec.is_lossless() => Err(OpenError::DepthNotLossy { depth }),
        (Profile::Quad, _) => Ok(()),
    }
}

/// Size of the pictures of the smallest of streams.
const SMALLEST: FrameSize = match FrameSize::new(16, 16) {
    Ok(size) => size,
    Err(_) => FrameSize::USUAL,
};

/// Checks that the back end asked for is there, with the decoder of the smallest of streams. A driver that does not answer is
/// an error.
pub fn probe(options: &Options) -> Result<BackendInfo, OpenError> {
    let params = StreamParams::new(SMALLEST, Chroma::C420);
    let options = options.clone();
    apart::once("open", Patience::OPEN, move || {
        open_decoder(&params, 0, options.choice(), options.device()).map(|decoder| decoder.backend().clone())
    })?
}

/// Returns what the OpenCL device runs with that [`crate::Encoder::open`] would take for these arguments; `None` if it takes
/// none.
pub fn settings_of(choice: BackendChoice, device: Option<&str>) -> Option<SettingsInUse> {
    match resolve(choice, device) {
        Ok((Resolved::Opencl(device), _)) => opencl::settings_in_use(device.as_deref()).ok(),
        _ => None,
    }
}

/// A back end that is there.
pub enum Resolved {
    /// OpenCL, on the device of this name if one was named.
    Opencl(Option<String>),
    /// The processor.
    Cpu,
    /// The specification.
    Reference,
}

/// Returns the back end for `choice`, and the sentence that says why.
pub fn resolve(choice: BackendChoice, device: Option<&str>) -> Result<(Resolved, String), OpenError> {
    let no_device = |backend| match device {
        Some(name) => Err(OpenError::DeviceNotApplicable { backend, name: name.to_owned() }),
        None => Ok("asked for".to_owned()),
    };
    match (choice, device) {
        (BackendChoice::Cpu, _) => Ok((Resolved::Cpu, no_device(Backend::Cpu)?)),
        (BackendChoice::Reference, _) => Ok((Resolved::Reference, no_device(Backend::Reference)?)),
        (BackendChoice::Opencl, _) => Ok((Resolved::Opencl(device.map(str::to_owned)), "asked for".to_owned())),
        (BackendChoice::Auto, Some(name)) => {
            Ok((Resolved::Opencl(Some(name.to_owned())), format!("the device `{name}` was asked for")))
        }
        (BackendChoice::Auto, None) if let Some(reason) = std::env::var_os(WITHOUT_OPENCL) => {
            Ok((Resolved::Cpu, reason.to_string_lossy().into_owned()))
        }
        (BackendChoice::Auto, None) => match opencl::devices() {
            Ok(found) => match found.into_iter().find(|d| d.kind == DeviceKind::Gpu) {
                Some(gpu) => {
                    Ok((Resolved::Opencl(Some(gpu.name)), "it is the first GPU that OpenCL offers".to_owned()))
                }
                None => Ok((Resolved::Cpu, "OpenCL offers no GPU".to_owned())),
            },
            Err(error) => Ok((Resolved::Cpu, error.to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_takes_no_device_name() {
        let error = resolve(BackendChoice::Cpu, Some("H200")).err().unwrap();
        assert!(error.to_string().contains("`H200`"), "{error}");
    }

    #[test]
    fn there_is_always_a_device() {
        assert!(devices().iter().any(|d| d.backend == Backend::Cpu && d.compute_units > 0));
    }
}
