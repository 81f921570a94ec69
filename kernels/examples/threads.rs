//! Time and processor time of frames by the number of threads, at 30 pictures a second, as a Markdown table.
//!
//! ```text
//! threads [CLIP.y4m]
//! ```
//! Without a clip (4:2:0, 8 bits) three sizes of something that moves before a wall. `FRAMES` in the environment: how many of them.
//! Processor time is that of all threads until the next picture comes: also of those that look for work in vain. `own`: as many
//! threads as the codec takes by itself.

use std::time::{Duration, Instant};

use anyhow::Context;
use kernels::{BackendChoice, Decoder, Effort, Encoder, Picture, PictureRef, State, Target};
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::frame::{Chroma, FrameRate, FrameSize, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams};

mod clip;

/// Frames before those that count.
const SETTLING: usize = 6;

fn main() -> anyhow::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "reads its settings")]
    let frames = std::env::var("FRAMES").ok().map_or(Ok(30), |text| text.parse())?;
    let all = rayon::current_num_threads();
    println!("{all} threads at most\n");
    println!("| pictures | frames | threads | encode, ms | processor, ms | decode, ms | processor, ms |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    let clips = match std::env::args().nth(1) {
        Some(path) => vec![clip::read(&path, frames + SETTLING).context(path)?],
        None => {
            [(640, 360), (1280, 720), (1920, 1080)].map(|size| drawn(size, frames + SETTLING)).into_iter().collect()
        }
    };
    for (size, pictures) in &clips {
        for profile in [Profile::Quad, Profile::Predicted(1)] {
            let params = StreamParams {
                codec: CodecParams { profile, ..CodecParams::default() },
                ..StreamParams::new(*size, Chroma::C420)
            };
            let counts = [1, 2, 3, 4, 6, 8, 12, 16].into_iter().filter(|&count| count <= all).map(Some);
            for threads in counts.chain([None]) {
                let [encode, decode] = Run::of(&params, pictures, threads)?;
                let kind = if profile == Profile::Quad { "alone" } else { "predicted" };
                let count = threads.map_or_else(|| "own".to_owned(), |count| count.to_string());
                let [a, b, c, d] =
                    [encode.wall, encode.processor, decode.wall, decode.processor].map(|time| time.as_secs_f64() * 1e3);
                println!("| {size} | {kind} | {count} | {a:.1} | {b:.1} | {c:.1} | {d:.1} |");
            }
        }
    }
    Ok(())
}

/// Returns pictures of something that moves before a wall, with a little noise.
fn drawn((width, height): (u32, u32), count: usize) -> (FrameSize, Vec<Vec<u8>>) {
    let size = FrameSize::new(width, height).unwrap_or_else(|_| unreachable!("a usual size"));
    let texture = |x: usize, y: usize| 40.0 * (x as f32 / 9.0).sin() + 30.0 * ((x + 3 * y) as f32 / 23.0).cos();
    let mut random = 1_u64;
    let picture = |number: usize| {
        let mut samples = Vec::with_capacity(size.pixels() * 3 / 2);
        let [left, top] = [size.width() / 4 + 3 * number, size.height() / 4 + 2 * number];
        for (y, x) in (0..size.height()).flat_map(|y| (0..size.width()).map(move |x| (y, x))) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let is_before = (left..left + size.width() / 3).contains(&x) && (top..top + size.height() / 2).contains(&y);
            let shade = if is_before { 140.0 + texture(x - left, y - top) } else { 110.0 + texture(2 * x, y) };
            samples.push((shade + (random >> 62) as f32) as u8);
        }
        samples.resize(size.pixels() * 3 / 2, 128);
        samples
    };
    (size, (0..count).map(picture).collect())
}

/// The median time of a frame, and the mean processor time.
struct Times {
    wall: Duration,
    processor: Duration,
}

/// A run over a clip with so many threads.
struct Run {
    pool: Option<rayon::ThreadPool>,
    interval: Duration,
}

impl Run {
    fn of(params: &StreamParams, pictures: &[Vec<u8>], threads: Option<usize>) -> anyhow::Result<[Times; 2]> {
        let build = |count| rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let run = Self { pool: threads.map(build).transpose()?, interval: FrameRate::USUAL.interval() };
        let mut encoder = Encoder::open(params, BackendChoice::Cpu)?;
        encoder.set_search(Effort::Low, None);
        let target = Target::Bytes(params.size.pixels() / 100);
        let (mut coded, mut state) = (Vec::<CodedFrame>::new(), None::<State>);
        let encode = run.paced(pictures.len(), |at| {
            let picture = PictureRef::new(PixelFormat::I420, params.size, &pictures[at])?;
            coded.push(encoder.encode(picture, target, state.as_ref().map(|state| (1, state)))?);
            state = encoder.state()?;
            Ok(())
        })?;
        let mut decoder = Decoder::open(params, BackendChoice::Cpu)?;
        let (mut out, mut state) = (Picture::decoded_from(params), None::<State>);
        let decode = run.paced(coded.len(), |at| {
            let reference = state.as_ref().filter(|_| coded[at].reference > 0);
            state = decoder.decode(&ReceivedFrame::from(&coded[at]), reference, &mut out)?;
            Ok(())
        })?;
        Ok([encode, decode])
    }

    /// Works once each time from one picture to the next.
    fn paced(&self, count: usize, mut work: impl FnMut(usize) -> anyhow::Result<()> + Send) -> anyhow::Result<Times> {
        let (mut walls, mut before, begin) = (Vec::new(), Duration::ZERO, Instant::now());
        for at in 0..count {
            let due = begin + self.interval * at as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if at == SETTLING {
                before = processor_time();
            }
            let start = Instant::now();
            match &self.pool {
                Some(pool) => pool.install(|| work(at))?,
                None => work(at)?,
            }
            walls.push(start.elapsed());
        }
        std::thread::sleep(self.interval);
        let walls = &mut walls[SETTLING..];
        walls.sort_unstable();
        let processor = processor_time().saturating_sub(before) / walls.len() as u32;
        Ok(Times { wall: walls[walls.len() / 2], processor })
    }
}

/// Processor time of all threads of this program.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    Duration::from_nanos(texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}
