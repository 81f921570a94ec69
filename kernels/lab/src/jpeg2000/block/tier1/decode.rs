//! The block decoder.

use super::passes::{Block, Side};
use super::{NEGATIVE, Style};
use crate::jpeg2000::block::mq::{MqDecoder, RUN, UNIFORM};
use crate::jpeg2000::geometry::Subband;

/// Bytes that end by themselves, and the passes in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    pub(crate) passes: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Decodes a block into signed coefficients in half quantiser steps: what is not known of a magnitude is taken as half of it.
/// `planes` are those from the first with a one, at most 30.
pub(crate) fn decode(
    segments: &[Segment],
    planes: u8,
    (width, height): (usize, usize),
    band: Subband,
    style: Style,
) -> Vec<i32> {
    let mut values = vec![0_u32; width * height];
    let mut block = Block::new(width, height, band, style.is_causal());
    let mut mq = MqDecoder::new(&[]);
    let mut pass = 0_usize;
    'segments: for segment in segments {
        let mut raw = RawBits { bytes: &segment.bytes, at: 0, left: 0, last: 0 };
        mq.restart(&segment.bytes);
        for _ in 0..segment.passes {
            // The first plane has the third pass only.
            let plane = usize::from(planes).checked_sub(1 + pass.div_ceil(3));
            let Some(plane) = plane else { break 'segments };
            let (values, plane) = (&mut values[..], plane as u32);
            match (pass % 3, style.is_raw(pass)) {
                (1, false) => block.propagate(&mut Learning { bits: &mut mq, values, plane }),
                (2, false) => block.refine(&mut Learning { bits: &mut mq, values, plane }),
                (1, true) => block.propagate(&mut Learning { bits: &mut raw, values, plane }),
                (2, true) => block.refine(&mut Learning { bits: &mut raw, values, plane }),
                _ => {
                    block.clean(&mut Learning { bits: &mut mq, values, plane });
                    if style.marks_segments() {
                        (0..4).for_each(|_| _ = mq.decide(UNIFORM));
                    }
                }
            }
            if style.resets() {
                mq.reset();
            }
            pass += 1;
        }
    }
    let signed = |value: u32| {
        let magnitude = (value & !NEGATIVE) as i32;
        if value & NEGATIVE != 0 { -magnitude } else { magnitude }
    };
    values.into_iter().map(signed).collect()
}

/// A source of decisions.
trait Decisions {
    fn decision(&mut self, context: u8) -> bool;

    fn sign(&mut self, context: u8, flips: bool) -> bool;
}

impl Decisions for MqDecoder<'_> {
    fn decision(&mut self, context: u8) -> bool {
        self.decide(context)
    }

    fn sign(&mut self, context: u8, flips: bool) -> bool {
        self.decide(context) != flips
    }
}

/// Bits as they are; after 0xff, one is left out.
struct RawBits<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
    last: u8,
}

impl Decisions for RawBits<'_> {
    fn decision(&mut self, _: u8) -> bool {
        if self.left == 0 {
            self.left = if self.last == 0xff { 7 } else { 8 };
            self.last = self.bytes.get(self.at).copied().unwrap_or(0xff);
            self.at += 1;
        }
        self.left -= 1;
        self.last >> self.left & 1 != 0
    }

    fn sign(&mut self, context: u8, _: bool) -> bool {
        self.decision(context)
    }
}

/// The decoder's side. Values have one binary digit below the quantiser's, and [`NEGATIVE`].
struct Learning<'a, D> {
    bits: &'a mut D,
    values: &'a mut [u32],
    plane: u32,
}

impl<D: Decisions> Side for Learning<'_, D> {
    fn significance(&mut self, _: usize, context: u8) -> bool {
        self.bits.decision(context)
    }

    fn sign(&mut self, at: usize, context: u8, flips: bool) -> bool {
        let is_negative = self.bits.sign(context, flips);
        self.values[at] = 3 << self.plane | if is_negative { NEGATIVE } else { 0 };
        is_negative
    }

    fn refine(&mut self, at: usize, context: u8) {
        let bit = self.bits.decision(context);
        let place = 2 << self.plane;
        self.values[at] = self.values[at] & !place | if bit { place } else { 0 } | place >> 1;
    }

    fn run(&mut self, _: usize, _: usize) -> Option<usize> {
        if !self.bits.decision(RUN) {
            return None;
        }
        let high = usize::from(self.bits.decision(UNIFORM));
        Some(2 * high + usize::from(self.bits.decision(UNIFORM)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jpeg2000::block::tier1::{FRACTION_BITS, encode};

    #[test]
    fn blocks_come_back_and_every_pass_brings_what_it_says() {
        for (width, height) in [(1, 1), (5, 3), (4, 4), (17, 9), (32, 32), (64, 64)] {
            for band in [Subband::Low, Subband::Horizontal, Subband::Vertical, Subband::Diagonal] {
                let value = |at: usize| {
                    let noise = (at as u32).wrapping_mul(2_654_435_761) >> 7;
                    (((noise % 31) * (noise % 7) * (noise % 64)) << 3) | if noise & 64 != 0 { NEGATIVE } else { 0 }
                };
                let values: Vec<u32> = (0..width * height).map(value).collect();
                let coded = encode(&values, width, band);
                let exact = |value: &u32| f64::from(value & !NEGATIVE) / f64::from(1 << FRACTION_BITS);
                let error = |decoded: &[i32]| -> f64 {
                    let pairs = values.iter().zip(decoded);
                    pairs.map(|(value, found)| (exact(value) - f64::from(found.abs()) / 2.0).powi(2)).sum()
                };
                let nothing = error(&vec![0; values.len()]);
                for passes in 1..=coded.passes.len() {
                    let segment = Segment { passes, bytes: coded.bytes(passes).into_owned() };
                    let decoded = decode(&[segment], coded.planes, (width, height), band, Style(0));
                    let gain = nothing - error(&decoded);
                    assert!((gain - coded.passes[passes - 1].gain).abs() < 1e-6 * nothing, "{passes} {width}x{height}");
                    if passes == coded.passes.len() {
                        for (value, found) in values.iter().zip(decoded) {
                            let magnitude = ((value & !NEGATIVE) >> FRACTION_BITS) as i32;
                            assert_eq!(found.abs() >> 1, magnitude);
                            assert!(magnitude == 0 || (found < 0) == (value & NEGATIVE != 0));
                        }
                    }
                }
            }
        }
    }
}
