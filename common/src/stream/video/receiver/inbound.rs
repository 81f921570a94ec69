//! One stream as it arrives: it decides which frames are released when.

use std::time::Duration;

use picture::params::StreamParams;

use super::events::{ArrivedFrame, ReceiverCounters, ReceiverOptions};
use crate::path::Path;
use crate::path::pacing::BURST_INTERVAL;
use crate::reason::{Reason, Reasons};
use crate::stream::video::arrival::ExpectedArrival;
use crate::stream::video::backlog::Backlog;
use crate::stream::video::jitter::Jitter;
use crate::stream::video::overtaking::Overtaking;
use crate::stream::video::reassemble::{AssembledFrame, DatagramOutcome, Reassembler};
use crate::units::{FrameId, SequenceNumber, Timestamp};
use crate::wire::control::SourceState;
use crate::wire::media::MediaHeader;

#[derive(Debug)]
pub(super) struct Inbound {
    interval: Duration,
    latency_max: Duration,
    /// Longest duration after a frame's end for which overtaken datagrams are waited for.
    overtaken_max: Duration,
    overtaking: Overtaking,
    reassembler: Reassembler,
    /// The stream's first frame: datagrams of one before count their numbers from elsewhere.
    start: FrameId,
    arrival: ExpectedArrival,
    jitter: Jitter,
    last_released: FrameId,
    /// The newest frame whose end has been seen; the older ones have ended, too.
    ended: Option<Ended>,
    /// The newest frame of which something came: number and sending of its first datagram that did.
    newest: Option<(FrameId, SequenceNumber, Timestamp)>,
    ending: Option<Ending>,
    /// Backlog; none: old frames are wanted, too.
    backlog: Option<Backlog>,
    /// Sender's source, as it has said.
    pub(super) source: SourceState,
}

/// End of a frame: one of its last two datagrams came, which are marked, or one of the next frame.
#[derive(Clone, Copy, Debug)]
struct Ended {
    frame: FrameId,
    at: Timestamp,
    /// Time in which the other one of the last two may leave after this one.
    rest: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    last_frame: FrameId,
    deadline: Timestamp,
}

/// Frames before a stream's first of which something may be under way.
const BEFORE_MAX: i32 = 256;

/// Shares of the frame interval for which a frame is waited for after its expected arrival, and overtaken datagrams after its end,
/// unless a latency limit says otherwise. `config/table.rs` and the shell's `latency_limit.rs` say them to users.
const WAITED: [u32; 2] = [3, 4];
const OVERTAKEN_WAITED: [u32; 2] = [1, 5];

/// Time for which a frame is waited for, and overtaken datagrams after its end.
fn waits(latency_max: Option<Duration>, interval: Duration) -> [Duration; 2] {
    [WAITED, OVERTAKEN_WAITED].map(|[part, of]| latency_max.unwrap_or(interval * part / of))
}

impl Inbound {
    pub(super) fn new(params: &StreamParams, start_frame: FrameId, options: &ReceiverOptions, now: Timestamp) -> Self {
        let interval = params.frame_rate.interval();
        let reassembler = Reassembler::new(params, start_frame, now);
        let [latency_max, overtaken_max] = waits(options.latency_max, interval);
        Self {
            interval,
            latency_max,
            overtaken_max,
            overtaking: Overtaking::new(now),
            last_released: reassembler.last_released(),
            reassembler,
            start: start_frame,
            arrival: ExpectedArrival::default(),
            jitter: Jitter::default(),
            ended: None,
            newest: None,
            ending: None,
            backlog: options.drops_backlog.then(|| Backlog::new(now)),
            source: SourceState::Gives,
        }
    }

    pub(super) fn set_latency_max(&mut self, latency_max: Option<Duration>) {
        [self.latency_max, self.overtaken_max] = waits(latency_max, self.interval);
    }

    /// Takes a datagram while the decoder is not there: one of the stream before, which was under way, has arrived.
    pub(super) fn on_early_datagram(&self, datagram: &[u8], path: &mut Path, now: Timestamp) {
        if let Ok((header, _)) = MediaHeader::parse(datagram) {
            self.is_of_before(&header, path, now);
        }
    }

    /// Returns true for a datagram of a frame before this stream's first. The path learns that it has arrived if that frame is not long
    /// ago.
    fn is_of_before(&self, header: &MediaHeader, path: &mut Path, now: Timestamp) -> bool {
        let before = self.start.ahead_of(header.frame);
        if (1..=BEFORE_MAX).contains(&before) {
            path.on_media(&header.envelope, now);
        }
        before > 0
    }

    pub(super) fn on_datagram(&mut self, datagram: &[u8], path: &mut Path, now: Timestamp) -> DatagramOutcome {
        let (header, payload) = match MediaHeader::parse(datagram) {
            Ok(parsed) => parsed,
            Err(reason) => return DatagramOutcome::Malformed(reason.into()),
        };
        if self.is_of_before(&header, path, now) {
            return DatagramOutcome::Late;
        }
        let outcome = self.reassembler.on_media(&header, payload, now);
        if matches!(outcome, DatagramOutcome::Malformed(_) | DatagramOutcome::TooFarAhead) {
            return outcome;
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.on_datagram(now);
        }
        let (sent, late) = (header.envelope.sent(), path.on_media(&header.envelope, now));
        if let Some(late) = late {
            self.jitter.on_datagram(sent, now);
            self.overtaking.on_datagram(late, now);
            self.note_end(&header, sent, now);
        }
        if outcome == DatagramOutcome::Late {
            if late.is_none() {
                return DatagramOutcome::Duplicate;
            }
            if !self.is_stale(header.envelope.capture, now) {
                self.arrival.on_part(header.envelope.capture, now);
            }
        }
        outcome
    }

    /// Notes the end that a datagram shows which comes for the first time.
    fn note_end(&mut self, header: &MediaHeader, sent: Timestamp, now: Timestamp) {
        let frame = header.frame;
        if self.newest.is_none_or(|newest| frame.is_newer_than(newest.0)) {
            self.newest = Some((frame, header.envelope.sequence, sent));
        }
        let end = if header.is_last { frame } else { FrameId(frame.0.wrapping_sub(1)) };
        let known = self.ended.filter(|ended| !end.is_newer_than(ended.frame));
        let is_second = header.is_last && known.is_some_and(|ended| ended.frame == end);
        if known.is_some() && !is_second {
            return;
        }
        // Its datagrams have left evenly, in bursts a millisecond apart or more.
        let apart = self.newest.filter(|newest| newest.0 == frame).and_then(|(_, first, first_sent)| {
            let datagrams =
                u32::try_from(header.envelope.sequence.ahead_of(first)).ok().filter(|&datagrams| datagrams > 0)?;
            Some(sent.since(first_sent) / datagrams)
        });
        let rest = apart.unwrap_or_default().max(BURST_INTERVAL) * 3 / 2;
        let is_whole = is_second || !header.is_last;
        self.ended = Some(Ended { frame: end, at: now, rest: if is_whole { Duration::ZERO } else { rest } });
    }

    /// Returns the next frame that is complete, pushed out or due. Counts it, and those that never came before it.
    pub(super) fn poll_frame(
        &mut self,
        now: Timestamp,
        stalled: Duration,
        counters: &mut ReceiverCounters,
        reasons: &mut Reasons,
    ) -> Option<ArrivedFrame> {
        let recovered = self.reassembler.take_recovered();
        counters.fec_recovered += recovered.datagrams;
        counters.fec_malformed += recovered.malformed;
        // A frame of which nothing can be decoded is a lost one: the picture before it is better than none. So is one
        // that is old. The next one's number tells.
        let (frame, is_due) = loop {
            let (frame, is_due) = self.next_frame(now)?;
            let reason = if frame.is_empty() {
                Reason::FrameUnusable { frame: frame.id, waited: now.since(frame.first_received) }
            } else if self.is_stale(frame.capture, now) {
                Reason::FrameStale { frame: frame.id }
            } else {
                break (frame, is_due);
            };
            reasons.push(reason, &mut counters.reasons);
        };
        self.jitter.on_frame(frame.last_received.since(self.arrival.expected(&frame, self.interval)));
        counters.jitter_us = self.jitter.jitter_us();
        counters.lateness_us_p95 = self.jitter.lateness_us_p95();
        if frame.is_complete() {
            self.arrival.on_complete(frame.capture, frame.last_received);
            counters.frames_complete += 1;
        } else {
            self.arrival.on_part(frame.capture, frame.last_received);
            counters.frames_partial += 1;
            let (missing, blocks) = (frame.frame.missing(), frame.frame.block_count());
            let reason = if is_due {
                Reason::PartsMissing { frame: frame.id, missing, blocks, waited: now.since(frame.first_received) }
            } else {
                Reason::PushedOut { frame: frame.id, missing, blocks }
            };
            reasons.push(reason, &mut counters.reasons);
        }
        let skipped = u64::try_from(frame.id.ahead_of(self.last_released)).unwrap_or(1).saturating_sub(1);
        counters.frames_lost += skipped;
        if skipped > 0 {
            reasons.push(Reason::FramesSkipped { frames: skipped, before: frame.id }, &mut counters.reasons);
        }
        self.last_released = frame.id;
        Some(ArrivedFrame { assembled: frame, released: now, stalled })
    }

    fn is_stale(&self, capture: Timestamp, now: Timestamp) -> bool {
        self.backlog.is_some_and(|backlog| backlog.is_stale(self.arrival.lateness(capture, now), now))
    }

    /// The next frame to release, and whether its deadline made it one.
    fn next_frame(&mut self, now: Timestamp) -> Option<(AssembledFrame, bool)> {
        self.reassembler.poll_frame().map(|frame| (frame, false)).or_else(|| {
            let is_over = self.ending.is_some_and(|ending| ending.deadline <= now);
            let due = |frame: &&_| is_over || self.deadline(frame) <= now;
            let id = self.reassembler.pending().find(due)?.id;
            self.reassembler.release(id).map(|frame| (frame, true))
        })
    }

    /// Returns the time until which the rest of a frame is waited for: not long once its end has been seen.
    fn deadline(&self, frame: &AssembledFrame) -> Timestamp {
        let latest = self.arrival.deadline(frame, self.interval, self.latency_max);
        match self.ended {
            Some(Ended { frame: end, at, rest }) if !frame.id.is_newer_than(end) => {
                latest.min(at + (rest + self.overtaking.wait(self.overtaken_max)).min(self.overtaken_max))
            }
            _ => latest,
        }
    }

    /// Returns the time at which [`Self::poll_frame`] or [`Self::poll_over`] may give something without a datagram.
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        let due = self.reassembler.pending().map(|frame| self.deadline(frame));
        due.chain(self.ending.map(|ending| ending.deadline)).min()
    }

    /// Takes the number of the sender's last frame; none: it sent none.
    pub(super) fn on_finished(&mut self, last_frame: Option<FrameId>, now: Timestamp) {
        let last_frame = last_frame.unwrap_or(self.last_released);
        self.ending = Some(Ending { last_frame, deadline: now + self.interval + self.latency_max });
    }

    /// Ends the stream: nothing more will come.
    pub(super) fn on_disconnected(&mut self, now: Timestamp) {
        if let Some(ending) = &mut self.ending {
            ending.deadline = now;
        }
    }

    /// Returns true if the last frame has been released or given up; counts what never came. Take all frames before.
    pub(super) fn poll_over(&mut self, now: Timestamp, counters: &mut ReceiverCounters, reasons: &mut Reasons) -> bool {
        let Some(ending) = self.ending else { return false };
        let missing = u64::try_from(ending.last_frame.ahead_of(self.last_released)).unwrap_or(0);
        if missing > 0 && now < ending.deadline {
            return false;
        }
        counters.frames_lost += missing;
        if missing > 0 {
            let before = ending.last_frame.next();
            reasons.push(Reason::FramesSkipped { frames: missing, before }, &mut counters.reasons);
        }
        true
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.reassembler.held_bytes()
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Returns the frames of which something came and that will not be released any more.
    pub(super) fn pending(&self) -> usize {
        self.reassembler.pending().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_waited_for_three_quarters_of_an_interval_or_as_long_as_the_limit_says() {
        let ms = Duration::from_millis;
        assert_eq!(waits(None, ms(40)), [ms(30), ms(8)]);
        assert_eq!(waits(Some(ms(25)), ms(40)), [ms(25), ms(25)]);
    }
}
