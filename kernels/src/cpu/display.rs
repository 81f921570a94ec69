//! Y'CbCr to R'G'B' for display (ITU-R BT.601-7 and BT.709-6; full range as in JFIF).

use picture::frame::{ColourSpace, Matrix, PixelFormat, Range};
use rayon::prelude::*;

use super::simd::multiversion;
use crate::Picture;

/// Fraction bits of the integer coefficients.
const FRACTION_BITS: i32 = 14;

/// Integer coefficients of one colour space, scaled by 2^14.
#[derive(Clone, Copy, Debug)]
pub struct Coefficients {
    luma_offset: i32,
    luma: i32,
    red_cr: i32,
    green_cb: i32,
    green_cr: i32,
    blue_cb: i32,
}

impl Coefficients {
    /// The coefficients of `colour`.
    pub fn new(colour: ColourSpace) -> Self {
        let (red, blue) = match colour.matrix {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
        };
        let green = 1.0 - red - blue;
        let (luma_offset, luma, chroma) = match colour.range {
            Range::Limited => (16, 255.0 / 219.0, 255.0 / 224.0),
            Range::Full => (0, 1.0, 1.0),
        };
        let scaled = |value: f64| (value * f64::from(1 << FRACTION_BITS)).round() as i32;
        Self {
            luma_offset,
            luma: scaled(luma),
            red_cr: scaled(chroma * 2.0 * (1.0 - red)),
            green_cb: scaled(-chroma * 2.0 * (1.0 - blue) * blue / green),
            green_cr: scaled(-chroma * 2.0 * (1.0 - red) * red / green),
            blue_cb: scaled(chroma * 2.0 * (1.0 - blue)),
        }
    }

    /// Returns one pixel as 0x00RRGGBB.
    #[inline(always)]
    pub fn pixel(&self, y: u8, cb: u8, cr: u8) -> u32 {
        // Nothing here exceeds 24 bits; checks for that would keep it from being done on many pixels at once.
        let sum = |a: i32, b: i32| a.wrapping_add(b);
        let times = |a: i32, b: i32| a.wrapping_mul(b);
        let half = 1 << (FRACTION_BITS - 1);
        let y = sum(times(sum(i32::from(y), -self.luma_offset), self.luma), half);
        let (cb, cr) = (sum(i32::from(cb), -128), sum(i32::from(cr), -128));
        let byte = |value: i32| (value >> FRACTION_BITS).clamp(0, 255) as u32;
        let red = byte(sum(y, times(self.red_cr, cr)));
        let green = byte(sum(sum(y, times(self.green_cb, cb)), times(self.green_cr, cr)));
        let blue = byte(sum(y, times(self.blue_cb, cb)));
        red << 16 | green << 8 | blue
    }
}

/// Converts decoded planar pictures of one stream.
#[derive(Clone, Copy, Debug)]
pub struct Converter {
    coefficients: Coefficients,
}

/// Samples of chroma that are handled at once; fewer would not be enough for vectors.
const AT_ONCE: usize = 256;
/// Least rows for a thread.
const ROWS_MIN: usize = 32;

impl Converter {
    /// For pictures whose samples mean `colour`.
    pub fn new(colour: ColourSpace) -> Self {
        Self { coefficients: Coefficients::new(colour) }
    }

    /// Writes `picture` (grey, 4:2:0 or 4:4:4 planes) as one 0x00RRGGBB per pixel, row by row. Chroma of 4:2:0 is
    /// repeated.
    pub fn convert(&self, picture: &Picture, out: &mut Vec<u32>) {
        let size = picture.size();
        out.resize(size.pixels(), 0);
        let rows = out.par_chunks_exact_mut(size.width()).with_min_len(ROWS_MIN).enumerate();
        rows.for_each(|(y, out)| self.write_row(picture, y, out));
    }

    /// Writes row `y` of `picture` as [`Converter::convert`] does.
    pub(super) fn write_row(&self, picture: &Picture, y: usize, out: &mut [u32]) {
        let size = picture.size();
        let width = size.width();
        let (luma, chroma) = picture.data().split_at(size.pixels());
        let (chroma_width, step) = match picture.format() {
            PixelFormat::I420 => (size.halved().width(), 2),
            _ => (width, 1),
        };
        let (blue, red) = chroma.split_at(chroma.len() / 2);
        let of = |plane: &'_ [u8]| {
            let start = (y / step * chroma_width).min(plane.len());
            start..(start + chroma_width).min(plane.len())
        };
        let row = DisplayRow { luma: &luma[y * width..][..width], blue: &blue[of(blue)], red: &red[of(red)], step };
        convert_row(&self.coefficients, row, out);
    }
}

/// The samples of a row; those of chroma stand for `step` pixels each, or there are none.
#[derive(Clone, Copy)]
struct DisplayRow<'a> {
    luma: &'a [u8],
    blue: &'a [u8],
    red: &'a [u8],
    step: usize,
}

multiversion! {
    /// A row of pixels.
    fn convert_row(coefficients: &Coefficients, row: DisplayRow<'_>, out: &mut [u32]) = convert_row_body;
}

#[inline(always)]
fn convert_row_body(coefficients: &Coefficients, row: DisplayRow<'_>, out: &mut [u32]) {
    let DisplayRow { luma, blue, red, step } = row;
    let (mut wide_blue, mut wide_red) = ([128; 2 * AT_ONCE], [128; 2 * AT_ONCE]);
    let pixels = step * AT_ONCE;
    for (at, (out, luma)) in out.chunks_mut(pixels).zip(luma.chunks(pixels)).enumerate() {
        for (wide, plane) in [(&mut wide_blue, blue), (&mut wide_red, red)] {
            let samples = plane.get(at * AT_ONCE..).unwrap_or_default();
            match step {
                2 => {
                    for (pair, &sample) in wide.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
                        *pair = [sample; 2];
                    }
                }
                _ => {
                    for (to, &sample) in wide[..AT_ONCE].iter_mut().zip(samples) {
                        *to = sample;
                    }
                }
            }
        }
        for (((out, &y), &cb), &cr) in out.iter_mut().zip(luma).zip(&wide_blue).zip(&wide_red) {
            *out = coefficients.pixel(y, cb, cr);
        }
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, FrameSize};

    use super::*;

    fn rgb(colour: ColourSpace, y: u8, cb: u8, cr: u8) -> [u8; 3] {
        let [_, r, g, b] = Coefficients::new(colour).pixel(y, cb, cr).to_be_bytes();
        [r, g, b]
    }

    #[test]
    fn black_white_and_grey_have_no_hue() {
        for (colour, black, white) in
            [(ColourSpace::JPEG, 0, 255), (ColourSpace::BT601_LIMITED, 16, 235), (ColourSpace::BT709_LIMITED, 16, 235)]
        {
            assert_eq!(rgb(colour, black, 128, 128), [0; 3]);
            assert_eq!(rgb(colour, white, 128, 128), [255; 3]);
            let [r, g, b] = rgb(colour, 100, 128, 128);
            assert!(r == g && g == b);
        }
    }

    /// 75 % colour bars as the recommendations and SMPTE RP 219 tabulate them, limited range.
    #[test]
    fn colour_bars_come_out_as_tabulated() {
        let bars_709 = [
            ([180, 128, 128], [191, 191, 191]),
            ([168, 44, 136], [191, 191, 0]),
            ([145, 147, 44], [0, 191, 191]),
            ([133, 63, 52], [0, 191, 0]),
            ([63, 193, 204], [191, 0, 191]),
            ([51, 109, 212], [191, 0, 0]),
            ([28, 212, 120], [0, 0, 191]),
        ];
        let bars_601 = [([162, 44, 142], [191, 191, 0]), ([65, 100, 212], [191, 0, 0]), ([35, 212, 114], [0, 0, 191])];
        let cases = bars_709.iter().map(|bar| (ColourSpace::BT709_LIMITED, bar));
        for (colour, (ycc, expected)) in cases.chain(bars_601.iter().map(|bar| (ColourSpace::BT601_LIMITED, bar))) {
            let got = rgb(colour, ycc[0], ycc[1], ycc[2]);
            for (g, e) in got.iter().zip(expected) {
                assert!(g.abs_diff(*e) <= 2, "{colour:?} {ycc:?}: {got:?}, not {expected:?}");
            }
        }
        // JFIF red, green, blue.
        assert_eq!(rgb(ColourSpace::JPEG, 76, 85, 255), [254, 0, 0]);
        assert_eq!(rgb(ColourSpace::JPEG, 29, 255, 107), [0, 0, 254]);
    }

    #[test]
    fn odd_sizes_of_every_sampling_fill_the_picture() {
        for (width, height) in [(1, 1), (2, 3), (17, 31), (131, 5)] {
            let size = FrameSize::new(width, height).unwrap();
            for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
                let mut picture = Picture::for_stream(chroma, size);
                picture.data_mut().fill(128);
                picture.data_mut()[..size.pixels()].fill(200);
                let mut out = vec![];
                Converter::new(ColourSpace::JPEG).convert(&picture, &mut out);
                assert_eq!(out, vec![0x00c8_c8c8; size.pixels()], "{size} {chroma:?}");
            }
        }
    }

    #[test]
    fn every_pixel_of_a_wide_picture_has_the_samples_of_its_place() {
        let (size, colour) = (FrameSize::new(1_201, 3).unwrap(), ColourSpace::BT709_LIMITED);
        for (chroma, step) in [(Chroma::C420, 2), (Chroma::C444, 1)] {
            let mut picture = Picture::for_stream(chroma, size);
            let samples = (1u32..).zip(picture.data_mut());
            samples.for_each(|(at, sample)| *sample = (at.wrapping_mul(0x9e37_79b1) >> 24) as u8);
            let mut out = vec![];
            Converter::new(colour).convert(&picture, &mut out);
            let (luma, planes) = picture.data().split_at(size.pixels());
            let (blue, red) = planes.split_at(planes.len() / 2);
            for (at, &pixel) in out.iter().enumerate() {
                let (x, y) = (at % size.width(), at / size.width());
                let place = y / step * size.width().div_ceil(step) + x / step;
                let wanted = Coefficients::new(colour).pixel(luma[at], blue[place], red[place]);
                assert_eq!(pixel, wanted, "{chroma:?} at {x}, {y}");
            }
        }
    }

    #[test]
    fn chroma_belongs_to_its_two_by_two_pixels() {
        let size = FrameSize::new(3, 3).unwrap();
        let mut data = vec![128; 9];
        data.extend([10, 20, 30, 40, 128, 128, 128, 128]);
        let picture = Picture::from_data(PixelFormat::I420, size, data).unwrap();
        let mut out = vec![];
        Converter::new(ColourSpace::JPEG).convert(&picture, &mut out);
        let expected = |cb| Coefficients::new(ColourSpace::JPEG).pixel(128, cb, 128);
        let cbs = [10, 10, 20, 10, 10, 20, 30, 30, 40];
        assert_eq!(out, cbs.map(expected));
    }
}
