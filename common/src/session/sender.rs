//! The sending end.

mod events;

use std::collections::VecDeque;
use std::time::Duration;

use picture::coded::{CodedFrame, FrameHeader};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;
use picture::run::{FRAME_HEADER_BYTES, coded_size, map_bytes};
use picture::vectors::VectorLayout;

pub use self::events::{FeedbackOutcome, FrameTimes, SenderCounters, SenderEvent};
use super::budget::Budget;
use super::loss::{LossEstimate, LossMeter};
use super::outbox::Outbox;
use super::pacer::{Pacer, pacing_span};
use super::rate::{RateControl, Told};
use super::reason::{Reason, Reasons};
use super::sent::{Arrival, SentLog, round_trip};
use super::watch::Watch;
use super::{ProtocolViolation, check_hello, hello};
use crate::act_limit::ActLimit;
use crate::packetise::{Packet, packetise};
use crate::protection::{PARITY_EXTRA_BYTES, Protection, Protector};
use crate::units::{Bitrate, FrameId, SequenceNumber, Timestamp};
use crate::wire::control::{ByeReason, ControlMessage, SourceState, StreamEnd};
use crate::wire::feedback::FeedbackHeader;
use crate::wire::media::MediaHeader;
use crate::wire::states::{StatesReport, is_states};
use crate::wire::{LOWER_LAYERS_BYTES, PacketError, on_wire};

/// Pings that are answered: 20 a second for long, as in a receiver's first moments; at once, twice as many as gather
/// while QUIC waits on a dead line.
fn pings_allowed(now: Timestamp) -> ActLimit {
    ActLimit::new(64, Duration::from_millis(50), now)
}

/// Streams that may begin anew on one connection: fewer than a receiver bears, which may learn of several at once.
fn restarts_allowed(now: Timestamp) -> ActLimit {
    ActLimit::new(4, Duration::from_millis(2_100), now)
}

/// Number of a frame's last datagrams that are marked as such: the receiver learns of its end though one is lost.
const MARKED_LAST: usize = 2;

/// Ratio of a frame to what it may take by now, from which on it loses what has not left. A route that becomes longer
/// looks like a queue for a moment, and should cost no detail.
const LEFT_OUT_FROM: usize = 3;

/// Stall of which the receiver is told, together with shorter ones before.
const STALL_TOLD: Duration = Duration::from_millis(10);

/// Time for which a sender that is done waits for the receiver's confirmation.
const CONFIRMATION_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderPhase {
    Disconnected,
    /// Hello is out, the peer's is not in.
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

/// The sending end of a stream.
#[derive(Debug)]
pub struct SenderSession {
    params: StreamParams,
    coarse_blocks: usize,
    /// Slices of vectors, of a frame with a reference.
    slices: usize,
    protection: Protection,
    protector: Protector,
    loss: LossEstimate,
    budget: Budget,
    max_datagram: usize,
    phase: SenderPhase,
    finishing: Finishing,
    next_frame: FrameId,
    next_sequence: SequenceNumber,
    /// The last frame given in this connection.
    current: Option<CurrentFrame>,
    source: SourceState,
    pacer: Pacer,
    rate_max: Bitrate,
    /// While streaming.
    rate: Option<RateControl>,
    /// While streaming.
    watch: Option<Watch>,
    /// Time for which the program has stood still in this stream, and what the receiver knows of it.
    stalled: Duration,
    stalled_told: Duration,
    sent: SentLog,
    /// Empty; keeps its memory from one feedback report to the next.
    arrivals: Vec<Arrival>,
    loss_meter: LossMeter,
    control: Outbox,
    pings: ActLimit,
    restarts: ActLimit,
    events: VecDeque<SenderEvent>,
    counters: SenderCounters,
    reasons: Reasons,
    /// Lost and received of earlier connections.
    reported_before: (u64, u64),
}

#[derive(Clone, Copy, Debug)]
struct CurrentFrame {
    id: FrameId,
    steps: FrameHeader,
    reference: u8,
    times: FrameTimes,
    coded_bytes: usize,
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
    let reference = usize::from(params.codec.profile.states() > 0);
    let smallest = reference + FRAME_HEADER_BYTES + map_bytes(layout.blocks().len());
    Budget::new(rate, params.frame_rate.interval(), smallest)
}

impl SenderSession {
    /// Creates a session without a connection, for a stream whose datagrams with all that is around them take at most
    /// `rate_max`, and no more than the network's capacity.
    pub fn new(params: StreamParams, rate_max: Bitrate, protection: Protection) -> Self {
        let layout = BlockLayout::new(&params);
        Self {
            params,
            coarse_blocks: layout.coarse_blocks(),
            slices: VectorLayout::new(params.size).slices(),
            protection,
            protector: Protector::new(protection, &layout),
            loss: LossEstimate::default(),
            // What is coded before a stream begins is its first frame.
            budget: budget(&params, &layout, RateControl::start(rate_max)),
            max_datagram: 0,
            phase: SenderPhase::Disconnected,
            finishing: Finishing::No,
            next_frame: FrameId(0),
            next_sequence: SequenceNumber(0),
            current: None,
            source: SourceState::Gives,
            pacer: Pacer::default(),
            rate_max,
            rate: None,
            watch: None,
            stalled: Duration::ZERO,
            stalled_told: Duration::ZERO,
            sent: SentLog::default(),
            arrivals: Vec::new(),
            loss_meter: LossMeter::default(),
            control: Outbox::default(),
            pings: pings_allowed(Timestamp::default()),
            restarts: restarts_allowed(Timestamp::default()),
            events: VecDeque::new(),
            counters: SenderCounters::default(),
            reasons: Reasons::default(),
            reported_before: (0, 0),
        }
    }

    /// Takes a new connection whose datagrams hold at most `max_datagram` bytes. Ends an earlier one.
    pub fn on_connected(&mut self, now: Timestamp, max_datagram: usize) {
        self.on_disconnected(now);
        if self.finishing != Finishing::Done {
            self.set_max_datagram(max_datagram);
            self.phase = SenderPhase::Greeting;
            self.pings = pings_allowed(now);
            self.restarts = restarts_allowed(now);
            self.control.push(hello(StreamEnd::Sender));
        }
    }

    /// Ends the connection; the session waits for the next.
    pub fn on_disconnected(&mut self, _now: Timestamp) {
        self.drop_stream();
        self.budget.set_rate(RateControl::start(self.rate_max));
        self.counters.rtt = None;
        self.control.clear();
        self.phase = SenderPhase::Disconnected;
        if self.finishing != Finishing::No {
            self.confirm_finish();
        }
    }

    /// Goes on with pictures of other parameters, over the same connection: no frame is wanted until the receiver has another
    /// decoder, which [`SenderEvent::Streaming`] tells. False, and nothing is changed: a receiver is about to be ready for the
    /// parameters of before, or the video ends, or this has been done too often of late.
    pub fn restart(&mut self, params: StreamParams, now: Timestamp) -> bool {
        let cannot = self.phase == SenderPhase::Preparing || self.finishing != Finishing::No;
        if cannot || (self.phase == SenderPhase::Streaming && !self.restarts.take(now)) {
            return false;
        }
        let layout = BlockLayout::new(&params);
        self.params = params;
        self.coarse_blocks = layout.coarse_blocks();
        self.slices = VectorLayout::new(params.size).slices();
        self.protector = Protector::new(self.protection, &layout);
        self.budget = budget(&params, &layout, self.rate_target());
        self.budget.set_max_datagram(self.max_datagram);
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
        self.next_sequence = SequenceNumber(0);
        self.sent = SentLog::default();
        self.rate = None;
        self.watch = None;
        (self.stalled, self.stalled_told) = (Duration::ZERO, Duration::ZERO);
        self.reported_before = (self.counters.datagrams_lost, self.counters.datagrams_received);
    }

    /// Takes a message of the peer.
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (SenderPhase::Disconnected | SenderPhase::Over, _) => {}
            (_, ControlMessage::Bye { reason }) => self.on_bye(reason),
            (SenderPhase::Greeting, ControlMessage::Hello { version, role }) => {
                check_hello(version, role, StreamEnd::Receiver).or_else(|text| self.violation(text))?;
                self.welcome();
            }
            (SenderPhase::Preparing, ControlMessage::Ready) => {
                self.phase = SenderPhase::Streaming;
                let rate = RateControl::new(self.rate_max, self.params.frame_rate.interval(), now);
                self.budget.set_rate(rate.target());
                self.rate = Some(rate);
                self.watch = Some(Watch::new(now));
                self.events.push_back(SenderEvent::Streaming);
                if self.source != SourceState::Gives {
                    self.control.push(ControlMessage::Source { state: self.source });
                }
            }
            (SenderPhase::Preparing | SenderPhase::Streaming, ControlMessage::Ping { id, sent }) => {
                if !self.pings.take(now) {
                    return self.violation("more than 64 pings at once or 20 a second".to_owned());
                }
                self.control.push(ControlMessage::Pong { id, ping_sent: sent, received: now, sent: now });
            }
            (_, ControlMessage::Hello { .. }) => self.violation("a second Hello".to_owned())?,
            (_, ControlMessage::Ready) => self.violation("Ready where no stream was offered".to_owned())?,
            (_, ControlMessage::Ping { .. }) => self.violation("a ping before Hello".to_owned())?,
            (
                _,
                ControlMessage::Welcome { .. }
                | ControlMessage::Pong { .. }
                | ControlMessage::Source { .. }
                | ControlMessage::Stalled { .. }
                | ControlMessage::Bounced(_),
            ) => {
                self.violation("a message that only senders send".to_owned())?;
            }
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

    /// Notes that the program runs, and whether it has stood still before: that is told to the rate control, which would
    /// see a queue or a silence, and to the receiver.
    fn look(&mut self, now: Timestamp) {
        let Some((from, late)) = self.watch.as_mut().and_then(|watch| watch.look(now)) else { return };
        self.sent.on_stall(from);
        if let Some(rate) = &mut self.rate {
            rate.on_stall(late, now);
        }
        self.counters.stalled += late;
        self.stalled += late;
        if self.stalled - self.stalled_told >= STALL_TOLD && self.phase == SenderPhase::Streaming {
            self.stalled_told = self.stalled;
            self.control.push(ControlMessage::Stalled { total: self.stalled });
        }
    }

    /// Takes a datagram of the receiver.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> FeedbackOutcome {
        self.look(now);
        let outcome = if self.phase == SenderPhase::Streaming && is_states(datagram) {
            self.on_states(datagram).unwrap_or_else(FeedbackOutcome::Malformed)
        } else if self.phase == SenderPhase::Streaming {
            self.on_feedback(datagram, now).unwrap_or_else(FeedbackOutcome::Malformed)
        } else {
            FeedbackOutcome::Unexpected
        };
        match outcome {
            FeedbackOutcome::Accepted => {}
            FeedbackOutcome::OutOfDate | FeedbackOutcome::Unexpected => self.counters.feedback_unwanted += 1,
            FeedbackOutcome::Malformed(_) => self.counters.feedback_malformed += 1,
        }
        outcome
    }

    fn on_states(&mut self, datagram: &[u8]) -> Result<FeedbackOutcome, PacketError> {
        if self.params.codec.profile.states() == 0 {
            return Err(PacketError::UnknownKind);
        }
        self.events.push_back(SenderEvent::States(StatesReport::parse(datagram)?));
        Ok(FeedbackOutcome::Accepted)
    }

    fn on_feedback(&mut self, datagram: &[u8], now: Timestamp) -> Result<FeedbackOutcome, PacketError> {
        let (header, ages) = FeedbackHeader::parse(datagram)?;
        self.arrivals.clear();
        let Some(fates) = self.sent.on_feedback(&header, &ages, &mut self.arrivals, &mut self.loss_meter)? else {
            return Ok(FeedbackOutcome::OutOfDate);
        };
        self.loss = self.loss_meter.estimate();
        let (lost, received) = self.reported_before;
        self.counters.datagrams_lost = lost + u64::from(header.missing);
        self.counters.datagrams_received = received + u64::from(header.received);
        let rtt = self.arrivals.last().map(|newest| round_trip(&header, newest, now));
        self.counters.rtt = rtt.or(self.counters.rtt);
        if let Some(rate) = &mut self.rate {
            let in_flight_bytes = self.sent.in_flight_bytes();
            let feedback_late = self.sent.feedback_late(&header, now);
            let unsure_us = header.unsure.as_micros() as u64;
            let unsure_from = Timestamp::from_us(header.time.as_us().saturating_sub(unsure_us));
            let unsure_from = Some(unsure_from).filter(|_| unsure_us > 0);
            let arrivals = &self.arrivals;
            rate.on_feedback(&Told { arrivals, rtt, fates, in_flight_bytes, unsure_from, feedback_late }, now);
            self.budget.set_rate(rate.target());
            self.leave_out_detail();
        }
        self.take_reasons();
        Ok(FeedbackOutcome::Accepted)
    }

    /// Takes notice that what leaves from now on takes another way, which may be longer: that is no queue.
    pub fn on_path_changed(&mut self, now: Timestamp) {
        if let Some(rate) = &mut self.rate {
            rate.on_path_changed(now);
        }
    }

    /// Changes the highest video bit rate, also in the middle of a stream.
    pub fn set_rate_max(&mut self, rate_max: Bitrate) {
        self.rate_max = rate_max;
        if let Some(rate) = &mut self.rate {
            rate.set_max(rate_max);
        }
        self.budget.set_rate(self.rate_target());
    }

    /// Returns what the next frames with all that is around them may take, bits a second.
    pub fn rate_target(&self) -> Bitrate {
        self.rate.as_ref().map_or(RateControl::start(self.rate_max), RateControl::target)
    }

    /// Returns what the network has lost of late.
    pub fn loss(&self) -> LossEstimate {
        self.loss
    }

    /// Returns true if frames are wanted.
    pub fn is_streaming(&self) -> bool {
        self.phase == SenderPhase::Streaming && self.finishing == Finishing::No
    }

    /// Returns the bytes that the next frame may have, as [`coded_size`] counts them.
    pub fn budget_bytes(&self) -> usize {
        self.budget.coded()
    }

    /// Sets what a datagram can hold, from the next frame on, bytes.
    pub fn set_max_datagram(&mut self, bytes: usize) {
        self.max_datagram = bytes;
        self.budget.set_max_datagram(bytes);
    }

    /// Returns the number of the next frame, unless the caller leaves some out.
    pub fn next_frame(&self) -> FrameId {
        self.next_frame
    }

    /// Takes a frame with its number, from 0 on. What has not left of an older one is dropped. Numbers may be left out; a
    /// frame whose number does not rise is dropped.
    pub fn on_frame(&mut self, id: FrameId, frame: &CodedFrame, times: FrameTimes, now: Timestamp) {
        if !self.is_streaming() || self.next_frame.is_newer_than(id) {
            self.counters.frames_unwanted += 1;
            return;
        }
        self.next_frame = id.next();
        let reference = frame.reference;
        let slices = if reference > 0 { self.slices } else { 0 };
        let coarse_blocks = slices + self.coarse_blocks;
        let max_datagram = self.max_datagram.saturating_sub(PARITY_EXTRA_BYTES);
        let coded_bytes = coded_size(frame);
        let mut packets = packetise(frame, coarse_blocks, max_datagram);
        let packet_count = packets.len();
        packets.truncate(self.wanted(&packets, coarse_blocks));
        let is_cut = packets.len() < packet_count;
        if is_cut {
            let (sent, target) = (packets.len(), self.rate_target());
            self.tell(Reason::DetailLeftOut { frame: id, sent, datagrams: packet_count, target });
        }
        let data_bytes: usize = packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let room = self.budget.gross().saturating_sub(data_bytes);
        let (loss, most) = (self.loss, self.budget.parity_most());
        let protected = self.protector.protect(packets, slices, loss, room, most, LOWER_LAYERS_BYTES);
        self.budget.on_frame(coded_bytes, packet_count, protected.parity_wanted);
        let wire_bytes: usize = protected.packets.iter().map(|packet| on_wire(packet.bytes())).sum();
        let pace = self.rate.as_ref().map_or(self.rate_max, RateControl::pace);
        let span = Duration::from_secs_f64(8.0 * wire_bytes as f64 / pace.as_bps().max(1) as f64);
        let span = span.min(pacing_span(self.params.frame_rate.interval()));

        self.drop_unsent();
        let coarse = protected.packets.iter().filter(|packet| packet.begins_before(coarse_blocks));
        let coarse_groups = coarse.filter_map(|packet| packet.place).map(|place| place.group).max().unwrap_or(0);
        let datagrams = packet_count;
        self.pacer.start(protected.packets, now, span);
        self.current = Some(CurrentFrame {
            id,
            steps: frame.header,
            reference,
            times,
            coded_bytes,
            coarse_blocks,
            coarse_groups,
            datagrams,
            sent_bytes: 0,
            is_cut,
        });
    }

    /// Returns the next datagram to hand to the socket at `now`.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.look(now);
        let current = self.current.as_mut()?;
        let packet = self.pacer.poll(now)?;
        let header = MediaHeader {
            sequence: self.next_sequence,
            frame: current.id,
            steps: current.steps,
            reference: current.reference,
            capture: current.times.capture,
            sent_offset_us: u32::try_from(now.since(current.times.capture).as_micros()).unwrap_or(u32::MAX),
            is_last: self.pacer.len() < MARKED_LAST,
            place: packet.place,
            content: packet.content,
        };
        let (datagram, is_parity) = (header.datagram(&packet.payload), packet.is_parity());
        self.next_sequence = self.next_sequence.next();
        current.sent_bytes += on_wire(datagram.len());
        self.sent.on_sent(on_wire(datagram.len()), now);
        if let Some(rate) = &mut self.rate {
            rate.on_sent(on_wire(datagram.len()), now);
        }
        self.counters.datagrams_sent += 1;
        self.counters.bytes_sent += datagram.len() as u64;
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
        let silence =
            self.rate.as_ref().filter(|_| self.phase == SenderPhase::Streaming).map(RateControl::next_timeout);
        let look = self.watch.as_ref().filter(|_| self.phase == SenderPhase::Streaming).map(Watch::next_at);
        [self.pacer.next_at(), confirmation, silence, look].into_iter().flatten().min()
    }

    /// Does what is due, once the time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.look(now);
        if matches!(self.finishing, Finishing::Waiting { until } if until <= now) {
            self.confirm_finish();
        }
        if let Some(rate) = &mut self.rate {
            rate.handle_timeout(now);
            self.budget.set_rate(rate.target());
        }
        self.take_reasons();
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// The next reason for what the target has done, or for a frame that has not left whole. Those that nobody takes are
    /// forgotten in the end.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.reasons.pop()
    }

    fn take_reasons(&mut self) {
        let Some(rate) = &mut self.rate else { return };
        for reason in rate.take_reasons() {
            self.reasons.push(reason, &mut self.counters.reasons);
        }
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
    fn wanted(&self, packets: &[Packet], coarse_blocks: usize) -> usize {
        let coarse = packets.iter().take_while(|packet| packet.begins_before(coarse_blocks)).count();
        if self.rate.as_ref().is_some_and(RateControl::is_coarse_only) {
            return coarse;
        }
        let mut left = (self.budget.gross() + self.budget.gross() / 4).max(2 * on_wire(self.max_datagram));
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
    fn leave_out_detail(&mut self) {
        let most = (LEFT_OUT_FROM * self.budget.gross()).max(2 * on_wire(self.max_datagram));
        let Some(current) = &mut self.current else { return };
        let left_out = self.pacer.leave_out(most.saturating_sub(current.sent_bytes), MARKED_LAST, |packet| {
            packet.begins_before(current.coarse_blocks)
                || packet.place.is_some_and(|place| place.group <= current.coarse_groups)
        });
        if left_out > 0 {
            let (frame, sent) = (current.id, current.datagrams - left_out);
            let datagrams = std::mem::replace(&mut current.datagrams, sent);
            current.is_cut = true;
            self.counters.frames_cut += u64::from(self.pacer.unsent() == 0);
            let target = self.rate_target();
            self.tell(Reason::DetailLeftOut { frame, sent, datagrams, target });
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
