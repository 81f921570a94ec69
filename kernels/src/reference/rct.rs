//! Samples as integers, exactly: the reversible colour transform of RGB, and planes as they are.
//!
//! The transform is that of JPEG 2000 (ISO/IEC 15444-1, annex G.2): `Y = floor((R + 2G + B) / 4)`, `U = B - G`,
//! `V = R - G`, and back `G = Y - floor((U + V) / 4)`, `R = V + G`, `B = U + G`. U and V take one bit more than a sample.
//! Y is centred at 0, as are all samples of pictures that are no RGB.

use common::frame::{Chroma, PixelFormat};

use super::colour;
use super::sample::Sample;
use crate::{Error, Picture, PictureRef};

/// What is taken from luma to centre it.
const MIDDLE: i32 = 128;

/// The planes of a picture for the channels of `chroma`, row by row without gaps; [`Error::NotExact`] if the picture's
/// samples cannot all be told from them.
pub fn planes(picture: PictureRef<'_>, chroma: Chroma) -> Result<Vec<Vec<i32>>, Error> {
    check_exact(picture.format(), chroma)?;
    Ok(match picture.format() {
        PixelFormat::Rgb8 => from_rgb(picture.data()),
        PixelFormat::Grey8 | PixelFormat::I420 | PixelFormat::I444 => from_planes(picture, chroma),
        _ => {
            let planes = colour::planes(picture, chroma);
            planes.into_iter().map(|plane| plane.into_iter().map(i32::from_centred).collect()).collect()
        }
    })
}

/// The samples of a planar format, centred.
fn from_planes(picture: PictureRef<'_>, chroma: Chroma) -> Vec<Vec<i32>> {
    let mut rest = picture.data();
    let plane = |&channel| {
        let (own, others) = rest.split_at(chroma.plane_size(picture.size(), channel).pixels());
        rest = others;
        own.iter().map(|&sample| i32::from(sample) - MIDDLE).collect()
    };
    chroma.channels().iter().map(plane).collect()
}

/// [`Error::NotExact`] if the channels of `chroma` do not keep all samples of a picture.
pub(crate) fn check_exact(format: PixelFormat, chroma: Chroma) -> Result<(), Error> {
    use PixelFormat::{Grey8, I420, I444, Nv12, Rgb8, YCbCr8, Yuyv};
    match (format, chroma) {
        (Rgb8, Chroma::Rgb)
        | (Grey8, Chroma::Grey)
        | (I420 | Nv12, Chroma::C420)
        | (I444 | YCbCr8 | Yuyv, Chroma::C444) => Ok(()),
        (format, chroma) => Err(Error::NotExact { format, chroma }),
    }
}

/// The picture of such planes. Samples that no picture has, made of damaged coefficients, saturate.
pub fn finish(planes: &[Vec<i32>], out: &mut Picture) {
    let (format, data) = (out.format(), out.data_mut());
    match (format, planes) {
        (PixelFormat::Rgb8, [y, u, v]) => to_rgb(y, u, v, data),
        _ => data.iter_mut().zip(planes.iter().flatten()).for_each(|(byte, &sample)| *byte = sample.to_byte()),
    }
}

fn from_rgb(data: &[u8]) -> Vec<Vec<i32>> {
    let pixels = data.as_chunks::<3>().0;
    let channel =
        |value: fn(i32, i32, i32) -> i32| pixels.iter().map(|&[r, g, b]| value(r.into(), g.into(), b.into())).collect();
    vec![channel(|r, g, b| ((r + 2 * g + b) >> 2) - MIDDLE), channel(|_, g, b| b - g), channel(|r, g, _| r - g)]
}

fn to_rgb(y: &[i32], u: &[i32], v: &[i32], data: &mut [u8]) {
    let pixels = data.as_chunks_mut::<3>().0.iter_mut();
    for (((pixel, &y), &u), &v) in pixels.zip(y).zip(u).zip(v) {
        let g = y.wrapping_add(MIDDLE).wrapping_sub(u.wrapping_add(v) >> 2);
        *pixel = [v.wrapping_add(g), g, u.wrapping_add(g)].map(|sample| sample.clamp(0, 255) as u8);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use common::frame::FrameSize;

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
            assert_eq!(refused, Err(Error::NotExact { format, chroma }));
        }
    }

    #[test]
    fn damaged_planes_make_some_picture() {
        let mut out = Picture::for_stream(Chroma::Rgb, FrameSize::new(2, 1).unwrap());
        finish(&[vec![i32::MAX, i32::MIN], vec![i32::MAX, 7], vec![i32::MIN, i32::MIN]], &mut out);
        assert_eq!(out.data().len(), 6);
    }
}
