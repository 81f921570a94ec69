//! Both ends of a connection with one stream of video, each a path with the stream on it, as a program of one direction has them:
//! for tests, tools and the laboratory.

use std::time::Duration;

use picture::coded::CodedFrame;
use picture::params::StreamParams;

use crate::path::clock::ClockOffset;
use crate::path::{Datagram, Directions, FeedbackOutcome, LossEstimate, Path, PathCounters, ProtocolViolation};
use crate::reason::Reason;
use crate::stream::video::protection::Protection;
use crate::stream::video::reassemble::DatagramOutcome;
use crate::stream::video::{
    FrameTimes, ReceiverCounters, ReceiverEvent, ReceiverOptions, SenderCounters, SenderEvent, VideoReceiver,
    VideoSender,
};
use crate::units::{Bitrate, FrameId, Timestamp};
use crate::wire::control::{ControlMessage, SourceState};
use crate::wire::states::StatesReport;

/// A machine that sends one stream of video.
#[derive(Debug)]
pub struct SenderSession {
    path: Path,
    video: VideoSender,
}

impl SenderSession {
    /// Creates an end without a connection, for a stream whose datagrams with all that is around them take at most
    /// `rate_max`, and no more than the network's capacity.
    pub fn new(params: StreamParams, rate_max: Bitrate, protection: Protection) -> Self {
        let path = Path::new(Directions::Sends, rate_max);
        Self { video: VideoSender::new(params, rate_max, protection), path }
    }

    /// Takes a new connection whose datagrams hold at most `max_datagram` bytes. Ends an earlier one.
    pub fn on_connected(&mut self, now: Timestamp, max_datagram: usize) {
        self.path.on_connected(now, max_datagram);
        self.video.on_connected(&mut self.path, now);
        self.video.on_target(&self.path);
    }

    /// Ends the connection.
    pub fn on_disconnected(&mut self, _now: Timestamp) {
        self.path.on_disconnected();
        self.video.on_disconnected(&mut self.path);
    }

    /// Goes on with pictures of other parameters; see [`VideoSender::restart`].
    pub fn restart(&mut self, params: StreamParams, now: Timestamp) -> bool {
        self.video.restart(params, &self.path, now)
    }

    /// Takes a message of the peer.
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        match self.path.on_control(message, now)? {
            Some(message) => self.video.on_control(message, &mut self.path, now)?,
            None if self.path.has_greeted() => self.video.on_greeted(),
            None => {}
        }
        Ok(())
    }

    /// Tells the receiver of the source.
    pub fn set_source(&mut self, state: SourceState) {
        self.video.set_source(state);
    }

    /// Takes a datagram of the receiver.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> FeedbackOutcome {
        match self.path.on_datagram(datagram, now) {
            Datagram::Feedback(outcome) => {
                self.video.on_feedback(&self.path);
                outcome
            }
            Datagram::States(_) => self.video.on_datagram(datagram),
            Datagram::Malformed(error) => FeedbackOutcome::Malformed(error.into()),
            Datagram::Media(_) => FeedbackOutcome::Unexpected,
        }
    }

    /// Takes notice that what leaves from now on takes another way.
    pub fn on_path_changed(&mut self, now: Timestamp) {
        self.path.on_path_changed(now);
    }

    /// Changes the highest video bit rate.
    pub fn set_rate_max(&mut self, rate_max: Bitrate) {
        self.path.set_rate_max(rate_max);
        self.video.on_target(&self.path);
    }

    /// Sets the rate of others' sound on the line.
    pub fn set_beside(&mut self, declared: Option<Bitrate>) {
        self.path.set_beside(declared);
        self.video.on_target(&self.path);
    }

    /// Returns the rate of sound on the line, and what that bears, as far as they are known.
    pub fn beside(&self) -> (Option<Bitrate>, Option<Bitrate>) {
        (self.path.beside(), self.path.line())
    }

    /// Sets what a datagram can hold, from the next frame on, bytes.
    pub fn set_max_datagram(&mut self, bytes: usize) {
        self.path.set_max_datagram(bytes);
        self.video.on_target(&self.path);
    }

    /// Returns the path, for a stream of another kind beside the video.
    pub fn path(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Returns what the next frames with all that is around them may take, bits a second.
    pub fn rate_target(&self) -> Bitrate {
        self.path.target()
    }

    /// Returns what the network has lost of late.
    pub fn loss(&self) -> LossEstimate {
        self.path.loss()
    }

    /// Returns true if frames are wanted.
    pub fn is_streaming(&self) -> bool {
        self.video.is_streaming()
    }

    /// Returns the bytes that the next frame may have.
    pub fn budget_bytes(&self) -> usize {
        self.video.budget_bytes()
    }

    /// Returns the number of the next frame.
    pub fn next_frame(&self) -> FrameId {
        self.video.next_frame()
    }

    /// Takes a frame; see [`VideoSender::on_frame`].
    pub fn on_frame(&mut self, id: FrameId, frame: &CodedFrame, times: FrameTimes, now: Timestamp) {
        self.video.on_frame(id, frame, times, &self.path, now);
    }

    /// Returns the next datagram to hand to the socket at `now`.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.video.poll_datagram(&mut self.path, now)
    }

    /// Returns the next message for the peer.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.path.poll_control().or_else(|| self.video.poll_control())
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        [self.path.poll_timeout(), self.video.poll_timeout()].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.path.handle_timeout(now);
        self.video.on_target(&self.path);
        self.video.handle_timeout(now);
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.video.poll_event()
    }

    /// Returns the next reason, of the path or of the stream.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.path.poll_reason().or_else(|| self.video.poll_reason())
    }

    /// Ends the video.
    pub fn finish(&mut self, now: Timestamp) {
        self.video.finish(now);
    }

    /// Says that we stop but may come back.
    pub fn stop(&mut self) {
        self.video.stop();
    }

    /// Returns what has been counted of the stream.
    pub fn stats(&self) -> SenderCounters {
        self.video.stats()
    }

    /// Returns what has been counted of the path.
    pub fn path_counters(&self) -> PathCounters {
        self.path.counters()
    }
}

/// A machine that receives one stream of video.
#[derive(Debug)]
pub struct ReceiverSession {
    path: Path,
    video: VideoReceiver,
}

impl ReceiverSession {
    /// Creates an end without a connection.
    pub fn new(options: ReceiverOptions) -> Self {
        Self { path: Path::new(Directions::Receives, Bitrate::from_bps(0)), video: VideoReceiver::new(options) }
    }

    /// Sets [`ReceiverOptions::latency_max`] from now on.
    pub fn set_latency_max(&mut self, latency_max: Option<Duration>) {
        self.video.set_latency_max(latency_max);
    }

    /// Takes a new connection. Ends an earlier one.
    pub fn on_connected(&mut self, now: Timestamp) {
        self.video.on_connected(&self.path, now);
        self.path.on_connected(now, 0);
    }

    /// Ends the connection.
    pub fn on_disconnected(&mut self, now: Timestamp) {
        self.video.on_disconnected(&self.path, now);
        self.path.on_disconnected();
    }

    /// Takes a message of the peer.
    pub fn on_control(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        match self.path.on_control(message, now)? {
            Some(message) => self.video.on_control(message, &mut self.path, now),
            None => Ok(()),
        }
    }

    /// Takes notice that the decoder for the last [`ReceiverEvent::Start`] is there.
    pub fn ready(&mut self, now: Timestamp) {
        self.video.ready(&mut self.path, now);
    }

    /// Refuses the last [`ReceiverEvent::Start`].
    pub fn refuse(&mut self, reason: String) {
        self.video.refuse(reason);
    }

    /// Returns true if video may come.
    pub fn is_streaming(&self) -> bool {
        self.video.is_streaming()
    }

    /// Returns how the sender's source is, as it has said.
    pub fn source(&self) -> SourceState {
        self.video.source()
    }

    /// Takes a datagram. Afterwards take the events.
    pub fn on_datagram(&mut self, datagram: &[u8], now: Timestamp) -> DatagramOutcome {
        match self.path.on_datagram(datagram, now) {
            Datagram::Media(_) => self.video.on_datagram(datagram, &mut self.path, now),
            Datagram::Malformed(error) => DatagramOutcome::Malformed(error.into()),
            Datagram::Feedback(_) | Datagram::States(_) => DatagramOutcome::Unexpected,
        }
    }

    /// Returns the path, for a stream of another kind beside the video.
    pub fn path(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Takes the decoder's report of the last frames of this stream.
    pub fn report_states(&mut self, report: &StatesReport) {
        self.video.report_states(report);
    }

    /// Returns the next message for the peer.
    pub fn poll_control(&mut self) -> Option<ControlMessage> {
        self.path.poll_control().or_else(|| self.video.poll_control())
    }

    /// Returns the next datagram for the peer: a report of states at once, a feedback report when it is due.
    pub fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.video.poll_datagram().or_else(|| self.path.poll_datagram(now))
    }

    /// Returns the time to poll for datagrams and call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        [self.path.poll_timeout(), self.video.poll_timeout()].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.path.handle_timeout(now);
        self.video.handle_timeout(&self.path, now);
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.video.poll_event()
    }

    /// Returns the next reason.
    pub fn poll_reason(&mut self) -> Option<Reason> {
        self.video.poll_reason()
    }

    /// Ends the stream from this end.
    pub fn finish(&mut self) {
        self.video.finish();
    }

    /// Says that we stop but may come back.
    pub fn stop(&mut self) {
        self.video.stop();
    }

    /// Returns what has been counted of the stream.
    pub fn stats(&self) -> ReceiverCounters {
        self.video.stats()
    }

    /// Returns what has been counted of the path.
    pub fn path_counters(&self) -> PathCounters {
        self.path.counters()
    }

    /// Returns the bytes held for frames that are not whole yet.
    pub fn held_bytes(&self) -> usize {
        self.video.held_bytes()
    }

    /// Returns the sender's clock.
    pub fn clock(&self) -> &ClockOffset {
        self.path.clock()
    }
}
