//! A source that stands still on a healthy line, under a service manager's watchdog.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use picture::frame::{FrameRate, FrameSize};
use sending::source::pattern::Pattern;

use super::{Outcome, Testbed, unix_time};

/// The watchdog's limit.
const LIMIT: Duration = Duration::from_secs(2);
/// Time for which the source stands still: two limits and more.
const STALL: Duration = Duration::from_secs(6);
/// Times that each daemon must have said that it lives meanwhile; it wants to say so 12 times.
const ALIVE_MIN: usize = 3;

pub(super) fn run(testbed: &Testbed) -> Result<Outcome> {
    let address = testbed.free_address()?;
    let pipe = testbed.file("source.y4m");
    if !Command::new("mkfifo").arg(&pipe).status().context("mkfifo does not start")?.success() {
        bail!("there is no pipe {}", pipe.display());
    }
    let (receiver_manager, sender_manager) = (Manager::new(&testbed.file("r"))?, Manager::new(&testbed.file("s"))?);
    let mut command = testbed.receiver(address, &testbed.key("sender")?)?;
    let mut receiver = testbed.start("receiver", receiver_manager.over(&mut command))?;
    testbed.wait_until_bound(address, &mut receiver)?;
    let mut command = testbed.program("sender")?;
    command.args(["--to", &address.to_string(), "--peer", &testbed.key("receiver")?, "--rate", "4M"]);
    command.args(["--source", &format!("y4m:{}", pipe.display())]);
    let mut sender = testbed.start("sender", sender_manager.over(&mut command))?;

    let stalls = Arc::new(AtomicBool::new(false));
    let source = {
        let stalls = Arc::clone(&stalls);
        std::thread::spawn(move || play(&pipe, &stalls))
    };
    testbed.wait_for_pictures(&mut receiver, 5)?;
    stalls.store(true, Ordering::Relaxed);
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
    let told = sender.daemon.said().contains("the source gives no pictures");
    outcome.expect(told, "the sender does not say that its source has stalled");
    stalls.store(false, Ordering::Relaxed);
    let from = unix_time()?;
    testbed.wait_for_pictures(&mut receiver, 5)?;
    let back = (unix_time()?.saturating_sub(from)).as_secs_f64();
    let connections = receiver.daemon.said().matches("connected to ").count();
    outcome.expect(connections == 1, format!("{connections} connections on a line that was healthy"));
    outcome.note =
        format!("alive {} and {} times in {} s, 5 pictures {back:.1} s after", alive[0], alive[1], STALL.as_secs());
    sender.daemon.signal("TERM")?;
    sender.wait()?;
    drop(source);
    Ok(outcome)
}

/// Writes the test pattern into the pipe, except while the source `stalls`, until nobody reads it any more.
fn play(pipe: &Path, stalls: &AtomicBool) -> Result<()> {
    let mut out: File = OpenOptions::new().write(true).open(pipe)?;
    let pattern = Pattern::new(FrameSize::new(320, 180)?, FrameRate::USUAL);
    out.write_all(b"YUV4MPEG2 W320 H180 F30:1 Ip A1:1 C420jpeg\n")?;
    let mut data = Vec::new();
    for number in 0.. {
        while stalls.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        pattern.draw(number, 33 * number, &mut data);
        out.write_all(b"FRAME\n")?;
        out.write_all(&data)?;
    }
    Ok(())
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
