//! Log lines on standard error. Nobody waits for who reads them.

pub mod outlet;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::outlet::Outlet;

/// Filter of the log unless `DUET_LOG` sets another: the relay's libraries are silent, this program reports for them,
/// likewise what quinn says of each packet that a machine without a network does not send;
/// what winit thinks of a screen's size in millimetres helps nobody, and a Wayland compositor that has gone gets one sentence of
/// ours, not one of its library for each request that is left.
const FILTER: &str = "info,winit=error,quinn_udp=off,calloop_wayland_source=off,wayland_backend=off,wayland_client=off,turn_client_proto=off,turn_types=off,stun_proto=off,stun_types=off";

static OUTLET: OnceLock<Outlet> = OnceLock::new();

/// Starts logging; `DUET_LOG` holds the filter (`warn`, `debug`, `shell=trace`, ..), default `info`.
/// Calling it again changes nothing.
pub fn init() {
    // A file of its own: the standard library's is locked while somebody writes.
    let file = io::stderr().as_fd().try_clone_to_owned().map(std::fs::File::from);
    match file.and_then(|file| Outlet::start("log", file, Some(note))) {
        // A second one stays unused.
        Ok(outlet) => drop(OUTLET.set(outlet)),
        Err(error) => eprintln!("there is no log: {error}"),
    }
    let wanted = std::env::var("DUET_LOG").ok().and_then(|wanted| filter(&wanted));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(|| Lines).with_ansi(io::stderr().is_terminal()).with_target(false);
    // An error means that a subscriber is set already, as in tests.
    let _ = tracing_subscriber::registry().with(lines).with(wanted.or_else(|| filter(FILTER))).try_init();
}

/// Returns the filter of that text; none if it is no filter.
fn filter(text: &str) -> Option<Targets> {
    let given: Vec<_> = text.split(',').map(str::trim).filter(|directive| !directive.is_empty()).collect();
    given.join(",").parse().ok()
}

/// Writes a line, which needs no newline, at once or after everything logged. Waits for its reader, but not for long.
pub fn last_words(line: &str) {
    match OUTLET.get() {
        Some(outlet) => {
            outlet.send(format!("{line}\n").into_bytes());
            outlet.flush();
        }
        // Whoever started this may not listen.
        None => drop(writeln!(io::stderr(), "{line}")),
    }
}

/// Waits until the log is written, but not for long.
pub fn flush() {
    OUTLET.get().map(Outlet::flush);
}

fn note(count: u64) -> String {
    format!("(nobody read the log: {count} lines are left out here)\n")
}

/// Takes a log line in one piece.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(outlet) = OUTLET.get() {
            outlet.send(line.to_vec());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_names_levels_and_modules() {
        let usual = filter(FILTER).unwrap();
        assert!(usual.would_enable("shell::reach", &Level::INFO) && !usual.would_enable("shell::reach", &Level::DEBUG));
        assert!(!usual.would_enable("quinn_udp::imp", &Level::ERROR));
        let wanted = filter("warn, shell=trace,").unwrap();
        assert!(wanted.would_enable("shell::reach", &Level::TRACE) && !wanted.would_enable("quinn", &Level::INFO));
        assert!(!filter("off").unwrap().would_enable("shell", &Level::ERROR));
        assert!(filter("loud").is_none_or(|filter| !filter.would_enable("shell", &Level::ERROR)));
        assert!(filter("shell=loud").is_none());
    }
}
