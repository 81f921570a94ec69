//! Parameters, runs of blocks and files as bytes: golden values, round trips, and bytes from an enemy.
#![allow(clippy::unwrap_used, reason = "tests")]

use picture::coded::{CodedFrame, FrameHeader, StepIndex};
use picture::container::{self, ContainerReader, ContainerWriter, Entry, FileError};
use picture::frame::{BitDepth, Chroma, ColourSpace, FrameRate, FrameSize, Matrix, Range, Raster};
use picture::params::{Boundary, CodecParams, Levels, Padding, ParamsError, StreamParams, Wavelet, Weights};
use picture::pyramid::BlockLayout;
use picture::run::{Form, Run, RunError, coded_size, directory_bytes, map_bytes, write_run};
use proptest::prelude::*;
use proptest::sample::Index;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn params() -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(30_000, 1_001).unwrap(),
        colour: ColourSpace::JPEG,
        ..StreamParams::new(FrameSize::new(1_919, 1_079).unwrap(), Chroma::C420)
    }
}

fn frame(lens: &[usize]) -> CodedFrame {
    let mut frame = CodedFrame {
        reference: 0,
        header: FrameHeader { step: StepIndex::MIN, fine_blocks: 0 },
        ends: vec![],
        data: vec![],
    };
    for (index, &len) in lens.iter().enumerate() {
        frame.data.extend(std::iter::repeat_n((index % 255) as u8 + 1, len));
        frame.ends.push(frame.data.len() as u32);
    }
    frame
}

#[test]
fn golden_stream_parameters() {
    let golden = "7f0700003704000030750000e90300000100010000ff000100";
    assert_eq!(hex(&params().to_bytes()), golden);
}

#[test]
fn golden_run() {
    let mut bytes = Vec::new();
    write_run(&frame(&[0, 2, 0, 0, 0, 0, 0, 0, 1, 128]), 1..10, &mut bytes);
    assert_eq!(hex(&bytes[..8]), "8101020180800202");
    assert_eq!(bytes.len(), 2 + 4 + 131);
}

#[test]
fn golden_list() {
    let mut lens = [0; 200];
    (lens[2], lens[150]) = (1, 130);
    let mut bytes = Vec::new();
    assert_eq!(write_run(&CodedFrame { reference: 1, ..frame(&lens) }, 0..200, &mut bytes), Form::List);
    assert_eq!(hex(&bytes[..8]), "0202018093808203");
    assert_eq!(bytes.len(), 1 + 2 + 4 + 131);
    assert_eq!(Run::parse(Form::List, &bytes, 200).unwrap().map(<[u8]>::len).collect::<Vec<_>>(), lens);
    assert_eq!(Run::parse(Form::List, &bytes, 150).err(), Some(RunError::List), "a block beyond the last");
    for (at, wrong) in [(0, 3), (0, 1), (1, 0xff), (2, 0), (3, 0), (6, 0x83)] {
        let mut bytes = bytes.clone();
        bytes[at] = wrong;
        assert!(Run::parse(Form::List, &bytes, 200).is_err(), "{at}");
    }
}

#[test]
fn golden_container_head() {
    let bytes = ContainerWriter::new(&params(), Vec::new()).unwrap().finish(7).unwrap();
    assert_eq!(hex(&bytes[..6]), "445545540400");
    assert_eq!(hex(&bytes[36..45]), "0000000007000000ff");
    assert_eq!(hex(&bytes[45..]), hex(&0x792b_2733_u32.to_le_bytes()));
    assert_eq!(bytes.len(), 49);
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let good = ContainerWriter::new(&params(), Vec::new()).unwrap().finish(7).unwrap();
    let refusal = |bytes: &[u8]| ContainerReader::new(bytes).unwrap_err().downcast::<FileError>().unwrap();
    assert_eq!([0, 3, 20].map(|length| refusal(&good[..length])), [const { FileError::ShorterThanHead }; 3]);
    assert_eq!(refusal(b"RIFF, or anything else that is no less than 31 bytes"), FileError::OtherKind);
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    assert_eq!(refusal(&changed(4, 1)), FileError::Version { found: 1 });
    assert_eq!(refusal(&changed(31, 3)), FileError::Head);
    // A siting that there is not, with a check that agrees.
    let head = &changed(31, 3)[..32];
    assert_eq!(refusal(&[head, &crc32fast::hash(head).to_le_bytes()].concat()), FileError::Params(ParamsError::Siting));
}

#[test]
fn every_field_of_the_parameters_is_checked() {
    let good = params().to_bytes();
    let size = params().size;
    let too_wide = FrameSize::new(size.width() as u32 + (1 << 24), size.height() as u32).unwrap_err();
    for (at, wrong, error) in [
        (3, 1, ParamsError::Size(too_wide)),
        (11, 1, ParamsError::FrameRate),
        (16, 3, ParamsError::RgbWavelet),
        (16, 4, ParamsError::Chroma),
        (17, 2, ParamsError::Matrix),
        (18, 2, ParamsError::Range),
        (19, 1, ParamsError::PcwtWavelet),
        (19, 2, ParamsError::Profile),
        (19, 161, ParamsError::Profile),
        (20, 3, ParamsError::Wavelet),
        (22, 3, ParamsError::Boundary),
        (23, 2, ParamsError::Padding),
        (24, 2, ParamsError::Weights),
    ] {
        let mut bytes = good;
        bytes[at] = wrong;
        assert_eq!(StreamParams::from_bytes(&bytes), Err(error), "byte {at}");
    }
    assert_eq!(StreamParams::from_bytes(&good[..24]), Err(ParamsError::Length));
    assert!(ParamsError::Length.to_string().ends_with("25 bytes long"));
    assert!(ParamsError::Profile.to_string().ends_with("129 to 160 quad with prediction"));
}

#[test]
fn rgb_is_lossless() {
    let rgb = StreamParams { chroma: Chroma::Rgb, ..params() };
    assert_eq!(StreamParams::from_bytes(&rgb.to_bytes()), Err(ParamsError::RgbWavelet));
    let lossless = StreamParams { codec: CodecParams { wavelet: Wavelet::Cdf53, ..rgb.codec }, ..rgb };
    assert_eq!(StreamParams::from_bytes(&lossless.to_bytes()), Ok(lossless));
    let deep = StreamParams { codec: CodecParams { depth: BitDepth::Ten, ..lossless.codec }, ..lossless };
    assert_eq!(StreamParams::from_bytes(&deep.to_bytes()), Ok(deep));
}

fn any_params() -> impl Strategy<Value = StreamParams> {
    let size = (1..=16_384u32, 1..=16_384u32).prop_map(|(width, height)| FrameSize::new(width, height).unwrap());
    let rate = (1..=1_000u32, 1..=5_000u32).prop_map(|(fps, den)| FrameRate::new(fps, den).unwrap());
    let chroma = prop::sample::select(vec![Chroma::Grey, Chroma::C420, Chroma::C444]);
    let matrix = prop::sample::select(vec![Matrix::Bt601, Matrix::Bt709]);
    let range = prop::sample::select(vec![Range::Limited, Range::Full]);
    let levels = prop_oneof![Just(Levels::Full), (0..255u8).prop_map(Levels::AtMost)];
    let boundary = prop::sample::select(vec![Boundary::Symmetric, Boundary::Periodic, Boundary::Zero]);
    let padding = prop::sample::select(vec![Padding::Zero, Padding::Smooth]);
    let weights = prop::sample::select(vec![Weights::Psnr, Weights::Visual]);
    (size, rate, chroma, matrix, range, levels, boundary, (padding, weights)).prop_map(
        |(size, frame_rate, chroma, matrix, range, levels, boundary, (padding, weights))| StreamParams {
            size,
            frame_rate,
            chroma,
            colour: ColourSpace { matrix, range },
            raster: Raster::default(),
            codec: CodecParams { levels, boundary, padding, weights, ..CodecParams::default() },
        },
    )
}

fn some_file() -> Vec<u8> {
    let params = StreamParams { size: FrameSize::new(64, 40).unwrap(), ..params() };
    let lens: Vec<_> = (0..BlockLayout::new(&params).blocks().len()).map(|index| index * 37 % 300).collect();
    let mut writer = ContainerWriter::new(&params, Vec::new()).unwrap();
    writer.frame(&frame(&lens)).unwrap();
    writer.finish(1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parameters_come_back(params in any_params()) {
        prop_assert_eq!(StreamParams::from_bytes(&params.to_bytes()), Ok(params));
    }

    #[test]
    fn runs_come_back_and_cost_what_is_said(
        lens in prop::collection::vec(prop_oneof![Just(0), 1..200usize, 200..40_000usize], 1..60), spread in 0..400usize,
    ) {
        let zeros = std::iter::repeat_n(0, spread);
        let lens: Vec<_> = lens.into_iter().flat_map(|len| zeros.clone().chain([len.min(32_767)])).collect();
        let frame = CodedFrame { reference: 1, ..frame(&lens) };
        let mut bytes = Vec::new();
        let form = write_run(&frame, 0..lens.len(), &mut bytes);
        prop_assert_eq!(bytes.len() + 4, coded_size(&frame));
        let with_map = map_bytes(lens.len()) + lens.iter().map(|&len| directory_bytes(len) + len).sum::<usize>();
        prop_assert!(bytes.len() == with_map || form == Form::List && bytes.len() < with_map);
        let blocks: Vec<_> = Run::parse(form, &bytes, lens.len()).unwrap().collect();
        prop_assert!(blocks.iter().copied().eq((0..lens.len()).map(|index| frame.block(index))));
    }

    #[test]
    fn any_bytes_are_a_run_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..100usize) {
        if let Ok(run) = Run::parse(Form::List, &bytes, count) {
            let blocks: Vec<_> = run.collect();
            prop_assert_eq!(blocks.len(), count);
            let coded: usize = blocks.iter().filter(|block| !block.is_empty()).count();
            let used: usize = blocks.iter().map(|block| directory_bytes(block.len()) + block.len()).sum();
            prop_assert!((1 + used + coded..=2 + used + 2 * coded).contains(&bytes.len()));
        }
        if let Ok(run) = Run::parse(Form::Map, &bytes, count) {
            let blocks: Vec<_> = run.collect();
            prop_assert_eq!(blocks.len(), count);
            let used: usize = blocks.iter().map(|block| directory_bytes(block.len()) + block.len()).sum();
            prop_assert_eq!(map_bytes(count) + used, bytes.len());
        }
    }

    #[test]
    fn any_bytes_are_a_file_or_not(
        random in prop::collection::vec(any::<u8>(), 0..100),
        changes in prop::collection::vec(any::<(Index, u8)>(), 0..4),
        kept in any::<Index>(),
    ) {
        let mut changed = some_file();
        for (at, value) in changes {
            let at = at.index(changed.len());
            changed[at] = value;
        }
        let cut = &changed[..kept.index(changed.len())];
        for bytes in [&random, &changed[..], cut] {
            if let Ok(mut reader) = ContainerReader::new(bytes) {
                let blocks = BlockLayout::new(reader.params()).blocks().len();
                while let Some(entry) = reader.next_entry().unwrap() {
                    if let Entry::Frame(frame) = entry && let container::Content::Blocks { frame, .. } = frame.content {
                        prop_assert_eq!(frame.block_count(), blocks);
                    }
                }
            }
        }
    }
}
