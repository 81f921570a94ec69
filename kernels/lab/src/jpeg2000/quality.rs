//! Coding to a target; to a PSNR by trials.

use super::bands::Choice;
use super::decode::{SAMPLES_MAX, decode};
use super::encode::{CodedBlocks, Encoder};
use super::error::Jpeg2000Error;
use super::image::Image;
use super::options::{Options, Target};

/// Decibels by which a picture may be better than asked for.
const MARGIN_DB: f64 = 0.05;
/// Times that the estimate is corrected by what comes out.
const TRIALS: usize = 5;

/// Codes a picture.
pub fn encode(image: &Image, options: &Options, choice: Choice<'_>) -> Result<Vec<u8>, Jpeg2000Error> {
    let mut encoder = Encoder::open(image, options, choice)?;
    let planes = encoder.planes(image);
    let squares = encoder.transform(planes)?;
    let blocks = encoder.blocks(&squares);
    match options.target {
        Target::Quality(decibels) => reach(&mut encoder, &blocks, image, decibels, choice),
        _ => encoder.finish(&blocks),
    }
}

/// Returns the PSNR of all samples of two pictures of one shape, decibels; infinite if they are the same.
pub fn psnr(a: &Image, b: &Image) -> f64 {
    let pairs = || a.components.iter().zip(&b.components);
    let squares = |(a, b): (&i32, &i32)| f64::from(a - b).powi(2);
    let error: f64 = pairs().flat_map(|(a, b)| a.samples.iter().zip(&b.samples)).map(squares).sum();
    let count: usize = pairs().map(|(a, _)| a.samples.len()).sum();
    let peak = a.components.first().map_or(0.0, |component| f64::from((1_u32 << component.depth) - 1));
    10.0 * (peak * peak * count as f64 / error).log10()
}

/// Returns the code-stream of blocks that reaches so many decibels: of the trials that do the smallest, or the best one if none does.
fn reach(
    encoder: &mut Encoder,
    blocks: &CodedBlocks,
    image: &Image,
    decibels: f64,
    choice: Choice<'_>,
) -> Result<Vec<u8>, Jpeg2000Error> {
    let (mut aim, mut best) = (decibels, None::<(Vec<u8>, f64)>);
    for _ in 0..TRIALS {
        let bytes = encoder.finish_to(blocks, Target::Quality(aim))?;
        let reached = psnr(image, &decode(&bytes, 0, SAMPLES_MAX, choice)?.image);
        let is_better = best.as_ref().is_none_or(|(kept, of_kept)| match (reached >= decibels, *of_kept >= decibels) {
            (true, true) => bytes.len() < kept.len(),
            (true, false) => true,
            (false, true) => false,
            (false, false) => reached > *of_kept,
        });
        if is_better {
            best = Some((bytes, reached));
        }
        if (decibels..decibels + MARGIN_DB).contains(&reached) || !reached.is_finite() {
            break;
        }
        aim += decibels + MARGIN_DB / 2.0 - reached;
    }
    Ok(best.map(|(bytes, _)| bytes).unwrap_or_default())
}
