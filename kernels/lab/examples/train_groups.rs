//! Counts the symbols of groups of blocks over clips and writes `kernels/src/tables/residual/frequencies.csv`.
//!
//! ```text
//! train_groups CLIP.y4m[,CLIP.y4m..].. [--write]
//! ```
//!
//! Clips with commas between them are of one source. Each is predicted at several steps, and each clip and step counts alike. For each
//! source it prints the bits that the symbols of its own clips take with the tables there are ("fixed"), with those that the other
//! sources' clips make ("others") and with its own ("own").
//!
//! The committed tables are of the first 24 frames of `asl_man_cif30` and `asl_man_vga30`, one source, of `hello_720p30`, of
//! `dog_1080p30` and of `pan_noise_1080p30`.

use anyhow::{Context, bail};
use kernels::parts::tables::residual::{FREQUENCIES, ROWS, can_occur};
use kernels::parts::tables::{PROBABILITY_BITS, SYMBOLS};
use kernels::{BackendChoice, ClipEncoder, Effort, Groups, PictureRef, Target};
use picture::coded::{BlockState, CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::vectors::VectorLayout;

#[path = "../../examples/clip/mod.rs"]
mod clip;
mod training;

/// Quantiser steps 4 to 64.
const STEPS: [u8; 5] = [48, 56, 64, 72, 80];
const FRAMES: usize = 24;
/// Symbols that each clip and step counts as.
const WEIGHT: f64 = 50_000.0;

type Counts = Vec<[f64; SYMBOLS]>;

fn main() -> anyhow::Result<()> {
    let (flags, sources): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    if sources.is_empty() || flags.iter().any(|flag| flag != "--write") {
        bail!("usage: train_groups CLIP.y4m[,CLIP.y4m..].. [--write]");
    }
    let mut counts: Vec<Counts> = Vec::new();
    for source in &sources {
        let mut of_source = none();
        for clip in source.split(',') {
            for step in STEPS.into_iter().filter_map(StepIndex::new) {
                let found = count(clip, step).with_context(|| clip.to_owned())?;
                let all: f64 = found.iter().flatten().sum();
                add(&mut of_source, &found, WEIGHT / all.max(1.0));
            }
        }
        counts.push(of_source);
    }
    for (source, own) in sources.iter().zip(&counts) {
        let mut others = none();
        counts.iter().filter(|counts| !std::ptr::eq(*counts, own)).for_each(|counts| add(&mut others, counts, 1.0));
        let [fixed, others, ideal] =
            [FREQUENCIES.to_vec(), tables(&others), tables(own)].map(|tables| bits(own, &tables));
        println!("{source}: fixed {fixed:.0} bits, others {others:.0}, own {ideal:.0}");
    }
    let mut all = none();
    counts.iter().for_each(|counts| add(&mut all, counts, 1.0));
    if !flags.is_empty() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../src/tables/residual/frequencies.csv"),
            training::file(&tables(&all)),
        )?;
    }
    Ok(())
}

fn none() -> Counts {
    vec![[0.0; SYMBOLS]; ROWS]
}

fn add(to: &mut Counts, from: &Counts, weight: f64) {
    for (to, from) in to.as_flattened_mut().iter_mut().zip(from.as_flattened()) {
        *to += weight * from;
    }
}

/// The symbols of the predicted frames of a clip.
fn count(path: &str, step: StepIndex) -> anyhow::Result<Counts> {
    let (size, pictures) = clip::read(path, FRAMES)?;
    let codec = CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() };
    let params = StreamParams { codec, ..StreamParams::new(size, Chroma::C420) };
    let mut encoder = ClipEncoder::open(&params, 1, Effort::Medium, BackendChoice::Cpu)?;
    let groups = Groups::new(&StreamParams { codec: CodecParams::default(), ..params });
    let mut counts = none();
    for picture in pictures {
        let frame = encoder.encode(PictureRef::new(PixelFormat::I420, size, &picture)?, Target::Step(step))?;
        if frame.reference > 0 {
            let slices = VectorLayout::new(size).slices();
            let (blocks, _) = groups.split(&ReceivedFrame::from(&frame), slices);
            groups.for_each_symbol(&alone(&blocks), |row, symbol| counts[row][symbol] += 1.0);
        }
    }
    Ok(counts)
}

fn alone(frame: &ReceivedFrame) -> CodedFrame {
    let bytes = |index| if let BlockState::Coded(bytes) = frame.block(index) { bytes.to_vec() } else { Vec::new() };
    CodedFrame::from_blocks(frame.header, &(0..frame.block_count()).map(bytes).collect::<Vec<_>>())
}

/// Frequencies in proportion to the counts.
fn tables(counts: &Counts) -> Vec<[u16; SYMBOLS]> {
    let all = counts.iter().enumerate().map(|(row, counts)| {
        // A row that was hardly seen falls back to equal shares.
        training::shares(|symbol| can_occur(row, symbol), |symbol| counts[symbol] + 0.5)
    });
    all.collect()
}

fn bits(counts: &Counts, tables: &[[u16; SYMBOLS]]) -> f64 {
    let bits = |frequency: u16| f64::from(PROBABILITY_BITS) - f64::from(frequency).log2();
    let symbols = counts.as_flattened().iter().zip(tables.as_flattened()).filter(|(count, _)| **count > 0.0);
    symbols.map(|(count, &frequency)| count * bits(frequency)).sum()
}
