//! JPEG 2000: what comes back, what a cut or changed file gives, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use kernels::BackendChoice;
use lab::jpeg2000::{Colour, Image, ImageComponent, Jpeg2000Error, Options, Progression, SAMPLES_MAX, Source, Target};
use lab::jpeg2000::{decode, encode, psnr};

mod hostile;
mod refinement;

const CPU: (BackendChoice, Option<&str>) = (BackendChoice::Cpu, None);

/// Returns a picture with smooth parts, edges and noise.
fn picture(width: usize, height: usize, count: usize, depth: u8, halved: bool) -> Image {
    let most = (1_i64 << depth) - 1;
    let component = |at: usize| {
        let step = if halved && at > 0 { 2 } else { 1 };
        let (width, height) = (width.div_ceil(step), height.div_ceil(step));
        let sample = |i: usize| {
            let (x, y) = ((i % width) as i64, (i / width) as i64);
            let edge = if (x / 7 + y / 11 + at as i64) % 3 == 0 { 80 } else { 0 };
            let noise = (x * x * 31 + y * 17 + x * y * 7) % 13;
            ((40 + x + y / 2 + edge + noise) * most / 255).clamp(0, most) as i32
        };
        let samples = (0..width * height).map(sample).collect();
        ImageComponent { width, height, step: (step as u8, step as u8), depth, is_signed: false, samples }
    };
    let colour = match (count, halved) {
        (..3, _) => Colour::Grey,
        (_, true) => Colour::Ycc,
        (_, false) => Colour::Rgb,
    };
    Image { width, height, colour, components: (0..count).map(component).collect() }
}

fn options(target: Target) -> Options {
    Options { levels: 3, ..Options::new(target) }
}

#[test]
fn every_kind_of_picture_comes_back_to_the_bit() {
    for (width, height) in [(1, 1), (2, 3), (1, 40), (57, 1), (17, 31), (130, 67)] {
        for (count, depth, halved) in
            [(1, 8, false), (2, 8, false), (3, 8, false), (4, 8, false), (3, 10, true), (3, 12, false), (3, 16, false)]
        {
            let image = picture(width, height, count, depth, halved);
            let plain = options(Target::Lossless);
            let layered =
                Options { progression: Progression::Quality, layers: 4, block_exponent: 5, levels: 5, ..plain };
            let boxed = Options { wrapping: Some(image.colour), ..plain };
            let fast = Options { is_high_throughput: true, ..boxed };
            let fast_small = Options { block_exponent: 5, levels: 5, wrapping: None, ..fast };
            for options in [plain, layered, boxed, fast, fast_small] {
                let decoded = decode(&encode(&image, &options, CPU).unwrap(), 0, SAMPLES_MAX, CPU).unwrap();
                assert_eq!(decoded.missing, None);
                assert_eq!(
                    decoded.image.components, image.components,
                    "{width}x{height}, {count}, {depth} {options:?}"
                );
                assert!(!decoded.has_colour || decoded.image.colour == image.colour);
            }
        }
    }
}

#[test]
fn pixels_are_coded_as_components_are() {
    for (width, height) in [(1, 1), (2, 3), (17, 31), (130, 67)] {
        for (count, apart) in [(1, 1), (1, 2), (2, 2), (3, 3), (3, 4), (4, 4)] {
            let image = picture(width, height, count, 8, false);
            let sample = |at: usize| image.components.get(at % apart).map_or(7, |of| of.samples[at / apart] as u8);
            let pixels: Vec<u8> = (0..width * height * apart).map(sample).collect();
            let has_opacity = count > image.colour.components();
            let source = Source::of_pixels((width, height), image.colour, has_opacity, (&pixels, apart));
            for target in [Target::Lossless, Target::Step(2.0)] {
                let options = Options { is_high_throughput: true, ..options(target) };
                let coded = encode(&image, &options, CPU).unwrap();
                assert!(encode(source.clone(), &options, CPU).unwrap() == coded, "{width}x{height}, {count}, {apart}");
                let by_reference = encode(source.clone(), &options, (BackendChoice::Reference, None)).unwrap();
                assert!(by_reference == coded, "{width}x{height}, {count}, {target:?}");
            }
        }
    }
}

#[test]
fn sizes_and_qualities_that_are_asked_for_are_kept() {
    let image = picture(200, 150, 3, 8, false);
    for bytes in [2_000, 5_000, 20_000] {
        let coded = encode(&image, &options(Target::Bytes(bytes)), CPU).unwrap();
        assert!(coded.len() <= bytes && coded.len() + 200 > bytes, "{} of {bytes}", coded.len());
        let layered = Options { progression: Progression::Quality, layers: 5, ..options(Target::Bytes(bytes)) };
        let coded = encode(&image, &layered, CPU).unwrap();
        assert!(coded.len() <= bytes && coded.len() + 400 > bytes, "{} of {bytes}", coded.len());
    }
    // Blocks of one pass: by the step.
    for bytes in [2_000, 5_000, 20_000] {
        let fast = Options { is_high_throughput: true, ..options(Target::Bytes(bytes)) };
        let coded = encode(&image, &fast, CPU).unwrap();
        assert!(coded.len() <= bytes && coded.len() + bytes / 50 > bytes, "{} of {bytes}", coded.len());
    }
    // As near as the blocks are many.
    let image = picture(512, 384, 3, 8, false);
    for decibels in [30.0, 36.5, 42.0] {
        let coded = encode(&image, &options(Target::Quality(decibels)), CPU).unwrap();
        let reached = psnr(&image, &decode(&coded, 0, SAMPLES_MAX, CPU).unwrap().image);
        assert!((decibels..decibels + 0.1).contains(&reached), "{reached} of {decibels}");
        let fast = Options { is_high_throughput: true, ..options(Target::Quality(decibels)) };
        let coded = encode(&image, &fast, CPU).unwrap();
        let reached = psnr(&image, &decode(&coded, 0, SAMPLES_MAX, CPU).unwrap().image);
        // One step for all blocks: the quality jumps where many coefficients pass a border at once.
        assert!((decibels..decibels + 0.2).contains(&reached), "{reached} of {decibels}");
    }
    let too_small = encode(&image, &options(Target::Bytes(20)), CPU);
    assert!(matches!(too_small, Err(Jpeg2000Error::NotCoded(text)) if text.contains("at least")));
    // One layer fits, eight of them do not: each packet takes a byte.
    for (layers, bytes) in [(1, 200), (8, 200), (8, 280), (8, 300)] {
        let layered = Options { progression: Progression::Quality, layers, ..options(Target::Bytes(bytes)) };
        match encode(&image, &layered, CPU) {
            Ok(coded) => assert!(coded.len() <= bytes, "{} of {bytes} in {layers} layers", coded.len()),
            Err(error) => assert!(layers == 8 && error.to_string().contains("at least"), "{error}"),
        }
    }
}

#[test]
fn the_highest_quality_of_light_and_dark_pictures_is_reached() {
    for (depth, sample) in [(8, 250), (8, 5), (16, 65_000), (1, 1)] {
        let mut image = picture(256, 256, 1, depth, false);
        let most = (1 << depth) - 1;
        for (at, value) in image.components[0].samples.iter_mut().enumerate() {
            *value = (sample + at as i32 * 7919 % 5).min(most);
        }
        for levels in [1, 8, 32] {
            let coded = encode(&image, &Options { levels, ..Options::new(Target::Quality(100.0)) }, CPU).unwrap();
            let reached = psnr(&image, &decode(&coded, 0, SAMPLES_MAX, CPU).unwrap().image);
            assert!(reached >= 100.0, "{reached} dB of {sample} of {depth} bits, {levels} levels");
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn back_ends_make_the_same_bytes() {
    let image = picture(200, 131, 3, 8, false);
    for target in [Target::Lossless, Target::Step(3.0), Target::Bytes(9_000)] {
        let of = |choice| encode(&image, &options(target), (choice, None)).unwrap();
        let all = kernels::BACK_ENDS.map(of);
        assert!(all.iter().all(|bytes| *bytes == all[0]), "{target:?}");
        let pictures = kernels::BACK_ENDS.map(|choice| decode(&all[0], 0, SAMPLES_MAX, (choice, None)).unwrap().image);
        assert!(pictures.iter().all(|picture| *picture == pictures[0]), "{target:?}");
    }
}

#[test]
fn a_picture_without_its_finest_levels_is_the_low_band() {
    let image = picture(101, 64, 3, 8, false);
    for target in [Target::Lossless, Target::Step(0.25)] {
        let coded = encode(&image, &options(target), CPU).unwrap();
        let smaller = decode(&coded, 2, SAMPLES_MAX, CPU).unwrap().image;
        assert_eq!((smaller.width, smaller.height), (26, 16));
        // The mean of what is left is about that of the picture.
        let mean = |image: &Image| {
            let samples = &image.components[1].samples;
            samples.iter().sum::<i32>() as f64 / samples.len() as f64
        };
        assert!((mean(&smaller) - mean(&image)).abs() < 4.0, "{} {}", mean(&smaller), mean(&image));
        assert!(matches!(decode(&coded, 4, SAMPLES_MAX, CPU), Err(Jpeg2000Error::NotRead(_))));
    }
}

#[test]
fn a_cut_file_gives_what_is_whole_and_says_what_is_not() {
    let image = picture(200, 150, 3, 8, false);
    let layered = Options { progression: Progression::Quality, layers: 6, ..options(Target::Bytes(20_000)) };
    let coded = encode(&image, &layered, CPU).unwrap();
    let mut last = 0.0;
    for part in [4, 3, 2] {
        let decoded = decode(&coded[..coded.len() / part], 0, SAMPLES_MAX, CPU).unwrap();
        let text = decoded.missing.unwrap();
        assert!(text.contains("packets that are not whole or not there"), "{text}");
        let reached = psnr(&image, &decoded.image);
        assert!(reached > last, "{reached} after {last}");
        last = reached;
    }
    assert!(last > 20.0, "{last}");
    for end in 0..200 {
        match decode(&coded[..end], 0, SAMPLES_MAX, CPU) {
            Ok(decoded) => assert!(decoded.missing.is_some()),
            Err(error) => assert!(matches!(error, Jpeg2000Error::Damaged(_) | Jpeg2000Error::Other), "{error}"),
        }
    }
}

/// Returns a code-stream's header with a byte of a segment changed, from the segment's marker on.
fn changed(coded: &[u8], marker: u8, at: usize, bytes: &[u8]) -> Vec<u8> {
    let start = coded.windows(2).position(|pair| pair == [0xff, marker]).unwrap();
    let mut changed = coded.to_vec();
    changed[start + at..start + at + bytes.len()].copy_from_slice(bytes);
    changed
}

#[test]
fn hostile_headers_are_refused_with_a_sentence() {
    let image = picture(40, 30, 3, 8, false);
    let coded = encode(&image, &options(Target::Step(4.0)), CPU).unwrap();
    let (siz, cod, qcd) = (0x51, 0x52, 0x5c);
    let huge = u32::MAX.to_be_bytes();
    let refused: [(Vec<u8>, &str); 14] = [
        (Vec::new(), "no JPEG 2000"),
        (b"\x89PNG\r\n\x1a\n".to_vec(), "no JPEG 2000"),
        (changed(&coded, siz, 6, &[huge, huge].concat()), "more than there may be"),
        (changed(&coded, siz, 22, &[0; 4]), "do not go together"),
        (changed(&coded, siz, 22, &[0, 0, 0, 1, 0, 0, 0, 1]), "tiles that are not there: 1199"),
        (changed(&coded, siz, 38, &[0xff, 0xff]), "65535 components"),
        (changed(&coded, siz, 38, &[0, 0]), "0 components"),
        (changed(&coded, siz, 40, &[37]), "38 bits"),
        (changed(&coded, siz, 41, &[0]), "no samples"),
        (changed(&coded, cod, 5, &[9]), "progression order 9"),
        (changed(&coded, cod, 9, &[99]), "99 levels"),
        (changed(&coded, cod, 10, &[9, 9]), "code-blocks are larger"),
        (changed(&coded, cod, 12, &[0xc0]), "of Part 1 and of Part 15, mixed"),
        (changed(&coded, qcd, 2, &[0, 5]), "there is 4800 where a marker must be"),
    ];
    for (bytes, wanted) in refused {
        let found = match decode(&bytes, 0, SAMPLES_MAX, CPU) {
            Ok(decoded) => decoded.missing.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(wanted), "{wanted}: {found}");
    }
    let limited = decode(&coded, 0, 40 * 30 * 3 - 1, CPU);
    assert!(matches!(limited, Err(Jpeg2000Error::NotRead(text)) if text.contains("too many")));
    // A region of interest, a changing order and packed headers, before the tile.
    let start = coded.windows(2).position(|pair| pair == [0xff, 0x90]).unwrap();
    let beyond: [(u8, &[u8], &str); 7] = [
        (0x5e, &[0, 0], "ROI"),
        (0x5f, &[0, 0], "POC"),
        (0x60, &[0, 0], "PPM"),
        (0x50, &[0, 2], "CAP is too short"),
        (0x50, &[0, 3, 0, 0, 0, 0], "beyond Part 15"),
        (0x50, &[0, 2, 0, 0, 0xc0, 0], "mixed"),
        (0x50, &[0, 2, 0, 0, 0x20, 0], "more than one set"),
    ];
    for (marker, content, name) in beyond {
        let head = [0xff, marker, 0, content.len() as u8 + 2];
        let more = [&coded[..start], &head, content, &coded[start..]].concat();
        let error = decode(&more, 0, SAMPLES_MAX, CPU).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn pictures_that_do_not_fit_together_are_not_coded() {
    let whole = picture(20, 10, 3, 8, false);
    let mut short = whole.clone();
    short.components[1].samples.pop();
    let mut deep = whole.clone();
    deep.components[0].depth = 17;
    let mut wide = whole.clone();
    wide.components[2].width = 21;
    let mut empty = whole.clone();
    empty.components.clear();
    for image in [short, deep, wide, empty] {
        let error = encode(&image, &options(Target::Lossless), CPU).unwrap_err();
        assert!(matches!(error, Jpeg2000Error::NotCoded(_)), "{error}");
    }
    let plain = options(Target::Lossless);
    for (wrong, wanted) in [
        (Options { layers: 0, ..plain }, "0 layers"),
        (Options { levels: 33, ..plain }, "33 levels"),
        (Options { layers: 2, is_high_throughput: true, ..plain }, "in one layer, not in 2"),
        (Options { block_exponent: 7, ..plain }, "2^7"),
        (Options { block_exponent: 1, ..plain }, "2^1"),
    ] {
        let error = encode(&whole, &wrong, CPU).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn what_would_not_be_read_is_not_coded() {
    // One row and column more than a picture may have, and more blocks in all layers than are read.
    let side = 9460;
    let component =
        |_| ImageComponent { width: side, height: side, step: (1, 1), depth: 8, is_signed: false, samples: Vec::new() };
    let large = Image { width: side, height: side, colour: Colour::Rgb, components: (0..3).map(component).collect() };
    let error = encode(&large, &options(Target::Lossless), CPU).unwrap_err().to_string();
    assert!(error.contains("268474800 samples"), "{error}");
    let many = Options { layers: u16::MAX, block_exponent: 5, ..options(Target::Lossless) };
    let error = encode(&picture(1100, 1000, 1, 8, false), &many, CPU).unwrap_err().to_string();
    assert!(error.contains("in all layers: too many"), "{error}");
}
