//! Tasks inside a process that has the false camera.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use common::config::{SenderConfig, parse_sender, resolve_sender};
use net::clock;
use picture::frame::PixelFormat;
use sending::source::health::Health;
use sending::source::{FrameSource, SourceFrame, SourceSpec, open, open_or_await};

use crate::colours::{Drawing, worst};
use crate::{Control, EACCES, EBUSY, EINVAL, EIO, ENODEV, contents};

/// Seed of the faults.
const SEED: u64 = 0x5eed_ca3e;

#[test]
#[ignore = "the other tests start it"]
fn task() {
    let Ok(task) = std::env::var("FALSE_TASK") else { return };
    let words: Vec<_> = task.split(' ').collect();
    match words.as_slice() {
        ["info", source] => info(source),
        ["colours", red, blue] => colours((red.parse().unwrap(), blue.parse().unwrap())),
        ["place"] => place(),
        ["opening"] => opening(),
        ["awaited"] => awaited(),
        ["newest"] => newest(),
        ["faults"] => faults(),
        ["random", rounds] => random(rounds.parse().unwrap()),
        _ => panic!("{task} is no task"),
    }
    println!("\ndone: {task}");
}

fn config() -> SenderConfig {
    resolve_sender(&parse_sender("").unwrap()).unwrap()
}

fn camera() -> Box<dyn FrameSource> {
    open(&SourceSpec::parse("camera").unwrap(), &config()).unwrap()
}

fn picture(camera: &mut dyn FrameSource) -> SourceFrame {
    camera.next(Vec::new()).unwrap().unwrap()
}

fn info(source: &str) {
    match open(&SourceSpec::parse(source).unwrap(), &config()) {
        Ok(camera) => {
            let info = camera.info();
            println!("\ninfo: {} {}/{}", info.size, info.frame_rate.numerator(), info.frame_rate.denominator());
        }
        Err(failure) => println!("\nfailure: {failure}"),
    }
}

fn colours(weights: (f64, f64)) {
    let (mut camera, health) = (camera(), Arc::new(Health::default()));
    camera.share(Arc::clone(&health));
    let (info, drawing) = (camera.info(), Drawing { weights, ..Drawing::default() });
    let off = (0..12).map(|_| worst(&picture(camera.as_mut()), &info, &drawing)).fold(0.0, f64::max);
    println!("\nworst: {off:.2}\ndamaged: {}", health.unusable().damaged);
}

/// Says how many pictures lie in the memory of the camera while three are kept, as when one waits and one is coded.
fn place() {
    let mut camera = camera();
    let mut kept = std::collections::VecDeque::new();
    let mut lent = 0;
    for _ in 0..20 {
        let picture = picture(camera.as_mut());
        lent += usize::from(is_in_camera(picture.data.as_ptr() as usize));
        kept.push_back(picture);
        if kept.len() == 3 {
            kept.pop_front();
        }
    }
    println!("\nin the driver's memory: {lent} of 20");
}

/// Says how long it takes from nothing to the first picture of a driver that answers at once and has one each millisecond.
fn opening() {
    let once = |_| {
        let began = clock::now();
        drop(picture(camera().as_mut()));
        clock::now().since(began)
    };
    let mut times: Vec<_> = (0..21).map(once).collect();
    times.sort_unstable();
    println!("\nopening: {:?} in the middle, {:?} at most", times[10], times[20]);
}

/// Waits for a camera that is not there yet, and that has not the size which was expected.
fn awaited() {
    let controls = Controls::open();
    controls.set(Control::Gone, 1);
    let mut camera = open_or_await(&SourceSpec::parse("camera").unwrap(), &config()).unwrap();
    let info = camera.info();
    assert!(!info.is_there && info.size.width() == 1280, "{info:?}");
    let comes = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        controls.set(Control::Gone, 0);
    });
    let picture = picture(camera.as_mut());
    comes.join().unwrap();
    assert_eq!(picture.data.len(), picture.format.bytes(info.size));
    let luma = |x: usize, y: usize| {
        let step = if picture.format == PixelFormat::YCbCr8 { 3 } else { 1 };
        picture.data[step * (y * info.size.width() + x)]
    };
    // Black around 160x96, and its colours in the middle: white stands third in the lower row.
    let middle = (640 + 20, 360 + 24);
    assert_eq!([luma(0, 0), luma(1279, 719), luma(559, 360)], [16; 3]);
    assert!(luma(middle.0, middle.1).abs_diff(218) <= 2, "{}", luma(middle.0, middle.1));
}

/// Returns the mappings of the camera's memory.
fn mappings() -> Vec<(usize, usize)> {
    let maps = contents("/proc/self/maps");
    // The camera's own of all buffers is written to.
    let of_program = maps.lines().filter(|line| line.contains("false-camera") && line.contains(" r--s "));
    let ends = of_program.filter_map(|line| line.split_once(' ')?.0.split_once('-'));
    ends.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16).unwrap()).into()).collect()
}

fn is_in_camera(place: usize) -> bool {
    mappings().iter().any(|(from, to)| (*from..*to).contains(&place))
}

/// Takes a picture after five have come: it must be the newest, and have the time at which that came.
fn newest() {
    let (mut camera, controls) = (camera(), Controls::open());
    let interval = camera.info().frame_rate.interval();
    controls.set(Control::Produce, 1);
    let mut before = picture(camera.as_mut());
    for _ in 0..4 {
        std::thread::sleep(5 * interval);
        let began = clock::now();
        controls.set(Control::Produce, 5);
        let now = picture(camera.as_mut());
        assert_eq!(now.data[0].wrapping_sub(before.data[0]), 5, "pictures later");
        // The camera counts in microseconds, too, from another beginning.
        let earliest = began.as_us() - 2;
        assert!(now.capture.as_us() >= earliest && now.capture <= clock::now(), "{:?} {began:?}", now.capture);
        before = now;
    }
}

/// The camera's `struct control`, written and read while it runs.
struct Controls(File);

impl Controls {
    fn open() -> Self {
        Self(File::options().read(true).write(true).open(std::env::var("FALSE_CONTROL").unwrap()).unwrap())
    }

    fn set(&self, what: Control, value: i32) {
        self.0.write_all_at(&value.to_le_bytes(), 4 * what as u64).unwrap();
    }

    fn get(&self, what: Control) -> u32 {
        let mut bytes = [0; 4];
        self.0.read_exact_at(&mut bytes, 4 * what as u64).unwrap();
        u32::from_le_bytes(bytes)
    }
}

/// Has the driver lie, fail, stall and vanish for a while each; pictures must come again, and nothing be left over.
fn faults() {
    let (mut camera, health) = (camera(), Arc::new(Health::default()));
    camera.share(Arc::clone(&health));
    let controls = Arc::new(Controls::open());
    drop(picture(camera.as_mut()));
    let (files, maps) = (files(), mappings().len());
    for (what, value) in [
        (Control::Lie, 1),
        (Control::Lie, 2),
        (Control::Lie, 3),
        (Control::Lie, 4),
        (Control::FlagEach, 1),
        (Control::FetchErrno, EIO),
        (Control::FetchErrno, EINVAL),
        (Control::Stalled, 1),
        (Control::Gone, 1),
        (Control::OpenErrno, EBUSY),
        (Control::FormatErrno, EINVAL),
    ] {
        controls.set(what, value);
        // What is opened only when it has gone once.
        let opens = matches!(what, Control::OpenErrno | Control::FormatErrno);
        if opens {
            controls.set(Control::FailErrno, ENODEV);
            controls.set(Control::FailIn, 1);
        }
        let ended = std::thread::spawn({
            let (controls, calls) = (Arc::clone(&controls), controls.get(Control::Calls));
            move || {
                // The fault has been met often; a camera that stalls is asked seldom.
                let enough = match what {
                    Control::Stalled => 1,
                    Control::Gone | Control::OpenErrno => 5,
                    _ => 30,
                };
                while controls.get(Control::Calls).wrapping_sub(calls) < enough {
                    std::thread::sleep(Duration::from_millis(1));
                }
                controls.set(what, 0);
            }
        });
        for _ in 0..3 {
            drop(picture(camera.as_mut()));
        }
        ended.join().unwrap();
        drop(picture(camera.as_mut()));
        assert!(!health.is_lost());
    }
    drop(picture(camera.as_mut()));
    assert_eq!((self::files(), mappings().len()), (files, maps), "nothing is left over");
    let unusable = health.unusable();
    assert!(unusable.short > 0 && unusable.empty > 0 && unusable.flagged > 0 && unusable.failed > 0, "{unusable:?}");
}

/// Has one call fail, another each time, with another error each time.
fn random(rounds: u32) {
    let mut camera = camera();
    let controls = Controls::open();
    drop(picture(camera.as_mut()));
    let (files, maps) = (files(), mappings().len());
    let mut seed = SEED;
    let mut below = |end: u64| {
        // xorshift64*
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        seed.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    };
    for round in 0..rounds {
        let errno = [EIO, EINVAL, ENODEV, EBUSY, EACCES][below(5) as usize];
        controls.set(Control::FailErrno, errno);
        controls.set(Control::FailIn, 1 + below(40) as i32);
        if below(4) == 0 {
            camera.rest();
        }
        // Until the call has failed, and once more.
        while controls.get(Control::FailIn) > 0 {
            drop(picture(camera.as_mut()));
        }
        let shown = picture(camera.as_mut());
        assert_eq!(shown.data.len(), 160 * 96 * 3 / 2, "round {round}");
    }
    assert_eq!((self::files(), mappings().len()), (files, maps), "nothing is left over");
}

/// Returns the number of open files.
fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
