//! Log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging; `DUET_LOG` holds the filter (`warn`, `debug`, `shell=trace`, ..), default `info`.
/// Calling it again changes nothing.
pub fn init() {
    let filter = EnvFilter::try_from_env("DUET_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // An error means that a subscriber is set already, as in tests.
    let _ = subscriber.try_init();
}
