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
pub(crate) mod initial;
mod introduction;
mod listed;
mod log_lines;
mod outcome;
mod peer_in_call;
mod pings;
mod replayed_knock;
mod restart;
mod rewrites;
mod silent_readers;
mod stalled_source;
mod testbed;
mod told_addresses;
mod weak_key;
mod wire;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

pub use self::listed::{Refusals, refusals};
pub(crate) use self::outcome::GROWTH_MAX_MB;
pub use self::outcome::Outcome;
pub use self::testbed::{Testbed, Victim, unix_time};

/// One attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description for the table.
    pub title: &'static str,
    /// Function that attacks.
    pub run: fn(&Testbed) -> Result<Outcome>,
}

/// All attacks, in the order of the table.
pub const ALL: &[Attack] = &[
    Attack {
        name: "weak-key",
        title: "a stranger signs for the key of 32 zero bytes, which the configuration lists",
        run: weak_key::run,
    },
    Attack { name: "pings", title: "a receiver that asks for the time without end and never reads", run: pings::run },
    Attack {
        name: "forged-version",
        title: "handshakes are answered with a forged version negotiation, before a call and in it",
        run: forged::version,
    },
    Attack {
        name: "forged-alert",
        title: "handshakes are answered with a forged TLS alert, before a call and in it",
        run: forged::alert,
    },
    Attack {
        name: "forged-key",
        title: "another machine answers handshakes with its own key, before a call and in it",
        run: forged::key,
    },
    Attack { name: "restart", title: "a listener is killed in a call and runs again at once", run: restart::run },
    Attack { name: "busy", title: "a listener is dialled that is in a call with another machine", run: busy::run },
    Attack { name: "flood-idle", title: "handshakes are begun, and the peer calls", run: floods::begun },
    Attack {
        name: "strangers-idle",
        title: "strangers call without a pause from 16 addresses, and the peer calls",
        run: floods::strangers,
    },
    Attack {
        name: "flood-call",
        title: "handshakes are begun, then 1 Gbit/s of junk comes in a call whose control stream is asked for the time",
        run: floods::in_call,
    },
    Attack { name: "log-lines", title: "1000 strangers knock; a peer's goodbye holds a line", run: log_lines::run },
    Attack {
        name: "silent-readers",
        title: "logs, statistics and a recording that nobody reads",
        run: silent_readers::run,
    },
    Attack { name: "full-disk", title: "a recording on a full disk", run: full_disk::run },
    Attack { name: "stalled-source", title: "a source that stands still under a watchdog", run: stalled_source::run },
    Attack { name: "giants", title: "pictures of one row whose squares are giant", run: giants::run },
    Attack { name: "states", title: "streams with the largest pictures kept for prediction", run: giants::states },
    Attack { name: "too-much", title: "pictures that an OpenCL device has no room for", run: devices::too_small },
    Attack { name: "byes", title: "goodbyes of every kind to daemons for calls", run: byes::run },
    Attack { name: "hoard", title: "parts of all blocks of three frames, a frame a minute", run: giants::hoard },
    Attack {
        name: "introduction",
        title: "strangers at a machine that waits for a friend with its ticket",
        run: introduction::run,
    },
    Attack { name: "who-is-listed", title: "a stranger shows somebody's key and cannot sign for it", run: listed::run },
    Attack {
        name: "rewrites",
        title: "a listed peer connects, then moves, hundreds of times a second; it is taken out of the file meanwhile",
        run: rewrites::run,
    },
    Attack {
        name: "told-addresses",
        title: "a peer in a call tells ever new addresses of others",
        run: told_addresses::run,
    },
    Attack {
        name: "forged-answers",
        title: "a peer in a call answers in the name of an address that hears nothing",
        run: forged_answers::run,
    },
    Attack {
        name: "replayed-knock",
        title: "a friend's knock is sent again with a third party's source",
        run: replayed_knock::run,
    },
    Attack { name: "no-driver", title: "the OpenCL driver is removed in a call", run: devices::removed },
];

/// Runs the attacks of these names (all if there is none) against the daemons in `programs`; prints a table and fails
/// if a bar was not held.
pub fn run(names: &[String], programs: &Path, folder: &Path) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !ALL.iter().any(|attack| attack.name == name.as_str())) {
        let known: Vec<_> = ALL.iter().map(|attack| attack.name).collect();
        bail!("there is no attack `{unknown}`: there are {}", known.join(", "));
    }
    println!("{HEAD}");
    let mut failed = Vec::new();
    for attack in ALL.iter().filter(|attack| names.is_empty() || names.iter().any(|name| name == attack.name)) {
        let outcome = Testbed::new(programs, &folder.join(attack.name)).and_then(|testbed| (attack.run)(&testbed));
        let outcome = outcome
            .unwrap_or_else(|error| Outcome { faults: vec![format!("not run: {error:#}")], ..Outcome::default() });
        if !outcome.faults.is_empty() {
            failed.push(attack.name);
        }
        println!("{}", AttackRow(attack, &outcome));
    }
    println!("\nFiles of each attack: {}", folder.display());
    if !failed.is_empty() {
        bail!("not held: {}", failed.join(", "));
    }
    Ok(())
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
            None if outcome.faults.is_empty() => "yes".to_owned(),
            None => outcome.faults.join("; "),
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
