//! Test pictures: smooth shapes, edges and noise, the same for the same seed; and what tests do with them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

use kernels::Picture;
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::frame::{BitDepth, Chroma, ColourSpace, FrameSize, PixelFormat};
use picture::params::{Boundary, CodecParams, Levels, Padding, StreamParams};
use picture::psnr::psnr_db;

/// Parameters of a stream of pictures of `size`.
pub fn params((width, height): (u32, u32), chroma: Chroma, codec: CodecParams) -> StreamParams {
    let stream = StreamParams::new(FrameSize::new(width, height).unwrap(), chroma);
    StreamParams { colour: ColourSpace::JPEG, codec, ..stream }
}

/// Returns a picture of waves, a disc with a sharp edge and a little noise.
pub fn picture(format: PixelFormat, size: FrameSize, seed: u32) -> Picture {
    let mut picture = Picture::new(format, size);
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let (width, height) = (size.width(), size.height());
    for (at, sample) in picture.data_mut().iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (x, y) = ((at % width) as f32, (at / width % height) as f32);
        let wave = 60.0 * (x / (9.0 + seed as f32)).sin() * (y / 23.0).cos();
        let disc =
            if (x - width as f32 / 2.0).hypot(y - height as f32 / 3.0) < height as f32 / 4.0 { 50.0 } else { 0.0 };
        let noise = (state >> 24) as f32 / 16.0;
        *sample = (100.0 + wave + disc + noise) as u8;
    }
    picture
}

/// Returns [`picture`] with two more bits of noise.
pub fn deep_picture(format: PixelFormat, size: FrameSize, seed: u32) -> Picture {
    let coarse = picture(format, size, seed);
    let mut deep = Picture::with_depth(format, BitDepth::Ten, size);
    for (at, (to, &from)) in deep.data_mut().as_chunks_mut::<2>().0.iter_mut().zip(coarse.data()).enumerate() {
        let noise = (at as u32 ^ seed).wrapping_mul(2_654_435_761) >> 30;
        *to = (u16::from(from) * 4 + noise as u16).to_le_bytes();
    }
    deep
}

/// Returns this codec with every boundary and padding and each of these depths.
pub fn transforms(codec: CodecParams, depths: &[Levels]) -> impl Iterator<Item = CodecParams> {
    let boundaries = [Boundary::Symmetric, Boundary::Periodic, Boundary::Zero];
    let both = boundaries.into_iter().flat_map(|boundary| [Padding::Smooth, Padding::Zero].map(|p| (boundary, p)));
    both.flat_map(move |(boundary, padding)| {
        depths.iter().map(move |&levels| CodecParams { boundary, padding, levels, ..codec })
    })
}

/// Returns what has come of a frame, if these blocks have.
pub fn arrived(frame: &CodedFrame, has_come: impl Fn(usize) -> bool) -> ReceivedFrame {
    let mut received = ReceivedFrame::empty(frame.header, frame.block_count());
    for index in (0..frame.block_count()).filter(|&index| has_come(index)) {
        received.insert(index, frame.block(index));
    }
    received
}

/// Returns a frame in which every block says that it is zero.
pub fn all_zero(frame: &CodedFrame) -> ReceivedFrame {
    let mut zero = ReceivedFrame::empty(frame.header, frame.block_count());
    (0..frame.block_count()).for_each(|index| assert!(zero.insert(index, &[])));
    zero
}

/// Returns the PSNR of the luma of a planar picture, decibels.
pub fn psnr_luma(source: &Picture, decoded: &Picture) -> f64 {
    psnr_db(&source.data()[..source.size().pixels()], decoded.data())
}

/// Returns the path of a file in `golden/` beside this package's tests, or beside those of the package around it.
pub fn golden(name: &str) -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    packages.map(|package| package.join("golden")).find(|golden| golden.is_dir()).unwrap().join(name)
}

/// Pseudo-random numbers, the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// Returns a number from 0 to `end` - 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
