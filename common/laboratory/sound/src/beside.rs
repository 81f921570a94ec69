//! JackTrip's sound beside Duet's picture on one narrow line.
//!
//! ```text
//! probe ─▶ JackTrip ─┐                    ┌─▶ JackTrip ─▶ probe
//!                    ├─▶ one line, queue ─┤
//!           sender ──┘                    └─▶ receiver
//! ```

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use common::netsim::{NetConditions, Scenario};
use common::units::Bitrate;
use faults::daemons::Daemon;
use faults::logs::{self, percentile};
use faults::relay::Passed;
use faults::testbed::{Testbed, unix_time};
use serde_json::json;

use crate::measure::{Figures, begin, hear};
use crate::options::{Common, preface};
use crate::probe::HeardFigures;
use crate::programs::{Named, Program, QUEUE_4, Running};
use crate::stage::{Card, Driver, Stage, free_address};
use crate::table::number;

/// One way.
const DELAY: Duration = Duration::from_millis(12);
/// Longest wait in the line's queue.
const QUEUE: Duration = Duration::from_millis(100);
/// Time that JackTrip has before the picture comes, and the picture before what counts.
const SETTLE: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(8)];
/// More than any of the lines carries.
const FREE: &str = "60M";
/// Option by which a program's help shows that it knows of sound, and options of the sender beside JackTrip: what that takes at 64
/// samples, a little more than at 128.
const NO_SOUND: &str = "--no-sound";
const BESIDE: [&str; 3] = [NO_SOUND, "--beside", "1.8M"];

/// Lines and pictures.
#[derive(Debug, Args)]
pub(crate) struct BesideOptions {
    /// Lines, Mbit/s
    #[arg(default_values_t = [5, 8, 10, 20, 50], value_parser = clap::value_parser!(u64).range(1..=1000))]
    mbit: Vec<u64>,
    /// Pictures a second
    #[arg(long, value_delimiter = ',', default_values_t = [30, 60])]
    fps: Vec<u32>,
    /// Size of the pictures
    #[arg(long, default_value = "640x360")]
    size: String,
    /// Most that the picture may take: free, half (of the line)
    #[arg(long, value_delimiter = ',', default_values = ["free", "half"], value_parser = ["free", "half"])]
    rates: Vec<String>,
    /// Samples of a period
    #[arg(long, default_value_t = 128)]
    period: u32,
    /// Options of the sender, such as `--config FILE`
    #[arg(long, allow_hyphen_values = true)]
    sender: Option<String>,
    #[command(flatten)]
    common: Common,
}

const HEAD: &str = "\
| line, Mbit/s | picture | sound added p50, ms | p99 | most | dropouts a minute | lost sound, % | line's queue p99, ms | most | \
dropped by it | picture p50, ms | p95 | longest gap | shown a second | picture, Mbit/s | line filled, % | late > 2 ms | load | \
against alone |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|";

/// A picture beside the sound.
struct Picture<'a> {
    programs: &'a Path,
    /// True if they are told of the sound; those of before have no options for that, and are only compared.
    is_told: bool,
    source: String,
    rate: String,
    label: String,
}

/// Prints the table.
pub(crate) fn run(options: &BesideOptions) -> Result<()> {
    let folder = options.common.folder()?;
    let duets = options.common.duets()?;
    let told = duets.iter().map(|programs| knows_sound(programs)).collect::<Result<Vec<_>>>()?;
    let named = Named { jacktrips: &options.common.jacktrip, duets: &duets };
    preface(options.common.seed, options.common.seconds);
    let mut json = String::new();
    let (mut failed, mut harmed) = (0, 0);
    for (build, jacktrip) in Program::jacktrips(&named, &QUEUE_4)?.iter().enumerate() {
        println!(
            "\n{}, {} samples, line of {} ms, queue of {} ms\n\n{HEAD}",
            jacktrip.label(),
            options.period,
            DELAY.as_millis(),
            QUEUE.as_millis()
        );
        for &mbit in &options.mbit {
            let mut pictures = vec![None];
            for &fps in &options.fps {
                for rate in &options.rates {
                    let most = if rate == "half" { format!("{}k", 500 * mbit) } else { FREE.to_owned() };
                    pictures.extend(duets.iter().zip(&told).map(|(programs, &is_told)| {
                        Some(Picture {
                            programs,
                            is_told,
                            source: format!("pattern:size={}:fps={fps}", options.size),
                            rate: most.clone(),
                            label: format!("{fps}/s, {rate}, {}", programs.display()),
                        })
                    }));
                }
            }
            let mut alone = None;
            for (case, picture) in pictures.iter().enumerate() {
                let label = picture.as_ref().map_or("none", |picture| &picture.label);
                let files = folder.join(format!("{build}-{mbit}-{case}"));
                match measure(jacktrip, mbit, picture.as_ref(), options, &files) {
                    Ok((heard, cells)) => {
                        let verdict = alone.map_or_else(String::new, |alone| against(&alone, &heard));
                        let is_judged = picture.as_ref().is_some_and(|picture| picture.is_told) && alone.is_some();
                        harmed += u32::from(is_judged && verdict != HELD);
                        alone = alone.or(Some(heard));
                        println!("| {mbit} | {label} | {} | {verdict} |", cells.0.join(" | "));
                        let case =
                            json!({ "mbit": mbit, "picture": label, "seed": options.common.seed, "figures": cells.0 });
                        json.push_str(&format!("{case}\n"));
                    }
                    Err(error) => {
                        println!("| {mbit} | {label} | not measured: {error:#} |{}", " |".repeat(16));
                        failed += 1;
                    }
                }
            }
        }
    }
    std::fs::write(folder.join("beside.jsonl"), json)?;
    println!("\nFiles of each run: {}", folder.display());
    if failed > 0 {
        bail!("{failed} cases were not measured");
    }
    if harmed > 0 {
        bail!("in {harmed} cases the sound is worse beside the picture than alone");
    }
    Ok(())
}

/// Returns true if the programs of a folder have sound, and so can be told to be without.
fn knows_sound(programs: &Path) -> Result<bool> {
    let sender = programs.join("sender");
    let help = Command::new(&sender).arg("--help").output();
    let help = help.with_context(|| format!("there is no sender in {}", programs.display()))?;
    Ok(String::from_utf8_lossy(&help.stdout).contains(NO_SOUND))
}

/// Most by which the 99th percentile may be above that without a picture, ms.
const P99_MORE_MS: f64 = 2.0;
/// Dropouts a minute that this machine makes by itself at times.
const OWN_DROPOUTS: f64 = 19.0;
/// Verdict on sound that is within both.
const HELD: &str = "held";

/// Returns in words how sound beside a picture compares with sound alone.
fn against(alone: &HeardFigures, beside: &HeardFigures) -> String {
    let (later, more) = ((beside.p99 - alone.p99) / 48.0, beside.dropouts - alone.dropouts);
    let is_held = later <= P99_MORE_MS && more <= OWN_DROPOUTS;
    if is_held { HELD.to_owned() } else { format!("p99 {later:+.1} ms, dropouts {more:+.0}") }
}

/// Cells of a row.
struct Cells(Vec<String>);

fn measure(
    jacktrip: &Program,
    mbit: u64,
    picture: Option<&Picture<'_>>,
    options: &BesideOptions,
    folder: &Path,
) -> Result<(HeardFigures, Cells)> {
    std::fs::create_dir_all(folder)?;
    let stage = Stage::start(folder, Card { period: options.period, driver: Driver::Dummy })?;
    let narrow = NetConditions::perfect(DELAY).limited(Bitrate::from_bps(1_000_000 * mbit), QUEUE);
    let ways = [0, 0x5eed].map(|other| Scenario::from(narrow).with_seed(options.common.seed ^ other));
    let video = free_address()?;
    let mut running = jacktrip.start(&stage, &|target| begin(&[target, video], DELAY, ways.clone()))?;
    std::thread::sleep(SETTLE[0]);
    let bed = Testbed::new(picture.map_or(Path::new("."), |picture| picture.programs), &folder.join("duet"))?;
    let daemons = picture.map(|picture| show(&bed, picture, &running, video, options.sender.as_deref())).transpose()?;
    std::thread::sleep(if picture.is_some() { SETTLE[1] } else { SETTLE[0] });
    let length = Duration::from_secs(options.common.seconds);
    let (figures, from) = hear(&stage, jacktrip.signal(), &mut running, length)?;
    let began = unix_time()?.saturating_sub(from.elapsed());
    if let Some(mut daemons) = daemons {
        daemons.iter_mut().try_for_each(Daemon::check)?;
    }
    let shown = if picture.is_some() { logs::pictures(&bed.file("pictures"), began)? } else { Vec::new() };
    let passed = running.relay.take().map(|relay| (relay.began(), relay.stop()));
    let Some((line_began, passed)) = passed else { bail!("there is no line") };
    let cells = cells(&figures, &passed, from.saturating_duration_since(line_began), length, &shown, mbit);
    Ok((figures.heard, cells))
}

/// Starts both of Duet's programs on the second flow of the line.
fn show(
    bed: &Testbed,
    picture: &Picture<'_>,
    running: &Running,
    video: std::net::SocketAddr,
    more: Option<&str>,
) -> Result<[Daemon; 2]> {
    let mut receiver = bed.receiver(video, &bed.key("sender")?)?;
    receiver.args(picture.is_told.then_some(NO_SOUND));
    let mut receiver = bed.start("receiver", &mut receiver)?;
    bed.wait_until_bound(video, &mut receiver)?;
    let dialled = running.relay.as_ref().and_then(|relay| relay.addresses().get(1).copied());
    let Some(dialled) = dialled else { bail!("the line has no second flow") };
    let mut sender = bed.with_key(Command::new(bed.path("sender")), "sender")?;
    sender.args(["--backend", "cpu", "--to", &dialled.to_string(), "--peer", &bed.key("receiver")?]);
    sender.args(["--source", &picture.source, "--rate", &picture.rate, "--stats"]).arg(bed.file("sender.jsonl"));
    sender.args(BESIDE.iter().filter(|_| picture.is_told));
    sender.args(more.into_iter().flat_map(str::split_whitespace));
    let sender = bed.start("sender", &mut sender)?;
    bed.wait_for_pictures(&mut receiver, 1)?;
    Ok([sender, receiver])
}

fn cells(
    figures: &Figures,
    passed: &Passed,
    before: Duration,
    length: Duration,
    shown: &[logs::Picture],
    mbit: u64,
) -> Cells {
    let wire = DELAY.as_secs_f64() * 48_000.0;
    let added = |samples: f64| number((samples - wire) / 48.0, 1);
    let queue = passed.queueing_ms(before, length);
    let length_ms = length.as_secs_f64() * 1e3;
    let shown: Vec<_> = shown.iter().filter(|picture| (0.0..length_ms).contains(&picture.at)).copied().collect();
    let latencies: Vec<f64> = shown.iter().filter_map(|picture| picture.latency).collect();
    let mean = |bytes: &[u64]| {
        let rates = Passed::rates_of(bytes, before, length);
        rates.iter().sum::<f64>() / rates.len() as f64 / 1e6
    };
    let (sound, video) = (mean(&passed.bytes), passed.others.first().map_or(f64::NAN, |bytes| mean(bytes)));
    let heard = &figures.heard;
    let of_picture = |value: f64, places| if shown.is_empty() { "-".to_owned() } else { number(value, places) };
    Cells(vec![
        added(heard.p50),
        added(heard.p99),
        added(heard.most),
        number(heard.dropouts, 1),
        number(100.0 * heard.bad, 2),
        number(percentile(&queue, 0.99), 1),
        number(percentile(&queue, 1.0), 1),
        passed.there.overflowed.to_string(),
        of_picture(percentile(&latencies, 0.5), 1),
        of_picture(percentile(&latencies, 0.95), 1),
        of_picture(logs::longest_gap(&shown, 0.0, length_ms), 0),
        of_picture(shown.len() as f64 / length.as_secs_f64(), 1),
        number(video, 2),
        number(100.0 * (sound + if video.is_nan() { 0.0 } else { video }) / mbit as f64, 0),
        figures.late[1].to_string(),
        number(figures.load, 1),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Runs;

    #[test]
    fn sound_beside_a_picture_may_be_two_milliseconds_later_and_lose_what_the_machine_loses() {
        let heard = |delay: u32, gaps: u64| {
            let (good, bad) = (json!([0, 100_000, "same", delay]), json!([0, 1_000, "other", null]));
            let runs: Vec<_> = (0..gaps).flat_map(|_| [good.clone(), bad.clone()]).chain([good.clone()]).collect();
            Runs::from_json(&runs.into()).figures(0)
        };
        let alone = heard(480, 0);
        assert_eq!(against(&alone, &heard(576, 0)), "held");
        assert_eq!(against(&alone, &heard(624, 0)), "p99 +3.0 ms, dropouts +0");
        assert_eq!(against(&heard(480, 6), &heard(480, 6)), "held");
        assert_eq!(against(&alone, &heard(480, 6)), "p99 +0.0 ms, dropouts +24");
    }
}
