//! JackTrip from peer to peer.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use faults::relay::Relay;

use super::running::Running;
use crate::stage::{Stage, free_address};

/// Its newest strategy, which finds the queue by itself.
pub(super) const AUTO: [&str; 4] = ["--bufstrategy", "3", "-q", "auto"];
/// Its best settings by hand, for little loss and for more.
pub(super) const QUEUE_4_REDUNDANCY_2: [&str; 4] = ["-q", "4", "-r", "2"];
pub(super) const QUEUE_6_REDUNDANCY_3: [&str; 4] = ["-q", "6", "-r", "3"];
/// Its usual queue.
pub(crate) const QUEUE_4: [&str; 2] = ["-q", "4"];

/// Returns the version of the program at a path, in its own words.
pub(super) fn version(path: &Path) -> Result<String> {
    let missing = || format!("{} does not start: apt-get install jacktrip, or tell where it is", path.display());
    let told = Command::new(path).arg("--version").output().with_context(missing)?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let version = told.split("VERSION: ").nth(1).and_then(|after| after.split_whitespace().next());
    Ok(version.unwrap_or("of an unknown version").to_owned())
}

/// Starts one end that takes sound on `near`, and one that gives it on `far`.
pub(super) fn start(
    path: &Path,
    options: &[&str],
    near: &Stage,
    far: &Stage,
    line: &dyn Fn(SocketAddr) -> Result<Relay>,
) -> Result<Running> {
    let (listens, dials) = (free_address()?, free_address()?);
    let common = |command: &mut Command, name: &str| {
        command.args(["-D", "-J", name, "--udprt"]).args(options);
    };
    let mut server = far.program(path);
    server.args(["-s", "-B", &listens.port().to_string()]);
    common(&mut server, "jts");
    let mut server = far.run("jacktrip-server", &mut server)?;
    far.wait_for_port(&mut server, "jts:")?;
    let relay = line(listens)?;
    let mut client = near.program(path);
    client.args(["-c", "127.0.0.1", "-P", &relay.address().port().to_string(), "-B", &dials.port().to_string()]);
    common(&mut client, "jtc");
    let mut client = near.run("jacktrip-client", &mut client)?;
    near.wait_for_port(&mut client, "jtc:")?;
    Ok(Running {
        ends: vec![client, server],
        others: vec![],
        relay: Some(relay),
        to: "^jtc:send_".to_owned(),
        from: "^jts:receive_".to_owned(),
    })
}
