//! Attacks on a running daemon, and their cost.
//!
//! An attack has a file of its own, named after what it attacks, and is listed in [`ALL`]. Its function starts the
//! daemons it needs on a [`Testbed`], attacks them, and returns an [`Outcome`]: figures for the table, and a sentence for
//! each bar that was not held. The same function runs against release builds of any age (`make attacks`, with
//! `PROGRAMS=` for another build) and, in `make test`, against the debug build.

pub(crate) mod beside;
mod busy;
mod byes;
mod caller;
mod devices;
mod floods;
mod forged;
mod forged_answers;
mod full_disk;
mod giants;
mod introduction;
mod listed;
mod log_lines;
mod peer_in_call;
mod pings;
mod replayed_knock;
mod restart;
mod rewrites;
mod silent_readers;
mod stalled_source;
mod told_addresses;
mod weak_key;

use std::fmt;
use std::path::Path;

use anyhow::Result;

use self::Bar::{Alive, FewLines, Growth};
pub use self::listed::{Refusals, refusals};
pub use crate::bars::{Bars, Outcome};
use crate::bars::{GROWTH_MAX_MB, Report, check_names};
pub use crate::testbed::Testbed;

/// Most lines that an attacker may make a program write to its log.
const LINES_MAX: f64 = 20.0;

/// One attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description for the table.
    pub title: &'static str,
    /// Function that begins the daemons, attacks them and measures; it adds bars of its own.
    run: fn(&Testbed) -> Result<Outcome>,
    bars: &'static [Bar],
}

/// A bar that several attacks have.
#[derive(Clone, Copy, Debug)]
enum Bar {
    /// The victim grows by so many megabytes at most.
    Growth(f64),
    /// It writes few lines to its log.
    FewLines,
    /// It does not end.
    Alive,
}

const fn attack(
    name: &'static str,
    title: &'static str,
    run: fn(&Testbed) -> Result<Outcome>,
    bars: &'static [Bar],
) -> Attack {
    Attack { name, title, run, bars }
}

impl Attack {
    /// Attacks the daemons in `programs` and holds them to the bars; files go to `folder`.
    pub fn hold(&self, programs: &Path, folder: &Path) -> Outcome {
        let outcome = Testbed::new(programs, folder).and_then(|testbed| (self.run)(&testbed));
        let mut outcome = match outcome {
            Ok(outcome) if outcome.lacks.is_some() => return outcome,
            Ok(outcome) => outcome,
            Err(error) => return Outcome { bars: Bars(vec![format!("not run: {error:#}")]), ..Outcome::default() },
        };
        for bar in self.bars {
            match *bar {
                Growth(most) => outcome.at_most("growth, MB", outcome.growth_mb, most),
                FewLines => outcome.at_most("lines", outcome.log_lines.map(|lines| lines as f64), LINES_MAX),
                Alive => outcome.expect(outcome.exit_code.is_none(), "the program has ended"),
            }
        }
        outcome
    }
}

/// All attacks, in the order of the table.
pub const ALL: &[Attack] = &[
    attack(
        "weak-key",
        "a stranger signs for the key of 32 zero bytes, which the configuration lists",
        weak_key::run,
        &[],
    ),
    attack(
        "pings",
        "a receiver that asks for the time without end and never reads",
        pings::run,
        &[Growth(GROWTH_MAX_MB), Alive],
    ),
    attack(
        "forged-version",
        "handshakes are answered with a forged version negotiation, before a call and in it",
        forged::version,
        &[],
    ),
    attack(
        "forged-alert",
        "handshakes are answered with a forged TLS alert, before a call and in it",
        forged::alert,
        &[],
    ),
    attack(
        "forged-key",
        "another machine answers handshakes with its own key, before a call and in it",
        forged::key,
        &[],
    ),
    attack("restart", "a listener is killed in a call and runs again at once", restart::run, &[]),
    attack("busy", "a listener is dialled that is in a call with another machine", busy::run, &[]),
    attack("flood-idle", "handshakes are begun, and the peer calls", floods::begun, &[Growth(GROWTH_MAX_MB), FewLines]),
    attack(
        "strangers-idle",
        "strangers call without a pause from 16 addresses, and the peer calls",
        floods::strangers,
        &[Growth(GROWTH_MAX_MB), FewLines],
    ),
    attack(
        "flood-call",
        "handshakes are begun, then 1 Gbit/s of junk comes in a call whose control stream is asked for the time",
        floods::in_call,
        &[Growth(GROWTH_MAX_MB), FewLines],
    ),
    attack("log-lines", "1000 strangers knock; a peer's goodbye holds a line", log_lines::run, &[FewLines]),
    attack("silent-readers", "logs, statistics and a recording that nobody reads", silent_readers::run, &[]),
    attack("full-disk", "a recording on a full disk", full_disk::run, &[]),
    attack("stalled-source", "a source that stands still under a watchdog", stalled_source::run, &[]),
    attack(
        "giants",
        "pictures of one row whose squares are giant",
        giants::run,
        &[Growth(giants::GROWTH_MAX_MB), Alive],
    ),
    attack(
        "states",
        "streams with the largest pictures kept for prediction",
        giants::states,
        &[Growth(giants::STATES_GROWTH_MAX_MB), Alive],
    ),
    attack("too-much", "pictures that an OpenCL device has no room for", devices::too_small, &[]),
    attack("byes", "goodbyes of every kind to daemons for calls", byes::run, &[]),
    attack(
        "hoard",
        "parts of all blocks of three frames, a frame a minute",
        giants::hoard,
        &[Growth(giants::GROWTH_MAX_MB), Alive],
    ),
    attack(
        "introduction",
        "strangers at a machine that waits for a friend with its ticket",
        introduction::run,
        &[Growth(GROWTH_MAX_MB), FewLines],
    ),
    attack(
        "who-is-listed",
        "a stranger shows somebody's key and cannot sign for it",
        listed::run,
        &[Growth(GROWTH_MAX_MB), FewLines],
    ),
    attack(
        "rewrites",
        "a listed peer connects, then moves, hundreds of times a second; it is taken out of the file meanwhile",
        rewrites::run,
        &[Growth(GROWTH_MAX_MB), FewLines],
    ),
    attack(
        "told-addresses",
        "a peer in a call tells ever new addresses of others",
        told_addresses::run,
        &[Growth(GROWTH_MAX_MB), FewLines, Alive],
    ),
    attack(
        "forged-answers",
        "a peer in a call answers in the name of an address that hears nothing",
        forged_answers::run,
        &[Growth(GROWTH_MAX_MB), Alive],
    ),
    attack(
        "replayed-knock",
        "a friend's knock is sent again with a third party's source",
        replayed_knock::run,
        &[Growth(GROWTH_MAX_MB), FewLines, Alive],
    ),
    attack("no-driver", "the OpenCL driver is removed in a call", devices::removed, &[Alive]),
];

/// Runs the attacks of these names (all if there is none) against the daemons in `programs`; prints a table and fails
/// if a bar was not held.
pub fn run(names: &[String], programs: &Path, folder: &Path) -> Result<()> {
    check_names("attack", names, ALL.iter().map(|attack| attack.name))?;
    println!("{HEAD}");
    let mut report = Report::default();
    for attack in ALL.iter().filter(|attack| names.is_empty() || names.iter().any(|name| name == attack.name)) {
        let outcome = attack.hold(programs, &folder.join(attack.name));
        report.row(AttackRow(attack, &outcome), attack.name, outcome.bars.0.is_empty());
    }
    report.end(folder, "not held:")
}

const HEAD: &str = "| attack | what is done | growth, MB | processor, s | log lines | exit | gap, ms | held |\n\
                    |---|---|---|---|---|---|---|---|";

struct AttackRow<'a>(&'a Attack, &'a Outcome);

impl fmt::Display for AttackRow<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(attack, outcome) = self;
        let figure = |value: Option<f64>| value.map(|value| format!("{value:.1}")).unwrap_or_default();
        let whole = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
        let held = match outcome.lacks {
            Some(lacks) => format!("not tried: {lacks}"),
            None => outcome.bars.verdict("yes"),
        };
        write!(
            out,
            "| {} | {}{}{} | {} | {} | {} | {} | {} | {held} |",
            attack.name,
            attack.title,
            if outcome.note.is_empty() { "" } else { ": " },
            outcome.note,
            figure(outcome.growth_mb),
            figure(outcome.cpu_s),
            whole(outcome.log_lines.map(|lines| lines as i64)),
            whole(outcome.exit_code.map(i64::from)),
            figure(outcome.gap_ms),
        )
    }
}
