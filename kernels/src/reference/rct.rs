//! Samples as integers, exactly: the reversible colour transform of RGB, and planes as they are.
//!
//! The transform is that of JPEG 2000 (ISO/IEC 15444-1, annex G.2): `Y = floor((R + 2G + B) / 4)`, `U = B - G`,
//! `V = R - G`, and back `G = Y - floor((U + V) / 4)`, `R = V + G`, `B = U + G`. U and V take one bit more than a
//! sample. Y is centred at 0, as are all samples of pictures that are no RGB. Samples have 8 bits or 10.

use picture::frame::{BitDepth, Chroma, PixelFormat};

use super::colour;
use crate::sample::Sample;
use crate::{Picture, PictureError, PictureRef};

/// A sample as it lies in memory.
trait Stored: Copy {
    /// Value taken from luma to centre it.
    const MIDDLE: i32;

    fn value(self) -> i32;

    /// Saturates.
    fn of(value: i32) -> Self;
}

impl Stored for u8 {
    const MIDDLE: i32 = 128;

    fn value(self) -> i32 {
        self.into()
    }

    fn of(value: i32) -> Self {
        value.clamp(0, 255) as u8
    }
}

/// Samples of 10 bits.
impl Stored for [u8; 2] {
    const MIDDLE: i32 = 512;

    fn value(self) -> i32 {
        u16::from_le_bytes(self).into()
    }

    fn of(value: i32) -> Self {
        (value.clamp(0, BitDepth::Ten.max().into()) as u16).to_le_bytes()
    }
}

/// Returns a picture's planes for the channels of `chroma`, row by row; [`PictureError::NotExact`] if the picture's
/// samples cannot all be told from them, [`PictureError::SampleTooLarge`] if one has more bits than the picture says.
pub fn planes(picture: PictureRef<'_>, chroma: Chroma) -> Result<Vec<Vec<i32>>, PictureError> {
    check_exact(picture, chroma)?;
    Ok(match (picture.format(), picture.depth()) {
        (PixelFormat::Rgb8, BitDepth::Eight) => from_rgb(picture.data()),
        (PixelFormat::Rgb8, BitDepth::Ten) => from_rgb(picture.data().as_chunks::<2>().0),
        (PixelFormat::Grey8 | PixelFormat::I420 | PixelFormat::I444, BitDepth::Eight) => {
            from_planes(picture, picture.data(), chroma)
        }
        (_, BitDepth::Ten) => from_planes(picture, picture.data().as_chunks::<2>().0, chroma),
        _ => {
            let planes = colour::planes(picture, chroma);
            planes.into_iter().map(|plane| plane.into_iter().map(i32::from_centred).collect()).collect()
        }
    })
}

/// Returns the samples of a planar format, centred.
fn from_planes<S: Stored>(picture: PictureRef<'_>, samples: &[S], chroma: Chroma) -> Vec<Vec<i32>> {
    let mut rest = samples;
    let plane = |&channel| {
        let (own, others) = rest.split_at(chroma.plane_size(picture.size(), channel).pixels());
        rest = others;
        own.iter().map(|&sample| sample.value() - S::MIDDLE).collect()
    };
    chroma.channels().iter().map(plane).collect()
}

/// Returns an error unless [`planes`] can be made.
pub fn check_exact(picture: PictureRef<'_>, chroma: Chroma) -> Result<(), PictureError> {
    use PixelFormat::{Grey8, I420, I444, Nv12, Rgb8, YCbCr8, Yuyv};
    match (picture.format(), chroma, picture.depth()) {
        (Rgb8, Chroma::Rgb, _)
        | (Grey8, Chroma::Grey, _)
        | (I420, Chroma::C420, _)
        | (I444, Chroma::C444, _)
        | (Nv12, Chroma::C420, BitDepth::Eight)
        | (YCbCr8 | Yuyv, Chroma::C444, BitDepth::Eight) => {}
        (format, chroma, _) => return Err(PictureError::NotExact { format, chroma }),
    }
    let depth = picture.depth();
    if depth == BitDepth::Ten {
        let samples = picture.data().as_chunks::<2>().0.iter();
        let found = samples.map(|&sample| u16::from_le_bytes(sample)).max().unwrap_or(0);
        if found > depth.max() {
            return Err(PictureError::SampleTooLarge { found, depth });
        }
    }
    Ok(())
}

/// Returns the picture of such planes. Samples that no picture has, made of damaged coefficients, saturate.
pub fn finish(planes: &[Vec<i32>], out: &mut Picture) {
    let format = out.format();
    match out.depth() {
        BitDepth::Eight => finish_samples(planes, format, out.data_mut()),
        BitDepth::Ten => finish_samples(planes, format, out.data_mut().as_chunks_mut::<2>().0),
    }
}

fn finish_samples<S: Stored>(planes: &[Vec<i32>], format: PixelFormat, out: &mut [S]) {
    match (format, planes) {
        (PixelFormat::Rgb8, [y, u, v]) => to_rgb(y, u, v, out),
        _ => {
            let samples = planes.iter().flatten();
            out.iter_mut().zip(samples).for_each(|(to, &sample)| *to = S::of(sample.saturating_add(S::MIDDLE)));
        }
    }
}

fn from_rgb<S: Stored>(samples: &[S]) -> Vec<Vec<i32>> {
    let pixels = samples.as_chunks::<3>().0;
    let channel = |value: fn(i32, i32, i32) -> i32| {
        pixels.iter().map(|&[r, g, b]| value(r.value(), g.value(), b.value())).collect()
    };
    vec![channel(|r, g, b| ((r + 2 * g + b) >> 2) - S::MIDDLE), channel(|_, g, b| b - g), channel(|r, g, _| r - g)]
}

fn to_rgb<S: Stored>(y: &[i32], u: &[i32], v: &[i32], out: &mut [S]) {
    let pixels = out.as_chunks_mut::<3>().0.iter_mut();
    for (((pixel, &y), &u), &v) in pixels.zip(y).zip(u).zip(v) {
        let g = y.wrapping_add(S::MIDDLE).wrapping_sub(u.wrapping_add(v) >> 2);
        *pixel = [v.wrapping_add(g), g, u.wrapping_add(g)].map(S::of);
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;

    use super::*;

    #[test]
    fn every_corner_of_rgb_comes_back() {
        let levels = [0, 1, 2, 127, 128, 254, 255];
        let pixels = levels.iter().flat_map(|&r| levels.iter().flat_map(move |&g| levels.map(|b| [r, g, b])));
        let data: Vec<u8> = pixels.flatten().collect();
        let size = FrameSize::new(7, 49).unwrap();
        let planes = planes(PictureRef::new(PixelFormat::Rgb8, size, &data).unwrap(), Chroma::Rgb).unwrap();
        assert!(planes[0].iter().all(|y| (-128..128).contains(y)));
        assert!(planes[1].iter().chain(&planes[2]).all(|difference| (-255..256).contains(difference)));
        let mut out = Picture::for_stream(Chroma::Rgb, size);
        finish(&planes, &mut out);
        assert_eq!(out.data(), data);
    }

    #[test]
    fn corners_of_ten_bits_come_back_and_larger_samples_are_refused() {
        let levels = [0, 1, 2, 511, 512, 1022, 1023_u16];
        let pixels = levels.iter().flat_map(|&r| levels.iter().flat_map(move |&g| levels.map(|b| [r, g, b])));
        let mut data: Vec<u8> = pixels.flatten().flat_map(u16::to_le_bytes).collect();
        let size = FrameSize::new(7, 49).unwrap();
        let picture = PictureRef::with_depth(PixelFormat::Rgb8, BitDepth::Ten, size, &data).unwrap();
        let made = planes(picture, Chroma::Rgb).unwrap();
        assert!(made[0].iter().all(|y| (-512..512).contains(y)));
        assert!(made[1].iter().chain(&made[2]).all(|difference| (-1023..1024).contains(difference)));
        let mut out = Picture::with_depth(PixelFormat::Rgb8, BitDepth::Ten, size);
        finish(&made, &mut out);
        assert_eq!(out.data(), data);
        data[77] = 4;
        let picture = PictureRef::with_depth(PixelFormat::Rgb8, BitDepth::Ten, size, &data).unwrap();
        let refused = planes(picture, Chroma::Rgb).unwrap_err();
        assert!(
            matches!(refused, PictureError::SampleTooLarge { found: 1024..=1279, depth: BitDepth::Ten }),
            "{refused}"
        );
        assert!(refused.to_string().ends_with("with 10 bits it can be at most 1023"), "{refused}");
    }

    #[test]
    fn samplings_that_lose_something_are_refused() {
        let size = FrameSize::new(2, 2).unwrap();
        for (format, chroma) in [
            (PixelFormat::Rgb8, Chroma::C444),
            (PixelFormat::I444, Chroma::C420),
            (PixelFormat::I420, Chroma::Grey),
            (PixelFormat::Grey8, Chroma::Rgb),
        ] {
            let data = vec![0; format.bytes(size)];
            let refused = planes(PictureRef::new(format, size, &data).unwrap(), chroma);
            assert_eq!(refused, Err(PictureError::NotExact { format, chroma }));
        }
    }

    #[test]
    fn damaged_planes_make_some_picture() {
        let mut out = Picture::for_stream(Chroma::Rgb, FrameSize::new(2, 1).unwrap());
        finish(&[vec![i32::MAX, i32::MIN], vec![i32::MAX, 7], vec![i32::MIN, i32::MIN]], &mut out);
        assert_eq!(out.data().len(), 6);
    }
}
