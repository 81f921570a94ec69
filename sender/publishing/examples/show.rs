//! Publishes a duet that nobody plays, for trials of relays and pages: two moving pictures that flash each second, and a click with each
//! flash. `cargo run --release -p duet-publishing --example show -- URL [SECONDS]`.
#![allow(clippy::unwrap_used, reason = "a trial")]

use std::time::{Duration, Instant};

use cards::{Backend, CardInfo, Halves, Playback};
use common::units::Bitrate;
use net::clock;
use picture::effects::Effects;
use picture::frame::{ColourSpace, FrameSize, PixelFormat};
use publishing::{Programme, Publisher, Target, Wishes};
use shell::settings::{OwnSide, SoundSide};
use sound::Cycle;
use sound::format::Channels;

/// Frames of a period.
const PERIOD: usize = 480;

/// A soft tone, and a click at the beginning of each second of the monotonic clock.
struct Clicks;

impl Playback for Clicks {
    fn play(&mut self, samples: &mut [f32], cycle: Cycle) {
        for (frame, out) in samples.chunks_exact_mut(2).enumerate() {
            let us = cycle.us + frame as u64 * 125 / 6;
            let loud = if us % 1_000_000 < 30_000 { 0.8 } else { 0.004 };
            out.fill(((cycle.frame + frame as u64) as f32 * 0.13).sin() * loud);
        }
    }
}

/// Draws a checkered square that wanders, white at the beginning of each second.
fn draw(data: &mut [u8], size: FrameSize, us: u64, player: u64) {
    let (width, height) = (size.width(), size.height());
    let is_flash = us % 1_000_000 < 100_000;
    let shift = (us / 1000 * (player + 1) / 10) as usize;
    for (y, row) in data[..width * height].chunks_exact_mut(width).enumerate() {
        for (x, luma) in row.iter_mut().enumerate() {
            let checker = ((x + shift) / 40 + y / 40) % 2 * 60 + 50;
            *luma = if is_flash { 235 } else { checker as u8 };
        }
    }
    let (cb, cr) = if player == 0 { (110, 150) } else { (150, 110) };
    let quarter = width * height / 4;
    data[width * height..][..quarter].fill(cb);
    data[width * height + quarter..].fill(cr);
}

fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let mut args = std::env::args().skip(1);
    let refused = |error: &dyn std::fmt::Display| -> ! {
        eprintln!("show URL [SECONDS]: {error}");
        std::process::exit(2);
    };
    let target = Target::parse(&args.next().unwrap_or_default(), None).unwrap_or_else(|error| refused(&error));
    let seconds = args.next().and_then(|text| text.parse().ok()).unwrap_or(60);
    let rate = Bitrate::from_bps(20_000_000);
    let own = OwnSide::new(rate, rate, Effects::default());
    let programme = Programme {
        title: "Flash and click".to_owned(),
        names: vec!["Anna".to_owned(), "Bert".to_owned()],
        starts: String::new(),
    };
    let wishes = Wishes { target, programme, cap: Bitrate::from_bps(1_700_000), players: 2, own: own.clone() };
    let (publisher, taps) = Publisher::start(wishes, None).unwrap_or_else(|error| refused(&error));
    let card = CardInfo {
        backend: Backend::Alsa,
        name: String::new(),
        rate_hz: 48_000,
        period_frames: PERIOD as u32,
        capture: None,
        playback: Some(Channels::Stereo),
        input_latency_frames: 0,
        output_latency_frames: 0,
    };
    let halves = Halves { capture: None, playback: Some(Box::new(Clicks)) };
    let mut halves = taps.sound.tapped(halves, &card, &SoundSide::default());
    let size = FrameSize::new(640, 360).unwrap();
    let mut data = vec![0; PixelFormat::I420.bytes(size)];
    let mut samples = [0.0; 2 * PERIOD];
    // Pictures begin with the second, so that a flash is one at its time.
    let (began, first_us) = (Instant::now(), clock::to_monotonic(clock::now()) / 1_000_000 * 1_000_000);
    let now_us = clock::to_monotonic(clock::now());
    let (mut period, mut picture) = ((now_us - first_us) / 10_000, (now_us - first_us) * 30 / 1_000_000);
    let mut told = 0_u64;
    while began.elapsed() < Duration::from_secs(seconds) {
        let us = clock::to_monotonic(clock::now());
        while first_us + period * 10_000 <= us {
            let cycle = Cycle { frame: period * PERIOD as u64, us: first_us + period * 10_000 };
            halves.playback.iter_mut().for_each(|half| half.play(&mut samples, cycle));
            period += 1;
        }
        let picture_us = first_us + picture * 1_000_000 / 30;
        if picture_us <= us {
            picture += 1;
            for (player, tap) in taps.pictures.iter().enumerate() {
                draw(&mut data, size, picture_us, player as u64);
                tap.offer(PixelFormat::I420, size, ColourSpace::BT709_LIMITED, &data, clock::of_monotonic(picture_us));
            }
        }
        if us / 5_000_000 != told {
            told = us / 5_000_000;
            eprintln!("{:?}", own.audience());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    publisher.end().unwrap();
}
