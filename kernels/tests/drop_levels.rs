//! Decoding without the finest levels: the low band of the decoded picture, on every back end.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use kernels::parts::reference::{Quantiser, Sample, dwt, quad};
use kernels::{BACK_ENDS, BackendChoice, Decoder, Encoder, OpenError, Picture, Target};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, Levels, Padding, StreamParams, Wavelet};
use picture::pyramid::{BlockLayout, Orientation, Pyramid};

use pictures::{params, picture, transforms};

fn encode(params: &StreamParams) -> CodedFrame {
    let format = params.chroma.picture_format();
    let lossless = params.codec.wavelet == Wavelet::Cdf53;
    let target = if lossless { Target::Lossless } else { Target::Step(StepIndex::new(44).unwrap()) };
    let mut encoder = Encoder::open(params, BackendChoice::Cpu).unwrap();
    encoder.encode(picture(format, params.size, 1).as_ref(), target, None).unwrap()
}

fn decode(params: &StreamParams, dropped: usize, choice: BackendChoice, frame: &ReceivedFrame) -> Picture {
    let mut decoder = Decoder::open_smaller(params, dropped, choice).unwrap();
    let mut out = Picture::for_stream(params.chroma, params.size.halved_times(dropped));
    decoder.decode(frame, None, &mut out).unwrap();
    assert_eq!(decoder.damaged_blocks(), 0);
    out
}

/// Returns the plane that is transformed: with zero padding the square, whatever of it is seen.
fn transformed(plane: FrameSize, codec: &CodecParams) -> FrameSize {
    let side = Pyramid::new(plane, codec).side() as u32;
    if codec.padding == Padding::Zero { FrameSize::new(side, side).unwrap() } else { plane }
}

/// Returns the whole of such planes before samples are rounded.
fn samples(params: &StreamParams, layout: &BlockLayout, frame: &CodedFrame) -> Vec<Vec<f32>> {
    let mut squares: Vec<_> = layout.pyramids().iter().map(|p| vec![0.0; p.side() * p.side()]).collect();
    for (index, block) in layout.blocks().iter().enumerate() {
        let (rect, channel) = (block.rect, block.channel.index());
        let mut values = vec![0; rect.width * rect.height];
        quad::decode(frame.block(index), quad::Shape::from(block), &mut values).unwrap();
        let quantiser = Quantiser::new(frame.header.step_of(index).coarser_by(block.coarser));
        for (at, &value) in values.iter().enumerate() {
            let (x, y) = (rect.x + at % rect.width, rect.y + at / rect.width);
            squares[channel][y * layout.pyramids()[channel].side() + x] = quantiser.dequantise(value);
        }
    }
    let steps = f32::steps(&kernels::parts::CDF97);
    let inverse = |(square, pyramid): (&Vec<f32>, &Pyramid)| {
        let whole = Pyramid::new(transformed(pyramid.plane(), &params.codec), &params.codec);
        dwt::inverse(square, &whole, &steps, params.codec.boundary)
    };
    squares.iter().zip(layout.pyramids()).map(inverse).collect()
}

/// Returns the low bands of such planes after `levels` levels, in the range of the samples.
fn low_bands(params: &StreamParams, planes: &[Vec<f32>], levels: usize) -> Vec<f32> {
    let steps = f32::steps(&kernels::parts::CDF97);
    let codec = CodecParams { levels: Levels::AtMost(levels as u8), ..params.codec };
    let mut out = Vec::new();
    for (&channel, plane) in params.chroma.channels().iter().zip(planes) {
        let size = params.chroma.plane_size(params.size, channel);
        let pyramid = Pyramid::new(transformed(size, &codec), &codec);
        let square = dwt::forward(plane, &pyramid, &steps, codec.boundary);
        let low = size.halved_times(levels);
        let rows = square.chunks_exact(pyramid.side()).take(low.height());
        out.extend(rows.flat_map(|row| &row[..low.width()]).map(|value| value / 2_f32.powi(levels as i32)));
    }
    out
}

#[track_caller]
fn check(size: (u32, u32), chroma: Chroma, codec: CodecParams) {
    let params = params(size, chroma, codec);
    let layout = BlockLayout::new(&params);
    let frame = encode(&params);
    let planes = samples(&params, &layout, &frame);
    let deepest = layout.pyramids().iter().map(Pyramid::levels).min().unwrap();
    for dropped in 0..=deepest {
        let expected = low_bands(&params, &planes, dropped);
        // Blocks of finer levels are missing or hold what no encoder makes.
        let mut coarse = ReceivedFrame::empty(frame.header, frame.block_count());
        for (index, block) in layout.blocks().iter().enumerate() {
            if block.orientation == Orientation::LL || block.level > dropped {
                coarse.insert(index, frame.block(index));
            } else if index % 2 == 0 {
                coarse.insert(index, &[0xa5; 9]);
            }
        }
        for choice in BACK_ENDS {
            let picture = decode(&params, dropped, choice, &ReceivedFrame::from(&frame));
            assert_eq!(picture.data().len(), expected.len());
            for (&sample, &value) in picture.data().iter().zip(&expected) {
                let off = (f32::from(sample) - (value + 128.0).clamp(0.0, 255.0)).abs();
                assert!(off < 0.51, "{choice:?} {dropped} of {params:?}: {sample} for {value}");
            }
            let same = decode(&params, dropped, choice, &coarse) == picture;
            assert!(same, "{choice:?} {dropped} of {params:?}: finer blocks matter");
            let reference = decode(&params, dropped, BackendChoice::Reference, &coarse);
            assert!(picture == reference, "{choice:?} {dropped} of {params:?}: differs from the reference");
        }
    }
    for choice in BACK_ENDS {
        let error = Decoder::open_smaller(&params, deepest + 1, choice).err().unwrap();
        assert!(matches!(error, OpenError::TooManyLevels(_)), "{error}");
        assert!(error.to_string().contains(&format!("has {deepest}")), "{error}");
    }
}

#[test]
fn the_low_band_of_the_decoded_picture_comes_out_at_its_brightness() {
    for size in [(1, 1), (2, 3), (17, 31), (1, 40), (131, 67), (200, 150)] {
        for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
            check(size, chroma, CodecParams::default());
        }
    }
}

#[test]
fn any_boundary_padding_and_depth_does() {
    for codec in transforms(CodecParams::default(), &[Levels::Full, Levels::AtMost(1), Levels::AtMost(3)]) {
        check((75, 50), Chroma::C420, codec);
    }
}

#[test]
fn a_lossless_stream_has_smaller_pictures_too() {
    for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444, Chroma::Rgb] {
        for padding in [Padding::Smooth, Padding::Zero] {
            let codec = CodecParams { wavelet: Wavelet::Cdf53, padding, ..CodecParams::default() };
            let params = params((75, 50), chroma, codec);
            let frame = ReceivedFrame::from(&encode(&params));
            let whole = decode(&params, 0, BackendChoice::Reference, &frame);
            for dropped in 1..=5 {
                let [first, others @ ..] = BACK_ENDS.map(|choice| decode(&params, dropped, choice, &frame));
                assert!(others.iter().all(|other| *other == first), "{dropped} of {params:?}");
                let mean = |p: &Picture| p.data().iter().map(|&s| f64::from(s)).sum::<f64>() / p.data().len() as f64;
                assert!((mean(&first) - mean(&whole)).abs() < 6.0, "{dropped} of {params:?}: brightness");
            }
            assert!(PixelFormat::Rgb8 != whole.format() || chroma == Chroma::Rgb);
        }
    }
}
