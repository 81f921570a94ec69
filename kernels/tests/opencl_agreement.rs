//! OpenCL against the reference, to the bit: whole frames, and pictures decoded from whole, incomplete
//! and hostile frames. A machine without an OpenCL device fails these tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod pictures;

use kernels::{BackendChoice, Decoder, Encoder, Picture, PictureRef, Target};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{Boundary, CodecParams, Padding, StreamParams, Wavelet};
use picture::pyramid::BlockLayout;

use pictures::{Random, params, picture};

const CHROMAS: [Chroma; 3] = [Chroma::Grey, Chroma::C420, Chroma::C444];

fn codec(boundary: Boundary, padding: Padding) -> CodecParams {
    CodecParams { boundary, padding, ..CodecParams::default() }
}

/// Encodes with OpenCL and with the reference, compares, and returns the frame.
#[track_caller]
fn check_encode(params: &StreamParams, picture: PictureRef<'_>, targets: &[Target]) -> Vec<CodedFrame> {
    let encoders = [BackendChoice::Opencl, BackendChoice::Reference];
    let [mut opencl, mut reference]: [Encoder; 2] = encoders.map(|choice| Encoder::open(params, choice).unwrap());
    let check = |&target| {
        let (ours, theirs) = (opencl.encode(picture, target, None), reference.encode(picture, target, None));
        let ours = ours.unwrap();
        let theirs = theirs.unwrap();
        assert_eq!(ours.header, theirs.header, "{target:?} {params:?}");
        for index in 0..theirs.block_count() {
            assert_eq!(ours.block(index), theirs.block(index), "block {index}, {target:?} {params:?}");
        }
        assert_eq!(ours, theirs);
        ours
    };
    targets.iter().map(check).collect()
}

fn decoders(params: &StreamParams) -> [Decoder; 2] {
    [BackendChoice::Opencl, BackendChoice::Reference].map(|choice| Decoder::open(params, choice).unwrap())
}

#[track_caller]
fn check_decode(decoders: &mut [Decoder; 2], params: &StreamParams, frame: &ReceivedFrame) {
    let [ours, theirs] = decoders.each_mut().map(|decoder| {
        let mut out = Picture::for_stream(params.chroma, params.size);
        decoder.decode(frame, None, &mut out).unwrap();
        out
    });
    assert!(ours == theirs, "decoded pictures differ, {params:?}");
    assert_eq!(decoders[0].damaged_blocks(), decoders[1].damaged_blocks(), "{params:?}");
}

#[test]
fn frames_have_the_same_bytes_and_decode_to_the_same_pictures() {
    let step = |index| Target::Step(StepIndex::new(index).unwrap());
    for (width, height) in [(1, 1), (2, 3), (17, 31), (100, 75), (641, 359)] {
        for chroma in CHROMAS {
            for padding in [Padding::Smooth, Padding::Zero] {
                let params = params((width, height), chroma, codec(Boundary::Symmetric, padding));
                let picture = picture(PixelFormat::I420, params.size, 3);
                let picture = picture.as_ref();
                let pixels = (width * height) as usize;
                let bytes = Target::Bytes(40 + pixels / 5);
                let frames = check_encode(&params, picture, &[step(0), step(70), step(208), bytes, bytes]);
                let mut decoders = decoders(&params);
                for frame in &frames {
                    check_decode(&mut decoders, &params, &frame.into());
                }
            }
        }
    }
}

#[test]
fn whole_frames_agree_at_1919x1079() {
    let params = params((1919, 1079), Chroma::C420, CodecParams::default());
    let picture = picture(PixelFormat::Yuyv, params.size, 5);
    let picture = picture.as_ref();
    let frames = check_encode(&params, picture, &[Target::Bytes(390_000)]);
    check_decode(&mut decoders(&params), &params, &(&frames[0]).into());
}

#[test]
fn missing_and_hostile_blocks_give_what_the_reference_gives() {
    let lossless = |boundary| CodecParams { wavelet: Wavelet::Cdf53, ..codec(boundary, Padding::Smooth) };
    let step = Target::Step(StepIndex::new(40).unwrap());
    for (codec, target) in [
        (codec(Boundary::Symmetric, Padding::Smooth), step),
        (codec(Boundary::Periodic, Padding::Smooth), step),
        (codec(Boundary::Zero, Padding::Zero), step),
        (lossless(Boundary::Symmetric), Target::Lossless),
        (lossless(Boundary::Zero), Target::Lossless),
    ] {
        let params = params((209, 115), Chroma::C420, codec);
        let layout = BlockLayout::new(&params);
        let picture = picture(PixelFormat::I420, params.size, 3);
        let picture = picture.as_ref();
        let frames = check_encode(&params, picture, &[target]);
        let mut decoders = decoders(&params);
        check_decode(&mut decoders, &params, &(&frames[0]).into());
        let mut random = Random(11);
        for _ in 0..60 {
            let step = StepIndex::new((random.next() % 209) as u8).unwrap();
            let header = FrameHeader { step, fine_blocks: random.next() >> (random.next() % 31) };
            let mut frame = ReceivedFrame::empty(header, layout.blocks().len());
            for index in 0..layout.blocks().len() {
                let mut bytes = frames[0].block(index).to_vec();
                match random.next() % 6 {
                    // Missing.
                    0 => continue,
                    // Noise of any length.
                    1 => bytes = (0..random.next() % 300).map(|_| random.next() as u8).collect(),
                    // Cut short.
                    2 => bytes.truncate(random.next() as usize % (bytes.len() + 1)),
                    // A byte too many.
                    3 => bytes.insert(0, random.next() as u8),
                    // A bit wrong.
                    4 if !bytes.is_empty() => {
                        let at = random.next() as usize % bytes.len();
                        bytes[at] ^= 1 << (random.next() % 8);
                    }
                    _ => {}
                }
                frame.insert(index, &bytes);
            }
            check_decode(&mut decoders, &params, &frame);
        }
        assert!(decoders[0].damaged_blocks() > 100, "the hostile blocks were hostile");
    }
}

#[test]
fn a_block_longer_than_any_code_is_damaged() {
    let params = params((40, 40), Chroma::Grey, CodecParams::default());
    let layout = BlockLayout::new(&params);
    let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
    let mut frame = ReceivedFrame::empty(header, layout.blocks().len());
    frame.insert(0, &vec![0xa5; 100_000]);
    check_decode(&mut decoders(&params), &params, &frame);
}

#[test]
fn an_unknown_device_is_named_with_those_there_are() {
    let params = params((8, 8), Chroma::Grey, CodecParams::default());
    let error = Encoder::open(&params, (BackendChoice::Opencl, Some("no such device"))).err().unwrap().to_string();
    let there = kernels::devices().into_iter().find(|device| device.backend == kernels::Backend::Opencl).unwrap().name;
    assert!(error.contains("`no such device`") && error.contains(&there), "{error}");
    let part = there[..there.len() / 2].to_uppercase();
    assert_eq!(Encoder::open(&params, (BackendChoice::Opencl, Some(part.as_str()))).unwrap().backend().device, there);
}
