//! Network namespaces for the two daemons, joined as a scenario wants it. Needs root.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::route::Route;

/// Largest burst of the line's token bucket, bytes: a timer tick of the fastest line.
const BURST_BYTES: u32 = 16 << 10;

/// The sender's and the receiver's namespace. They go with this value.
#[derive(Debug)]
pub(crate) struct Namespaces {
    names: [String; 2],
    /// Address at which the receiver listens.
    pub(crate) receiver: Ipv4Addr,
    /// Address at which the relay listens for the sender; with a line between the daemons there is none.
    pub(crate) relay: Option<Ipv4Addr>,
    /// Number of changes of the sender's address.
    moves: u32,
}

/// Returns the sender's address after `moves` on a line without a relay.
fn sender_address(moves: u32) -> String {
    // The receiver's is the second.
    let host = if moves == 0 { 1 } else { 3 + (moves - 1) % 250 };
    format!("10.77.2.{host}/24")
}

impl Namespaces {
    /// Makes both. With [`Route::Line`] a line joins them; otherwise each has one to this process' namespace.
    pub(crate) fn new(route: Route) -> Result<Self> {
        let id = std::process::id();
        let names = ["s", "r"].map(|end| format!("duet-{end}-{id}"));
        let receiver = Ipv4Addr::new(10, 77, 2, 2);
        let relay = if matches!(route, Route::Relay) { Some(Ipv4Addr::new(10, 77, 1, 1)) } else { None };
        let spaces = Self { names, receiver, relay, moves: 0 };
        let [sender_end, receiver_end] = &spaces.names;
        for name in &spaces.names {
            run("ip", &["netns", "add", name]).context("network namespaces need root")?;
            run("ip", &["-n", name, "link", "set", "lo", "up"])?;
        }
        match route {
            Route::Relay => {
                for (name, subnet) in [(sender_end, 1), (receiver_end, 2)] {
                    join(name, &format!("dh{subnet}-{id}"), subnet)?;
                }
            }
            Route::Direct | Route::Spaces | Route::Line { .. } => {
                let peer = ["type", "veth", "peer", "name", "up0", "netns", receiver_end];
                run("ip", &[&["link", "add", "up0", "netns", sender_end.as_str()], &peer[..]].concat())?;
                for (name, address) in [(sender_end, sender_address(0)), (receiver_end, format!("{receiver}/24"))] {
                    run("ip", &["-n", name, "addr", "add", &address, "dev", "up0"])?;
                    run("ip", &["-n", name, "link", "set", "up0", "up"])?;
                }
            }
        }
        if let Route::Line { rate, queue } = route {
            let (rate, queue) = (format!("{}bit", rate.as_bps()), format!("{}ms", queue.as_millis()));
            let burst = BURST_BYTES.to_string();
            let line = ["tbf", "rate", &rate, "burst", &burst, "latency", &queue];
            run("tc", &[&["-n", sender_end.as_str(), "qdisc", "add", "dev", "up0", "root"], &line[..]].concat())?;
        }
        Ok(spaces)
    }

    /// Gives the sender's card another address in place of its own; there must be no relay.
    pub(crate) fn move_sender(&mut self) -> Result<()> {
        let [old, new] = [self.moves, self.moves + 1].map(sender_address);
        run("ip", &["-n", &self.names[0], "addr", "del", &old, "dev", "up0"])?;
        run("ip", &["-n", &self.names[0], "addr", "add", &new, "dev", "up0"])?;
        self.moves += 1;
        Ok(())
    }

    /// Returns a command that runs `program` in the sender's (0) or the receiver's (1) namespace.
    pub(crate) fn command(&self, end: usize, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end]]).arg(program);
        command
    }
}

/// A network namespace of one program, joined to this process' namespace alone. It goes with this value.
#[derive(Debug)]
pub(crate) struct Home {
    name: String,
    /// Address of this process there.
    pub(crate) near: Ipv4Addr,
    /// Address of the program.
    pub(crate) far: Ipv4Addr,
}

impl Home {
    /// Makes the one of this `number`, which no other has.
    pub(crate) fn new(number: u8) -> Result<Self> {
        let (id, subnet) = (std::process::id(), 100 + number);
        let home = Self {
            name: format!("duet-h{number}-{id}"),
            near: Ipv4Addr::new(10, 77, subnet, 1),
            far: Ipv4Addr::new(10, 77, subnet, 2),
        };
        run("ip", &["netns", "add", &home.name]).context("network namespaces need root")?;
        run("ip", &["-n", &home.name, "link", "set", "lo", "up"])?;
        join(&home.name, &format!("dh{subnet}-{id}"), subnet)?;
        Ok(home)
    }

    /// Returns a command that runs `program` there.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Joins the namespace `name` to this process' one, whose end of the line is `host`.
fn join(name: &str, host: &str, subnet: u8) -> Result<()> {
    run("ip", &["link", "add", host, "type", "veth", "peer", "name", "up0", "netns", name])?;
    run("ip", &["addr", "add", &format!("10.77.{subnet}.1/30"), "dev", host])?;
    run("ip", &["link", "set", host, "up"])?;
    run("ip", &["-n", name, "addr", "add", &format!("10.77.{subnet}.2/30"), "dev", "up0"])?;
    run("ip", &["-n", name, "link", "set", "up0", "up"])
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let status = Command::new(program).args(arguments).status().with_context(|| format!("{program} does not start"))?;
    if !status.success() {
        bail!("{program} {} failed", arguments.join(" "));
    }
    Ok(())
}
