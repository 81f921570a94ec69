//! Duet beside Chromium's WebRTC: the same clip over the same lines, one after the other in one run.
//!
//! ```text
//! clip with numbers ─┬─▶ sender ─▶ relay ─▶ receiver ─▶ its log, a pipe of pictures ─▶ Measured ─┬─▶ a row of the table
//!                    └─▶ the browser's camera ─▶ relay ─▶ the page's thread, posted ─▶ Measured ─┘
//! ```

mod browser;
mod lines;
mod page;
mod told;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use net::failure::Failure;
use picture::frame::FrameRate;

use self::browser::Browser;
use self::lines::Line;
use crate::bars::Bars;
use crate::clip::{self, Clip};
use crate::logs::percentile;
use crate::quality::Original;
use crate::scenario::case::Case;
use crate::scenario::measured::Measured;
use crate::scenario::run as scenario;
use crate::scenario::setup::Stream;

/// Time from the line's begin to what counts, in which both sides find their rate; WebRTC needs so long.
const WARM_UP: Duration = Duration::from_secs(20);
/// Gaps longer than this are counted, ms.
const LONG_GAP: f64 = 100.0;
/// The clip if none is given.
const DEMO: &str =
    concat!("mjpeg:", env!("CARGO_MANIFEST_DIR"), "/../../../receiver/examples/demo-clip/demo_720p30.mjpeg");

/// The lines, the clip and the times asked for.
pub(crate) struct Wanted<'a> {
    /// Names of lines; all if there is none.
    pub(crate) names: &'a [String],
    /// Part of each measurement that counts.
    pub(crate) length: Duration,
    pub(crate) seed: u64,
    /// The clip, as `mjpeg:PATH` or `y4m:PATH`.
    pub(crate) clip: Option<&'a str>,
    /// Back end of both daemons.
    pub(crate) backend: &'a str,
    /// The sender's prediction; none: as it is without the flag.
    pub(crate) prediction: Option<&'a str>,
    /// The folder that holds both programs.
    pub(crate) programs: PathBuf,
    pub(crate) recordings: &'a [String],
    pub(crate) chromium: Option<&'a Path>,
    pub(crate) codec: Option<&'a str>,
    /// Folder of the files.
    pub(crate) out: PathBuf,
}

/// Measures both sides on the lines asked for and prints the table; fails if one could not be measured.
pub(crate) fn run(wanted: &Wanted<'_>) -> Result<()> {
    let browser = Browser::find(wanted.chromium, wanted.codec)?;
    let lines = lines::all(wanted.seed, WARM_UP, wanted.length, wanted.recordings);
    if let Some(unknown) = wanted.names.iter().find(|name| !lines.iter().any(|line| line.name == name.as_str())) {
        let known: Vec<_> = lines.iter().map(|line| line.name).collect();
        return Err(Failure::usage(format!("there is no line `{unknown}`: there are {}", known.join(", "))).into());
    }
    let out = std::path::absolute(&wanted.out)?;
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let video = out.join("clip.y4m");
    let from = wanted.clip.unwrap_or(DEMO);
    let clip = Arc::new(Clip::prepare(from, &video)?);
    let frame_rate = FrameRate::new(clip::FRAMES_PER_SECOND, 1).context("no frame rate")?;
    let stream = |cap: u32| Stream {
        prediction: wanted.prediction.map(str::to_owned),
        backend: wanted.backend.to_owned(),
        original: Some(Arc::new(Original::Rival(Arc::clone(&clip)))),
        ..Stream::of(&format!("y4m:{}:loop", video.display()), &format!("{cap}M"), frame_rate, &wanted.programs)
    };
    println!("{}", browser.version);
    let (seconds, rate) = (wanted.length.as_secs(), clip::FRAMES_PER_SECOND);
    println!("{from}, {} at {rate} a second, {seconds} s each, seed {}\n\n{HEAD}", clip.size(), wanted.seed);
    let length = WARM_UP + wanted.length;
    let (mut notes, mut failed) = (Vec::new(), false);
    for line in lines.iter().filter(|line| wanted.names.is_empty() || wanted.names.iter().any(|name| name == line.name))
    {
        for &cap in line.caps {
            let folder = |side: &str| out.join(format!("{}-{cap}-{side}", line.name));
            let duet = scenario::run(&case(line), &stream(cap), &folder("duet"), length).map(|run| run.0);
            let webrtc = browser.run((&clip, &video), line, cap, length, &folder("webrtc"));
            let figures = [("Duet", duet), ("WebRTC", webrtc)].map(|(side, run)| {
                let figures = run.and_then(|run| {
                    let figures = Figures::of(&run, WARM_UP, length)?;
                    Ok((figures, run.notes.join(", ")))
                });
                let (figures, note) = match figures {
                    Ok((figures, note)) => (Some(figures), note),
                    Err(error) => (None, format!("not measured: {error:#}")),
                };
                failed |= figures.is_none();
                if !note.is_empty() {
                    notes.push(format!("{}, {cap}: {side}: {note}", line.name));
                }
                figures
            });
            println!("{}", RivalRow { line, cap, figures });
        }
    }
    println!();
    notes.iter().for_each(|note| println!("{note}"));
    std::fs::remove_file(&video)?;
    println!("Files of each run: {}", out.display());
    if failed {
        bail!("not everything was measured");
    }
    Ok(())
}

/// Returns the line for Duet, whose figures are read and held to nothing.
fn case(line: &Line) -> Case {
    Case::new(line.name, line.title, |_| Bars::default()).lines(line.there.clone(), line.back.clone())
}

/// One side on one line.
#[derive(Debug)]
struct Figures {
    /// p50 and p95 from a captured picture to a decoded one, ms.
    latency: [f64; 2],
    /// Longest time without a new picture, ms.
    gap: f64,
    long_gaps: usize,
    /// Pictures shown a second.
    frames: f64,
    /// Sent into the line, bits a second.
    rate: f64,
    /// Mean and 5th percentile of the pictures looked at, dB.
    psnr: [f64; 2],
    /// Longest stall of the machine itself, ms; not a number where that cannot be watched.
    late: f64,
}

impl Figures {
    /// Returns the figures of the time between these; an error if nothing was shown.
    fn of(run: &Measured, from: Duration, to: Duration) -> Result<Self> {
        let [from_ms, to_ms] = [from, to].map(|at| at.as_secs_f64() * 1e3);
        let inside = |at: f64| (from_ms..to_ms).contains(&at);
        let shown = run.pictures.iter().filter(|picture| inside(picture.at)).count();
        if shown == 0 {
            bail!("no picture was shown in the time that counts");
        }
        let latencies = run.latencies(from_ms, to_ms);
        let gaps = run.gaps(from_ms, to_ms);
        let psnr: Vec<f64> = run.psnr.iter().filter(|sample| inside(sample.0)).map(|sample| sample.1).collect();
        let late = run.stalls.as_ref().map(|stalls| {
            let late = stalls.late.iter().filter(|(at, _)| inside(*at)).map(|(_, late)| *late);
            late.fold(0.0, f64::max)
        });
        let mean = if psnr.is_empty() { f64::NAN } else { Measured::mean(&psnr, 0) };
        Ok(Self {
            latency: [0.5, 0.95].map(|share| percentile(&latencies, share)),
            gap: gaps.iter().copied().fold(0.0, f64::max),
            long_gaps: gaps.iter().filter(|&&gap| gap > LONG_GAP).count(),
            frames: shown as f64 / (to - from).as_secs_f64(),
            rate: run.rate(from.as_secs() as usize, to.as_secs() as usize),
            psnr: [mean, percentile(&psnr, 0.05)],
            late: late.unwrap_or(f64::NAN),
        })
    }
}

/// The table's head. Machine late: the longest stall of the machine itself.
const HEAD: &str = "\
| line | at most, Mbit/s | latency p50 / p95, ms: Duet | WebRTC | longest gap, ms (gaps over 100 ms): Duet | WebRTC | \
frames shown a second: Duet | WebRTC | Mbit/s on the line: Duet | WebRTC | PSNR-Y mean / p5, dB: Duet | WebRTC | \
machine late, ms: Duet | WebRTC |
|---|---:|---|---|---|---|---:|---:|---:|---:|---|---|---:|---:|";

/// A line of it.
struct RivalRow<'a> {
    line: &'a Line,
    cap: u32,
    figures: [Option<Figures>; 2],
}

impl fmt::Display for RivalRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64, places: usize| {
            if value.is_nan() { "-".to_owned() } else { format!("{value:.places$}") }
        };
        let pair = |values: [f64; 2], places| values.map(|value| number(value, places)).join(" / ");
        let cells: [&dyn Fn(&Figures) -> String; 6] = [
            &|figures| pair(figures.latency, 0),
            &|figures| format!("{:.0} ({})", figures.gap, figures.long_gaps),
            &|figures| number(figures.frames, 1),
            &|figures| number(figures.rate / 1e6, 2),
            &|figures| pair(figures.psnr, 1),
            &|figures| number(figures.late, 0),
        ];
        write!(f, "| {} | {} |", self.line.title, self.cap)?;
        for cell in cells {
            for side in &self.figures {
                write!(f, " {} |", side.as_ref().map_or_else(|| "-".to_owned(), cell))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::Picture;
    use crate::machine::stalls::Stalls;

    const SECOND: Duration = Duration::from_secs(1);

    fn picture(at: f64, latency: Option<f64>) -> Picture {
        Picture { at, frame: 0, latency, missing_blocks: 0, missing_coarse: 0 }
    }

    fn row(run: &Measured) -> String {
        let line = &lines::all(1, SECOND, SECOND, &[])[0];
        RivalRow { line, cap: 2, figures: [Some(Figures::of(run, SECOND, 2 * SECOND).unwrap()), None] }.to_string()
    }

    #[test]
    fn figures_are_of_the_time_that_counts() {
        let mut run = Measured {
            pictures: vec![picture(100.0, Some(900.0)), picture(1_100.0, Some(30.0)), picture(1_300.0, None)],
            rates: vec![9e6, 1.5e6, 9e6],
            psnr: vec![(500.0, 10.0), (1_500.0, 40.0), (1_600.0, 42.0), (2_500.0, 10.0)],
            stalls: Some(Stalls { late: vec![(500.0, 70.0), (1_500.0, 7.0)] }),
            ..Measured::default()
        };
        run.pictures.push(picture(1_350.0, Some(50.0)));
        run.pictures.push(picture(2_350.0, Some(900.0)));
        let expected = "| nothing | 2 | 30 / 50 | - | 650 (2) | - | 3.0 | - | 1.50 | - | 41.0 / 40.0 | - | 7 | - |";
        assert_eq!(row(&run), expected);
        assert!(HEAD.lines().all(|line| line.matches('|').count() == expected.matches('|').count()));
    }

    #[test]
    fn what_could_not_be_had_is_a_dash_and_no_picture_is_an_error() {
        let run = Measured { pictures: vec![picture(1_500.0, None)], rates: vec![0.0; 2], ..Measured::default() };
        assert_eq!(row(&run), "| nothing | 2 | - / - | - | 500 (2) | - | 1.0 | - | 0.00 | - | - / - | - | - | - |");
        assert!(Figures::of(&Measured::default(), SECOND, 2 * SECOND).is_err());
    }
}
