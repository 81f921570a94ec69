//! Figures of the stream: the statistics file's lines and the window's line.

use std::time::Duration;

use common::path::clock::SUSPECT_US;
use common::percentiles::TimeHistogram;
use common::stats::{ReceiverReport, SoundHeardCounts, Stage, StageHistograms, Standing};
use common::units::Timestamp;

use crate::handover::{LinkSnapshot, Passed, Stream};

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

/// Times and counts of the pictures shown.
#[derive(Debug, Default)]
pub struct Presentation {
    shown: u64,
    latency: TimeHistogram,
    stages: StageHistograms,
    gaps: TimeHistogram,
    freeze_max: Duration,
    last_shown: Option<LastShown>,
    /// Serial number of the stream that is shown, and the time between its frames.
    stream: u64,
    interval: Duration,
    /// True if a stream has begun of which no picture is shown yet.
    resumes: bool,
    /// Frames that outages have cost, beyond those whose numbers tell.
    lost_in_outages: u64,
    /// Frames lost, as the last line has it.
    lost: u64,
    /// The last picture's way, when it was shown, and for how long the sender's program had stood still by then.
    last: Option<(Passed, Timestamp, Duration)>,
    held: Held,
    recent: Recent,
}

/// The last picture, and the counts when it was shown.
#[derive(Clone, Copy, Debug)]
struct LastShown {
    at: Timestamp,
    stream: u64,
    frames_lost: u64,
}

/// Longest delay of pictures beyond those before them, by its cause: the line, this computer, or the sender's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    line: Duration,
    here: Duration,
    there: Duration,
}

impl Held {
    /// Returns the delay of a picture beyond the one before, by its cause. Each has its way, the time at which it was shown
    /// and that for which the sender's program had stood still by then.
    fn between(
        (before, shown, stalled_there_before): &(Passed, Timestamp, Duration),
        (passed, presented, stalled_there): &(Passed, Timestamp, Duration),
    ) -> Self {
        let longer = |now: Duration, then: Duration| now.saturating_sub(then);
        let stalled = passed.stalled.saturating_sub(before.stalled);
        let apart = passed.received.since(before.received);
        let stalled_there = longer(*stalled_there, *stalled_there_before);
        let line = longer(apart, passed.sent.since(before.sent)).saturating_sub(stalled).saturating_sub(stalled_there);
        let here = longer(presented.since(passed.received), shown.since(before.received));
        let there = longer(passed.sent.since(passed.capture), before.sent.since(before.capture));
        // A stall is at most as long as the time between the two pictures.
        Self { line, here: stalled.min(apart) + here, there: there.max(stalled_there.min(apart)) }
    }

    fn longest(self, other: Self) -> Self {
        Self { line: self.line.max(other.line), here: self.here.max(other.here), there: self.there.max(other.there) }
    }
}

/// Figures since the last line of the window.
#[derive(Debug, Default)]
struct Recent {
    began: Timestamp,
    shown: u64,
    way: Way,
    held: Held,
    before: LinkSnapshot,
}

/// Parts of the way from capture to present, added up over pictures.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    pictures: u32,
    /// Times from capture to the last datagram at the sender's socket, from there to here, and so on to the display.
    parts: [Duration; 5],
}

/// The parts of a [`Way`] in words.
const PARTS: [&str; 5] = ["camera and computer there", "line", "wait for missing parts", "decoder here", "display"];

impl Way {
    fn add(&mut self, passed: &Passed, offset_us: i64, presented: Timestamp) {
        let points = [
            to_own(passed.capture, offset_us),
            to_own(passed.sent, offset_us),
            passed.received,
            passed.released,
            passed.decoded,
            presented,
        ];
        self.pictures += 1;
        for (sum, pair) in self.parts.iter_mut().zip(points.windows(2)) {
            *sum += pair[1].since(pair[0]);
        }
    }

    /// Returns the mean of each part, milliseconds; none without a picture.
    fn means_ms(&self) -> Option<[f64; 5]> {
        let pictures = f64::from(self.pictures);
        (self.pictures > 0).then(|| self.parts.map(|part| part.as_secs_f64() * 1e3 / pictures))
    }
}

impl Presentation {
    /// Returns the number of pictures shown so far.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// Begins stream number `serial`, with a frame every `interval`.
    pub fn on_start(&mut self, serial: u64, interval: Duration) {
        (self.stream, self.interval) = (serial, interval);
        self.resumes = true;
        self.last = None;
    }

    /// Takes a picture that was on the display at `presented`.
    pub fn on_shown(&mut self, passed: &Passed, link: &LinkSnapshot, presented: Timestamp) {
        self.shown += 1;
        self.recent.shown += 1;
        if let Some(last) = self.missed(link) {
            let gap = presented.since(last.at);
            self.gaps.record(gap);
            self.freeze_max = self.freeze_max.max(gap);
            if self.resumes {
                self.lost_in_outages += self.lost_since(&last, link, presented);
            }
        }
        self.resumes = false;
        let frames_lost = link.counters.frames_lost;
        self.last_shown = Some(LastShown { at: presented, stream: self.stream, frames_lost });
        let now = (*passed, presented, link.path_counters.peer_stalled);
        if let Some(last) = self.last.replace(now) {
            let held = Held::between(&last, &now);
            (self.held, self.recent.held) = (self.held.longest(held), self.recent.held.longest(held));
        }
        if let Some(offset) = passed.clock_offset_us {
            let latency = presented.since(to_own(passed.capture, offset));
            self.latency.record(latency);
            self.recent.way.add(passed, offset, presented);
            self.stages.record(Stage::Network, passed.received.since(to_own(passed.sent, offset)));
        }
        let decode_and_inverse = passed.decoded.since(passed.released);
        self.stages.record(Stage::Reassemble, passed.released.since(passed.received));
        let decode = decode_and_inverse.saturating_sub(passed.compensate + passed.inverse);
        self.stages.record(Stage::Decode, decode);
        if !passed.compensate.is_zero() {
            self.stages.record(Stage::Compensate, passed.compensate.min(decode_and_inverse));
        }
        self.stages.record(Stage::Inverse, passed.inverse.min(decode_and_inverse));
        self.stages.record(Stage::Present, presented.since(passed.decoded));
    }

    /// Returns the last picture, unless its stream has ended on purpose: then no other is missed.
    fn missed(&self, link: &LinkSnapshot) -> Option<LastShown> {
        self.last_shown.filter(|last| last.stream > link.goodbye)
    }

    /// Returns the frames that were due between `last` and `now`, less those that the stream has counted as lost.
    fn lost_since(&self, last: &LastShown, link: &LinkSnapshot, now: Timestamp) -> u64 {
        let frames = now.since(last.at).as_secs_f64() / self.interval.max(Duration::from_millis(1)).as_secs_f64();
        let counted = link.counters.frames_lost.saturating_sub(last.frames_lost);
        (frames.round() as u64).saturating_sub(1).saturating_sub(counted)
    }

    /// Returns a line of the statistics file. A picture that stands still, though nobody has said goodbye, is frozen
    /// until `now`; without a connection its frames are lost.
    pub fn report(
        &mut self,
        link: &LinkSnapshot,
        stream: Option<&Stream>,
        standing: Standing,
        now: Timestamp,
        is_final: bool,
    ) -> ReceiverReport {
        let mut lost = link.counters.frames_lost + self.lost_in_outages;
        if let Some(last) = self.missed(link).filter(|_| !is_final) {
            self.freeze_max = self.freeze_max.max(now.since(last.at));
            if !link.streaming || self.resumes {
                lost += self.lost_since(&last, link, now);
            }
        }
        self.lost = self.lost.max(lost);
        let ms = |us: u64| us as f64 / 1e3;
        ReceiverReport {
            standing,
            frames_complete: link.counters.frames_complete,
            frames_partial: link.counters.frames_partial,
            frames_lost: self.lost,
            counts: link.counters.counts,
            sound: SoundHeardCounts::default(),
            sound_added_ms: None,
            sound_drift_ppm: None,
            ear_ms: None,
            eye_ms: None,
            frames_shown: self.shown,
            bytes_received: link.counters.bytes_received,
            fec_recovered: link.counters.fec_recovered,
            freeze_ms_max: self.freeze_max.as_secs_f64() * 1e3,
            gap_ms_p99: ms(self.gaps.percentiles().p99),
            held_line_ms_max: self.held.line.as_secs_f64() * 1e3,
            held_computer_ms_max: self.held.here.max(self.held.there).as_secs_f64() * 1e3,
            latency_us: self.latency.percentiles(),
            clock_offset_us: link.clock_offset_us,
            clock_error_us: link.clock_error_us,
            clock_suspect: suspect_ms(link).is_some(),
            backend: stream.map(|s| s.backend.kind.to_string()).unwrap_or_default(),
            device: stream.map(|s| s.backend.device.clone()).unwrap_or_default(),
            stages_us: self.stages.summary(),
            jitter_us: link.counters.jitter_us,
            lateness_us_p95: link.counters.lateness_us_p95,
            datagrams_late: link.counters.datagrams_late,
            datagrams_malformed: link.counters.datagrams_malformed + link.path_counters.datagrams_malformed,
            reasons: link.counters.reasons,
            is_final,
        }
    }

    /// Returns what the window can say about the time since the last call.
    pub fn status(&mut self, link: &LinkSnapshot, stream: Option<&Stream>, now: Timestamp) -> Status {
        let seconds = now.since(self.recent.began).as_secs_f64().max(1e-3);
        let (then, counters) = (self.recent.before.counters, link.counters);
        let bits = 8.0 * (counters.bytes_received - then.bytes_received.min(counters.bytes_received)) as f64;
        let whole = counters.frames_complete.saturating_sub(then.frames_complete);
        let broken =
            (counters.frames_partial + counters.frames_lost).saturating_sub(then.frames_partial + then.frames_lost);
        let damaged = 100.0 * broken as f64 / (whole + broken).max(1) as f64;
        let culprit = Culprit::between(&self.recent.before, link);
        let means = self.recent.way.means_ms();
        let behind = means.map(|parts| parts.iter().sum::<f64>());
        let line = match behind {
            Some(ms) => {
                let error = suspect_ms(link).map(|error| format!(" (\u{b1}{error:.0} ms)")).unwrap_or_default();
                format!(" {ms:.0} ms behind{error}, {}", self.line_in_words(damaged, culprit))
            }
            None => format!(", its delay not known yet, {}", self.line_in_words(damaged, culprit)),
        };
        let line = if self.is_too_slow(means) {
            let rate = 1.0 / self.interval.as_secs_f64();
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
                self.recent.shown as f64 / seconds,
                bits / seconds / 1e6
            ));
            details.push(format!("decoded by {} on {}", stream.backend.kind, stream.backend.device));
        }
        details.push(format!(
            "{damaged:.1} % of pictures damaged; {} lost since the start",
            self.lost.max(counters.frames_lost)
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
        let ms = self.freeze_max.as_secs_f64() * 1e3;
        details.push(format!("longest time without a new picture {ms:.0} ms"));
        self.recent = Recent { began: now, before: *link, ..Recent::default() };
        Status { line, details, path: link.path.name() }
    }

    /// Returns true if pictures wait for the decoder here, or stay in it, for longer than one comes after the other.
    fn is_too_slow(&self, means: Option<[f64; 5]>) -> bool {
        let [.., decoder, _] = means.unwrap_or_default();
        !self.interval.is_zero() && decoder > self.interval.as_secs_f64() * 1e3
    }

    fn line_in_words(&self, damaged: f64, culprit: Culprit) -> String {
        let Held { line, here, there } = self.recent.held;
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
fn suspect_ms(link: &LinkSnapshot) -> Option<f64> {
    link.clock_error_us.filter(|error| *error > SUSPECT_US).map(|error| error as f64 / 1e3)
}

/// Returns a time on the sender's clock as one on ours.
pub(crate) fn to_own(sender: Timestamp, offset_us: i64) -> Timestamp {
    Timestamp::from_us(sender.as_us().saturating_add_signed(offset_us.saturating_neg()))
}

#[cfg(test)]
mod tests {
    use common::percentiles::Percentiles;

    use common::path::PathCounters;
    use common::stream::video::ReceiverCounters;

    use super::*;
    use crate::handover::Missing;

    fn at(us: u64) -> Timestamp {
        Timestamp::from_us(us)
    }

    fn near(percentiles: Percentiles, us: u64) -> bool {
        percentiles.p50.abs_diff(us) <= us / 500
    }

    #[test]
    fn stages_add_up_to_the_latency_after_sending() {
        let mut presentation = Presentation::default();
        // The sender's clock is 5000 us ahead: it captured at our 10000 and sent at our 30000.
        let passed = Passed {
            capture: at(15_000),
            sent: at(35_000),
            received: at(42_000),
            released: at(43_000),
            decoded: at(53_000),
            compensate: Duration::from_micros(1_500),
            inverse: Duration::from_micros(4_000),
            clock_offset_us: Some(5_000),
            ..PASSED
        };
        let link = LinkSnapshot::default();
        presentation.on_shown(&passed, &link, at(55_000));
        let report = presentation.report(&link, None, Standing::default(), at(60_000), true);
        assert!(near(report.latency_us, 45_000), "{:?}", report.latency_us);
        let expected = [
            (Stage::Compensate, 1_500),
            (Stage::Network, 12_000),
            (Stage::Reassemble, 1_000),
            (Stage::Decode, 4_500),
            (Stage::Inverse, 4_000),
            (Stage::Present, 2_000),
        ];
        assert_eq!(report.stages_us.0.len(), expected.len());
        for ((stage, percentiles), (wanted, us)) in report.stages_us.0.iter().zip(expected) {
            assert!(*stage == wanted && near(*percentiles, us), "{stage:?} {percentiles:?}");
        }
        // The page in the window has all of the way, and its parts add up.
        let status = presentation.status(&link, None, at(60_000));
        assert_eq!(status.line, "Picture 45 ms behind, line good");
        let rows = [
            "camera and computer there    20.0 ms",
            "line                         12.0 ms",
            "wait for missing parts        1.0 ms",
            "decoder here                 10.0 ms",
            "display                       2.0 ms",
            "capture to display           45.0 ms",
        ];
        assert_eq!(status.details[..rows.len()], rows);
        assert!(!status.details.iter().any(|row| row.contains("clock")));
    }

    #[test]
    fn a_clock_that_may_be_wrong_by_more_than_2_ms_is_told_with_its_error() {
        let told = |error_us| {
            let mut presentation = Presentation::default();
            let link = LinkSnapshot { clock_error_us: error_us, ..LinkSnapshot::default() };
            let passed = Passed { received: at(20_000), released: at(20_000), decoded: at(20_000), ..PASSED };
            presentation.on_shown(&Passed { clock_offset_us: Some(0), ..passed }, &link, at(30_000));
            let report = presentation.report(&link, None, Standing::default(), at(40_000), false);
            assert_eq!(report.clock_error_us, error_us);
            let status = presentation.status(&link, None, at(40_000));
            let row = status.details.into_iter().find(|row| row.contains("clock"));
            (report.clock_suspect, status.line, row)
        };
        for sure in [None, Some(2_000)] {
            assert_eq!(told(sure), (false, "Picture 30 ms behind, line good".to_owned(), None));
        }
        let row = "clock suspect: \u{b1}4 ms of the line and the whole";
        let wanted = (true, "Picture 30 ms behind (\u{b1}4 ms), line good".to_owned(), Some(row.to_owned()));
        assert_eq!(told(Some(4_100)), wanted);
    }

    #[test]
    fn a_decoder_that_takes_longer_than_pictures_are_apart_is_too_slow() {
        let told = |decode_ms: u64| {
            let (mut presentation, link) = (Presentation::default(), LinkSnapshot::default());
            presentation.on_start(1, INTERVAL);
            let passed = Passed { decoded: at(1_000 * decode_ms), clock_offset_us: Some(0), ..PASSED };
            presentation.on_shown(&passed, &link, at(1_000 * decode_ms));
            presentation.status(&link, None, at(1_000_000)).line
        };
        assert_eq!(told(39), "Picture 39 ms behind, line good");
        let slow = "This computer is too slow to show 25 pictures a second";
        assert_eq!(told(41), format!("{slow}\nPicture 41 ms behind, line good"));
    }

    const PASSED: Passed = Passed {
        capture: Timestamp::from_us(0),
        sent: Timestamp::from_us(0),
        received: Timestamp::from_us(0),
        released: Timestamp::from_us(0),
        decoded: Timestamp::from_us(0),
        compensate: Duration::ZERO,
        inverse: Duration::ZERO,
        stalled: Duration::ZERO,
        clock_offset_us: None,
        missing: Missing { blocks: 0, coarse: 0 },
    };
    const INTERVAL: Duration = Duration::from_millis(40);

    fn link(streaming: bool, goodbye: u64, frames_lost: u64) -> LinkSnapshot {
        let counters = ReceiverCounters { frames_lost, ..ReceiverCounters::default() };
        LinkSnapshot { counters, streaming, goodbye, ..LinkSnapshot::default() }
    }

    /// Returns the longest freeze and the frames lost in a line written at `ms`.
    fn line(presentation: &mut Presentation, link: &LinkSnapshot, ms: u64) -> (f64, u64) {
        let report = presentation.report(link, None, Standing::default(), at(1_000 * ms), false);
        (report.freeze_ms_max, report.frames_lost)
    }

    #[test]
    fn a_standing_picture_is_a_freeze_and_a_pause_after_a_goodbye_is_not() {
        let mut presentation = Presentation::default();
        let (streaming, gone) = (link(true, 0, 0), link(false, 1, 0));
        presentation.on_start(1, INTERVAL);
        presentation.on_shown(&PASSED, &streaming, at(0));
        presentation.on_shown(&PASSED, &streaming, at(40_000));
        assert_eq!(line(&mut presentation, &streaming, 50), (40.0, 0));
        assert_eq!(line(&mut presentation, &streaming, 540), (500.0, 0));
        // The last picture is still on its way to the screen when the goodbye comes.
        presentation.on_shown(&PASSED, &gone, at(540_000));
        assert_eq!(line(&mut presentation, &gone, 5_000), (500.0, 0));
        presentation.on_start(2, INTERVAL);
        let back = link(true, 1, 0);
        presentation.on_shown(&PASSED, &back, at(9_000_000));
        let report = presentation.report(&back, None, Standing::default(), at(9_000_000), true);
        assert_eq!((report.freeze_ms_max, report.frames_lost, report.frames_shown), (500.0, 0, 4));
        assert_eq!(report.latency_us, Percentiles::default(), "without a clock offset there is no latency");
    }

    #[test]
    fn an_outage_is_a_freeze_and_its_frames_are_lost_also_after_the_connection_has_timed_out() {
        let mut presentation = Presentation::default();
        presentation.on_start(1, INTERVAL);
        presentation.on_shown(&PASSED, &link(true, 0, 5), at(1_000_000));
        // The connection does not know yet; then it has timed out, and two frames that were under way are lost.
        assert_eq!(line(&mut presentation, &link(true, 0, 5), 5_000), (4_000.0, 5));
        assert_eq!(line(&mut presentation, &link(false, 0, 7), 8_000), (7_000.0, 5 + 174));
        assert_eq!(line(&mut presentation, &link(false, 0, 7), 9_000), (8_000.0, 5 + 199));
        // Somebody calls; no picture yet.
        assert_eq!(line(&mut presentation, &link(true, 0, 7), 9_010), (8_010.0, 5 + 199));
        presentation.on_start(2, INTERVAL);
        assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_000), (9_000.0, 5 + 224));
        presentation.on_shown(&PASSED, &link(true, 0, 7), at(10_000_000));
        assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_010), (9_000.0, 5 + 224));
        presentation.on_shown(&PASSED, &link(true, 0, 7), at(10_040_000));
        assert_eq!(line(&mut presentation, &link(true, 0, 7), 10_050), (9_000.0, 5 + 224));
    }

    #[test]
    fn what_holds_a_picture_is_the_line_or_a_computer() {
        let ms = Duration::from_millis;
        let streaming = LinkSnapshot { streaming: true, ..LinkSnapshot::default() };
        // Captured, sent, received, shown, and how long the network thread had stood still.
        let held = |second: [u64; 4], stalled: u64, stalled_there: u64| {
            let mut presentation = Presentation::default();
            let pictures = [([0, 5, 30, 35], 0, 0), (second, stalled, stalled_there)];
            for ([capture, sent, received, shown], stalled, stalled_there) in pictures {
                let path_counters = PathCounters { peer_stalled: ms(stalled_there), ..PathCounters::default() };
                let streaming = LinkSnapshot { path_counters, ..streaming };
                let passed = Passed {
                    capture: at(1_000 * capture),
                    sent: at(1_000 * sent),
                    received: at(1_000 * received),
                    released: at(1_000 * received),
                    decoded: at(1_000 * received),
                    stalled: ms(stalled),
                    ..PASSED
                };
                presentation.on_shown(&passed, &streaming, at(1_000 * shown));
            }
            let report = presentation.report(&streaming, None, Standing::default(), at(1_000_000), true);
            let line = presentation.status(&streaming, None, at(1_000_000)).line;
            let words = line.strip_prefix("Picture, its delay not known yet, ").unwrap_or(&line).to_owned();
            (report.held_line_ms_max, report.held_computer_ms_max, words)
        };
        assert_eq!(held([17, 22, 47, 52], 0, 0), (0.0, 0.0, "line good".to_owned()));
        assert_eq!(held([17, 22, 127, 132], 0, 0), (80.0, 0.0, "held up 80 ms by the line".to_owned()));
        assert_eq!(held([17, 22, 127, 132], 80, 0), (0.0, 80.0, "held up 80 ms by this computer".to_owned()));
        assert_eq!(held([17, 22, 47, 112], 0, 0), (0.0, 60.0, "held up 60 ms by this computer".to_owned()));
        assert_eq!(held([17, 92, 117, 122], 0, 0), (0.0, 70.0, "held up 70 ms by the computer there".to_owned()));
        // It stood still between two pictures, or when a datagram should have left.
        for second in [[97, 102, 127, 132], [17, 22, 127, 132]] {
            assert_eq!(held(second, 0, 80), (0.0, 80.0, "held up 80 ms by the computer there".to_owned()));
        }
    }

    #[test]
    fn damage_is_blamed_on_whoever_has_done_it() {
        let ms = Duration::from_millis;
        let said = |change: fn(&mut ReceiverCounters, &mut PathCounters)| {
            let mut presentation = Presentation::default();
            let path_counters =
                PathCounters { receive_stalled: ms(500), peer_stalled: ms(700), ..PathCounters::default() };
            let mut link = LinkSnapshot { path_counters, streaming: true, ..LinkSnapshot::default() };
            let _ = presentation.status(&link, None, at(1_000_000));
            (link.counters.frames_complete, link.counters.frames_partial) = (22, 3);
            change(&mut link.counters, &mut link.path_counters);
            let line = presentation.status(&link, None, at(1_000_000)).line;
            line.rsplit_once("yet, ").map(|(_, words)| words.to_owned()).unwrap_or(line)
        };
        let not_finished = "the computer there is too busy: 12 % of pictures not finished";
        // Nothing was lost, mended or late.
        assert_eq!(said(|_, _| {}), not_finished);
        assert_eq!(
            said(|it, path| (path.peer_stalled, it.datagrams_late) = (Duration::from_millis(900), 16)),
            not_finished
        );
        let here = "this computer is too busy: 12 % of pictures damaged";
        assert_eq!(
            said(|_, path| (path.receive_stalled, path.datagrams_missing) = (Duration::from_millis(650), 9)),
            here
        );
        let poor = "line poor: 12 % of pictures damaged";
        assert_eq!(said(|_, path| path.datagrams_missing = 9), poor);
        assert_eq!(said(|it, _| it.datagrams_late = 2), poor);
        // A moment is no reason.
        assert_eq!(
            said(|_, path| (path.receive_stalled, path.datagrams_missing) = (Duration::from_millis(505), 9)),
            poor
        );
    }

    #[test]
    fn counts_of_the_list_are_among_the_figures_once_they_have_occurred() {
        let mut presentation = Presentation::default();
        let mut link = LinkSnapshot::default();
        let line = "Frames not decoded because the state that they refer to was not there: 3".to_owned();
        assert!(!presentation.status(&link, None, at(1)).details.iter().any(|found| found.starts_with("Frames not")));
        link.counters.counts.frames_lacking_reference = 3;
        assert!(presentation.status(&link, None, at(2)).details.contains(&line));
    }

    #[test]
    fn the_status_covers_the_time_since_the_last_one() {
        let mut presentation = Presentation::default();
        let mut words = |complete, lost, ms: u64| {
            let counters =
                ReceiverCounters { frames_complete: complete, frames_lost: lost, ..ReceiverCounters::default() };
            let path_counters = PathCounters { datagrams_missing: lost, ..PathCounters::default() };
            let link = LinkSnapshot { counters, path_counters, streaming: true, ..LinkSnapshot::default() };
            let line = presentation.status(&link, None, at(1_000 * ms)).line;
            line.rsplit_once("yet, ").map(|(_, words)| words.to_owned())
        };
        assert_eq!(words(27, 3, 1_000).as_deref(), Some("line poor: 10 % of pictures damaged"));
        assert_eq!(words(127, 5, 2_000).as_deref(), Some("line fair: 2 % of pictures damaged"));
        assert_eq!(words(157, 5, 3_000).as_deref(), Some("line good"));
    }
}
