//! The receiving end.

mod events;
mod inbound;

use std::collections::VecDeque;
use std::time::Duration;

use picture::frame::{Chroma, FrameSize};
use picture::params::{STATES_MAX, StreamParams};
use picture::pyramid::squares;

pub use self::events::{ArrivedFrame, ReceiverCounters, ReceiverEvent, ReceiverOptions};
use self::inbound::Inbound;
use super::outbox::Outbox;
use super::reason::{Reason, Reasons};
use super::{ProtocolViolation, check_hello, hello};
use crate::act_limit::ActLimit;
use crate::clock::ClockOffset;
use crate::reassemble::DatagramOutcome;
use crate::units::Timestamp;
use crate::wire::control::{ByeReason, ControlMessage, SourceState, StreamEnd};
use crate::wire::states::{Fate, StatesReport};

/// Number and interval of the first pings, which are fast so that the clocks are known before the first frame.
const FIRST_PINGS: u32 = 8;
const FIRST_PING_INTERVAL: Duration = Duration::from_millis(50);
const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Highest rate, a second, of the largest pictures that are taken; smaller ones may be more frequent.
const RATE_MAX: f64 = 120.0;
/// Pings whose answer is still awaited.
const PINGS_OUTSTANDING: usize = 8;

/// Bytes of the pictures that a stream's decoder keeps for prediction.
fn states(params: &StreamParams) -> usize {
    usize::from(params.codec.profile.states()) * params.chroma.picture_format().bytes(params.size)
}

/// The most of them that are taken: half a second of the largest pictures with every other sample of colour.
fn states_most(most: FrameSize) -> usize {
    usize::from(STATES_MAX) * Chroma::C420.picture_format().bytes(most)
}

/// Streams that may begin on one connection, whose size somebody changes.
fn welcomes_allowed(now: Timestamp) -> ActLimit {
    ActLimit::new(8, Duration::from_secs(2), now)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReceiverPhase {
    Disconnected,
    /// Hello is out, the peer's is not in.
    Greeting,
    /// Both Hellos are there.
    AwaitingWelcome,
    /// The owner builds its decoder.
    Preparing,
    Streaming,
    /// A Bye has come or gone.
    Over,
}

/// The receiving end of a stream.
#[derive(Debug)]
pub struct ReceiverSession {
    options: ReceiverOptions,
    phase: ReceiverPhase,
    inbound: Option<Inbound>,
    next_ping: Timestamp,
    next_ping_id: u32,
    pings: VecDeque<(u32, Timestamp)>,
    clock: ClockOffset,
    /// Streams that may begin on this connection: each costs a decoder.
    welcomes: ActLimit,
    control: Outbox,
    /// The newest report of states, until it leaves.
    states: Option<Vec<u8>>,
    events: VecDeque<ReceiverEvent>,
    counters: ReceiverCounters,
    reasons: Reasons,
}

impl ReceiverSession {
    /// Creates a session without a connection.
    pub fn new(options: ReceiverOptions) -> Self {
        Self {
            options,
            phase: ReceiverPhase::Disconnected,
            inbound: None,
            next_ping: Timestamp::default(),
            next_ping_id: 0,
            pings: VecDeque::new(),
            clock: ClockOffset::default(),
            welcomes: welcomes_allowed(Timestamp::default()),
            control: Outbox::default(),
            states: None,
            events: VecDeque::new(),
            counters: ReceiverCounters::default(),
            reasons: Reasons::default(),
        }
    }

    /// Sets [`ReceiverOptions::latency_max`] from now on.
    pub fn set_latency_max(&mut self, latency_max: Option<Duration>) {
        self.options.latency_max = latency_max;
        if let Some(inbound) = &mut self.inbound {
            inbound.set_latency_max(latency_max);
        }
    }

    /// Takes a new connection. Ends an earlier one.
    pub fn on_connected(&mut self, now: Timestamp) {
        self.on_disconnected(now);
        self.welcomes = welcomes_allowed(now);
        self.control.push(hello(StreamEnd::Receiver));
        self.phase = ReceiverPhase::Greeting;
    }

    /// Ends the connection; the session waits for the next. If the sender had finished, so have we.
    pub fn on_disconnected(&mut self, now: Timestamp) {
        if let Some(inbound) = &mut self.inbound {
            inbound.on_disconnected(now);
            self.drive(now);
        }
        self.drop_stream();
        self.states = None;
        self.control.clear();
        self.pings.clear();
        self.next_ping_id = 0;
        self.clock = ClockOffset::default();
        self.phase = ReceiverPhase::Disconnected;
    }

    /// Takes a message of the peer.
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (ReceiverPhase::Disconnected | ReceiverPhase::Over, _) => {}
            (_, ControlMessage::Bye { reason }) => self.on_bye(reason, now),
            (ReceiverPhase::Greeting, ControlMessage::Hello { version, role }) => {
                check_hello(version, role, StreamEnd::Sender).or_else(|text| self.violation(text))?;
                self.phase = ReceiverPhase::AwaitingWelcome;
                self.ping(now);
            }
            (ReceiverPhase::Greeting, _) => self.violation("a message before Hello".to_owned())?,
            (_, ControlMessage::Hello { .. }) => self.violation("a second Hello".to_owned())?,
            (_, ControlMessage::Welcome { params, .. }) if self.is_too_large(&params) => {
                let mut stream = format!("pictures of {} at {} a second", params.size, params.frame_rate.as_f64());
                match params.codec.profile.states() {
                    0 => {}
                    states => stream += &format!(", of which {states} are kept for prediction,"),
                }
                let most = self.options.size_max.map(|size| size.to_string()).unwrap_or_default();
                let text =
                    format!("{stream} are more than size_max in [display] there takes, {most}: send smaller ones");
                self.bye(ByeReason::Protocol(text));
                return Err(ProtocolViolation(format!(
                    "{stream} are more than size_max in [display] takes, {most}: raise it, or have smaller ones sent"
                )));
            }
            (
                ReceiverPhase::AwaitingWelcome | ReceiverPhase::Streaming,
                ControlMessage::Welcome { params, start_frame },
            ) => {
                if !self.welcomes.take(now) {
                    return self.violation("more than 8 streams at once or one in two seconds".to_owned());
                }
                self.drop_stream();
                self.states = None;
                self.inbound = Some(Inbound::new(&params, start_frame, &self.options, now));
                self.phase = ReceiverPhase::Preparing;
                self.events.push_back(ReceiverEvent::Start(params));
            }
            (_, ControlMessage::Welcome { .. }) => self.violation("a second Welcome".to_owned())?,
            (_, ControlMessage::Pong { id, received, sent, .. }) => {
                if let Some(at) = self.pings.iter().position(|ping| ping.0 == id)
                    && let Some((_, ping_sent)) = self.pings.remove(at)
                {
                    self.clock.on_pong(ping_sent, received, sent, now);
                }
            }
            (ReceiverPhase::Streaming, ControlMessage::Source { state }) => {
                if let Some(inbound) = &mut self.inbound {
                    inbound.source = state;
                }
            }
            (ReceiverPhase::Streaming, ControlMessage::Stalled { total }) => {
                if let Some(inbound) = &mut self.inbound {
                    let more = total.saturating_sub(inbound.sender_stalled);
                    inbound.sender_stalled = inbound.sender_stalled.max(total);
                    self.counters.sender_stalled = self.counters.sender_stalled.saturating_add(more);
                }
            }
            (_, ControlMessage::Stalled { .. }) => self.violation("a stall without a stream".to_owned())?,
            (_, ControlMessage::Source { .. }) => self.violation("a source's state without a stream".to_owned())?,
            (_, ControlMessage::Bounced(_)) => self.violation("a bounced picture without a latency test".to_owned())?,
            (_, ControlMessage::Ready | ControlMessage::Ping { .. }) => {
                self.violation("a message that only receivers send".to_owned())?;
            }
        }
        Ok(())
    }

    /// Takes notice that the decoder for the last [`ReceiverEvent::Start`] is there.
    pub fn ready(&mut self) {
        if self.phase == ReceiverPhase::Preparing {
            self.phase = ReceiverPhase::Streaming;
            self.control.push(ControlMessage::Ready);
        }
    }

    /// Refuses the last [`ReceiverEvent::Start`] for want of a decoder: tells the peer why and ends the stream.
    pub fn refuse(&mut self, reason: String) {
        if self.phase == ReceiverPhase::Preparing {
            self.bye(ByeReason::Protocol(reason));
        }
    }

    /// Returns true if video may come.
    pub fn is_streaming(&self) -> bool {
        self.phase == ReceiverPhase::Streaming
    }

    /// Returns how the sender's source is, as it has said.
    pub fn source(&self) -> SourceState {
        let inbound = self.inbound.as_ref().filter(|_| self.is_streaming());
        inbound.map_or(SourceState::Gives, |inbound| inbound.source)
    }

    /// Takes a datagram. Afterwards take the events.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> DatagramOutcome {
        self.counters.bytes_received += datagram.len() as u64;
        let outcome = match &mut self.inbound {
            Some(inbound) if self.phase == ReceiverPhase::Streaming => inbound.on_datagram(datagram, now),
            _ => DatagramOutcome::Unexpected,
        };
        *match outcome {
            DatagramOutcome::Accepted => &mut self.counters.datagrams_accepted,
            DatagramOutcome::Duplicate => &mut self.counters.datagrams_duplicate,
            DatagramOutcome::Late => &mut self.counters.datagrams_late,
            DatagramOutcome::TooFarAhead => &mut self.counters.datagrams_too_far_ahead,
            DatagramOutcome::Malformed(_) => &mut self.counters.datagrams_malformed,
            DatagramOutcome::Unexpected => &mut self.counters.datagrams_unexpected,
        } += 1;
        self.drive(now);
        outcome
    }

    /// Returns the next message for the peer.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Takes the decoder's report of the last frames of this stream, for the sender. It replaces one that has not left.
    pub fn report_states(&mut self, report: &StatesReport) {
        self.counters.frames_lacking_reference += u64::from(report.fates.first() == Some(&Fate::LacksReference));
        self.states = Some(report.to_bytes());
    }

    /// Returns the next datagram for the peer: a report of states at once, a feedback report when it is due.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        let inbound = self.inbound.as_mut().filter(|_| self.phase == ReceiverPhase::Streaming)?;
        self.states.take().or_else(|| inbound.poll_feedback(now))
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let ping = self.has_greeted().then_some(self.next_ping);
        let frame = self.inbound.as_ref().and_then(Inbound::next_deadline);
        [ping, self.next_feedback(), frame].into_iter().flatten().min()
    }

    /// Releases what is due and sends pings, once the time of [`Self::poll_timeout`] has come. Feedback reports wait in
    /// [`Self::poll_datagram`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.drive(now);
        if self.has_greeted() && self.next_ping <= now {
            self.ping(now);
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// The next reason for a frame that was not shown whole. Those that nobody takes are forgotten in the end.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.reasons.pop()
    }

    /// Ends the stream from this end: tells the peer, and both ends are done.
    pub fn finish(&mut self) {
        self.bye(ByeReason::Finished { last_frame: None });
        self.events.push_back(ReceiverEvent::Finished);
    }

    /// Says that we stop but may come back.
    pub fn stop(&mut self) {
        self.bye(ByeReason::Stopping);
    }

    /// Returns what has been counted.
    pub fn stats(&self) -> ReceiverCounters {
        let (stalled, datagrams_missing) = self.inbound.as_ref().map(Inbound::lacks).unwrap_or_default();
        ReceiverCounters { stalled, datagrams_missing, ..self.counters }
    }

    /// Returns the bytes held for frames that are not whole yet; bounded by the stream's parameters.
    pub fn held_bytes(&self) -> usize {
        self.inbound.as_ref().map_or(0, Inbound::held_bytes)
    }

    /// Returns the sender's clock.
    pub fn clock(&self) -> &ClockOffset {
        &self.clock
    }

    /// Returns true if the stream's decoder could take more memory or processor time than the largest pictures do. A
    /// picture that is long and narrow has a square like a large one, and one of a thousand a second is a flood.
    fn is_too_large(&self, params: &StreamParams) -> bool {
        self.options.size_max.is_some_and(|most| {
            let (needed, there) = (squares(params.size, params.chroma), squares(most, Chroma::C444));
            let is_too_fast = needed as f64 * params.frame_rate.as_f64() > there as f64 * RATE_MAX;
            params.size.pixels() > most.pixels() || needed > there || is_too_fast || states(params) > states_most(most)
        })
    }

    fn next_feedback(&self) -> Option<Timestamp> {
        self.inbound.as_ref().filter(|_| self.is_streaming()).map(Inbound::next_feedback)
    }

    /// Returns true if both Hellos are there and no Bye.
    fn has_greeted(&self) -> bool {
        matches!(self.phase, ReceiverPhase::AwaitingWelcome | ReceiverPhase::Preparing | ReceiverPhase::Streaming)
    }

    /// Gives the frames that are complete or due, and the end of the stream.
    fn drive(&mut self, now: Timestamp) {
        let Some(inbound) = &mut self.inbound else { return };
        while let Some(frame) = inbound.poll_frame(now, &mut self.counters, &mut self.reasons) {
            self.events.push_back(ReceiverEvent::Frame(frame));
        }
        if inbound.poll_over(now, &mut self.counters, &mut self.reasons) {
            self.finish();
        }
    }

    fn on_bye(&mut self, reason: ByeReason, now: Timestamp) {
        if let (ByeReason::Finished { last_frame }, Some(inbound)) = (&reason, &mut self.inbound) {
            if !inbound.is_ending() {
                inbound.on_finished(*last_frame, now);
                self.drive(now);
            }
            return;
        }
        self.drop_stream();
        self.phase = ReceiverPhase::Over;
        match reason {
            // No stream had begun.
            ByeReason::Finished { .. } => {
                self.control.push(ControlMessage::Bye { reason: ByeReason::Finished { last_frame: None } });
                self.events.push_back(ReceiverEvent::Finished);
            }
            ByeReason::Stopping => self.events.push_back(ReceiverEvent::PeerStopping),
            ByeReason::ReplacedByNewer => self.events.push_back(ReceiverEvent::PeerReplaced),
            ByeReason::Protocol(text) => self.events.push_back(ReceiverEvent::PeerRejected(text)),
        }
    }

    fn ping(&mut self, now: Timestamp) {
        let id = self.next_ping_id;
        self.next_ping_id = id.wrapping_add(1);
        self.pings.truncate(PINGS_OUTSTANDING - 1);
        self.pings.push_front((id, now));
        self.control.push(ControlMessage::Ping { id, sent: now });
        self.next_ping = now + if id < FIRST_PINGS { FIRST_PING_INTERVAL } else { PING_INTERVAL };
    }

    fn violation(&mut self, text: String) -> Result<(), ProtocolViolation> {
        let violation = ProtocolViolation::of(&text);
        self.bye(ByeReason::Protocol(text));
        Err(violation)
    }

    fn bye(&mut self, reason: ByeReason) {
        // What is held is not wanted any more: that does not make it lost.
        self.inbound = None;
        if !matches!(self.phase, ReceiverPhase::Disconnected | ReceiverPhase::Over) {
            self.control.push(ControlMessage::Bye { reason });
        }
        self.phase = ReceiverPhase::Over;
    }

    /// Drops the data held of a stream that has gone: it will not be shown.
    fn drop_stream(&mut self) {
        if let Some(inbound) = self.inbound.take() {
            self.counters.frames_lost += inbound.pending() as u64;
        }
    }
}
