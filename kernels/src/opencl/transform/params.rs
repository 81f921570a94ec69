//! The one place where numbers cross from Rust into OpenCL C.

use std::fmt::Write;

use picture::coded::StepIndex;
use picture::params::Boundary;
use picture::pyramid::BLOCK_SIDE;

use crate::reference::quantise::{self, Quantiser};
use crate::tune::settings::{TileShape, Tuning};
use crate::wavelet::{Element, Lifting};
use crate::{lifting, tables};

/// Symbols of a block: its peak, a drop per quad and one per coefficient, each of which may be escaped.
const MAX_SYMBOLS: usize = 2 * (1 + BLOCK_SIDE * BLOCK_SIDE / 4 + BLOCK_SIDE * BLOCK_SIDE);
/// Raw bytes of a block: a sign and all bits but the leading one of every coefficient.
const MAX_RAW_BYTES: usize = BLOCK_SIDE * BLOCK_SIDE * tables::MAX_LENGTH as usize / 8;
/// Raw words of a block, and one that may be read beyond.
const RAW_WORDS: usize = MAX_RAW_BYTES / 4 + 1;
/// Bytes of a slot, more than any block takes to encode: no symbol takes more than PROBABILITY_BITS bits, and room for
/// the coder's first and last state and for writing a byte too many. Whole words, and no large power of two.
pub(crate) const SLOT_BYTES: usize =
    (MAX_RAW_BYTES + MAX_SYMBOLS * tables::PROBABILITY_BITS as usize / 8 + 8).next_multiple_of(64) + 64;
/// Bytes of a block to decode, more than any sound one takes: no symbol takes more than two. Longer ones are damaged.
pub(crate) const MAX_BLOCK_BYTES: usize = MAX_RAW_BYTES + 2 * MAX_SYMBOLS + 3;
/// Length of a block of which nothing is known.
pub(crate) const MISSING: u32 = u32::MAX;

/// Returns the encoder's table of contexts and symbols, of frequency f and start b, with M = 2^PROBABILITY_BITS: f,
/// shift from bit 13 and bias from bit 17 on, and m, such that a state x < 2^31 becomes M (x div f) + x mod f + b = x +
/// bias + q (M - f) with q = floor(x m / 2^32) >> shift. For f > 1, m = ceil(2^(31 + s) / f) and shift = s - 1 with s =
/// ceil(log2 f), where q is x div f exactly (Alverson, Integer division using reciprocals, 1991); for f = 1, q = x - 1,
/// which the bias corrects.
pub(crate) fn encoder_table() -> Vec<u32> {
    let entry = |(&frequency, &start): (&u16, &u16)| {
        let (f, start) = (u64::from(frequency), u32::from(start));
        match f {
            0 => [0; 2],
            1 => [1 | (start + (1 << tables::PROBABILITY_BITS) - 1) << 17, u32::MAX],
            _ => {
                let s = f.next_power_of_two().trailing_zeros();
                [f as u32 | (s - 1) << 13 | start << 17, (1_u64 << (31 + s)).div_ceil(f) as u32]
            }
        }
    };
    tables::FREQUENCIES.as_flattened().iter().zip(tables::START.as_flattened()).flat_map(entry).collect()
}

/// Returns the decoder's table of every context and symbol: frequency, symbol from bit 16 and start from bit 20 on. A
/// symbol that would start behind the last slot, and so never occurs, starts at the last one with all bits set.
pub(crate) fn decoder_table() -> Vec<u32> {
    let entry = |(at, (&frequency, &start)): (usize, (&u16, &u16))| {
        let symbol = (at % tables::SYMBOLS) as u32;
        match u32::from(start) {
            start if start < 1 << tables::PROBABILITY_BITS => u32::from(frequency) | symbol << 16 | start << 20,
            _ => u32::MAX,
        }
    };
    let symbols = tables::FREQUENCIES.as_flattened().iter().zip(tables::START.as_flattened());
    symbols.enumerate().map(entry).collect()
}

/// Returns the values for coding at each step: see `cl/quad/quad.cl`.
pub(crate) fn step_table(dropped: usize) -> Vec<f32> {
    let quantisers = (0..=StepIndex::MAX.index()).filter_map(StepIndex::new).map(Quantiser::new);
    quantisers.map(|q| q.without_levels(dropped)).flat_map(|q| [q.inverse, q.step, q.offset_of_one, q.offset]).collect()
}

/// Returns compiler options that define every constant of the kernels.
pub(crate) fn defines(tuning: &Tuning, boundary: Boundary) -> String {
    let boundary = boundary_name(boundary);
    let mut out = format!("-D SYMMETRIC=0 -D PERIODIC=1 -D ZERO=2 -D BOUNDARY={boundary}");
    let mut integer = |name: &str, value: usize| {
        let _ = write!(out, " -D {name}={value}");
    };
    integer("LSIZE", tuning.group_size);
    integer("STRIP", tuning.strip);
    integer("BLOCK_LSIZE", tuning.block_group_size);
    integer("BLOCKS_PER_GROUP", tuning.blocks_per_group);
    integer("BLOCK_LANES", tuning.lanes());
    integer("SIDE", BLOCK_SIDE);
    integer("SLOT_BYTES", SLOT_BYTES);
    integer("MAX_SYMBOLS", MAX_SYMBOLS);
    integer("RAW_WORDS", RAW_WORDS);
    integer("SYMBOLS", tables::SYMBOLS);
    integer("MAX_LENGTH", usize::from(tables::MAX_LENGTH));
    integer("PROBABILITY_BITS", tables::PROBABILITY_BITS as usize);
    integer("ESCAPE", tables::ESCAPE);
    integer("PEAK", tables::PEAK);
    integer("QUAD", tables::QUAD);
    integer("QUAD_PEAKS", tables::QUAD_PEAKS);
    integer("QUAD_SUMS", tables::QUAD_SUMS);
    integer("COEFFICIENT", tables::COEFFICIENT);
    integer("COEFFICIENT_PEAKS", tables::COEFFICIENT_PEAKS);
    integer("COEFFICIENT_STATES", tables::COEFFICIENT_STATES);
    integer("COEFFICIENT_SUMS", tables::COEFFICIENT_SUMS);
    integer("LAST_STEP", StepIndex::MAX.index().into());
    for (name, value) in [
        ("PARTS", quantise::PARTS),
        ("PLAIN", quantise::PLAIN),
        ("BESIDE_ONE", quantise::BESIDE_ONE),
        ("BESIDE_TWO", quantise::BESIDE_TWO),
        ("FIRST_QUIET", quantise::FIRST_QUIET[0]),
        ("FIRST_QUIET_SLOPE", quantise::FIRST_QUIET[1]),
        ("FIRST_BUSY", quantise::FIRST_BUSY[0]),
        ("FIRST_BUSY_SLOPE", quantise::FIRST_BUSY[1]),
        ("SECOND", quantise::SECOND[0]),
        ("SECOND_SLOPE", quantise::SECOND[1]),
    ] {
        integer(name, value.into());
    }
    integer("SPARSE_ONES", quantise::SPARSE_ONES.into());
    let _ = write!(out, " -D MISSING={MISSING}u");
    for (name, value) in [
        ("ALPHA", lifting::ALPHA),
        ("BETA", lifting::BETA),
        ("GAMMA", lifting::GAMMA),
        ("DELTA", lifting::DELTA),
        ("KAPPA", lifting::K),
        ("KAPPA_INVERSE", lifting::K_INVERSE),
    ] {
        let _ = write!(out, " -D {name}={}", literal(Element::F32, value.into()));
    }
    out
}

/// Returns the text before the kernels of a transform of any wavelet and element: their types and constants.
/// `group_size` is that of `cl/transform/dwt_line.cl`.
pub(crate) fn wavelet_text(lifting: &Lifting, element: Element, boundary: Boundary, group_size: usize) -> String {
    let real = match element {
        Element::F32 => "typedef float real;",
        Element::F64 => "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double real;",
        Element::I32 => "typedef int real;",
    };
    let pairs = lifting.steps.iter().map(|step| step.len()).max().unwrap_or(0);
    let step = |step: &&[f64]| {
        let taps = (0..pairs).map(|k| literal(element, step.get(k).copied().unwrap_or(0.0)));
        format!("{{{}}}", taps.collect::<Vec<_>>().join(", "))
    };
    let table = lifting.steps.iter().map(step).collect::<Vec<_>>().join(", ");
    let mut out = format!("{real}\n#define SYMMETRIC 0\n#define PERIODIC 1\n#define ZERO 2\n");
    let mut define = |name: &str, value: String| {
        let _ = writeln!(out, "#define {name} {value}");
    };
    define("BOUNDARY", boundary_name(boundary).to_owned());
    define("LSIZE", group_size.to_string());
    define("REVERSIBLE", u8::from(lifting.reversible).to_string());
    define("STEPS", lifting.steps.len().to_string());
    define("PAIRS", pairs.to_string());
    define("LOW_SCALE", literal(element, lifting.low_scale));
    define("HIGH_SCALE", literal(element, lifting.high_scale));
    let _ = writeln!(out, "__constant real LIFTING[STEPS][PAIRS] = {{{table}}};");
    out
}

/// Returns compiler options that define a wavelet for `cl/shared/lift.cl`.
pub(crate) fn lifting_defines(lifting: &Lifting, element: Element) -> String {
    let name = match element {
        Element::F32 => "float",
        Element::F64 => "double",
        Element::I32 => "int",
    };
    let double = u8::from(element == Element::F64);
    let (steps, reversible) = (lifting.steps.len(), u8::from(lifting.reversible));
    let taps = lifting.steps.iter().map(|step| step.len()).max().unwrap_or(0);
    let mut out = format!(
        " -D T={name} -D T2={name}2 -D T4={name}4 -D DOUBLE={double} -D STEPS={steps} -D TAPS={taps} -D REVERSIBLE={reversible}"
    );
    for step in 0..4 {
        for tap in 0..2 {
            let coefficient = lifting.steps.get(step).and_then(|taps| taps.get(tap)).copied().unwrap_or(0.0);
            // A step that rounds has a sign only.
            let coefficient = if lifting.reversible && coefficient != 0.0 { coefficient.signum() } else { coefficient };
            let _ = write!(out, " -D C_{step}_{tap}={}", literal(element, coefficient));
        }
    }
    for (name, scale) in [("LOW_SCALE", lifting.low_scale), ("HIGH_SCALE", lifting.high_scale)] {
        let _ = write!(out, " -D {name}={}", literal(element, scale));
    }
    out
}

/// Returns compiler options that define the tiles of `cl/shared/tile.cl`.
pub(crate) fn tile_defines(shape: &TileShape) -> String {
    let TileShape { group_size, width, height, segment, batch } = shape;
    format!(
        " -D TILE_LSIZE={group_size} -D TILE_W={width} -D TILE_H={height} -D TILE_SEGMENT={segment} -D TILE_BATCH={batch}"
    )
}

/// Returns a number as OpenCL C has it, with every bit of the element's type.
pub(crate) fn literal(element: Element, value: f64) -> String {
    match element {
        // Nine digits after the point name every f32, seventeen every f64.
        Element::F32 => format!("{:.9e}f", value as f32),
        Element::F64 => format!("{value:.17e}"),
        Element::I32 => format!("{}", value as i32),
    }
}

fn boundary_name(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Symmetric => "SYMMETRIC",
        Boundary::Periodic => "PERIODIC",
        Boundary::Zero => "ZERO",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividing_by_multiplication_is_exact() {
        let m = 1_u64 << tables::PROBABILITY_BITS;
        let frequencies = tables::FREQUENCIES.as_flattened().iter().zip(tables::START.as_flattened());
        for ((&f, &start), entry) in frequencies.zip(encoder_table().as_chunks::<2>().0) {
            let (f, start) = (u64::from(f), u64::from(start));
            let [packed, multiplier] = entry.map(u64::from);
            let (shift, bias) = (packed >> 13 & 0xf, packed >> 17);
            assert_eq!(packed & 0x1fff, f);
            // All quotients that a state has, at both ends of what gives them.
            for quotient in (1..m).filter(|_| f > 0) {
                for x in [quotient * f, quotient * f + f - 1] {
                    let next = x + bias + (((x * multiplier) >> 32) >> shift) * (m - f);
                    assert_eq!(next, m * (x / f) + x % f + start, "{x} by {f}");
                }
            }
        }
    }

    #[test]
    fn coefficients_keep_every_bit() {
        let text = defines(&Tuning::CPU, Boundary::Zero);
        let value = |name: &str| {
            let (_, rest) = text.split_once(&format!("-D {name}=")).unwrap_or_default();
            rest.split(['f', ' ']).next().and_then(|number| number.parse::<f32>().ok())
        };
        assert_eq!(value("ALPHA"), Some(lifting::ALPHA));
        assert_eq!(value("KAPPA_INVERSE"), Some(lifting::K_INVERSE));
        assert!(text.contains("BOUNDARY=ZERO"));
    }
}
