//! The sending end.

mod events;

use std::collections::VecDeque;
use std::time::Duration;

use picture::coded::{CodedFrame, FrameHeader};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::run::{FRAME_HEADER_BYTES, coded_size, map_bytes};
use picture::vectors::VectorLayout;

pub use self::events::{FrameTimes, SenderCounters, SenderEvent};
use super::budget::Budget;
use super::packetise::{Packet, packetise};
use super::protection::{PARITY_EXTRA_BYTES, Protection, Protector};
use super::{RANK, VIDEO};
use crate::act_limit::ActLimit;
use crate::path::pacing::{Pacer, pacing_span, pacing_span_beside};
use crate::path::{FeedbackOutcome, Outbox, Path, ProtocolViolation, Share};
use crate::reason::{Reason, Reasons};
use crate::units::{Bitrate, FrameId, Timestamp};
use crate::wire::control::{ByeReason, ControlMessage, SourceState};
use crate::wire::media::{Envelope, MediaHeader};
use crate::wire::states::{StatesError, StatesReport};
use crate::wire::{LOWER_LAYERS_BYTES, on_wire};

/// Streams that may begin anew on one connection: fewer than a receiver bears, which may learn of several at once.
fn restarts_allowed(now: Timestamp) -> ActLimit {
    ActLimit::new(4, Duration::from_millis(2_100), now)
}

/// Number of a frame's last datagrams that are marked as such: the receiver learns of its end though one is lost.
const MARKED_LAST: usize = 2;

/// Ratio of a frame to what it may take by now, from which on it loses what has not left. A route that becomes longer
/// looks like a queue for a moment, and should cost no detail.
const LEFT_OUT_FROM: f64 = 3.0;

/// Time for which a sender that is done waits for the receiver's confirmation.
const CONFIRMATION_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderPhase {
    Disconnected,
    /// The peer's Hello is not in.
    Greeting,
    /// Welcome is out.
    Preparing,
    Streaming,
    /// A Bye has come or gone.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finishing {
    No,
    /// Datagrams are still to leave.
    Draining,
    /// Bye is out.
    Waiting {
        until: Timestamp,
    },
    Done,
}

/// The sending end of a stream of video.
#[derive(Debug)]
pub struct VideoSender {
    params: StreamParams,
    coarse_blocks: usize,
    /// Slices of vectors, of a frame with a reference.
    slices: usize,
    protection: Protection,
    protector: Protector,
    budget: Budget,
    /// Its frames are coded for other streams, too.
    is_shared: bool,
    phase: SenderPhase,
    finishing: Finishing,
    next_frame: FrameId,
    /// The last frame given in this connection.
    current: Option<CurrentFrame>,
    source: SourceState,
    pacer: Pacer<Packet>,
    control: Outbox,
    restarts: ActLimit,
    events: VecDeque<SenderEvent>,
    counters: SenderCounters,
    reasons: Reasons,
}

#[derive(Clone, Copy, Debug)]
struct CurrentFrame {
    id: FrameId,
    steps: FrameHeader,
    reference: u8,
    times: FrameTimes,
    coded_bytes: usize,
    /// Ratio of what it may take to the share of a frame then.
    shares: f64,
    /// Blocks that always go, and the number of protection groups that are theirs: the first ones.
    coarse_blocks: usize,
    coarse_groups: u8,
    /// Datagrams without parity, and bytes on the wire that have left.
    datagrams: usize,
    sent_bytes: usize,
    /// True if detail was left out because the target has fallen since the frame was coded.
    is_cut: bool,
}

/// Returns the budget of the frames of a stream.
fn budget(params: &StreamParams, layout: &BlockLayout, rate: Bitrate) -> Budget {
    let is_predicted = params.codec.profile.states() > 0;
    let smallest = usize::from(is_predicted) + FRAME_HEADER_BYTES + map_bytes(layout.blocks().len());
    let sharp = is_predicted.then(|| Budget::sharp(params.size.pixels()));
    Budget::new(rate, params.frame_rate.interval(), smallest, sharp)
}

impl VideoSender {
    /// Creates an end without a connection. What is coded before a stream begins is its first frame, on a path with at most
    /// `rate_max`.
    pub fn new(params: StreamParams, rate_max: Bitrate, protection: Protection) -> Self {
        let layout = BlockLayout::new(&params);
        Self {
            params,
            coarse_blocks: layout.coarse_blocks(),
            slices: VectorLayout::new(params.size).slices(),
            protection,
            protector: Protector::new(protection, &layout),
            budget: budget(&params, &layout, Path::first_target(rate_max)),
            is_shared: false,
            phase: SenderPhase::Disconnected,
            finishing: Finishing::No,
            next_frame: FrameId(0),
            current: None,
            source: SourceState::Gives,
            pacer: Pacer::default(),
            control: Outbox::default(),
            restarts: restarts_allowed(Timestamp::default()),
            events: VecDeque::new(),
            counters: SenderCounters::default(),
            reasons: Reasons::default(),
        }
    }

    /// Takes notice that its frames are coded for other streams, too: each has one share, by which their lines are compared.
    pub fn set_shared(&mut self) {
        self.is_shared = true;
    }

    /// Takes a new connection. Ends an earlier one.
    pub fn on_connected(&mut self, path: &mut Path, now: Timestamp) {
        self.on_disconnected(path);
        if self.finishing != Finishing::Done {
            self.phase = SenderPhase::Greeting;
            self.restarts = restarts_allowed(now);
        }
    }

    /// Ends the connection; the stream waits for the next.
    pub fn on_disconnected(&mut self, path: &mut Path) {
        path.end(VIDEO);
        self.drop_stream();
        self.on_target(path);
        self.control.clear();
        self.phase = SenderPhase::Disconnected;
        if self.finishing != Finishing::No {
            self.confirm_finish();
        }
    }

    /// Offers the stream: both machines have greeted.
    pub fn on_greeted(&mut self) {
        if self.phase == SenderPhase::Greeting {
            self.welcome();
        }
    }

    /// Takes notice that the path's target or the size of its datagrams may have changed.
    pub fn on_target(&mut self, path: &Path) {
        self.budget.set_rate(path.budget(VIDEO));
        self.budget.set_line(path.bears().filter(|_| !self.is_shared));
        self.budget.set_max_datagram(path.max_datagram());
    }

    /// Takes notice of a feedback report: detail for which the target has no room any more does not leave.
    pub fn on_feedback(&mut self, path: &Path) {
        self.on_target(path);
        self.leave_out_detail(path);
    }

    /// Goes on with pictures of other parameters, over the same connection: no frame is wanted until the receiver has another
    /// decoder, which [`SenderEvent::Streaming`] tells. False, and nothing is changed: a receiver is about to be ready for the
    /// parameters of before, or the video ends, or this has been done too often of late.
    pub fn restart(&mut self, params: StreamParams, path: &Path, now: Timestamp) -> bool {
        let cannot = self.phase == SenderPhase::Preparing || self.finishing != Finishing::No;
        if cannot || (self.phase == SenderPhase::Streaming && !self.restarts.take(now)) {
            return false;
        }
        let layout = BlockLayout::new(&params);
        self.params = params;
        self.coarse_blocks = layout.coarse_blocks();
        self.slices = VectorLayout::new(params.size).slices();
        self.protector = Protector::new(self.protection, &layout);
        self.budget = budget(&params, &layout, path.budget(VIDEO));
        self.on_target(path);
        if self.phase == SenderPhase::Streaming {
            self.drop_stream();
            self.welcome();
        }
        true
    }

    /// Returns the parameters of the stream.
    pub fn params(&self) -> &StreamParams {
        &self.params
    }

    fn welcome(&mut self) {
        self.control.push(ControlMessage::Welcome { params: self.params, start_frame: self.next_frame });
        self.phase = SenderPhase::Preparing;
    }

    /// Forgets what has left of the stream so far.
    fn drop_stream(&mut self) {
        self.drop_unsent();
        self.current = None;
    }

    /// Takes a message of the receiving end.
    pub fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (SenderPhase::Disconnected | SenderPhase::Over, _) => {}
            (_, ControlMessage::Bye { reason }) => {
                path.end(VIDEO);
                self.on_bye(reason);
            }
            (SenderPhase::Preparing, ControlMessage::Ready) => {
                self.phase = SenderPhase::Streaming;
                path.begin(VIDEO, Share { rank: RANK, needs: None, interval: self.params.frame_rate.interval() }, now);
                self.on_target(path);
                self.events.push_back(SenderEvent::Streaming);
                if self.source != SourceState::Gives {
                    self.control.push(ControlMessage::Source { state: self.source });
                }
            }
            (_, ControlMessage::Ready) => self.violation("Ready where no stream was offered".to_owned())?,
            (_, _) => self.violation("a message that no receiver of video sends".to_owned())?,
        }
        Ok(())
    }

    /// Tells the receiver of a change when the source stalls, is lost, or gives pictures again.
    pub fn set_source(&mut self, state: SourceState) {
        let is_new = std::mem::replace(&mut self.source, state) != state;
        if is_new && self.phase == SenderPhase::Streaming {
            self.control.push(ControlMessage::Source { state });
        }
    }

    /// Takes a datagram of the receiving end, which is a report of states.
    pub fn on_datagram(&mut self, datagram: &[u8]) -> FeedbackOutcome {
        let outcome = if self.phase == SenderPhase::Streaming {
            self.on_states(datagram).unwrap_or_else(|error| FeedbackOutcome::Malformed(error.into()))
        } else {
            FeedbackOutcome::Unexpected
        };
        match outcome {
            FeedbackOutcome::Malformed(_) => self.counters.states_malformed += 1,
            FeedbackOutcome::Accepted | FeedbackOutcome::OutOfDate | FeedbackOutcome::Unexpected => {}
        }
        outcome
    }

    fn on_states(&mut self, datagram: &[u8]) -> Result<FeedbackOutcome, StatesError> {
        if self.params.codec.profile.states() == 0 {
            return Err(StatesError::NoStates);
        }
        self.events.push_back(SenderEvent::States(StatesReport::parse(datagram)?));
        Ok(FeedbackOutcome::Accepted)
    }

    /// Returns true if frames are wanted.
    pub fn is_streaming(&self) -> bool {
        self.phase == SenderPhase::Streaming && self.finishing == Finishing::No
    }

    /// Returns true if the next frame should wait until the last one has left: beside sound a frame takes nearly all of its interval, and
    /// one that comes a little early would cost it its end.
    pub fn is_about_to_end(&self, path: &Path, now: Timestamp) -> bool {
        let patience = self.params.frame_rate.interval() / 2;
        path.beside().is_some() && self.pacer.last_at().is_some_and(|last| last < now + patience)
    }

    /// Returns the bytes that the next frame may have, as [`coded_size`] counts them.
    pub fn budget_bytes(&self) -> usize {
        self.budget.coded()
    }

    /// Returns the number of the next frame, unless the caller leaves some out.
    pub fn next_frame(&self) -> FrameId {
        self.next_frame
    }

    /// Takes a frame with its number, from 0 on. What has not left of an older one is dropped. Numbers may be left out; a
    /// frame whose number does not rise is dropped.
    pub fn on_frame(&mut self, id: FrameId, frame: &CodedFrame, times: FrameTimes, path: &Path, now: Timestamp) {
        if !self.is_streaming() || self.next_frame.is_newer_than(id) {
            self.counters.frames_unwanted += 1;
            return;
        }
        self.next_frame = id.next();
        let reference = frame.reference;
        let slices = if reference > 0 { self.slices } else { 0 };
        let coarse_blocks = slices + self.coarse_blocks;
        let max_datagram = path.max_datagram().saturating_sub(PARITY_EXTRA_BYTES);
        let coded_bytes = coded_size(frame);
        let mut packets = packetise(frame, coarse_blocks, max_datagram);
        let packet_count = packets.len();
        let gross = self.budget.gross_of(coded_bytes);
        packets.truncate(self.wanted(&packets, coarse_blocks, gross, path));
        let is_cut = packets.len() < packet_count;
        if is_cut {
            let (sent, target) = (packets.len(), path.target());
            self.tell(Reason::DetailLeftOut { frame: id, sent, datagrams: packet_count, target });
        }
        let data_bytes: usize = packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let room = gross.saturating_sub(data_bytes);
        let (loss, most) = (path.loss(), Budget::parity_most(gross));
        let protected = self.protector.protect(packets, slices, loss, room, most, LOWER_LAYERS_BYTES);
        let shares = gross as f64 / self.budget.gross().max(1) as f64;
        self.budget.on_frame(coded_bytes, packet_count, protected.parity_wanted, reference == 0);
        let wire_bytes: usize = protected.packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let pace = path.pace();
        let span = Duration::from_secs_f64(8.0 * wire_bytes as f64 / pace.as_bps().max(1) as f64);
        let interval = self.params.frame_rate.interval();

        self.drop_unsent();
        let coarse = protected.packets.iter().filter(|packet| packet.begins_before(coarse_blocks));
        let coarse_groups = coarse.filter_map(|packet| packet.place).map(|place| place.group).max().unwrap_or(0);
        let datagrams = packet_count;
        if path.beside().is_some() {
            let span = span.min(pacing_span_beside(interval));
            self.pacer.spread(protected.packets, now, span, path.burst_bytes(now));
        } else {
            self.pacer.start(protected.packets, now, span.min(pacing_span(interval)));
        }
        self.current = Some(CurrentFrame {
            id,
            steps: frame.header,
            reference,
            times,
            coded_bytes,
            shares,
            coarse_blocks,
            coarse_groups,
            datagrams,
            sent_bytes: 0,
            is_cut,
        });
    }

    /// Returns the next datagram to hand to the socket at `now`.
    pub fn poll_datagram(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        path.look(now);
        let current = self.current.as_mut()?;
        let packet = self.pacer.poll(now)?;
        let header = MediaHeader {
            envelope: Envelope {
                stream: VIDEO,
                sequence: path.send(VIDEO, packet.bytes(), now),
                capture: current.times.capture,
                sent_offset_us: u32::try_from(now.since(current.times.capture).as_micros()).unwrap_or(u32::MAX),
            },
            frame: current.id,
            steps: current.steps,
            reference: current.reference,
            is_last: self.pacer.len() < MARKED_LAST,
            place: packet.place,
            content: packet.content,
        };
        let (datagram, is_parity) = (header.datagram(&packet.payload), packet.is_parity());
        current.sent_bytes += on_wire(datagram.len());
        self.counters.datagrams_sent += 1;
        self.counters.counts.bytes_sent += datagram.len() as u64;
        if !is_parity && self.pacer.unsent() == 0 && current.is_cut {
            self.counters.frames_cut += 1;
        } else if !is_parity && self.pacer.unsent() == 0 {
            self.counters.frames_sent += 1;
            self.counters.coded_bytes += current.coded_bytes as u64;
            self.counters.last_pace = now.since(current.times.coded);
        }
        self.finish_if_drained(now);
        Some(datagram)
    }

    /// Returns the next message for the peer.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let confirmation = match self.finishing {
            Finishing::Waiting { until } => Some(until),
            _ => None,
        };
        [self.pacer.next_at(), confirmation].into_iter().flatten().min()
    }

    /// Does what is due, once the time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if matches!(self.finishing, Finishing::Waiting { until } if until <= now) {
            self.confirm_finish();
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// The next reason for a frame that has not left whole. Those that nobody takes are forgotten in the end.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.reasons.pop()
    }

    fn tell(&mut self, reason: Reason) {
        self.reasons.push(reason, &mut self.counters.reasons);
    }

    /// Ends the video: lets the last frame out, says so and waits for the receiver ([`SenderEvent::Finished`]).
    pub fn finish(&mut self, now: Timestamp) {
        if self.finishing == Finishing::No {
            self.finishing = Finishing::Draining;
            match self.phase {
                SenderPhase::Disconnected | SenderPhase::Over => self.confirm_finish(),
                SenderPhase::Greeting | SenderPhase::Preparing | SenderPhase::Streaming => self.finish_if_drained(now),
            }
        }
    }

    /// Says that we stop but may come back.
    pub fn stop(&mut self) {
        self.bye(ByeReason::Stopping);
    }

    /// Returns what has been counted.
    pub fn stats(&self) -> SenderCounters {
        self.counters
    }

    /// Returns the number of a frame's datagrams to transmit: all, unless the target has fallen a good deal since the
    /// frame was coded, or the receiver is silent. The coarse ones always go.
    fn wanted(&self, packets: &[Packet], coarse_blocks: usize, gross: usize, path: &Path) -> usize {
        let coarse = packets.iter().take_while(|packet| packet.begins_before(coarse_blocks)).count();
        if path.is_coarse_only() {
            return coarse;
        }
        let mut left = (gross + gross / 4).max(2 * on_wire(path.max_datagram()));
        let fitting = packets.iter().take_while(|packet| {
            let bytes = on_wire(packet.bytes());
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        fitting.count().max(coarse)
    }

    /// Leaves out what the present frame should no longer have, because the target has fallen while it leaves: the line
    /// has become much slower, and what stands in its queue holds up the next frames. The coarse datagrams and their
    /// parity always go.
    fn leave_out_detail(&mut self, path: &Path) {
        let Some(current) = &mut self.current else { return };
        let most = LEFT_OUT_FROM * current.shares * self.budget.gross() as f64;
        let most = (most as usize).max(2 * on_wire(path.max_datagram()));
        let left_out = self.pacer.leave_out(most.saturating_sub(current.sent_bytes), MARKED_LAST, |packet| {
            packet.begins_before(current.coarse_blocks)
                || packet.place.is_some_and(|place| place.group <= current.coarse_groups)
        });
        if left_out > 0 {
            let (frame, sent) = (current.id, current.datagrams - left_out);
            let datagrams = std::mem::replace(&mut current.datagrams, sent);
            current.is_cut = true;
            self.counters.frames_cut += u64::from(self.pacer.unsent() == 0);
            self.tell(Reason::DetailLeftOut { frame, sent, datagrams, target: path.target() });
        }
    }

    fn drop_unsent(&mut self) {
        let dropped = self.pacer.clear();
        self.counters.datagrams_dropped += dropped.datagrams as u64;
        self.counters.frames_cut += u64::from(dropped.cuts_frame);
        if let Some(current) = self.current.filter(|_| dropped.cuts_frame) {
            self.tell(Reason::FrameOvertaken { frame: current.id, unsent: dropped.datagrams });
        }
    }

    fn finish_if_drained(&mut self, now: Timestamp) {
        if self.finishing == Finishing::Draining && self.pacer.next_at().is_none() {
            let last_frame = self.current.map(|frame| frame.id);
            self.control.push(ControlMessage::Bye { reason: ByeReason::Finished { last_frame } });
            self.finishing = Finishing::Waiting { until: now + CONFIRMATION_MAX };
        }
    }

    fn confirm_finish(&mut self) {
        if self.finishing != Finishing::Done {
            self.finishing = Finishing::Done;
            self.phase = SenderPhase::Over;
            self.events.push_back(SenderEvent::Finished);
        }
    }

    fn on_bye(&mut self, reason: ByeReason) {
        self.drop_unsent();
        self.phase = SenderPhase::Over;
        if self.finishing != Finishing::No {
            self.confirm_finish();
            return;
        }
        self.events.push_back(match reason {
            ByeReason::Finished { .. } => SenderEvent::PeerFinished,
            ByeReason::Stopping => SenderEvent::PeerStopping,
            ByeReason::ReplacedByNewer => SenderEvent::PeerReplaced,
            ByeReason::Protocol(text) => SenderEvent::PeerRejected(text),
        });
    }

    fn violation(&mut self, text: String) -> Result<(), ProtocolViolation> {
        let violation = ProtocolViolation::of(&text);
        self.bye(ByeReason::Protocol(text));
        Err(violation)
    }

    fn bye(&mut self, reason: ByeReason) {
        if !matches!(self.phase, SenderPhase::Disconnected | SenderPhase::Over) {
            self.drop_unsent();
            self.control.push(ControlMessage::Bye { reason });
            self.phase = SenderPhase::Over;
        }
    }
}
