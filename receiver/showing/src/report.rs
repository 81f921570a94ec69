//! Figures of the stream: the statistics file's lines and the window's line.

mod held;
mod status;
mod way;

use std::time::Duration;

use common::percentiles::TimeHistogram;
use common::stats::{ReceiverReport, SoundHeardCounts, Stage, StageHistograms, Standing};
use common::units::Timestamp;

use self::held::Held;
pub use self::status::Status;
use self::status::{Recent, SinceStart, suspect_ms};
pub(crate) use self::way::to_own;
use crate::handover::{LinkSnapshot, Passed, Stream};

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
            sound_lacking_ms: None,
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
        let start = SinceStart { interval: self.interval, lost: self.lost, freeze_max: self.freeze_max };
        self.recent.status(&start, link, stream, now)
    }
}

#[cfg(test)]
mod tests;
