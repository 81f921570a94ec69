//! Opening an encoder, a decoder or a transform: which back end computes, and why.

use picture::frame::BitDepth;
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;

use crate::backend::WITHOUT_OPENCL;
use crate::fallback::{FallbackDecoder, FallbackEncoder, encoder_instead, smaller_decoder_instead};
#[cfg(feature = "lossless")]
use crate::lossless::{LosslessDecoder, LosslessEncoder};
use crate::transform::PlaneParams;
use crate::tune::SettingsInUse;
use crate::{
    Backend, BackendChoice, Decoder, DeviceInfo, DeviceKind, Encoder, OpenError, cpu, memory, opencl, reference,
};

/// Returns all devices: what OpenCL offers, then the processor. Never empty; no OpenCL is not an error here.
pub fn devices() -> Vec<DeviceInfo> {
    let mut found = opencl::devices().unwrap_or_default();
    found.push(cpu::device());
    found
}

/// Opens an encoder for the pictures of a stream. `device` is the name, or part of the name, of an OpenCL device.
///
/// If that device is lost later, the encoder goes on with the processor and [`Encoder::backend`] says so.
pub fn open_encoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Encoder>, OpenError> {
    check(params)?;
    let (backend, reason) = resolve(choice, device)?;
    let (is_lossless, transform) = (params.codec.is_lossless(), PlaneParams::from(params));
    if is_lossless && !matches!(backend, Resolved::Opencl(_)) {
        memory::check(transform.host_bytes())?;
    }
    Ok(match backend {
        Resolved::Opencl(device) => {
            let encoder = opencl::open_encoder(params, device.as_deref(), reason)?;
            Box::new(FallbackEncoder::new(params, encoder))
        }
        Resolved::Cpu => encoder_instead(params, reason),
        #[cfg(feature = "lossless")]
        Resolved::Reference if is_lossless => {
            Box::new(LosslessEncoder::new(params, reference::transform::open_transform(&transform, reason)))
        }
        Resolved::Reference => Box::new(reference::ReferenceEncoder::new(params, reason)),
    })
}

/// Opens a decoder for a stream. `device` as in [`open_encoder`].
///
/// If that device is lost later, the decoder goes on with the processor; only what it knew of the frame before is lost.
pub fn open_decoder(
    params: &StreamParams,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Decoder>, OpenError> {
    open_smaller_decoder(params, 0, choice, device)
}

/// Opens as [`open_decoder`] does, for pictures of 1/2^`dropped_levels` of the width and height, rounded up
/// ([`picture::frame::FrameSize::halved_times`]): the low band after that many levels, at the brightness of the picture.
///
/// It takes the same frames; blocks of the levels left out are neither decoded nor need be there.
/// [`OpenError::TooManyLevels`] if a plane has fewer levels.
pub fn open_smaller_decoder(
    params: &StreamParams,
    dropped_levels: usize,
    choice: BackendChoice,
    device: Option<&str>,
) -> Result<Box<dyn Decoder>, OpenError> {
    check(params)?;
    let layout = BlockLayout::new(params).without_finest(dropped_levels)?;
    let (backend, reason) = resolve(choice, device)?;
    let is_lossless = params.codec.is_lossless();
    let transform = PlaneParams::without_finest(params, dropped_levels);
    if !matches!(backend, Resolved::Opencl(_)) {
        memory::check(if is_lossless { transform.host_bytes() } else { decoder_bytes(&layout) })?;
    }
    Ok(match backend {
        Resolved::Opencl(device) => {
            let decoder = opencl::open_decoder(params, layout.clone(), device.as_deref(), reason)?;
            Box::new(FallbackDecoder::new(params, layout, decoder))
        }
        Resolved::Cpu => smaller_decoder_instead(params, layout, reason),
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

/// Returns what the OpenCL device runs with that [`open_encoder`] would take for these arguments; `None` if it takes
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
