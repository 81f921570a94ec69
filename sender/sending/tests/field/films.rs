//! Films of JPEG pictures.

use sending::source::{JpegDecoder, MjpegReader};

use super::made::{Jpeg, SIZE};
use super::{LEVELS, error, play};

/// Plays a film; all its pictures have the right colours. Returns how many there were, and how many were skipped.
#[track_caller]
fn film(name: &str, bytes: &[u8]) -> (usize, u64) {
    let (info, pictures, skipped) = play("mjpeg", name, bytes).unwrap_or_else(|message| panic!("{name}: {message}"));
    assert_eq!((info.size.width(), info.size.height()), SIZE, "{name}");
    for (format, data) in &pictures {
        let error = error(*format, info.size, data);
        assert!(error <= LEVELS, "{name}: {error} levels");
    }
    (pictures.len(), skipped)
}

fn usual() -> Vec<u8> {
    Jpeg::usual().bytes()
}

#[test]
fn pictures_follow_each_other_however_they_end() {
    let endless = Jpeg { has_end: false, ..Jpeg::usual() }.bytes();
    assert_eq!(film("plain", &usual().repeat(4)), (4, 0));
    assert_eq!(film("no-end-marker", &endless.repeat(4)), (4, 0));
    let stray = Jpeg { stray: vec![1, 2, 3, 4, 5], ..Jpeg::usual() }.bytes();
    assert_eq!(film("junk-between-segments", &stray.repeat(4)), (4, 0));
    assert_eq!(film("four-bytes-before-each", &[&[0, 0, 1, 9], usual().as_slice()].concat().repeat(4)), (4, 0));
    let scans = vec![vec![0], vec![1], vec![2]];
    assert_eq!(film("three-scans", &Jpeg { scans, ..Jpeg::usual() }.bytes().repeat(4)), (4, 0));
}

#[test]
fn tables_come_from_the_pictures_before() {
    let bare = Jpeg { has_huffman: false, has_quantisation: false, ..Jpeg::usual() }.bytes();
    assert_eq!(film("tables-in-the-first-only", &[usual(), bare.repeat(8)].concat()), (9, 0));
    // Tables alone are no picture, and no fault.
    let whole = usual();
    let (from, to) = (2 + 18, whole.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap());
    let huffman = whole.windows(2).position(|pair| pair == [0xff, 0xc4]).unwrap();
    let scan = whole.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let tables = [&[0xff, 0xd8], &whole[from..to], &whole[huffman..scan], &[0xff, 0xd9]].concat();
    assert_eq!(film("tables-first", &[tables, bare.repeat(3)].concat()), (3, 0));
    // What a damaged picture brings is not kept.
    let mut damaged = Jpeg { is_usual: true, ..Jpeg::usual() }.bytes();
    damaged.truncate(damaged.len() - 20);
    assert_eq!(film("tables-of-a-damaged-one", &[usual(), damaged, bare].concat()), (2, 1));
}

#[test]
fn a_stream_may_be_joined_anywhere() {
    let mut with_thumbnail = Jpeg::usual();
    with_thumbnail
        .marks
        .push((0xe1, [b"Exif\0\0".as_slice(), &Jpeg { shrunk: 4, ..Jpeg::usual() }.bytes(), &[0; 9]].concat()));
    let one = with_thumbnail.bytes();
    let stream = one.repeat(4);
    let (mut fewest, mut most) = (4, 0);
    for cut in 0..one.len() {
        let (pictures, _) = film("joined", &stream[cut..]);
        (fewest, most) = (fewest.min(pictures), most.max(pictures));
    }
    assert_eq!((fewest, most), (3, 4));
}

#[test]
fn a_smaller_picture_without_a_begin_behind_one_is_passed_over() {
    let small = Jpeg { shrunk: 4, ..Jpeg::usual() }.bytes();
    let camera = [usual().as_slice(), &[7; 568], &small[2..]].concat();
    assert_eq!(film("preview-behind", &camera), (1, 0));
    assert_eq!(film("previews-behind", &camera.repeat(3)), (3, 0));
}

#[test]
fn the_demonstration_clip_is_whole() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../receiver/examples/demo-clip/demo_720p30.mjpeg");
    let (mut reader, mut decoder) = (MjpegReader::new(std::fs::File::open(path).unwrap()), JpegDecoder::default());
    let (mut data, mut pictures) = (Vec::new(), 0);
    while let Some(bytes) = reader.next_picture().unwrap() {
        assert!(decoder.decode(bytes, &mut data).is_ok(), "picture {pictures}");
        pictures += 1;
    }
    assert_eq!((pictures, reader.broken()), (124, 0));
}

#[test]
fn damaged_pictures_are_skipped_and_counted() {
    let mut damaged = usual();
    let middle = damaged.len() - 60;
    damaged[middle..middle + 40].fill(0x5b);
    assert_eq!(film("every-third-damaged", &[usual(), usual(), damaged.clone()].concat().repeat(3)), (6, 3));
    let small = Jpeg { shrunk: 2, ..Jpeg::usual() }.bytes();
    assert_eq!(film("other-size", &[usual(), small, usual()].concat()), (2, 1));
    let message = play("mjpeg", "all-damaged", &damaged.repeat(3)).err().unwrap();
    assert!(message.contains("there is no JPEG picture in it that can be used: its data are damaged"), "{message}");
}

#[test]
fn two_fields_make_a_picture() {
    let field = |polarity, first| {
        let marks = vec![(0xe0, vec![b'A', b'V', b'I', b'1', polarity, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
        Jpeg { marks, lines: (first, 2), ..Jpeg::usual() }.bytes()
    };
    let picture = [field(1, 0), field(2, 1)].concat();
    assert_eq!(film("two-fields", &picture.repeat(4)), (4, 0));
    assert_eq!(film("lower-first", &[field(2, 1), field(1, 0)].concat().repeat(4)), (4, 0));
    // One that is alone has half the lines.
    assert_eq!(film("a-field-lost", &[picture.clone(), field(1, 0), picture].concat()), (2, 1));
    // The mark of a whole picture, as other programs set it by mistake.
    let marks = vec![(0xe0, vec![b'A', b'V', b'I', b'1', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
    assert_eq!(film("all-marked-upper", &Jpeg { marks, ..Jpeg::usual() }.bytes().repeat(3)), (3, 0));
}
