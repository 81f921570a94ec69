//! Picture formats that a rate allows, as an estimate.

use std::time::Duration;

use picture::frame::{FrameRate, FrameSize};

use crate::units::Bitrate;

/// Bits per pixel, and PSNR-Y in dB of the hardest, the middle and the easiest of seven pictures and clips at 720p.
///
/// Measured with `wavelet encode --bpp` (quad, CDF 9/7, 4:2:0, weights for PSNR): eight frames each of three clips (a
/// person signing, a dog in a dark room, a shared screen with a talking head) and four photographs. The hardest is
/// dogs' fur from near, the easiest the dark room or the screen. A room with a musician in front of a camera lies
/// between middle and easiest.
const MEASURED: [(f64, ExpectedPsnr); 10] = [
    (0.05, psnr(24.3, 29.0, 43.0)),
    (0.1, psnr(25.8, 32.4, 46.7)),
    (0.2, psnr(27.9, 36.8, 49.9)),
    (0.3, psnr(29.4, 39.6, 51.5)),
    (0.5, psnr(31.9, 43.4, 56.8)),
    (0.75, psnr(34.4, 46.2, 60.0)),
    (1.0, psnr(36.5, 47.9, 60.0)),
    (1.5, psnr(40.2, 50.8, 60.0)),
    (2.0, psnr(43.4, 53.0, 60.0)),
    (3.0, psnr(48.9, 58.5, 60.0)),
];

/// Bits per pixel beyond which a picture does not look better.
const BITS_PER_PIXEL_USEFUL: f64 = 1.5;
/// Part of a rate that carries coded pictures; the rest is headers, parity and repeats.
const CODED_SHARE: f64 = 0.85;

/// An estimate of the PSNR of the luma, dB; 60 stands for more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedPsnr {
    /// PSNR of hard pictures, dB.
    pub hard: f64,
    /// PSNR of common pictures, dB.
    pub middle: f64,
    /// PSNR of easy pictures, dB.
    pub easy: f64,
}

const fn psnr(hard: f64, middle: f64, easy: f64) -> ExpectedPsnr {
    ExpectedPsnr { hard, middle, easy }
}

/// Returns the estimate for so many coded bits per pixel, between the measured points by the logarithm of the rate, the
/// nearest one beyond them.
pub fn expected_psnr(bits_per_pixel: f64) -> ExpectedPsnr {
    let above = MEASURED.iter().position(|(bits, _)| *bits >= bits_per_pixel);
    let (low, high) = match above {
        Some(0) => return MEASURED[0].1,
        Some(above) => (MEASURED[above - 1], MEASURED[above]),
        None => return MEASURED[MEASURED.len() - 1].1,
    };
    let share = (bits_per_pixel / low.0).ln() / (high.0 / low.0).ln();
    let between = |low: f64, high: f64| low + share * (high - low);
    psnr(between(low.1.hard, high.1.hard), between(low.1.middle, high.1.middle), between(low.1.easy, high.1.easy))
}

/// A rate that could be set, and what it means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChoice {
    /// Rate to give as `--rate`.
    pub rate: Bitrate,
    /// Coded bits per pixel.
    pub bits_per_pixel: f64,
    /// Picture quality to expect.
    pub psnr: ExpectedPsnr,
    /// Duration of sending a frame at the usable rate: latency that the line adds.
    pub serialisation: Duration,
}

/// Returns a quarter, a half and three quarters of the usable rate.
pub fn choices(usable: Bitrate, size: FrameSize, frame_rate: FrameRate) -> [RateChoice; 3] {
    [1, 2, 3].map(|quarters| choice(rounded(usable.as_bps() / 4 * quarters), usable, size, frame_rate))
}

/// Returns half of the usable rate, or less where more bits do not visibly improve the picture.
pub fn recommended(usable: Bitrate, size: FrameSize, frame_rate: FrameRate) -> RateChoice {
    let useful = BITS_PER_PIXEL_USEFUL / CODED_SHARE * size.pixels() as f64 * frame_rate.as_f64();
    choice(rounded((usable.as_bps() / 2).min(useful as u64)), usable, size, frame_rate)
}

fn choice(rate: Bitrate, usable: Bitrate, size: FrameSize, frame_rate: FrameRate) -> RateChoice {
    let per_frame = rate.as_bps() as f64 / frame_rate.as_f64();
    let bits_per_pixel = CODED_SHARE * per_frame / size.pixels() as f64;
    let serialisation = Duration::from_secs_f64(per_frame / usable.as_bps().max(1) as f64);
    RateChoice { rate, bits_per_pixel, psnr: expected_psnr(bits_per_pixel), serialisation }
}

/// Rounds down to two digits, so that the rate can be typed.
fn rounded(bps: u64) -> Bitrate {
    let digits = bps.checked_ilog10().unwrap_or(0).saturating_sub(1);
    let unit = 10u64.pow(digits);
    Bitrate::from_bps(bps / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_rises_with_the_bits_and_meets_the_measured_points() {
        let mut before = 0.0;
        for step in 1..400 {
            let psnr = expected_psnr(f64::from(step) / 100.0);
            assert!(psnr.hard >= before && psnr.hard < psnr.middle && psnr.middle < psnr.easy, "{psnr:?}");
            before = psnr.hard;
        }
        assert_eq!(expected_psnr(0.3), psnr(29.4, 39.6, 51.5));
        assert_eq!(expected_psnr(0.0), MEASURED[0].1);
        assert_eq!(expected_psnr(f64::INFINITY), MEASURED[9].1);
    }

    #[test]
    fn a_frame_takes_its_share_of_the_interval() {
        let (size, fps) = (FrameSize::USUAL, FrameRate::USUAL);
        let usable = Bitrate::from_bps(41_700_000);
        let [_, half, _] = choices(usable, size, fps);
        assert_eq!(half.rate, Bitrate::from_bps(20_000_000));
        assert!((half.serialisation.as_secs_f64() - 0.016).abs() < 1e-4, "{half:?}");
        assert!((half.bits_per_pixel - 0.615).abs() < 1e-3, "{half:?}");
        assert_eq!(recommended(usable, size, fps), half);
        assert_eq!(recommended(Bitrate::from_bps(1_000_000_000), size, fps).rate, Bitrate::from_bps(48_000_000));
        assert_eq!(choices(Bitrate::from_bps(0), size, fps)[2].serialisation, Duration::ZERO);
    }
}
