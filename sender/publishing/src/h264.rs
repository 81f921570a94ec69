//! H.264 by openh264, built from its source: baseline, no frame that is decoded out of order, so that none waits for another.

use openh264::OpenH264API;
use openh264::encoder::{
    BitRate, Complexity, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, Profile, RateControlMode,
    SpsPpsStrategy, UsageType, VuiConfig,
};
use openh264::formats::YUVSlices;

use crate::canvas::Canvas;

/// The library refuses.
#[derive(Debug, thiserror::Error)]
#[error("pictures cannot be coded as H.264: {0}")]
pub(crate) struct H264Error(#[from] openh264::Error);

/// Codes pictures of one size.
pub(crate) struct H264Coder(Encoder);

impl std::fmt::Debug for H264Coder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("H264Coder")
    }
}

/// A coded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coded {
    /// It can be decoded alone, and brings its parameters.
    pub(crate) is_key: bool,
    /// Annex B.
    pub(crate) bytes: Vec<u8>,
}

impl H264Coder {
    /// Creates a coder of so many bits and pictures a second.
    pub(crate) fn new(bps: u32, fps: u32) -> Result<Self, H264Error> {
        let config = EncoderConfig::new()
            .bitrate(BitRate::from_bps(bps))
            .max_frame_rate(FrameRate::from_hz(fps as f32))
            .usage_type(UsageType::CameraVideoRealTime)
            .rate_control_mode(RateControlMode::Bitrate)
            // Pictures are left out where there are too many bits.
            .skip_frames(true)
            .sps_pps_strategy(SpsPpsStrategy::ConstantId)
            .profile(Profile::Baseline)
            .complexity(Complexity::Low)
            // Who asks for key frames is the caller.
            .intra_frame_period(IntraFramePeriod::from_num_frames(0))
            .scene_change_detect(false)
            .num_threads(1)
            .vui(VuiConfig::bt709());
        Ok(Self(Encoder::with_api_config(OpenH264API::from_source(), config)?))
    }

    /// Codes a picture, a key frame if one is asked for; none if the rate leaves nothing for it. `at_ms`: its time.
    pub(crate) fn code(&mut self, canvas: &Canvas, key: bool, at_ms: u64) -> Result<Option<Coded>, H264Error> {
        if key {
            self.0.force_intra_frame();
        }
        let (width, height) = canvas.size();
        let picture = YUVSlices::new(canvas.planes(), (width, height), (width, width / 2, width / 2));
        let coded = self.0.encode_at(&picture, openh264::Timestamp::from_millis(at_ms))?;
        let is_key = match coded.frame_type() {
            FrameType::IDR => true,
            FrameType::I | FrameType::P | FrameType::IPMixed => false,
            FrameType::Skip | FrameType::Invalid => return Ok(None),
        };
        let bytes = coded.to_vec();
        Ok((!bytes.is_empty()).then_some(Coded { is_key, bytes }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use picture::frame::{ColourSpace, FrameSize, PixelFormat};

    use super::*;
    use crate::canvas::{Layout, Raw};

    /// Draws something that moves.
    fn draw(canvas: &mut Canvas, place: usize, number: usize) {
        let size = FrameSize::new(320, 180).unwrap();
        let mut data = vec![128; PixelFormat::I420.bytes(size)];
        for (at, luma) in data[..320 * 180].iter_mut().enumerate() {
            let (x, y) = (at % 320, at / 320);
            *luma = (((x + 3 * number) / 20 + y / 20) % 2 * 150 + 40 + place * 9) as u8;
        }
        canvas.draw(place, Raw { format: PixelFormat::I420, size, colour: ColourSpace::BT709_LIMITED, data: &data });
    }

    #[test]
    fn pictures_keep_their_rate_and_are_what_they_were() {
        let mut canvas = Canvas::new(Layout::of(2));
        let mut coder = H264Coder::new(1_200_000, 30).unwrap();
        let mut decoder = openh264::decoder::Decoder::new().unwrap();
        let (mut bytes, mut keys) = (0, Vec::new());
        for number in 0..60 {
            draw(&mut canvas, 0, number);
            draw(&mut canvas, 1, 2 * number);
            let Some(coded) = coder.code(&canvas, number % 30 == 0, number as u64 * 33).unwrap() else { continue };
            bytes += coded.bytes.len();
            if coded.is_key {
                keys.push(number);
                // Its own parameters, by which who comes in between begins.
                assert!(coded.bytes.windows(5).any(|five| five[..4] == [0, 0, 0, 1] && five[4] & 31 == 7));
            }
            let picture = decoder.decode(&coded.bytes).unwrap().unwrap();
            use openh264::formats::YUVSource as _;
            assert_eq!(picture.dimensions(), (1280, 360));
            let (luma, ..) = canvas.planes();
            let stride = picture.strides().0;
            let wrong: u64 = (0..360 * 1280)
                .map(|at| u64::from(luma[at].abs_diff(picture.y()[at / 1280 * stride + at % 1280])).pow(2))
                .sum();
            let psnr = 10.0 * (255.0 * 255.0 * 460_800.0 / wrong as f64).log10();
            assert!(psnr > 28.0, "{number}: {psnr:.1} dB");
        }
        assert_eq!(keys, [0, 30]);
        let bps = bytes * 8 / 2;
        assert!((100_000..1_800_000).contains(&bps), "{bps} bits a second");
    }
}
