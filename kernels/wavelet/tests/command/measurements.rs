//! `devices` and `bench`: that they print what they promise, not how fast it is.

use std::fs;

use crate::support::{BACKENDS, Folder, succeed, wavelet};

#[test]
fn devices_are_listed_for_people_and_programs() {
    let lines = succeed(&["devices"]);
    assert!(lines.lines().any(|line| line.starts_with("cpu ")), "{lines}");
    assert_eq!(lines.lines().any(|line| line.starts_with("opencl ")), cfg!(feature = "opencl"), "{lines}");
    let json = succeed(&["devices", "--json"]);
    let devices: serde_json::Value = serde_json::from_str(&json).unwrap();
    let devices = devices.as_array().unwrap();
    assert_eq!(devices.len(), lines.lines().count());
    for device in devices {
        for key in ["backend", "name", "kind", "platform", "driver", "memory_bytes", "compute_units"] {
            assert!(device.get(key).is_some(), "{key} in {device}");
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn tables_have_a_row_for_each_size_and_a_plot() {
    let (folder, sizes) = (Folder::new("bench"), "64x48,17x31");
    let [csv, markdown, png] = ["a.csv", "a.md", "a.png"].map(|name| folder.path(name));
    let files = ["--csv", &csv, "--markdown", &markdown, "--plot", &png];
    for kind in ["dwt", "schemes --scheme sweldens", "codec", "lossless", "jpeg2000", "transfer", "overlap"] {
        let kind: Vec<_> = kind.split(' ').collect();
        let measured = [&["bench"], &kind[..], &["--sizes", sizes, "--runs", "1", "--backend", "opencl"]].concat();
        let text = succeed(&[&measured[..], &files[..]].concat());
        let (table, document) = (fs::read_to_string(&csv).unwrap(), fs::read_to_string(&markdown).unwrap());
        for size in ["64x48", "17x31"] {
            assert!([&text, &table, &document].iter().all(|text| text.contains(size)), "{kind:?}: {text}");
        }
        let columns = table.lines().next().unwrap().split(',').count();
        assert!(columns > 3 && table.lines().count() > 2, "{table}");
        let cells = document.lines().filter(|line| line.starts_with('|')).map(|line| line.matches(" |").count());
        assert!(cells.clone().count() > 3 && cells.max() == Some(columns), "{document}");
        assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
        fs::remove_file(&png).unwrap();
    }
}

#[test]
fn predicted_frames_are_measured_on_every_back_end() {
    let folder = Folder::new("bench-prediction");
    let csv = folder.path("a.csv");
    for backend in BACKENDS {
        succeed(&["bench", "prediction", "--sizes", "128x96", "--runs", "1", "--backend", backend, "--csv", &csv]);
        let table = fs::read_to_string(&csv).unwrap();
        let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = rows.next().unwrap();
        let column = |name: &str| head.iter().position(|cell| *cell == name).unwrap();
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 3, "an effort a row: {table}");
        for row in rows {
            let ms = |name| row[column(name)].parse::<f64>().unwrap();
            assert_eq!(row[column("backend")], backend);
            assert!(ms("vectors_to_bytes_ms") > 0.0 && ms("encode_ms") >= ms("vectors_to_bytes_ms"), "{table}");
        }
    }
}

#[test]
fn the_transform_is_measured_on_every_back_end() {
    for backend in BACKENDS {
        let options = ["--levels", "2", "--boundary", "periodic", "--padding", "zero"];
        let text = succeed(
            &[&["bench", "dwt", "--sizes", "37x21", "--runs", "5", "--backend", backend], &options[..]].concat(),
        );
        let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for direction in ["forward", "inverse"] {
            let row = rows.iter().find(|row| row.contains(&direction)).unwrap();
            let size = row.iter().position(|cell| *cell == "37x21").unwrap();
            assert_eq!((row[size + 1], row[size + 2]), ("64", "2"), "{text}");
            assert_eq!(row[size + 3] == "-", backend != "opencl", "{text}");
            assert_eq!(row.last(), Some(&"5"), "{text}");
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn schemes_are_compared_with_each_other_and_with_a_copy() {
    let options = ["--sizes", "48x40", "--runs", "1", "--backend", "opencl", "--wavelet", "cdf53"];
    let text = succeed(&[&["bench", "schemes"], &options[..]].concat());
    for scheme in ["separable", "monolithic*", "convolution", "device copy"] {
        assert!(text.lines().any(|line| line.contains(&format!("cdf53    {scheme} "))), "{scheme}: {text}");
    }
    assert!(text.contains("slab left out: scheme slab does not compute cdf53"), "{text}");
}

#[test]
fn the_coder_has_its_own_transform() {
    let output = wavelet(&["bench", "codec", "--levels", "3"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`dwt` and `schemes`"));
}

#[test]
fn all_measurements_are_one_page_and_its_files() {
    let folder = Folder::new("bench-all");
    let out = folder.path("new/results");
    let options = ["--sizes", "24x16", "--runs", "1", "--seconds", "0", "--backend", "cpu", "--out", &out];
    let output = wavelet(&[&["bench", "all"], &options[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(String::from_utf8_lossy(&output.stdout).trim()).unwrap();
    for name in ["dwt-hd", "dwt-square", "codec", "effects"] {
        assert!(page.contains(&format!("## {name}\n")) && page.contains(&format!("({name}.png)")), "{page}");
        let rows = fs::read_to_string(format!("{out}/{name}.csv")).unwrap();
        assert!(rows.contains("24x16"), "{rows}");
        assert!(fs::read(format!("{out}/{name}.png")).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn files_that_cannot_be_written_are_known_before_measuring() {
    for option in ["--csv", "--markdown", "--plot"] {
        let output = wavelet(&["bench", "transfer", "--backend", "opencl", option, "/nowhere/a"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), message.contains("/nowhere/a")), (Some(2), true), "{message}");
    }
}

#[test]
fn files_keep_what_they_hold_until_there_is_a_table() {
    let folder = Folder::new("bench-kept");
    let picture = folder.file("p.pgm", &crate::support::pgm(16, 16));
    let files = ["b.csv", "b.md", "b.png"].map(|name| folder.file(name, b"results"));
    let [csv, markdown, png] = &files;
    let all = ["--csv", csv, "--markdown", markdown, "--plot", png];
    let fails = |arguments: &[&str], words: &str| {
        let output = wavelet(&[&["bench"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), message.contains(words)), (Some(2), true), "{arguments:?}: {message}");
        assert!(files.iter().all(|path| fs::read(path).unwrap() == b"results"), "{arguments:?} has changed a file");
    };
    let with_all = |arguments: &[&str], words: &str| fails(&[arguments, &all[..]].concat(), words);
    with_all(&["codec", "--sizes", "64x64", "--picture", &picture], "cannot be used together");
    with_all(&["codec", "--picture", "/nowhere/p.png"], "/nowhere/p.png");
    with_all(&["codec", "--levels", "3"], "`dwt` and `schemes`");
    with_all(&["codec", "--bpp", "0"], "--bpp 0");
    for kind in ["dwt", "codec", "prediction", "effects", "lossless", "schemes"] {
        with_all(&[kind, "--sizes", "big"], "big");
    }
    fails(&["dwt", "--csv", csv, "--plot", &folder.path("x.svg")], "--plot draws a PNG");
    fails(&["dwt", "--csv", csv, "--markdown", csv], "b.csv is named twice");
    fails(&["codec", "--picture", png, "--plot", png], "b.png is named twice");
    assert!(!std::path::Path::new(&folder.path("x.svg")).exists());
}

#[test]
fn wrong_sizes_are_refused() {
    for sizes in ["0x1", "16385x1", "big", "64x"] {
        let output = wavelet(&["bench", "dwt", "--sizes", sizes]);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).lines().count()), (Some(2), 1));
    }
}
