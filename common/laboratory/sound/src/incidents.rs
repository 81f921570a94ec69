//! Stalls and servers that end, and the time until sound is back.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use faults::daemons::Daemon;
use faults::testbed::unix_time;

use crate::conditions::{ALL, Condition};
use crate::measure::{begin, ended, probe};
use crate::options::{Common, preface};
use crate::probe::Report;
use crate::programs::{Named, Program, Running};
use crate::stage::{Card, Driver, RATE, Stage};
use crate::table::number;

/// Sound without a dropout that is called back: half a second.
const BACK: u64 = 24_000;
/// Time before an incident in which sound must be heard.
const BEFORE: Duration = Duration::from_secs(3);
/// Time that a server that was ended is away.
const AWAY: Duration = Duration::from_millis(500);
/// Time that a run may take beyond that measured.
const SLACK: Duration = Duration::from_secs(60);

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Incident {
    /// An end stands still for 200 ms: the one that plays (0) or the one that hears (1).
    Stall(usize),
    /// The JACK server, or PipeWire in its place, ends and is started again.
    Server(Driver),
}

/// Length of a stall.
const STALL: Duration = Duration::from_millis(200);
const INCIDENTS: [(&str, Incident); 4] = [
    ("stall-plays", Incident::Stall(0)),
    ("stall-hears", Incident::Stall(1)),
    ("server", Incident::Server(Driver::Dummy)),
    ("pipewire", Incident::Server(Driver::PipeWire)),
];

/// Programs and incidents.
#[derive(Debug, Args)]
pub(crate) struct IncidentOptions {
    /// Incidents: stall-plays, stall-hears (an end stands still for 200 ms), server (JACK ends and comes again), pipewire (it does); all if none is named
    incident: Vec<String>,
    /// Programs: jacktrip, jacktrip-q4r2, jacktrip-q6r3, jamulus, zita, duet
    #[arg(long, value_delimiter = ',', default_values = ["jacktrip", "duet"])]
    programs: Vec<String>,
    /// Samples of a period
    #[arg(long, default_value_t = 64)]
    period: u32,
    /// The line, as in the table
    #[arg(long, default_value = "quiet")]
    line: String,
    /// Time that a program has to find its settings, seconds
    #[arg(long, default_value_t = 8)]
    settle: u64,
    #[command(flatten)]
    common: Common,
}

const HEAD: &str = "\
| incident | program | samples | sound back after, ms | added before, ms | added at the end, ms | dropouts since |
|---|---|---:|---:|---:|---:|---:|";

/// Prints the table.
pub(crate) fn run(options: &IncidentOptions) -> Result<()> {
    let Some(line) = ALL.iter().find(|condition| condition.name == options.line) else {
        bail!("there is no line `{}`", options.line)
    };
    let names = INCIDENTS.map(|incident| incident.0);
    if let Some(unknown) = options.incident.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("there is no incident `{unknown}`: there are {}", names.join(", "));
    }
    let (folder, duets) = (options.common.folder()?, options.common.duets()?);
    let named = Named { jacktrips: &options.common.jacktrip, duets: &duets };
    preface(options.common.seed, options.common.seconds);
    println!("{}\n\n{HEAD}", line.title);
    let mut failed = 0;
    for (name, incident) in INCIDENTS {
        if !options.incident.is_empty() && !options.incident.iter().any(|asked| asked == name) {
            continue;
        }
        for program in &options.programs {
            for (number, program) in Program::all(program, &named)?.iter().enumerate() {
                let label = program.label();
                if let Some(lacks) = program.lacks() {
                    println!("| {name} | {label} | {} | left out: {lacks} | | | |", options.period);
                    continue;
                }
                let files = folder.join(format!("{name}-{}-{number}", label.replace([' ', '/'], "_")));
                match measure(program, incident, line, options, &files) {
                    Ok(row) => println!("| {name} | {label} | {} | {row} |", options.period),
                    Err(error) => {
                        println!("| {name} | {label} | {} | not measured: {error:#} | | | |", options.period);
                        failed += 1;
                    }
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

fn measure(
    program: &Program,
    incident: Incident,
    line: &Condition,
    options: &IncidentOptions,
    folder: &Path,
) -> Result<String> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let driver = if let Incident::Server(driver) = incident { driver } else { Driver::Dummy };
    let mut stage = Stage::start(folder, Card { period: options.period, driver })?;
    let (settle, length) = (Duration::from_secs(options.settle), Duration::from_secs(options.common.seconds));
    let ways = line.ways(options.common.seed, settle + length + SLACK);
    let mut running = program.start(&stage, &|target| begin(&[target], line.delay(), ways.clone()))?;
    std::thread::sleep(settle);
    let mut first = listen(&stage, program, &running, BEFORE + length, "before")?;
    std::thread::sleep(BEFORE);
    first.check()?;
    let happened = match incident {
        Incident::Stall(end) => {
            let Some(end) = running.ends.get(end) else { bail!("{} has no such end", program.label()) };
            end.signal("STOP")?;
            std::thread::sleep(STALL);
            end.signal("CONT")?;
            unix_time()?
        }
        Incident::Server(_) => {
            stage.kill_server()?;
            std::thread::sleep(AWAY);
            stage.start_server()?;
            unix_time()?
        }
    };
    let mut last = match incident {
        Incident::Stall(_) => None,
        Incident::Server(_) => Some(listen(&stage, program, &running, length, "after")?),
    };
    ended(&mut first)?;
    let before = Report::read(&stage.file("before.json"))?;
    if let Some(last) = &mut last {
        ended(last)?;
    }
    let after = if last.is_some() { Report::read(&stage.file("after.json"))? } else { before.clone() };
    let gone = running.ends.iter_mut().find_map(|end| end.check().err());
    let row = row(&before, &after, happened, line.delay());
    Ok(match gone {
        Some(gone) => row.replacen("never", &format!("never: {gone:#}"), 1),
        None => row,
    })
}

/// Starts a probe that writes `NAME.json`.
fn listen(stage: &Stage, program: &Program, running: &Running, length: Duration, name: &'static str) -> Result<Daemon> {
    let mut probe = probe(stage, &stage.file(&format!("{name}.json")));
    probe.args(["--anyway", "--signal", program.signal(), "--to", &running.to, "--from", &running.from]);
    probe.args(["--seconds", &length.as_secs_f64().to_string()]);
    stage.run(name, &mut probe)
}

/// Returns the cells of a run with an incident that ended at this time since 1970.
fn row(before: &Report, after: &Report, happened: Duration, wire: Duration) -> String {
    let ended = happened.as_micros() as f64 - after.unix_us;
    let at = after.clock.sample(ended);
    let from = at.max(0.0) as u64;
    let back = after.runs.good_from(from, BACK);
    let since = back.map(|back| after.runs.from(back));
    let added = |delay: Option<u32>| {
        let samples = delay.map_or(f64::NAN, f64::from) - wire.as_secs_f64() * f64::from(RATE);
        number(samples / 48.0, 1)
    };
    let delays = |report: &Report| report.runs.0.iter().filter_map(|run| run.kind.delay()).collect::<Vec<_>>();
    let heard_before =
        before.runs.0.iter().take_while(|run| before.is_gone || (run.start as f64) < at - f64::from(RATE));
    [
        back.map_or_else(|| "never".to_owned(), |back| number((after.clock.us(back as f64) - ended) / 1e3, 0)),
        added(heard_before.filter_map(|run| run.kind.delay()).last()),
        added(delays(after).last().copied()),
        since.map_or_else(
            || "-".to_owned(),
            |since| {
                let figures = since.figures(0);
                number(figures.dropouts * figures.seconds / 60.0, 0)
            },
        ),
    ]
    .join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Runs;

    #[test]
    fn sound_is_back_when_it_stays() {
        let mut report = Report { unix_us: 1e9, ..Report::default() };
        // The incident ends at 2 s, which is sample 96000.
        (0..6_000u64).for_each(|period| report.clock.note(48 * period, 1_000 * period, 48 * period as u32));
        report.runs = Runs::from_json(&serde_json::json!([
            [0, 88_000, "same", 1_344],
            [88_000, 14_800, "silent", null],
            // Too short to be back.
            [102_800, 12_000, "same", 1_344],
            [114_800, 400, "other", null],
            [115_200, 32_800, "same", 1_440],
            [148_000, 64, "other", null],
            [148_064, 48_000, "same", 1_440]
        ]));
        let wire = Duration::from_millis(25);
        assert_eq!(row(&report, &report, Duration::from_micros(1_002_000_000), wire), "400 | 3.0 | 5.0 | 1");
        report.runs =
            Runs::from_json(&serde_json::json!([[0, 88_000, "same", 1_344], [88_000, 9_000, "silent", null]]));
        assert_eq!(row(&report, &report, Duration::from_micros(1_002_000_000), wire), "never | 3.0 | 3.0 | -");
    }
}
