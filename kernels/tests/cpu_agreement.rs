//! The processor back end equals the reference to the bit: coefficients, bytes and pictures.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use common::coded::{ReceivedFrame, StepIndex};
use common::frame::{Chroma, PixelFormat};
use common::params::{Boundary, CodecParams, Levels, Padding};
use kernels::{BackendChoice, Picture, Target, open_decoder, open_encoder, open_transform};
use pictures::{params, picture};

/// Two frames, the second without its middle blocks, through both back ends.
#[track_caller]
fn check(size: (u32, u32), format: PixelFormat, chroma: Chroma, codec: CodecParams, target: Target) {
    let params = params(size, chroma, codec);
    let choices = [BackendChoice::Reference, BackendChoice::Cpu];
    let [mut plain, mut fast] = choices.map(|choice| open_transform(&(&params).into(), choice, None).unwrap());
    let [mut plain_encoder, mut fast_encoder] = choices.map(|choice| open_encoder(&params, choice, None).unwrap());
    let [mut plain_decoder, mut fast_decoder] = choices.map(|choice| open_decoder(&params, choice, None).unwrap());
    let [mut plain_out, mut fast_out] = [(); 2].map(|()| Picture::for_stream(chroma, params.size));
    for seed in 0..2 {
        let picture = picture(format, params.size, seed);
        let squares = plain.forward(picture.as_ref()).unwrap();
        assert!(squares == fast.forward(picture.as_ref()).unwrap(), "coefficients differ");
        let planes = plain.inverse(&squares).unwrap();
        assert!(planes == fast.inverse(&squares).unwrap(), "planes differ");
        assert!(plain.forward_planes(&planes) == fast.forward_planes(&planes), "coefficients of planes differ");

        let coded = plain_encoder.encode(picture.as_ref(), target).unwrap();
        assert!(coded == fast_encoder.encode(picture.as_ref(), target).unwrap(), "bytes differ");

        let blocks = coded.block_count();
        let mut received = ReceivedFrame::empty(coded.header, blocks);
        for index in (0..blocks).filter(|index| seed == 0 || index % 3 != 1) {
            received.insert(index, coded.block(index));
        }
        plain_decoder.decode(&received, &mut plain_out).unwrap();
        fast_decoder.decode(&received, &mut fast_out).unwrap();
        assert!(plain_out == fast_out, "pictures differ");
    }
}

fn step(index: u8) -> Target {
    Target::Step(StepIndex::new(index).unwrap())
}

#[test]
fn ugly_sizes_agree_with_every_boundary_and_padding() {
    for size in [(1, 1), (2, 3), (17, 31), (1, 40), (70, 1), (130, 67)] {
        for boundary in [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero] {
            for padding in [Padding::Smooth, Padding::Zero] {
                for levels in [Levels::Full, Levels::AtMost(0), Levels::AtMost(2)] {
                    let codec = CodecParams { boundary, padding, levels, ..CodecParams::default() };
                    check(size, PixelFormat::I420, Chroma::C420, codec, step(40));
                }
            }
        }
    }
}

#[test]
fn every_pixel_format_agrees() {
    use PixelFormat::{Grey8, I420, I444, Nv12, Rgb8, YCbCr8, Yuyv};
    for format in [Rgb8, YCbCr8, Yuyv, Nv12, I420, I444, Grey8] {
        for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
            check((67, 45), format, chroma, CodecParams::default(), step(50));
        }
    }
}

#[test]
fn every_step_agrees() {
    for index in 0..=StepIndex::MAX.index() {
        check((67, 45), PixelFormat::I420, Chroma::C420, CodecParams::default(), step(index));
    }
}

#[test]
fn camera_sizes_agree_under_a_budget() {
    check((640, 360), PixelFormat::Yuyv, Chroma::C420, CodecParams::default(), Target::Bytes(30_000));
    check((1919, 1079), PixelFormat::Rgb8, Chroma::C420, CodecParams::default(), Target::Bytes(250_000));
}
