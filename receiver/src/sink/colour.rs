//! Y'CbCr to R'G'B' for display (ITU-R BT.601-7 and BT.709-6; full range as in JFIF).

use common::frame::{ColourSpace, FrameSize, Matrix, PixelFormat, Range};
use kernels::Picture;

/// Fraction bits of the integer coefficients.
const FRACTION_BITS: i32 = 14;

/// Integer coefficients of one colour space, scaled by 2^14.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficients {
    luma_offset: i32,
    luma: i32,
    red_cr: i32,
    green_cb: i32,
    green_cr: i32,
    blue_cb: i32,
}

impl Coefficients {
    /// Those of `colour`.
    pub(crate) fn new(colour: ColourSpace) -> Self {
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
    pub(crate) fn pixel(&self, y: u8, cb: u8, cr: u8) -> u32 {
        let half = 1 << (FRACTION_BITS - 1);
        let y = (i32::from(y) - self.luma_offset) * self.luma + half;
        let (cb, cr) = (i32::from(cb) - 128, i32::from(cr) - 128);
        let byte = |value: i32| (value >> FRACTION_BITS).clamp(0, 255) as u32;
        let red = byte(y + self.red_cr * cr);
        let green = byte(y + self.green_cb * cb + self.green_cr * cr);
        let blue = byte(y + self.blue_cb * cb);
        red << 16 | green << 8 | blue
    }
}

/// Converts decoded planar pictures of one stream.
#[derive(Clone, Debug)]
pub struct Converter {
    coefficients: Coefficients,
    /// One row of Cb and one of Cr at full width.
    rows: [Vec<u8>; 2],
}

impl Converter {
    /// Creates a conversion for pictures of `size` whose samples mean `colour`.
    pub fn new(colour: ColourSpace, size: FrameSize) -> Self {
        Self { coefficients: Coefficients::new(colour), rows: [vec![128; size.width()], vec![128; size.width()]] }
    }

    /// Writes `picture` (grey, 4:2:0 or 4:4:4 planes) as one 0x00RRGGBB per pixel, row by row. Chroma of 4:2:0 is
    /// repeated.
    pub fn convert(&mut self, picture: &Picture, out: &mut Vec<u32>) {
        let size = picture.size();
        let width = size.width();
        out.resize(size.pixels(), 0);
        let (luma, chroma) = picture.data().split_at(size.pixels());
        let (chroma_width, step) = match picture.format() {
            PixelFormat::I420 => (size.halved().width(), 2),
            _ => (width, 1),
        };
        let planes = chroma.split_at(chroma.len() / 2);
        for row in &mut self.rows {
            row.resize(width, 128);
        }
        for (y, target) in out.chunks_exact_mut(width).enumerate() {
            if !chroma.is_empty() && y % step == 0 {
                let start = y / step * chroma_width;
                for (row, plane) in self.rows.iter_mut().zip([planes.0, planes.1]) {
                    widen(&plane[start..start + chroma_width], step, row);
                }
            }
            let samples = luma[y * width..].iter().zip(&self.rows[0]).zip(&self.rows[1]);
            for (pixel, ((&y, &cb), &cr)) in target.iter_mut().zip(samples) {
                *pixel = self.coefficients.pixel(y, cb, cr);
            }
        }
    }
}

/// Repeats each sample `step` times.
fn widen(samples: &[u8], step: usize, row: &mut [u8]) {
    if step == 1 {
        row.copy_from_slice(samples);
        return;
    }
    for (pair, &sample) in row.chunks_mut(2).zip(samples) {
        pair.fill(sample);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use common::frame::Chroma;

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
        for (width, height) in [(1, 1), (2, 3), (17, 31)] {
            let size = FrameSize::new(width, height).unwrap();
            for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
                let mut picture = Picture::for_stream(chroma, size);
                picture.data_mut().fill(128);
                picture.data_mut()[..size.pixels()].fill(200);
                let mut out = vec![];
                Converter::new(ColourSpace::JPEG, size).convert(&picture, &mut out);
                assert_eq!(out, vec![0x00c8_c8c8; size.pixels()], "{size} {chroma:?}");
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
        Converter::new(ColourSpace::JPEG, size).convert(&picture, &mut out);
        let expected = |cb| Coefficients::new(ColourSpace::JPEG).pixel(128, cb, 128);
        let cbs = [10, 10, 20, 10, 10, 20, 30, 30, 40];
        assert_eq!(out, cbs.map(expected));
    }
}
