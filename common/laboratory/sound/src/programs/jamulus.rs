//! Jamulus: a server, one who plays over the line, and one who listens beside the server.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;
use faults::daemons::Daemon;
use faults::relay::Relay;

use super::running::Running;
use crate::stage::{Stage, free_address};

/// Small buffers, found by itself; stereo in the best quality.
const SETTINGS: &str = "<client><autojitbuf>1</autojitbuf><enableopussmall>1</enableopussmall>\
    <audiochannels>2</audiochannels><audioquality>2</audioquality></client>\n";

/// Starts all three.
pub(super) fn start(stage: &Stage, line: &dyn Fn(SocketAddr) -> Result<Relay>) -> Result<Running> {
    let listens = free_address()?;
    let mut server = stage.program(Path::new("Jamulus"));
    // Frames of 64 samples.
    server.args(["-s", "-n", "-F", "-p", &listens.port().to_string()]);
    let server = stage.run("jamulus-server", &mut server)?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    let relay = line(listens)?;
    let client = |daemon: &'static str, name: &str, to: SocketAddr| -> Result<Daemon> {
        let settings = stage.file(&format!("jamulus-{name}.ini"));
        std::fs::write(&settings, SETTINGS)?;
        let mut client = stage.program(Path::new("Jamulus"));
        client.args(["-n", "-j", "-c", &to.to_string(), "-p", &free_address()?.port().to_string()]);
        client.args(["--clientname", name, "-i"]).arg(settings);
        let mut client = stage.run(daemon, &mut client)?;
        stage.wait_for_port(&mut client, &format!("Jamulus {name}:"))?;
        Ok(client)
    };
    let plays = client("jamulus-plays", "plays", relay.address())?;
    let hears = client("jamulus-hears", "hears", listens)?;
    Ok(Running {
        ends: vec![plays, hears],
        others: vec![server],
        relay: Some(relay),
        to: "^Jamulus plays:input".to_owned(),
        from: "^Jamulus hears:output".to_owned(),
    })
}
