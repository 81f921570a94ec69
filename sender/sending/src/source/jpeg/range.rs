//! Samples of the limited range to the full one (ITU-R BT.601, section 2.5.3).

use picture::frame::{FrameSize, PixelFormat};

/// Span of luma and of chroma in the limited range, and what is black.
const SPANS: [(f32, f32); 2] = [(219.0, 16.0), (224.0, 16.0)];

/// Brings samples of the limited range to the full one; what is outside of it is cut.
pub(super) fn widen(format: PixelFormat, size: FrameSize, data: &mut [u8]) {
    // A conversion to an integer stays inside its bounds.
    let full = |sample: usize, span: f32, black: f32| ((sample as f32 - black) * 255.0 / span + 0.5) as u8;
    let tables = SPANS.map(|(span, black)| std::array::from_fn::<u8, 256, _>(|at| full(at, span, black)));
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
    fn the_limited_range_is_widened_around_grey() {
        let size = FrameSize::new(2, 1).unwrap();
        for (format, wide, limited) in [
            (PixelFormat::YCbCr8, vec![0, 0, 255, 255, 128, 1], vec![16, 16, 240, 235, 128, 17]),
            (PixelFormat::Yuyv, vec![0, 255, 255, 0], vec![16, 240, 235, 16]),
            (PixelFormat::I420, vec![0, 255, 255, 0], vec![16, 235, 240, 16]),
            (PixelFormat::Grey8, vec![0, 255], vec![16, 235]),
            (PixelFormat::Rgb8, vec![0, 255, 128, 0, 0, 0], vec![16, 235, 126, 16, 16, 16]),
        ] {
            let mut data = limited;
            widen(format, size, &mut data);
            assert!(data.iter().zip(&wide).all(|(a, b)| a.abs_diff(*b) <= 1), "{format:?} {data:?}");
        }
    }
}
