//! Films of recordings, as ffmpeg reads them.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::errors::fail;
use crate::support::{Folder, samples, succeed, wavelet, y4m, y4m_samples};

/// Pictures of a recording, and a second of them.
const PICTURES: usize = 60;
const RATE_HZ: u32 = 48_000;

/// Makes a recording of two seconds; of its sound, of which one second in the middle is loud, the first sample was here so many samples
/// after midnight.
fn recording(folder: &Folder, name: &str, begun: Option<u64>) -> String {
    let (clip, coded) = (folder.file("a.y4m", &y4m(98, 66, "420jpeg", PICTURES)), folder.path(&format!("{name}.duet")));
    succeed(&["encode", &clip, &coded, "--backend", "cpu", "--step", "8"]);
    if let Some(begun) = begun {
        let mut extension = vec![0; 602];
        extension[338..346].copy_from_slice(&begun.to_le_bytes());
        extension[346] = 1;
        let sample = |at: u32| if (RATE_HZ / 2..RATE_HZ * 3 / 2).contains(&at) { [0, 64] } else { [0, 0] };
        let samples: Vec<_> = (0..2 * RATE_HZ).flat_map(sample).collect();
        let format =
            [&[1_u8, 0, 1, 0][..], &RATE_HZ.to_le_bytes(), &(2 * RATE_HZ).to_le_bytes(), &[2, 0, 16, 0]].concat();
        let chunks = [chunk(b"fmt ", &format), chunk(b"bext", &extension), chunk(b"data", &samples)].concat();
        folder.file(&format!("{name}.wav"), &chunk(b"RIFF", &[b"WAVE", &chunks[..]].concat()));
    }
    coded
}

fn chunk(name: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
    [name, &(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// Returns what ffprobe says of each stream.
fn streams(film: &str, entries: &str) -> Vec<String> {
    let arguments = ["-v", "error", "-count_frames", "-show_entries", entries, "-of", "csv=p=0", film];
    let output = Command::new("ffprobe").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Returns the parts of a track that are loud, tenths of seconds.
fn loud(film: &str, track: usize) -> std::ops::Range<usize> {
    let map = format!("0:a:{track}");
    let arguments = ["-v", "error", "-i", film, "-map", &map, "-ac", "1", "-ar", "48000", "-f", "s16le", "-"];
    let output = Command::new("ffmpeg").args(arguments).output().unwrap();
    let samples: Vec<_> = output.stdout.chunks_exact(2).map(|it| i16::from_le_bytes([it[0], it[1]])).collect();
    let is_loud: Vec<_> = samples
        .chunks_exact(4_800)
        .map(|part| part.iter().filter(|it| it.unsigned_abs() > 1_000).count() > 2_400)
        .collect();
    let first = is_loud.iter().position(|it| *it).unwrap();
    first..first + is_loud[first..].iter().take_while(|it| **it).count()
}

#[test]
fn a_recording_becomes_a_film_with_its_sound() {
    let folder = Folder::new("film");
    let (with, without) = (recording(&folder, "a", Some(0)), recording(&folder, "b", None));
    for (ending, sound) in [("mkv", "flac"), ("mp4", "aac")] {
        let film = folder.path(&format!("a.{ending}"));
        let report = succeed(&["export", &with, &film, "--backend", "cpu"]);
        assert!(report.starts_with("60 frames of 98x66"), "{report}");
        let seen = streams(&film, "stream=codec_name,width,height,nb_read_frames");
        assert!(seen[0].starts_with("h264,98,66,60"), "{seen:?}");
        assert!(seen[1].starts_with(sound) && seen.len() == 2, "{seen:?}");
        assert_eq!(loud(&film, 0), 5..15, "{ending}");
        succeed(&["export", &without, &film, "--backend", "cpu"]);
        assert_eq!(streams(&film, "stream=codec_name"), ["h264"], "{ending}");
    }
    assert_eq!(left(&folder), ["a.duet", "a.mkv", "a.mp4", "a.wav", "a.y4m", "b.duet"]);
}

#[test]
fn two_sides_stand_side_by_side_each_at_its_time() {
    let folder = Folder::new("sides");
    // Half a second later, beyond midnight.
    let day = 86_400 * u64::from(RATE_HZ);
    let (first, second) = (recording(&folder, "a", Some(day - 12_000)), recording(&folder, "b", Some(12_000)));
    let film = folder.path("both.mkv");
    for (sides, tracks) in [([&first, &second], [5..20, 5..15, 10..20]), ([&second, &first], [5..20, 10..20, 5..15])] {
        succeed(&["export", sides[0], sides[1], &film, "--backend", "cpu"]);
        let seen = streams(&film, "stream=codec_name,width,height,nb_read_frames");
        assert!(seen[0].starts_with("h264,196,66,75"), "{seen:?}");
        assert_eq!(seen.iter().filter(|it| it.starts_with("flac")).count(), 3, "{seen:?}");
        assert_eq!([0, 1, 2].map(|track| loud(&film, track)), tracks, "both, then each");
    }
    let third = recording(&folder, "c", Some(day / 2));
    fail(&["export", &first, &third, &film], 2, &["begin 12.0 hours apart: name the two sides of one call"]);
}

#[test]
fn every_picture_becomes_a_file() {
    let folder = Folder::new("numbered");
    let coded = recording(&folder, "a", None);
    let film = folder.path("a.y4m");
    succeed(&["decode", &coded, &film, "--backend", "cpu"]);
    let shown = std::fs::read(&film).unwrap();
    let frame = 98 * 66 * 3 / 2;
    let (_, shown) = y4m_samples(&shown, frame);
    for (ending, places) in [("j2k", "%03d"), ("jp2", "%d"), ("png", "%02d"), ("ppm", "%04d")] {
        succeed(&["export", &coded, &folder.path(&format!("p{places}.{ending}")), "--backend", "cpu"]);
        let count = left(&folder).iter().filter(|name| name.ends_with(ending)).count();
        assert_eq!(count, PICTURES, "{ending}");
    }
    // Without loss, as `decode` reads them.
    let back = folder.path("back.y4m");
    succeed(&["decode", &folder.path("p042.j2k"), &back, "--backend", "cpu"]);
    let (_, planes) = y4m_samples(&std::fs::read(&back).unwrap(), frame);
    assert!(planes == shown[41 * frame..][..frame], "without loss");
    let one = folder.path("one.ppm");
    succeed(&["decode", &folder.path("p42.jp2"), &one, "--backend", "cpu"]);
    let pixels = |path: &str| samples(path, 98 * 66 * 3);
    assert!(pixels(&one) == pixels(&folder.path("p0042.ppm")), "without loss, too");
    for wrong in ["p%5d.png", "p%0d%0d.png", "p%x.png", "p%010d.png"] {
        fail(&["export", &coded, &folder.path(wrong)], 2, &["the place of the number"]);
    }
    fail(&["export", &coded, &folder.path("p%05d.y4m")], 2, &["must end in .png or .ppm or .jp2 or .j2k"]);
}

/// Returns the names in a folder.
fn left(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let folder = Folder::new("no-film");
    let coded = recording(&folder, "a", Some(0));
    let film = folder.path("a.mkv");
    fail(&["export", &coded, &folder.path("a.avi")], 2, &["the name must end in .mkv or .mp4"]);
    fail(&["export", &coded, &coded, &film], 2, &["is given twice"]);
    fail(&["export", &folder.path("none.duet"), &film], 2, &["none.duet cannot be read"]);
    fail(&["export", &coded, &folder.path("no/a.mkv")], 2, &["a.mkv cannot be written"]);
    folder.file("a.wav", b"no sound at all");
    fail(&["export", &coded, &film], 2, &["a.wav cannot be read"]);
    std::fs::remove_file(folder.path("a.wav")).unwrap();
    // Nobody has ffmpeg where there is nothing.
    let output =
        Command::new(env!("CARGO_BIN_EXE_wavelet")).args(["export", &coded, &film]).env("PATH", "").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is no ffmpeg") && said.contains("install it"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(left(&folder), ["a.duet", "a.y4m"]);
    // A recording that is cut is a film of what is whole.
    let bytes = std::fs::read(&coded).unwrap();
    let cut = folder.file("cut.duet", &bytes[..bytes.len() / 2]);
    let output = wavelet(&["export", &cut, &film, "--backend", "cpu"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(streams(&film, "stream=codec_name"), ["h264"]);
}

#[test]
fn who_cancels_finds_no_half_film() {
    let folder = Folder::new("cancelled");
    let coded = recording(&folder, "a", None);
    // ffmpeg that takes its pictures and never ends.
    let slow = folder.file("ffmpeg", b"#!/bin/sh\ncase \"$*\" in *-encoders*) echo ' V.... libx264 it'; exit;; esac\n: >\"${0%/*}/runs\"\nexec sleep 1000\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&slow, mode).unwrap();
    let path = format!("{}:{}", folder.path(""), std::env::var("PATH").unwrap());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wavelet"));
        command.args(["export", &coded, &folder.path("a.mkv")]).env("PATH", &path).env("TMPDIR", folder.path(""));
        let mut running = command.stderr(Stdio::null()).spawn().unwrap();
        while !Path::new(&folder.path("runs")).exists() {
            assert_eq!(running.try_wait().unwrap(), None, "it has ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill(Pid::from_raw(running.id() as i32), signal).unwrap();
        let ended = running.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(signal as i32));
        std::fs::remove_file(folder.path("runs")).unwrap();
        assert_eq!(left(&folder), ["a.duet", "a.y4m", "ffmpeg"]);
    }
}
