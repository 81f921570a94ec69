//! Planar Y, Cb, Cr to RGB for files that hold RGB, and back.

use picture::frame::{ColourSpace, Matrix, PixelFormat, Range};

use super::PictureInfo;

/// Returns RGB, 3 bytes a pixel, of a planar or grey picture. A chroma sample of 4:2:0 covers its 2x2 pixels.
pub(crate) fn from_planar(info: &PictureInfo, data: &[u8]) -> Vec<u8> {
    let (width, height) = (info.size.width(), info.size.height());
    if info.format == PixelFormat::Grey8 {
        return data.iter().flat_map(|&grey| [grey; 3]).collect();
    }
    let shift = usize::from(info.format == PixelFormat::I420);
    let chroma_width = (width + shift) >> shift;
    let chroma_pixels = chroma_width * ((height + shift) >> shift);
    let (luma, chroma) = data.split_at(info.size.pixels());
    let (blue, red) = chroma.split_at(chroma_pixels);
    let convert = converter(info.colour);
    let mut rgb = Vec::with_capacity(3 * luma.len());
    for y in 0..height {
        let row = (y >> shift) * chroma_width;
        for x in 0..width {
            let at = row + (x >> shift);
            rgb.extend(convert([luma[y * width + x], blue[at], red[at]].map(f32::from)));
        }
    }
    rgb
}

/// RGB, 3 bytes a pixel, of planes of Y, Cb and Cr at full size that have not been rounded and are centred at `offset`.
pub(crate) fn from_values<T: Into<f64> + Copy>(info: &PictureInfo, planes: &[Vec<T>], offset: u8) -> Option<Vec<u8>> {
    let [y, cb, cr] = planes else { return None };
    let convert = converter(info.colour);
    let pixels = y.iter().zip(cb).zip(cr);
    let samples = pixels.map(|((&y, &cb), &cr)| [y, cb, cr].map(|value| (value.into() + f64::from(offset)) as f32));
    Some(samples.flat_map(convert).collect())
}

/// The inverse of E'Y = kr R + kg G + kb B with its two scaled differences (ITU-R BT.709, item 3).
fn converter(colour: ColourSpace) -> impl Fn([f32; 3]) -> [u8; 3] {
    let (kr, kb) = weights(colour.matrix);
    let kg = 1.0 - kr - kb;
    let (black, luma_span, chroma_span) = match colour.range {
        Range::Limited => (16.0, 219.0, 224.0),
        Range::Full => (0.0, 255.0, 255.0),
    };
    move |[y, cb, cr]: [f32; 3]| {
        let y = (y - black) * (255.0 / luma_span);
        let blue = (cb - 128.0) * (255.0 / chroma_span) * 2.0 * (1.0 - kb);
        let red = (cr - 128.0) * (255.0 / chroma_span) * 2.0 * (1.0 - kr);
        let green = -(kr * red + kb * blue) / kg;
        [y + red, y + green, y + blue].map(|sample| sample.round().clamp(0.0, 255.0) as u8)
    }
}

/// Weights of red and blue in luma.
const fn weights(matrix: Matrix) -> (f32, f32) {
    match matrix {
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
    }
}

/// Returns what makes Y, Cb and Cr of BT.709 in limited range of RGB, of samples of `depth` bits, 8 or more.
pub(crate) fn to_ycbcr(depth: u8) -> impl Fn([i32; 3]) -> [i32; 3] {
    let (kr, kb) = weights(Matrix::Bt709);
    let (unit, most) = (2_f32.powi(i32::from(depth) - 8), 2_f32.powi(depth.into()) - 1.0);
    move |rgb| {
        let [r, g, b] = rgb.map(|sample| sample as f32 / most);
        let y = kr * r + (1.0 - kr - kb) * g + kb * b;
        let (blue, red) = ((b - y) / (2.0 * (1.0 - kb)), (r - y) / (2.0 * (1.0 - kr)));
        [16.0 + 219.0 * y, 128.0 + 224.0 * blue, 128.0 + 224.0 * red].map(|sample| (sample * unit).round() as i32)
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::{BitDepth, FrameSize};

    use super::*;

    #[test]
    fn primaries_and_grey_come_out_as_they_went_in() {
        for (ycbcr, rgb) in [
            ([235, 128, 128], [255, 255, 255]),
            ([16, 128, 128], [0, 0, 0]),
            ([63, 102, 240], [255, 1, 0]),
            ([32, 240, 118], [1, 0, 255]),
        ] {
            assert_eq!(converter(ColourSpace::BT709_LIMITED)(ycbcr.map(|sample: u8| f32::from(sample))), rgb);
        }
        assert_eq!(converter(ColourSpace::JPEG)([76.0, 85.0, 255.0]), [254, 0, 0]);
    }

    #[test]
    fn rgb_goes_there_and_back() {
        for rgb in (0..3 * 3 * 3).map(|at| [at % 3, at / 3 % 3, at / 9].map(|level| level * 127)) {
            let ycbcr = to_ycbcr(8)(rgb);
            let back = converter(ColourSpace::BT709_LIMITED)(ycbcr.map(|sample| sample as f32));
            let differences = rgb.into_iter().zip(back).map(|(rgb, back)| (rgb - i32::from(back)).abs());
            assert!(differences.max() <= Some(2), "{rgb:?}, {ycbcr:?}, {back:?}");
        }
        assert_eq!(to_ycbcr(10)([1023; 3]), [940, 512, 512]);
    }

    #[test]
    fn odd_sizes_find_their_chroma() {
        let info = PictureInfo::usual(PixelFormat::I420, BitDepth::Eight, FrameSize::new(3, 1).unwrap());
        let rgb = from_planar(&info, &[126, 126, 126, 128, 240, 128, 128]);
        assert_eq!(rgb[..6], [128; 6]);
        assert_eq!((rgb[6], rgb[8]), (128, 255));
    }
}
