//! The two fields of an interlaced picture, woven into one.

use picture::frame::{FrameSize, PixelFormat};

use super::header::Field;

/// Weaves two fields into `upper`, the picture that has `upper` in its lines 0, 2, .. and `lower` in the others. Returns its size;
/// `None` if no picture may be so high.
pub(super) fn weave(
    format: PixelFormat,
    size: FrameSize,
    first: (Field, &mut Vec<u8>),
    second: &[u8],
) -> Option<FrameSize> {
    let whole = FrameSize::new(size.width() as u32, 2 * size.height() as u32).ok()?;
    let (which, first) = first;
    let fields = if which == Field::Upper { [first.as_slice(), second] } else { [second, first.as_slice()] };
    let mut out = Vec::with_capacity(2 * first.len());
    let mut at = 0;
    for (row_bytes, rows) in planes(format, size) {
        for row in 0..rows {
            for field in fields {
                out.extend_from_slice(&field[at + row * row_bytes..][..row_bytes]);
            }
        }
        at += rows * row_bytes;
    }
    *first = out;
    Some(whole)
}

/// Returns the bytes of a row and the rows of each plane.
pub(super) fn planes(format: PixelFormat, size: FrameSize) -> Vec<(usize, usize)> {
    let (width, height, half) = (size.width(), size.height(), size.halved());
    match format {
        PixelFormat::Rgb8 | PixelFormat::YCbCr8 => vec![(3 * width, height)],
        PixelFormat::Yuyv => vec![(4 * half.width(), height)],
        PixelFormat::Nv12 => vec![(width, height), (2 * half.width(), half.height())],
        PixelFormat::I420 => vec![(width, height), (half.width(), half.height()), (half.width(), half.height())],
        PixelFormat::I444 => vec![(width, height); 3],
        PixelFormat::Grey8 => vec![(width, height)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_fields_stand_in_turn_in_each_plane() {
        let size = FrameSize::new(2, 2).unwrap();
        let (upper, lower) = (vec![1, 1, 3, 3, 11, 21], vec![2, 2, 4, 4, 12, 22]);
        let woven = vec![1, 1, 2, 2, 3, 3, 4, 4, 11, 12, 21, 22];
        for (which, first, second) in [(Field::Upper, &upper, &lower), (Field::Lower, &lower, &upper)] {
            let mut picture = first.clone();
            let whole = weave(PixelFormat::I420, size, (which, &mut picture), second);
            assert_eq!((whole, &picture), (FrameSize::new(2, 4).ok(), &woven));
        }
        let (high, mut data) = (FrameSize::new(1, 9000).unwrap(), vec![0; 9000]);
        assert_eq!(weave(PixelFormat::Grey8, high, (Field::Upper, &mut data), &[0; 9000]), None);
    }
}
