//! The block coder with the settings of graphics cards, where several work-items share a block and whole frames are
//! coded at several steps, against the reference. On any device: results do not depend on settings.

use std::sync::Arc;

use device::Device;
use device::settings::Tuning;
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, StreamParams, Wavelet};
use picture::pyramid::BlockLayout;
use picture::run::coded_size;

use super::decoder::OpenClDecoder;
use super::encoder::OpenClEncoder;
use crate::motion::predictor::AloneEncoder;
use crate::open::{open_decoder, open_encoder};
use crate::opencl::find;
use crate::opencl::lossless::decoder::OpenClLosslessDecoder;
use crate::opencl::lossless::encoder::OpenClLosslessEncoder;
use crate::reference::{ReferenceDecoder, ReferenceEncoder};
use crate::{BackendChoice, FrameDecoder, FrameEncoder, Picture, Target};

fn params(width: u32, height: u32) -> StreamParams {
    StreamParams::new(FrameSize::new(width, height).unwrap(), Chroma::C420)
}

/// Returns a number that looks random, the same on every run.
fn noise(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *seed >> 8
}

/// Slopes, edges, and noise that grows from left to right.
fn picture(params: &StreamParams, mut seed: u32) -> Picture {
    let width = params.size.width();
    let sample = |at: usize| {
        let (x, y) = (at % width, at / width);
        let edge = if (x / 37 + y / 23).is_multiple_of(2) { 70 } else { 0 };
        (20 + edge + (x + y) / 5 % 60 + noise(&mut seed) as usize % (1 + x * 100 / width)) as u8
    };
    let samples = (0..PixelFormat::I420.bytes(params.size)).map(sample).collect();
    Picture::from_data(PixelFormat::I420, params.size, samples).unwrap()
}

fn devices() -> Vec<Arc<Device>> {
    let device = find(None).unwrap();
    let shape = |block_group_size, blocks_per_group| Tuning { block_group_size, blocks_per_group, ..Tuning::CPU };
    [(32, 4), (32, 1), (32, 2), (64, 4), (1, 1)]
        .map(|(size, blocks)| Arc::new(device.with_tuning(shape(size, blocks))))
        .to_vec()
}

fn encode_all(encoder: &mut impl FrameEncoder, params: &StreamParams) -> Vec<CodedFrame> {
    let targets = [60_000, 60_000, 61_000, 30_000, 5_000, 100_000, 98_000, 400].map(Target::Bytes);
    let targets = targets.into_iter().chain([0, 20, 56, 120].map(|step| Target::Step(StepIndex::new(step).unwrap())));
    let frame =
        |(seed, target): (usize, Target)| encoder.encode(picture(params, seed as u32 / 2).as_ref(), target).unwrap();
    targets.enumerate().map(frame).collect()
}

/// Returns the frame with a third of its blocks changed, at another step.
fn harmed(frame: &CodedFrame, mut seed: u32) -> ReceivedFrame {
    let header = FrameHeader { fine_blocks: noise(&mut seed) % 40, ..frame.header };
    let mut received = ReceivedFrame::empty(header, frame.ends.len());
    for index in 0..frame.ends.len() {
        let mut bytes = frame.block(index).to_vec();
        match noise(&mut seed) % 12 {
            0 => continue,
            1 => bytes = (0..noise(&mut seed) % 300).map(|_| noise(&mut seed) as u8).collect(),
            2 => bytes.truncate(noise(&mut seed) as usize % (bytes.len() + 1)),
            3 if !bytes.is_empty() => {
                let at = noise(&mut seed) as usize % bytes.len();
                bytes[at] ^= 1 << (noise(&mut seed) % 8);
            }
            _ => {}
        }
        received.insert(index, &bytes);
    }
    received
}

/// Returns the pictures of these frames, one after another, and how many blocks were damaged.
fn decode_all(
    decoder: &mut dyn FrameDecoder,
    params: &StreamParams,
    received: &[ReceivedFrame],
) -> (Vec<Vec<u8>>, u64) {
    let mut out = Picture::for_stream(params.chroma, params.size);
    let picture = |frame| {
        decoder.decode(frame, &mut out).unwrap();
        out.data().to_vec()
    };
    let pictures = received.iter().map(picture).collect();
    (pictures, decoder.damaged_blocks())
}

#[test]
fn work_items_that_share_a_block_code_what_the_reference_codes() {
    for (width, height) in [(203, 117), (1, 7), (64, 33)] {
        let params = params(width, height);
        let expected = encode_all(&mut ReferenceEncoder::new(&params, String::new()), &params);
        for device in devices() {
            let mut encoder = OpenClEncoder::new(&device, &params, "").unwrap();
            let frames = encode_all(&mut encoder, &params);
            assert!(frames == expected, "{width} x {height} with {:?}", device.tuning);
        }
    }
}

#[test]
fn what_fits_is_known_to_the_byte_and_leaves_no_trace() {
    let params = params(64, 33);
    let expected = encode_all(&mut ReferenceEncoder::new(&params, String::new()), &params);
    let picture = picture(&params, 4);
    for device in devices() {
        let open = || OpenClEncoder::new(&device, &params, "").unwrap();
        let (mut encoder, mut other) = (open(), open());
        for index in [0, 40, 56, 90, 130] {
            let step = StepIndex::new(index).unwrap();
            let bytes = coded_size(&other.encode(picture.as_ref(), Target::Step(step)).unwrap());
            let fits = [bytes, bytes - 1].map(|bytes| encoder.fits(picture.as_ref(), step, bytes).unwrap());
            assert_eq!(fits, [true, false], "{bytes} bytes at step {index} with {:?}", device.tuning);
        }
        assert!(encode_all(&mut encoder, &params) == expected, "{:?}", device.tuning);
    }
}

#[test]
fn work_items_that_share_a_block_decode_what_the_reference_decodes() {
    let params = params(203, 117);
    let frames = encode_all(&mut ReferenceEncoder::new(&params, String::new()), &params);
    let received: Vec<_> = frames.iter().zip(0..).map(|(frame, seed)| harmed(frame, seed)).collect();
    let decode_all = |decoder: &mut dyn FrameDecoder| decode_all(decoder, &params, &received);
    let expected = decode_all(&mut ReferenceDecoder::new(&params, BlockLayout::new(&params), String::new()));
    assert!(expected.1 > 20, "{} damaged blocks", expected.1);
    for device in devices() {
        let result = decode_all(&mut OpenClDecoder::new(&device, &params, BlockLayout::new(&params), "").unwrap());
        assert!(result == expected, "{:?}", device.tuning);
    }
}

#[test]
fn work_items_that_share_a_lossless_block_do_as_the_reference_does() {
    let codec = CodecParams { wavelet: Wavelet::Cdf53, ..CodecParams::default() };
    for (width, height) in [(203, 117), (1, 7), (64, 33)] {
        let params = StreamParams { codec, ..params(width, height) };
        let layout = || BlockLayout::new(&params);
        let picture = picture(&params, 9);
        let mut reference = open_encoder(&params, BackendChoice::Reference, None).unwrap();
        let frame = reference.encode(picture.as_ref(), Target::Lossless).unwrap();
        let received: Vec<_> = (0..8).map(|seed| harmed(&frame, seed)).chain([(&frame).into()]).collect();
        let decode_all = |decoder: &mut dyn FrameDecoder| decode_all(decoder, &params, &received);
        let expected = decode_all(&mut *open_decoder(&params, 0, BackendChoice::Reference, None).unwrap());
        for device in devices() {
            let mut encoder = OpenClLosslessEncoder::new(&device, &params, "").unwrap();
            let coded = encoder.encode(picture.as_ref(), Target::Lossless).unwrap();
            assert!(coded == frame, "{width} x {height} with {:?}", device.tuning);
            let mut decoder = OpenClLosslessDecoder::new(&device, &params, layout(), "").unwrap();
            assert!(decode_all(&mut decoder) == expected, "{width} x {height} with {:?}", device.tuning);
        }
    }
}

#[test]
fn a_picture_that_stays_is_coded_alike_frame_after_frame() {
    let params = params(203, 117);
    let picture = picture(&params, 5);
    let mut reference = ReferenceEncoder::new(&params, String::new());
    let mut encoder = OpenClEncoder::new(&devices()[0], &params, "").unwrap();
    for frame in 0..70 {
        let target = Target::Bytes(6000);
        let expected = reference.encode(picture.as_ref(), target).unwrap();
        assert!(encoder.encode(picture.as_ref(), target).unwrap() == expected, "frame {frame}");
    }
    // Of the last frame that was measured, and of no other.
    let entries = encoder.timeline().intervals.len();
    assert!((15..200).contains(&entries), "{entries} entries");
}
