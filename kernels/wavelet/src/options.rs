//! Checks the command line's names and makes parameters of them, or one sentence that names the error.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use kernels::{Effort, Element};
use lab::Filter;
use lab::TransformParams;
use lab::bank::FilterBank;
use lab::pcwt::QMIN_MAX;
use lab::{CDF53, CDF97, Scheme};
use picture::coded::StepIndex;
use picture::frame::{BitDepth, Chroma, FrameSize};
use picture::params::{self, Boundary, CodecParams, Levels, Padding, Profile, STATES_MAX, Weights};

use crate::args::{
    CodingArgs, Jpeg2000Args, LossArgs, PredictionArgs, PredictionName, RateArgs, TransformArgs, WeightsName,
};

/// Limit of a coded frame's size, or of its quantisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    /// Bits per luma pixel of the whole file.
    BitsPerPixel(f64),
    /// Bytes of each frame in the file.
    BytesPerFrame(usize),
    /// PSNR of luma, decibels.
    Quality(f64),
    /// Quantiser step.
    Step(StepIndex),
    /// Every sample as it is.
    Lossless,
}

/// Frames from one to the report of it, unless asked for otherwise: 100 ms of 30 a second.
const FEEDBACK_DELAY: u32 = 3;
/// Longest file of a filter bank: four filters of 64 taps take a tenth of it.
const BANK_BYTES_MAX: u64 = 65_536;
/// The step used when no rate is asked for.
const DEFAULT_STEP: f64 = 8.0;

/// A line as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) share: f64,
    pub(crate) delay: u32,
    pub(crate) seed: u64,
}

impl Loss {
    /// Returns the line asked for, if any.
    pub(crate) fn of(args: &LossArgs, predicts: bool) -> Result<Option<Self>> {
        let Some(percent) = args.loss else {
            if args.feedback_delay.is_some() || args.seed.is_some() || args.shown.is_some() {
                bail!("--feedback-delay, --seed and --shown go with --loss only: give it, or leave them out");
            }
            return Ok(None);
        };
        ensure!(predicts, "--loss goes with --prediction on only: ask for it, or leave --loss out");
        ensure!((0.0..=100.0).contains(&percent), "--loss {percent} is not possible: ask for 0 to 100 percent");
        let delay = args.feedback_delay.unwrap_or(FEEDBACK_DELAY);
        ensure!(
            delay >= 1,
            "--feedback-delay 0 is not possible: a report of a frame comes after it, so ask for 1 or more"
        );
        Ok(Some(Self { share: percent / 100.0, delay, seed: args.seed.unwrap_or(1) }))
    }
}

/// A transform of pictures of any size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TransformOptions {
    pub(crate) filter: Filter,
    pub(crate) levels: Levels,
    pub(crate) boundary: Boundary,
    pub(crate) padding: Padding,
    pub(crate) element: Element,
    pub(crate) scheme: Option<Scheme>,
}

impl TransformOptions {
    /// Returns this transform of pictures of `size`.
    pub(crate) fn params(&self, size: FrameSize, chroma: Chroma) -> TransformParams {
        TransformParams {
            size,
            chroma,
            filter: self.filter.clone(),
            levels: self.levels,
            boundary: self.boundary,
            padding: self.padding,
            element: self.element,
            scheme: self.scheme,
        }
    }
}

/// Returns the transform asked for; what is not named is the default.
pub(crate) fn transform(args: &TransformArgs) -> Result<TransformOptions> {
    let filter = match &args.filter_bank {
        Some(path) => Filter::Bank(Arc::new(filter_bank(path)?)),
        None => Filter::Lifted(args.wavelet.unwrap_or(CDF97)),
    };
    let element = match (&filter, args.precision) {
        (Filter::Lifted(lifting), None) if lifting.reversible => Element::I32,
        (Filter::Lifted(lifting), Some(_)) if lifting.reversible => {
            bail!("--precision does not go with --wavelet cdf53, which is reversible in 32-bit integers: leave it out")
        }
        (_, asked) => asked.unwrap_or(Element::F32),
    };
    Ok(TransformOptions {
        filter,
        levels: args.levels.unwrap_or(Levels::Full),
        boundary: args.boundary.unwrap_or(Boundary::Symmetric),
        padding: args.padding.unwrap_or(Padding::Smooth),
        element,
        scheme: args.scheme,
    })
}

/// Returns the transform asked for, if frames can be coded with it.
pub(crate) fn codec_params(args: &TransformArgs, rate: Rate, weights: Option<WeightsName>) -> Result<CodecParams> {
    let (wavelet, default, with) = match rate {
        Rate::Lossless => (params::Wavelet::Cdf53, CDF53, "with --lossless"),
        _ => (params::Wavelet::Cdf97, CDF97, "without --lossless"),
    };
    let no_other = args.filter_bank.is_none() && args.wavelet.is_none_or(|wavelet| wavelet == default);
    let asked = TransformArgs { wavelet: args.wavelet.or(no_other.then_some(default)), ..args.clone() };
    let options = transform(&asked)?;
    if !no_other {
        bail!("{with}, frames are not coded with {}: use --wavelet {default}", options.filter);
    }
    if options.element == Element::F64 {
        bail!("frames are not coded in {} in this version: leave --precision out", options.element);
    }
    if let Some(scheme) = options.scheme.filter(|scheme| !scheme.is_exact()) {
        bail!(
            "frames are not coded with the scheme {scheme}, whose rounding depends on the device: leave --scheme out"
        );
    }
    Ok(CodecParams {
        profile: Profile::Quad,
        wavelet,
        depth: BitDepth::Eight,
        levels: options.levels,
        boundary: options.boundary,
        padding: options.padding,
        weights: match weights {
            None | Some(WeightsName::Psnr) => Weights::Psnr,
            Some(WeightsName::Visual) => Weights::Visual,
        },
    })
}

/// Checks the options of an inverse transform against `stored`, the parameters the coefficients were made with. Any
/// scheme inverts any.
pub(crate) fn check_against(args: &TransformArgs, stored: &TransformParams) -> Result<()> {
    let options = transform(&TransformArgs { precision: None, ..args.clone() })?;
    for (name, differs) in [
        ("--wavelet", args.wavelet.is_some() && options.filter != stored.filter),
        ("--filter-bank", args.filter_bank.is_some() && options.filter != stored.filter),
        ("--levels", args.levels.is_some_and(|levels| levels != stored.levels)),
        ("--boundary", args.boundary.is_some_and(|boundary| boundary != stored.boundary)),
        ("--padding", args.padding.is_some_and(|padding| padding != stored.padding)),
        ("--precision", args.precision.is_some_and(|precision| precision != stored.element)),
    ] {
        if differs {
            bail!("{name} differs from what the coefficients were made with: leave it out");
        }
    }
    Ok(())
}

/// Returns the filter bank in a TOML file.
fn filter_bank(path: &Path) -> Result<FilterBank> {
    let name = path.display();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BANK_BYTES_MAX + 1).read_to_string(&mut text));
    if read.with_context(|| format!("{name} cannot be read"))? as u64 > BANK_BYTES_MAX {
        bail!("{name} cannot be used: it is longer than any filter bank, {BANK_BYTES_MAX} bytes");
    }
    FilterBank::from_toml(&text).with_context(|| format!("{name} cannot be used"))
}

/// Returns the rate asked for.
pub(crate) fn rate(args: &CodingArgs) -> Result<Rate> {
    let RateArgs { bpp, bytes_per_frame, quality, step, lossless, qmin } = args.rate;
    if qmin.is_some() {
        bail!("--qmin goes with --profile pcwt only: use --step");
    }
    if lossless {
        return Ok(Rate::Lossless);
    }
    if let Some(decibels) = quality {
        return Ok(Rate::Quality(decibels));
    }
    match (bpp, bytes_per_frame, step) {
        (Some(bpp), ..) => Ok(Rate::BitsPerPixel(bits_per_pixel(bpp)?)),
        (_, Some(bytes), _) => Ok(Rate::BytesPerFrame(bytes)),
        (_, _, step) => Ok(Rate::Step(nearest_step(step.unwrap_or(DEFAULT_STEP))?)),
    }
}

/// The distance of a frame from its reference, and the effort of the search for vectors.
pub(crate) type Prediction = (u8, Effort);

/// Returns the prediction of frames, if any.
pub(crate) fn prediction(args: &PredictionArgs, rate: Rate) -> Result<Option<Prediction>> {
    let PredictionArgs { prediction, reference_age, effort } = *args;
    if prediction == PredictionName::Off {
        if reference_age.is_some() || effort.is_some() {
            bail!("--reference-age and --effort go with --prediction on only: ask for it, or leave them out");
        }
        return Ok(None);
    }
    match rate {
        Rate::Lossless => bail!("--lossless does not go with --prediction on: leave one of them out"),
        Rate::Quality(_) => bail!("--quality does not go with --prediction on in this version: use --step or --bpp"),
        _ => {}
    }
    let reference_age = reference_age.unwrap_or(1);
    if !(1..=STATES_MAX).contains(&reference_age) {
        bail!("--reference-age {reference_age} is not possible: ask for 1 to {STATES_MAX}");
    }
    Ok(Some((reference_age, effort.unwrap_or_default())))
}

/// Returns an error if something is asked for that only files of JPEG 2000 have.
pub(crate) fn check_only_duet(args: &CodingArgs) -> Result<()> {
    let Jpeg2000Args { progression, code_block } = args.jpeg2000;
    ensure!(
        progression.is_none() && code_block.is_none(),
        "--progression and --code-block go with .j2k, .jp2, .j2c and .jph files only: write one, or leave them out"
    );
    Ok(())
}

/// Returns the number of bits of every coefficient that the profile pcwt leaves out.
pub(crate) fn qmin(args: &CodingArgs) -> Result<u8> {
    let RateArgs { bpp, bytes_per_frame, quality, step, lossless: _, qmin } = args.rate;
    if bpp.is_some() || bytes_per_frame.is_some() || quality.is_some() || step.is_some() {
        bail!("--profile pcwt has no rate control: ask for --lossless, its default, or --qmin");
    }
    if args.chroma.is_some() || args.weights.is_some() {
        bail!("--chroma and --weights do not go with --profile pcwt, which keeps what the file has: leave them out");
    }
    if args.prediction.prediction == PredictionName::On {
        bail!("--prediction on does not go with --profile pcwt: leave one of them out");
    }
    prediction(&args.prediction, Rate::Lossless)?;
    Loss::of(&args.loss, false)?;
    let qmin = qmin.unwrap_or(0);
    if qmin > QMIN_MAX {
        bail!("--qmin {qmin} is not possible: ask for 0 to {QMIN_MAX}");
    }
    Ok(qmin)
}

/// Checks a number of bits per pixel.
pub(crate) fn bits_per_pixel(bpp: f64) -> Result<f64> {
    if !(bpp > 0.0 && bpp <= 64.0) {
        bail!("--bpp {bpp} is not possible: ask for more than 0 and at most 64 bits per pixel");
    }
    Ok(bpp)
}

/// Returns the whole bytes that a frame may take at `bpp` bits per luma pixel.
pub(crate) fn bytes_per_frame(bpp: f64, size: FrameSize) -> usize {
    (bpp * size.pixels() as f64 / 8.0) as usize
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

#[cfg(test)]
mod tests {
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
