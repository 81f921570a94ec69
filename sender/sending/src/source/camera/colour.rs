//! The meaning of a driver's samples, and samples brought from one meaning to another.

use picture::frame::{ColourSpace, FrameSize, Matrix, PixelFormat, Range};

use super::device::PixFormat;
use super::layout::SampleOrder;

/// Weights of red and blue in luma of BT.601, BT.709, BT.2020 and SMPTE 240M.
const WEIGHTS: [(f64, f64); 4] = [(0.299, 0.114), (0.2126, 0.0722), (0.2627, 0.0593), (0.212, 0.087)];

/// The meaning of a picture's samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Meaning {
    /// Weights of red and blue in luma.
    weights: (f64, f64),
    range: Range,
    is_rgb: bool,
}

impl From<ColourSpace> for Meaning {
    fn from(colour: ColourSpace) -> Self {
        let weights = match colour.matrix {
            Matrix::Bt601 => WEIGHTS[0],
            Matrix::Bt709 => WEIGHTS[1],
        };
        Self { weights, range: colour.range, is_rgb: false }
    }
}

impl Meaning {
    /// RGB of the full range, as JPEGs may hold it.
    pub(super) const RGB: Self = Self { weights: WEIGHTS[1], range: Range::Full, is_rgb: true };

    /// Returns what the samples of a driver at `format` mean (V4L2's "Colorspaces", with its defaults).
    pub(super) fn of(layout: SampleOrder, format: &PixFormat) -> Self {
        // V4L2_COLORSPACE_*: 1 SMPTE 170M, 2 SMPTE 240M, 3 REC709, 7 JPEG, 8 sRGB, 10 BT.2020, 12 DCI-P3.
        let by_space = match format.colorspace {
            3 | 12 => 2,
            10 => 6,
            2 => 8,
            _ => 1,
        };
        // V4L2_YCBCR_ENC_*: 1 601, 2 709, 3 xv601, 4 xv709, 5 sYCC, 6 BT.2020, 7 the same of constant luminance, 8 SMPTE 240M.
        let encoding = if (1..=8).contains(&format.ycbcr_enc) { format.ycbcr_enc } else { by_space };
        let weights = match encoding {
            2 | 4 => WEIGHTS[1],
            6 | 7 => WEIGHTS[2],
            8 => WEIGHTS[3],
            _ => WEIGHTS[0],
        };
        let is_rgb = matches!(layout, SampleOrder::Rgb | SampleOrder::Bgr);
        // V4L2_QUANTIZATION_*: 1 full, 2 limited. What has no colour difference is what the sensor sees.
        let range = match format.quantization {
            1 => Range::Full,
            2 => Range::Limited,
            _ if is_rgb || layout == SampleOrder::Grey || format.colorspace == 7 => Range::Full,
            _ => Range::Limited,
        };
        match layout {
            // JFIF says what they mean, whatever the driver says.
            SampleOrder::Jpeg => ColourSpace::JPEG.into(),
            _ => Self { weights, range, is_rgb },
        }
    }

    /// Returns the meaning that a stream of such pictures has: the same, where a stream can say it.
    pub(super) fn of_stream(self) -> ColourSpace {
        match self.weights {
            _ if self.is_rgb => ColourSpace::BT709_LIMITED,
            weights if weights == WEIGHTS[0] => ColourSpace { matrix: Matrix::Bt601, range: self.range },
            _ => ColourSpace { matrix: Matrix::Bt709, range: self.range },
        }
    }

    /// Returns true if samples of this meaning need no change in a stream of `colour`.
    pub(super) fn is(self, colour: ColourSpace) -> bool {
        // The coder makes BT.709 of RGB.
        let rgb = self.is_rgb && self.range == Range::Full && colour == ColourSpace::BT709_LIMITED;
        rgb || self == colour.into()
    }
}

/// Returns the black of luma, its span and that of colour difference.
fn spans(range: Range) -> [f64; 3] {
    match range {
        Range::Limited => [16.0, 219.0, 224.0],
        Range::Full => [0.0, 255.0, 255.0],
    }
}

/// Brings the samples of a picture from one meaning to that of a stream; returns their format then.
pub(super) fn bring(
    from: Meaning,
    to: ColourSpace,
    format: PixelFormat,
    size: FrameSize,
    data: &mut [u8],
) -> PixelFormat {
    if from.is(to) {
        return format;
    }
    if format == PixelFormat::Rgb8 {
        let of_rgb = OfRgb::new(from.range, to.into());
        data.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| *pixel = of_rgb.apply(*pixel));
        return PixelFormat::YCbCr8;
    }
    let change = Change::new(from, to.into());
    let pixels = size.pixels();
    let (width, half) = (size.width(), size.halved());
    match format {
        PixelFormat::Grey8 => {
            let table: [u8; 256] = std::array::from_fn(|luma| level(change.luma(luma as u8)));
            data.iter_mut().for_each(|luma| *luma = table[usize::from(*luma)]);
        }
        PixelFormat::YCbCr8 | PixelFormat::Rgb8 => {
            for [luma, cb, cr] in data.as_chunks_mut::<3>().0 {
                let part = change.chroma(cb, cr);
                *luma = level(change.luma(*luma) + part);
            }
        }
        PixelFormat::Yuyv => {
            for [first, cb, second, cr] in data.as_chunks_mut::<4>().0 {
                let part = change.chroma(cb, cr);
                *first = level(change.luma(*first) + part);
                *second = level(change.luma(*second) + part);
            }
        }
        PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 => {
            let (columns, rows, step) =
                if format == PixelFormat::I444 { (width, size.height(), 1) } else { (half.width(), half.height(), 2) };
            let Some((luma, chroma)) = data.split_at_mut_checked(pixels) else { return format };
            for y in 0..rows {
                for x in 0..columns {
                    let at = y * columns + x;
                    let places =
                        if format == PixelFormat::Nv12 { [2 * at, 2 * at + 1] } else { [at, columns * rows + at] };
                    let Ok([cb, cr]) = chroma.get_disjoint_mut(places) else { continue };
                    let part = change.chroma(cb, cr);
                    for down in (y * step)..(y * step + step).min(size.height()) {
                        for luma in &mut luma[down * width..][x * step..(x * step + step).min(width)] {
                            *luma = level(change.luma(*luma) + part);
                        }
                    }
                }
            }
        }
    }
    format
}

fn level(value: f32) -> u8 {
    // Rust's casts stay within the type.
    (value + 0.5) as u8
}

/// From luma and colour differences of one meaning to those of another: grey stays grey, so that the new differences depend on the old
/// ones alone.
struct Change {
    luma: [f32; 2],
    /// Of both differences in luma, in Cb and in Cr.
    part: [[f32; 2]; 3],
}

impl Change {
    fn new(from: Meaning, to: Meaning) -> Self {
        let ([black, span, chroma], [to_black, to_span, to_chroma]) = (spans(from.range), spans(to.range));
        // The red, green and blue beyond grey of each difference alone.
        let beyond = |[cb, cr]: [f64; 2]| {
            let (kr, kb) = from.weights;
            let (red, blue) = (2.0 * (1.0 - kr) * cr, 2.0 * (1.0 - kb) * cb);
            [red, -(kr * red + kb * blue) / (1.0 - kr - kb), blue]
        };
        let seen = |[red, green, blue]: [f64; 3]| {
            let (kr, kb) = to.weights;
            let luma = kr * red + (1.0 - kr - kb) * green + kb * blue;
            [luma, (blue - luma) / 2.0 / (1.0 - kb), (red - luma) / 2.0 / (1.0 - kr)]
        };
        let of = [[1.0, 0.0], [0.0, 1.0]].map(|one| seen(beyond(one)));
        let scales = [to_span / chroma, to_chroma / chroma, to_chroma / chroma];
        let part = [0, 1, 2].map(|row| of.map(|column| (column[row] * scales[row]) as f32));
        let scale = to_span / span;
        Self { luma: [(to_black - black * scale) as f32, scale as f32], part }
    }

    fn luma(&self, luma: u8) -> f32 {
        self.luma[0] + self.luma[1] * f32::from(luma)
    }

    /// Changes both differences; returns what luma gets of them.
    fn chroma(&self, cb: &mut u8, cr: &mut u8) -> f32 {
        let [old_cb, old_cr] = [*cb, *cr].map(|sample| f32::from(sample) - 128.0);
        let [luma, new_cb, new_cr] = self.part.map(|[of_cb, of_cr]| of_cb * old_cb + of_cr * old_cr);
        (*cb, *cr) = (level(128.0 + new_cb), level(128.0 + new_cr));
        luma
    }
}

/// From RGB to luma and colour differences.
struct OfRgb {
    rows: [[f32; 4]; 3],
}

impl OfRgb {
    fn new(range: Range, to: Meaning) -> Self {
        let [black, span, _] = spans(range);
        let [to_black, to_span, to_chroma] = spans(to.range);
        let (kr, kb) = to.weights;
        let luma = [kr, 1.0 - kr - kb, kb];
        let difference = |of: usize, weight: f64| {
            std::array::from_fn(|at| (f64::from(u8::from(at == of)) - luma[at]) / 2.0 / (1.0 - weight))
        };
        let rows: [[f64; 3]; 3] = [luma, difference(2, kb), difference(0, kr)];
        let of = |row: [f64; 3], scale: f64, zero: f64| {
            let row = row.map(|weight| weight * scale / span);
            let zero = zero - black * row.iter().sum::<f64>();
            [row[0] as f32, row[1] as f32, row[2] as f32, zero as f32]
        };
        Self { rows: [of(rows[0], to_span, to_black), of(rows[1], to_chroma, 128.0), of(rows[2], to_chroma, 128.0)] }
    }

    fn apply(&self, rgb: [u8; 3]) -> [u8; 3] {
        let [red, green, blue] = rgb.map(f32::from);
        self.rows
            .map(|[of_red, of_green, of_blue, zero]| level(of_red * red + of_green * green + of_blue * blue + zero))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURS: [[u8; 3]; 5] = [[200, 30, 30], [30, 180, 40], [30, 40, 200], [235, 235, 235], [20, 20, 20]];

    /// The colour as samples of a meaning, by the definition.
    fn sample(rgb: [u8; 3], meaning: Meaning) -> [f64; 3] {
        let (kr, kb) = meaning.weights;
        let [black, span, chroma] = spans(meaning.range);
        let [red, green, blue] = rgb.map(|part| f64::from(part) / 255.0);
        let luma = kr * red + (1.0 - kr - kb) * green + kb * blue;
        let (cb, cr) = ((blue - luma) / 2.0 / (1.0 - kb), (red - luma) / 2.0 / (1.0 - kr));
        [black + span * luma, 128.0 + chroma * cb, 128.0 + chroma * cr]
    }

    #[test]
    fn colours_stay_what_they_are_in_every_meaning_and_order() {
        let size = FrameSize::new(2, 2).unwrap();
        for weights in WEIGHTS {
            for range in [Range::Full, Range::Limited] {
                let from = Meaning { weights, range, is_rgb: false };
                for to in [ColourSpace::JPEG, ColourSpace::BT601_LIMITED, ColourSpace::BT709_LIMITED] {
                    for rgb in COLOURS {
                        let [y, u, v] = sample(rgb, from).map(|value| value.round() as u8);
                        let wanted = sample(rgb, to.into());
                        for (format, mut data, at) in [
                            (PixelFormat::YCbCr8, [y, u, v].repeat(4), [0, 1, 2]),
                            (PixelFormat::Yuyv, [y, u, y, v].repeat(2), [2, 1, 3]),
                            (PixelFormat::Nv12, vec![y, y, y, y, u, v], [3, 4, 5]),
                            (PixelFormat::I420, vec![y, y, y, y, u, v], [3, 4, 5]),
                            (PixelFormat::I444, [[y; 4], [u; 4], [v; 4]].concat(), [3, 7, 11]),
                        ] {
                            assert_eq!(bring(from, to, format, size, &mut data), format);
                            for (at, wanted) in at.into_iter().zip(wanted) {
                                assert!(
                                    (f64::from(data[at]) - wanted).abs() < 1.7,
                                    "{format:?} {from:?} {to:?} {rgb:?} {data:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rgb_becomes_what_the_stream_has() {
        for rgb in COLOURS {
            let mut data = rgb.to_vec();
            let size = FrameSize::new(1, 1).unwrap();
            let format = bring(Meaning::RGB, ColourSpace::JPEG, PixelFormat::Rgb8, size, &mut data);
            let wanted = sample(rgb, ColourSpace::JPEG.into());
            assert!(data.iter().zip(wanted).all(|(got, wanted)| (f64::from(*got) - wanted).abs() <= 0.51), "{data:?}");
            assert_eq!(format, PixelFormat::YCbCr8);
        }
        let mut data = vec![1, 2, 3];
        let size = FrameSize::new(1, 1).unwrap();
        let format = bring(Meaning::RGB, ColourSpace::BT709_LIMITED, PixelFormat::Rgb8, size, &mut data);
        assert_eq!((format, data), (PixelFormat::Rgb8, vec![1, 2, 3]), "the coder does it");
    }

    #[test]
    fn what_a_driver_says_holds_and_otherwise_its_defaults() {
        let of = |layout, colorspace, ycbcr_enc, quantization| {
            Meaning::of(layout, &PixFormat { colorspace, ycbcr_enc, quantization, ..PixFormat::default() })
        };
        let is = |meaning: Meaning, colour: ColourSpace| assert_eq!(meaning, colour.into());
        is(of(SampleOrder::Yuyv, 8, 0, 0), ColourSpace::BT601_LIMITED);
        is(of(SampleOrder::Yuyv, 3, 0, 0), ColourSpace::BT709_LIMITED);
        is(of(SampleOrder::Nv12, 3, 1, 0), ColourSpace::BT601_LIMITED);
        is(of(SampleOrder::Nv12, 8, 2, 2), ColourSpace::BT709_LIMITED);
        is(of(SampleOrder::Yu12, 8, 0, 1), ColourSpace::JPEG);
        is(of(SampleOrder::Yu12, 7, 0, 0), ColourSpace::JPEG);
        is(of(SampleOrder::Grey, 8, 0, 0), ColourSpace::JPEG);
        is(of(SampleOrder::Grey, 8, 0, 2), ColourSpace::BT601_LIMITED);
        is(of(SampleOrder::Jpeg, 3, 2, 2), ColourSpace::JPEG);
        is(of(SampleOrder::Yuyv, 99, 99, 99), ColourSpace::BT601_LIMITED);
        assert!(of(SampleOrder::Rgb, 8, 0, 0).is(ColourSpace::BT709_LIMITED));
        assert!(!of(SampleOrder::Rgb, 8, 0, 2).is(ColourSpace::BT709_LIMITED));
        assert_eq!(of(SampleOrder::Yuyv, 10, 0, 0).of_stream(), ColourSpace::BT709_LIMITED);
        assert_eq!(of(SampleOrder::Yuyv, 2, 0, 0).weights, WEIGHTS[3]);
    }
}
