//! Pictures of a clip, and how near two are.

use anyhow::{Result, bail};
use common::config::{parse_sender, resolve_sender};
use picture::frame::{FrameSize, PixelFormat};
use sending::source::{SourceInfo, SourceSpec};

/// Returns the peak signal to noise ratio of 8-bit samples, dB; 99 for equal pictures.
pub(crate) fn psnr(sent: &[u8], received: &[u8]) -> f64 {
    picture::psnr::psnr_db(sent, received).min(99.0)
}

/// Gives the first pictures of a clip (a sender's source such as `mjpeg:PATH` or `y4m:PATH`), `most` at most, to `take`:
/// 4:2:0 planes.
pub(crate) fn each_picture(
    clip: &str,
    most: usize,
    mut take: impl FnMut(SourceInfo, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let config = resolve_sender(&parse_sender("")?)?;
    let mut source = sending::source::open(&SourceSpec::parse(&format!("{clip}:fps=0"))?, &config)?;
    let info = source.info();
    for _ in 0..most {
        let Some(frame) = source.next(Vec::new())? else { break };
        let planes = match frame.format {
            PixelFormat::I420 => frame.data.to_vec(),
            PixelFormat::YCbCr8 => planes_of(&frame.data, info.size),
            PixelFormat::Yuyv => planes_of_pairs(&frame.data, info.size),
            other => bail!("a clip of {other:?} is not supported here: give 4:2:0 Y4M or motion JPEG"),
        };
        take(info, planes)?;
    }
    Ok(())
}

/// Returns the 4:2:0 planes of samples in pairs of pixels; of two rows the upper one's chroma.
fn planes_of_pairs(pairs: &[u8], size: FrameSize) -> Vec<u8> {
    let rows = || pairs.chunks_exact(4 * size.width().div_ceil(2));
    let mut planes: Vec<u8> = rows().flat_map(|row| row.iter().step_by(2).take(size.width())).copied().collect();
    for place in [1, 3] {
        planes.extend(rows().step_by(2).flat_map(|row| row.iter().skip(place).step_by(4)));
    }
    planes
}

/// Returns the 4:2:0 planes of interleaved samples; each chroma sample is one of its four.
fn planes_of(interleaved: &[u8], size: FrameSize) -> Vec<u8> {
    let mut planes: Vec<u8> = interleaved.chunks_exact(3).map(|pixel| pixel[0]).collect();
    for channel in [1, 2] {
        for row in interleaved.chunks_exact(3 * size.width()).step_by(2) {
            planes.extend(row.chunks_exact(3).step_by(2).map(|pixel| pixel[channel]));
        }
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_pixels_become_planes() {
        // Three pixels a row, of which the last stands in a pair with nothing.
        let rows = [[1, 101, 2, 201, 3, 102, 0, 202], [4, 0, 5, 0, 6, 0, 0, 0], [7, 103, 8, 203, 9, 104, 0, 204]];
        let planes = planes_of_pairs(rows.as_flattened(), FrameSize::new(3, 3).unwrap());
        assert_eq!(planes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 101, 102, 103, 104, 201, 202, 203, 204]);
    }
}
