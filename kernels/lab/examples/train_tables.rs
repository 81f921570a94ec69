//! Counts the block coder's symbols over pictures and writes `kernels/src/tables/frequencies.csv`.
//!
//! ```text
//! train_tables PICTURES_DIR [--write]
//! ```
//!
//! Without `--write` it only prints how many bits the symbols take with the tables there are ("fixed"), with tables
//! made for the very same pictures ("ideal"), and with the best prefix code (Huffman, 1952) for each context of both.
//! The pictures the committed tables come from are those that scikit-image 0.26 carries, written as PNG:
//!
//! ```text
//! python3 -c "from skimage import data, io; [io.imsave(n + '.png', getattr(data, n)()) for n in 'astronaut coffee \
//!   chelsea camera rocket brick grass gravel moon coins page retina immunohistochemistry hubble_deep_field'.split()]; \
//!   io.imsave('motorcycle_left.png', data.stereo_motorcycle()[0])"
//! ```

use std::path::Path;

use anyhow::{Context, bail};
use kernels::parts::reference::Quantiser;
use kernels::parts::reference::quad::{self, Shape};
use kernels::parts::tables::{CONTEXTS, ESCAPE, FREQUENCIES, PROBABILITY_BITS, SYMBOLS, symbols_of};
use kernels::{BackendChoice, PictureRef};
use lab::{TransformParams, open_transform};
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

mod training;

/// Quantiser steps 3 to 64.
const STEPS: [u8; 9] = [44, 48, 52, 56, 60, 64, 68, 72, 80];

type Counts = Vec<[u64; SYMBOLS]>;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (directory, write) = match arguments.as_slice() {
        [directory] => (directory, false),
        [directory, flag] if flag == "--write" => (directory, true),
        _ => bail!("usage: train_tables PICTURES_DIR [--write]"),
    };
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    let mut counts = vec![[0; SYMBOLS]; CONTEXTS];
    let mut raw_bits = 0;
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "png")) {
        raw_bits += count(path, &mut counts).with_context(|| path.display().to_string())?;
    }
    let ideal = counts.iter().enumerate().map(frequencies).collect::<Vec<_>>();
    for (name, tables) in [("fixed", &FREQUENCIES[..]), ("ideal", &ideal)] {
        report(name, &counts, &tables.iter().map(information).collect::<Vec<_>>(), raw_bits);
        report(
            &format!("{name}, prefix codes"),
            &counts,
            &tables.iter().map(prefix_lengths).collect::<Vec<_>>(),
            raw_bits,
        );
    }
    if write {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../src/tables/frequencies.csv"), training::file(&ideal))?;
    }
    Ok(())
}

/// Adds the symbols of a picture, 4:2:0, at all steps; returns the number of raw bits.
fn count(path: &Path, counts: &mut Counts) -> anyhow::Result<u64> {
    let picture = image::open(path)?.into_rgb8();
    let size = FrameSize::new(picture.width(), picture.height())?;
    let params = StreamParams::new(size, Chroma::C420);
    let picture = PictureRef::new(PixelFormat::Rgb8, size, picture.as_raw())?;
    let squares = open_transform(&TransformParams::from(&params), BackendChoice::Cpu, None)?.forward(picture)?;
    let layout = BlockLayout::new(&params);
    let squares = squares.squares::<f32>(layout.pyramids())?;
    let mut raw_bits = 0;
    for step in STEPS.into_iter().filter_map(StepIndex::new) {
        let quantiser = Quantiser::new(step);
        for block in layout.blocks() {
            let (rect, channel) = (block.rect, block.channel.index());
            let side = layout.pyramids()[channel].side();
            let rows = (rect.y..rect.y + rect.height).map(|y| &squares[channel][y * side + rect.x..][..rect.width]);
            let coefficients: Vec<f32> = rows.flatten().copied().collect();
            let quantised = quantiser.quantise_block(&coefficients, Shape::from(block));
            if quantised.iter().any(|&value| value != 0) {
                quad::for_each_symbol(&quantised, Shape::from(block), |context, symbol| counts[context][symbol] += 1);
                raw_bits +=
                    quantised.iter().map(|q| u64::from(u32::BITS - q.unsigned_abs().leading_zeros())).sum::<u64>();
            }
        }
    }
    Ok(raw_bits)
}

/// Frequencies in proportion to the counts.
fn frequencies((context, counts): (usize, &[u64; SYMBOLS])) -> [u16; SYMBOLS] {
    if context == ESCAPE {
        return [(1 << PROBABILITY_BITS) / SYMBOLS as u16; SYMBOLS];
    }
    // A context that was hardly seen falls back to halving from symbol to symbol.
    let weight = |symbol: usize| counts[symbol] as f64 + 4.0 * 0.5_f64.powi(symbol as i32);
    training::shares(|symbol| symbol < symbols_of(context), weight)
}

/// Returns the bits of each symbol as an arithmetic coder takes them.
fn information(frequencies: &[u16; SYMBOLS]) -> [f64; SYMBOLS] {
    frequencies.map(|frequency| f64::from(PROBABILITY_BITS) - f64::from(frequency).log2())
}

/// Returns the bits of each symbol in the best prefix code; those that cannot occur have none.
fn prefix_lengths(frequencies: &[u16; SYMBOLS]) -> [f64; SYMBOLS] {
    let mut lengths = [0.0; SYMBOLS];
    let possible = (0..SYMBOLS).filter(|&symbol| frequencies[symbol] > 0);
    let mut trees: Vec<(u32, Vec<usize>)> = possible.map(|symbol| (frequencies[symbol].into(), vec![symbol])).collect();
    while trees.len() > 1 {
        trees.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let (light, lighter) = (trees.pop().unwrap_or_default(), trees.pop().unwrap_or_default());
        let joined = [light.1, lighter.1].concat();
        joined.iter().for_each(|&symbol| lengths[symbol] += 1.0);
        trees.push((light.0 + lighter.0, joined));
    }
    lengths
}

fn report(name: &str, counts: &Counts, bits: &[[f64; SYMBOLS]], raw_bits: u64) {
    let of_symbols: f64 = (counts.iter().flatten().zip(bits.iter().flatten()))
        .filter(|(count, _)| **count > 0)
        .map(|(&count, bits)| count as f64 * bits)
        .sum();
    println!("{name}: symbols {of_symbols:.0} bits, raw {raw_bits} bits, both {:.0}", of_symbols + raw_bits as f64);
}
