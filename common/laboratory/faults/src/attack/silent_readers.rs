//! Pipes without a reader: a daemon's log, its statistics and a recording go into full ones.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{Outcome, Testbed};
use crate::daemons::Daemon;
use crate::testbed::{pipe, unix_time};

/// Time for which the readers stand still.
const SPAN: Duration = Duration::from_secs(4);
/// Longest that an end may take.
const END_MAX: Duration = Duration::from_secs(20);
/// Pictures of [`SPAN`], 120 were sent, that must be shown on any machine.
const SHOWN_MIN: usize = 10;

pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let pipes: Vec<File> = ["receiver-log", "receiver-stats", "recording", "sender-log", "sender-stats"]
        .iter()
        .map(|name| open_pipe(&testbed.file(name)))
        .collect::<Result<_>>()?;

    let mut command = into_pipes(&testbed.program("receiver")?, testbed, "receiver");
    command.args(["--listen", &address.to_string(), "--peer", &testbed.key("sender")?, "--config"]);
    command.arg(testbed.pictures_config("receiver", "pictures")?);
    command.args(["--sink", "headless", "--sink", &format!("y4m:{}", testbed.file("recording").display())]);
    let mut receiver = testbed.start("receiver", command.env("DUET_LOG", "trace"))?;
    testbed.wait_until_bound(address, &mut receiver)?;
    let mut command = into_pipes(&testbed.program("sender")?, testbed, "sender");
    command.args(["--to", &address.to_string(), "--peer", &testbed.key("receiver")?, "--rate", "4M"]);
    command.args(["--source", "pattern:size=320x180:fps=30"]);
    let mut sender = testbed.start("sender", command.env("DUET_LOG", "trace"))?;

    testbed.wait_for_pictures(&mut receiver, 1)?;
    receiver.begin();
    let (from, before) = (unix_time()?, testbed.shown());
    receiver.watch(SPAN);
    let (gap, shown) = (testbed.gap_ms(from)?, testbed.shown() - before);

    // Whoever reads at last finds the last line.
    let stats = ["receiver-stats", "sender-stats"].map(|name| {
        let file = File::open(testbed.file(name));
        std::thread::spawn(move || -> Result<String> {
            let mut text = String::new();
            file?.read_to_string(&mut text)?;
            Ok(text)
        })
    });
    // A pipe ends for its reader when nobody holds it open for writing.
    drop(pipes);
    let mut outcome = receiver.outcome()?;
    outcome.gap_ms = Some(gap);
    outcome.expect(shown >= SHOWN_MIN, format!("{shown} pictures were shown in {} s", SPAN.as_secs()));
    let ends = [("sender", &mut sender), ("receiver", &mut receiver)].map(|(name, victim)| (name, end(victim)));
    let mut all_ended = true;
    for (name, ended) in ends {
        match ended? {
            Some((code, took)) => {
                outcome.exit_code = Some(code);
                outcome.note.push_str(&format!("{name} ends in {:.1} s; ", took.as_secs_f64()));
                // The recording is not whole, and the code says so.
                let wanted = if name == "receiver" { 3 } else { 0 };
                outcome.expect(code == wanted, format!("the {name} ended with {code}"));
            }
            None => {
                all_ended = false;
                outcome.expect(false, format!("the {name} does not end on SIGTERM"));
            }
        }
    }
    outcome.note.push_str(&format!("{shown} of 120 pictures"));
    if all_ended {
        for (name, reader) in ["receiver", "sender"].iter().zip(stats) {
            let Ok(text) = reader.join() else { bail!("the reader of the {name}'s statistics broke down") };
            let text = text?;
            let last = text.lines().last().unwrap_or_default();
            outcome.expect(last.contains("\"final\":true"), format!("the {name}'s last line is `{last}`"));
        }
    }
    Ok(outcome)
}

/// Returns `program` with its log and its statistics in the pipes of `name`.
fn into_pipes(program: &Command, testbed: &Testbed, name: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" --stats - \"$@\" >\"$STATS\" 2>\"$LOG\""]);
    command.env("STATS", testbed.file(&format!("{name}-stats"))).env("LOG", testbed.file(&format!("{name}-log")));
    command.arg(program.get_program()).args(program.get_args());
    command
}

/// Creates a pipe with a name that is open, and never read, while the file lives.
fn open_pipe(path: &Path) -> Result<File> {
    pipe(path)?;
    Ok(OpenOptions::new().read(true).write(true).open(path)?)
}

/// Asks the daemon to end: its code and how long it took; none if it does not.
fn end(victim: &mut Daemon) -> Result<Option<(i32, Duration)>> {
    victim.signal("TERM")?;
    let began = Instant::now();
    while began.elapsed() < END_MAX {
        if let Some(code) = victim.ended()? {
            return Ok(Some((code, began.elapsed())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(None)
}
