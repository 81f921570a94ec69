//! The capture code and the program before a camera that is not there (`false_camera/camera.c`), preloaded: no root, no kernel
//! module, and every fault that a driver can have.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "false_camera/colours.rs"]
mod colours;
#[path = "false_camera/inside.rs"]
mod inside;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use colours::{BT709, BT2020, Drawing};

/// Numbers of `struct control` in `camera.c`.
#[derive(Clone, Copy)]
enum Control {
    FailIn,
    FailErrno,
    OpenErrno,
    FormatErrno,
    Gone,
    Stalled,
    FetchErrno,
    Lie,
    FlagEach,
    Calls,
    #[allow(dead_code, reason = "to be looked at while a test is mended")]
    FailWhich,
    Produce,
}

/// Linux' numbers of errors.
const EPERM: i32 = 1;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;

/// Returns the camera's library, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("false-camera-{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/false_camera/camera.c");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&path)
            .args([source, "-ldl"]);
        assert!(compiler.status().unwrap().success());
        path
    })
}

/// A camera, as a program sees it.
struct FalseCamera {
    folder: PathBuf,
    settings: Vec<(&'static str, String)>,
}

impl FalseCamera {
    /// Gives `pictures` one after another.
    fn new(pictures: &[Vec<u8>], settings: &[(&'static str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("duet-false-camera-{}-{count}", std::process::id()));
        std::fs::create_dir_all(folder.join("dev")).unwrap();
        std::fs::write(folder.join("dev/video0"), "").unwrap();
        let mut film = File::create(folder.join("film")).unwrap();
        for picture in pictures {
            film.write_all(&(picture.len() as u32).to_le_bytes()).unwrap();
            film.write_all(picture).unwrap();
        }
        std::fs::write(folder.join("control"), [0; 4096]).unwrap();
        let mut all: Vec<_> = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        for (name, file) in [("FALSE_DEV", "dev"), ("FALSE_FILM", "film"), ("FALSE_CONTROL", "control")] {
            all.push((name, folder.join(file).to_str().unwrap().to_owned()));
        }
        Self { folder, settings: all }
    }

    /// A camera of one picture in the format of this name.
    fn of(code: &str, drawing: &Drawing, settings: &[(&'static str, &str)]) -> Self {
        let size = format!("{}x{}", drawing.size.0, drawing.size.1);
        let all = [&[("FALSE_FORMATS", code), ("FALSE_SIZE", &size), ("FALSE_INTERVAL", "1/100")], settings].concat();
        Self::new(&[drawing.bytes(code)], &all)
    }

    fn set(&self, what: Control, value: i32) -> &Self {
        let control = File::options().write(true).open(self.folder.join("control")).unwrap();
        control.write_all_at(&value.to_le_bytes(), 4 * what as u64).unwrap();
        self
    }

    /// Runs a program before the camera.
    fn run(&self, mut command: Command) -> Output {
        command.env("LD_PRELOAD", library()).envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// Runs the sender.
    fn sender(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sender"));
        command.args(arguments).env("HOME", &self.folder).env("DUET_LOG", "off");
        let output = self.run(command);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    /// Does a task of `inside.rs` in a process of its own; returns what it says.
    #[track_caller]
    fn inside(&self, task: &str) -> String {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "inside::task", "--ignored", "--nocapture"]).env("FALSE_TASK", task);
        let output = self.run(command);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{task} {:?}: {text}", self.settings);
        assert_eq!(said(&text, "done"), task);
        text
    }

    /// Checks that the colours of pictures arrive.
    #[track_caller]
    fn shows(&self, drawing: &Drawing) {
        let Drawing { weights: (red, blue), .. } = drawing;
        let text = self.inside(&format!("colours {red} {blue}"));
        let worst: f64 = said(&text, "worst").parse().unwrap();
        assert!(worst <= 2.0, "{worst} levels: {:?} {drawing:?}", self.settings);
    }
}

impl Drop for FalseCamera {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the rest of the line that begins with `word`.
fn said<'a>(text: &'a str, word: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.split_once(&format!("{word}: ")));
    line.unwrap_or_else(|| panic!("no {word} in {text}")).1
}

const CODES: [&str; 13] =
    ["YUYV", "UYVY", "YVYU", "NV12", "NV21", "YU12", "YV12", "422P", "GREY", "RGB3", "BGR3", "MJPG", "JPEG"];

#[test]
fn every_format_arrives_in_its_colours() {
    for code in CODES {
        // What has no colour difference is of the full range, and so is RGB.
        let plain = Drawing { is_full: code == "GREY", ..Drawing::default() };
        FalseCamera::of(code, &plain, &[]).shows(&plain);
        if matches!(code, "MJPG" | "JPEG") {
            continue;
        }
        let bytes = if code.ends_with('3') {
            3
        } else {
            1 + usize::from(code.contains("YU") && !code.contains("12") || code == "UYVY" || code == "YVYU")
        };
        let gap = 64;
        let row = (160 * bytes + gap).to_string();
        let padded = Drawing { gap, ..plain };
        FalseCamera::of(code, &padded, &[("FALSE_ROW", &row)]).shows(&plain);
        // Some drivers say the distance of rows of another format.
        FalseCamera::of(code, &plain, &[("FALSE_ROW", "1000")]).shows(&plain);
    }
}

#[test]
fn what_the_driver_says_of_colours_holds() {
    for (weights, is_full, tags) in [
        (BT709, false, "3 0 0"),
        (BT709, false, "8 2 2"),
        (BT709, true, "3 2 1"),
        (BT2020, false, "10 6 2"),
        (BT2020, true, "10 0 1"),
    ] {
        for code in ["YUYV", "NV12", "YU12", "NV21"] {
            let drawing = Drawing { weights, is_full, ..Drawing::default() };
            FalseCamera::of(code, &drawing, &[("FALSE_COLOUR", tags)]).shows(&drawing);
        }
    }
}

#[test]
fn rates_and_sizes_are_what_the_driver_names() {
    let drawing = Drawing::default();
    let info = |settings: &[(&'static str, &str)], task: &str| {
        let camera = FalseCamera::of("YUYV", &drawing, settings);
        said(&camera.inside(task), "info").to_owned()
    };
    assert_eq!(info(&[("FALSE_INTERVAL", "1001/30000")], "info camera"), "160x96 30000/1001");
    let left = [("FALSE_INTERVAL", "1/30"), ("FALSE_LEFT_AT", "2/15")];
    assert_eq!(info(&left, "info camera"), "160x96 30/1", "whatever another program has set");
    let steps = [("FALSE_STEPS", "32x32-2592x1944/2"), ("FALSE_RANGE", "1/90-1/1")];
    assert_eq!(info(&steps, "info camera"), "1280x720 60/1");
    assert_eq!(info(&steps, "info camera:size=640x350:fps=29.97"), "640x350 30000/1001");
    assert_eq!(info(&steps, "info camera:size=640x350:fps=30000/1001"), "640x350 30000/1001");
    let camera = FalseCamera::of("YUYV", &drawing, &steps);
    let text = camera.inside("info camera:size=641x351");
    assert!(text.contains("camera 0 has no pictures of 641x351; it has 32x32 to 2592x1944 in steps of 2x2"), "{text}");
}

#[test]
fn the_list_knows_every_camera_and_no_link() {
    let camera = FalseCamera::of("YUYV", &Drawing::default(), &[("FALSE_FORMATS", "YUYV,H264")]);
    std::os::unix::fs::symlink("video0", camera.folder.join("dev/video-desk")).unwrap();
    std::fs::write(camera.folder.join("dev/video7x"), "").unwrap();
    let (code, text) = camera.sender(&["devices"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("camera 0: False camera"), "{text}");
    assert!(text.contains("  YUYV   160x96 at 100 frames a second  <- is taken unless another is asked for"), "{text}");
    assert!(text.contains("  H264   160x96 at 100 frames a second  (cannot be used)"), "{text}");
    assert!(text.contains("  takes YUYV 160x96 at 100 frames a second; no size was asked for"), "{text}");
    assert_eq!(text.matches("camera ").count(), 1, "{text}");
    let (code, text) = camera.sender(&["devices", "--json"]);
    assert!(code == Some(0) && text.contains(r#""fps":100"#), "{text}");
    let camera = FalseCamera::of("YUYV", &Drawing::default(), &[("FALSE_META", "1")]);
    let (_, text) = camera.sender(&["devices"]);
    assert!(text.contains("no cameras"), "the other device of a camera: {text}");
}

#[test]
fn every_failure_names_its_reason() {
    let drawing = Drawing::default();
    for (control, errno, says) in [
        (Control::OpenErrno, EBUSY, "camera 0 cannot be opened: another program uses it"),
        (Control::FormatErrno, EBUSY, "camera 0 cannot be opened: another program uses it"),
        (
            Control::OpenErrno,
            EACCES,
            "camera 0 cannot be opened: this user may not open it: `sudo usermod -aG video $USER`",
        ),
        (Control::OpenErrno, EPERM, "this user may not open it"),
        (Control::OpenErrno, ENODEV, "camera 0 cannot be opened: it has gone"),
        (
            Control::FormatErrno,
            EINVAL,
            "camera 0 cannot be opened: its driver fails to take a format: Invalid argument",
        ),
        (Control::OpenErrno, EIO, "camera 0 cannot be opened: its driver fails to say what it is: Input/output error"),
    ] {
        let camera = FalseCamera::of("YUYV", &drawing, &[]);
        let text = camera.set(control, errno).inside("info camera");
        assert!(said(&text, "failure").starts_with(says) || text.contains(says), "{text}");
        assert!(errno == EBUSY || !text.contains("another program"), "{text}");
    }
    let camera = FalseCamera::new(&[], &[("FALSE_FORMATS", "H264,HEVC"), ("FALSE_INTERVAL", "1/30")]);
    let text = camera.inside("info camera");
    assert!(text.contains("it gives pictures as H264, HEVC only, and none of NV12, YU12, YUYV"), "{text}");
    let camera = FalseCamera::of("YUYV", &drawing, &[]);
    std::fs::remove_file(camera.folder.join("dev/video0")).unwrap();
    assert!(camera.inside("info camera").contains("there is no camera: connect one"));
}

#[test]
fn doctor_takes_ten_pictures() {
    let drawing = Drawing::default();
    let jpeg = drawing.bytes("MJPG");
    let mut damaged = jpeg.clone();
    damaged.truncate(jpeg.len() / 2);
    let settings = [("FALSE_FORMATS", "MJPG"), ("FALSE_INTERVAL", "1/100")];
    let doctor = |camera: &FalseCamera| {
        let (_, text) = camera.sender(&["doctor"]);
        text.lines().find(|line| line.contains("camera 0")).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let unusable = |line: &str| {
        let before = line.split_once(" of 10 pictures cannot be used").unwrap_or_else(|| panic!("{line}")).0;
        before.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let good = doctor(&FalseCamera::new(std::slice::from_ref(&jpeg), &settings));
    assert!(
        good.contains("False camera takes MJPG 160x96 at 100") && good.contains("10 of 10 pictures can be used"),
        "{good}"
    );
    let some = doctor(&FalseCamera::new(&[jpeg.clone(), jpeg.clone(), damaged.clone()], &settings));
    // A computer that is held up passes over some of the three.
    assert!((1..10).contains(&unusable(&some)), "{some}");
    let none = doctor(&FalseCamera::new(&[damaged], &settings));
    assert!(none.contains("10 of 10 pictures cannot be used"), "{none}");
    let empty = doctor(FalseCamera::of("YUYV", &drawing, &[]).set(Control::Lie, 4));
    assert!(empty.contains("10 of 10 pictures cannot be used; the last one: it has no bytes"), "{empty}");
    let flagged = doctor(FalseCamera::of("YUYV", &drawing, &[]).set(Control::FlagEach, 2));
    assert!((1..10).contains(&unusable(&flagged)) && flagged.contains("the last one: its driver says"), "{flagged}");
    let short = doctor(&FalseCamera::new(&[vec![0; 100]], &[("FALSE_FORMATS", "NV12"), ("FALSE_INTERVAL", "1/100")]));
    assert!(short.contains("the last one: it has 100 bytes instead of 23040"), "{short}");
    let stalled = doctor(FalseCamera::of("YUYV", &drawing, &[]).set(Control::Stalled, 1));
    assert!(stalled.contains("False camera gives no picture"), "{stalled}");
}

#[test]
fn pictures_that_cannot_be_used_are_skipped_and_counted() {
    let drawing = Drawing::default();
    let settings = [("FALSE_FORMATS", "MJPG"), ("FALSE_INTERVAL", "1/100")];
    let whole = drawing.bytes("MJPG");
    let mut damaged = whole.clone();
    damaged.truncate(whole.len() * 3 / 4);
    let text = FalseCamera::new(&[whole.clone(), whole.clone(), damaged], &settings).inside("colours 0.299 0.114");
    assert!(said(&text, "worst").parse::<f64>().unwrap() <= 2.0, "{text}");
    assert_ne!(said(&text, "damaged"), "0");
    // Another size than the driver has agreed on: the middle of it.
    let wide = Drawing { size: (176, 96), ..drawing };
    FalseCamera::new(&[wide.bytes("MJPG")], &settings).shows(&drawing);
}

#[test]
fn pictures_stay_in_the_drivers_memory() {
    for code in ["YU12", "NV12", "YUYV"] {
        let text = FalseCamera::of(code, &Drawing::default(), &[]).inside("place");
        assert_eq!(said(&text, "in the driver's memory"), "20 of 20", "{code}");
        // Copied where the coder cannot take the rows as they are.
        let padded = Drawing { gap: 64, ..Drawing::default() };
        let row = if code == "YUYV" { "384" } else { "224" };
        let text = FalseCamera::of(code, &padded, &[("FALSE_ROW", row)]).inside("place");
        assert_eq!(said(&text, "in the driver's memory"), "0 of 20", "{code}");
    }
}

#[test]
fn the_newest_picture_wins_at_the_time_at_which_it_was_taken() {
    for clock in ["right", "zero", "future"] {
        // Each has its number in every sample.
        let pictures: Vec<_> = (0..200).map(|number| vec![number; 160 * 96]).collect();
        let settings =
            [("FALSE_FORMATS", "GREY"), ("FALSE_INTERVAL", "1/50"), ("FALSE_CLOCK", clock), ("FALSE_MANUAL", "1")];
        FalseCamera::new(&pictures, &settings).inside("newest");
    }
}

#[test]
fn pictures_come_back_after_whatever_a_driver_does() {
    FalseCamera::of("YU12", &Drawing::default(), &[("FALSE_INTERVAL", "1/500")]).inside("faults");
    FalseCamera::of("MJPG", &Drawing::default(), &[("FALSE_INTERVAL", "1/500")]).inside("faults");
}

#[test]
fn a_camera_that_is_awaited_may_have_any_size() {
    for code in ["NV12", "MJPG"] {
        FalseCamera::of(code, &Drawing::default(), &[]).inside("awaited");
    }
}

#[test]
fn each_call_may_fail_once_a_thousand_times() {
    FalseCamera::of("NV12", &Drawing::default(), &[("FALSE_INTERVAL", "1/1000")]).inside("random 1000");
}

#[test]
#[ignore = "it measures"]
fn opening() {
    for code in ["NV12", "MJPG"] {
        let drawing = Drawing { size: (1280, 720), ..Drawing::default() };
        let text = FalseCamera::of(code, &drawing, &[("FALSE_INTERVAL", "1/1000")]).inside("opening");
        println!("{code} 1280x720: {}", said(&text, "opening"));
    }
}

/// Reads all of a file that may not be there.
fn contents(path: &str) -> String {
    let mut text = String::new();
    let _ = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    text
}
