//! Forward and inverse transform return the picture, and coefficients lie where the pyramid says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../../tests/pictures/mod.rs"]
mod pictures;

use kernels::BackendChoice;
use lab::{Values, open_transform};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, Levels};
use picture::pyramid::{BlockLayout, Pyramid};

use pictures::{params, picture, transforms};

const BACK_ENDS: [BackendChoice; 2] = [BackendChoice::Reference, BackendChoice::Cpu];

/// Returns every combination of boundary, padding and depth.
fn codecs() -> impl Iterator<Item = CodecParams> {
    transforms(CodecParams::default(), &[Levels::Full, Levels::AtMost(1)])
}

#[test]
fn the_inverse_returns_the_picture() {
    for size in [(1, 1), (2, 3), (17, 31), (100, 7), (129, 255)] {
        for codec in codecs() {
            for choice in BACK_ENDS {
                let params = params(size, Chroma::C444, codec);
                let picture = picture(PixelFormat::I444, params.size, 5);
                let mut transform = open_transform(&(&params).into(), choice, None).unwrap();
                let squares = transform.forward(picture.as_ref()).unwrap();
                let Ok(Values::F32(planes)) = transform.inverse(&squares) else { panic!("no f32 planes") };
                for (sample, value) in picture.data().iter().zip(planes.iter().flatten()) {
                    let error = (f32::from(*sample) - 128.0 - value).abs();
                    assert!(error < 1e-3, "{size:?} {codec:?} {choice:?}: off by {error}");
                }
            }
        }
    }
}

#[test]
fn every_coefficient_that_is_not_zero_lies_in_one_block() {
    for size in [(1, 1), (40, 3), (33, 65), (150, 97)] {
        for codec in codecs() {
            let params = params(size, Chroma::C420, codec);
            let picture = picture(PixelFormat::I420, params.size, 2);
            let mut transform = open_transform(&(&params).into(), BackendChoice::Reference, None).unwrap();
            let Ok(Values::F32(squares)) = transform.forward(picture.as_ref()) else { panic!("no f32 squares") };
            let layout = BlockLayout::new(&params);
            for (channel, (mut square, pyramid)) in squares.into_iter().zip(layout.pyramids()).enumerate() {
                for block in layout.blocks().iter().filter(|block| block.channel.index() == channel) {
                    let rect = block.rect;
                    for y in rect.y..rect.y + rect.height {
                        square[y * pyramid.side() + rect.x..][..rect.width].fill(0.0);
                    }
                }
                assert!(square.iter().all(|&c| c == 0.0), "{size:?} {codec:?}");
            }
        }
    }
}

#[test]
fn smooth_padding_needs_no_coefficients_beyond_the_picture() {
    let codec = CodecParams::default();
    let pyramid = Pyramid::new(params((1280, 720), Chroma::Grey, codec).size, &codec);
    let visible = BlockLayout::new(&params((1280, 720), Chroma::Grey, codec));
    let coefficients: usize = visible.blocks().iter().map(|block| block.rect.width * block.rect.height).sum();
    // The root block counts in full.
    assert!(coefficients < 1280 * 720 + 1024 && pyramid.side() == 2048);
}
