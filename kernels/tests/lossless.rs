//! Lossless coding returns every sample, and every back end makes the same bytes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod pictures;

use kernels::{BACK_ENDS, BackendChoice, Decoder, EncodeError, Encoder, Picture, Target};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, Levels, StreamParams, Wavelet};

use pictures::{arrived, params, picture, transforms};

const KINDS: [(PixelFormat, Chroma); 4] = [
    (PixelFormat::Rgb8, Chroma::Rgb),
    (PixelFormat::I420, Chroma::C420),
    (PixelFormat::I444, Chroma::C444),
    (PixelFormat::Grey8, Chroma::Grey),
];

fn codec() -> CodecParams {
    CodecParams { wavelet: Wavelet::Cdf53, ..CodecParams::default() }
}

fn coded(params: &StreamParams, picture: &Picture, choice: BackendChoice) -> CodedFrame {
    Encoder::open(params, choice).unwrap().encode(picture.as_ref(), Target::Lossless, None).unwrap()
}

fn decoded(params: &StreamParams, frame: &CodedFrame, choice: BackendChoice) -> Picture {
    let mut out = Picture::for_stream(params.chroma, params.size);
    Decoder::open(params, choice).unwrap().decode(&ReceivedFrame::from(frame), None, &mut out).unwrap();
    out
}

/// Returns the largest differences that samples can have, one beside the other.
fn checkers(params: &StreamParams, format: PixelFormat) -> Picture {
    let mut picture = Picture::new(format, params.size);
    let mut bits = 1_u32;
    for sample in picture.data_mut() {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *sample = if bits >> 31 == 0 { 0 } else { 255 };
    }
    picture
}

#[test]
fn every_sample_comes_back_from_the_same_bytes() {
    for size in [(1, 1), (1, 7), (2, 3), (17, 31), (150, 97)] {
        for (format, chroma) in KINDS {
            let params = params(size, chroma, codec());
            for picture in [picture(format, params.size, 3), checkers(&params, format)] {
                let frames = BACK_ENDS.map(|choice| coded(&params, &picture, choice));
                for (frame, choice) in frames.iter().zip(BACK_ENDS) {
                    assert!(*frame == frames[0], "{choice:?} codes {format:?} {size:?} to other bytes");
                    let out = decoded(&params, frame, choice);
                    assert!(out.data() == picture.data(), "{choice:?} changes {format:?} {size:?}");
                }
            }
        }
    }
}

#[test]
fn any_boundary_padding_and_depth_is_exact() {
    for codec in transforms(codec(), &[Levels::Full, Levels::AtMost(2)]) {
        let params = params((45, 70), Chroma::Rgb, codec);
        let picture = picture(PixelFormat::Rgb8, params.size, 8);
        let frame = coded(&params, &picture, BackendChoice::Cpu);
        assert_eq!(decoded(&params, &frame, BackendChoice::Reference), picture, "{codec:?}");
    }
}

#[test]
fn a_smooth_picture_takes_fewer_bytes_than_noise() {
    let params = params((128, 128), Chroma::Rgb, codec());
    let mut ramp = Picture::new(PixelFormat::Rgb8, params.size);
    ramp.data_mut().chunks_exact_mut(3 * 128).enumerate().for_each(|(y, row)| row.fill(y as u8));
    let size = |picture: &Picture| coded(&params, picture, BackendChoice::Cpu).data.len();
    let (smooth, noise) = (size(&ramp), size(&checkers(&params, PixelFormat::Rgb8)));
    assert!(30 * smooth < noise && noise < 2 * 3 * 128 * 128, "{smooth} and {noise} bytes");
}

#[test]
fn lost_blocks_leave_a_picture() {
    let params = params((200, 120), Chroma::C420, codec());
    let picture = picture(PixelFormat::I420, params.size, 1);
    let frame = coded(&params, &picture, BackendChoice::Cpu);
    let pictures = BACK_ENDS.map(|choice| {
        let received = arrived(&frame, |index| index % 3 != 2);
        let mut out = Picture::for_stream(params.chroma, params.size);
        Decoder::open(&params, choice).unwrap().decode(&received, None, &mut out).unwrap();
        out
    });
    assert!(pictures.iter().all(|other| *other == pictures[0]));
    assert_ne!(pictures[0], picture);
}

#[test]
fn damaged_blocks_are_counted() {
    let params = params((64, 64), Chroma::Grey, codec());
    let picture = picture(PixelFormat::Grey8, params.size, 1);
    let mut frame = coded(&params, &picture, BackendChoice::Cpu);
    let last = frame.block_count() - 1;
    let range = frame.range(last);
    frame.data[range].fill(0xff);
    for choice in BACK_ENDS {
        let mut decoder = Decoder::open(&params, choice).unwrap();
        let mut out = Picture::for_stream(params.chroma, params.size);
        decoder.decode(&ReceivedFrame::from(&frame), None, &mut out).unwrap();
        assert_eq!(decoder.damaged_blocks(), 1, "{choice:?}");
    }
}

#[test]
fn lossless_and_lossy_are_not_mixed_up() {
    let lossless = params((16, 16), Chroma::Grey, codec());
    let lossy = params((16, 16), Chroma::Grey, CodecParams::default());
    let picture = picture(PixelFormat::Grey8, lossless.size, 1);
    let encode =
        |params, target| Encoder::open(params, BackendChoice::Cpu).unwrap().encode(picture.as_ref(), target, None);
    assert_eq!(encode(&lossy, Target::Lossless), Err(EncodeError::WrongTarget { stream: "lossy" }));
    for target in [Target::Bytes(1000), Target::Step(StepIndex::ONE)] {
        assert_eq!(encode(&lossless, target), Err(EncodeError::WrongTarget { stream: "lossless" }));
    }
}
