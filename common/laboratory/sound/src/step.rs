//! Ear and eye in one call: a click a second and a strip chart of the time, both looked at where they come out.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::Args;
use picture::y4m::Y4mReader;
use sending::source::strip::{self, BITS, CELLS, CYCLE_MS, FRAME, LANE};
use serde_json::Value;

use crate::conditions::ALL;
use crate::measure::{begin, ended, probe};
use crate::options::{Common, preface};
use crate::probe::Report;
use crate::programs::{Beside, start_duet};
use crate::stage::{Card, Driver, RATE, Stage};
use crate::table::number;

/// The picture, and most bits a second of it.
const PICTURE: (&str, &str) = ("strip:size=640x360:fps=30", "6M");
/// A picture is seen so long after it came out, as Duet has it for a display, ms.
const DISPLAY_MS: f64 = 8.0;
/// The strip's time is a whole millisecond, rounded down; on average it is so much later.
const ROUNDED_MS: f64 = 0.5;
/// Time before a line of the statistics that it tells of, ms: the clap and the pictures that came out in it count.
const TOLD_MS: f64 = 1_000.0;
/// Longest delay of a clap or a picture, ms: the strip and the clicks repeat.
const DELAY_MS_MAX: f64 = 900.0;
/// Steps of the lane that are looked at.
const ALONG: usize = 480;
/// Most by which ear and eye may be apart with `sync = "picture"` in 95 of 100 seconds, and the step that is shown from the true one, ms.
const BARS: (f64, f64) = (20.0, 2.0);

/// Lines and settings.
#[derive(Debug, Args)]
pub(crate) struct StepOptions {
    /// Lines, as in the table
    #[arg(default_values = ["quiet", "loss1", "jitter"])]
    line: Vec<String>,
    /// Samples of a period
    #[arg(long, default_value_t = 128)]
    period: u32,
    /// Time that a call has to find its delays, seconds
    #[arg(long, default_value_t = 14)]
    settle: u64,
    #[command(flatten)]
    common: Common,
}

const HEAD: &str = "\
| line | sync | ear p50, ms | eye p50, ms | apart p50, ms | apart p95 | shown less true p50, ms | p95 | seconds |
|---|---|---:|---:|---:|---:|---:|---:|---:|";

/// Prints the table, and fails where bars are not held.
pub(crate) fn run(options: &StepOptions) -> Result<()> {
    let folder = options.common.folder()?;
    let duets = options.common.duets()?;
    preface(options.common.seed, options.common.seconds);
    println!("{HEAD}");
    let mut missed = Vec::new();
    for name in &options.line {
        let Some(line) = ALL.iter().find(|line| line.name == name) else { bail!("there is no line `{name}`") };
        for sync in ["free", "picture"] {
            let case = folder.join(format!("{name}-{sync}"));
            std::fs::create_dir_all(&case)?;
            let stage = Stage::start(&case, Card { period: options.period, driver: Driver::Dummy })?;
            let length = Duration::from_secs(options.common.seconds);
            let settle = Duration::from_secs(options.settle);
            let ways = line.ways(options.common.seed, settle + length + Duration::from_secs(60));
            let pipe = stage.file("seen.y4m");
            let seen = look(&pipe)?;
            let sound = format!("sync = \"{sync}\"\n");
            let sink = format!("y4m:{}", pipe.display());
            let beside = Beside { source: PICTURE.0, rate: PICTURE.1, sink: &sink, sound: &sound };
            let duet = duets.first().context("there is no folder of programs")?;
            let running =
                start_duet(duet, &stage, &stage, &|target| begin(&[target], line.delay(), ways.clone()), beside)?;
            std::thread::sleep(settle);
            let file = stage.file("probe.json");
            let mut command = probe(&stage, &file);
            command.args(["--signal", "clap", "--to", &running.to, "--from", &running.from]);
            command.args(["--seconds", &length.as_secs_f64().to_string()]);
            ended(&mut stage.run("probe", &mut command)?)?;
            drop(running);
            // The server says that its card, which is none, takes a period before the microphone's port and two after the speaker's.
            let card_ms = 3.0 * f64::from(options.period) * 1e3 / f64::from(RATE);
            let seconds = seconds(&Report::read(&file)?, card_ms, &seen, &shown(&stage.file("duet"))?);
            let row = Row::of(&seconds);
            println!("| {} | {sync} | {row} |", line.title);
            // What was not measured is not held.
            let is_over = |figure: f64, bar: f64| figure.is_nan() || figure > bar;
            if sync == "picture" && is_over(row.apart_p95, BARS.0) {
                missed.push(format!("{name}: {:.1} ms apart > {}", row.apart_p95, BARS.0));
            }
            if is_over(row.wrong_p95, BARS.1) {
                missed.push(format!("{name}, {sync}: shown {:.1} ms wrong > {}", row.wrong_p95, BARS.1));
            }
        }
    }
    println!("\nFiles of each run: {}", folder.display());
    if !missed.is_empty() {
        bail!("not held: {}", missed.join("; "));
    }
    Ok(())
}

/// A picture that came out: when, and the time that it shows, ms since 1970.
type Seen = (f64, f64);

/// Reads pictures from a named pipe as they come.
fn look(pipe: &Path) -> Result<Receiver<Seen>> {
    // That of a run before.
    let _ = std::fs::remove_file(pipe);
    let made = Command::new("mkfifo").arg(pipe).status().context("mkfifo does not start")?;
    if !made.success() {
        bail!("mkfifo {} failed", pipe.display());
    }
    let (sender, seen) = channel();
    let pipe = PathBuf::from(pipe);
    std::thread::spawn(move || {
        let Ok(file) = File::open(pipe) else { return };
        let Ok(mut pictures) = Y4mReader::new(BufReader::new(file)) else { return };
        let size = pictures.header().size;
        let (mut data, mut last) = (Vec::new(), f64::NAN);
        while let Ok(true) = pictures.read(&mut data) {
            let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3;
            let Some(within_ms) = read(&data, size.width(), size.height()) else { continue };
            // A picture that fills in for a lost one comes again.
            if (within_ms - last).abs() > 1.0 || last.is_nan() {
                let old_ms = (now_ms - within_ms).rem_euclid(CYCLE_MS as f64);
                if sender.send((now_ms, now_ms - old_ms)).is_err() {
                    return;
                }
            }
            last = within_ms;
        }
    });
    Ok(seen)
}

/// Reads the strip in an undistorted picture, ms within its cycle.
fn read(luma: &[u8], width: usize, height: usize) -> Option<f64> {
    let (wide, high) = (FRAME.0 + 2.0, FRAME.1 + 2.0);
    let unit = (0.9 * width as f64 / wide).min(0.6 * height as f64 / high);
    let is_black = |x: f64, y: f64| {
        let column = width as f64 / 2.0 + (x - FRAME.0 / 2.0) * unit;
        let row = height as f64 / 2.0 + (y - FRAME.1 / 2.0) * unit;
        luma.get(row as usize * width + column as usize).map(|&sample| sample < 128)
    };
    let (left, top, side) = CELLS;
    let cell = |number: usize| is_black(left + (number as f64 + 0.5) * side, top + side / 2.0);
    if !cell(0)? || cell(BITS + 1)? {
        return None;
    }
    let code = (1..=BITS).try_fold(0, |code, bit| Some(code << 1 | u64::from(cell(bit)?)))?;
    let (left, top, wide, high) = LANE;
    let lane: Option<Vec<bool>> =
        (0..ALONG).map(|at| is_black(left + wide * (at as f64 + 0.5) / ALONG as f64, top + high / 2.0)).collect();
    let lane = lane?;
    // The black half begins after a white sample.
    let begins = (0..ALONG).find(|&at| lane[at] && !lane[(at + ALONG - 1) % ALONG])?;
    Some(strip::time_ms(code, begins as f64 / ALONG as f64))
}

/// Returns what the listener said: time, delay of the ear and of the eye, ms.
fn shown(folder: &Path) -> Result<Vec<[f64; 3]>> {
    let file = folder.join("duet-listens-received.jsonl");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let line = |line: &str| {
        let report: Value = serde_json::from_str(line).ok()?;
        Some([report["unix_ms"].as_f64()?, report["ear_ms"].as_f64()?, report["eye_ms"].as_f64()?])
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Delays of what came out in a second, ms: of the ear and the eye, and the step between them that was shown.
type Second = (f64, f64, f64);

fn seconds(report: &Report, card_ms: f64, seen: &Receiver<Seen>, shown: &[[f64; 3]]) -> Vec<Second> {
    let pictures: Vec<Seen> = seen.try_iter().collect();
    let second = |&[told_ms, ear_shown_ms, eye_shown_ms]: &[f64; 3]| {
        let is_told = |at_ms: f64| (told_ms - TOLD_MS..told_ms).contains(&at_ms);
        let heard = *report.claps_heard.iter().rfind(|&&heard| is_told((heard + report.unix_us) / 1e3))?;
        let sent = report.claps_sent.iter().rfind(|&&sent| sent < heard)?;
        let ear_ms = (heard - sent) / 1e3 + card_ms;
        let came = pictures.iter().filter(|(came, _)| is_told(*came));
        let mut eyes: Vec<f64> = came.map(|(came, shows)| came - shows - ROUNDED_MS + DISPLAY_MS).collect();
        let eye_ms = quantile(&mut eyes, 0.5);
        let second = (ear_ms, eye_ms, eye_shown_ms - ear_shown_ms);
        (ear_ms < DELAY_MS_MAX && eye_ms < DELAY_MS_MAX).then_some(second)
    };
    shown.iter().filter_map(second).collect()
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    values.get((share * last).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Figures of a run.
struct Row {
    cells: Vec<f64>,
    apart_p95: f64,
    wrong_p95: f64,
    seconds: usize,
}

impl Row {
    fn of(seconds: &[Second]) -> Self {
        let of = |value: &dyn Fn(&Second) -> Option<f64>, share: f64| {
            quantile(&mut seconds.iter().filter_map(value).collect::<Vec<_>>(), share)
        };
        let apart = |second: &Second| Some((second.1 - second.0).abs());
        let signed = |second: &Second| Some(second.2 - (second.1 - second.0));
        let wrong = |second: &Second| signed(second).map(f64::abs);
        let (apart_p95, wrong_p95) = (of(&apart, 0.95), of(&wrong, 0.95));
        let cells = vec![
            of(&|second| Some(second.0), 0.5),
            of(&|second| Some(second.1), 0.5),
            of(&apart, 0.5),
            apart_p95,
            of(&signed, 0.5),
            wrong_p95,
        ];
        Self { cells, apart_p95, wrong_p95, seconds: seconds.len() }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells: Vec<_> = self.cells.iter().map(|&value| number(value, 1)).collect();
        write!(f, "{} | {}", cells.join(" | "), self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use picture::frame::{FrameRate, FrameSize};
    use sending::source::strip::Strip;

    use super::*;

    #[test]
    fn a_strip_is_read_to_the_millisecond() {
        let strip = Strip::new(FrameSize::new(640, 360).unwrap(), FrameRate::USUAL);
        let mut data = Vec::new();
        for time in [0, 1, 127, 128, 300, 9_999, 32_767] {
            strip.draw(time, &mut data);
            let read = read(&data, 640, 360).unwrap();
            let away = (read - time as f64 + 16_384.0).rem_euclid(32_768.0) - 16_384.0;
            assert!(away.abs() <= 1.0, "{time}: {read}");
        }
        assert_eq!(read(&vec![110; 640 * 360 * 3 / 2], 640, 360), None);
    }

    #[test]
    fn a_second_has_the_delays_of_its_clap_and_its_pictures() {
        let (sender, seen) = channel();
        for picture in 0..60_u32 {
            let at = 1e6 + f64::from(picture) * 33.0;
            sender.send((at, at - 40.0)).unwrap();
        }
        let report = Report { unix_us: 1e9, claps_sent: vec![900e3], claps_heard: vec![931e3], ..Report::default() };
        let seconds = seconds(&report, 2.0, &seen, &[[1e6 + 1_000.0, 30.0, 45.5]]);
        assert_eq!(seconds, [(33.0, 47.5, 15.5)]);
        let row = Row::of(&seconds);
        assert_eq!((row.apart_p95, row.wrong_p95), (14.5, 1.0));
    }
}
