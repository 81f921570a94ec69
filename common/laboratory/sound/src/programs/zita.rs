//! zita-njbridge: one way, with resampling at the end that hears.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;
use faults::relay::Relay;

use super::running::Running;
use crate::stage::{Stage, free_address};

/// Starts both ends.
pub(super) fn start(stage: &Stage, line: &dyn Fn(SocketAddr) -> Result<Relay>) -> Result<Running> {
    let listens = free_address()?;
    let mut hears = stage.program(Path::new("zita-n2j"));
    hears.args(["--jname", "n2j", "--info", "127.0.0.1", &listens.port().to_string()]);
    let mut hears = stage.run("zita-n2j", &mut hears)?;
    stage.wait_for_port(&mut hears, "n2j:")?;
    let relay = line(listens)?;
    let mut sends = stage.program(Path::new("zita-j2n"));
    sends.args(["--jname", "j2n", "127.0.0.1", &relay.address().port().to_string()]);
    let mut sends = stage.run("zita-j2n", &mut sends)?;
    stage.wait_for_port(&mut sends, "j2n:")?;
    Ok(Running {
        ends: vec![sends, hears],
        others: vec![],
        relay: Some(relay),
        to: "^j2n:in_".to_owned(),
        from: "^n2j:out_".to_owned(),
    })
}
