//! A rehearsal: one call in both directions for hours, whose line, programs, cameras and settings are changed all the time. The
//! program at one end lives through all of it, first the one that waits for calls, then the one that calls, and must not grow.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use common::netsim::{NetConditions, Random};
use picture::frame::{FrameRate, FrameSize};

use crate::bars::{Bars, GROWTH_MAX_MB, Report};
use crate::daemons::Held;
use crate::scenario::case::Case;
use crate::scenario::event::Event;
use crate::scenario::measured::Measured;
use crate::scenario::run;
use crate::scenario::setup::Stream;
use crate::testbed::{RECEIVER, SENDER};

/// Size of the pictures.
const SIZE: (u32, u32) = (160, 90);
const RATE: &str = "2M";
const LINE: NetConditions = NetConditions::perfect(Duration::from_millis(5));
/// Memory has its size after this time.
const WARM_UP: Duration = Duration::from_secs(60);
/// Longest outage of the line, and stall of a camera.
const OUTAGE_MAX: Duration = Duration::from_secs(3);
/// Rows of the table.
const ROWS: usize = 8;

/// Files and threads that may come and go, such as those of a connection that is being made.
const ENTRIES_MORE: usize = 4;

/// Asked of a rehearsal.
pub(crate) struct RehearsalOptions<'a> {
    pub(crate) programs: &'a Path,
    pub(crate) folder: &'a Path,
    /// Length of the whole.
    pub(crate) length: Duration,
    /// Time from one event to the next.
    pub(crate) cycle: Duration,
    pub(crate) fps: u32,
    pub(crate) seed: u64,
}

/// Runs both halves and prints what the end that lives through them takes; fails if it grows or pictures do not come back.
pub(crate) fn run(wanted: &RehearsalOptions<'_>) -> Result<()> {
    let (seconds, cycle) = (wanted.length.as_secs(), wanted.cycle.as_secs_f64());
    println!(
        "{}x{} at {} a second both ways, {seconds} s, an event each {cycle} s, seed {}\n",
        SIZE.0, SIZE.1, wanted.fps, wanted.seed
    );
    let rate = FrameRate::new(wanted.fps, 1).context("no frame rate")?;
    let stream = Stream::of("", RATE, rate, wanted.programs);
    let (mut report, length) = (Report::default(), wanted.length / 2);
    for (stays, name) in [(RECEIVER, "waits"), (SENDER, "calls")] {
        println!("## The end that {name} stays\n");
        let events = events(stays, length, wanted);
        let case = Case {
            cameras: Some(FrameSize::new(SIZE.0, SIZE.1)?),
            watched: stays,
            is_patient: true,
            ..Case::new("rehearsal", "a call of hours", |_| Bars::default()).both_ways(LINE).events(events.clone())
        };
        let (measured, _) = run::run(&case, &stream, &wanted.folder.join(name), length)?;
        report.add(&format!("the end that {name}"), tell(&measured, stays));
    }
    report.end(wanted.folder, "the rehearsal was not held:")
}

/// Names of the events, in the order in which they are counted.
const NAMES: [&str; 10] = [
    "outages of the line",
    "other ports of the router",
    "kills of the other program",
    "ends and starts of the other program",
    "stalls of the first camera",
    "stalls of the second camera",
    "sizes of the first picture",
    "sizes of the second picture",
    "rates and effects of the first",
    "rates and effects of the second",
];

/// Returns the place of an event among the names; the one that waits is the first.
fn kind(event: Event) -> usize {
    let is_second = |end| usize::from(end == SENDER);
    match event {
        Event::Line { .. } => 0,
        Event::Rebind => 1,
        Event::Kill(_) => 2,
        Event::End(_) => 3,
        Event::Stall { end, .. } => 4 + is_second(end),
        Event::Set { end, wish } if wish.starts_with("size") => 6 + is_second(end),
        Event::Set { end, .. } => 8 + is_second(end),
        _ => NAMES.len(),
    }
}

/// Returns what happens while the end that `stays` lives, one event a cycle, chosen by the seed.
fn events(stays: usize, length: Duration, wanted: &RehearsalOptions<'_>) -> Vec<(Duration, Event)> {
    let (other, span) = (1 - stays, wanted.cycle.min(OUTAGE_MAX));
    let sizes = ["size=80x45", "size=120x90", "size=64x64", "size=full"];
    let settings = ["rate=1M", "rate=2M", "effects.still_noise=3", "effects.still_noise=0", "latency_max_ms=40"];
    let mut random = Random::new(wanted.seed);
    let times = (0..).map(|number| wanted.cycle * number).take_while(|&at| at + wanted.cycle <= length);
    let events = times.map(|at| {
        let number = random.below(NAMES.len() as u64) as usize;
        let end = [RECEIVER, SENDER][number % 2];
        let mut one_of = |all: &[&'static str]| all[random.below(all.len() as u64) as usize];
        let event = match number {
            0 => Event::Line { conditions: LINE.blackout(), span },
            1 => Event::Rebind,
            2 => Event::Kill(other),
            3 => Event::End(other),
            4 | 5 => Event::Stall { end, span },
            6 | 7 => Event::Set { end, wish: one_of(&sizes) },
            _ => Event::Set { end, wish: one_of(&settings) },
        };
        (at, event)
    });
    events.collect()
}

/// Prints what the end that `stays` took, and holds it to its bars.
fn tell(run: &Measured, stays: usize) -> Bars {
    println!("| second | memory, MB | threads | open files | pictures shown |\n|---|---|---|---|---|");
    for row in 1..=ROWS {
        let Some(look) = run.looks.iter().rev().find(|look| look.at <= run.length * row as f64 / ROWS as f64) else {
            continue;
        };
        let (second, Held { memory, threads, files, .. }) = (look.at / 1e3, look.held[stays]);
        println!("| {second:.0} | {:.1} | {threads} | {files} | {} |", memory as f64 / 1e6, look.shown);
    }
    println!("\n| event | times |\n|---|---|");
    for (number, name) in NAMES.iter().enumerate() {
        println!("| {name} | {} |", run.spans.iter().filter(|span| kind(span.event) == number).count());
    }
    // A run of less than a minute has no size to compare with.
    let warm = WARM_UP.as_secs_f64() * 1e3;
    let later: Vec<_> = run.looks.iter().filter(|look| look.at >= warm).collect();
    let base = later.first().map_or_else(Held::default, |look| look.held[stays]);
    let most = later.iter().map(|look| look.memory_most[stays]).max().unwrap_or(0);
    let end = run.looks.last().map_or_else(Held::default, |look| look.held[stays]);
    let grown = |now: u64| (now as f64 - base.memory as f64) / 1e6;
    println!(
        "\n{} pictures shown; memory after a minute {:.1} MB, at the end {:+.1}, at most {:+.1}; threads {} -> {}, files {} -> {}\n",
        run.looks.last().map_or(0, |look| look.shown),
        base.memory as f64 / 1e6,
        grown(end.memory),
        grown(most),
        base.threads,
        end.threads,
        base.files,
        end.files,
    );
    bars(base, most, end)
}

/// Returns what has grown from `base` to `most` bytes and to the `end` by more than it may.
fn bars(base: Held, most: u64, end: Held) -> Bars {
    let grown = most.saturating_sub(base.memory) as f64 / 1e6;
    let mut bars = Bars::default().at_most("growth, MB,", grown, GROWTH_MAX_MB);
    bars.expect(base.memory > 0, "it lasted less than a minute: nothing is known");
    for (what, before, after) in [("threads", base.threads, end.threads), ("open files", base.files, end.files)] {
        bars.expect(after <= before + ENTRIES_MORE, format!("{before} {what} became {after}"));
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_or_is_not_known_breaks_a_bar() {
        let held = |memory, threads, files| Held { memory, threads, files, ..Held::default() };
        let base = held(40_000_000, 20, 30);
        assert!(bars(base, 56_000_000, held(41_000_000, 24, 34)).0.is_empty());
        assert!(bars(base, 57_000_000, base).0[0].contains("17.0 > 16.0"));
        assert_eq!(bars(base, base.memory, held(1, 25, 35)).0, ["20 threads became 25", "30 open files became 35"]);
        assert!(bars(Held::default(), 1, held(1, 1, 1)).0[0].contains("less than a minute"));
    }

    #[test]
    fn every_event_comes_and_none_touches_the_program_that_stays() {
        let wanted = RehearsalOptions {
            programs: Path::new(""),
            folder: Path::new(""),
            length: Duration::ZERO,
            cycle: Duration::from_secs(60),
            fps: 30,
            seed: 1,
        };
        let events = events(SENDER, Duration::from_secs(4 * 3_600), &wanted);
        assert_eq!(events.len(), 240);
        for (number, name) in NAMES.iter().enumerate() {
            assert!(events.iter().any(|(_, event)| kind(*event) == number), "no {name}");
        }
        let ends_it = |event| matches!(event, Event::Kill(SENDER) | Event::End(SENDER));
        assert!(!events.iter().any(|&(_, event)| ends_it(event)));
    }
}
