//! The processor back end equals the reference to the bit: coefficients, bytes and pictures.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use kernels::parts::{CDF53, CDF97, DD137, Lifting, PlaneParams, Transform, Values, cpu, reference};
use kernels::{BackendChoice, Decoder, Element, Encoder, Picture, Target};
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{Boundary, CodecParams, Levels, Padding};

use pictures::{Random, arrived, params, picture, transforms};

const DEPTHS: [Levels; 3] = [Levels::Full, Levels::AtMost(0), Levels::AtMost(2)];

/// Every wavelet in every arithmetic that it has.
const FILTERS: [(Lifting, Element); 5] =
    [(CDF97, Element::F32), (CDF53, Element::I32), (DD137, Element::F32), (CDF97, Element::F64), (DD137, Element::F64)];

/// Returns the transform of both back ends.
fn both(params: &PlaneParams) -> [Box<dyn Transform>; 2] {
    [reference::open_transform, cpu::open_transform].map(|open| open(params, String::new()))
}

/// Checks two frames, the second without its middle blocks, through both back ends.
#[track_caller]
fn check(size: (u32, u32), format: PixelFormat, chroma: Chroma, codec: CodecParams, target: Target) {
    let params = params(size, chroma, codec);
    let choices = [BackendChoice::Reference, BackendChoice::Cpu];
    let [mut plain, mut fast] = both(&PlaneParams::from(&params));
    let [mut plain_encoder, mut fast_encoder] = choices.map(|choice| Encoder::open(&params, choice).unwrap());
    let [mut plain_decoder, mut fast_decoder] = choices.map(|choice| Decoder::open(&params, choice).unwrap());
    let [mut plain_out, mut fast_out] = [(); 2].map(|()| Picture::for_stream(chroma, params.size));
    for seed in 0..2 {
        let picture = picture(format, params.size, seed);
        let squares = plain.forward(picture.as_ref()).unwrap();
        assert!(squares == fast.forward(picture.as_ref()).unwrap(), "coefficients differ");
        let planes = plain.inverse(&squares).unwrap();
        assert!(planes == fast.inverse(&squares).unwrap(), "planes differ");
        assert!(plain.forward_planes(&planes) == fast.forward_planes(&planes), "coefficients of planes differ");

        let coded = plain_encoder.encode(picture.as_ref(), target, None).unwrap();
        assert!(coded == fast_encoder.encode(picture.as_ref(), target, None).unwrap(), "bytes differ");

        let received = arrived(&coded, |index| seed == 0 || index % 3 != 1);
        plain_decoder.decode(&received, None, &mut plain_out).unwrap();
        fast_decoder.decode(&received, None, &mut fast_out).unwrap();
        assert!(plain_out == fast_out, "pictures differ");
    }
}

fn step(index: u8) -> Target {
    Target::Step(StepIndex::new(index).unwrap())
}

#[test]
fn ugly_sizes_agree_with_every_boundary_and_padding() {
    for size in [(1, 1), (2, 3), (17, 31), (1, 40), (70, 1), (130, 67)] {
        for codec in transforms(CodecParams::default(), &DEPTHS) {
            check(size, PixelFormat::I420, Chroma::C420, codec, step(40));
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

/// Returns numbers of all magnitudes that samples have, the same for the same seed.
fn noise(count: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut random = Random(seed);
    (0..count).map(move |_| f64::from(random.next()) / f64::from(1_u32 << 23) - 128.0)
}

fn values(element: Element, counts: &[usize]) -> Values {
    let channels = (0..).zip(counts).map(|(seed, &count)| noise(count, seed));
    match element {
        Element::F32 => Values::F32(channels.map(|channel| channel.map(|value| value as f32).collect()).collect()),
        Element::F64 => Values::F64(channels.map(Iterator::collect).collect()),
        // The extremes wrap around.
        Element::I32 => Values::I32(
            channels.map(|channel| channel.map(|value| (value * f64::from(1 << 25)) as i32).collect()).collect(),
        ),
    }
}

/// Checks all wavelets in all their elements, forward and inverse, one after another on the same back ends.
#[track_caller]
fn check_transforms(size: (u32, u32), boundary: Boundary, padding: Padding, levels: Levels) {
    for (wavelet, element) in FILTERS {
        check_transform((wavelet, element), size, boundary, padding, levels);
    }
}

/// Checks one of them.
#[track_caller]
fn check_transform(
    (wavelet, element): (Lifting, Element),
    (width, height): (u32, u32),
    boundary: Boundary,
    padding: Padding,
    levels: Levels,
) {
    let params = PlaneParams {
        size: FrameSize::new(width, height).unwrap(),
        chroma: Chroma::C420,
        lifting: wavelet,
        levels,
        boundary,
        padding,
        element,
    };
    let [mut plain, mut fast] = both(&params);
    let pyramids = params.pyramids();
    let planes = values(element, &pyramids.iter().map(|pyramid| pyramid.plane().pixels()).collect::<Vec<_>>());
    let squares = plain.forward_planes(&planes).unwrap();
    let what = format!("{wavelet} {element} {width}x{height} {boundary:?} {padding:?} {levels:?}");
    let mut again = squares.clone();
    assert!(squares == fast.forward_planes(&planes).unwrap(), "{what}: coefficients differ");
    // Coefficients that no picture has, also where those of a picture are zero.
    let any = values(element, &pyramids.iter().map(|pyramid| pyramid.side() * pyramid.side()).collect::<Vec<_>>());
    let merged = plain.inverse(&any).unwrap();
    assert!(merged == fast.inverse(&any).unwrap(), "{what}: samples differ");
    // Into memory that holds something else.
    fast.forward_planes_into(&merged, &mut again).unwrap();
    assert!(again == plain.forward_planes(&merged).unwrap(), "{what}: coefficients differ in used memory");
}

#[test]
fn every_wavelet_and_element_agrees() {
    for size in [(1, 1), (1, 7), (7, 1), (2, 2), (17, 31), (33, 34), (34, 35), (35, 33), (64, 67), (131, 97)] {
        for CodecParams { boundary, padding, levels, .. } in transforms(CodecParams::default(), &DEPTHS) {
            check_transforms(size, boundary, padding, levels);
        }
    }
}

#[test]
fn rows_of_several_chunks_agree() {
    // One column, and one vector and one column, more than whole chunks of any element; every residue of a vector.
    for width in [510, 511, 512, 513, 514, 515, 545, 1025, 1030] {
        check_transforms((width, 40), Boundary::Symmetric, Padding::Smooth, Levels::Full);
    }
}

#[test]
fn large_planes_agree() {
    for (boundary, padding) in [
        (Boundary::Symmetric, Padding::Smooth),
        (Boundary::Symmetric, Padding::Zero),
        (Boundary::Periodic, Padding::Smooth),
        (Boundary::Zero, Padding::Smooth),
    ] {
        check_transforms((640, 360), boundary, padding, Levels::Full);
    }
    for boundary in [Boundary::Symmetric, Boundary::Periodic] {
        check_transform((CDF97, Element::F32), (1919, 1079), boundary, Padding::Smooth, Levels::Full);
    }
}

/// Tasks that wait for others lie on one another on a thread's stack: the more threads, the more of them.
#[test]
fn many_threads_need_little_stack() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(16).stack_size(256 << 10).build().unwrap();
    pool.install(|| {
        for seed in [40, 60] {
            check((1920, 1080), PixelFormat::I420, Chroma::C420, CodecParams::default(), step(seed));
        }
    });
}

#[test]
fn any_number_of_threads_agrees() {
    for threads in [1, 2, 3, 7, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for boundary in [Boundary::Symmetric, Boundary::Periodic] {
            pool.install(|| check_transforms((300, 259), boundary, Padding::Smooth, Levels::Full));
        }
    }
}
