//! `wavelet encode` and `wavelet decode` of JPEG 2000.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kernels::BackendChoice;
use lab::jpeg2000::{self, Choice, Colour, Jpeg2000Error, Options, Progression, SAMPLES_MAX, Source, Target};
use picture::frame::{BitDepth, ColourSpace, FrameSize, PixelFormat};
use picture::params::Levels;

use crate::args::{CodingArgs, ColoursName, ComputeArgs, LossArgs, PredictionName, ProfileName};
use crate::args::{ProgressionName, RateArgs, TransformArgs};
use crate::fault::Damaged;
use crate::io::{Kind, PictureInfo, rgb};
use crate::options;

mod read;
mod resolution;
mod write;

pub(crate) use self::read::of_picture;

/// Kinds of files of JPEG 2000.
pub(crate) const KINDS: [Kind; 4] = [Kind::J2k, Kind::Jp2, Kind::J2c, Kind::Jph];
/// Those with boxes, which name colours; and those of Part 15.
const BOXES: [Kind; 2] = [Kind::Jp2, Kind::Jph];
const HIGH_THROUGHPUT: [Kind; 2] = [Kind::J2c, Kind::Jph];
/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 32;
/// Layers of a file that becomes finer as it comes.
const LAYERS: u16 = 8;
/// The quantiser's step when nothing else is asked for.
const DEFAULT_STEP: f64 = 8.0;

/// Codes the picture of `input` into the file `output`.
pub(crate) fn encode(
    input: &Path,
    output: &Path,
    coding: &CodingArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    let kind = Kind::of(output, &KINDS)?;
    check(coding, transform)?;
    let (picture, planes) = read::read(input)?;
    let source = picture.source();
    ensure!(
        !BOXES.contains(&kind) || planes.is_none_or(|colour| colour == ColourSpace::JPEG),
        "{}: .jp2 and .jph files have a name for Y, Cb and Cr of BT.601 in full range only: write this clip to .j2k or .j2c, which \
         have none for any",
        input.display()
    );
    let (width, height) = source.size();
    let size =
        FrameSize::new(width as u32, height as u32).with_context(|| format!("{} cannot be used", input.display()))?;
    let mut options = Options::new(target(&coding.rate, size)?);
    if let Some(levels) = transform.levels {
        options.levels = match levels {
            Levels::Full => size.width().max(size.height()).next_power_of_two().trailing_zeros() as u8,
            Levels::AtMost(levels) => levels,
        };
    }
    if coding.jpeg2000.code_block == Some(32) {
        options.block_exponent = 5;
    }
    if coding.jpeg2000.progression == Some(ProgressionName::Quality) {
        (options.progression, options.layers) = (Progression::Quality, LAYERS);
    }
    options.is_high_throughput = HIGH_THROUGHPUT.contains(&kind);
    if BOXES.contains(&kind) {
        options.wrapping = Some(source.colour());
        options.resolution = resolution::of_png(input).unwrap_or(options.resolution);
    }
    let bytes = jpeg2000::encode(source.clone(), &options, choice(compute))?;
    std::fs::write(output, &bytes).with_context(|| format!("{} cannot be written", output.display()))?;
    let bits_per_pixel = bytes.len() as f64 * 8.0 / size.pixels() as f64;
    Ok(format!("{}, {} bytes, {bits_per_pixel:.4} bit per pixel\n", described(&source), bytes.len()))
}

/// Writes a decoded picture without further loss: its planes to .j2k and .j2c, what they look like to .jp2 and .jph, which have a
/// name for RGB.
pub(crate) fn keep(output: &Path, info: &PictureInfo, data: &[u8], compute: &ComputeArgs) -> Result<()> {
    let kind = Kind::of(output, &KINDS)?;
    let is_named = BOXES.contains(&kind);
    let (rgb, pixels);
    let picture = if is_named && info.format != PixelFormat::Grey8 && info.colour != ColourSpace::JPEG {
        ensure!(
            info.depth == BitDepth::Eight,
            "{}: .jp2 and .jph files have no name for Y, Cb and Cr of 10 bits: write to .j2k or .j2c",
            output.display()
        );
        rgb = PictureInfo { format: PixelFormat::Rgb8, ..*info };
        pixels = rgb::from_planar(info, data);
        of_picture(&rgb, &pixels)
    } else {
        of_picture(info, data)
    };
    let mut options = Options::new(Target::Lossless);
    options.is_high_throughput = HIGH_THROUGHPUT.contains(&kind);
    let source = picture.source();
    options.wrapping = is_named.then_some(source.colour());
    let bytes = jpeg2000::encode(source, &options, choice(compute))?;
    std::fs::write(output, &bytes).with_context(|| format!("{} cannot be written", output.display()))
}

/// Returns the back end for one picture, by default the processor: opening a device takes longer than all of the work.
fn choice(compute: &ComputeArgs) -> Choice<'_> {
    match (compute.backend, compute.device.as_deref()) {
        (BackendChoice::Auto, None) => (BackendChoice::Cpu, None),
        asked_for => asked_for,
    }
}

/// Checks that nothing is asked for that these files do not have.
fn check(coding: &CodingArgs, transform: &TransformArgs) -> Result<()> {
    let refuse = |is_there: bool, name: &str| {
        ensure!(!is_there, "{name} goes with .duet files only: leave it out, or write one");
        Ok(())
    };
    refuse(coding.profile == ProfileName::Pcwt, "--profile pcwt")?;
    refuse(coding.rate.qmin.is_some(), "--qmin")?;
    refuse(coding.chroma.is_some(), "--chroma")?;
    refuse(coding.weights.is_some(), "--weights")?;
    refuse(coding.prediction.prediction == PredictionName::On || coding.prediction.effort.is_some(), "--prediction")?;
    refuse(coding.prediction.reference_age.is_some(), "--reference-age")?;
    let LossArgs { loss, feedback_delay, seed, shown } = &coding.loss;
    refuse(loss.is_some(), "--loss")?;
    refuse(feedback_delay.is_some(), "--feedback-delay")?;
    refuse(seed.is_some(), "--seed")?;
    refuse(shown.is_some(), "--shown")?;
    let others = transform.boundary.is_some() || transform.padding.is_some() || transform.scheme.is_some();
    let others =
        others || transform.filter_bank.is_some() || transform.precision.is_some() || transform.wavelet.is_some();
    ensure!(
        !others,
        "JPEG 2000 says what the transform is, 5/3 with --lossless and 9/7 without: of it, ask for --levels only"
    );
    Ok(())
}

/// Returns what is asked for.
fn target(rate: &RateArgs, size: FrameSize) -> Result<Target> {
    let RateArgs { bpp, bytes_per_frame, quality, step, lossless, qmin: _ } = *rate;
    if lossless {
        return Ok(Target::Lossless);
    }
    Ok(match (bpp, bytes_per_frame, quality) {
        (Some(bpp), ..) => Target::Bytes(bytes_per_frame_of(bpp, size)?),
        (_, Some(bytes), _) => Target::Bytes(bytes),
        (_, _, Some(decibels)) => {
            ensure!(
                (1.0..=100.0).contains(&decibels),
                "--quality {decibels} is not possible: ask for 1 to 100 decibels"
            );
            Target::Quality(decibels)
        }
        _ => {
            let step = step.unwrap_or(DEFAULT_STEP);
            ensure!((0.0625..=1024.0).contains(&step), "--step {step} is not possible: ask for 0.0625 to 1024");
            Target::Step(step)
        }
    })
}

fn bytes_per_frame_of(bpp: f64, size: FrameSize) -> Result<usize> {
    Ok(options::bytes_per_frame(options::bits_per_pixel(bpp)?, size))
}

/// Decodes the file `input` into the picture `output`; `colours` are those of one that does not say what it has.
pub(crate) fn decode(
    input: &Path,
    output: &Path,
    drop_levels: u8,
    colours: Option<ColoursName>,
    compute: &ComputeArgs,
) -> Result<String> {
    write::kind(output)?;
    let name = input.display();
    let mut bytes = Vec::new();
    let cannot = || format!("{name} cannot be read");
    File::open(input).with_context(cannot)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).with_context(cannot)?;
    let choice = (compute.backend, compute.device.as_deref());
    let mut decoded = jpeg2000::decode(&bytes, drop_levels, SAMPLES_MAX, choice).map_err(|error| match error {
        Jpeg2000Error::Damaged(_) => Damaged::new(format!("{name}: {error}")).into(),
        error => anyhow::Error::from(error).context(format!("{name} cannot be decoded")),
    })?;
    drop(bytes);
    if decoded.is_ambiguous {
        decoded.image.colour = match colours {
            Some(ColoursName::Rgb) => Colour::Rgb,
            Some(ColoursName::Ycbcr) => Colour::Ycc,
            None => bail!(
                "{name} does not say whether its three components are RGB or Y, Cb and Cr: add --colours rgb or --colours ycbcr"
            ),
        };
    } else {
        ensure!(
            colours.is_none(),
            "{name} says itself that it is {}: leave --colours out",
            described(&(&decoded.image).into())
        );
    }
    let text = described(&(&decoded.image).into());
    write::write(output, decoded.image, decoded.has_colour)?;
    if let Some(missing) = decoded.missing {
        return Err(Damaged::new(format!("{name} is damaged or cut: {missing}; what is whole is decoded")).into());
    }
    let backend = decoded.backend.map(|backend| format!(", {}: {}", backend.kind, backend.device)).unwrap_or_default();
    Ok(format!("{text}{backend}\n"))
}

fn described(source: &Source<'_>) -> String {
    let colour = match source.colour() {
        Colour::Grey => "grey",
        Colour::Rgb => "RGB",
        Colour::Ycc => "YCbCr",
    };
    let opacity = if source.has_opacity() { " with opacity" } else { "" };
    let (width, height) = source.size();
    format!("{width} x {height}, {colour}{opacity}, {} bits", source.depth())
}
