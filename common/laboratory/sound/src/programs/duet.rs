//! Duet's call with its own sound: the one place that knows how it is started and what its ports are called.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use faults::daemons::Daemon;
use faults::relay::Relay;
use faults::testbed::Testbed;

use super::running::Running;
use crate::stage::{Stage, free_address};

/// Picture of a call, and more settings of its sound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<'a> {
    /// The source of both sides, and the most bits a second of it.
    pub(crate) source: &'a str,
    pub(crate) rate: &'a str,
    /// Sink of the picture on the side that listens.
    pub(crate) sink: &'a str,
    /// More settings of sound.
    pub(crate) sound: &'a str,
}

/// The smallest picture, so that it is sound that is measured, with a rate that leaves room for sound: one of 64x48 took 0.12 Mbit/s.
pub(super) const SMALL: Beside<'static> =
    Beside { source: "pattern:size=16x16:fps=2", rate: "10M", sink: "headless", sound: "" };
/// Names of the ends, in the order in which JACK numbers clients of one name.
const ENDS: [&str; 2] = ["duet-listens", "duet-dials"];

/// Returns the reason for which the programs of a folder cannot be measured, if there is one.
pub(super) fn lacks(folder: &Path) -> Option<String> {
    let file = std::env::temp_dir().join(format!("duet-sound-{}.toml", std::process::id()));
    let checked = std::fs::write(&file, settings(64))
        .and_then(|()| Command::new(folder.join("sender")).args(["check", "--config"]).arg(&file).output());
    // What is left is in the folder of temporary files.
    let _ = std::fs::remove_file(&file);
    match checked {
        Ok(told) if String::from_utf8_lossy(&told.stderr).contains("no key `sound`") => {
            Some(format!("the programs in {} have no sound", folder.display()))
        }
        Ok(_) => None,
        Err(error) => Some(format!("there is no sender in {}: {error}", folder.display())),
    }
}

fn settings(period: u32) -> String {
    format!("[sound]\ncard = \"jack\"\nperiod = {period}\n")
}

/// Starts both sides of a call: one dials on `near` and takes sound there, one listens on `far` and gives it.
pub(crate) fn start(
    folder: &Path,
    near: &Stage,
    far: &Stage,
    line: &dyn Fn(SocketAddr) -> Result<Relay>,
    beside: Beside<'_>,
) -> Result<Running> {
    let bed = Testbed::new(folder, &near.folder().join("duet"))?;
    let listens = free_address()?;
    let side = |end: usize, stage: &Stage, flag: &str, address: SocketAddr| -> Result<Daemon> {
        let config = bed.file(&format!("{}.toml", ENDS[end]));
        std::fs::write(&config, settings(stage.period()) + beside.sound)?;
        let mut command = bed.with_key(stage.program(&bed.path("sender")), ENDS[end])?;
        command.arg("call").arg("--config").arg(config).args(["--backend", "cpu", flag, &address.to_string()]);
        let sink = if end == 0 { beside.sink } else { SMALL.sink };
        command.args(["--peer", &bed.key(ENDS[1 - end])?, "--sink", sink]);
        command.args(["--source", beside.source, "--rate", beside.rate]);
        command.arg("--stats").arg(bed.file(&format!("{}.jsonl", ENDS[end])));
        let mut daemon = stage.run(ENDS[end], &mut command)?;
        stage.wait_for_port(&mut daemon, port(end, near, far))?;
        Ok(daemon)
    };
    let hears = side(0, far, "--listen", listens)?;
    let relay = line(listens)?;
    let plays = side(1, near, "--to", relay.address())?;
    Ok(Running {
        to: format!("^{}", port(1, near, far)),
        from: format!("^{}", port(0, near, far)),
        ends: vec![plays, hears],
        others: vec![],
        relay: Some(relay),
    })
}

/// Returns how the names of an end's ports begin: on one server the second has a number, JACK's 01 and PipeWire's what it likes.
fn port(end: usize, near: &Stage, far: &Stage) -> &'static str {
    if end == 1 && std::ptr::eq(near, far) { "Duet-" } else { "Duet:" }
}
