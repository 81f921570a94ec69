//! A bulk TCP flow between two processes of this program, for the queue that it shares with the daemons.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use socket2::SockRef;

use crate::machine::namespaces::Namespaces;

const PORT: u16 = 4_899;
/// Interval at which the sink notes the bytes that have come.
const NOTE: Duration = Duration::from_millis(50);

/// A running flow; it ends with this value.
pub(crate) struct Bulk {
    sink: Child,
    source: Option<Child>,
    count: std::path::PathBuf,
}

impl Bulk {
    /// Opens the sink in the receiver's namespace; it counts in the file `count`.
    pub(crate) fn listen(spaces: &Namespaces, count: &Path) -> Result<Self> {
        let own = std::env::current_exe()?;
        let mut sink = spaces.command(1, &own);
        sink.args(["--bulk-sink", &SocketAddr::from((spaces.receiver, PORT)).to_string()]).arg("--out").arg(count);
        let sink = sink.stdin(Stdio::null()).spawn().context("the TCP sink does not start")?;
        Ok(Self { sink, source: None, count: count.to_owned() })
    }

    /// Begins to send from the sender's namespace.
    pub(crate) fn begin(&mut self, spaces: &Namespaces) -> Result<()> {
        let mut source: Command = spaces.command(0, &std::env::current_exe()?);
        source.args(["--bulk-source", &SocketAddr::from((spaces.receiver, PORT)).to_string()]);
        self.source = Some(source.stdin(Stdio::null()).spawn().context("the TCP source does not start")?);
        Ok(())
    }

    /// Returns the bytes that have arrived.
    pub(crate) fn arrived(&self) -> u64 {
        std::fs::read_to_string(&self.count).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        for child in self.source.iter_mut().chain([&mut self.sink]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Takes one connection and writes the bytes that have come to `count`, over and over.
pub(crate) fn sink(listen: SocketAddr, count: &Path) -> Result<()> {
    let (mut stream, _) = TcpListener::bind(listen)?.accept()?;
    let (mut buffer, mut total, mut noted) = (vec![0; 64 << 10], 0u64, Instant::now());
    loop {
        let bytes = stream.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(());
        }
        total += bytes as u64;
        if noted.elapsed() >= NOTE {
            noted = Instant::now();
            // Renamed, so that no reader sees half of it.
            let part = count.with_extension("part");
            std::fs::write(&part, total.to_string())?;
            std::fs::rename(&part, count)?;
        }
    }
}

/// Sends for ever, with Cubic (RFC 9438).
pub(crate) fn source(to: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(to)?;
    SockRef::from(&stream).set_tcp_congestion(b"cubic")?;
    let buffer = vec![0; 64 << 10];
    loop {
        stream.write_all(&buffer)?;
    }
}
