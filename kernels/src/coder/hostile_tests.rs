//! Frames that no encoder makes: any vectors, strengths, squares and blocks, changed, cut and lost at any place, decode to the same
//! pictures and the same counts on every back end.
//!
//! `FRAMES` in the environment: how many; one in [`OPENCL_EVERY`] goes to the OpenCL device, too.

use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize};
use picture::params::{CodecParams, Profile, StreamParams};

use super::decoder::{State, StateDecoder, open_state_decoder, without_prediction};
use super::slice::{self, tests::any_field};
use super::tests::quiet_picture;
use crate::cpu::CpuEncoder;
use crate::motion::dering::tests::any_dering;
use crate::motion::predictor::ResidualEncoder;
use crate::{BACK_ENDS, BackendChoice, Picture, Target};

const FRAMES: u64 = 3_000;
const OPENCL_EVERY: u64 = 64;
/// Blocks of what is left are coded anew for one frame in so many, and the first state comes back.
const ANEW_EVERY: u64 = 32;

const HEADER: FrameHeader = FrameHeader { step: StepIndex::MAX, fine_blocks: 0 };

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as usize % below.max(1)
    }
}

/// A stream, with a decoder of each back end.
struct Stream {
    params: StreamParams,
    encoder: CpuEncoder,
    blocks: CodedFrame,
    state: Picture,
    decoders: Vec<(StateDecoder, Picture)>,
    frames: u64,
}

impl Stream {
    fn open((width, height): (u32, u32), chroma: Chroma, choices: &[BackendChoice]) -> Self {
        let codec = CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() };
        let params = StreamParams { codec, ..StreamParams::new(FrameSize::new(width, height).unwrap(), chroma) };
        let open =
            |&choice| (open_state_decoder(&params, choice, None).unwrap(), Picture::for_stream(chroma, params.size));
        Self {
            params,
            encoder: CpuEncoder::new(&without_prediction(&params), String::new()),
            blocks: CodedFrame { reference: 0, header: HEADER, ends: Vec::new(), data: Vec::new() },
            state: quiet_picture(chroma, params.size),
            decoders: choices.iter().map(open).collect(),
            frames: 0,
        }
    }

    /// Returns a frame with anything that slices can say.
    fn any_frame(&mut self, random: &mut Random) -> CodedFrame {
        let (size, channels) = (self.params.size, self.params.chroma.channels().len());
        if self.frames.is_multiple_of(ANEW_EVERY) {
            let (mut source, roughness) = (self.state.clone(), 1 + random.next(60));
            source.data_mut().iter_mut().for_each(|sample| *sample = sample.wrapping_add(random.next(roughness) as u8));
            let step = Target::Step(StepIndex::new(random.next(100) as u8).unwrap());
            self.blocks = self.encoder.encode_residual(source.as_ref(), &self.state, step).unwrap();
            self.state = quiet_picture(self.params.chroma, size);
        }
        self.frames += 1;
        let field = any_field(size, random.next(4) as u32, random.next(1 << 31) as u64, channels);
        let dering = any_dering(size, random.next(1 << 31) as u64);
        let slices = 0..field.layout().slices();
        let slices: Vec<_> = slices.map(|slice| slice::encode(&field, &dering, slice, channels).0).collect();
        CodedFrame::predicted(1, &slices, &self.blocks)
    }

    /// Decodes a frame with every decoder; returns how many blocks, slices and groups were damaged.
    fn decode(&mut self, frame: &ReceivedFrame, case: &str) -> u64 {
        let state = State::new(self.state.clone());
        let mut outcomes = self.decoders.iter_mut().map(|(decoder, out)| {
            decoder.decode(frame, Some(&state), out).unwrap();
            (decoder.damaged_blocks(), &*out)
        });
        let (damaged, picture) = outcomes.next().unwrap();
        for (count, other) in outcomes {
            assert!(count == damaged && other == picture, "{case} of {}: {frame:?}", self.params.size);
        }
        self.state = picture.clone();
        damaged
    }
}

/// Returns a frame with slices and blocks changed, cut, exchanged for noise, or lost: none, one, or many of them.
fn changed(coded: &CodedFrame, random: &mut Random) -> ReceivedFrame {
    let (count, most) = (coded.block_count(), random.next(3));
    let only = random.next(count);
    let step = if random.next(4) == 0 { StepIndex::new(random.next(209) as u8).unwrap() } else { coded.header.step };
    let mut received = ReceivedFrame::empty(FrameHeader { step, ..coded.header }, count);
    for index in 0..count {
        let mut bytes = coded.block(index).to_vec();
        let is_meant = most == 2 || most == 1 && index == only;
        match if is_meant { random.next(8) } else { 7 } {
            0 => continue,
            1 => bytes = (0..random.next(200)).map(|_| random.next(256) as u8).collect(),
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
    received
}

#[test]
fn whatever_slices_say_is_the_same_picture_on_every_back_end() {
    #[allow(clippy::disallowed_methods, reason = "reads its settings")]
    let frames = std::env::var("FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(FRAMES);
    let cheap = [BackendChoice::Reference, BackendChoice::Cpu];
    let kinds = [
        ((1, 1), Chroma::C420),
        ((33, 17), Chroma::C444),
        ((17, 40), Chroma::Grey),
        ((47, 33), Chroma::C420),
        ((100, 70), Chroma::C420),
    ];
    let mut streams =
        [&cheap[..], &BACK_ENDS].map(|choices| kinds.map(|(size, chroma)| Stream::open(size, chroma, choices)));
    let (mut random, mut on_opencl) = (Random(1), 0);
    for number in 0..frames {
        let is_opencl = number.is_multiple_of(OPENCL_EVERY);
        on_opencl += u64::from(is_opencl);
        let stream = &mut streams[usize::from(is_opencl)][random.next(kinds.len())];
        let coded = stream.any_frame(&mut random);
        let frame = changed(&coded, &mut random);
        stream.decode(&frame, &format!("frame {number}"));
    }
    let damaged: u64 = streams.as_flattened().iter().map(|stream| stream.decoders[0].0.damaged_blocks()).sum();
    println!("{frames} frames, {on_opencl} of them on OpenCL, too; {damaged} damaged slices, groups and blocks");
    assert!(damaged > 0);
}

#[test]
fn a_damaged_slice_is_one_that_is_missing_and_filters_nothing() {
    let (mut stream, mut random, mut filtered) = (Stream::open((100, 70), Chroma::C420, &BACK_ENDS), Random(1), 0);
    for number in 0..8 {
        let (coded, state) = (stream.any_frame(&mut random), stream.state.clone());
        let mut decode = |first: Option<&[u8]>| {
            let mut frame = ReceivedFrame::empty(coded.header, coded.block_count());
            for index in 1..coded.block_count() {
                frame.insert(index, coded.block(index));
            }
            if let Some(first) = first {
                frame.insert(0, first);
            }
            stream.state = state.clone();
            let before = stream.decoders[0].0.damaged_blocks();
            let damaged = stream.decode(&frame, &format!("frame {number}")) - before;
            (stream.state.clone(), damaged)
        };
        // Vectors and squares are read to their end before it shows that a byte is left.
        let whole = coded.block(0);
        let (missing, damaged) = (decode(None), decode(Some(&[&[0x5b], whole].concat())));
        assert_eq!((missing.1, damaged.1), (0, 1), "frame {number}");
        assert!(missing.0 == damaged.0, "frame {number}: what is damaged is as if it were not there");
        filtered += usize::from(decode(Some(whole)).0 != missing.0);
    }
    assert!(filtered > 0);
}
