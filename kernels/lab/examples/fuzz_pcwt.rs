//! Feeds frames of the profile `pcwt` that were changed at random, and random bytes, to the decoders of all back ends,
//! and stops at the first frame on which they differ or one of them fails. Runs with the toolchain of the project.
//!
//! ```text
//! fuzz_pcwt [SECONDS [SEED]]
//! ```

use std::time::{Duration, Instant};

use anyhow::ensure;
use kernels::{BACK_ENDS, BackendChoice, Picture};
use lab::pcwt::{CodeError, PcwtDecoder, PcwtEncoder, QMIN_MAX, open_pcwt_decoder, open_pcwt_encoder};
use picture::frame::{BitDepth, Chroma, FrameSize};
use picture::params::{CodecParams, Profile, StreamParams, Wavelet};

use noise::{CODED_EVERY, Random, SIZES};

#[path = "../../examples/noise/mod.rs"]
mod noise;

/// Launches cost an OpenCL device far more than such a frame, so it gets every so many of them.
const OPENCL_EVERY: u64 = 2048;

/// Qmin and the peaks of three channels.
const HEAD_BYTES: usize = 4;

/// Everything for one size and kind of picture.
struct Stream {
    params: StreamParams,
    encoder: Box<dyn PcwtEncoder>,
    /// The last picture coded.
    coded: Vec<u8>,
    decoders: Vec<Box<dyn PcwtDecoder>>,
    pictures: Vec<Picture>,
    /// Groups of all channels.
    groups: usize,
}

fn main() -> anyhow::Result<()> {
    // On a thread of the pool, so that no frame waits for one to wake up.
    rayon::scope(|_| run())
}

fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let seconds = arguments.next().transpose()?.unwrap_or(600);
    let seed = arguments.next().transpose()?.unwrap_or(1);
    let mut random = Random(seed);
    let kinds = [(Chroma::Rgb, BitDepth::Eight), (Chroma::C420, BitDepth::Eight), (Chroma::Rgb, BitDepth::Ten)];
    let all = SIZES.iter().flat_map(|&size| kinds.map(|(chroma, depth)| open(size, chroma, depth)));
    let mut streams = all.collect::<anyhow::Result<Vec<_>>>()?;
    let (start, mut frames, mut decoded) = (Instant::now(), 0_u64, 0_u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let at = random.size() * kinds.len() + random.next(kinds.len());
        let stream = &mut streams[at];
        let bytes = mutate(stream, &mut random)?;
        let mut results: Vec<Result<(), CodeError>> = Vec::new();
        let used = if frames.is_multiple_of(OPENCL_EVERY) { BACK_ENDS.len() } else { BACK_ENDS.len() - 1 };
        for (decoder, picture) in stream.decoders.iter_mut().zip(&mut stream.pictures).take(used) {
            results.push(decoder.decode(&bytes, picture));
        }
        let first = &results[0];
        ensure!(matches!(first, Ok(()) | Err(CodeError::Pcwt(_))), "seed {seed}, frame {frames}: {first:?}");
        let pictures = &stream.pictures[..used];
        let same = results.iter().all(|result| result == first)
            && (first.is_err() || pictures.iter().all(|picture| *picture == pictures[0]));
        ensure!(same, "seed {seed}, frame {frames} of {}: {results:?} {bytes:?}", stream.params.size);
        (frames, decoded) = (frames + 1, decoded + u64::from(first.is_ok()));
    }
    println!("seed {seed}: {frames} frames, {decoded} of them decoded, no difference");
    Ok(())
}

fn open((width, height): (u32, u32), chroma: Chroma, depth: BitDepth) -> anyhow::Result<Stream> {
    let params = StreamParams {
        codec: CodecParams { profile: Profile::Pcwt, wavelet: Wavelet::Cdf53, depth, ..CodecParams::default() },
        ..StreamParams::new(FrameSize::new(width, height)?, chroma)
    };
    let decoders = BACK_ENDS.map(|choice| open_pcwt_decoder(&params, choice, None));
    let mut encoder = open_pcwt_encoder(&params, BackendChoice::Cpu, None)?;
    // Nothing is left of it but the head.
    let empty = encoder.encode(Picture::decoded_from(&params).as_ref(), QMIN_MAX)?;
    Ok(Stream {
        encoder,
        groups: (empty.len() - HEAD_BYTES) / 2,
        coded: empty,
        decoders: decoders.into_iter().collect::<Result<_, _>>()?,
        pictures: vec![Picture::decoded_from(&params); BACK_ENDS.len()],
        params,
    })
}

/// Returns the coded picture with some bytes changed, cut, or exchanged for noise; lengths that no longer fit are made
/// to fit again most times, so that groups of any bytes are met.
fn mutate(stream: &mut Stream, random: &mut Random) -> anyhow::Result<Vec<u8>> {
    if random.next(CODED_EVERY) == 0 {
        let mut picture = Picture::decoded_from(&stream.params);
        random.fill(&mut picture);
        stream.coded = stream.encoder.encode(picture.as_ref(), random.next(4) as u8)?;
    }
    let mut bytes = stream.coded.clone();
    match random.next(8) {
        0 => bytes.truncate(random.next(bytes.len())),
        1 => bytes.iter_mut().skip(4).for_each(|byte| *byte = random.next(256) as u8),
        2 => bytes.extend((0..random.next(9)).map(|_| random.next(256) as u8)),
        _ => {
            for _ in 0..=random.next(8) {
                let at = random.next(bytes.len());
                bytes[at] ^= 1 << random.next(8);
            }
        }
    }
    match random.next(8) {
        0 if !bytes.is_empty() => bytes[0] = random.next(14) as u8,
        1 if bytes.len() > 4 => bytes[1 + random.next(3)] = random.next(24) as u8,
        _ => {}
    }
    if random.next(4) > 0 {
        fit(stream, &mut bytes);
    }
    Ok(bytes)
}

/// Cuts or lengthens the last groups so that all together are as long as the bytes behind the head.
fn fit(stream: &Stream, bytes: &mut Vec<u8>) {
    let end = HEAD_BYTES + 2 * stream.groups;
    if bytes.len() < end {
        return;
    }
    let mut left = bytes.len() - end;
    for at in (HEAD_BYTES..end).step_by(2) {
        let wanted = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let length = wanted.min(left).min(usize::from(u16::MAX));
        bytes[at..at + 2].copy_from_slice(&(length as u16).to_le_bytes());
        left -= length;
    }
    bytes.truncate(bytes.len() - left);
}
