//! The byte budget of a frame: never exceeded, used up to the block.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod pictures;

use kernels::{BackendChoice, EncodeError, Encoder, Target};
use picture::coded::StepIndex;
use picture::frame::{Chroma, PixelFormat};
use picture::params::CodecParams;
use picture::run::{coded_size, directory_bytes};
use proptest::prelude::*;

use pictures::{params, picture};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn budgets_hold_from_frame_to_frame(
        width in 200..700_u32, height in 200..500_u32,
        frames in prop::collection::vec((0..40_u32, 0.02..4.0_f64), 1..6),
    ) {
        let params = params((width, height), Chroma::C420, CodecParams::default());
        let open = || Encoder::open(&params, BackendChoice::Cpu).unwrap();
        let (mut encoder, mut finer) = (open(), open());
        for (seed, bits) in frames {
            let picture = picture(PixelFormat::I420, params.size, seed);
            let budget = (bits * params.size.pixels() as f64 / 8.0) as usize;
            let frame = encoder.encode(picture.as_ref(), Target::Bytes(budget), None).unwrap();
            let used = coded_size(&frame);
            prop_assert!(used <= budget, "{used} bytes for a budget of {budget}");
            // Steps change from block to block: the budget is used up when the next block one step finer exceeds it.
            let next = frame.header.fine_blocks as usize;
            if next == frame.block_count() {
                prop_assert_eq!(frame.header.step, StepIndex::MIN, "{} bytes of {}", used, budget);
                continue;
            }
            let fine = finer.encode(picture.as_ref(), Target::Step(frame.header.step), None).unwrap();
            let [bytes, fine_bytes] = [&frame, &fine].map(|frame| {
                let bytes = frame.block(next).len();
                bytes + directory_bytes(bytes)
            });
            prop_assert!(used - bytes + fine_bytes > budget, "block {next} still fits: {used} bytes of {budget}");
        }
    }
}

#[test]
fn small_frames_stay_within_any_budget() {
    for size in [(1, 1), (2, 3), (17, 31), (64, 64)] {
        let params = params(size, Chroma::C420, CodecParams::default());
        let picture = picture(PixelFormat::I420, params.size, 3);
        let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
        let Err(EncodeError::BudgetTooSmall { smallest_bytes, .. }) =
            encoder.encode(picture.as_ref(), Target::Bytes(0), None)
        else {
            panic!("a frame of no bytes");
        };
        for budget in smallest_bytes..smallest_bytes + 300 {
            let frame = encoder.encode(picture.as_ref(), Target::Bytes(budget), None).unwrap();
            assert!(coded_size(&frame) <= budget);
        }
    }
}

#[test]
fn a_plenty_of_bytes_exhausts_the_picture() {
    let params = params((100, 80), Chroma::C444, CodecParams::default());
    let picture = picture(PixelFormat::I444, params.size, 1);
    let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
    for budget in [1 << 20, usize::MAX, usize::MAX] {
        let frame = encoder.encode(picture.as_ref(), Target::Bytes(budget), None).unwrap();
        assert_eq!((frame.header.step, frame.header.fine_blocks as usize), (StepIndex::MIN, frame.block_count()));
    }
}

#[test]
fn the_last_frame_only_changes_where_the_search_starts() {
    let params = params((320, 240), Chroma::C420, CodecParams::default());
    let mut encoder = Encoder::open(&params, BackendChoice::Cpu).unwrap();
    let budget = Target::Bytes(9_000);
    for seed in [0, 1, 1, 30] {
        let picture = picture(PixelFormat::I420, params.size, seed);
        let frame = encoder.encode(picture.as_ref(), budget, None).unwrap();
        let again = encoder.encode(picture.as_ref(), budget, None).unwrap();
        assert!(coded_size(&frame).abs_diff(coded_size(&again)) < 300);
    }
}
