//! The transfers of one colour channel overlap the kernels of another where the driver lets them, and do not when told
//! to run one after another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use device::timeline::{DeviceStage, Interval};
use kernels::parts::opencl::OpenClEncoder;
use kernels::{PictureRef, Target};
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;

const SIZE: (u32, u32) = (1920, 1080);
const FRAMES_MAX: usize = 200;
const FRAMES_MIN: usize = 20;

fn params() -> StreamParams {
    StreamParams::new(FrameSize::new(SIZE.0, SIZE.1).unwrap(), Chroma::C444)
}

/// Returns true if two commands of different channels that `overlaps` asks about ran at the same time.
fn pairs(intervals: &[Interval], overlaps: impl Fn(&Interval, &Interval) -> bool) -> bool {
    intervals.iter().any(|a| intervals.iter().any(|b| a.channel != b.channel && overlaps(a, b) && a.overlaps(b)))
}

#[test]
fn uploads_overlap_the_kernels_of_other_channels() {
    let params = params();
    // Something that takes time to code.
    let data: Vec<u8> = (0..PixelFormat::I444.bytes(params.size)).map(|at| (at * at % 61) as u8).collect();
    let picture = PictureRef::new(PixelFormat::I444, params.size, &data).unwrap();
    let mut encoder = OpenClEncoder::open(&params, None, "").unwrap();
    encoder.measure_every(1);
    let target = Target::Step(StepIndex::new(64).unwrap());

    let is_kernel = |stage| matches!(stage, DeviceStage::Transform | DeviceStage::Code);
    let upload_beside_kernel = |a: &Interval, b: &Interval| a.stage == DeviceStage::Upload && is_kernel(b.stage);
    let frames = if encoder.can_overlap() { FRAMES_MAX } else { FRAMES_MIN };
    let seen = (0..frames).any(|_| {
        encoder.encode(picture, target).unwrap();
        pairs(&encoder.timeline().intervals, upload_beside_kernel)
    });
    assert_eq!(seen, encoder.can_overlap(), "uploads beside another channel's kernels in {frames} frames");

    encoder.set_overlap(false);
    for _ in 0..20 {
        encoder.encode(picture, target).unwrap();
        let timeline = encoder.timeline();
        assert!(timeline.intervals.iter().any(|i| i.stage == DeviceStage::Upload));
        assert!(!pairs(&timeline.intervals, |_, _| true), "channels overlap although told not to: {timeline:?}");
    }
}
