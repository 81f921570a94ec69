//! Eight colours, drawn as a camera gives them and found again in what arrives.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use picture::frame::{Matrix, PixelFormat, Range};
use sending::source::{SourceFrame, SourceInfo};

/// Red, green and blue of the fields, four above four.
pub(crate) const COLOURS: [[f64; 3]; 8] = [
    [200.0, 30.0, 30.0],
    [30.0, 180.0, 40.0],
    [30.0, 40.0, 200.0],
    [220.0, 210.0, 40.0],
    [200.0, 60.0, 190.0],
    [40.0, 190.0, 200.0],
    [235.0, 235.0, 235.0],
    [20.0, 20.0, 20.0],
];

/// A picture to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawing {
    pub(crate) size: (usize, usize),
    /// Weights of red and blue in luma.
    pub(crate) weights: (f64, f64),
    pub(crate) is_full: bool,
    /// Bytes at the end of each row of the first plane.
    pub(crate) gap: usize,
}

pub(crate) const BT601: (f64, f64) = (0.299, 0.114);
pub(crate) const BT709: (f64, f64) = (0.2126, 0.0722);
pub(crate) const BT2020: (f64, f64) = (0.2627, 0.0593);

impl Default for Drawing {
    fn default() -> Self {
        Self { size: (160, 96), weights: BT601, is_full: false, gap: 0 }
    }
}

impl Drawing {
    fn rgb(&self, x: usize, y: usize) -> [f64; 3] {
        COLOURS[y * 2 / self.size.1 * 4 + x * 4 / self.size.0]
    }

    fn sample(&self, part: usize, x: usize, y: usize) -> u8 {
        let [red, green, blue] = self.rgb(x, y);
        let (kr, kb) = self.weights;
        let luma = kr * red + (1.0 - kr - kb) * green + kb * blue;
        let value = [luma, (blue - luma) / 2.0 / (1.0 - kb), (red - luma) / 2.0 / (1.0 - kr)][part];
        let (zero, scale) = match (part, self.is_full) {
            (0, true) => (0.0, 1.0),
            (0, false) => (16.0, 219.0 / 255.0),
            (_, true) => (128.0, 1.0),
            (_, false) => (128.0, 224.0 / 255.0),
        };
        (zero + value * scale).round().clamp(0.0, 255.0) as u8
    }

    /// A plane of every `across`th sample of every `down`th row; between rows stands what is no picture.
    fn plane(&self, part: usize, across: usize, down: usize) -> Vec<u8> {
        let (width, height) = self.size;
        let row = |y| (0..width).step_by(across).map(move |x| self.sample(part, x, y));
        let gap = self.gap / across;
        (0..height).step_by(down).flat_map(|y| row(y).chain(std::iter::repeat_n(255, gap))).collect()
    }

    /// Rows of groups, of which `group` gives one for each `across` pixels.
    fn packed(&self, across: usize, down: usize, group: impl Fn(usize, usize) -> Vec<u8>) -> Vec<u8> {
        let (width, height) = self.size;
        let mut bytes = Vec::new();
        for y in (0..height).step_by(down) {
            (0..width).step_by(across).for_each(|x| bytes.extend(group(x, y)));
            bytes.extend(std::iter::repeat_n(255, self.gap));
        }
        bytes
    }

    /// The picture in the format of this name.
    pub(crate) fn bytes(&self, code: &str) -> Vec<u8> {
        let [y, u, v] = [0, 1, 2].map(|part| move |x, y| self.sample(part, x, y));
        let planes = |parts: [(usize, usize, usize); 3]| {
            parts.into_iter().flat_map(|(part, across, down)| self.plane(part, across, down)).collect()
        };
        match code {
            "YUYV" => self.packed(2, 1, |x, at| vec![y(x, at), u(x, at), y(x + 1, at), v(x, at)]),
            "UYVY" => self.packed(2, 1, |x, at| vec![u(x, at), y(x, at), v(x, at), y(x + 1, at)]),
            "YVYU" => self.packed(2, 1, |x, at| vec![y(x, at), v(x, at), y(x + 1, at), u(x, at)]),
            "NV12" => [self.plane(0, 1, 1), self.packed(2, 2, |x, at| vec![u(x, at), v(x, at)])].concat(),
            "NV21" => [self.plane(0, 1, 1), self.packed(2, 2, |x, at| vec![v(x, at), u(x, at)])].concat(),
            "YU12" => planes([(0, 1, 1), (1, 2, 2), (2, 2, 2)]),
            "YV12" => planes([(0, 1, 1), (2, 2, 2), (1, 2, 2)]),
            "422P" => planes([(0, 1, 1), (1, 2, 1), (2, 2, 1)]),
            "GREY" => self.plane(0, 1, 1),
            "RGB3" => self.packed(1, 1, |x, at| self.rgb(x, at).map(|part| part as u8).to_vec()),
            "BGR3" => self.packed(1, 1, |x, at| self.rgb(x, at).map(|part| part as u8).into_iter().rev().collect()),
            "MJPG" | "JPEG" => {
                let rgb = Self { gap: 0, ..*self }.bytes("RGB3");
                let mut jpeg = Vec::new();
                let (width, height) = (self.size.0 as u32, self.size.1 as u32);
                let encoder = JpegEncoder::new_with_quality(&mut jpeg, 98);
                encoder.write_image(&rgb, width, height, ExtendedColorType::Rgb8).unwrap();
                jpeg
            }
            other => panic!("{other} cannot be drawn"),
        }
    }
}

/// Returns the greatest difference of a field's colour from what was drawn, levels; of grey pictures that of luma.
pub(crate) fn worst(picture: &SourceFrame, info: &SourceInfo, drawn: &Drawing) -> f64 {
    let (width, height) = (info.size.width(), info.size.height());
    let mut worst: f64 = 0.0;
    for (number, wanted) in COLOURS.iter().enumerate() {
        let (x0, y0) = (number % 4 * width / 4 + width / 16, number / 4 * height / 2 + height / 8);
        let mut sums = [0.0; 3];
        for y in y0..y0 + height / 4 {
            for x in x0..x0 + width / 8 {
                let pixel = pixel(picture, info, x, y);
                sums.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += part);
            }
        }
        let seen = sums.map(|sum| sum / ((height / 4) * (width / 8)) as f64);
        if picture.format == PixelFormat::Grey8 {
            let (kr, kb) = drawn.weights;
            let luma = kr * wanted[0] + (1.0 - kr - kb) * wanted[1] + kb * wanted[2];
            worst = worst.max((seen[0] - luma).abs());
        } else {
            seen.iter().zip(wanted).for_each(|(seen, wanted)| worst = worst.max((seen - wanted).abs()));
        }
    }
    worst
}

/// Returns a pixel as whoever receives it shows it.
fn pixel(picture: &SourceFrame, info: &SourceInfo, x: usize, y: usize) -> [f64; 3] {
    let (data, width, area, half) = (&*picture.data, info.size.width(), info.size.pixels(), info.size.halved());
    let halved = y / 2 * half.width() + x / 2;
    let [luma, cb, cr] = match picture.format {
        PixelFormat::Rgb8 => return [0, 1, 2].map(|part| f64::from(data[3 * (y * width + x) + part])),
        PixelFormat::Grey8 => [data[y * width + x], 128, 128],
        PixelFormat::YCbCr8 => [0, 1, 2].map(|part| data[3 * (y * width + x) + part]),
        PixelFormat::Yuyv => {
            let pair = 4 * (y * half.width() + x / 2);
            [data[pair + 2 * (x % 2)], data[pair + 1], data[pair + 3]]
        }
        PixelFormat::Nv12 => [data[y * width + x], data[area + 2 * halved], data[area + 2 * halved + 1]],
        PixelFormat::I420 => [data[y * width + x], data[area + halved], data[area + half.pixels() + halved]],
        PixelFormat::I444 => [0, 1, 2].map(|part| data[part * area + y * width + x]),
    }
    .map(f64::from);
    let (luma, cb, cr) = match info.colour.range {
        Range::Full => (luma, cb - 128.0, cr - 128.0),
        Range::Limited => ((luma - 16.0) * 255.0 / 219.0, (cb - 128.0) * 255.0 / 224.0, (cr - 128.0) * 255.0 / 224.0),
    };
    let (kr, kb) = if info.colour.matrix == Matrix::Bt709 { BT709 } else { BT601 };
    let (red, blue) = (luma + 2.0 * (1.0 - kr) * cr, luma + 2.0 * (1.0 - kb) * cb);
    let green = (luma - kr * red - kb * blue) / (1.0 - kr - kb);
    [red, green, blue].map(|part| part.clamp(0.0, 255.0))
}
