//! From the command line's names to checked parameters, or one sentence about what this version does not have.

use anyhow::{Result, bail};
use common::coded::StepIndex;
use common::params::{Boundary, CodecParams, Levels, Padding, Profile, Wavelet};
use kernels::BackendChoice;

use crate::args::{
    BackendName, BoundaryName, CodingArgs, PaddingName, PrecisionName, ProfileName, RateArgs, SchemeName,
    TransformArgs, WaveletName,
};

/// How large a coded frame may be, or how finely it is quantised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    /// Bits per luma pixel of the whole file.
    BitsPerPixel(f64),
    /// Bytes of each frame in the file.
    BytesPerFrame(usize),
    /// Quantiser step.
    Step(StepIndex),
}

/// The step used when no rate is asked for.
const DEFAULT_STEP: f64 = 8.0;

/// The transform asked for; what is not named is the default.
pub(crate) fn codec_params(args: &TransformArgs) -> Result<CodecParams> {
    check_available(args)?;
    Ok(CodecParams {
        profile: Profile::Quad,
        wavelet: Wavelet::Cdf97,
        levels: args.levels.unwrap_or(Levels::Full),
        boundary: args.boundary.map_or(Boundary::Symmetric, boundary),
        padding: args.padding.map_or(Padding::Smooth, padding),
    })
}

/// Checks the options of an inverse transform against `stored`, the parameters the coefficients were made with.
pub(crate) fn check_against(args: &TransformArgs, stored: &CodecParams) -> Result<()> {
    check_available(args)?;
    if args.levels.is_some_and(|levels| levels != stored.levels) {
        bail!("--levels differs from the levels the coefficients were made with: leave it out");
    }
    if args.boundary.is_some_and(|name| boundary(name) != stored.boundary) {
        bail!("--boundary differs from the boundary the coefficients were made with: leave it out");
    }
    if args.padding.is_some_and(|name| padding(name) != stored.padding) {
        bail!("--padding differs from the padding the coefficients were made with: leave it out");
    }
    Ok(())
}

/// The rate asked for.
pub(crate) fn rate(args: &CodingArgs) -> Result<Rate> {
    if args.profile == ProfileName::Pcwt {
        bail!("--profile pcwt is not available in this version: use quad");
    }
    let RateArgs { bpp, bytes_per_frame, step, lossless } = args.rate;
    if lossless {
        bail!("--lossless is not available in this version: use a small --step, such as 0.5");
    }
    match (bpp, bytes_per_frame, step) {
        (Some(bpp), ..) => Ok(Rate::BitsPerPixel(bits_per_pixel(bpp)?)),
        (_, Some(bytes), _) => Ok(Rate::BytesPerFrame(bytes)),
        (_, _, step) => Ok(Rate::Step(nearest_step(step.unwrap_or(DEFAULT_STEP))?)),
    }
}

/// Checks a number of bits per pixel.
pub(crate) fn bits_per_pixel(bpp: f64) -> Result<f64> {
    if !(bpp > 0.0 && bpp <= 64.0) {
        bail!("--bpp {bpp} is not possible: ask for more than 0 and at most 64 bits per pixel");
    }
    Ok(bpp)
}

/// The back end asked for.
pub(crate) fn backend(name: BackendName) -> BackendChoice {
    match name {
        BackendName::Auto => BackendChoice::Auto,
        BackendName::Opencl => BackendChoice::Opencl,
        BackendName::Cpu => BackendChoice::Cpu,
        BackendName::Reference => BackendChoice::Reference,
    }
}

fn nearest_step(asked: f64) -> Result<StepIndex> {
    let (finest, coarsest) = (f64::from(StepIndex::MIN.step()), f64::from(StepIndex::MAX.step()));
    if !(asked >= finest && asked <= coarsest) {
        bail!("--step {asked} is not possible: ask for {finest} to {coarsest}");
    }
    let distance = |index: &StepIndex| (f64::from(index.step()) / asked).ln().abs();
    let steps = (0..=StepIndex::MAX.index()).filter_map(StepIndex::new);
    Ok(steps.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(StepIndex::MAX))
}

fn boundary(name: BoundaryName) -> Boundary {
    match name {
        BoundaryName::Symmetric => Boundary::Symmetric,
        BoundaryName::Periodic => Boundary::Periodic,
        BoundaryName::Zero => Boundary::Zero,
    }
}

fn padding(name: PaddingName) -> Padding {
    match name {
        PaddingName::Smooth => Padding::Smooth,
        PaddingName::Zero => Padding::Zero,
    }
}

fn check_available(args: &TransformArgs) -> Result<()> {
    match args.wavelet {
        None | Some(WaveletName::Cdf97) => {}
        Some(WaveletName::Cdf53) => bail!("--wavelet cdf53 is not available in this version: use cdf97"),
        Some(WaveletName::Dd137) => bail!("--wavelet dd137 is not available in this version: use cdf97"),
    }
    if let Some(scheme) = args.scheme.filter(|scheme| *scheme != SchemeName::Separable) {
        let name = format!("{scheme:?}").to_lowercase();
        bail!("--scheme {name} is not available in this version: use separable");
    }
    if args.precision == Some(PrecisionName::F64) {
        bail!("--precision f64 is not available in this version: use f32");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn steps_round_to_the_nearest_and_have_bounds() {
        assert_eq!(nearest_step(8.0).unwrap().step(), 8.0);
        assert_eq!(nearest_step(1.06).unwrap().step(), 1.0);
        assert_eq!(nearest_step(1.07).unwrap().step(), 1.125);
        for wrong in [0.0, -1.0, 0.01, 1e9, f64::NAN, f64::INFINITY] {
            assert!(nearest_step(wrong).is_err(), "{wrong}");
            assert!(bits_per_pixel(wrong).is_err() || wrong == 0.01, "{wrong}");
        }
    }
}
