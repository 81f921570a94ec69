//! Decoders go on with whatever arrives.
#![allow(clippy::unwrap_used, reason = "tests")]

mod pictures;

use kernels::{BackendChoice, DecodeError, Decoder, Encoder, Picture, PictureError, Target};
use picture::coded::{CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::CodecParams;
use picture::psnr::psnr_db;
use picture::pyramid::BlockLayout;
use proptest::prelude::*;

use pictures::{all_zero, arrived, params, picture, psnr_luma};

const SIZE: (u32, u32) = (200, 120);
const BACK_ENDS: [BackendChoice; 2] = [BackendChoice::Reference, BackendChoice::Cpu];

fn open(choice: BackendChoice) -> (Encoder, Decoder, Picture) {
    let params = params(SIZE, Chroma::C420, CodecParams::default());
    let out = Picture::for_stream(Chroma::C420, params.size);
    (Encoder::open(&params, choice).unwrap(), Decoder::open(&params, choice).unwrap(), out)
}

/// Returns a frame at a step of 8.
fn coded(encoder: &mut Encoder, seed: u32) -> CodedFrame {
    let picture = picture(PixelFormat::I420, FrameSize::new(SIZE.0, SIZE.1).unwrap(), seed);
    encoder.encode(picture.as_ref(), Target::Step(StepIndex::new(56).unwrap()), None).unwrap()
}

fn mean_luma(picture: &Picture) -> f64 {
    let luma = &picture.data()[..picture.size().pixels()];
    luma.iter().map(|&sample| f64::from(sample)).sum::<f64>() / luma.len() as f64
}

#[test]
fn a_missing_coarse_block_is_the_last_frames() {
    for choice in BACK_ENDS {
        let (mut encoder, mut decoder, mut out) = open(choice);
        let frame = coded(&mut encoder, 0);
        decoder.decode(&ReceivedFrame::from(&frame), None, &mut out).unwrap();
        let brightness = mean_luma(&out);
        assert!((90.0..150.0).contains(&brightness));

        decoder.decode(&ReceivedFrame::empty(frame.header, frame.block_count()), None, &mut out).unwrap();
        assert!((mean_luma(&out) - brightness).abs() < 2.0, "kept");

        let mut fresh = open(choice).1;
        fresh.decode(&ReceivedFrame::empty(frame.header, frame.block_count()), None, &mut out).unwrap();
        assert!(out.data().iter().all(|&sample| sample == 128), "nothing ever came: grey");
    }
}

/// Returns the picture with everything moved to the right by `pixels`, as a hand moves within a frame interval.
fn moved(picture: &Picture, pixels: usize) -> Picture {
    let mut moved = picture.clone();
    let (width, luma) = (picture.size().width(), picture.size().pixels());
    moved.data_mut()[..luma].chunks_mut(width).for_each(|row| row.rotate_right(pixels));
    moved
}

#[test]
fn the_last_frames_coarse_blocks_are_worth_decibels() {
    for choice in BACK_ENDS {
        let (mut encoder, mut decoder, mut out) = open(choice);
        let params = params(SIZE, Chroma::C420, CodecParams::default());
        let coarse = BlockLayout::new(&params).coarse_blocks();
        let first = picture(PixelFormat::I420, params.size, 0);
        let second = moved(&first, 3);
        let step = Target::Step(StepIndex::new(56).unwrap());
        let [first, coded] = [&first, &second].map(|picture| encoder.encode(picture.as_ref(), step, None).unwrap());
        let torn = arrived(&coded, |index| index >= coarse);

        decoder.decode(&ReceivedFrame::from(&first), None, &mut out).unwrap();
        decoder.decode(&torn, None, &mut out).unwrap();
        let concealed = psnr_luma(&out, &second);
        open(choice).1.decode(&torn, None, &mut out).unwrap();
        let plain = psnr_luma(&out, &second);
        decoder.decode(&ReceivedFrame::from(&coded), None, &mut out).unwrap();
        let whole = psnr_luma(&out, &second);
        println!("{choice:?}: {concealed:.1} dB with the last frame's, {plain:.1} dB without, {whole:.1} dB whole");
        assert!(concealed > plain + 5.0 && concealed > 20.0 && whole > concealed);
    }
}

#[test]
fn a_coarse_block_that_says_zero_is_zero() {
    for choice in BACK_ENDS {
        let (mut encoder, mut decoder, mut out) = open(choice);
        let frame = coded(&mut encoder, 0);
        decoder.decode(&ReceivedFrame::from(&frame), None, &mut out).unwrap();
        decoder.decode(&all_zero(&frame), None, &mut out).unwrap();
        assert!(out.data().iter().all(|&sample| sample == 128));
    }
}

#[test]
fn quality_falls_smoothly_with_the_share_of_lost_blocks() {
    for choice in BACK_ENDS {
        let (mut encoder, mut decoder, mut out) = open(choice);
        let frame = coded(&mut encoder, 0);
        let source = picture(PixelFormat::I420, FrameSize::new(SIZE.0, SIZE.1).unwrap(), 0);
        let mut psnr = |lost: usize| {
            // The frame before was whole.
            decoder.decode(&ReceivedFrame::from(&frame), None, &mut out).unwrap();
            // The same blocks and more are lost with each share.
            decoder.decode(&arrived(&frame, |index| index * 37 % 100 >= lost), None, &mut out).unwrap();
            psnr_db(source.data(), out.data())
        };
        let decibels = [0, 5, 20, 50, 100].map(&mut psnr);
        assert!(decibels.is_sorted_by(|better, worse| better > worse), "{decibels:?}");
        assert!(decibels[0] > 30.0 && decibels[2] > 18.0 && decibels[4] > 10.0, "{decibels:?}");
    }
}

#[test]
fn frames_and_pictures_of_another_stream_are_refused() {
    for choice in BACK_ENDS {
        let (_, mut decoder, mut out) = open(choice);
        let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
        let blocks = BlockLayout::new(&params(SIZE, Chroma::C420, CodecParams::default())).blocks().len();
        let error = decoder.decode(&ReceivedFrame::empty(header, blocks + 1), None, &mut out).unwrap_err();
        assert_eq!(error, DecodeError::BlockCount { wanted: blocks, given: blocks + 1 });
        let mut wrong = Picture::new(PixelFormat::I444, out.size());
        assert!(matches!(
            decoder.decode(&ReceivedFrame::empty(header, blocks), None, &mut wrong),
            Err(DecodeError::Picture(PictureError::Format { .. }))
        ));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn lost_and_damaged_blocks_leave_a_picture(
        lost in prop::collection::vec(any::<bool>(), 200),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        fine_blocks in any::<u32>(), step in 0..=208_u8,
    ) {
        let (mut encoder, mut reference, mut expected) = open(BackendChoice::Reference);
        let (_, mut cpu, mut out) = open(BackendChoice::Cpu);
        for seed in 0..2 {
            let mut frame = coded(&mut encoder, seed);
            for (at, value) in &damage {
                let at = at.index(frame.data.len());
                frame.data[at] = *value;
            }
            frame.header = FrameHeader { step: StepIndex::new(step).unwrap(), fine_blocks };
            let received = arrived(&frame, |index| lost.get(index) == Some(&false));
            reference.decode(&received, None, &mut expected).unwrap();
            cpu.decode(&received, None, &mut out).unwrap();
            prop_assert!(out == expected);
            prop_assert_eq!(cpu.damaged_blocks(), reference.damaged_blocks());
        }
    }

    #[test]
    fn blocks_of_any_bytes_decode_alike(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 60)) {
        let (_, mut reference, mut expected) = open(BackendChoice::Reference);
        let (_, mut cpu, mut out) = open(BackendChoice::Cpu);
        let count = BlockLayout::new(&params(SIZE, Chroma::C420, CodecParams::default())).blocks().len();
        let mut received = ReceivedFrame::empty(FrameHeader { step: StepIndex::MIN, fine_blocks: 3 }, count);
        for (index, bytes) in blocks.iter().enumerate() {
            received.insert(index, bytes);
        }
        reference.decode(&received, None, &mut expected).unwrap();
        cpu.decode(&received, None, &mut out).unwrap();
        prop_assert!(out == expected);
        prop_assert_eq!(cpu.damaged_blocks(), reference.damaged_blocks());
    }
}
