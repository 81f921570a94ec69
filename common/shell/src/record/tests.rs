use std::io::Read;
use std::path::PathBuf;

use common::units::{FrameId, SequenceNumber};
use common::wire::media::{Content as Carried, Envelope, MediaHeader};
use picture::coded::{FrameHeader, ReceivedFrame, StepIndex};
use picture::container::{ContainerReader, Content, Entry, FileFrame};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize, Raster};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;

use super::*;

fn stream(serial: u64, profile: Profile) -> Arc<Recorded> {
    let params = StreamParams {
        size: FrameSize::new(64, 64).unwrap(),
        frame_rate: FrameRate::new(50, 1).unwrap(),
        chroma: Chroma::Grey,
        colour: ColourSpace::JPEG,
        raster: Raster::default(),
        codec: CodecParams { profile, ..CodecParams::default() },
    };
    Arc::new(Recorded { serial, params, start: FrameId(0) })
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_us(1000 * ms)
}

const STEPS: FrameHeader = FrameHeader { step: StepIndex::MIN, fine_blocks: 1 };

/// A frame of which block 0 has `bytes` bytes.
fn kept(stream: &Recorded, id: u32, bytes: usize) -> KeptFrame {
    let mut frame = ReceivedFrame::empty(STEPS, BlockLayout::new(&stream.params).blocks().len());
    frame.insert(0, &vec![7; bytes]);
    KeptFrame { id: FrameId(id), reference: 0, frame, capture: at(20 * u64::from(id)) }
}

/// A datagram with one block of a frame.
fn datagram(id: u32, block: u32) -> Vec<u8> {
    let header = MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(0),
            capture: at(20 * u64::from(id)),
            sent_offset_us: 0,
        },
        frame: FrameId(id),
        steps: STEPS,
        reference: 0,
        is_last: false,
        place: None,
        content: Carried::Fragment { block, total: 40, offset: 0 },
    };
    header.datagram(&[9; 40])
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("duet-record-{}-{name}", std::process::id()))
}

/// Returns the numbers of a file's frames and of their missing blocks, and whether it has its end; the file goes.
fn read(path: &Path) -> (Vec<(u32, usize)>, bool) {
    let mut bytes = Vec::new();
    std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    std::fs::remove_file(path).unwrap();
    let mut reader = ContainerReader::new(&bytes[..]).unwrap();
    let (mut frames, mut has_end) = (Vec::new(), true);
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Entry::Frame(FileFrame { number, content: Content::Blocks { frame, damaged: 0, .. } }) => {
                frames.push((number, frame.missing()));
            }
            _ => has_end = false,
        }
    }
    (frames, has_end)
}

#[test]
fn blocks_that_came_too_late_for_the_screen_are_in_the_file() {
    let (path, stream) = (path("late.duet"), stream(1, Profile::Quad));
    let recording = Recording::start(&path, "received").unwrap();
    let all = BlockLayout::new(&stream.params).blocks().len() as u32;
    for id in 0..20 {
        // Of frame 3 one block is late by ten frames, and another never comes; frame 5 comes not at all.
        for block in (0..all).filter(|block| !(id == 5 || id == 3 && [1, 2].contains(block))) {
            recording.tap().unwrap().datagram(&stream, &datagram(id, block), at(20 * u64::from(id) + 40));
        }
        if id == 13 {
            recording.tap().unwrap().datagram(&stream, &datagram(3, 1), at(20 * u64::from(id) + 41));
        }
    }
    drop(recording);
    let wanted: Vec<_> = (0..20).filter(|id| *id != 5).map(|id| (id, usize::from(id == 3))).collect();
    assert_eq!(read(&path), (wanted, true));
}

#[test]
fn what_has_been_written_is_read_before_the_end() {
    let (path, stream) = (path("killed.duet"), stream(1, Profile::Quad));
    let recording = Recording::start(&path, "sent").unwrap();
    for id in 0..10 {
        recording.tap().unwrap().frame(&stream, kept(&stream, id, 100), at(20 * u64::from(id)));
    }
    while recording.shared.done.load(Ordering::Relaxed) < 10 {
        thread::sleep(LOOK);
    }
    let copy = path.with_extension("copy");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(read(&copy), ((0..10).map(|id| (id, 3)).collect(), false));
    drop(recording);
    assert!(read(&path).1);
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let stream = stream(1, Profile::Quad);
    let mut recording = Recording::start(Path::new("/dev/full"), "sent").unwrap();
    recording.tap().unwrap().frame(&stream, kept(&stream, 0, 100), at(0));
    recording.thread.take().unwrap().join().unwrap();
    for id in 1..1000 {
        recording.tap().unwrap().frame(&stream, kept(&stream, id, 60_000), at(0));
    }
    assert!(recording.shared.waiting.load(Ordering::Relaxed) <= OVERHEAD + 1000);
}

#[test]
fn a_pipe_that_nobody_reads_holds_nobody_up_and_memory_has_a_bound() {
    let (path, stream) = (path("pipe.duet"), stream(1, Profile::Quad));
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let recording = Recording::start(&path, "sent").unwrap();
    let shared = Arc::clone(&recording.shared);
    for id in 0..5000 {
        recording.tap().unwrap().frame(&stream, kept(&stream, id, 8000), at(20 * u64::from(id)));
        assert!(shared.waiting.load(Ordering::Relaxed) <= WAITING_MAX);
    }
    assert!(shared.left_out.load(Ordering::Relaxed) > 1000);
    drop(recording);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn frames_with_prediction_are_left_out_where_one_before_them_is() {
    let (path, stream) = (path("predicted.duet"), stream(1, Profile::Predicted(8)));
    let mut writer = Writer::new(&path, "received");
    let mut give = |number: u64, id: u32, reference: u8| {
        let kept = KeptFrame { reference, ..kept(&stream, id, 10) };
        writer.frame(&stream, kept, at(20 * u64::from(id)), number).unwrap();
    };
    give(0, 0, 0);
    give(1, 1, 1);
    // One found no room in the queue.
    give(3, 3, 1);
    give(4, 4, 0);
    give(5, 5, 1);
    writer.finish().unwrap();
    assert_eq!(read(&path).0.iter().map(|frame| frame.0).collect::<Vec<_>>(), [0, 1, 4, 5]);
}
