//! Feeds coded frames that were changed at random, and random bytes, to the reference and the processor decoder, and
//! stops at the first frame on which they differ or one of them fails. Runs with the toolchain of the project.
//!
//! ```text
//! fuzz [SECONDS [SEED]]
//! ```

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use common::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use common::frame::{Chroma, ColourSpace, FrameSize, PixelFormat};
use common::params::{CodecParams, StreamParams};
use common::units::FrameRate;
use kernels::{BackendChoice, Decoder, Encoder, Picture, Target, open_decoder, open_encoder};

/// Sizes with whole, cut and odd blocks.
const SIZES: [(u32, u32); 4] = [(1, 1), (33, 65), (97, 70), (200, 120)];

/// Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) as usize) % below.max(1)
    }
}

/// Everything for one size of picture.
struct Stream {
    params: StreamParams,
    encoder: Box<dyn Encoder>,
    decoders: [Box<dyn Decoder>; 2],
    pictures: [Picture; 2],
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let seconds = arguments.next().transpose()?.unwrap_or(600);
    let seed = arguments.next().transpose()?.unwrap_or(1);
    let mut random = Random(seed);
    let mut streams = SIZES.iter().map(|&size| open(size)).collect::<anyhow::Result<Vec<_>>>()?;
    let (start, mut frames, mut damaged) = (Instant::now(), 0_u64, 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        let at = random.next(streams.len());
        let stream = &mut streams[at];
        let frame = mutate(stream, &mut random)?;
        for (decoder, picture) in stream.decoders.iter_mut().zip(&mut stream.pictures) {
            decoder.decode(&frame, picture)?;
        }
        let [a, b] = &stream.pictures;
        let counts = [0, 1].map(|decoder: usize| stream.decoders[decoder].damaged_blocks());
        ensure!(a == b && counts[0] == counts[1], "seed {seed}, frame {frames}: {frame:?}");
        (frames, damaged) = (frames + 1, damaged.max(counts[0]));
    }
    println!("seed {seed}: {frames} frames, up to {damaged} damaged blocks in one stream, no difference");
    Ok(())
}

fn open((width, height): (u32, u32)) -> anyhow::Result<Stream> {
    let params = StreamParams {
        size: FrameSize::new(width, height)?,
        frame_rate: FrameRate::new(30, 1).context("frame rate")?,
        chroma: Chroma::C420,
        colour: ColourSpace::BT709_LIMITED,
        codec: CodecParams::default(),
    };
    let decoder = |choice| open_decoder(&params, choice, None);
    let picture = || Picture::for_stream(params.chroma, params.size);
    Ok(Stream {
        encoder: open_encoder(&params, BackendChoice::Cpu, None)?,
        decoders: [decoder(BackendChoice::Reference)?, decoder(BackendChoice::Cpu)?],
        pictures: [picture(), picture()],
        params,
    })
}

/// A coded picture with some bytes changed, some blocks cut, exchanged for noise or lost, and any header.
fn mutate(stream: &mut Stream, random: &mut Random) -> anyhow::Result<ReceivedFrame> {
    let mut picture = Picture::new(PixelFormat::I420, stream.params.size);
    let (roughness, slope) = (1 + random.next(255), random.next(5));
    for (at, sample) in picture.data_mut().iter_mut().enumerate() {
        *sample = (random.next(roughness) + slope * at) as u8;
    }
    let step = StepIndex::new(random.next(100) as u8).unwrap_or(StepIndex::MIN);
    let coded: CodedFrame = stream.encoder.encode(picture.as_ref(), Target::Step(step))?;
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
