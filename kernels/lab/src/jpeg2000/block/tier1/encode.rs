//! The block encoder, and what each pass takes and brings.

use std::borrow::Cow;

use super::NEGATIVE;
use super::passes::{Block, Side};
use crate::jpeg2000::block::mq::{Ending, MqEncoder, RUN, UNIFORM};
use crate::jpeg2000::geometry::Subband;

/// Binary digits of a magnitude below the quantiser's: only the measure of distortion sees them.
pub(crate) const FRACTION_BITS: u32 = 6;

/// The end of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    ending: Ending,
    safe_len: usize,
    /// Squared error, in squared quantiser steps, that all passes so far have taken away.
    pub(crate) gain: f64,
}

/// A block in as many passes as it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodedBlock {
    /// Bit planes from the first one with a one.
    pub(crate) planes: u8,
    /// Those that there are for the packet's header: of one pass alone the lowest one.
    pub(crate) coded_planes: u8,
    pub(crate) passes: Vec<Pass>,
    bytes: Vec<u8>,
}

impl CodedBlock {
    /// Returns a block whose only pass has all of its planes.
    pub(crate) fn of_one_pass(planes: u8, bytes: Vec<u8>) -> Self {
        let ending = Ending { kept: bytes.len(), ..Ending::default() };
        let pass = Pass { ending, safe_len: bytes.len(), gain: 0.0 };
        Self { planes, coded_planes: 1, passes: vec![pass], bytes }
    }

    /// Returns the bytes that its first `passes` passes take.
    pub(crate) fn len(&self, passes: usize) -> usize {
        let end = passes.checked_sub(1).and_then(|last| self.passes.get(last));
        end.map_or(0, |pass| pass.ending.kept + pass.ending.tail_len)
    }

    /// Returns how many of the bytes of the first `passes` passes the first `part` of them need.
    pub(crate) fn part_len(&self, part: usize, passes: usize) -> usize {
        match part.checked_sub(1).and_then(|last| self.passes.get(last)) {
            None => 0,
            Some(_) if part >= passes => self.len(passes),
            Some(pass) => pass.safe_len.min(self.len(passes)),
        }
    }

    /// Returns the bytes of the first `passes` passes.
    pub(crate) fn bytes(&self, passes: usize) -> Cow<'_, [u8]> {
        match passes.checked_sub(1).and_then(|last| self.passes.get(last)) {
            None => Cow::Borrowed(&[]),
            Some(Pass { ending: Ending { kept, tail_len: 0, .. }, .. }) => Cow::Borrowed(&self.bytes[..*kept]),
            Some(Pass { ending: Ending { kept, tail, tail_len }, .. }) => {
                Cow::Owned([&self.bytes[..*kept], &tail[..*tail_len]].concat())
            }
        }
    }
}

/// Codes a block of `width` columns. `values` are magnitudes with [`FRACTION_BITS`] binary digits, and [`NEGATIVE`].
pub(crate) fn encode(values: &[u32], width: usize, band: Subband) -> CodedBlock {
    let all = values.iter().fold(0, |all, value| all | value & !NEGATIVE) >> FRACTION_BITS;
    let planes = u32::BITS - all.leading_zeros();
    let mut block = Block::new(width, values.len() / width.max(1), band, false);
    let mut side = Known { mq: MqEncoder::new(), values, shift: 0, gain: 0.0 };
    let mut passes = Vec::with_capacity(3 * planes as usize);
    let mut end = |side: &mut Known<'_>| {
        let (ending, safe_len) = (side.mq.ending(), side.mq.safe_len());
        passes.push(Pass { ending, safe_len, gain: side.gain });
    };
    for plane in (0..planes).rev() {
        side.shift = plane + FRACTION_BITS;
        if plane + 1 < planes {
            block.propagate(&mut side);
            end(&mut side);
            block.refine(&mut side);
            end(&mut side);
        }
        block.clean(&mut side);
        end(&mut side);
    }
    CodedBlock { planes: planes as u8, coded_planes: planes as u8, passes, bytes: side.mq.into_bytes() }
}

/// The encoder's side.
struct Known<'a> {
    mq: MqEncoder,
    values: &'a [u32],
    /// Place of the plane's bit.
    shift: u32,
    gain: f64,
}

/// The square of one quantiser step.
const UNIT: f64 = (1_u64 << (2 * FRACTION_BITS)) as f64;

impl Known<'_> {
    fn bit(&self, at: usize) -> bool {
        self.values[at] >> self.shift & 1 != 0
    }
}

impl Side for Known<'_> {
    fn significance(&mut self, at: usize, context: u8) -> bool {
        let bit = self.bit(at);
        self.mq.code(context, bit);
        bit
    }

    fn sign(&mut self, at: usize, context: u8, flips: bool) -> bool {
        let is_negative = self.values[at] & NEGATIVE != 0;
        self.mq.code(context, is_negative != flips);
        // From 0 to the middle of what is left: m^2 - (m - e)^2.
        let (magnitude, middle) = (i64::from(self.values[at] & !NEGATIVE), 3_i64 << (self.shift - 1));
        self.gain += (middle * (2 * magnitude - middle)) as f64 / UNIT;
        is_negative
    }

    fn refine(&mut self, at: usize, context: u8) {
        let bit = self.bit(at);
        self.mq.code(context, bit);
        // From the middle of what was left to that of the half that is left now.
        let half = 1_i64 << (self.shift - 1);
        let below = i64::from(self.values[at] & ((1 << self.shift) - 1));
        let (before, after) = (if bit { below } else { below - (1 << self.shift) }, below - half);
        self.gain += (before * before - after * after) as f64 / UNIT;
    }

    fn run(&mut self, at: usize, stride: usize) -> Option<usize> {
        let first = (0..4).find(|row| self.bit(at + row * stride));
        self.mq.code(RUN, first.is_some());
        if let Some(row) = first {
            self.mq.code(UNIFORM, row & 2 != 0);
            self.mq.code(UNIFORM, row & 1 != 0);
        }
        first
    }
}
