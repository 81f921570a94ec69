//! The path to one peer, whatever it carries: greeting, clocks, feedback, loss, target rate and pace, as a state machine without
//! a clock or a socket.
//!
//! Sequence numbers count the datagrams of a connection, of all its streams. The peer's feedback reports tell of each when it came;
//! from that follow loss and target. [`Path::budget`] shares the target among the streams that leave, by rank.
//!
//! ```text
//! both: CallsOn, Hello   whoever receives: Ping    whoever sends: Pong, Stalled
//!                        whoever receives: feedback datagrams
//! ```

pub mod clock;
mod greeting;
mod loss;
mod outbox;
mod outcome;
pub(crate) mod pacing;
mod peer_clock;
mod rate;
mod reception;
mod sent;
mod sequence;
mod shares;
pub mod uplink;
mod watch;
pub mod ways;

use std::time::Duration;

use self::clock::ClockOffset;
pub use self::greeting::Directions;
use self::greeting::check_hello;
pub use self::loss::LossEstimate;
use self::loss::LossMeter;
pub(crate) use self::outbox::Outbox;
pub use self::outcome::{Datagram, FeedbackOutcome, PathCounters};
use self::peer_clock::PeerClock;
use self::rate::{Beside, RateControl, Told};
use self::reception::Reception;
use self::sent::{Arrival, SentLog, round_trip};
use self::shares::Shares;
pub use self::shares::{Rank, SOUND_RANK, Share};
use self::watch::Watch;
use crate::act_limit::ActLimit;
use crate::reason::{Reason, Reasons};
use crate::units::{Bitrate, SequenceNumber, Timestamp};
use crate::wire::control::{ByeReason, ControlMessage};
use crate::wire::feedback::{FeedbackError, FeedbackHeader, is_feedback};
use crate::wire::media::Envelope;
use crate::wire::{LOWER_LAYERS_BYTES, PROTOCOL_VERSION, on_wire, states};

/// Pings that are answered: 20 a second for long, as in a receiver's first moments; at once, twice as many as gather
/// while QUIC waits on a dead line.
fn pings_allowed(now: Timestamp) -> ActLimit {
    ActLimit::new(64, Duration::from_millis(50), now)
}

/// Longest silence of a line before its connection is given up.
pub const DEAD_LINE: Duration = Duration::from_secs(8);

/// Datagram on a narrow line beside sound, bytes: with all around it 600, which take a line of 5 Mbit/s a millisecond.
const SMALL_DATAGRAM: usize = 600 - LOWER_LAYERS_BYTES;

/// Part of the line that sound with its copies takes at most.
const SOUND_OF_LINE: f64 = 0.9;

/// Stall of which the receiver is told, together with shorter ones before.
const STALL_TOLD: Duration = Duration::from_millis(10);

/// The peer broke the protocol, or wants what this end does not give; the text is a sentence about it. A Bye that says so is
/// queued; send it, then close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolViolation(pub String);

impl ProtocolViolation {
    /// Returns the error of a peer that broke the protocol in this way.
    pub fn of(text: &str) -> Self {
        Self(format!("the peer broke the protocol: {text}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Disconnected,
    /// Hello is out, the peer's is not in.
    Greeting,
    Greeted,
    /// A Bye has gone.
    Over,
}

/// The path to a peer: one for each, from connection to connection.
#[derive(Debug)]
pub struct Path {
    directions: Directions,
    phase: Phase,
    rate_max: Bitrate,
    max_datagram: usize,
    next_sequence: SequenceNumber,
    sent: SentLog,
    /// Empty; keeps its memory from one feedback report to the next.
    arrivals: Vec<Arrival>,
    loss_meter: LossMeter,
    loss: LossEstimate,
    shares: Shares,
    /// Rate of others' sound on the line, as somebody has said; none: it is looked for.
    declared: Option<Bitrate>,
    /// It rings at the other machine.
    rings: bool,
    /// The two have greeted, on this connection or one before.
    has_been_on: bool,
    /// While anything is streamed from here.
    rate: Option<RateControl>,
    watch: Option<Watch>,
    /// Time for which the program has stood still since then, and what the peer knows of it.
    stalled: Duration,
    stalled_told: Duration,
    reception: Reception,
    /// Numbers of the streams that come, with their ranks: while there are any, feedback reports leave.
    coming: Vec<(u8, Rank)>,
    /// Stalls of this connection that the peer has told of.
    peer_stalled: Duration,
    pings: PeerClock,
    pings_answered: ActLimit,
    control: Outbox,
    counters: PathCounters,
    reasons: Reasons,
    /// Lost and received of earlier connections.
    reported_before: (u64, u64),
}

impl Path {
    /// Creates a path without a connection, over which goes what `directions` say, and from here at most `rate_max` and own sound.
    pub fn new(directions: Directions, rate_max: Bitrate) -> Self {
        let now = Timestamp::default();
        Self {
            directions,
            phase: Phase::Disconnected,
            rings: false,
            has_been_on: false,
            rate_max,
            max_datagram: 0,
            next_sequence: SequenceNumber(0),
            sent: SentLog::default(),
            arrivals: Vec::new(),
            loss_meter: LossMeter::default(),
            loss: LossEstimate::default(),
            shares: Shares::default(),
            declared: Some(Bitrate::from_bps(0)),
            rate: None,
            watch: None,
            stalled: Duration::ZERO,
            stalled_told: Duration::ZERO,
            reception: Reception::new(now),
            coming: Vec::new(),
            peer_stalled: Duration::ZERO,
            pings: PeerClock::new(now),
            pings_answered: pings_allowed(now),
            control: Outbox::default(),
            counters: PathCounters::default(),
            reasons: Reasons::default(),
            reported_before: (0, 0),
        }
    }

    /// Takes a new connection whose datagrams hold at most `max_datagram` bytes. Ends an earlier one.
    pub fn on_connected(&mut self, now: Timestamp, max_datagram: usize) {
        self.on_disconnected();
        self.max_datagram = max_datagram;
        (self.phase, self.rings) = (Phase::Greeting, false);
        self.reception = Reception::new(now);
        self.pings = PeerClock::new(now);
        self.pings_answered = pings_allowed(now);
        // Whoever has ended the call need not hear it ring again.
        if self.has_been_on && self.directions == Directions::Both {
            self.control.push(ControlMessage::CallsOn);
        }
        let sends = self.directions != Directions::Receives;
        self.control.push(ControlMessage::Hello { version: PROTOCOL_VERSION, sends });
    }

    /// Ends the connection; the path waits for the next.
    pub fn on_disconnected(&mut self) {
        self.shares.clear();
        self.end_sending();
        (self.next_sequence, self.sent) = (SequenceNumber(0), SentLog::default());
        self.reported_before = (self.counters.datagrams_lost, self.counters.datagrams_received);
        self.counters.rtt = None;
        self.coming.clear();
        self.peer_stalled = Duration::ZERO;
        self.pings = PeerClock::new(Timestamp::default());
        self.control.clear();
        self.phase = Phase::Disconnected;
    }

    /// Takes a message if it is about the path; [`Self::has_greeted`] may be true then. Returns one that is for a stream, if streams may
    /// hear it: before Hello they hear a Bye only.
    pub fn on_control(
        &mut self,
        message: ControlMessage,
        now: Timestamp,
    ) -> Result<Option<ControlMessage>, ProtocolViolation> {
        match (self.phase, message) {
            (Phase::Disconnected | Phase::Over, _) => return Ok(None),
            (Phase::Greeting, ControlMessage::Hello { version, sends }) => {
                check_hello(version, sends, self.directions).or_else(|text| self.violation(&text))?;
                (self.phase, self.has_been_on) = (Phase::Greeted, true);
                if self.asks_time() {
                    self.ping(now);
                }
            }
            (Phase::Greeting, bye @ ControlMessage::Bye { .. }) => return Ok(Some(bye)),
            (Phase::Greeting, ControlMessage::Waits { rings }) => self.rings = rings,
            (Phase::Greeting, ControlMessage::CallsOn) => {}
            (Phase::Greeting, _) => self.violation("a message before Hello")?,
            (Phase::Greeted, ControlMessage::Hello { .. }) => self.violation("a second Hello")?,
            (Phase::Greeted, ControlMessage::Waits { .. }) => self.violation("it waits no more after Hello")?,
            (Phase::Greeted, ControlMessage::CallsOn) => self.violation("it calls no more after Hello")?,
            (Phase::Greeted, ControlMessage::Ping { id, sent }) => {
                if !self.pings_answered.take(now) {
                    self.violation("more than 64 pings at once or 20 a second")?;
                }
                self.control.push(ControlMessage::Pong { id, ping_sent: sent, received: now, sent: now });
            }
            (Phase::Greeted, ControlMessage::Pong { id, received, sent, .. }) => {
                self.pings.on_pong(id, received, sent, now);
            }
            (Phase::Greeted, ControlMessage::Stalled { total }) => {
                let more = total.saturating_sub(self.peer_stalled);
                self.peer_stalled = self.peer_stalled.max(total);
                self.counters.peer_stalled = self.counters.peer_stalled.saturating_add(more);
            }
            (Phase::Greeted, message) => return Ok(Some(message)),
        }
        Ok(None)
    }

    /// Returns true if both Hellos are there and no Bye: streams may begin.
    pub fn has_greeted(&self) -> bool {
        self.phase == Phase::Greeted
    }

    /// Returns true if the other machine has said that it rings there, and has not greeted yet.
    pub fn rings(&self) -> bool {
        self.rings && self.phase == Phase::Greeting
    }

    /// Ends the connection for what the peer has done. Returns the error that says so.
    pub fn violation(&mut self, text: &str) -> Result<(), ProtocolViolation> {
        if !matches!(self.phase, Phase::Disconnected | Phase::Over) {
            self.control.push(ControlMessage::Bye { reason: ByeReason::Protocol(text.to_owned()) });
            self.phase = Phase::Over;
        }
        Err(ProtocolViolation::of(text))
    }

    /// Begins, or goes on with, a stream from here: its first datagram may leave. A path's first one begins the rate control.
    pub fn begin(&mut self, number: u8, share: Share, now: Timestamp) {
        self.shares.set(number, share);
        let most = self.most();
        let interval = self.shares.interval().unwrap_or(share.interval);
        match &mut self.rate {
            Some(rate) => {
                rate.set_interval(interval);
                rate.set_max(most);
            }
            None => {
                self.rate = Some(RateControl::new(most, interval, now));
                self.watch = Some(Watch::new(now));
            }
        }
        self.tell_beside();
    }

    /// Ends a stream from here. With the last one the rate control ends.
    pub fn end(&mut self, number: u8) {
        if self.shares.remove(number) && self.shares.is_empty() {
            self.end_sending();
        }
        let most = self.most();
        if let Some(rate) = &mut self.rate {
            rate.set_max(most);
        }
        self.tell_beside();
    }

    /// Sets the bits a second of other programs' sound on the same line, as somebody has said, at first 0: there is none. None: what takes
    /// a part of the line as sound does is found.
    pub fn set_beside(&mut self, declared: Option<Bitrate>) {
        self.declared = declared;
        self.tell_beside();
    }

    /// Returns the bits a second of sound on the line, of other programs and of the own stream; none: nothing is known of any, and
    /// frames leave as fast as is best for pictures alone.
    pub fn beside(&self) -> Option<Bitrate> {
        let others = self.others().filter(|rate| rate.as_bps() > 0);
        let rates = [others, self.shares.sound()].into_iter().flatten();
        rates.map(Bitrate::as_bps).reduce(u64::saturating_add).map(Bitrate::from_bps)
    }

    /// Returns the rate of others' sound, as somebody has said, or as it was found.
    fn others(&self) -> Option<Bitrate> {
        self.declared.or_else(|| self.rate.as_ref().and_then(RateControl::found))
    }

    /// Returns what the line bears with all that is on it, bits a second, while there is sound beside and as far as that is known.
    pub fn line(&self) -> Option<Bitrate> {
        self.rate.as_ref().and_then(RateControl::line)
    }

    fn tell_beside(&mut self) {
        let bps = |rate: Option<Bitrate>| rate.map_or(0.0, |rate| rate.as_bps() as f64);
        let beside = Beside { others: bps(self.others()), own: bps(self.shares.sound()) };
        let beside = self.beside().map(|_| beside);
        if let Some(rate) = &mut self.rate {
            rate.set_beside(beside, self.declared.is_none());
        }
    }

    fn end_sending(&mut self) {
        (self.rate, self.watch) = (None, None);
        (self.stalled, self.stalled_told) = (Duration::ZERO, Duration::ZERO);
    }

    /// Takes notice that stream `number` of the peer, of this rank, comes from now on: feedback reports leave.
    pub fn receive(&mut self, number: u8, rank: Rank, now: Timestamp) {
        if self.coming.is_empty() {
            self.reception.begin(now);
        }
        self.end_receiving(number);
        self.coming.push((number, rank));
    }

    /// Takes notice that stream `number` of the peer comes no more. With the last one feedback reports end.
    pub fn end_receiving(&mut self, number: u8) {
        self.coming.retain(|&(coming, _)| coming != number);
    }

    /// Takes notice that what leaves from now on takes another way, which may be longer: that is no queue.
    pub fn on_path_changed(&mut self, now: Timestamp) {
        if let Some(rate) = &mut self.rate {
            rate.on_path_changed(now);
        }
        self.tell_beside();
    }

    /// Sets what a datagram can hold, bytes.
    pub fn set_max_datagram(&mut self, bytes: usize) {
        self.max_datagram = bytes;
    }

    /// Returns what a datagram of sound can hold, bytes: all that the connection takes, so that copies have room, unless the sound with
    /// them would be more than the line bears.
    pub fn max_sound_datagram(&self) -> usize {
        let Some((line, interval)) = self.line().zip(self.shares.sound_interval()) else { return self.max_datagram };
        let bytes = SOUND_OF_LINE * line.as_bps() as f64 * interval.as_secs_f64() / 8.0;
        self.max_datagram.min((bytes as usize).saturating_sub(LOWER_LAYERS_BYTES))
    }

    /// Returns what any other datagram can hold, bytes; beside sound on a narrow line less, so that a packet of sound waits for a short one.
    pub fn max_datagram(&self) -> usize {
        let is_narrow = self.rate.as_ref().is_some_and(RateControl::is_narrow);
        if is_narrow { self.max_datagram.min(SMALL_DATAGRAM) } else { self.max_datagram }
    }

    /// Changes the most that leaves besides own sound, also in the middle of a stream.
    pub fn set_rate_max(&mut self, rate_max: Bitrate) {
        self.rate_max = rate_max;
        let most = self.most();
        if let Some(rate) = &mut self.rate {
            rate.set_max(most);
        }
    }

    /// Returns the most that leaves: own sound comes on top of what all else may take.
    fn most(&self) -> Bitrate {
        let sound = self.shares.sound().map_or(0, Bitrate::as_bps);
        Bitrate::from_bps(self.rate_max.as_bps().saturating_add(sound))
    }

    /// Returns the first target of a path from which at most `rate_max` leaves.
    pub fn first_target(rate_max: Bitrate) -> Bitrate {
        RateControl::start(rate_max)
    }

    /// Returns what all streams from here with all that is around them may take, bits a second.
    pub fn target(&self) -> Bitrate {
        self.rate.as_ref().map_or(RateControl::start(self.rate_max), RateControl::target)
    }

    /// Returns the part of the target for stream `number`: what those of lower rank leave, at most what it needs.
    pub fn budget(&self, number: u8) -> Bitrate {
        self.shares.of(number, self.target())
    }

    /// Returns the rate at which a burst of datagrams leaves, bits a second.
    pub fn pace(&self) -> Bitrate {
        self.rate.as_ref().map_or(self.rate_max, RateControl::pace)
    }

    /// Returns the bits a second that the line bears beyond any doubt, besides sound; none: nobody knows.
    pub(crate) fn bears(&self) -> Option<Bitrate> {
        self.rate.as_ref().and_then(RateControl::bears)
    }

    /// Returns the bytes on the wire with which a frame that leaves now may begin at once, beyond the pace, so that the line is known;
    /// none: all of it leaves at the pace, or faster if no sound is beside.
    pub(crate) fn burst_bytes(&self, now: Timestamp) -> Option<usize> {
        self.rate.as_ref().and_then(|rate| rate.burst_bytes(now))
    }

    /// Returns true if the peer has been silent for so long that only what is coarse should go.
    pub fn is_coarse_only(&self) -> bool {
        self.rate.as_ref().is_some_and(RateControl::is_coarse_only)
    }

    /// Returns what the network has lost of late.
    pub fn loss(&self) -> LossEstimate {
        self.loss
    }

    /// Returns the time for which the program should have run while it received, in this connection, and did not.
    pub fn receive_stalled(&self) -> Duration {
        self.reception.stalled()
    }

    /// Returns the peer's clock.
    pub fn clock(&self) -> &ClockOffset {
        self.pings.clock()
    }

    /// Notes that the program runs, and whether it has stood still before: that is told to the rate control, which would
    /// see a queue or a silence, and to the peer.
    pub fn look(&mut self, now: Timestamp) {
        let Some((from, late)) = self.watch.as_mut().and_then(|watch| watch.look(now)) else { return };
        self.sent.on_stall(from);
        if let Some(rate) = &mut self.rate {
            rate.on_stall(late, now);
        }
        self.counters.send_stalled += late;
        self.stalled += late;
        if self.stalled - self.stalled_told >= STALL_TOLD {
            self.stalled_told = self.stalled;
            self.control.push(ControlMessage::Stalled { total: self.stalled });
        }
    }

    /// Takes a datagram of stream `number` that leaves now and has so many bytes. Returns its sequence number.
    pub fn send(&mut self, number: u8, bytes: usize, now: Timestamp) -> SequenceNumber {
        let is_sound = self.shares.is_sound(number);
        let sequence = self.next_sequence;
        self.next_sequence = sequence.next();
        self.sent.on_sent(on_wire(bytes), is_sound, now);
        if let Some(rate) = &mut self.rate {
            rate.on_sent(on_wire(bytes), is_sound, now);
        }
        sequence
    }

    /// Takes a datagram of the peer and says whom it is for. A feedback report changes the target.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> Datagram {
        if is_feedback(datagram) {
            return Datagram::Feedback(self.on_feedback(datagram, now));
        }
        if let Some(stream) = states::stream_of(datagram) {
            self.look(now);
            return Datagram::States(stream);
        }
        match Envelope::parse(datagram) {
            Ok(envelope) => Datagram::Media(envelope),
            Err(error) => {
                self.counters.datagrams_malformed += 1;
                Datagram::Malformed(error)
            }
        }
    }

    /// Takes notice that a media datagram has come, once its stream has found it to be one of its own: what is none must not count as
    /// arrived. Returns the time since the first of those that have overtaken it came, zero if none has; none if it is not new, as far
    /// as known.
    pub fn on_media(&mut self, envelope: &Envelope, now: Timestamp) -> Option<Duration> {
        if self.coming.is_empty() {
            return None;
        }
        let is_sound = self.coming.contains(&(envelope.stream, SOUND_RANK));
        self.reception.on_datagram(envelope.sequence, envelope.sent(), is_sound, now)
    }

    fn on_feedback(&mut self, datagram: &[u8], now: Timestamp) -> FeedbackOutcome {
        self.look(now);
        let outcome = if self.rate.is_some() || self.next_sequence.0 > 0 {
            self.take_feedback(datagram, now).unwrap_or_else(|error| FeedbackOutcome::Malformed(error.into()))
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

    fn take_feedback(&mut self, datagram: &[u8], now: Timestamp) -> Result<FeedbackOutcome, FeedbackError> {
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
            let found = rate.found();
            rate.on_feedback(&Told { arrivals, rtt, fates, in_flight_bytes, unsure_from, feedback_late }, now);
            if rate.found() != found {
                self.tell_beside();
            }
        }
        self.take_reasons();
        Ok(FeedbackOutcome::Accepted)
    }

    /// Returns the next message for the peer that is of no stream.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Returns the feedback report that is due.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        if self.coming.is_empty() { None } else { self.reception.poll(now) }
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let ping = self.asks_time().then(|| self.pings.next_at());
        let feedback = (!self.coming.is_empty()).then(|| self.reception.next_at());
        let silence = self.rate.as_ref().map(RateControl::next_timeout);
        let look = self.watch.as_ref().map(Watch::next_at);
        [ping, feedback, silence, look].into_iter().flatten().min()
    }

    /// Does what is due, once the time of [`Self::poll_timeout`] has come. Feedback reports wait in [`Self::poll_datagram`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.look(now);
        if let Some(rate) = &mut self.rate {
            rate.handle_timeout(now);
        }
        self.take_reasons();
        if self.asks_time() && self.pings.next_at() <= now {
            self.ping(now);
        }
    }

    /// The next reason for what the target has done. Those that nobody takes are forgotten in the end.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.reasons.pop()
    }

    /// Returns what has been counted.
    pub fn counters(&self) -> PathCounters {
        let (receive_stalled, datagrams_missing) = (self.reception.stalled(), self.reception.missing());
        PathCounters { receive_stalled, datagrams_missing, ..self.counters }
    }

    /// Returns true if the peer's clock is wanted and the peer answers.
    fn asks_time(&self) -> bool {
        self.has_greeted() && self.directions != Directions::Sends
    }

    fn ping(&mut self, now: Timestamp) {
        let ping = self.pings.ping(now);
        self.control.push(ping);
    }

    fn take_reasons(&mut self) {
        let Some(rate) = &mut self.rate else { return };
        for reason in rate.take_reasons() {
            self.reasons.push(reason, &mut self.counters.reasons);
        }
    }
}
