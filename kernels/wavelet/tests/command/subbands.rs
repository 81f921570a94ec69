//! `wavelet subbands` on pictures and arrays.

use std::fs;

use crate::support::{BACKENDS, Folder, pgm, ppm, psnr, read_npy, samples, succeed, wavelet};

const SIZE: (usize, usize) = (61, 40);

/// Returns an array of `channels` channels of [`SIZE`].
fn npy(channels: usize, seed: usize) -> Vec<u8> {
    let (width, height) = SIZE;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({channels}, {height}, {width}), }}");
    let header = format!("{header:<117}\n");
    let mut bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    let value = |at: usize| ((at * at * (7 + seed) + at) % 97) as f32 / 10.0 - 3.0;
    bytes.extend((0..channels * width * height).flat_map(|at| value(at).to_le_bytes()));
    bytes
}

#[test]
fn what_is_not_changed_comes_back_and_what_is_removed_is_gone() {
    let folder = Folder::new("subbands");
    let (width, height) = SIZE;
    let source = folder.file("a.pgm", &pgm(width, height));
    let back = folder.path("b.pgm");
    let of = |options: &[&str]| {
        succeed(&[&["subbands", &source, &back], options].concat());
        samples(&back, width * height)
    };
    let original = samples(&source, width * height);
    assert_eq!(of(&["--gain", "all=1"]), original);
    assert_eq!(of(&["--take", "all", "--take", "low", "--from", &source]), original);
    assert_eq!(of(&["--larger", "1-3h", "--from", &source]), original);
    let flat = of(&["--gain", "all=0"]);
    assert!(flat.iter().all(|sample| sample.abs_diff(flat[0]) <= 1), "only the mean is left");
    assert!(psnr(&of(&["--gain", "1d=0"]), &original) > psnr(&of(&["--gain", "1=0"]), &original));
    assert_eq!(of(&["--threshold", "all=0"]), original);
    assert_eq!(of(&["--threshold", "all=1000000"]), flat);
}

#[test]
fn light_and_texture_are_two_files_that_make_the_picture() {
    let folder = Folder::new("subbands-rest");
    let (width, height) = SIZE;
    let [light, texture] = ["light.pgm", "texture.pgm"].map(|name| folder.path(name));
    let source = folder.file("a.pgm", &pgm(width, height));
    succeed(&["subbands", &source, &light, "--gain", "1-3=0", "--rest", &texture]);
    let [original, light, texture] = [&source, &light, &texture].map(|path| samples(path, width * height));
    assert!(texture.iter().any(|&sample| sample.abs_diff(128) > 2), "there is some texture");
    for ((original, light), texture) in original.iter().zip(&light).zip(&texture) {
        let sum = i32::from(*light) + i32::from(*texture) - 128;
        assert!(
            (sum - i32::from(*original)).abs() <= 1 || [light, texture].into_iter().any(|at| [0, 255].contains(at)),
            "{original} {light} {texture}"
        );
    }
    let source = folder.file("a.npy", &npy(2, 1));
    let [light, texture] = ["light.npy", "texture.npy"].map(|name| folder.path(name));
    for backend in BACKENDS {
        succeed(&["subbands", &source, &light, "--gain", "1=0", "--rest", &texture, "--backend", backend]);
        let [original, light, texture] = [&source, &light, &texture].map(|path| read_npy(path).1);
        let sums = light.iter().zip(&texture).map(|(light, texture)| light + texture);
        assert!(sums.zip(&original).all(|(sum, original)| (sum - original).abs() < 1e-5));
    }
    let error = wavelet(&["subbands", &source, &light, "--gain", "1=0", "--rest", &light]);
    assert!(String::from_utf8(error.stderr).unwrap().contains("named twice"));
}

#[test]
fn detail_of_one_lies_on_the_light_of_another() {
    let folder = Folder::new("subbands-from");
    let (width, height) = SIZE;
    let light = folder.file("light.ppm", &ppm(width, height));
    let [detail, back] = ["detail.ppm", "back.ppm"].map(|name| folder.path(name));
    // A picture with detail alone: nothing of it is low.
    let texture =
        folder.file("texture.ppm", &[format!("P6\n{width} {height}\n255\n").as_bytes(), &samples_of_noise()].concat());
    succeed(&["subbands", &texture, &detail, "--gain", "low=0"]);
    succeed(&["subbands", &light, &back, "--take", "1-2", "--from", &texture]);
    let count = width * height * 3;
    let (light, texture, back) = (samples(&light, count), samples(&texture, count), samples(&back, count));
    let mean = |samples: &[u8]| samples.iter().map(|&sample| f64::from(sample)).sum::<f64>() / count as f64;
    let roughness = |samples: &[u8]| samples.windows(4).map(|pair| u32::from(pair[0].abs_diff(pair[3]))).sum::<u32>();
    assert!((mean(&back) - mean(&light)).abs() < 6.0, "{} {}", mean(&back), mean(&light));
    assert!(roughness(&back) > 2 * roughness(&light), "{} {}", roughness(&back), roughness(&light));
    assert!(texture != back);
}

fn samples_of_noise() -> Vec<u8> {
    (0..SIZE.0 * SIZE.1).flat_map(|at| [(64 + (at * at * 37 + at * 11) % 128) as u8; 3]).collect()
}

#[test]
fn arrays_have_any_number_of_channels_and_every_back_end_agrees() {
    let folder = Folder::new("subbands-npy");
    let [a, b] = [(5, 0), (5, 3)].map(|(channels, seed)| folder.file(&format!("{seed}.npy"), &npy(channels, seed)));
    let changes = ["--gain", "1-2=1.5", "--threshold", "3h=0.4", "--larger", "4", "--take", "low", "--from", &b];
    let results = BACKENDS.map(|backend| {
        let out = folder.path(&format!("{backend}.npy"));
        succeed(&[&["subbands", &a, &out, "--backend", backend], &changes[..]].concat());
        let (shape, _) = read_npy(&out);
        assert_eq!(shape, format!("5, {}, {}", SIZE.1, SIZE.0));
        fs::read(out).unwrap()
    });
    assert!(results.iter().all(|result| *result == results[0]));
    let same = folder.path("same.npy");
    succeed(&["subbands", &a, &same, "--gain", "all=1"]);
    let pairs = read_npy(&a).1.into_iter().zip(read_npy(&same).1);
    assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-4);
}

#[test]
fn a_geometry_image_becomes_a_mesh_and_a_picture_of_it() {
    let folder = Folder::new("subbands-mesh");
    let source = folder.file("a.npy", &npy(3, 1));
    let [mesh, picture] = ["a.obj", "a.png"].map(|name| folder.path(name));
    for output in [&mesh, &picture] {
        succeed(&["subbands", &source, output, "--gain", "1-2=0"]);
    }
    let text = fs::read_to_string(&mesh).unwrap();
    let count = |kind: &str| text.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("v "), count("f ")), (SIZE.0 * SIZE.1, (SIZE.0 - 1) * (SIZE.1 - 1)));
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn what_cannot_be_done_is_a_sentence() {
    let folder = Folder::new("subbands-errors");
    let source = folder.file("a.pgm", &pgm(20, 10));
    let other = folder.file("b.pgm", &pgm(21, 10));
    let array = folder.file("a.npy", &npy(1, 0));
    let [back, back_array, mesh] = ["c.pgm", "c.npy", "c.obj"].map(|name| folder.path(name));
    for (arguments, wanted) in [
        (vec!["subbands", &source, &back], "nothing is to be changed"),
        (vec!["subbands", &source, &back, "--gain", "5x=2"], "SUBBANDS=NUMBER"),
        (vec!["subbands", &source, &back, "--gain", "1"], "SUBBANDS=NUMBER"),
        (vec!["subbands", &source, &back, "--gain", "1=nan"], "SUBBANDS=NUMBER"),
        (vec!["subbands", &source, &back, "--threshold", "1=-2"], "not negative"),
        (vec!["subbands", &source, &back, "--gain", "9=0"], "no level 9: there are 5"),
        (vec!["subbands", &source, &back, "--gain", "2-6h=0"], "no level 6: there are 5"),
        (vec!["subbands", &source, &back, "--threshold", "4=1", "--levels", "3"], "no level 4: there are 3"),
        (vec!["subbands", &source, &back, "--take", "1"], "--from"),
        (vec!["subbands", &source, &back, "--take", "1", "--from", &other], "21x10"),
        (vec!["subbands", &source, &back_array, "--gain", "1=2"], "must end in"),
        (vec!["subbands", &array, &back, "--gain", "1=2"], "must end in"),
        (vec!["subbands", &array, &mesh, "--gain", "1=2"], "of three channels, x, y and z, not of 1"),
    ] {
        let output = wavelet(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(wanted), "{arguments:?}: {error}");
    }
}
