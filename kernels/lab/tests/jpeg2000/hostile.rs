//! Code-streams built by hand: headers that no encoder writes, and what beats what.

use lab::jpeg2000::{Colour, Decoded, Jpeg2000Error, Options, SAMPLES_MAX, Target, decode, encode};

use super::{CPU, options, picture};

const SIZ: u8 = 0x51;
const COD: u8 = 0x52;
const COC: u8 = 0x53;
const QCD: u8 = 0x5c;
const QCC: u8 = 0x5d;
const SOT: u8 = 0x90;

/// Returns a marker with its segment.
fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16 + 2).to_be_bytes();
    [&[0xff, marker], &length[..], content].concat()
}

/// Returns the main header of a grey picture of `sides`, in tiles of `tile`, with more segments after its sizes.
fn head(sides: (u32, u32), tile: (u32, u32), segments: &[Vec<u8>]) -> Vec<u8> {
    let numbers = [sides.0, sides.1, 0, 0, tile.0, tile.1, 0, 0].map(u32::to_be_bytes).concat();
    let siz = segment(SIZ, &[&[0, 0], &numbers[..], &[0, 1, 7, 1, 1]].concat());
    [&[0xff, 0x4f], &siz[..], &segments.concat()].concat()
}

/// Returns COD in layers before resolutions, of `layers` and `levels`, blocks of `block` x `block` (an exponent) and the reversible
/// transform; `precincts` are its exponents.
fn cod(layers: u16, levels: u8, block: u8, precincts: &[u8]) -> Vec<u8> {
    let [high, low] = layers.to_be_bytes();
    let code = [(!precincts.is_empty()).into(), 0, high, low, 0, levels, block - 2, block - 2, 0, 1];
    segment(COD, &[&code, precincts].concat())
}

/// Returns QCD of the reversible transform with the exponents of `levels` levels.
fn qcd(levels: u8) -> Vec<u8> {
    segment(QCD, &[&[2 << 5][..], &vec![8 << 3; 3 * usize::from(levels) + 1]].concat())
}

/// Returns a part of tile `index` with segments in its header.
fn tile(index: u16, segments: &[Vec<u8>], packets: &[u8]) -> Vec<u8> {
    let content = [&segments.concat()[..], &[0xff, 0x93], packets].concat();
    let length = (content.len() as u32 + 12).to_be_bytes();
    let sot = segment(SOT, &[&index.to_be_bytes(), &length[..], &[0, 1]].concat());
    [sot, content].concat()
}

fn read(bytes: &[u8], drop_levels: u8) -> Result<Decoded, Jpeg2000Error> {
    decode(bytes, drop_levels, SAMPLES_MAX, CPU)
}

#[track_caller]
fn refused(bytes: &[u8], drop_levels: u8, wanted: &str) {
    match read(bytes, drop_levels) {
        Ok(decoded) => panic!("it is read: {:?}", decoded.missing),
        Err(error) => assert!(error.to_string().contains(wanted), "{error}"),
    }
}

#[test]
fn a_part_of_a_tile_with_a_short_head_is_refused() {
    let head = head((8, 8), (8, 8), &[cod(1, 1, 6, &[]), qcd(1)]);
    for content in [&[0; 6][..], &[0; 7], &[0; 9]] {
        refused(&[&head[..], &segment(SOT, content)].concat(), 0, "SOT");
    }
    // To the end of the file, which is here.
    let read = read(&[&head[..], &segment(SOT, &[0; 8])].concat(), 0).unwrap();
    assert_eq!(read.missing.unwrap(), "packets that are not whole or not there: 2 of 2");
    refused(&[&head[..], &segment(SOT, &[0, 0, 0, 0, 0, 13, 0, 1])].concat(), 0, "has 13 bytes");
}

#[test]
fn levels_that_no_tile_has_are_not_left_out() {
    let head = head((8, 8), (8, 8), &[cod(1, 1, 6, &[]), qcd(1)]);
    let empty = [&head[..], &[0xff, 0xd9]].concat();
    for levels in [2, 70, 255] {
        refused(&empty, levels, &format!("fewer than {levels} levels"));
    }
    assert!(read(&empty, 1).unwrap().missing.unwrap().contains("tiles that are not there: 1"));
    // A tile may have fewer than the others.
    let fewer = [head, tile(0, &[cod(1, 0, 6, &[])], &[])].concat();
    refused(&fewer, 1, "fewer than 1 levels");
}

#[test]
fn counts_that_are_larger_than_numbers_are_too_many() {
    let precincts = [&[0][..], &[0x11; 32]].concat();
    let head = head((u32::MAX, u32::MAX), (u32::MAX, u32::MAX), &[cod(1, 32, 2, &precincts), qcd(32)]);
    refused(&[head, tile(0, &[], &[0])].concat(), 32, "too many");
}

/// Returns the segment of `marker` in the main header of `coded`.
fn found(coded: &[u8], marker: u8) -> Vec<u8> {
    let start = coded.windows(2).position(|pair| pair == [0xff, marker]).unwrap();
    let length = usize::from(u16::from_be_bytes([coded[start + 2], coded[start + 3]]));
    coded[start..start + 2 + length].to_vec()
}

/// Returns `coded` with segments added to the main header and to its only tile's.
fn told(coded: &[u8], main: &[Vec<u8>], of_tile: &[Vec<u8>]) -> Vec<u8> {
    let start = coded.windows(2).position(|pair| pair == [0xff, SOT]).unwrap();
    let packets = &coded[start + 14..coded.len() - 2];
    [&coded[..start], &main.concat(), &tile(0, of_tile, packets)].concat()
}

#[test]
fn what_a_tile_says_of_all_beats_what_the_file_says_of_one() {
    let image = picture(70, 50, 1, 8, false);
    let coded = encode(&image, &options(Target::Lossless), CPU).unwrap();
    let (cod, qcd) = (found(&coded, COD), found(&coded, QCD));
    // The same for the only component; and what is wrong: one level less, another guard bit.
    let coc = segment(COC, &[&[0, 0], &cod[9..]].concat());
    let qcc = segment(QCC, &[&[0], &qcd[4..]].concat());
    let wrong = |mut segment: Vec<u8>, at: usize| {
        segment[at] = if at == 9 || at == 6 { segment[at] - 1 } else { segment[at] ^ 1 << 5 };
        segment
    };
    let (wrong_cod, wrong_coc) = (wrong(cod.clone(), 9), wrong(coc.clone(), 6));
    let (wrong_qcd, wrong_qcc) = (wrong(qcd.clone(), 4), wrong(qcc.clone(), 5));
    for (name, main, of_tile) in [
        ("main COC over main COD", vec![wrong_cod.clone(), coc.clone()], vec![]),
        ("main QCC over main QCD", vec![wrong_qcd.clone(), qcc.clone()], vec![]),
        ("tile COD over main COC", vec![wrong_coc.clone()], vec![cod.clone()]),
        ("tile QCD over main QCC", vec![wrong_qcc.clone()], vec![qcd.clone()]),
        ("tile COC over all", vec![wrong_coc.clone()], vec![coc, wrong_cod]),
        ("tile QCC over all", vec![wrong_qcc.clone()], vec![qcc, wrong_qcd]),
    ] {
        let decoded = read(&told(&coded, &main, &of_tile), 0).unwrap();
        assert_eq!(decoded.missing, None, "{name}");
        assert!(decoded.image.components == image.components, "{name}");
    }
    for (main, of_tile) in [(vec![wrong_coc], vec![]), (vec![wrong_qcc], vec![])] {
        let decoded = read(&told(&coded, &main, &of_tile), 0).unwrap();
        assert!(decoded.image.components != image.components, "what is wrong must be seen to be wrong");
    }
}

#[test]
fn a_quantiser_has_no_more_steps_than_bands() {
    let with = |steps: usize| {
        let qcd = segment(QCD, &[&[2 << 5][..], &vec![8 << 3; steps]].concat());
        [head((8, 8), (8, 8), &[cod(1, 1, 6, &[]), qcd]), tile(0, &[], &[0, 0])].concat()
    };
    assert_eq!(read(&with(97), 0).unwrap().missing, None);
    refused(&with(98), 0, "98 steps");
}

#[test]
fn precincts_blocks_and_the_packets_that_ask_for_them_are_limited() {
    // 2^17 precincts of one sample each, or a column more.
    let precincts = |width: u32| {
        let head = head((width, 256), (width, 256), &[cod(1, 0, 6, &[0]), qcd(0)]);
        [head, tile(0, &[], &[0; 4])].concat()
    };
    assert!(read(&precincts(512), 0).unwrap().missing.unwrap().contains("131068 of 131072"));
    refused(&precincts(513), 0, "131328 precincts");
    // Blocks of 4 x 4: with what is counted in excess, 2^21 at most.
    let blocks = |side: u32, layers: u16| {
        let head = head((side, side), (side, side), &[cod(layers, 0, 2, &[]), qcd(0)]);
        [head, tile(0, &[], &[0])].concat()
    };
    assert!(read(&blocks(5780, 1), 0).unwrap().missing.is_none());
    refused(&blocks(5784, 1), 0, "code-blocks: too many");
    // 256 x 256 of them in 1024 layers: 2^26 at most, in all tiles.
    assert!(read(&blocks(1012, 1024), 0).unwrap().missing.unwrap().contains("1023 of 1024"));
    refused(&blocks(1012, 1025), 0, "in all layers: too many");
}

/// Returns a file of boxes with another one at the end of its header.
fn with_box(file: &[u8], kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let at = file.windows(4).position(|name| name == b"jp2h").unwrap() - 4;
    let length = u32::from_be_bytes(*file[at..].first_chunk().unwrap());
    let added = [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat();
    let length_now = (length + added.len() as u32).to_be_bytes();
    let end = at + length as usize;
    [&file[..at], &length_now, &file[at + 4..end], &added, &file[end..]].concat()
}

#[test]
fn colours_that_are_not_read_are_refused_by_name() {
    let image = picture(12, 10, 3, 8, false);
    let file = encode(&image, &Options { wrapping: Some(Colour::Rgb), ..options(Target::Lossless) }, CPU).unwrap();
    let space = file.windows(4).position(|name| name == b"colr").unwrap() + 7;
    let named = |number: u32| [&file[..space], &number.to_be_bytes()[..], &file[space + 4..]].concat();
    assert!(read(&named(16), 0).unwrap().image.components == image.components);
    for (number, wanted) in [(12, "CMYK"), (14, "colour space 14"), (17, "a space of 1 colours"), (0, "colour space 0")]
    {
        refused(&named(number), 0, wanted);
    }
    // Of a profile, the colours that it is for.
    let profile = |of: &[u8; 4]| [&[0; 16], &of[..], &[0; 20]].concat();
    let start = file.windows(4).position(|name| name == b"colr").unwrap();
    let with_profile = |of: &[u8; 4]| {
        let other = [&file[..start], b"skip", &file[start + 4..]].concat();
        with_box(&other, b"colr", &[&[2, 0, 0][..], &profile(of)].concat())
    };
    assert_eq!(read(&with_profile(b"RGB "), 0).unwrap().image.colour, Colour::Rgb);
    refused(&with_profile(b"CMYK"), 0, "profile of CMYK");
    refused(&with_profile(b"Lab "), 0, "profile of Lab");
    // As they are, or in another order or meaning.
    let channels = |of: [[u16; 3]; 3]| {
        let numbers: Vec<u8> = std::iter::once(3).chain(of.into_iter().flatten()).flat_map(u16::to_be_bytes).collect();
        with_box(&file, b"cdef", &numbers)
    };
    assert!(read(&channels([[0, 0, 1], [1, 0, 2], [2, 0, 3]]), 0).is_ok());
    assert!(read(&channels([[1, 0, 2], [2, 0, 3], [0, 0, 1]]), 0).is_ok());
    for wrong in
        [[[0, 0, 3], [1, 0, 2], [2, 0, 1]], [[0, 0, 1], [1, 0, 2], [2, 1, 0]], [[0, 2, 0], [1, 0, 2], [2, 0, 3]]]
    {
        refused(&channels(wrong), 0, "cdef");
    }
    assert!(read(&with_box(&file, b"cmap", &[0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0]), 0).is_ok());
    refused(&with_box(&file, b"cmap", &[0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]), 0, "cmap");
    refused(&with_box(&file, b"cmap", &[0, 0, 1, 0, 0, 1, 1, 1, 0, 2, 1, 2]), 0, "cmap");
    refused(&with_box(&file, b"pclr", &[0, 0]), 0, "palette");
}

#[test]
fn three_components_are_colours_that_a_file_names_or_nobody_knows() {
    let mut image = picture(12, 10, 3, 8, false);
    let plain = options(Target::Lossless);
    // The colour transform is for RGB.
    assert!(!read(&encode(&image, &plain, CPU).unwrap(), 0).unwrap().is_ambiguous);
    image.colour = Colour::Ycc;
    assert!(read(&encode(&image, &plain, CPU).unwrap(), 0).unwrap().is_ambiguous);
    let named = Options { wrapping: Some(Colour::Ycc), ..plain };
    let decoded = read(&encode(&image, &named, CPU).unwrap(), 0).unwrap();
    assert_eq!((decoded.is_ambiguous, decoded.image.colour), (false, Colour::Ycc));
    let halved = read(&encode(&picture(12, 10, 3, 8, true), &plain, CPU).unwrap(), 0).unwrap();
    assert_eq!((halved.is_ambiguous, halved.image.colour), (false, Colour::Ycc));
}
