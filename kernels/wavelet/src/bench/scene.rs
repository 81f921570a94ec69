//! A synthetic picture with smooth areas, edges, every frequency and noise.

use picture::frame::{BitDepth, FrameSize, PixelFormat};

use crate::io::PictureInfo;

/// Returns the description of [`i420`]'s pictures.
pub(crate) fn info(size: FrameSize) -> PictureInfo {
    PictureInfo::usual(PixelFormat::I420, BitDepth::Eight, size)
}

/// Returns a 4:2:0 picture: gradients, a zone plate, a disc and noise like a camera's.
pub(crate) fn i420(size: FrameSize) -> Vec<u8> {
    let mut data = Vec::with_capacity(PixelFormat::I420.bytes(size));
    let (width, height) = (size.width(), size.height());
    let mut noise = 1_u32;
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
            let plate = (300.0 * (u * u + v * v)).cos() * 24.0 * (1.0 - u);
            let disc = if (u - 0.6).hypot(v - 0.4) < 0.2 { 50.0 } else { 0.0 };
            // Marsaglia's xorshift.
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            let grain = (noise % 7) as f32 - 3.0;
            data.push((70.0 + 60.0 * v + plate + disc + grain).clamp(0.0, 255.0) as u8);
        }
    }
    let half = size.halved();
    for phase in [0.0, 2.0] {
        for y in 0..half.height() {
            for x in 0..half.width() {
                let (u, v) = (x as f32 / half.width() as f32, y as f32 / half.height() as f32);
                data.push((128.0 + 40.0 * (4.0 * u + 3.0 * v + phase).sin()) as u8);
            }
        }
    }
    data
}

/// Returns the sample of a channel at a column and row, a whole number of -128 to 127: edges and gradients of many
/// sizes, and noise.
pub(crate) fn sample(channel: usize, x: usize, y: usize) -> f32 {
    // The finaliser of MurmurHash3 (Appleby, 2011).
    let mut noise = (x as u32) ^ (y as u32).rotate_left(16) ^ (channel as u32).rotate_left(8);
    noise = (noise ^ (noise >> 16)).wrapping_mul(0x85eb_ca6b);
    noise = (noise ^ (noise >> 13)).wrapping_mul(0xc2b2_ae35);
    let grain = (noise >> 16) % 7;
    let gradient = (x + 2 * y) / (2 + channel) % 160;
    let tiles = ((x >> 5) ^ (y >> 6)) % 8 * 11;
    (gradient + tiles + grain as usize) as f32 - 128.0
}

/// Returns the planes of [`i420`] as red, green and blue, the last two at twice their size.
#[cfg(any(test, feature = "opencl"))]
pub(crate) fn rgb(size: FrameSize) -> Vec<u8> {
    let planes = i420(size);
    let (luma, chroma) = planes.split_at(size.pixels());
    let (green, blue) = chroma.split_at(size.halved().pixels());
    let half = |plane: &[u8], x: usize, y: usize| plane[y / 2 * size.halved().width() + x / 2];
    let rows = luma.chunks(size.width()).enumerate();
    rows.flat_map(|(y, row)| {
        row.iter().enumerate().flat_map(move |(x, &red)| [red, half(green, x, y), half(blue, x, y)])
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_fills_its_format() {
        for (width, height) in [(1, 1), (3, 5), (64, 36)] {
            let size = FrameSize::new(width, height).unwrap();
            assert_eq!(i420(size).len(), info(size).format.bytes(size));
            assert_eq!(rgb(size).len(), PixelFormat::Rgb8.bytes(size));
        }
    }

    #[test]
    fn samples_differ_and_are_those_of_a_byte() {
        let row = |channel, y| (0..64).map(|x| sample(channel, x, y)).collect::<Vec<_>>();
        assert!(row(0, 0) != row(1, 0) && row(0, 0) != row(0, 8) && row(1, 3) != row(2, 3));
        let values =
            (0..3).flat_map(|channel| (0..2000).flat_map(move |x| [sample(channel, x, 0), sample(channel, x, x)]));
        assert!(values.into_iter().all(|value| (-128.0..=127.0).contains(&value) && value == value.floor()));
    }
}
