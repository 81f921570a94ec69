//! The window's line, and the figures beside it.

use std::time::Duration;

use common::path::clock::SUSPECT_US;
use common::units::Timestamp;

use super::held::Held;
use super::way::{PARTS, Way};
use crate::handover::{LinkSnapshot, Stream};

/// Least delay of pictures that the window's line names.
const HELD_MIN: Duration = Duration::from_millis(20);
/// A line that damages more of a hundred pictures is poor.
const DAMAGED_FAIR: f64 = 5.0;
/// Time in a second for which a program must have stood still to be the cause of damage.
const STALLED_MIN: Duration = Duration::from_millis(20);

/// Whoever is to blame for damaged pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Culprit {
    /// Datagrams were lost, or came too late.
    Line,
    /// The computer there has not finished them.
    There,
    /// This computer has not read them in time.
    Here,
}

impl Culprit {
    /// Of the damage between two counts: a computer that stood still, or, where nothing was lost and nothing came late, the one
    /// that has not sent all of them.
    fn between(then: &LinkSnapshot, now: &LinkSnapshot) -> Self {
        let stood = |now: Duration, then: Duration| now.saturating_sub(then) >= STALLED_MIN;
        let (path, path_then) = (&now.path_counters, &then.path_counters);
        if stood(path.receive_stalled, path_then.receive_stalled) {
            Self::Here
        } else if stood(path.peer_stalled, path_then.peer_stalled) {
            Self::There
        } else if path.datagrams_missing > path_then.datagrams_missing
            || now.counters.datagrams_late > then.counters.datagrams_late
            || now.counters.fec_recovered > then.counters.fec_recovered
        {
            Self::Line
        } else {
            Self::There
        }
    }
}

/// Figures of the stream that a window can show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// One line in plain words, or several.
    pub line: String,
    /// Figures, for who wants to know.
    pub details: Vec<String>,
    /// Way of packets, in words.
    pub path: Option<&'static str>,
}

/// Figures since the last line of the window.
#[derive(Debug, Default)]
pub(super) struct Recent {
    began: Timestamp,
    pub(super) shown: u64,
    pub(super) way: Way,
    pub(super) held: Held,
    before: LinkSnapshot,
}

/// Figures since the start that the window shows.
pub(super) struct SinceStart {
    /// Time between the frames of the stream.
    pub(super) interval: Duration,
    pub(super) lost: u64,
    pub(super) freeze_max: Duration,
}

impl SinceStart {
    /// Returns true if pictures wait for the decoder here, or stay in it, for longer than one comes after the other.
    fn is_too_slow(&self, means: Option<[f64; 5]>) -> bool {
        let [.., decoder, _] = means.unwrap_or_default();
        !self.interval.is_zero() && decoder > self.interval.as_secs_f64() * 1e3
    }
}

impl Recent {
    /// Returns what the window can say about the time since the last call.
    pub(super) fn status(
        &mut self,
        start: &SinceStart,
        link: &LinkSnapshot,
        stream: Option<&Stream>,
        now: Timestamp,
    ) -> Status {
        let seconds = now.since(self.began).as_secs_f64().max(1e-3);
        let (then, counters) = (self.before.counters, link.counters);
        let bits = 8.0 * (counters.bytes_received - then.bytes_received.min(counters.bytes_received)) as f64;
        let whole = counters.frames_complete.saturating_sub(then.frames_complete);
        let broken =
            (counters.frames_partial + counters.frames_lost).saturating_sub(then.frames_partial + then.frames_lost);
        let damaged = 100.0 * broken as f64 / (whole + broken).max(1) as f64;
        let culprit = Culprit::between(&self.before, link);
        let means = self.way.means_ms();
        let behind = means.map(|parts| parts.iter().sum::<f64>());
        let line = match behind {
            Some(ms) => {
                let error = suspect_ms(link).map(|error| format!(" (\u{b1}{error:.0} ms)")).unwrap_or_default();
                format!(" {ms:.0} ms behind{error}, {}", self.line_in_words(damaged, culprit))
            }
            None => format!(", its delay not known yet, {}", self.line_in_words(damaged, culprit)),
        };
        let line = if start.is_too_slow(means) {
            let rate = 1.0 / start.interval.as_secs_f64();
            format!("This computer is too slow to show {rate:.0} pictures a second\nPicture{line}")
        } else {
            format!("Picture{line}")
        };
        let mut details = Vec::new();
        if let Some(parts) = means {
            let rows = PARTS.iter().zip(parts).map(|(name, ms)| format!("{name:26}{ms:7.1} ms"));
            details.extend(rows);
            details.push(format!("{:26}{:7.1} ms", "capture to display", parts.iter().sum::<f64>()));
            // What one way is too long, the other is too short: only these two rest on the other computer's clock.
            let suspect =
                suspect_ms(link).map(|error| format!("clock suspect: \u{b1}{error:.0} ms of the line and the whole"));
            details.extend(suspect);
        }
        if let Some(stream) = stream {
            details.push(format!(
                "{} at {:.1} pictures a second, {:.1} Mbit/s",
                stream.params.size,
                self.shown as f64 / seconds,
                bits / seconds / 1e6
            ));
            details.push(format!("decoded by {} on {}", stream.backend.kind, stream.backend.device));
        }
        details.push(format!(
            "{damaged:.1} % of pictures damaged; {} lost since the start",
            start.lost.max(counters.frames_lost)
        ));
        details.push(format!("packets: {} mended, {} late", counters.fec_recovered, counters.datagrams_late));
        details.extend(counters.counts.lines());
        if let Some(path) = link.path.name() {
            let changes = match link.path.changes() {
                0 => String::new(),
                1 => "; the way has changed once".to_owned(),
                times => format!("; the way has changed {times} times"),
            };
            details.push(format!("packets come {path}{changes}"));
        }
        let ms = start.freeze_max.as_secs_f64() * 1e3;
        details.push(format!("longest time without a new picture {ms:.0} ms"));
        *self = Self { began: now, before: *link, ..Self::default() };
        Status { line, details, path: link.path.name() }
    }

    fn line_in_words(&self, damaged: f64, culprit: Culprit) -> String {
        let Held { line, here, there } = self.held;
        let causes = [(there, "the computer there"), (here, "this computer"), (line, "the line")];
        let (held, by) = causes.into_iter().max_by_key(|cause| cause.0).unwrap_or_default();
        let held = if held < HELD_MIN { String::new() } else { format!(", held up {} ms by {by}", held.as_millis()) };
        match (damaged, culprit) {
            (0.0, _) if held.is_empty() => "line good".to_owned(),
            (0.0, _) => held.trim_start_matches(", ").to_owned(),
            (..=DAMAGED_FAIR, Culprit::Line) => format!("line fair: {damaged:.0} % of pictures damaged{held}"),
            (_, Culprit::Line) => format!("line poor: {damaged:.0} % of pictures damaged{held}"),
            (_, Culprit::There) => format!("the computer there is too busy: {damaged:.0} % of pictures not finished"),
            (_, Culprit::Here) => format!("this computer is too busy: {damaged:.0} % of pictures damaged"),
        }
    }
}

/// Returns the error of the latencies, milliseconds, if it is so large that they are doubtful.
pub(super) fn suspect_ms(link: &LinkSnapshot) -> Option<f64> {
    link.clock_error_us.filter(|error| *error > SUSPECT_US).map(|error| error as f64 / 1e3)
}
