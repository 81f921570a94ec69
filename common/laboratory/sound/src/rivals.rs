//! Programs on lines, one after the other in one run.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::bars;
use crate::conditions::{self, Condition};
use crate::measure::{Times, measure};
use crate::options::{Common, preface};
use crate::programs::{self, Named, Program};
use crate::stage::{Card, Driver};
use crate::table::{Case, HEAD};

/// Case of the short table.
const SHORT: ([&str; 2], [&str; 3], [u32; 1]) = (["quiet", "loss1"], ["alone", "jacktrip-q4r2", "duet"], [64]);

/// Lines and programs.
#[derive(Debug, Args)]
pub(crate) struct TableOptions {
    /// Lines: loopback, quiet, loss1, loss5, bursts, jitter, pauses; all if none is named
    line: Vec<String>,
    /// Programs: alone, jacktrip, jacktrip-q4r2, jacktrip-q6r3, jamulus, zita, duet
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// Samples of a period: 64, 128, 256
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(16..=1024))]
    period: Vec<u32>,
    /// Time that a program has to find its settings, seconds
    #[arg(long, default_value_t = 14)]
    settle: u64,
    /// The sound sent, in place of each program's usual one: counted, smooth, sweep, wav:FILE
    #[arg(long)]
    signal: Option<String>,
    /// Two lines at 64 samples and the nearest rival, six seconds each
    #[arg(long)]
    short: bool,
    #[command(flatten)]
    common: Common,
}

/// Prints the table.
pub(crate) fn run(options: &TableOptions) -> Result<()> {
    let common = &options.common;
    let or = |given: &[String], short: &[&str], all: &[&str]| {
        let usual = if options.short { short } else { all };
        if given.is_empty() { usual.iter().map(|name| (*name).to_owned()).collect() } else { given.to_vec() }
    };
    let all_lines: Vec<_> = conditions::ALL.iter().map(|condition| condition.name).collect();
    let lines = or(&options.line, &SHORT.0, &all_lines)
        .iter()
        .map(|name| {
            let line = conditions::ALL.iter().find(|condition| condition.name == name);
            line.with_context(|| format!("there is no line `{name}`: there are {}", all_lines.join(", ")))
        })
        .collect::<Result<Vec<&Condition>>>()?;
    let duets = common.duets()?;
    let named = Named { jacktrips: &common.jacktrip, duets: &duets };
    let mut all = Vec::new();
    for name in or(&options.programs, &SHORT.1, &programs::NAMES) {
        all.extend(Program::all(&name, &named)?);
    }
    let periods = match (&options.period[..], options.short) {
        ([], true) => SHORT.2.to_vec(),
        ([], false) => vec![64, 128, 256],
        (given, _) => given.to_vec(),
    };
    let (settle, seconds) = if options.short { (4, 6) } else { (options.settle, common.seconds) };
    let times = Times { settle: Duration::from_secs(settle), length: Duration::from_secs(seconds), seed: common.seed };
    let folder = common.folder()?;
    let mut json = std::fs::File::create(folder.join("cases.jsonl"))?;
    preface(common.seed, seconds);
    for program in &all {
        if let Some(lacks) = program.lacks() {
            println!("{} is left out: {lacks}", program.label());
        }
    }
    println!("\n{HEAD}");
    let (mut failed, mut missed) = (0, Vec::new());
    for period in periods {
        let card = Card { period, driver: Driver::Dummy };
        for condition in &lines {
            for (number, program) in all.iter().enumerate().filter(|(_, program)| program.lacks().is_none()) {
                // The probe alone knows no line.
                if *program == Program::Alone && condition.name != lines[0].name {
                    continue;
                }
                let label = program.label();
                let line = if *program == Program::Alone { "none" } else { condition.title };
                let case = Case { line, program: &label, period, seed: common.seed };
                let files = folder.join(format!("{}-{period}-{number}", condition.name));
                match measure(program, options.signal.as_deref(), condition, card, times, &files) {
                    Ok(figures) => {
                        println!("{}", case.row(&figures));
                        if matches!(program, Program::Duet { .. }) {
                            let bars = bars::missed(condition.name, period, &figures);
                            missed.extend(bars.iter().map(|bar| format!("{}, {period}: {bar}", condition.name)));
                        }
                        writeln!(json, "{}", case.json(&figures))?;
                    }
                    Err(error) => {
                        println!("{}", case.failed(&format!("{error:#}")));
                        failed += 1;
                    }
                }
            }
        }
    }
    println!("\nA line of JSON for each case: {}", folder.join("cases.jsonl").display());
    missed.iter().for_each(|bar| println!("not held by Duet: {bar}"));
    if !missed.is_empty() {
        bail!("Duet has not held {} bars", missed.len());
    }
    if failed > 0 {
        bail!("{failed} cases were not measured");
    }
    Ok(())
}
