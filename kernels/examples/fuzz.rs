//! Feeds coded frames that were changed at random, and random bytes, to the decoders of all back ends, lossy ones and
//! lossless ones of 10 bits, also as streams whose parameters were changed, and stops at the first frame on which they
//! differ or one of them fails. Runs with the toolchain of the project.
//!
//! ```text
//! fuzz [SECONDS [SEED [OPENCL_EVERY]]]
//! ```
//!
//! One frame in `OPENCL_EVERY` (512) goes to the OpenCL decoder as well: launches cost far more than such a frame.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kernels::{BACK_ENDS, BackendChoice, Decoder, Encoder, Picture, Target};
use noise::{CODED_EVERY, Random, SIZES};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{BitDepth, Chroma, FrameSize};
use picture::params::{CodecParams, StreamParams, Wavelet};

mod noise;

/// One frame in so many is decoded as a stream of other parameters.
const HEADS_EVERY: usize = 1024;
const OPENCL_EVERY: u64 = 512;
/// Number of cheap ones among [`BACK_ENDS`].
const CHEAP: usize = 2;

/// Everything for one size and depth of picture, and the first so many of [`BACK_ENDS`]: coarse blocks outlive their
/// frame, so that a decoder must see all frames of a stream.
struct Stream {
    params: StreamParams,
    encoder: Encoder,
    /// The last picture coded.
    coded: CodedFrame,
    decoders: Vec<Decoder>,
    pictures: Vec<Picture>,
}

fn main() -> anyhow::Result<()> {
    // On a thread of the pool, so that no frame waits for one to wake up.
    rayon::scope(|_| run())
}

fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let seconds = arguments.next().transpose()?.unwrap_or(600);
    let seed = arguments.next().transpose()?.unwrap_or(1);
    let opencl_every = arguments.next().transpose()?.unwrap_or(OPENCL_EVERY).max(1) as usize;
    let mut random = Random(seed);
    // The last two kinds are those for OpenCL.
    let kinds = [CHEAP, BACK_ENDS.len()].map(|count| [(BitDepth::Eight, count), (BitDepth::Ten, count)]);
    let kinds = kinds.as_flattened();
    let all = SIZES.iter().flat_map(|&size| kinds.iter().map(move |&kind| (size, kind)));
    let streams = all.map(|(size, (depth, back_ends))| open(size, depth, &BACK_ENDS[..back_ends], &mut random));
    let mut streams = streams.collect::<anyhow::Result<Vec<_>>>()?;
    let (start, mut frames, mut on_opencl, mut damaged, mut heads) = (Instant::now(), 0_u64, 0_u64, 0, 0_u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let opencl = random.next(opencl_every) == 0;
        let kind = random.next(2) + if opencl { 2 } else { 0 };
        let stream = &mut streams[random.size() * kinds.len() + kind];
        let frame = mutate(stream, &mut random)?;
        if random.next(HEADS_EVERY) == 0 {
            let params = other_params(&stream.params, &mut random);
            heads += u64::from(decode_as(&params, &frame).with_context(|| format!("seed {seed}, frame {frames}"))?);
        }
        for (decoder, picture) in stream.decoders.iter_mut().zip(&mut stream.pictures) {
            decoder.decode(&frame, None, picture)?;
        }
        let count = stream.decoders[0].damaged_blocks();
        let same = stream.decoders.iter().all(|decoder| decoder.damaged_blocks() == count)
            && stream.pictures.iter().all(|picture| *picture == stream.pictures[0]);
        ensure!(same, "seed {seed}, frame {frames} of {}: {frame:?}", stream.params.size);
        (frames, on_opencl, damaged) = (frames + 1, on_opencl + u64::from(opencl), damaged.max(count));
    }
    println!(
        "seed {seed}: {frames} frames, {on_opencl} of them on OpenCL too, up to {damaged} damaged blocks in one stream, \
         {heads} of other parameters, no difference"
    );
    Ok(())
}

fn open(
    (width, height): (u32, u32),
    depth: BitDepth,
    back_ends: &[BackendChoice],
    random: &mut Random,
) -> anyhow::Result<Stream> {
    let mut params = StreamParams::new(FrameSize::new(width, height)?, Chroma::C420);
    if depth == BitDepth::Ten {
        params.codec = CodecParams { wavelet: Wavelet::Cdf53, depth, ..params.codec };
    }
    let mut encoder = Encoder::open(&params, BackendChoice::Cpu)?;
    let decoders = back_ends.iter().map(|&choice| Decoder::open(&params, choice));
    Ok(Stream {
        coded: code(&params, &mut encoder, random)?,
        encoder,
        decoders: decoders.collect::<Result<_, _>>()?,
        pictures: vec![Picture::decoded_from(&params); back_ends.len()],
        params,
    })
}

/// Returns a picture of noise, coded.
fn code(params: &StreamParams, encoder: &mut Encoder, random: &mut Random) -> anyhow::Result<CodedFrame> {
    let mut picture = Picture::decoded_from(params);
    random.fill(&mut picture);
    let target = match params.codec.wavelet {
        Wavelet::Cdf97 => Target::Step(StepIndex::new(random.next(100) as u8).unwrap_or(StepIndex::MIN)),
        Wavelet::Cdf53 => Target::Lossless,
    };
    Ok(encoder.encode(picture.as_ref(), target, None)?)
}

/// Returns the coded picture with some bytes changed, some blocks cut, exchanged for noise or lost, and any header.
fn mutate(stream: &mut Stream, random: &mut Random) -> anyhow::Result<ReceivedFrame> {
    if random.next(CODED_EVERY) == 0 {
        stream.coded = code(&stream.params, &mut stream.encoder, random)?;
    }
    let coded = &stream.coded;
    let header = match random.next(4) {
        0 => FrameHeader {
            step: StepIndex::new(random.next(209) as u8).unwrap_or(StepIndex::MAX),
            fine_blocks: random.next(1 << 24) as u32,
        },
        _ => coded.header,
    };
    let mut received = ReceivedFrame::empty(header, coded.block_count());
    for index in 0..coded.block_count() {
        let mut bytes = coded.block(index).to_vec();
        match random.next(8) {
            0 => continue,
            1 => bytes = (0..random.next(4000)).map(|_| random.next(256) as u8).collect(),
            2 => bytes.truncate(random.next(bytes.len())),
            3 | 4 if !bytes.is_empty() => {
                let at = random.next(bytes.len());
                bytes[at] ^= 1 << random.next(8);
            }
            5 => bytes.extend((0..random.next(9)).map(|_| random.next(256) as u8)),
            _ => {}
        }
        received.insert(index, &bytes);
    }
    Ok(received)
}

/// Parameters as bytes with some changed, behind the size.
fn other_params(params: &StreamParams, random: &mut Random) -> Vec<u8> {
    let mut bytes = params.to_bytes().to_vec();
    for _ in 0..=random.next(3) {
        let at = 8 + random.next(bytes.len() - 8);
        let values = if random.next(4) == 0 { 256 } else { 4 };
        bytes[at] = random.next(values) as u8;
    }
    bytes
}

/// Decodes a frame as one of the stream of these parameters, on both cheap back ends alike; whether there can be such a
/// stream.
fn decode_as(params: &[u8], frame: &ReceivedFrame) -> anyhow::Result<bool> {
    let Ok(params) = StreamParams::from_bytes(params) else { return Ok(false) };
    let [a, b] = [BackendChoice::Reference, BackendChoice::Cpu].map(|choice| {
        let mut picture = Picture::decoded_from(&params);
        let mut decoder = Decoder::open(&params, choice).map_err(|error| error.to_string())?;
        decoder.decode(frame, None, &mut picture).map(|_| picture).map_err(|error| error.to_string())
    });
    ensure!(a == b, "{params:?}: {:?}, {:?}, {frame:?}", a.err(), b.err());
    Ok(true)
}
