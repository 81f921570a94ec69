//! Log lines that others can cause: a few at once, then at growing intervals, or one a minute, with a count of those left out.
//!
//! [`limited!`](crate::limited) is for every line that a peer or a stranger can make a daemon write.

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use common::units::Timestamp;

use crate::lock::lock;

/// Lines that are written at once.
const AT_ONCE: u32 = 5;
/// Time to the next line after those; twice as long after each.
const PAUSE_MIN: Duration = Duration::from_secs(60);
/// Longest time to the next line.
const PAUSE_MAX: Duration = Duration::from_secs(3600);
/// Time without a message of the kind after which counting begins anew.
const QUIET: Duration = Duration::from_secs(600);

/// Writes a log line of the level `info`, `warn` or `error`, unless this line of the program has been written too often
/// of late; then it is counted and written only at the level `debug`. A [`Limit`](crate::limit::Limit) of the caller's own
/// stands before a semicolon.
///
/// ```
/// net::limited!(info, "{} has called", "somebody");
/// static BUSY: net::limit::Limit = net::limit::Limit::each_minute();
/// net::limited!(BUSY; info, "{} is in a call", "somebody");
/// ```
#[macro_export]
macro_rules! limited {
    ($limit:expr; $level:ident, $($message:tt)+) => {
        match $limit.take($crate::clock::now()) {
            Some(rest) => ::tracing::$level!("{}{rest}", format_args!($($message)+)),
            None => ::tracing::debug!($($message)+),
        }
    };
    ($level:ident, $($message:tt)+) => {{
        static LIMIT: $crate::limit::Limit = $crate::limit::Limit::new();
        $crate::limited!(LIMIT; $level, $($message)+);
    }};
}

/// Limit on the rate of messages of one kind.
#[derive(Debug)]
pub struct Limit {
    at_once: u32,
    pause_max: Duration,
    state: Mutex<LimitState>,
}

#[derive(Clone, Copy, Debug)]
struct LimitState {
    free: u32,
    pause: Duration,
    /// The last message, written or not.
    seen: Option<Timestamp>,
    /// The last one written.
    written: Option<Timestamp>,
    left_out: u64,
}

impl Limit {
    /// Creates a limit of which nothing has been used: some messages at once, then fewer and fewer.
    #[allow(clippy::new_without_default, reason = "for a static")]
    pub const fn new() -> Self {
        Self::of(AT_ONCE, PAUSE_MAX)
    }

    /// Creates a limit of one message, then one after a minute, after two, and so on: for what may come all the time for hours.
    pub const fn rarer() -> Self {
        Self::of(1, PAUSE_MAX)
    }

    /// Creates a limit of one message a minute: for what comes again and again until somebody does something.
    pub const fn each_minute() -> Self {
        Self::of(1, PAUSE_MIN)
    }

    const fn of(at_once: u32, pause_max: Duration) -> Self {
        let state = LimitState { free: at_once, pause: PAUSE_MIN, seen: None, written: None, left_out: 0 };
        Self { at_once, pause_max, state: Mutex::new(state) }
    }

    /// Asks for a message at `now`: what to write behind it, or `None` if it must not be written.
    pub fn take(&self, now: Timestamp) -> Option<Rest> {
        let mut state = lock(&self.state);
        if state.seen.replace(now).is_some_and(|seen| now.since(seen) >= QUIET) {
            *state = LimitState { free: self.at_once, pause: PAUSE_MIN, ..*state };
        }
        let since = state.written.map_or(Duration::ZERO, |written| now.since(written));
        if state.free > 0 {
            state.free -= 1;
        } else if since >= state.pause {
            state.pause = (2 * state.pause).min(self.pause_max);
        } else {
            state.left_out += 1;
            return None;
        }
        state.written = Some(now);
        let left_out = std::mem::take(&mut state.left_out);
        Some(Rest { left_out, since, next: (state.free == 0).then_some(state.pause) })
    }
}

/// The summary of the messages that were, or will be, left out; empty if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    left_out: u64,
    since: Duration,
    /// None: the next one will be written.
    next: Option<Duration>,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left_out > 0 {
            write!(f, " ({} more like this in the last {})", Grouped(self.left_out), Minutes(self.since))?;
        }
        if let Some(next) = self.next {
            write!(f, " (for the next {}, more like this is only counted)", Minutes(next))?;
        }
        Ok(())
    }
}

/// Minutes, rounded up.
struct Minutes(Duration);

impl fmt::Display for Minutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs().div_ceil(60) {
            0 | 1 => f.write_str("minute"),
            minutes => write!(f, "{} minutes", Grouped(minutes)),
        }
    }
}

/// A number with a comma between thousands.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            let comma = if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
            write!(f, "{comma}{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 * seconds)
    }

    #[test]
    fn a_flood_for_an_hour_writes_some_lines_and_counts_the_rest() {
        let limit = Limit::new();
        let mut lines = Vec::new();
        for second in 0..3600 {
            for _ in 0..10 {
                lines.extend(limit.take(at(second)).map(|rest| (second, rest.to_string())));
            }
        }
        let told = |second, text: &str| (second, text.to_owned());
        assert_eq!(lines[..4], [told(0, ""), told(0, ""), told(0, ""), told(0, "")]);
        assert_eq!(lines[4], told(0, " (for the next minute, more like this is only counted)"));
        let (second, text) = &lines[5];
        assert_eq!(*second, 60);
        assert!(text.starts_with(" (595 more like this in the last minute) (for the next 2 minutes, "), "{text}");
        let (second, text) = &lines[6];
        assert_eq!(*second, 180);
        assert!(text.starts_with(" (1,199 more like this in the last 2 minutes)"), "{text}");
        assert_eq!(lines.len(), AT_ONCE as usize + 5);
    }

    #[test]
    fn what_is_tried_each_second_is_told_once_a_minute() {
        let limit = Limit::each_minute();
        let lines: Vec<_> =
            (0..3600).filter_map(|second| Some((second, limit.take(at(second))?.to_string()))).collect();
        assert_eq!(lines[0], (0, " (for the next minute, more like this is only counted)".to_owned()));
        let later = " (59 more like this in the last minute) (for the next minute, more like this is only counted)";
        assert!(lines[1..].iter().all(|(_, text)| text == later), "{lines:?}");
        assert!(lines.iter().map(|line| line.0).eq((0..3600).step_by(60)), "{lines:?}");
    }

    #[test]
    fn what_comes_all_the_time_is_told_after_a_minute_two_and_so_on() {
        let limit = Limit::rarer();
        let lines: Vec<_> = (0..3600).filter(|&second| limit.take(at(second)).is_some()).collect();
        assert_eq!(lines, [0, 60, 180, 420, 900, 1860]);
    }

    #[test]
    fn all_begins_anew_after_a_time_without_messages() {
        let limit = Limit::new();
        for _ in 0..100 {
            limit.take(at(5));
        }
        assert_eq!(limit.take(at(6)), None);
        let later = limit.take(at(6) + QUIET).unwrap();
        assert_eq!(later.to_string(), " (96 more like this in the last 11 minutes)");
        assert!(limit.take(at(6) + QUIET).unwrap().to_string().is_empty());
    }
}
