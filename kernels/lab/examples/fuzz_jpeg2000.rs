//! Feeds changed code-streams of JPEG 2000, and random bytes, to the reader: none may panic, and none may take more memory than
//! its limit allows. Runs with the toolchain of the project.
//!
//! ```text
//! fuzz_jpeg2000 [SECONDS [SEED [FILES]]]
//! ```
//!
//! It ends when the time is up or there have been so many files, says each minute how many there were, and uses all processors.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kernels::BackendChoice;
use lab::jpeg2000::{Colour, Image, ImageComponent, Options, Progression, Target, decode, encode};
use rayon::prelude::*;

use noise::Random;

#[path = "../../examples/noise/mod.rs"]
mod noise;

/// Most samples that a file may ask for.
const SAMPLES_MAX: u64 = 1 << 16;
/// Files between two looks at the clock.
const BATCH: u64 = 4096;
/// Levels that are left out of one file after another; no file has the last one's.
const DROPPED: [u8; 4] = [0, 1, 2, 70];
const CPU: (BackendChoice, Option<&str>) = (BackendChoice::Cpu, None);

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let seconds = arguments.next().transpose()?.unwrap_or(600);
    let seed = arguments.next().transpose()?.unwrap_or(1);
    let most = arguments.next().transpose()?.unwrap_or(u64::MAX);
    let corpus = corpus(seed)?;
    let (start, mut files, mut read, mut told) = (Instant::now(), 0, 0, 0);
    while start.elapsed() < Duration::from_secs(seconds) && files < most {
        let outcomes: anyhow::Result<Vec<bool>> = (files..files + BATCH)
            .into_par_iter()
            .map(|number| {
                let bytes = mutate(&corpus, &mut Random(seed.wrapping_mul(1_000_003).wrapping_add(number)));
                let decoded = decode(&bytes, DROPPED[number as usize % DROPPED.len()], SAMPLES_MAX, CPU);
                if let Ok(decoded) = &decoded {
                    let samples: usize = decoded.image.components.iter().map(|component| component.samples.len()).sum();
                    ensure!(samples as u64 <= SAMPLES_MAX, "seed {seed}, file {number}: {samples} samples");
                }
                Ok(decoded.is_ok())
            })
            .collect();
        read += outcomes?.into_iter().filter(|is_read| *is_read).count();
        files += BATCH;
        let minutes = start.elapsed().as_secs() / 60;
        if minutes > told {
            told = minutes;
            println!("seed {seed}: {files} files after {minutes} minutes, {read} of them read");
        }
    }
    println!("seed {seed}: {files} files of JPEG 2000, {read} of them read, no panic");
    Ok(())
}

/// Returns small files of every kind.
fn corpus(seed: u64) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut random = Random(seed);
    let mut files = Vec::new();
    for (width, height, count) in [(17_usize, 9_usize, 1_usize), (33, 40, 3), (5, 3, 4)] {
        let mut component = |_| {
            let samples = (0..width * height).map(|at| ((at % width * 3 + random.next(40)) % 256) as i32).collect();
            ImageComponent { width, height, step: (1, 1), depth: 8, is_signed: false, samples }
        };
        let colour = if count < 3 { Colour::Grey } else { Colour::Rgb };
        let image = Image { width, height, colour, components: (0..count).map(&mut component).collect() };
        for target in [Target::Lossless, Target::Step(4.0)] {
            for layers in [1, 4] {
                let progression = if layers > 1 { Progression::Quality } else { Progression::Resolution };
                let wrapping = (layers > 1).then_some(colour);
                let options = Options { layers, progression, wrapping, levels: 2, ..Options::new(target) };
                let file = encode(&image, &options, CPU)?;
                if wrapping.is_none() {
                    files.extend(hostile(&file)?);
                }
                files.push(file);
            }
            let options = Options { is_high_throughput: true, levels: 2, ..Options::new(target) };
            files.push(encode(&image, &options, CPU)?);
        }
    }
    Ok(files)
}

/// Returns what no encoder makes of a code-stream: a short head of a tile, no tile, headers that beat each other, more steps than
/// bands, and layers of packets without anything.
fn hostile(stream: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let place = |marker: u8| {
        let place = stream.windows(2).position(|pair| pair == [0xff, marker]);
        place.with_context(|| format!("there is no marker {marker:x}"))
    };
    let segment = |marker: u8| {
        let start = place(marker)?;
        let length = usize::from(u16::from_be_bytes([stream[start + 2], stream[start + 3]]));
        anyhow::Ok(&stream[start..start + 2 + length])
    };
    let (cod, qcd, tile) = (segment(0x52)?, segment(0x5c)?, place(0x90)?);
    let (main, packets) = (&stream[..tile], &stream[tile + 14..]);
    let part = |header: &[u8], packets: &[u8]| {
        let length = (14 + header.len() + packets.len()) as u32;
        [&stream[tile..tile + 6], &length.to_be_bytes(), &[0, 1], header, &[0xff, 0x93], packets].concat()
    };
    let coc = [&[0xff, 0x53, 0, 9, 0, 0], &cod[9..]].concat();
    let steps = [&[0xff, 0x5c, 0, 101, 0x40][..], &[0x40; 98]].concat();
    let mut layered = main.to_vec();
    let layers = place(0x52)? + 6;
    layered[layers..layers + 2].copy_from_slice(&200_u16.to_be_bytes());
    Ok(vec![
        [main, &[0xff, 0x90, 0, 8, 0, 0, 0, 0, 0, 0]].concat(),
        [main, &[0xff, 0xd9]].concat(),
        [main, &coc, &part(&[cod, qcd].concat(), packets)].concat(),
        [main, &steps, &part(&[], packets)].concat(),
        [layered, part(&[], &[0x80; 300])].concat(),
    ])
}

/// Returns one of the files with some bytes changed, mostly in its head, cut, or exchanged for noise.
fn mutate(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.next(corpus.len())].clone();
    for _ in 0..=random.next(6) {
        let reach = if random.next(2) == 0 { bytes.len().min(180) } else { bytes.len() };
        let at = random.next(reach.max(1));
        match random.next(8) {
            0 => bytes.truncate(at.max(2)),
            1 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = random.next(256) as u8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][random.next(6)],
            3 => bytes.insert(at, random.next(256) as u8),
            4 => drop(bytes.remove(at)),
            _ => bytes[at] ^= 1 << random.next(8),
        }
        if bytes.len() < 2 {
            break;
        }
    }
    bytes
}
