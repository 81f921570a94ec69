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
use super::reassemble::DatagramOutcome;
use super::{RANK, VIDEO};
use crate::act_limit::ActLimit;
use crate::path::{Outbox, Path, ProtocolViolation};
use crate::reason::{Reason, Reasons};
use crate::units::Timestamp;
use crate::wire::control::{ByeReason, ControlMessage, SourceState};
use crate::wire::states::{Fate, StatesReport};

/// Highest rate, a second, of the largest pictures that are taken; smaller ones may be more frequent.
const RATE_MAX: f64 = 120.0;

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
    /// Connected.
    AwaitingWelcome,
    /// The owner builds its decoder.
    Preparing,
    Streaming,
    /// A Bye has come or gone.
    Over,
}

/// The receiving end of a stream of video.
#[derive(Debug)]
pub struct VideoReceiver {
    options: ReceiverOptions,
    phase: ReceiverPhase,
    inbound: Option<Inbound>,
    /// Streams that may begin on this connection: each costs a decoder.
    welcomes: ActLimit,
    control: Outbox,
    /// The newest report of states, until it leaves.
    states: Option<Vec<u8>>,
    events: VecDeque<ReceiverEvent>,
    counters: ReceiverCounters,
    reasons: Reasons,
}

impl VideoReceiver {
    /// Creates an end without a connection.
    pub fn new(options: ReceiverOptions) -> Self {
        Self {
            options,
            phase: ReceiverPhase::Disconnected,
            inbound: None,
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
    pub fn on_connected(&mut self, path: &Path, now: Timestamp) {
        self.on_disconnected(path, now);
        self.welcomes = welcomes_allowed(now);
        self.phase = ReceiverPhase::AwaitingWelcome;
    }

    /// Ends the connection; the stream waits for the next. If the sender had finished, so have we.
    pub fn on_disconnected(&mut self, path: &Path, now: Timestamp) {
        if let Some(inbound) = &mut self.inbound {
            inbound.on_disconnected(now);
            self.drive(path, now);
        }
        self.drop_stream();
        self.states = None;
        self.control.clear();
        self.phase = ReceiverPhase::Disconnected;
    }

    /// Takes a message of the sending end.
    pub fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        match (self.phase, message) {
            (ReceiverPhase::Disconnected | ReceiverPhase::Over, _) => {}
            (_, ControlMessage::Bye { reason }) => self.on_bye(reason, path, now),
            (_, ControlMessage::Welcome { params, .. }) if self.is_too_large(&params) => {
                let mut stream = format!("pictures of {} at {} a second", params.size, params.frame_rate.as_f64());
                match params.codec.profile.states() {
                    0 => {}
                    states => stream += &format!(", of which {states} are kept for prediction,"),
                }
                let most = self.options.size_max.map(|size| size.to_string()).unwrap_or_default();
                let text =
                    format!("{stream} are more than size_max in [expert] there takes, {most}: send smaller ones");
                self.bye(ByeReason::Protocol(text));
                return Err(ProtocolViolation(format!(
                    "{stream} are more than size_max in [expert] takes, {most}: raise it, or have smaller ones sent"
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
            (ReceiverPhase::Streaming, ControlMessage::Source { state }) => {
                if let Some(inbound) = &mut self.inbound {
                    inbound.source = state;
                }
            }
            (_, ControlMessage::Source { .. }) => self.violation("a source's state without a stream".to_owned())?,
            (_, ControlMessage::Bounced(_)) => self.violation("a bounced picture without a latency test".to_owned())?,
            (_, _) => self.violation("a message that no sender of video sends".to_owned())?,
        }
        Ok(())
    }

    /// Takes notice that the decoder for the last [`ReceiverEvent::Start`] is there.
    pub fn ready(&mut self, path: &mut Path, now: Timestamp) {
        if self.phase == ReceiverPhase::Preparing {
            path.receive(VIDEO, RANK, now);
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
    pub fn on_datagram(&mut self, datagram: &[u8], path: &mut Path, now: Timestamp) -> DatagramOutcome {
        self.counters.bytes_received += datagram.len() as u64;
        let outcome = match &mut self.inbound {
            Some(inbound) if self.phase == ReceiverPhase::Streaming => inbound.on_datagram(datagram, path, now),
            Some(inbound) => {
                inbound.on_early_datagram(datagram, path, now);
                DatagramOutcome::Unexpected
            }
            None => DatagramOutcome::Unexpected,
        };
        *match outcome {
            DatagramOutcome::Accepted => &mut self.counters.datagrams_accepted,
            DatagramOutcome::Duplicate => &mut self.counters.datagrams_duplicate,
            DatagramOutcome::Late => &mut self.counters.datagrams_late,
            DatagramOutcome::TooFarAhead => &mut self.counters.datagrams_too_far_ahead,
            DatagramOutcome::Malformed(_) => &mut self.counters.datagrams_malformed,
            DatagramOutcome::Unexpected => &mut self.counters.datagrams_unexpected,
        } += 1;
        self.drive(path, now);
        outcome
    }

    /// Returns the next message for the peer.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.control.pop()
    }

    /// Takes the decoder's report of the last frames of this stream, for the sender. It replaces one that has not left.
    pub fn report_states(&mut self, report: &StatesReport) {
        self.counters.counts.frames_lacking_reference += u64::from(report.fates.first() == Some(&Fate::LacksReference));
        self.states = Some(report.to_bytes(VIDEO));
    }

    /// Returns the next datagram for the sending end: a report of states.
    pub fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        if self.phase == ReceiverPhase::Streaming { self.states.take() } else { None }
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.inbound.as_ref().and_then(Inbound::next_deadline)
    }

    /// Releases what is due, once the time of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, path: &Path, now: Timestamp) {
        self.drive(path, now);
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
        self.counters
    }

    /// Returns the bytes held for frames that are not whole yet; bounded by the stream's parameters.
    pub fn held_bytes(&self) -> usize {
        self.inbound.as_ref().map_or(0, Inbound::held_bytes)
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

    /// Gives the frames that are complete or due, and the end of the stream.
    fn drive(&mut self, path: &Path, now: Timestamp) {
        let Some(inbound) = &mut self.inbound else { return };
        let stalled = path.receive_stalled();
        while let Some(frame) = inbound.poll_frame(now, stalled, &mut self.counters, &mut self.reasons) {
            self.events.push_back(ReceiverEvent::Frame(frame));
        }
        if inbound.poll_over(now, &mut self.counters, &mut self.reasons) {
            self.finish();
        }
    }

    fn on_bye(&mut self, reason: ByeReason, path: &mut Path, now: Timestamp) {
        if let (ByeReason::Finished { last_frame }, Some(inbound)) = (&reason, &mut self.inbound) {
            if !inbound.is_ending() {
                inbound.on_finished(*last_frame, now);
                self.drive(path, now);
            }
            return;
        }
        path.end_receiving(VIDEO);
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
