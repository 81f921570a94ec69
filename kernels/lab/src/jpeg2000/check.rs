//! Checks of pictures and options before anything is coded.

use std::ops::RangeInclusive;

use super::decode::SAMPLES_MAX;
use super::error::Jpeg2000Error;
use super::geometry::Area;
use super::image::{Shape, Source};
use super::options::Options;

/// Exponents of a code-block's side, and most levels, that there are here.
const BLOCK_EXPONENTS: RangeInclusive<u8> = 5..=6;
const LEVELS_MAX: u8 = 32;

/// Returns an error unless the picture is one that can be coded so, and that is read again.
pub(super) fn check(source: &Source<'_>, options: &Options) -> Result<(), Jpeg2000Error> {
    let refuse = |what: String| Err(Jpeg2000Error::NotCoded(what));
    let Options { levels, block_exponent, layers, is_high_throughput, .. } = *options;
    if layers == 0 || levels > LEVELS_MAX || !BLOCK_EXPONENTS.contains(&block_exponent) {
        return refuse(format!(
            "{layers} layers, {levels} levels and blocks of a side of 2^{block_exponent} are not coded: at least one layer, at most \
             {LEVELS_MAX} levels and a side of 2^5 or 2^6 are"
        ));
    }
    if is_high_throughput && layers > 1 {
        return refuse(format!("blocks of Part 15 are coded in one layer, not in {layers}"));
    }
    let samples = |shape: &Shape| (shape.width as u64).saturating_mul(shape.height as u64);
    let samples = source.shapes.iter().map(samples).fold(0, u64::saturating_add);
    if samples > SAMPLES_MAX {
        return refuse(format!("a picture of {samples} samples is not coded: at most {SAMPLES_MAX} are read"));
    }
    let count = source.shapes.len();
    if !(source.colour.components()..=source.colour.components() + 1).contains(&count) {
        return refuse(format!("a picture of these colours has no {count} components"));
    }
    let picture = Area { x0: 0, y0: 0, x1: source.width as u32, y1: source.height as u32 };
    for component in &source.shapes {
        if !(1..=16).contains(&component.depth) {
            return refuse(format!("samples of {} bits are not coded: 1 to 16 are", component.depth));
        }
        let area = picture.sampled(component.step);
        let is_right = component.step.0 > 0
            && component.step.1 > 0
            && (area.width(), area.height()) == (component.width, component.height);
        if !is_right || area.is_empty() || !source.is_whole() {
            return refuse(format!(
                "a component of {} x {} does not fit the picture",
                component.width, component.height
            ));
        }
    }
    Ok(())
}
