//! The transform of streams on OpenCL against the reference, to the bit. A machine without an OpenCL device fails these
//! tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../../tests/pictures/mod.rs"]
mod pictures;

use kernels::BackendChoice;
use lab::{Transform, Values, open_transform};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{Boundary, CodecParams, Levels, Padding, StreamParams};

use pictures::{params, picture};

const CHROMAS: [Chroma; 3] = [Chroma::Grey, Chroma::C420, Chroma::C444];

fn codec(boundary: Boundary, padding: Padding) -> CodecParams {
    CodecParams { boundary, padding, ..CodecParams::default() }
}

fn transforms(params: &StreamParams) -> [Box<dyn Transform>; 2] {
    [BackendChoice::Opencl, BackendChoice::Reference]
        .map(|choice| open_transform(&params.into(), choice, None).unwrap())
}

fn bits(values: &Values) -> Vec<Vec<u32>> {
    let Values::F32(channels) = values else { panic!("{} instead of f32", values.element()) };
    // Adding zero makes one zero of both.
    channels.iter().map(|plane| plane.iter().map(|value| (value + 0.0).to_bits()).collect()).collect()
}

#[track_caller]
fn check_transform(params: &StreamParams, format: PixelFormat) {
    let picture = picture(format, params.size, 7);
    let picture = picture.as_ref();
    let [mut opencl, mut reference] = transforms(params);
    let squares = reference.forward(picture).unwrap();
    let ours = opencl.forward(picture).unwrap();
    for (channel, (ours, theirs)) in bits(&ours).iter().zip(bits(&squares)).enumerate() {
        let wrong = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "forward, channel {channel} of {format:?}, {params:?}");
        assert_eq!(ours.len(), theirs.len());
    }
    let samples = reference.inverse(&squares).unwrap();
    assert_eq!(bits(&opencl.forward_planes(&samples).unwrap()), bits(&reference.forward_planes(&samples).unwrap()));
    let planes = bits(&samples);
    for (channel, (ours, theirs)) in bits(&opencl.inverse(&squares).unwrap()).iter().zip(&planes).enumerate() {
        let wrong = ours.iter().zip(theirs).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "inverse, channel {channel}, {params:?}");
        assert_eq!(ours.len(), theirs.len());
    }
}

#[test]
fn transforms_agree_at_ugly_sizes_with_all_boundaries_and_paddings() {
    for (width, height) in [(1, 1), (1, 9), (2, 3), (3, 2), (17, 31), (64, 1), (131, 70)] {
        for codec in pictures::transforms(CodecParams::default(), &[Levels::Full]) {
            check_transform(&params((width, height), Chroma::C420, codec), PixelFormat::I444);
        }
    }
}

#[test]
fn transforms_agree_at_640x360() {
    for codec in pictures::transforms(CodecParams::default(), &[Levels::Full]) {
        check_transform(&params((640, 360), Chroma::Grey, codec), PixelFormat::Grey8);
    }
}

#[test]
fn transforms_agree_at_1919x1079() {
    for (boundary, padding) in [
        (Boundary::Symmetric, Padding::Smooth),
        (Boundary::Symmetric, Padding::Zero),
        (Boundary::Periodic, Padding::Smooth),
        (Boundary::Zero, Padding::Smooth),
    ] {
        check_transform(&params((1919, 1079), Chroma::Grey, codec(boundary, padding)), PixelFormat::Grey8);
    }
}

#[test]
fn transforms_agree_with_few_levels() {
    for levels in [0, 1, 3] {
        let codec = CodecParams { levels: Levels::AtMost(levels), ..CodecParams::default() };
        check_transform(&params((75, 40), Chroma::C420, codec), PixelFormat::Nv12);
    }
}

#[test]
fn every_pixel_format_goes_to_every_sampling() {
    for (width, height) in [(1, 1), (2, 3), (17, 31), (66, 40)] {
        for format in PixelFormat::ALL {
            for chroma in CHROMAS {
                check_transform(&params((width, height), chroma, CodecParams::default()), format);
            }
        }
    }
}
