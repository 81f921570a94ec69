//! Coding to a quality: the target is reached, and by no more than is allowed.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../tests/pictures/mod.rs"]
mod pictures;

use kernels::{BackendChoice, Decoder, Picture};
use lab::quality::{QualityEncoder, QualityError, TOLERANCE_DB};
use picture::coded::ReceivedFrame;
use picture::frame::{Chroma, PixelFormat};
use picture::params::CodecParams;
use picture::run::coded_size;

use pictures::{params, picture, psnr_luma};

const SIZE: (u32, u32) = (401, 299);

#[test]
fn the_target_is_reached_within_the_tolerance_whatever_came_before() {
    let params = params(SIZE, Chroma::C420, CodecParams::default());
    let source = picture(PixelFormat::I420, params.size, 1);
    let mut encoder = QualityEncoder::open(&params, BackendChoice::Cpu, None).unwrap();
    let mut decoder = Decoder::open(&params, BackendChoice::Reference).unwrap();
    let mut last_bytes = usize::MAX;
    for target in [48.0, 41.3, 36.0, 30.0] {
        let reached = encoder.encode(source.as_ref(), target).unwrap();
        let mut out = Picture::for_stream(params.chroma, params.size);
        decoder.decode(&ReceivedFrame::from(&reached.frame), None, &mut out).unwrap();
        let found = psnr_luma(&source, &out);
        assert!((found - reached.psnr_db).abs() < 1e-9, "{found} is said to be {}", reached.psnr_db);
        // Where the quality is low, few blocks are left, and one makes more difference.
        let tolerance = if target > 32.0 { TOLERANCE_DB } else { 0.75 };
        assert!((target..=target + tolerance).contains(&found), "{found} for {target}");
        assert!(coded_size(&reached.frame) < last_bytes);
        last_bytes = coded_size(&reached.frame);
    }
}

#[test]
fn rgb_is_held_to_its_luma() {
    let params = params((64, 48), Chroma::C420, CodecParams::default());
    let source = picture(PixelFormat::Rgb8, params.size, 2);
    let mut encoder = QualityEncoder::open(&params, BackendChoice::Cpu, None).unwrap();
    let reached = encoder.encode(source.as_ref(), 38.0).unwrap();
    assert!((38.0..39.0).contains(&reached.psnr_db), "{}", reached.psnr_db);
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let params = params((64, 48), Chroma::Grey, CodecParams::default());
    let source = picture(PixelFormat::Grey8, params.size, 1);
    let mut encoder = QualityEncoder::open(&params, BackendChoice::Cpu, None).unwrap();
    for asked in [0.0, -3.0, 100.0, f64::NAN, f64::INFINITY] {
        let error = encoder.encode(source.as_ref(), asked).unwrap_err();
        assert!(matches!(error, QualityError::Impossible { .. }), "{error}");
    }
    // A grey picture is reached by any step.
    let grey = Picture::new(PixelFormat::Grey8, params.size);
    assert!(encoder.encode(grey.as_ref(), 1.0).unwrap().psnr_db >= 1.0);
}
