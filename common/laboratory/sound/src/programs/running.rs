//! A program between the probe's ports.

use std::time::{Duration, Instant};

use faults::daemons::Daemon;
use faults::relay::Relay;

/// Longest that programs may take to end when asked.
const END_MAX: Duration = Duration::from_secs(3);

/// A program that runs between the probe's ports. It ends with its value.
pub(crate) struct Running {
    /// The end that takes the probe's sound and the one that gives it.
    pub(crate) ends: Vec<Daemon>,
    /// The programs that they need.
    pub(crate) others: Vec<Daemon>,
    pub(crate) relay: Option<Relay>,
    /// The ports, as regular expressions.
    pub(crate) to: String,
    pub(crate) from: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut all: Vec<_> = self.ends.drain(..).chain(self.others.drain(..)).collect();
        // A JACK server whose clients are killed may not end by itself; those that do not end are killed in the end.
        for program in &mut all {
            if matches!(program.ended(), Ok(None)) {
                let _ = program.signal("TERM");
            }
        }
        let began = Instant::now();
        while began.elapsed() < END_MAX && all.iter_mut().any(|program| matches!(program.ended(), Ok(None))) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
