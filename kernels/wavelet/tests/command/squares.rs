//! `forward` and `inverse`.

use std::fs;

use crate::errors::fail;
use crate::support::{
    BACKENDS, BOUNDARIES, Folder, golden, pgm, ppm, psnr, read_npy, read_npy_of, samples, succeed, wavelet, y4m,
};

/// Returns the largest difference of coefficients after division by the gain 2^level of their band.
fn difference_at_8_bit(a: &[f32], b: &[f64], side: usize) -> f64 {
    assert_eq!((a.len(), b.len()), (side * side, side * side));
    let gain = |row: usize, column: usize| {
        let from_corner = row.max(column).max(1);
        // Bands of level l span side / 2^l to side / 2^(l-1).
        f64::from(side as u32) / f64::from(1_u32 << from_corner.ilog2())
    };
    let differences = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - b).abs());
    differences.enumerate().map(|(at, d)| d / gain(at / side, at % side)).fold(0.0, f64::max)
}

#[test]
fn forward_agrees_with_pywavelets() {
    let folder = Folder::new("pywavelets");
    for backend in BACKENDS {
        for name in ["camera_64x64", "camera_37x21"] {
            for padding in ["smooth", "zero"] {
                let (input, output) = (golden(&format!("{name}.pgm")), folder.path("a.npy"));
                succeed(&["forward", &input, &output, "--padding", padding, "--backend", backend]);
                let (shape, ours) = read_npy(&output);
                let (golden_shape, theirs) = read_npy_of("<f8", &golden(&format!("{name}.{padding}.npy")));
                assert_eq!(shape, golden_shape);
                let difference = difference_at_8_bit(&ours, &theirs, 64);
                assert!(difference < 1e-4, "{backend} {name} {padding}: {difference:e}");
            }
        }
    }
}

#[test]
fn inverse_gives_the_picture_back() {
    let folder = Folder::new("inverse");
    let samples = samples(&golden("camera_37x21.pgm"), 37 * 21);
    let (coefficients, array, file) = (folder.path("a.npy"), folder.path("b.npy"), folder.path("b.pgm"));
    for backend in BACKENDS {
        for options in [
            &[][..],
            &["--padding", "zero", "--boundary", "periodic"],
            &["--padding", "zero", "--boundary", "zero", "--levels", "3"],
            &["--boundary", "zero", "--levels", "1"],
        ] {
            let options = [options, &["--backend", backend]].concat();
            succeed(&[&["forward", &golden("camera_37x21.pgm"), &coefficients], &options[..]].concat());
            succeed(&[&["inverse", &coefficients, &array], &options[..]].concat());
            let (shape, values) = read_npy(&array);
            assert_eq!(shape, "1, 21, 37");
            for (value, &sample) in values.iter().zip(&samples) {
                assert!((value - f32::from(sample)).abs() < 1e-3, "{options:?}: {value} for {sample}");
            }
            succeed(&["inverse", &coefficients, &file, "--backend", backend]);
            assert!(fs::read(&file).unwrap().ends_with(&samples), "{options:?}");
        }
    }
}

#[test]
fn back_ends_agree_to_the_bit() {
    let folder = Folder::new("agree");
    let input = folder.file("a.ppm", &ppm(45, 70));
    for options in [&[][..], &["--padding", "zero"], &["--boundary", "periodic"], &["--boundary", "zero"]] {
        let arrays = BACKENDS.map(|backend| {
            let output = folder.path("a.npy");
            succeed(&[&["forward", &input, &output, "--backend", backend], options].concat());
            fs::read(&output).unwrap()
        });
        assert!(arrays[0].starts_with(b"\x93NUMPY") && arrays[0].len() > 3 * 128 * 128 * 4);
        for (array, backend) in arrays.iter().zip(BACKENDS) {
            assert!(*array == arrays[0], "{backend} {options:?}");
        }
    }
}

#[test]
fn colour_pictures_become_three_channels() {
    let folder = Folder::new("colour");
    let input = folder.file("a.ppm", &ppm(17, 31));
    let (coefficients, output) = (folder.path("a.npy"), folder.path("b.ppm"));
    succeed(&["forward", &input, &coefficients, "--backend", "cpu"]);
    assert_eq!(read_npy(&coefficients).0, "3, 32, 32");
    succeed(&["inverse", &coefficients, &output, "--backend", "cpu"]);
    let count = 3 * 17 * 31;
    assert!(samples(&input, count) == samples(&output, count));
}

#[test]
fn every_colour_comes_back() {
    let folder = Folder::new("every-colour");
    let (width, height) = (61, 45);
    let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
    picture.extend((0..3 * width * height).map(|at: usize| (at * at * 37 + at * 101 + at / 183) as u8));
    let input = folder.file("a.ppm", &picture);
    let (coefficients, output) = (folder.path("a.npy"), folder.path("b.ppm"));
    for backend in BACKENDS {
        for options in
            [&["--wavelet", "cdf97"][..], &["--wavelet", "cdf53"], &["--wavelet", "dd137"], &["--precision", "f64"]]
        {
            succeed(&[&["forward", &input, &coefficients, "--backend", backend], options].concat());
            succeed(&["inverse", &coefficients, &output, "--backend", backend]);
            let count = 3 * width * height;
            assert!(samples(&output, count) == samples(&input, count), "{options:?} on {backend}");
        }
    }
}

#[test]
fn arrays_that_numpy_has_made_wider_are_read() {
    let folder = Folder::new("wider");
    let (array, output) = (folder.path("a.npy"), folder.path("b.pgm"));
    for (wavelet, narrow) in [("cdf97", "<f4"), ("cdf53", "<i4")] {
        succeed(&["forward", &golden("camera_37x21.pgm"), &array, "--wavelet", wavelet, "--backend", "cpu"]);
        let values = read_npy_of(narrow, &array).1;
        let bytes = fs::read(&array).unwrap();
        for wide in ["<f8", "<i8"] {
            let head = String::from_utf8(bytes[10..128].to_vec()).unwrap().replace(narrow, wide);
            let value = |value: &f64| if wide == "<f8" { value.to_le_bytes() } else { (*value as i64).to_le_bytes() };
            let mut made = [&bytes[..10], head.as_bytes()].concat();
            made.extend(values.iter().flat_map(value));
            fs::write(&array, made).unwrap();
            succeed(&["inverse", &array, &output, "--backend", "cpu"]);
            let is_same = samples(&output, 37 * 21) == samples(&golden("camera_37x21.pgm"), 37 * 21);
            assert!(is_same || (wavelet, wide) == ("cdf97", "<i8"), "{wavelet} {wide}");
        }
    }
    let half = [&fs::read(&array).unwrap()[..128], &[0.5_f64.to_le_bytes(); 64 * 64].concat()].concat();
    let head = [&half[..10], String::from_utf8_lossy(&half[10..128]).replace("<i8", "<f8").as_bytes()].concat();
    fs::write(&array, [&head, &half[128..]].concat()).unwrap();
    fail(&["inverse", &array, &output, "--backend", "cpu"], 2, &["0.5 is no coefficient of this wavelet"]);
}

#[test]
fn finer_samples_are_refused_and_transparency_is_told() {
    let folder = Folder::new("png");
    let (path, array) = (folder.path("a.png"), folder.path("a.npy"));
    image::ImageBuffer::from_pixel(5, 4, image::Rgb([1_u16, 2, 3])).save(&path).unwrap();
    fail(&["forward", &path, &array, "--backend", "cpu"], 2, &["a.png has samples of more than 8 bits"]);
    for (alpha, says) in [(255, ""), (254, "a.png is transparent in places: that is left out\n")] {
        image::ImageBuffer::from_pixel(5, 4, image::Rgba([1_u8, 2, 3, alpha])).save(&path).unwrap();
        for (command, output) in [("forward", &array), ("encode", &folder.path("a.duet"))] {
            let output = wavelet(&[command, &path, output, "--backend", "cpu"]);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && said.ends_with(says) && says.is_empty() == said.is_empty(), "{said}");
        }
    }
}

#[test]
fn a_clip_gives_its_first_picture() {
    let folder = Folder::new("first");
    let input = folder.file("a.y4m", &y4m(9, 5, "444", 3));
    let (coefficients, output) = (folder.path("a.npy"), folder.path("b.y4m"));
    succeed(&["forward", &input, &coefficients, "--backend", "cpu"]);
    succeed(&["inverse", &coefficients, &output, "--backend", "cpu"]);
    let (before, after) = (fs::read(&input).unwrap(), fs::read(&output).unwrap());
    assert_eq!(after[after.len() - 135..], before[before.len() - 3 * 141 + 6..][..135]);
}

#[test]
fn one_pixel_is_a_picture() {
    let folder = Folder::new("pixel");
    let input = folder.file("a.pgm", b"P5\n1 1\n255\nA");
    for backend in BACKENDS {
        let (coefficients, output) = (folder.path("a.npy"), folder.path("b.pgm"));
        succeed(&["forward", &input, &coefficients, "--backend", backend]);
        assert_eq!(read_npy(&coefficients), ("1, 1, 1".to_owned(), vec![f32::from(b'A') - 128.0]));
        succeed(&["inverse", &coefficients, &output, "--backend", backend]);
        assert!(fs::read(&output).unwrap().ends_with(b"A"));
    }
}

/// The options and the array's element of every transform, and how far samples may be off that come back.
const TRANSFORMS: [(&[&str], &str, f64); 6] = [
    (&["--wavelet", "cdf53"], "<i4", 0.0),
    (&["--wavelet", "cdf97"], "<f4", 1e-3),
    (&["--wavelet", "dd137"], "<f4", 1e-3),
    (&["--wavelet", "cdf97", "--precision", "f64"], "<f8", 1e-10),
    (&["--wavelet", "dd137", "--precision", "f64"], "<f8", 1e-10),
    (&["--filter-bank", concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/banks/haar.toml")], "<f4", 1e-3),
];

/// Checks forward and inverse of a small picture with each transform, into an array and into a picture.
fn all_come_back((width, height): (usize, usize), boundary: &str, padding: &str, backend: &str) {
    let folder = Folder::new(&format!("back-{backend}"));
    let (coefficients, back, file) = (folder.path("a.npy"), folder.path("b.npy"), folder.path("b.pgm"));
    let input = folder.file("a.pgm", &pgm(width, height));
    let samples = samples(&input, width * height);
    for (transform, element, tolerance) in TRANSFORMS {
        if transform[0] == "--filter-bank" && boundary != "symmetric" && padding == "smooth" {
            // Haar does not reconstruct rows of odd length there, and says so.
            continue;
        }
        let options = ["--boundary", boundary, "--padding", padding, "--backend", backend];
        let options = [transform, &options].concat();
        succeed(&[&["forward", &input, &coefficients], &options[..]].concat());
        succeed(&[&["inverse", &coefficients, &back], &options[..]].concat());
        let (shape, values) = read_npy_of(element, &back);
        assert_eq!(shape, format!("1, {height}, {width}"));
        for (value, &sample) in values.iter().zip(&samples) {
            let error = (value - f64::from(sample)).abs();
            assert!(error <= tolerance, "{width}x{height} {options:?}: {value} for {sample}");
        }
        succeed(&["inverse", &coefficients, &file, "--backend", backend]);
        assert!(fs::read(&file).unwrap().ends_with(&samples), "{options:?}");
    }
}

#[test]
fn every_transform_gives_the_picture_back() {
    for size in [(1, 1), (1, 7), (2, 2), (3, 2), (17, 31), (33, 20)] {
        for boundary in BOUNDARIES {
            for padding in ["smooth", "zero"] {
                all_come_back(size, boundary, padding, "reference");
            }
        }
    }
    all_come_back((17, 31), "symmetric", "smooth", BACKENDS[BACKENDS.len() - 1]);
}

#[test]
fn the_reversible_wavelet_keeps_every_sample_of_a_clip_and_nearly_every_colour() {
    let folder = Folder::new("lossless");
    let (clip, colour) = (folder.file("a.y4m", &y4m(19, 13, "444", 1)), folder.file("a.ppm", &ppm(19, 13)));
    let count = 3 * 19 * 13;
    for backend in [BACKENDS[0], BACKENDS[BACKENDS.len() - 1]] {
        let (coefficients, back) = (folder.path("a.npy"), folder.path("b.y4m"));
        succeed(&["forward", &clip, &coefficients, "--wavelet", "cdf53", "--backend", backend]);
        succeed(&["inverse", &coefficients, &back, "--backend", backend]);
        let [before, after] = [&clip, &back].map(|path| fs::read(path).unwrap());
        assert_eq!(before[before.len() - count..], after[after.len() - count..]);

        let back = folder.path("b.ppm");
        succeed(&["forward", &colour, &coefficients, "--wavelet", "cdf53", "--backend", backend]);
        succeed(&["inverse", &coefficients, &back, "--backend", backend]);
        assert!(psnr(&samples(&colour, count), &samples(&back, count)) > 48.0);
    }
}
