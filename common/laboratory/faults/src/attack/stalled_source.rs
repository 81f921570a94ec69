//! A source that stands still on a healthy line, under a service manager's watchdog.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use picture::frame::{FrameRate, FrameSize};

use super::{Outcome, Testbed};
use crate::camera::Camera;
use crate::testbed::unix_time;

/// The watchdog's limit.
const LIMIT: Duration = Duration::from_secs(2);
/// Time for which the source stands still: two limits and more.
const STALL: Duration = Duration::from_secs(6);
/// Times that each daemon must have said that it lives meanwhile; it wants to say so 12 times.
const ALIVE_MIN: usize = 3;

pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let camera = Camera::start(testbed.file("source.y4m"), FrameSize::new(320, 180)?, FrameRate::USUAL)?;
    let (receiver_manager, sender_manager) = (Manager::new(&testbed.file("r"))?, Manager::new(&testbed.file("s"))?);
    let mut command = testbed.receiver(address, &testbed.key("sender")?)?;
    let mut receiver = testbed.start("receiver", receiver_manager.over(&mut command))?;
    testbed.wait_until_bound(address, &mut receiver)?;
    let mut command = testbed.program("sender")?;
    command.args(["--to", &address.to_string(), "--peer", &testbed.key("receiver")?, "--rate", "4M"]);
    command.args(["--source", &camera.source()]);
    let mut sender = testbed.start("sender", sender_manager.over(&mut command))?;

    testbed.wait_for_pictures(&mut receiver, 5)?;
    camera.stall(true);
    // What the pipe held is shown.
    receiver.watch(Duration::from_secs(1));
    receiver_manager.count()?;
    sender_manager.count()?;
    receiver.begin();
    let began = Instant::now();
    receiver.watch(STALL.saturating_sub(began.elapsed()));
    let alive = [receiver_manager.count()?, sender_manager.count()?];
    let mut outcome = receiver.outcome()?;
    for (name, count) in ["receiver", "sender"].iter().zip(alive) {
        outcome.expect(
            count >= ALIVE_MIN,
            format!("the {name} said {count} times in {} s that it lives", STALL.as_secs()),
        );
    }
    let told = sender.said().contains("the source gives no pictures");
    outcome.expect(told, "the sender does not say that its source has stalled");
    camera.stall(false);
    let from = unix_time()?;
    testbed.wait_for_pictures(&mut receiver, 5)?;
    let back = (unix_time()?.saturating_sub(from)).as_secs_f64();
    let connections = receiver.said().matches("connected to ").count();
    outcome.expect(connections == 1, format!("{connections} connections on a line that was healthy"));
    outcome.note =
        format!("alive {} and {} times in {} s, 5 pictures {back:.1} s after", alive[0], alive[1], STALL.as_secs());
    sender.signal("TERM")?;
    sender.wait()?;
    Ok(outcome)
}

/// Stands in for systemd: gives a daemon a watchdog, and receives its messages.
struct Manager {
    socket: UnixDatagram,
    path: std::path::PathBuf,
}

impl Manager {
    fn new(path: &Path) -> Result<Self> {
        let socket = UnixDatagram::bind(path).with_context(|| format!("no socket at {}", path.display()))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, path: path.to_owned() })
    }

    fn over<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("NOTIFY_SOCKET", &self.path).env("WATCHDOG_USEC", LIMIT.as_micros().to_string())
    }

    /// Returns the number of signs of life that the daemon has given since the last call.
    fn count(&self) -> Result<usize> {
        let (mut count, mut message) = (0, [0; 256]);
        loop {
            match self.socket.recv(&mut message) {
                Ok(length) => count += usize::from(message[..length].starts_with(b"WATCHDOG=1")),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(count),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
