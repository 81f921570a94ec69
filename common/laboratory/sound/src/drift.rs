//! Sound between two cards whose clocks differ: two JACK servers, a probe on each, and one clock for both.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use faults::daemons::Daemon;

use crate::conditions::{ALL, Condition};
use crate::measure::{SKIPPED, Times, WANDER, begin, ended, load, probe};
use crate::options::{Common, preface};
use crate::probe::{HeardFigures, Report, SMOOTH};
use crate::programs::{Named, Program};
use crate::stage::{Card, Driver, Stage};
use crate::table::number;

/// The listener's first number: it starts up to four seconds after the one who plays.
const HEAD_START: u64 = 96_000;
/// Length of the sound by which Duet is measured, us.
const LENGTH_US: f64 = SMOOTH as f64 / 0.048;
/// Time that the listener needs to start.
const START: Duration = Duration::from_secs(3);
/// Time that a run may take beyond that measured.
const SLACK: Duration = Duration::from_secs(60);

/// Cards and programs.
#[derive(Debug, Args)]
pub(crate) struct DriftOptions {
    /// Programs: jacktrip, jacktrip-q4r2, jacktrip-q6r3, duet
    #[arg(long, value_delimiter = ',', default_values = ["jacktrip", "duet"])]
    programs: Vec<String>,
    /// Millionths by which both cards' clocks are fast
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, default_values_t = [100.0, -100.0])]
    ppm: Vec<f64>,
    /// Samples of a period
    #[arg(long, default_value_t = 64)]
    period: u32,
    /// The line, as in the table
    #[arg(long, default_value = "quiet")]
    line: String,
    /// Time that a program has to find its settings, seconds
    #[arg(long, default_value_t = 14)]
    settle: u64,
    #[command(flatten)]
    common: Common,
}

const HEAD: &str = "\
| program | cards, ppm fast | samples | found apart, ppm | added p50, ms | p99 | least | most | dropouts a minute | lost sound, % | \
longest, ms | jumps a minute | signal by noise, dB | minutes | xruns | load |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|";

/// Prints the table.
pub(crate) fn run(options: &DriftOptions) -> Result<()> {
    let [near, far] = options.ppm[..] else { bail!("--ppm takes two: --ppm 100,-100") };
    let Some(line) = ALL.iter().find(|condition| condition.name == options.line) else {
        bail!("there is no line `{}`", options.line)
    };
    let (folder, duets) = (options.common.folder()?, options.common.duets()?);
    let named = Named { jacktrips: &options.common.jacktrip, duets: &duets };
    let length = Duration::from_secs(options.common.seconds);
    let times = Times { settle: Duration::from_secs(options.settle), length, seed: options.common.seed };
    preface(options.common.seed, options.common.seconds);
    println!("{}\n\n{HEAD}", line.title);
    let mut failed = 0;
    for name in &options.programs {
        for (number, program) in Program::all(name, &named)?.iter().enumerate() {
            let cards = [near, far].map(|ppm| Card { period: options.period, driver: Driver::Off(ppm) });
            let row = match program.lacks() {
                Some(lacks) => {
                    println!("| {} | left out: {lacks} |{}", program.label(), " |".repeat(14));
                    continue;
                }
                None => measure(program, line, cards, times, &folder.join(format!("{name}-{number}"))),
            };
            match row {
                Ok(row) => println!("| {} | {near}, {far} | {} | {row} |", program.label(), options.period),
                Err(error) => {
                    println!("| {} | not measured: {error:#} |{}", program.label(), " |".repeat(14));
                    failed += 1;
                }
            }
        }
    }
    println!("\nFiles of each run: {}", folder.display());
    if failed > 0 {
        bail!("{failed} cases were not measured");
    }
    Ok(())
}

fn measure(program: &Program, line: &Condition, cards: [Card; 2], times: Times, folder: &Path) -> Result<String> {
    let folders = ["near", "far"].map(|end| folder.join(end));
    folders.iter().try_for_each(std::fs::create_dir_all)?;
    let [near, far] = [Stage::start(&folders[0], cards[0])?, Stage::start(&folders[1], cards[1])?];
    let ways = line.ways(times.seed, times.settle + times.length + SLACK);
    let mut running = program.start_apart([&near, &far], &|target| begin(&[target], line.delay(), ways.clone()))?;
    std::thread::sleep(times.settle);
    let files = [near.file("sent.json"), far.file("heard.json")];
    let signal = program.signal_apart();
    let run = |stage: &Stage, file: &Path, more: &[&str], length: Duration, name: &'static str| {
        let mut probe = probe(stage, file);
        probe.args(["--anyway", "--signal", signal, "--seconds", &length.as_secs_f64().to_string()]).args(more);
        stage.run(name, &mut probe)
    };
    let first = HEAD_START.to_string();
    let sends = run(&near, &files[0], &["--to", &running.to], times.length + 2 * START, "probe-sends")?;
    let hears = ["--from", &running.from, "--listen-first", &first];
    let hears = run(&far, &files[1], &hears, times.length + Duration::from_secs(1), "probe-hears")?;
    [hears, sends].iter_mut().try_for_each(ended)?;
    running.ends.iter_mut().try_for_each(Daemon::check)?;
    let [sent, heard] = [Report::read(&files[0])?, Report::read(&files[1])?];
    Ok(row(&sent, &heard, line.delay()))
}

/// Returns the cells of a run.
fn row(sent: &Report, heard: &Report, wire: Duration) -> String {
    let wander = if heard.snr_db.is_some() { WANDER } else { 0 };
    let from = heard.clock.first_sample() + SKIPPED;
    let figures: HeardFigures = heard.runs.from(from).figures(wander);
    // By the machine's clock, in the middle of each run: its samples are counted by two clocks.
    let mut delays = Vec::new();
    for run in &heard.runs.from(from).0 {
        if let Some(delay) = run.kind.delay() {
            let middle = (run.start + run.length / 2) as f64;
            let added = |delay: f64| heard.clock.us(middle) - sent.clock.us(middle - delay) - wire.as_micros() as f64;
            let delay = f64::from(delay);
            // A sound that is repeated tells its delay but for whole lengths, and periods that a card missed are in its count of samples:
            // by the clock it is the length that leaves least.
            let lengths = if heard.snr_db.is_some() { (added(delay) / LENGTH_US).round() } else { 0.0 };
            delays.push((added(delay - lengths * SMOOTH as f64) / 1e3, run.length));
        }
    }
    delays.sort_by(|one, other| one.0.total_cmp(&other.0));
    let good: u64 = delays.iter().map(|delay| delay.1).sum();
    let quantile = |share: f64| {
        let mut left = share * good as f64;
        let at = delays.iter().find(|delay| {
            left -= delay.1 as f64;
            left <= 0.0
        });
        number(at.map_or(f64::NAN, |delay| delay.0), 2)
    };
    let apart = 1e6 * (heard.clock.us_a_sample() / sent.clock.us_a_sample() - 1.0);
    [
        number(apart, 1),
        quantile(0.5),
        quantile(0.99),
        quantile(0.0),
        quantile(1.0),
        number(figures.dropouts, 1),
        number(100.0 * figures.bad, 3),
        number(figures.longest / 48.0, 1),
        number(figures.jumps, 1),
        number(heard.snr_db.unwrap_or(f64::NAN), 1),
        number(figures.seconds / 60.0, 1),
        format!("{}, {}", sent.xruns, heard.xruns),
        number(load(), 1),
    ]
    .join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Runs;

    #[test]
    fn what_a_card_has_missed_is_no_delay() {
        let (mut sent, mut heard) = (Report::default(), Report { snr_db: Some(60.0), ..Report::default() });
        // The one who hears misses 900 of 3000 periods, and its count of samples is behind that of the one who plays.
        for period in 0..3_000u64 {
            sent.clock.note(1_024 * period, 1_024 * period * 1_000 / 48, 1_024 * period as u32);
            let at = if period < 500 { period } else { period.saturating_sub(900) };
            if !(500..1_400).contains(&period) {
                heard.clock.note(96_000 + 1_024 * at, 2_000_000 + 1_024 * period * 1_000 / 48, 1_024 * period as u32);
            }
        }
        // 10 ms behind: 480 samples before, and 480 less those missed, in a sound that is repeated, after.
        let after = 480 + 8 * SMOOTH as i64 - 900 * 1_024;
        let runs = [
            serde_json::json!([96_000, 512_000, "same", 480]),
            serde_json::json!([608_000, 1_600_000, "same", after.rem_euclid(SMOOTH as i64)]),
        ];
        heard.runs = Runs::from_json(&serde_json::Value::from_iter(runs));
        let cells = row(&sent, &heard, Duration::from_millis(8));
        let cells: Vec<_> = cells.split(" | ").collect();
        for cell in &cells[1..5] {
            assert!((cell.parse::<f64>().unwrap() - 2.0).abs() < 0.3, "{cells:?}");
        }
    }

    #[test]
    fn delays_are_by_one_clock() {
        let (mut sent, mut heard) = (Report::default(), Report::default());
        // The one who plays is 100 ppm fast, and the other begins two seconds after it with number 96000.
        for period in 0..100_000u64 {
            let frames = 64 * period as u32;
            sent.clock.note(64 * period, (64.0 * period as f64 * 1e6 / 48_004.8) as u64, frames);
            heard.clock.note(96_000 + 64 * period, (2e6 + 64.0 * period as f64 * 1e6 / 48_000.0) as u64, frames);
        }
        // 10 ms by the clock are ever fewer by the count of samples.
        let runs: Vec<_> = (0..90u64)
            .map(|n| serde_json::json!([96_000 + 48_000 * n, 48_000, "same", (4_680 - 48 * n) / 10]))
            .collect();
        heard.runs = Runs::from_json(&runs.into());
        let cells = row(&sent, &heard, Duration::from_millis(8));
        let cells: Vec<_> = cells.split(" | ").collect();
        assert_eq!(cells[0], "100.0");
        for cell in &cells[1..5] {
            assert!((cell.parse::<f64>().unwrap() - 2.0).abs() < 0.3, "{cells:?}");
        }
    }
}
