//! Single pictures, as a camera's driver gives them in a buffer.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use sending::source::{JpegDecoder, JpegFault};

use super::made::{Jpeg, Samples, segment};
use super::{LEVELS, error};

/// Decodes a buffer; the greatest error of its colours.
#[track_caller]
fn of(bytes: &[u8]) -> Result<f64, JpegFault> {
    let mut data = Vec::new();
    let (format, size) = JpegDecoder::default().decode(bytes, &mut data)?;
    Ok(error(format, size, &data))
}

#[track_caller]
fn right(name: &str, bytes: &[u8]) {
    let error = of(bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    assert!(error <= LEVELS, "{name}: {error} levels");
}

#[test]
fn every_sampling_in_one_scan_or_three() {
    let mut seen = 0;
    for numbers in 0..8_usize.pow(3) {
        let side = |part: usize| [1, 2, 4][part % 3];
        let parts = [numbers % 9, numbers / 9 % 9, numbers / 81 % 9].map(|part| (side(part), side(part / 3)));
        let components: Vec<_> = (1..).zip(parts).map(|(name, (across, down))| (name, across, down)).collect();
        let jpeg = Jpeg { components, ..Jpeg::usual() };
        // A unit has at most ten blocks.
        if parts.iter().map(|(across, down)| across * down).sum::<usize>() <= 10 {
            right(&format!("{parts:?}"), &jpeg.bytes());
            right(&format!("{parts:?} with restarts"), &Jpeg { restart: 3, ..jpeg.clone() }.bytes());
            seen += 1;
        }
        let scans = vec![vec![0], vec![1], vec![2]];
        right(&format!("{parts:?} in three scans"), &Jpeg { scans, ..jpeg.clone() }.bytes());
    }
    assert!(seen > 100, "{seen}");
    let two = vec![vec![0], vec![1, 2]];
    right("luma, then chroma", &Jpeg { scans: two, ..Jpeg::usual() }.bytes());
    for (across, down) in [(1, 1), (2, 2), (4, 1)] {
        let components = vec![(1, across, down)];
        right("grey", &Jpeg { samples: Samples::Grey, components, scans: vec![vec![0]], ..Jpeg::usual() }.bytes());
    }
    let thirds = Jpeg { components: vec![(1, 3, 1), (2, 2, 1), (3, 1, 1)], ..Jpeg::usual() };
    assert!(matches!(of(&thirds.bytes()), Err(JpegFault::Coding(_))));
}

#[test]
fn tables_that_are_missing_are_the_usual_ones() {
    right("own", &Jpeg::usual().bytes());
    let bare = Jpeg { has_huffman: false, is_usual: true, ..Jpeg::usual() };
    right("no Huffman tables", &bare.bytes());
    right("no Huffman tables in three scans", &Jpeg { scans: vec![vec![0], vec![1], vec![2]], ..bare.clone() }.bytes());
    let none = Jpeg { has_quantisation: false, ..bare }.bytes();
    assert_eq!(of(&none), Err(JpegFault::NoTable("of quantisation")));
}

#[test]
fn the_colours_are_those_that_the_picture_names() {
    let adobe = |transform| (0xee, [b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
    let rgb = Jpeg { samples: Samples::Rgb, marks: vec![], ..Jpeg::usual() };
    let named: Vec<_> = b"RGB".iter().map(|&name| (name, 1, 1)).collect();
    right("RGB by Adobe's mark", &Jpeg { marks: vec![adobe(0)], ..rgb.clone() }.bytes());
    right("RGB by names", &Jpeg { components: named.clone(), ..rgb.clone() }.bytes());
    right("RGB by both", &Jpeg { components: named.clone(), marks: vec![adobe(0)], ..rgb.clone() }.bytes());
    let ycc = Jpeg { marks: vec![], ..Jpeg::usual() };
    right("no mark", &ycc.bytes());
    right("Adobe's YCbCr", &Jpeg { marks: vec![adobe(1)], ..ycc.clone() }.bytes());
    right(
        "Adobe's YCbCr under the names of RGB",
        &Jpeg { marks: vec![adobe(1)], components: named, ..ycc.clone() }.bytes(),
    );
    right("other names", &Jpeg { components: vec![(0, 2, 2), (1, 1, 1), (2, 1, 1)], ..ycc.clone() }.bytes());
    let limited = Jpeg { samples: Samples::Limited, ..Jpeg::usual() };
    let marks = [limited.marks.clone(), vec![(0xfe, b"CS=ITU601\0".to_vec())]].concat();
    // Its samples are rounded twice.
    assert!(of(&Jpeg { marks, ..limited }.bytes()).unwrap() <= LEVELS + 1.5);
}

#[test]
fn what_stands_around_and_between_is_passed_over() {
    let whole = Jpeg::usual().bytes();
    let cut = Jpeg { has_end: false, ..Jpeg::usual() }.bytes();
    right("four bytes before", &[&[0, 0, 1, 0xb7], whole.as_slice()].concat());
    right("a buffer that is not full", &[whole.as_slice(), &[0; 5000]].concat());
    right("no end", &cut);
    right("no end in a buffer that is not full", &[cut.as_slice(), &[0; 5000]].concat());
    right("bytes between segments", &Jpeg { stray: vec![0, 0xff, 0, 7, 0xa0], ..Jpeg::usual() }.bytes());
    right("fill bytes", &Jpeg { stray: vec![0xff; 7], ..Jpeg::usual() }.bytes());
    right("the height behind the data", &Jpeg { is_late: true, ..Jpeg::usual() }.bytes());
    let mut segments = Jpeg::usual();
    segments.marks.push((0xe1, [b"Exif\0\0".as_slice(), &Jpeg { shrunk: 4, ..Jpeg::usual() }.bytes()].concat()));
    right("a thumbnail", &segments.bytes());
}

#[test]
fn two_fields_in_a_buffer_are_woven() {
    let field = |polarity, first| {
        let marks = vec![(0xe0, vec![b'A', b'V', b'I', b'1', polarity, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
        Jpeg { marks, lines: (first, 2), has_huffman: false, is_usual: true, ..Jpeg::usual() }.bytes()
    };
    right("upper first", &[field(1, 0), field(2, 1)].concat());
    right("lower first", &[field(2, 1), vec![0; 11], field(1, 0), vec![0; 99]].concat());
}

#[test]
fn kinds_that_cannot_be_used_are_named() {
    let four: Vec<_> = (1..=4).map(|name| (name, 1, 1)).collect();
    let cmyk = Jpeg { samples: Samples::Rgb, components: four, scans: vec![vec![0, 1, 2]], ..Jpeg::usual() };
    assert_eq!(of(&cmyk.bytes()), Err(JpegFault::Cmyk));
    let changed = |at: usize, value: u8| {
        let mut bytes = Jpeg::usual().bytes();
        let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        bytes[frame + at] = value;
        of(&bytes)
    };
    assert_eq!(changed(4, 12), Err(JpegFault::Depth(12)));
    assert_eq!(changed(1, 0xc3), Err(JpegFault::Coding("without loss")));
    assert_eq!(changed(1, 0xc9), Err(JpegFault::Coding("with arithmetic codes")));
    assert!(matches!(changed(9, 2), Err(JpegFault::Structure(_))));
    assert_eq!(changed(5, 0xff).map_err(|fault| fault.kind()), Err("size"));
    // 8 KiB of data are the least for 16384 lines of 1024 pixels.
    assert_eq!(changed(7, 4).map_err(|fault| fault.kind()), Err("damaged"));
    assert_eq!(of(b"\xff\xd8\xff\xd9"), Err(JpegFault::Structure("it has no frame")));
    assert_eq!(of(b"no picture"), Err(JpegFault::NoPicture));
    let mut tables = vec![0xff, 0xd8];
    segment(&mut tables, 0xdb, &[&[0][..], &[1; 64]].concat());
    tables.extend([0xff, 0xd9]);
    assert_eq!(of(&tables), Err(JpegFault::OnlyTables));
}

#[test]
fn a_part_of_the_data_is_no_picture() {
    let three = Jpeg { scans: vec![vec![0], vec![1], vec![2]], ..Jpeg::usual() };
    let lacking = Jpeg { scans: vec![vec![0], vec![1]], ..Jpeg::usual() };
    assert!(of(&three.bytes()).is_ok() && of(&lacking.bytes()).is_err());
    for jpeg in [Jpeg::usual(), three, Jpeg { restart: 2, ..Jpeg::usual() }] {
        let whole = jpeg.bytes();
        let data = whole.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 14;
        // The last byte may hold padding alone.
        for cut in data..whole.len() - 4 {
            assert!(of(&whole[..cut]).is_err(), "{cut} of {}", whole.len());
            assert!(of(&[&whole[..cut], &[0xff, 0xd9]].concat()).is_err(), "{cut} of {} and an end", whole.len());
        }
    }
}

#[test]
fn a_damaged_picture_is_never_a_wrong_one() {
    let (mut found, mut wrong) = (0, Vec::new());
    for jpeg in [Jpeg::usual(), Jpeg { restart: 2, ..Jpeg::usual() }] {
        let whole = jpeg.bytes();
        let data = whole.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 14;
        for at in data..whole.len() - 42 {
            let mut bytes = whole.clone();
            (0..40).for_each(|number| bytes[at + number] = (at * 31 + number * 57) as u8);
            match of(&bytes) {
                Err(_) => found += 1,
                Ok(error) if error <= LEVELS => {}
                Ok(_) => wrong.push(at),
            }
        }
    }
    assert!(found > 50 && wrong.is_empty(), "{found} found, unseen from {wrong:?} on");
}

#[test]
fn bytes_that_a_camera_leaves_behind_every_picture_are_no_damage() {
    let whole = Jpeg::usual().bytes();
    let longer = |bytes: usize| [&whole[..whole.len() - 2], &vec![0x5a; bytes], &[0xff, 0xd9]].concat();
    let (mut decoder, mut data) = (JpegDecoder::default(), Vec::new());
    let mut is_taken = |bytes: &[u8]| decoder.decode(bytes, &mut data).is_ok();
    assert!([2, 2].iter().all(|&bytes| !is_taken(&longer(bytes))), "it may be damage");
    assert!([2, 2, 2].iter().all(|&bytes| is_taken(&longer(bytes))), "it is always so");
    assert!(!is_taken(&longer(3)) && is_taken(&whole) && !is_taken(&longer(2)));
    assert!((0..9).all(|_| !is_taken(&longer(30))), "so many are a part of the picture");
}

/// Returns a picture of another encoder, in colour or grey.
fn of_another_encoder((width, height): (u32, u32), colour: ExtendedColorType, sample: fn(usize) -> u8) -> Vec<u8> {
    let bytes = (width * height) as usize * if colour == ExtendedColorType::L8 { 1 } else { 3 };
    let samples: Vec<_> = (0..bytes).map(sample).collect();
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, 90).write_image(&samples, width, height, colour).unwrap();
    jpeg
}

#[test]
fn pictures_of_another_encoder_pass_the_check() {
    for size in [(1, 1), (2, 3), (17, 31), (64, 48), (640, 8), (8, 640), (333, 217)] {
        for colour in [ExtendedColorType::L8, ExtendedColorType::Rgb8] {
            for sample in [|_| 128_u8, |at| (at * at % 251) as u8] {
                let found = JpegDecoder::default().decode(&of_another_encoder(size, colour, sample), &mut Vec::new());
                assert_eq!(found.map(|(_, size)| (size.width() as u32, size.height() as u32)), Ok(size));
            }
        }
    }
}

#[test]
fn most_damage_of_a_picture_full_of_texture_is_seen() {
    let whole = of_another_encoder((333, 217), ExtendedColorType::Rgb8, |at| (at * at % 251) as u8);
    let data = whole.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 14;
    let places: Vec<_> = (data..whole.len() - 42).step_by((whole.len() - data) / 300).collect();
    let is_seen = |&&at: &&usize| {
        let mut bytes = whole.clone();
        (0..40).for_each(|number| bytes[at + number] = (at * 31 + number * 57) as u8);
        of_any_size(&bytes).is_err()
    };
    let seen = places.iter().filter(is_seen).count();
    assert!(seen * 10 >= places.len() * 9, "{seen} of {}", places.len());
}

fn of_any_size(bytes: &[u8]) -> Result<(), JpegFault> {
    JpegDecoder::default().decode(bytes, &mut Vec::new()).map(|_| ())
}
