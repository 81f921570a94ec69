//! Cost of showing pictures in a window: `present [PICTURES]`, 720p60 in full screen, with each back end of the window in turn, and
//! before that its stages that need no window. It fails if a picture is not on the X server's screen when it counts as shown: then
//! something is queued. On a screen without other programs: `Xvfb :7 -screen 0 2560x1440x24 -noreset`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::config::{SnapshotFile, WindowBackend};
use common::units::FrameId;
use kernels::{Coefficients, Converter, Original, Picture, Scaler};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::{CodecParams, StreamParams};
use shell::settings::LatencyLimit;
use showing::sink::{Sink, Window, WindowParts};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt, ImageFormat};

/// Pictures before those that count.
const FIRST: usize = 10;
/// Pictures of which it is asked whether they are on the screen.
const LOOKED_AT: usize = 100;
/// A large screen.
const SCREEN: (usize, usize) = (2560, 1440);

/// Processor time of this process so far, milliseconds.
fn processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let own = text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return own / 1e6 };
    let of = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    threads.flatten().filter_map(|thread| of(thread.path())).sum::<f64>() / 1e6
}

/// Does `work` 60 times a second and prints how long it took.
fn measure(name: &str, pictures: usize, mut work: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let interval = Duration::from_secs(1) / 60;
    let mut took = Vec::with_capacity(pictures);
    let (mut next, mut before) = (Instant::now(), 0.0);
    for number in 0..pictures + FIRST {
        if number == FIRST {
            before = processor_ms();
        }
        next = (next + interval).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let began = Instant::now();
        work(number)?;
        took.push(began.elapsed());
    }
    let processor = (processor_ms() - before) / pictures as f64;
    took.drain(..FIRST);
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let late = took.iter().filter(|&&took| took > interval).count();
    println!(
        "{name:8} ms: least {:5.2}, p50 {:5.2}, p95 {:5.2}, p99 {:5.2}; {late} of {pictures} later than the next picture; \
         processor {processor:.2} ms a picture",
        at(0.0),
        at(0.5),
        at(0.95),
        at(0.99),
    );
    Ok(())
}

/// Shows plain pictures and looks at the first and the last pixel of the screen as soon as each counts as shown. Returns how many
/// were not there.
fn queued(window: &mut Window, size: FrameSize, colour: ColourSpace) -> anyhow::Result<usize> {
    let (connection, screen) = x11rb::connect(None)?;
    let screen = &connection.setup().roots[screen];
    let corners = [(0, 0), (screen.width_in_pixels as i16 - 1, screen.height_in_pixels as i16 - 1)];
    let mut missing = 0;
    for number in 0..LOOKED_AT {
        let luma = 16 + (37 * number % 200) as u8;
        let mut picture = Picture::for_stream(Chroma::C420, size);
        picture.data_mut().fill(128);
        picture.data_mut()[..size.pixels()].fill(luma);
        window.show(FrameId(number as u32), &picture)?;
        let wanted = Coefficients::new(colour).pixel(luma, 128, 128).to_le_bytes();
        let mut is_there = true;
        for (x, y) in corners {
            let pixel = connection.get_image(ImageFormat::Z_PIXMAP, screen.root, x, y, 1, 1, !0)?.reply()?.data;
            is_there &= pixel.starts_with(&wanted[..3]);
        }
        missing += usize::from(!is_there);
    }
    Ok(missing)
}

fn main() -> anyhow::Result<()> {
    let pictures: usize = std::env::args().nth(1).map_or(Ok(600), |word| word.parse())?;
    let size = FrameSize::USUAL;
    let frame_rate = FrameRate::new(60, 1).ok_or_else(|| anyhow::anyhow!("no such rate"))?;
    let (chroma, colour, codec) = (Chroma::C420, ColourSpace::BT709_LIMITED, CodecParams::default());
    let picture = |number: usize| {
        let mut picture = Picture::for_stream(chroma, size);
        let samples = picture.data_mut().iter_mut().enumerate();
        samples.for_each(|(at, sample)| *sample = ((at * at / (37 + number)) >> 3) as u8);
        picture
    };
    let shown: Vec<_> = (0..4).map(picture).collect();

    let (converter, mut rgb) = (Converter::new(colour), Vec::new());
    measure("convert", pictures, |number| {
        converter.convert(&shown[number % shown.len()], &mut rgb);
        Ok(())
    })?;
    let (mut scaler, mut frame) = (Scaler::new((1280, 720), SCREEN), vec![0; SCREEN.0 * SCREEN.1]);
    measure("scale", pictures, |_| {
        scaler.scale(&rgb, black_box(&mut frame), SCREEN.0, (0, 0));
        Ok(())
    })?;
    measure("both", pictures, |number| {
        let original =
            Original::Planes { picture: &shown[number % shown.len()], converter: &converter, mirrored: false };
        scaler.scale_rows(original, black_box(&mut frame), SCREEN.0, 0, 0);
        Ok(())
    })?;

    for (name, backend) in [("minifb", WindowBackend::Minifb), ("winit", WindowBackend::Winit)] {
        let parts = WindowParts {
            backend,
            status_line: true,
            snapshot: SnapshotFile::default(),
            own: None,
            latency_limit: LatencyLimit::new(None),
            sound: None,
        };
        let mut window = match Window::open(true, parts) {
            Ok(window) => window,
            Err(error) => {
                println!("{name:8} {error}");
                continue;
            }
        };
        window.start(&StreamParams { frame_rate, colour, codec, ..StreamParams::new(size, chroma) })?;
        measure(name, pictures, |number| {
            window.show(FrameId(number as u32), &shown[number % shown.len()])?;
            Ok(())
        })?;
        let missing = queued(&mut window, size, colour)?;
        println!("{name:8} {missing} of {LOOKED_AT} pictures were not on the screen when they counted as shown");
        anyhow::ensure!(missing == 0, "pictures are queued");
    }
    Ok(())
}
