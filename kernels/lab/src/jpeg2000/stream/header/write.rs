//! Writes a code-stream of one tile.

use super::{ComponentCode, ComponentSize, HAS_CAPABILITIES, IRREVERSIBLE, PART_15, Sizes, TileCode, marker};
use crate::jpeg2000::geometry::Area;
use crate::jpeg2000::stream::quantise::Quantiser;

/// The program's name in the header.
const COMMENT: &[u8] = b"Duet";

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// Writes a marker and its segment, with the length in front.
    fn segment(&mut self, marker: u16, write: impl FnOnce(&mut Self)) {
        self.u16(marker);
        let start = self.0.len();
        self.u16(0);
        write(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Returns the code-stream of a picture in one tile and largest precincts, in the memory of its packets.
pub(crate) fn write(sizes: &Sizes, code: &TileCode, mut packets: Vec<u8>) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    let is_high_throughput = code.components.iter().any(|component| component.style.is_high_throughput());
    out.u16(marker::SOC);
    out.segment(marker::SIZ, |out| {
        let Area { x0, y0, x1, y1 } = sizes.picture;
        out.u16(if is_high_throughput { HAS_CAPABILITIES } else { 0 });
        [x1, y1, x0, y0, sizes.tile[2], sizes.tile[3], sizes.tile[0], sizes.tile[1]].into_iter().for_each(|value| {
            out.u32(value);
        });
        out.u16(sizes.components.len() as u16);
        for &ComponentSize { depth, is_signed, step } in &sizes.components {
            out.u8((depth - 1) | u8::from(is_signed) << 7).u8(step.0).u8(step.1);
        }
    });
    if is_high_throughput {
        out.segment(marker::CAP, |out| {
            let irreversible =
                if code.components.iter().all(|component| component.is_reversible) { 0 } else { IRREVERSIBLE };
            out.u32(PART_15).u16(irreversible | magnitude_code(code));
        });
    }
    // All components are coded alike but for their steps.
    if let Some(first) = code.components.first() {
        out.segment(marker::COD, |out| {
            out.u8(0).u8(code.order.byte()).u16(code.layers as u16).u8(code.mixes_colours.into());
            out.u8(first.cuts.levels).u8(first.cuts.block.0 - 2).u8(first.cuts.block.1 - 2);
            out.u8(first.style.0).u8(first.is_reversible.into());
        });
        out.segment(marker::QCD, |out| quantiser(out, first));
        for (index, component) in code.components.iter().enumerate().skip(1) {
            if component.quantiser != first.quantiser {
                out.segment(marker::QCC, |out| {
                    quantiser(out.u8(index as u8), component);
                });
            }
        }
    }
    out.segment(marker::COM, |out| {
        // Latin text.
        out.u16(1).0.extend(COMMENT);
    });
    // The first tile's only part; its length begins with its marker.
    let length = (packets.len() + 14) as u32;
    out.segment(marker::SOT, |out| {
        out.u16(0).u32(length).u8(0).u8(1);
    });
    out.u16(marker::SOD);
    packets.splice(0..0, out.0);
    packets.extend(marker::EOC.to_be_bytes());
    packets
}

fn quantiser(out: &mut Writer, component: &ComponentCode) {
    let Quantiser { guard_bits, steps, .. } = &component.quantiser;
    let kind = if component.is_reversible { 0 } else { 2 };
    out.u8(kind | guard_bits << 5);
    for step in steps {
        match component.is_reversible {
            true => out.u8(step.exponent << 3),
            false => out.u16(u16::from(step.exponent) << 11 | step.mantissa),
        };
    }
}

/// Returns the code for the bits that coefficients have at most (ISO/IEC 15444-15, 8.7).
fn magnitude_code(code: &TileCode) -> u16 {
    let quantisers = code.components.iter().map(|component| &component.quantiser);
    let bits = quantisers.flat_map(|quantiser| quantiser.steps.iter().map(|step| quantiser.planes(*step))).max();
    match bits.unwrap_or(0) {
        ..=8 => 0,
        bits @ 9..=27 => u16::from(bits) - 8,
        bits @ 28..=71 => (u16::from(bits) - 27).div_ceil(4) + 19,
        _ => 31,
    }
}
