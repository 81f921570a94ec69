//! Coding to a target; to a PSNR by trials.

use picture::psnr::decibels;

use super::decode::{SAMPLES_MAX, decode};
use super::encode::{CodedBlocks, Encoder};
use super::error::Jpeg2000Error;
use super::image::{Image, ImageComponent, Source};
use super::options::{Options, Target};
use super::transforms::Choice;

/// Decibels by which a picture may be better than asked for.
const MARGIN_DB: f64 = 0.05;
/// Times that the estimate is corrected by what comes out.
const TRIALS: usize = 8;

/// Codes a picture.
pub fn encode<'a>(
    source: impl Into<Source<'a>>,
    options: &Options,
    choice: Choice<'_>,
) -> Result<Vec<u8>, Jpeg2000Error> {
    let source = source.into();
    let mut encoder = Encoder::open(source.clone(), options, choice)?;
    encoder.transform(source.clone())?;
    let is_by_step = options.is_high_throughput && matches!(options.target, Target::Bytes(_) | Target::Quality(_));
    if is_by_step {
        return by_step(&mut encoder, &source, options.target, choice);
    }
    let blocks = encoder.blocks();
    match options.target {
        Target::Quality(decibels) => reach(&mut encoder, &blocks, &source, decibels, choice),
        _ => encoder.finish(&blocks),
    }
}

/// Returns the PSNR of all samples of two pictures of one shape, decibels; infinite if they are the same.
pub fn psnr<'a>(a: impl Into<Source<'a>>, b: &Image) -> f64 {
    let source = a.into();
    let of = |(at, component): (usize, &ImageComponent)| {
        let squares = |(a, b): (&i32, &i32)| f64::from(a - b).powi(2);
        source.plane(at).iter().zip(&component.samples).map(squares).sum::<f64>()
    };
    let count = source.shapes.len();
    let error = b.components.iter().take(count).enumerate().map(of).sum();
    let peak = source.shapes.first().map_or(0.0, |shape| f64::from((1_u32 << shape.depth) - 1));
    decibels(error, source.count(), peak)
}

/// Returns the code-stream of blocks that reaches so many decibels: of the trials that do the smallest. If none does it is that of
/// all passes, or an error that says what they reach.
fn reach(
    encoder: &mut Encoder,
    blocks: &CodedBlocks,
    source: &Source<'_>,
    decibels: f64,
    choice: Choice<'_>,
) -> Result<Vec<u8>, Jpeg2000Error> {
    let mut tried = |target: Target| -> Result<(Vec<u8>, f64), Jpeg2000Error> {
        let bytes = encoder.finish_to(blocks, target)?;
        let reached = psnr(source.clone(), &decode(&bytes, 0, SAMPLES_MAX, choice)?.image);
        Ok((bytes, reached))
    };
    let (mut aim, mut best) = (decibels, None::<Vec<u8>>);
    // The highest aim that missed, and the lowest one that did not.
    let (mut missed, mut hit) = (f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..TRIALS {
        let (bytes, reached) = tried(Target::Quality(aim))?;
        if reached >= decibels {
            hit = hit.min(aim);
            if best.as_ref().is_none_or(|kept| bytes.len() < kept.len()) {
                best = Some(bytes);
            }
        } else {
            missed = missed.max(aim);
        }
        if (decibels..decibels + MARGIN_DB).contains(&reached) || !reached.is_finite() {
            break;
        }
        aim += decibels + MARGIN_DB / 2.0 - reached;
        if aim <= missed || aim >= hit {
            aim = (missed + hit) / 2.0;
        }
    }
    if let Some(bytes) = best {
        return Ok(bytes);
    }
    match tried(Target::Step(0.0))? {
        (bytes, reached) if reached >= decibels => Ok(bytes),
        (_, reached) => Err(Jpeg2000Error::NotCoded(format!(
            "the picture reaches {reached:.2} dB at most, not {decibels}: it can be coded so, or without loss"
        ))),
    }
}

/// Steps of the quantiser that are tried, as powers of two: the finest, and one that leaves nothing in.
const STEP_POWERS: (f64, f64) = (-6.0, 18.0);
/// Most steps that are tried, and the part of the bytes that is enough.
const STEPS: usize = 24;
const FULL: f64 = 0.999;

/// Returns the code-stream of the largest step that reaches so many decibels, or the smallest one that fits: blocks of one pass have
/// nothing that could be left out later.
fn by_step(
    encoder: &mut Encoder,
    source: &Source<'_>,
    target: Target,
    choice: Choice<'_>,
) -> Result<Vec<u8>, Jpeg2000Error> {
    let mut of = |power: f64| -> Result<Vec<u8>, Jpeg2000Error> {
        encoder.quantise_by(power.exp2())?;
        let blocks = encoder.blocks();
        encoder.finish_to(&blocks, Target::Step(power.exp2()))
    };
    let (mut fine, mut coarse) = STEP_POWERS;
    // A picture in 8 x 8 pixels has more bits to the octave of steps than a large one; the first guess is the middle of what is usual.
    let mut tried = 1.0;
    let (mut kept, mut at_fine, mut at_coarse) = (None, None, None);
    for _ in 0..STEPS {
        let bytes = of(tried)?;
        // How far it is from what is asked for, by a measure that is nearly a line: above 0 for too fine a step.
        let (off, is_done) = match target {
            Target::Bytes(most) => {
                let off = (bytes.len() as f64 / most.max(1) as f64).log2();
                (off, off <= 0.0 && off >= FULL.log2())
            }
            Target::Quality(decibels) => {
                let off = psnr(source.clone(), &decode(&bytes, 0, SAMPLES_MAX, choice)?.image) - decibels;
                (off, (0.0..MARGIN_DB).contains(&off))
            }
            _ => return Ok(bytes),
        };
        let fits = if matches!(target, Target::Bytes(_)) { off <= 0.0 } else { off >= 0.0 };
        if fits {
            kept = Some(bytes);
        }
        if off > 0.0 {
            (fine, at_fine) = (tried, Some(off));
        } else {
            (coarse, at_coarse) = (tried, Some(off));
        }
        if is_done || coarse - fine < 1e-3 {
            break;
        }
        let middle = (fine + coarse) / 2.0;
        tried = match (at_fine, at_coarse) {
            // Along the line, but no nearer to an end than a part of what is left.
            (Some(above), Some(below)) if above.is_finite() => {
                let part = (above / (above - below)).clamp(0.05, 0.95);
                fine + part * (coarse - fine)
            }
            (Some(_), None) => (tried + 1.0).min(coarse),
            (None, Some(_)) => (tried - 1.0).max(fine),
            _ => middle,
        };
    }
    let sentence = match target {
        Target::Bytes(bytes) => {
            format!("the picture does not fit into {bytes} bytes, nor would one of this size without anything in it")
        }
        _ => "the picture does not reach so many decibels: code it without loss".to_owned(),
    };
    kept.ok_or(Jpeg2000Error::NotCoded(sentence))
}

#[cfg(test)]
mod tests {
    use kernels::BackendChoice;

    use super::*;
    use crate::jpeg2000::Colour;

    #[test]
    fn a_quality_that_is_not_reached_is_refused() {
        let samples: Vec<i32> = (0..64 * 64).map(|at| at * at * 31 % 251).collect();
        let component = ImageComponent { width: 64, height: 64, step: (1, 1), depth: 8, is_signed: false, samples };
        let image = Image { width: 64, height: 64, colour: Colour::Grey, components: vec![component] };
        let choice = (BackendChoice::Cpu, None);
        // Steps for much less than what is then asked of them.
        let mut encoder = Encoder::open(&image, &Options::new(Target::Quality(30.0)), choice).unwrap();
        encoder.transform(&image).unwrap();
        let blocks = encoder.blocks();
        assert!(reach(&mut encoder, &blocks, &Source::from(&image), 30.0, choice).is_ok());
        let error = reach(&mut encoder, &blocks, &Source::from(&image), 90.0, choice).unwrap_err().to_string();
        assert!(error.contains("dB at most, not 90"), "{error}");
    }
}
