//! Headers of the kernels for transforms and blocks: their constants, tables and descriptions.

use device::header::{Header, layout};
use device::settings::{TileShape, Tuning};
use picture::coded::StepIndex;
use picture::params::Boundary;
use picture::pyramid::BLOCK_SIDE;

use crate::Element;
use crate::lifting::Lifting;
use crate::reference::quantise::{self, DeadZone, Quantiser};
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

/// Bits of a frequency, at most 2^PROBABILITY_BITS, from bit 0 of an entry of either table on.
const FREQUENCY_BITS: u32 = tables::PROBABILITY_BITS + 1;
/// First bits of shift and bias in an entry of the encoder's table.
const SHIFT_BIT: u32 = FREQUENCY_BITS;
const BIAS_BIT: u32 = SHIFT_BIT + 4;
/// First bits of symbol and start in an entry of the decoder's table. The start comes last: what is above it in a state
/// falls out of the word.
const SYMBOL_BIT: u32 = START_BIT - 4;
const START_BIT: u32 = u32::BITS - tables::PROBABILITY_BITS;

// A shift is less than PROBABILITY_BITS, and a bias less than two times 2^PROBABILITY_BITS.
const _: () = assert!(tables::PROBABILITY_BITS <= 1 << (BIAS_BIT - SHIFT_BIT));
const _: () = assert!(BIAS_BIT + tables::PROBABILITY_BITS < u32::BITS);
const _: () = assert!(FREQUENCY_BITS <= SYMBOL_BIT && tables::SYMBOLS <= 1 << (START_BIT - SYMBOL_BIT));
// Kernels read a row of the decoder's table as vectors of four entries.
const _: () = assert!(tables::SYMBOLS.is_multiple_of(4));
// Slots and raw bits are read as words.
const _: () = assert!(SLOT_BYTES.is_multiple_of(4) && MAX_RAW_BYTES.is_multiple_of(4));

/// Returns the encoder's table of contexts and symbols, of frequency f and start b, with M = 2^PROBABILITY_BITS: f,
/// shift and bias, and m, such that a state x < 2^31 becomes M (x div f) + x mod f + b = x +
/// bias + q (M - f) with q = floor(x m / 2^32) >> shift. For f > 1, m = ceil(2^(31 + s) / f) and shift = s - 1 with s =
/// ceil(log2 f), where q is x div f exactly (Alverson, Integer division using reciprocals, 1991); for f = 1, q = x - 1,
/// which the bias corrects.
pub(crate) fn encoder_table() -> Vec<u32> {
    let entry = |(&frequency, &start): (&u16, &u16)| {
        let (f, start) = (u64::from(frequency), u32::from(start));
        match f {
            0 => [0; 2],
            1 => [1 | (start + (1 << tables::PROBABILITY_BITS) - 1) << BIAS_BIT, u32::MAX],
            _ => {
                let s = f.next_power_of_two().trailing_zeros();
                [f as u32 | (s - 1) << SHIFT_BIT | start << BIAS_BIT, (1_u64 << (31 + s)).div_ceil(f) as u32]
            }
        }
    };
    tables::FREQUENCIES.as_flattened().iter().zip(tables::START.as_flattened()).flat_map(entry).collect()
}

/// Returns the decoder's table of every context and symbol: frequency, symbol and start. A
/// symbol that would start behind the last slot, and so never occurs, starts at the last one with all bits set.
pub(crate) fn decoder_table() -> Vec<u32> {
    let entry = |(at, (&frequency, &start)): (usize, (&u16, &u16))| {
        let symbol = (at % tables::SYMBOLS) as u32;
        match u32::from(start) {
            start if start < 1 << tables::PROBABILITY_BITS => {
                u32::from(frequency) | symbol << SYMBOL_BIT | start << START_BIT
            }
            _ => u32::MAX,
        }
    };
    let symbols = tables::FREQUENCIES.as_flattened().iter().zip(tables::START.as_flattened());
    symbols.enumerate().map(entry).collect()
}

/// Returns the values of each step, to decode without `dropped` finest levels, or to code with this dead zone.
pub(crate) fn step_table(dropped: usize, zone: DeadZone) -> Vec<StepValues> {
    let quantisers = (0..=StepIndex::MAX.index()).filter_map(StepIndex::new).map(Quantiser::new);
    let (quiet, busy) = (zone.quiet.into(), zone.busy.into());
    let values = |Quantiser { inverse, step, offset_of_one, offset, .. }| StepValues {
        inverse,
        step,
        offset_of_one,
        offset,
        quiet,
        busy,
    };
    quantisers.map(|q| values(q.without_levels(dropped))).collect()
}

layout! {
    /// Meaning of a step for coefficients.
    StepValues {
        /// 1 / step.
        float inverse;
        float step;
        /// Added to magnitudes of 1.
        float offset_of_one;
        /// Added to larger ones.
        float offset;
        /// Starts of the first threshold's lines, in parts of a step.
        int quiet;
        int busy;
    }
}

layout! {
    /// A block of a channel, in the square of its coefficients.
    BlockInfo {
        int x;
        int y;
        int width;
        int height;
        /// Class of its peak.
        int class;
        /// 1 if it lies in an HH band.
        int diagonal;
        /// Its number in the frame.
        int index;
        /// 1 if it is coarse.
        int coarse;
        /// Number of indices by which its step is coarser than the frame's.
        int coarser;
    }
}

layout! {
    /// A block's bytes among those of its channel.
    Span {
        uint start;
        /// [`MISSING`] if nothing is known of the block.
        uint length;
    }
}

layout! {
    /// A block's bytes in the slots of all channels, and in the frame.
    GatheredBlock {
        uint channel;
        /// Number among the channel's slots.
        uint slot;
        /// First byte in the frame.
        uint start;
        uint length;
    }
}

/// Returns the boundaries and the one that is meant.
fn boundary_header(boundary: Boundary) -> Header {
    let names = [(Boundary::Symmetric, "SYMMETRIC"), (Boundary::Periodic, "PERIODIC"), (Boundary::Zero, "ZERO")];
    names.into_iter().enumerate().fold(Header::default(), |header, (number, (of, name))| {
        let header = header.define(name, number);
        if of == boundary { header.define("BOUNDARY", number) } else { header }
    })
}

/// Returns the constants of kernels for the transform of streams.
pub fn header(tuning: &Tuning, boundary: Boundary) -> Header {
    let header = boundary_header(boundary).define("LSIZE", tuning.group_size).define("STRIP", tuning.strip);
    [
        ("ALPHA", lifting::ALPHA),
        ("BETA", lifting::BETA),
        ("GAMMA", lifting::GAMMA),
        ("DELTA", lifting::DELTA),
        ("KAPPA", lifting::K),
        ("KAPPA_INVERSE", lifting::K_INVERSE),
    ]
    .into_iter()
    .fold(header, |header, (name, value)| real(header, name, Element::F32, value.into()))
}

/// Returns the constants of kernels for blocks, and the descriptions that they read.
pub fn block_header(tuning: &Tuning) -> Header {
    let numbers: [(&str, usize); 33] = [
        ("BLOCK_LSIZE", tuning.block_group_size),
        ("BLOCKS_PER_GROUP", tuning.blocks_per_group),
        ("BLOCK_LANES", tuning.lanes()),
        ("SIDE", BLOCK_SIDE),
        ("SLOT_BYTES", SLOT_BYTES),
        ("MAX_SYMBOLS", MAX_SYMBOLS),
        ("RAW_WORDS", RAW_WORDS),
        ("SYMBOLS", tables::SYMBOLS),
        ("MAX_LENGTH", tables::MAX_LENGTH.into()),
        ("PROBABILITY_BITS", tables::PROBABILITY_BITS as usize),
        ("FREQUENCY_BITS", FREQUENCY_BITS as usize),
        ("SHIFT_BIT", SHIFT_BIT as usize),
        ("BIAS_BIT", BIAS_BIT as usize),
        ("SYMBOL_BIT", SYMBOL_BIT as usize),
        ("START_BIT", START_BIT as usize),
        ("ESCAPE", tables::ESCAPE),
        ("PEAK", tables::PEAK),
        ("QUAD", tables::QUAD),
        ("QUAD_PEAKS", tables::QUAD_PEAKS),
        ("QUAD_SUMS", tables::QUAD_SUMS),
        ("COEFFICIENT", tables::COEFFICIENT),
        ("COEFFICIENT_PEAKS", tables::COEFFICIENT_PEAKS),
        ("COEFFICIENT_STATES", tables::COEFFICIENT_STATES),
        ("COEFFICIENT_SUMS", tables::COEFFICIENT_SUMS),
        ("LAST_STEP", StepIndex::MAX.index().into()),
        ("PARTS", quantise::PARTS.into()),
        ("PLAIN", quantise::PLAIN.into()),
        ("BESIDE_ONE", quantise::BESIDE_ONE.into()),
        ("BESIDE_TWO", quantise::BESIDE_TWO.into()),
        ("QUIET_SLOPE", quantise::FIRST_SLOPES[0].into()),
        ("BUSY_SLOPE", quantise::FIRST_SLOPES[1].into()),
        ("SECOND", quantise::SECOND[0].into()),
        ("SECOND_SLOPE", quantise::SECOND[1].into()),
    ];
    numbers
        .into_iter()
        .fold(Header::default(), |header, (name, value)| header.define(name, value))
        .define("SPARSE_ONES", quantise::SPARSE_ONES)
        .define("MISSING", format!("{MISSING}u"))
        .layout::<StepValues>()
        .layout::<BlockInfo>()
        .layout::<Span>()
        .layout::<GatheredBlock>()
}

/// Adds a macro of a number with every bit of the element's type.
fn real(header: Header, name: &str, element: Element, value: f64) -> Header {
    header.define(name, literal(element, value))
}

/// Returns a number as OpenCL C has it, with every bit of the element's type.
pub fn literal(element: Element, value: f64) -> String {
    match element {
        // Nine digits after the point name every f32, seventeen every f64.
        Element::F32 => format!("{:.9e}f", value as f32),
        Element::F64 => format!("{value:.17e}"),
        Element::I32 => format!("{}", value as i32),
    }
}

/// Returns the types and constants of kernels for a transform of any wavelet and element. `group_size` is that of
/// `cl/transform/dwt_line.cl`.
pub fn wavelet_header(lifting: &Lifting, element: Element, boundary: Boundary, group_size: usize) -> Header {
    let real = match element {
        Element::F32 => "typedef float real;",
        Element::F64 => "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double real;",
        Element::I32 => "typedef int real;",
    };
    let pairs = lifting.taps();
    let step = |step: &&[f64]| {
        let taps = (0..pairs).map(|k| literal(element, step.get(k).copied().unwrap_or(0.0)));
        format!("{{{}}}", taps.collect::<Vec<_>>().join(", "))
    };
    let table = lifting.steps.iter().map(step).collect::<Vec<_>>().join(", ");
    boundary_header(boundary)
        .line(real)
        .define("LSIZE", group_size)
        .define("REVERSIBLE", u8::from(lifting.reversible))
        .define("STEPS", lifting.steps.len())
        .define("PAIRS", pairs)
        .define("LOW_SCALE", literal(element, lifting.low_scale))
        .define("HIGH_SCALE", literal(element, lifting.high_scale))
        .line(&format!("__constant real LIFTING[STEPS][PAIRS] = {{{table}}};"))
}

/// Returns the constants of a wavelet for `cl/shared/lift.cl`.
pub(crate) fn lifting_header(lifting: &Lifting, element: Element) -> Header {
    let name = match element {
        Element::F32 => "float",
        Element::F64 => "double",
        Element::I32 => "int",
    };
    let header = Header::default()
        .define("T", name)
        .define("T2", format!("{name}2"))
        .define("T4", format!("{name}4"))
        .define("DOUBLE", u8::from(element == Element::F64))
        .define("STEPS", lifting.steps.len())
        .define("TAPS", lifting.taps())
        .define("REVERSIBLE", u8::from(lifting.reversible))
        .define("LOW_SCALE", literal(element, lifting.low_scale))
        .define("HIGH_SCALE", literal(element, lifting.high_scale));
    (0..4).flat_map(|step| [(step, 0), (step, 1)]).fold(header, |header, (step, tap)| {
        let coefficient = lifting.steps.get(step).and_then(|taps| taps.get(tap)).copied().unwrap_or(0.0);
        // A step that rounds has a sign only.
        let coefficient = if lifting.reversible && coefficient != 0.0 { coefficient.signum() } else { coefficient };
        real(header, &format!("C_{step}_{tap}"), element, coefficient)
    })
}

/// Returns the constants of `cl/shared/tile.cl`.
pub(crate) fn tile_header(shape: &TileShape) -> Header {
    Header::default()
        .define("TILE_LSIZE", shape.group_size)
        .define("TILE_W", shape.width)
        .define("TILE_H", shape.height)
        .define("TILE_SEGMENT", shape.segment)
        .define("TILE_BATCH", shape.batch)
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
            let (shift, bias) = (packed >> SHIFT_BIT & 0xf, packed >> BIAS_BIT);
            assert_eq!(packed & ((1 << FREQUENCY_BITS) - 1), f);
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
        let header = header(&Tuning::CPU, Boundary::Zero);
        let value = |name: &str| {
            let (_, rest) = header.text().split_once(&format!("#define {name} ")).unwrap_or_default();
            rest.split(['f', '\n']).next().and_then(|number| number.parse::<f32>().ok())
        };
        assert_eq!(value("ALPHA"), Some(lifting::ALPHA));
        assert_eq!(value("KAPPA_INVERSE"), Some(lifting::K_INVERSE));
        assert_eq!(value("BOUNDARY"), value("ZERO"));
    }
}
