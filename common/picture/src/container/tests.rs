use super::*;
use crate::coded::{BlockState, CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use crate::frame::{Chroma, ColourSpace, FrameSize};
use crate::params::{CodecParams, Profile, StreamParams, Wavelet};
use crate::pyramid::BlockLayout;
use crate::run::{Form, coded_size, write_directory};

const HEADER: FrameHeader = FrameHeader { step: StepIndex::MAX, fine_blocks: 2 };

fn params(profile: Profile) -> StreamParams {
    StreamParams {
        colour: ColourSpace::JPEG,
        codec: match profile {
            Profile::Pcwt => CodecParams { profile, wavelet: Wavelet::Cdf53, ..CodecParams::default() },
            _ => CodecParams { profile, ..CodecParams::default() },
        },
        ..StreamParams::new(FrameSize::new(150, 140).unwrap(), Chroma::Grey)
    }
}

/// A frame whose blocks have `bytes` bytes each, but for every third, which is empty.
fn frame(bytes: usize) -> CodedFrame {
    let blocks = BlockLayout::new(&params(Profile::Quad)).blocks().len();
    let block = |index: usize| if index % 3 == 2 { vec![] } else { (0..bytes).map(|at| (at + index) as u8).collect() };
    CodedFrame::from_blocks(HEADER, &(0..blocks).map(block).collect::<Vec<_>>())
}

/// A file of three frames: of several pieces, without a byte, and of one piece.
fn file() -> (Vec<CodedFrame>, Vec<u8>) {
    let frames = vec![frame(300), frame(0), frame(9)];
    let mut writer = ContainerWriter::new(&params(Profile::Quad), Vec::new()).unwrap();
    frames.iter().for_each(|frame| writer.frame(frame).unwrap());
    (frames, writer.finish(0).unwrap())
}

fn entries(bytes: &[u8]) -> std::io::Result<Vec<Entry>> {
    let mut reader = ContainerReader::new(bytes)?;
    std::iter::from_fn(|| reader.next_entry().transpose()).collect()
}

/// The frames that are whole.
fn whole(entries: &[Entry]) -> Vec<(u32, &ReceivedFrame)> {
    let frame = |entry| match entry {
        &Entry::Frame(FileFrame { number, content: Content::Blocks { ref frame, damaged: 0, .. } }) => {
            Some((number, frame))
        }
        _ => None,
    };
    entries.iter().filter_map(frame).collect()
}

#[test]
fn frames_come_back_and_keep_to_their_overhead() {
    let (frames, bytes) = file();
    let received: Vec<_> = frames.iter().map(ReceivedFrame::from).collect();
    let read = entries(&bytes).unwrap();
    assert_eq!(whole(&read), received.iter().enumerate().map(|(at, frame)| (at as u32, frame)).collect::<Vec<_>>());
    assert_eq!(read.len(), 3);
    let sizes: usize = frames.iter().map(coded_size).map(|size| size + frame_overhead(size)).sum();
    assert!(
        (bytes.len()..bytes.len() + 16).contains(&(file_bytes(&params(Profile::Quad)) + sizes)),
        "{} of {sizes}",
        bytes.len()
    );
}

#[test]
fn every_flipped_bit_is_noticed_and_costs_at_most_the_frame_it_is_in() {
    let (frames, bytes) = file();
    let frames: Vec<_> = frames.iter().map(ReceivedFrame::from).collect();
    let mut kinds = std::collections::BTreeSet::new();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(read) = entries(&flipped) else {
            assert!(bit / 8 < FILE_HEAD_BYTES + CHECK_BYTES, "bit {bit}: the file has a good head");
            continue;
        };
        let whole = whole(&read);
        assert!(whole.len() + 1 >= frames.len(), "bit {bit}: {} frames are left", whole.len());
        assert!(whole.iter().all(|&(number, frame)| *frame == frames[number as usize]), "bit {bit}");
        let mut damage = read.iter().filter(|entry| match entry {
            Entry::Frame(FileFrame { content: Content::Blocks { damaged, .. }, .. }) => *damaged > 0,
            _ => true,
        });
        let first = damage.next().unwrap_or_else(|| unreachable!("bit {bit} is not noticed"));
        kinds.insert(match first {
            Entry::Frame(_) => "blocks".to_owned(),
            Entry::Damage(damage) => damage.to_string().split(' ').next().unwrap().to_owned(),
        });
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["blocks", "bytes", "frame"]);
}

#[test]
fn a_damaged_piece_costs_its_blocks_only() {
    let (frames, bytes) = file();
    let directory = FRAME_HEAD_BYTES + 4 + 4 + frames[0].block_count().div_ceil(8) + 2 * frames[0].block_count();
    let mut changed = bytes.clone();
    changed[FILE_HEAD_BYTES + 4 + directory + 100] ^= 1;
    let read = entries(&changed).unwrap();
    let Entry::Frame(FileFrame { number: 0, content: Content::Blocks { frame, damaged, .. } }) = &read[0] else {
        unreachable!("{:?}", read[0])
    };
    assert!((1..=PIECE_BYTES / 300 + 1).contains(damaged), "{damaged} blocks");
    assert_eq!(frame.missing(), *damaged);
    let last = frame.block_count() - 3;
    assert!(matches!(frame.block(last), BlockState::Coded(bytes) if bytes == frames[0].block(last)));
}

#[test]
fn a_file_cut_anywhere_says_so_and_gives_what_is_there() {
    let (frames, bytes) = file();
    for len in 0..bytes.len() {
        let Ok(read) = entries(&bytes[..len]) else {
            assert!(len < FILE_HEAD_BYTES + CHECK_BYTES, "{len}");
            continue;
        };
        assert!(matches!(read.last(), Some(Entry::Damage(Damage::End(_)))), "{len}: {:?}", read.last());
        let frame_bytes = |frame: &CodedFrame| FRAME_HEAD_BYTES + coded_size(frame) + 8;
        if len > FILE_HEAD_BYTES + frame_bytes(&frames[0]) + 40 {
            assert!(whole(&read)[0].1 == &ReceivedFrame::from(&frames[0]), "{len}");
        }
    }
    let longer = entries(&[&bytes[..], b"x"].concat()).unwrap();
    assert_eq!(longer.last(), Some(&Entry::Damage(Damage::BehindEnd)));
}

/// A file to which the rest is written only once its end has been met.
struct Growing<'a> {
    now: &'a [u8],
    later: &'a [u8],
}

impl std::io::Read for Growing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.now.read(out)?;
        if read == 0 && !out.is_empty() {
            self.now = std::mem::take(&mut self.later);
        }
        Ok(read)
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_one_that_is_cut() {
    let (_, bytes) = file();
    for len in FILE_HEAD_BYTES + CHECK_BYTES..bytes.len() {
        let (now, later) = bytes.split_at(len);
        let mut reader = ContainerReader::new(Growing { now, later }).unwrap();
        let read: Vec<_> = std::iter::from_fn(|| reader.next_entry().unwrap()).collect();
        assert!(read == entries(now).unwrap(), "{len}: {read:?}");
        let is_damage = |entry: &Entry| matches!(entry, Entry::Damage(damage) if !matches!(damage, Damage::End(_)));
        assert!(!read.iter().any(is_damage), "{len}: {read:?}");
    }
}

#[test]
fn frames_behind_lost_bytes_are_found() {
    let (frames, bytes) = file();
    let first = FILE_HEAD_BYTES + CHECK_BYTES;
    for lost in [1, FRAME_HEAD_BYTES, 400] {
        let read = entries(&[&bytes[..first], &bytes[first + lost..]].concat()).unwrap();
        assert!(matches!(&read[0], Entry::Damage(Damage::Bytes { pictures, .. }) if *pictures == (0..1)), "{read:?}");
        assert_eq!(whole(&read).len(), frames.len() - 1);
    }
}

#[test]
fn frames_of_any_bytes_come_back() {
    let mut writer = ContainerWriter::new(&params(Profile::Pcwt), Vec::new()).unwrap();
    for frame in [&b"any"[..], b""] {
        writer.bytes(frame).unwrap();
    }
    let read = entries(&writer.finish(0).unwrap()).unwrap();
    let contents = [b"any".to_vec(), vec![]].map(Content::Bytes);
    let wanted = contents.into_iter().zip(0..).map(|(content, number)| Entry::Frame(FileFrame { number, content }));
    assert_eq!(read, wanted.collect::<Vec<_>>());
}

#[test]
fn predicted_frames_come_back_with_their_vectors() {
    let blocks = frame(20);
    let slices = [b"vectors".to_vec()];
    let mut few = vec![vec![]; blocks.block_count()];
    few[blocks.block_count() - 1] = vec![7; 30];
    let few = CodedFrame::from_blocks(HEADER, &few);
    let predicted = [(0, &[][..], &blocks), (3, &slices, &blocks), (1, &slices, &few)];
    let predicted = predicted.map(|(reference, slices, blocks)| CodedFrame::predicted(reference, slices, blocks));
    assert_eq!((predicted[1].block(0), predicted[1].block(1)), (&b"vectors"[..], blocks.block(0)));
    let mut writer = ContainerWriter::new(&params(Profile::Predicted(4)), Vec::new()).unwrap();
    predicted.iter().for_each(|frame| writer.frame(frame).unwrap());
    let mut some = ReceivedFrame::from(&predicted[2]);
    some.forget(3..5);
    writer.received(3, 1, &some).unwrap();
    let bytes = writer.finish(0).unwrap();
    let mut read = entries(&bytes).unwrap();
    let content = Content::Blocks { reference: 1, frame: some, damaged: 0 };
    assert_eq!(read.pop(), Some(Entry::Frame(FileFrame { number: 3, content })));
    let kinds = bytes.windows(FRAME_HEAD_BYTES + CHECK_BYTES).filter_map(FrameHead::parse).map(|head| head.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [WHOLE, WHOLE, WHOLE_LIST, PARTIAL_LIST, END]);
    for ((entry, wanted), at) in read.into_iter().zip(predicted).zip(0..) {
        let (reference, frame) = (wanted.reference, ReceivedFrame::from(&wanted));
        let content = Content::Blocks { reference, frame, damaged: 0 };
        assert_eq!(entry, Entry::Frame(FileFrame { number: at, content }));
    }
}

#[test]
fn pauses_and_missing_blocks_come_back() {
    let blocks = frame(20);
    let mut some = ReceivedFrame::empty(HEADER, blocks.block_count());
    assert!(some.insert(1, blocks.block(1)) && some.insert(2, &[]));
    let mut writer = ContainerWriter::new(&params(Profile::Quad), Vec::new()).unwrap();
    writer.received(5, 0, &some).unwrap();
    assert!(writer.received(5, 0, &some).is_err() && writer.received(u32::MAX, 0, &some).is_err());
    writer.received(90, 0, &ReceivedFrame::from(&blocks)).unwrap();
    let bytes = writer.finish(200).unwrap();
    let mut reader = ContainerReader::new(&bytes[..]).unwrap();
    let mut numbers = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        let Entry::Frame(FileFrame { number, content: Content::Blocks { frame, damaged: 0, .. } }) = entry else {
            unreachable!("{entry:?}")
        };
        assert!(number == 90 || frame == some);
        numbers.push(number);
    }
    assert_eq!((numbers, reader.pictures()), (vec![5, 90], 200));
}

#[test]
fn another_version_is_named_and_the_one_without_checks_is_read() {
    let (frames, mut bytes) = file();
    for found in [1, 3, 6] {
        bytes[4] = found;
        let error = entries(&bytes).unwrap_err();
        let sentence =
            format!("this is a .duet file of version {found}, and this program reads versions 2, 4, 5, 7, 8, 9 and 11");
        assert!(error.to_string().starts_with(&sentence), "{error}");
    }
    let mut old = bytes[..UNCHECKED_HEAD_BYTES].to_vec();
    old[4] = 2;
    for frame in &frames {
        let mut body = vec![frame.header.step.index(), 2, 0, 0];
        write_directory(Form::Map, (0..frame.block_count()).map(|index| frame.range(index).len()), &mut body);
        body.extend_from_slice(&frame.data);
        old.extend((body.len() as u32).to_le_bytes());
        old.extend(body);
    }
    let read = entries(&old).unwrap();
    assert!(whole(&read).iter().zip(&frames).all(|(read, frame)| *read.1 == ReceivedFrame::from(frame)));
    assert_eq!(read.len(), 3);
    let cut = entries(&old[..old.len() - 1]).unwrap();
    assert_eq!((whole(&cut).len(), cut.last()), (2, Some(&Entry::Damage(Damage::End(2)))));
}
