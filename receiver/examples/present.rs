//! Cost of showing pictures in a window: `present [PICTURES]` on the display that `DISPLAY` names, 720p60 in full screen.

use std::time::{Duration, Instant};

use common::units::FrameId;
use kernels::Picture;
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::{CodecParams, StreamParams};
use receiver::sink::{Sink, Window};

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

fn main() -> anyhow::Result<()> {
    let pictures: usize = std::env::args().nth(1).map_or(Ok(600), |word| word.parse())?;
    let size = FrameSize::new(1280, 720)?;
    let frame_rate = FrameRate::new(60, 1).ok_or_else(|| anyhow::anyhow!("no such rate"))?;
    let (chroma, colour, codec) = (Chroma::C420, ColourSpace::BT709_LIMITED, CodecParams::default());
    let mut window = Window::open(true, true, None)?;
    window.start(&StreamParams { size, frame_rate, chroma, colour, codec })?;
    let picture = |number: usize| {
        let mut picture = Picture::for_stream(chroma, size);
        let samples = picture.data_mut().iter_mut().enumerate();
        samples.for_each(|(at, sample)| *sample = ((at * at / (37 + number)) >> 3) as u8);
        picture
    };
    let shown: Vec<_> = (0..4).map(picture).collect();
    let mut took = Vec::with_capacity(pictures);
    let (mut next, mut before) = (Instant::now(), 0.0);
    for number in 0..pictures + 10 {
        if number == 10 {
            before = processor_ms();
        }
        next += frame_rate.interval();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let began = Instant::now();
        window.show(FrameId(number as u32), &shown[number % shown.len()])?;
        took.push(began.elapsed());
    }
    let processor = (processor_ms() - before) / pictures as f64;
    took.drain(..10);
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let late = took.iter().filter(|&&took| took > Duration::from_micros(16_667)).count();
    println!(
        "present, ms: least {:.2}, p50 {:.2}, p95 {:.2}, p99 {:.2}; {late} of {pictures} later than the next picture; \
         processor {processor:.2} ms a picture",
        at(0.0),
        at(0.5),
        at(0.95),
        at(0.99),
    );
    Ok(())
}
