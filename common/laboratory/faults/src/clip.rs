//! The clip that both sides send: the middle of somebody's pictures, with their numbers drawn in, there and back.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, bail};
use image::imageops::{FilterType, resize};
use image::{ImageBuffer, Luma};
use picture::frame::{BitDepth, Chroma, FrameRate, FrameSize, Raster};
use picture::y4m::{Y4mHeader, Y4mWriter};

use crate::pictures::{each_picture, psnr};
use crate::strip;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;
pub(crate) const FRAMES_PER_SECOND: u32 = 30;
/// A clip of so many pictures has [`NUMBERED_MIN`] there and back.
const PICTURES_MAX: usize = NUMBERED_MIN / 2 + 1;
/// Ten seconds: a number that comes again stands for another picture only if one took longer than that.
const NUMBERED_MIN: usize = 10 * FRAMES_PER_SECOND as usize;

/// The clip that both send.
pub(crate) struct Clip {
    size: FrameSize,
    /// The luma of each picture, which have the numbers from 0 on, there and back, again and again.
    lumas: Vec<Vec<u8>>,
}

impl Clip {
    /// Writes a clip (`mjpeg:PATH`, `y4m:PATH`) with numbers as Y4M to `to`.
    pub(crate) fn prepare(from: &str, to: &Path) -> Result<Self> {
        let size = FrameSize::new(WIDTH, HEIGHT)?;
        let (mut colour, mut pictures) = (None, Vec::new());
        each_picture(from, PICTURES_MAX, |info, planes| {
            let Some(planes) = middle(&planes, info.size, size) else {
                bail!("{from} has pictures of {}: a clip must have at least {size}", info.size);
            };
            colour = Some(info.colour);
            pictures.push(planes);
            Ok(())
        })?;
        let colour = colour.with_context(|| format!("{from} holds no picture"))?;
        let rate = FrameRate::new(FRAMES_PER_SECOND, 1);
        let header =
            Y4mHeader { size, rate, chroma: Chroma::C420, raster: Raster::default(), depth: BitDepth::Eight, colour };
        let file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
        let mut writer = Y4mWriter::new(BufWriter::with_capacity(1 << 20, file), &header)?;
        for number in 0..numbered(pictures.len()) {
            let mut planes = pictures[place(number, pictures.len())].clone();
            strip::draw(&mut planes[..size.pixels()], size, number as u32);
            writer.write(&planes)?;
        }
        writer.into_inner().into_inner().context("the clip cannot be written")?;
        let lumas = pictures.into_iter().map(|mut planes| {
            planes.truncate(size.pixels());
            planes
        });
        Ok(Self { size, lumas: lumas.collect() })
    }

    /// Returns the size of its pictures.
    pub(crate) fn size(&self) -> FrameSize {
        self.size
    }

    /// Returns the PSNR-Y below the strip of a picture that was shown, dB; `None` if it does not tell which one it is.
    /// One of another size is brought to the clip's first, by cubic interpolation.
    pub(crate) fn compare(&self, luma: &[u8], size: FrameSize) -> Option<f64> {
        let number = strip::read(luma, size)? as usize;
        if number >= numbered(self.lumas.len()) {
            return None;
        }
        let sent = &self.lumas[place(number, self.lumas.len())];
        let below = strip::height(self.size.height()) * self.size.width();
        if size == self.size {
            return Some(psnr(&sent[below..], luma.get(below..size.pixels())?));
        }
        let picture = ImageBuffer::<Luma<u8>, _>::from_raw(size.width() as u32, size.height() as u32, luma)?;
        let (width, height) = (self.size.width() as u32, self.size.height() as u32);
        let shown = resize(&picture, width, height, FilterType::CatmullRom).into_raw();
        // The picture's first rows touch the strip once they are enlarged.
        let below = 2 * below;
        Some(psnr(&sent[below..], &shown[below..]))
    }
}

/// Returns the number of pictures from the first one until all has been seen there and back, and often enough.
const fn numbered(pictures: usize) -> usize {
    let period = period(pictures);
    period * NUMBERED_MIN.div_ceil(period)
}

/// Returns the place of the picture with this number.
const fn place(number: usize, pictures: usize) -> usize {
    let at = number % period(pictures);
    if at < pictures { at } else { period(pictures) - at }
}

/// Returns the number of pictures until they come again in the same order; neither end comes twice in a row.
const fn period(pictures: usize) -> usize {
    if pictures > 1 { 2 * pictures - 2 } else { 1 }
}

/// Returns the middle of 4:2:0 planes; `None` if they are smaller.
fn middle(planes: &[u8], size: FrameSize, wanted: FrameSize) -> Option<Vec<u8>> {
    let left = size.width().checked_sub(wanted.width())? / 4 * 2;
    let top = size.height().checked_sub(wanted.height())? / 4 * 2;
    let mut cut = Vec::new();
    let mut cut_out = |plane: &[u8], width: usize, (left, top): (usize, usize), wanted: FrameSize| {
        for row in plane.chunks_exact(width).skip(top).take(wanted.height()) {
            cut.extend_from_slice(&row[left..left + wanted.width()]);
        }
    };
    let (half, wanted_half) = (size.halved(), wanted.halved());
    let (luma, chroma) = planes.split_at_checked(size.pixels())?;
    let (cb, cr) = chroma.split_at_checked(half.pixels())?;
    cut_out(luma, size.width(), (left, top), wanted);
    cut_out(cb, half.width(), (left / 2, top / 2), wanted_half);
    cut_out(cr, half.width(), (left / 2, top / 2), wanted_half);
    Some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_go_there_and_back_without_a_jump() {
        for pictures in [1, 2, 3, 7, 100, PICTURES_MAX] {
            let all = numbered(pictures);
            assert!((NUMBERED_MIN..=strip::NUMBERS).contains(&all), "{pictures} give {all}");
            for number in 0..all {
                let (this, next) = (place(number, pictures), place((number + 1) % all, pictures));
                assert!(this < pictures);
                assert_eq!(this.abs_diff(next), usize::from(pictures > 1), "{pictures} pictures, {number}");
            }
        }
    }

    #[test]
    fn a_picture_is_compared_with_the_one_of_its_number() {
        let size = FrameSize::new(640, 480).unwrap();
        let lumas: Vec<Vec<u8>> = (0..3).map(|n| vec![60 + 20 * n; size.pixels()]).collect();
        let clip = Clip { size, lumas };
        let shown = |value: u8, number: u32, size: FrameSize| {
            let mut luma = vec![value; size.pixels()];
            strip::draw(&mut luma, size, number);
            luma
        };
        assert_eq!(clip.compare(&shown(80, 5, size), size), Some(99.0));
        assert!(clip.compare(&shown(80, 4, size), size).unwrap() < 25.0);
        let half = FrameSize::new(320, 240).unwrap();
        assert_eq!(clip.compare(&shown(80, 5, half), half), Some(99.0));
        assert_eq!(clip.compare(&vec![80; size.pixels()], size), None);
        assert_eq!(clip.compare(&shown(80, 1_000, size), size), None);
        assert_eq!(clip.compare(&[80; 10], size), None);
    }

    #[test]
    fn the_middle_is_cut_out_of_all_planes() {
        let (size, wanted) = (FrameSize::new(8, 4).unwrap(), FrameSize::new(4, 2).unwrap());
        let planes: Vec<u8> = (0..32).chain(100..108).chain(200..208).collect();
        assert_eq!(middle(&planes, size, wanted).unwrap(), [2, 3, 4, 5, 10, 11, 12, 13, 101, 102, 201, 202]);
        assert_eq!(middle(&planes, wanted, size), None);
        assert_eq!(middle(&planes[..30], size, wanted), None);
    }
}
