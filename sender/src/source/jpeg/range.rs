//! Samples of the full range to the limited one and back (ITU-R BT.601, section 2.5.3).

use picture::frame::{FrameSize, PixelFormat};

/// Span of luma and of chroma in the limited range, and what is black.
const SPANS: [(f32, f32); 2] = [(219.0, 16.0), (224.0, 16.0)];

/// Brings samples of the full range, as JPEGs have them, to the limited one.
pub(in super::super) fn narrow(format: PixelFormat, size: FrameSize, data: &mut [u8]) {
    apply(format, size, data, |sample, (span, black)| black + sample * span / 255.0);
}

/// Brings samples of the limited range to the full one; what is outside of it is cut.
pub(super) fn widen(format: PixelFormat, size: FrameSize, data: &mut [u8]) {
    apply(format, size, data, |sample, (span, black)| (sample - black) * 255.0 / span);
}

fn apply(format: PixelFormat, size: FrameSize, data: &mut [u8], map: fn(f32, (f32, f32)) -> f32) {
    // A conversion to an integer stays inside its bounds.
    let tables = SPANS.map(|span| std::array::from_fn::<u8, 256, _>(|at| (map(at as f32, span) + 0.5) as u8));
    let [luma, chroma] = &tables;
    match format {
        PixelFormat::Rgb8 => data.iter_mut().for_each(|sample| *sample = luma[usize::from(*sample)]),
        PixelFormat::YCbCr8 => each(data, [luma, chroma, chroma]),
        PixelFormat::Yuyv => each(data, [luma, chroma, luma, chroma]),
        PixelFormat::Nv12 | PixelFormat::I420 | PixelFormat::I444 | PixelFormat::Grey8 => {
            let (lumas, chromas) = data.split_at_mut(size.pixels().min(data.len()));
            each(lumas, [luma]);
            each(chromas, [chroma]);
        }
    }
}

fn each<const N: usize>(data: &mut [u8], tables: [&[u8; 256]; N]) {
    for pixel in data.chunks_exact_mut(N) {
        for (sample, table) in pixel.iter_mut().zip(tables) {
            *sample = table[usize::from(*sample)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_range_is_narrowed_around_grey_and_widened_again() {
        let size = FrameSize::new(2, 1).unwrap();
        for (format, wide, limited) in [
            (PixelFormat::YCbCr8, vec![0, 0, 255, 255, 128, 1], vec![16, 16, 240, 235, 128, 17]),
            (PixelFormat::Yuyv, vec![0, 255, 255, 0], vec![16, 240, 235, 16]),
            (PixelFormat::I420, vec![0, 255, 255, 0], vec![16, 235, 240, 16]),
            (PixelFormat::Grey8, vec![0, 255], vec![16, 235]),
            (PixelFormat::Rgb8, vec![0, 255, 128, 0, 0, 0], vec![16, 235, 126, 16, 16, 16]),
        ] {
            let mut data = wide.clone();
            narrow(format, size, &mut data);
            assert_eq!(data, limited, "{format:?}");
            widen(format, size, &mut data);
            assert!(data.iter().zip(&wide).all(|(a, b)| a.abs_diff(*b) <= 1), "{format:?} {data:?}");
        }
    }
}
