//! A synthetic picture with smooth areas, edges, every frequency and noise.

use anyhow::{Context, Result};
use common::frame::{ColourSpace, FrameSize, PixelFormat};
use common::units::FrameRate;

use crate::io::PictureInfo;

/// What [`i420`] makes.
pub(crate) fn info(size: FrameSize) -> Result<PictureInfo> {
    let frame_rate = FrameRate::new(30, 1).context("no frame rate")?;
    Ok(PictureInfo { size, format: PixelFormat::I420, colour: ColourSpace::BT709_LIMITED, frame_rate })
}

/// A 4:2:0 picture: gradients, a zone plate, a disc and noise like a camera's.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_scene_fills_its_format() {
        for (width, height) in [(1, 1), (3, 5), (64, 36)] {
            let size = FrameSize::new(width, height).unwrap();
            assert_eq!(i420(size).len(), info(size).unwrap().format.bytes(size));
        }
    }
}
