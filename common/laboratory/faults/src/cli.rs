//! Both daemons on a bad network: scenarios over a relay, measured where the pictures are shown.
//!
//! `faults [SCENARIO].. [--seconds N] [--seed N] [--control]` prints a table and fails if a picture did not hold. Both
//! daemons must have been built next to it, or lie in `--programs`. T5 and `--namespaces` need root, T10 needs the
//! package libfaketime. `faults attacks [NAME]..` runs attacks instead, `faults siege` all kinds of hostile peers in
//! turn beside a running call, `faults rival [LINE]..` Duet and Chromium's WebRTC over the same lines.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;

use net::failure::Failure;
use picture::frame::{FrameRate, FrameSize};
use sending::source::SourceSpec;
use sending::source::pattern::Pattern;

use crate::bars::{Report, check_names};
use crate::daemons;
use crate::machine::stalls;
use crate::quality::Original;
use crate::scenario::case::{CLEAN, LOOPBACK};
use crate::scenario::setup::Stream;
use crate::scenario::sound::Sound;
use crate::scenario::table::Row;
use crate::scenario::{band, cases, rehearsal, run as scenario, siege, soak, table};
use crate::{attack, bulk, quality, rival};

/// The daemons' own congestion controller.
const DUET: &str = "duet";
/// Of the other one, where it should not hold.
const PROVES_NOTHING: &str = "held, too: the scenario proves nothing";

/// Parts of a scenario are told apart by these.
const PARTS: [char; 4] = ['a', 'b', 'c', 'd'];

/// Runs both daemons through scenarios of a bad network and prints what the viewer would have seen.
#[derive(Debug, Parser)]
struct Arguments {
    /// Scenarios, such as T1 or T11b; T11 means T11a and T11b; `soak` is T20. All but that if none is named. `attacks`
    /// and names of attacks: those. `band` and names of scenarios, `narrow` or `killed`: a band beside a duet on those lines, or one of which
    /// one member has a narrow line or is killed again and again beside one that is left alone (root). `siege` and names of hostile peers: those beside a call. `rehearsal`: a call of hours. `rival` and names of
    /// lines: Duet and WebRTC over these
    scenario: Vec<String>,
    /// Length of each scenario
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(10..))]
    seconds: u64,
    /// Decides the fate of every datagram
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Machines of `band`
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(3..=4))]
    members: u8,
    /// The sender's source
    #[arg(long, default_value = "pattern:size=1280x720:fps=60")]
    source: String,
    /// Video bit rate
    #[arg(long, default_value = "20M")]
    rate: String,
    /// Back end of both daemons
    #[arg(long, default_value = "cpu")]
    backend: String,
    /// Runs each scenario with QUIC's usual congestion controller, too, which must fail T1
    #[arg(long)]
    control: bool,
    /// A clip to send in place of the source: y4m:PATH (4:2:0) or mjpeg:PATH
    #[arg(long, conflicts_with = "source")]
    clip: Option<String>,
    /// Pictures a second of the clip (always 30 for `rival`) or of the rehearsal
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=240))]
    fps: u32,
    /// The sender's prediction: on, off or auto. With several, such as off,on, each scenario runs with each, and
    /// `rival` with the first
    #[arg(long, value_delimiter = ',', value_parser = ["on", "off", "auto"])]
    prediction: Vec<String>,
    /// Sound: on (the call's own, from and to a JACK server without a card), off, or jacktrip (a model of it on the same line). With
    /// several, such as off,on, each scenario runs with each
    #[arg(long, value_delimiter = ',', value_enum)]
    sound: Vec<Sound>,
    /// Compares pictures shown with the source's, which takes some of the processor
    #[arg(long)]
    quality: bool,
    /// Milliseconds between two faults of a scenario that repeats one, or two events of the rehearsal
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..))]
    cycle: Option<u64>,
    /// A folder of recordings of mobile lines in mahimahi's format (*.up), of which the first two are T24 then
    #[arg(long)]
    traces: Option<PathBuf>,
    /// The browser of `rival`, if it is not in PATH
    #[arg(long)]
    chromium: Option<PathBuf>,
    /// The codec of `rival`'s browser, such as VP9, in place of its own choice
    #[arg(long)]
    codec: Option<String>,
    /// Runs the daemons in network namespaces of their own (root)
    #[arg(long)]
    namespaces: bool,
    /// Folder of both daemons, if not this program's
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Folder of the daemons' files
    #[arg(long)]
    out: Option<PathBuf>,
    /// Takes a bulk TCP flow at this address and counts its bytes in the file --out; for scenario T5
    #[arg(long, hide = true, requires = "out")]
    bulk_sink: Option<SocketAddr>,
    /// Sends a bulk TCP flow
    #[arg(long, hide = true)]
    bulk_source: Option<SocketAddr>,
    /// Notes in the file --out when this processor was not there
    #[arg(long, hide = true, requires = "out")]
    watch_stalls: bool,
}

/// Runs what the command line asks for.
pub fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("faults: {error:#}");
            error.downcast_ref::<Failure>().map_or(ExitCode::FAILURE, |failure| ExitCode::from(failure.code()))
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if let (Some(listen), Some(count)) = (arguments.bulk_sink, &arguments.out) {
        return bulk::sink(listen, count);
    }
    if let Some(to) = arguments.bulk_source {
        return bulk::source(to);
    }
    if let (true, Some(file)) = (arguments.watch_stalls, &arguments.out) {
        return stalls::watch(file);
    }
    let programs = daemons::programs(arguments.programs.as_deref())?;
    let (length, seed, folder) = (Duration::from_secs(arguments.seconds), arguments.seed, folder(arguments));
    let recordings = recordings(arguments.traces.as_deref())?;
    let (first, names) = arguments.scenario.split_first().map_or(("", &[][..]), |(first, names)| (first, names));
    match first {
        "attacks" => attack::run(names, &programs, &folder),
        "siege" => siege::run(names, &programs, &folder, length, seed),
        "rehearsal" => rehearsal::run(&rehearsal::RehearsalOptions {
            programs: &programs,
            folder: &folder,
            length,
            cycle: Duration::from_millis(arguments.cycle.unwrap_or(60_000)),
            fps: arguments.fps,
            seed,
        }),
        "rival" => rival::run(&rival::Wanted {
            names,
            length,
            seed,
            clip: arguments.clip.as_deref(),
            backend: &arguments.backend,
            prediction: arguments.prediction.first().map(String::as_str),
            programs,
            recordings: &recordings,
            chromium: arguments.chromium.as_deref(),
            codec: arguments.codec.as_deref(),
            out: folder,
        }),
        "band" => {
            let (source, _, original) = source(arguments, &folder)?;
            band::run(&band::BandOptions {
                names,
                cases: &cases::all(length, seed, None, &recordings),
                members: usize::from(arguments.members),
                programs: &programs,
                folder: &folder,
                length,
                seed,
                source: &source,
                rate: &arguments.rate,
                sound: match arguments.sound[..] {
                    [] | [Sound::Off] => false,
                    [Sound::On] => true,
                    _ => bail!("a band plays with one sound, on or off"),
                },
                original,
            })
        }
        _ => scenarios(arguments, &programs, &folder, &recordings),
    }
}

/// Runs the scenarios asked for, one after the other.
fn scenarios(arguments: &Arguments, programs: &Path, out: &Path, recordings: &[String]) -> Result<()> {
    let length = Duration::from_secs(arguments.seconds);
    let cases = cases::all(length, arguments.seed, arguments.cycle.map(Duration::from_millis), recordings);
    let names = cases.iter().flat_map(|case| [case.name, case.name.trim_end_matches(PARTS)]);
    check_names("scenario", &arguments.scenario, names)?;
    let is_asked = |name: &str| {
        let parts = |asked: &String| name == asked || name.trim_end_matches(PARTS) == asked;
        (arguments.scenario.is_empty() && name != soak::NAME) || arguments.scenario.iter().any(parts)
    };
    let (source, frame_rate, original) = source(arguments, out)?;
    let predictions = each_or_none(&arguments.prediction);
    let told: Vec<_> = predictions
        .iter()
        .flat_map(|prediction| each_or_none(&arguments.sound).into_iter().map(|sound| (prediction.clone(), sound)))
        .collect();
    let what = arguments.clip.as_ref().unwrap_or(&source);
    println!("{what}, {}, {} s each, seed {}\n", arguments.rate, arguments.seconds, arguments.seed);
    println!("{}", table::HEAD);
    let (mut clean, mut report, mut words) = (vec![None; told.len()], Report::default(), None);
    let needs_clean = cases.iter().any(|case| case.needs_clean && is_asked(case.name));
    for case in cases.iter().filter(|case| is_asked(case.name) || (needs_clean && case.name == CLEAN)) {
        let controllers: &[&str] = if arguments.control { &[DUET, "cubic"] } else { &[DUET] };
        let runs =
            controllers.iter().flat_map(|controller| told.iter().enumerate().map(move |told| (controller, told)));
        let mut silent = None;
        for (controller, (number, (prediction, sound))) in runs {
            let stream = Stream {
                backend: arguments.backend.clone(),
                controller: (*controller).to_owned(),
                prediction: prediction.clone(),
                sound: *sound,
                original: original.clone(),
                in_namespaces: arguments.namespaces,
                ..Stream::of(&source, &arguments.rate, frame_rate, programs)
            };
            let mut told = prediction.as_deref().map(|told| format!("-{told}")).unwrap_or_default();
            told.extend(sound.map(|sound| format!("-sound-{sound:?}").to_lowercase()));
            let folder = out.join(format!("{}-{controller}{told}", case.name));
            let (mut measured, passed) = match scenario::run(case, &stream, &folder, case.length(length)) {
                Ok(outcome) => outcome,
                Err(error) => {
                    let (name, title, seed) = (case.name, case.title, arguments.seed);
                    report.row(
                        format_args!("| {name} | {title} | {controller} | {seed} | not run: {error:#} |"),
                        name,
                        false,
                    );
                    continue;
                }
            };
            measured.clean = clean[number];
            match (sound, &silent) {
                (Some(Sound::Off), _) => silent = Some(measured.clone()),
                (Some(_), Some(silent)) => measured.notes.push(measured.against(silent)),
                _ => {}
            }
            if case.name == CLEAN && *controller == DUET {
                clean[number] = Some(measured.latency());
            }
            if case.name == LOOPBACK {
                words = table::in_words(measured.latency());
            }
            let mut bars = (case.check)(&measured);
            let has_fired = (case.fired)(&passed);
            if !has_fired {
                bars.0.push(format!("the fault has not happened: there {:?}, back {:?}", passed.there, passed.back));
            } else if *controller != DUET && case.is_proof && bars.0.is_empty() {
                bars.0.push(PROVES_NOTHING.to_owned());
            }
            let fails = is_failure(*controller == DUET, case.is_proof, has_fired, &bars.0);
            let row = Row { case, controller, seed: arguments.seed, measured: &measured, bars: &bars };
            report.row(row, case.name, !fails);
        }
    }
    if let Some(words) = words {
        println!("\n{words}");
    }
    report.end(out, "the picture did not hold in")
}

/// Returns each value, or none once.
fn each_or_none<T: Clone>(all: &[T]) -> Vec<Option<T>> {
    if all.is_empty() { vec![None] } else { all.iter().cloned().map(Some).collect() }
}

/// Returns true if the run fails the scenario: the daemons' own controller must hold every bar, and where the other one
/// is the proof that the network was bad, that one must not.
fn is_failure(is_own: bool, is_proof: bool, has_fired: bool, faults: &[String]) -> bool {
    if is_own { !faults.is_empty() } else { is_proof && (!has_fired || faults == [PROVES_NOTHING]) }
}

/// Returns the recordings in a folder, by name.
fn recordings(folder: Option<&Path>) -> Result<Vec<String>> {
    let Some(folder) = folder else { return Ok(vec![]) };
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "up"));
    paths.sort();
    paths.iter().map(|path| Ok(std::fs::read_to_string(path)?)).collect()
}

/// Returns the folder of the daemons' files.
fn folder(arguments: &Arguments) -> PathBuf {
    let default = || std::env::temp_dir().join(format!("duet-faults-{}", std::process::id()));
    arguments.out.clone().unwrap_or_else(default)
}

/// Returns the sender's source, its pictures a second, and the pictures with which those shown are compared.
fn source(arguments: &Arguments, out: &Path) -> Result<(String, FrameRate, Option<Arc<Original>>)> {
    if let Some(clip) = &arguments.clip {
        std::fs::create_dir_all(out)?;
        let frame_rate = FrameRate::new(arguments.fps, 1).context("no frame rate")?;
        let (source, original) = quality::prepare_clip(clip, frame_rate, &out.join("clip.y4m"))?;
        return Ok((source, frame_rate, arguments.quality.then(|| Arc::new(original))));
    }
    let mut original = None;
    let usual = FrameRate::new(60, 1).context("no frame rate")?;
    if arguments.quality {
        let SourceSpec::Pattern { size, rate } = SourceSpec::parse(&arguments.source)? else {
            bail!("--quality needs the test pattern or --clip");
        };
        let size = size.unwrap_or(FrameSize::USUAL);
        let Some(rate) = rate.or(FrameRate::new(60, 1)) else { bail!("--quality needs a frame rate") };
        original = Some(Arc::new(Original::Pattern(Box::new(Pattern::new(size, rate)))));
    }
    let frame_rate = match SourceSpec::parse(&arguments.source)? {
        SourceSpec::Pattern { rate, .. } => rate.unwrap_or(usual),
        _ => usual,
    };
    Ok((arguments.source.clone(), frame_rate, original))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_holds_fails_the_scenario_that_needs_its_failure() {
        let gap = ["gap 60 > 50".to_owned()];
        let nothing = [PROVES_NOTHING.to_owned()];
        assert!(is_failure(true, true, true, &gap));
        assert!(!is_failure(true, true, true, &[]));
        assert!(!is_failure(false, true, true, &gap));
        assert!(is_failure(false, true, true, &nothing));
        assert!(is_failure(false, true, false, &gap));
        assert!(!is_failure(false, false, true, &gap));
    }
}
