//! The network thread's part: where a clock meets the receiving end of the stream.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{Peer, PublicKey};
use common::path::{Path, ProtocolViolation};
use common::stream::video::{ReceiverEvent, ReceiverOptions, VideoReceiver};
use common::units::{FrameId, Timestamp};
use common::wire::control::{ByeReason, ControlMessage, SourceState};
use net::failure::Failure;
use net::limited;
use net::link::{Action, IDLE_SILENCE, LinkState, Obstacle, PathInUse, Stream, streaming_silence};
use net::lock::lock;
use net::quoted::Quoted;
use shell::record::{Recorded, Switch};
use shell::sd::Pulse;
use shell::settings::LatencyLimit;
use shell::slot::Slot;

use crate::handover::{Command, End, Job, LinkView, Opened};

/// Names of callers that wait to be told at most.
const CALLED_MAX: usize = 4;

/// The receiving end of a stream between the network and the decode thread.
pub struct ReceiverLink {
    stream: VideoReceiver,
    jobs: Slot<Job>,
    commands: Receiver<Command>,
    view: Arc<Mutex<LinkView>>,
    dials: bool,
    one_stream: bool,
    serial: u64,
    /// Between frames of the last stream.
    interval: Duration,
    action: Option<Action>,
    pulse: Pulse,
    /// The peer that is connected, the time of its last datagram, and the last stream that ended on purpose.
    peer: Option<PublicKey>,
    heard: Timestamp,
    goodbye: u64,
    left: Option<Timestamp>,
    path: PathInUse,
    obstacle: Option<Obstacle>,
    recording: Switch,
    /// The stream that is recorded from its datagrams, and true if the last one was.
    recorded: Option<Arc<Recorded>>,
    was_recorded: bool,
    /// The first frame of the stream that was offered last, then the one behind the last that came out.
    next: FrameId,
    latency_limit: Option<LatencyLimit>,
}

impl ReceiverLink {
    /// Creates a link that gives jobs to `jobs`, takes `commands` and keeps `view` up to date. `dials`: whether this
    /// side makes the connection; `one_stream`: see [`Stream::is_for_one_stream`]. `pulse` shows that the network thread
    /// turns. What comes is copied to `recording`, but for frames with prediction: of these counts what the decoder used.
    #[allow(clippy::too_many_arguments, reason = "each is another end of it")]
    pub fn new(
        options: ReceiverOptions,
        dials: bool,
        one_stream: bool,
        jobs: Slot<Job>,
        commands: Receiver<Command>,
        view: Arc<Mutex<LinkView>>,
        pulse: Pulse,
        recording: Switch,
    ) -> Self {
        let stream = VideoReceiver::new(options);
        Self {
            stream,
            jobs,
            commands,
            view,
            dials,
            one_stream,
            serial: 0,
            interval: Duration::ZERO,
            action: None,
            pulse,
            peer: None,
            heard: Timestamp::default(),
            goodbye: 0,
            left: None,
            path: PathInUse::default(),
            obstacle: None,
            recording,
            recorded: None,
            was_recorded: false,
            next: FrameId::default(),
            latency_limit: None,
        }
    }

    /// Returns the recording of what comes.
    pub fn recording(&self) -> Switch {
        self.recording.clone()
    }

    /// Follows a latency limit that may change.
    pub fn set_latency_limit(&mut self, latency_limit: LatencyLimit) {
        self.latency_limit = Some(latency_limit);
    }

    fn on_event(&mut self, event: ReceiverEvent, path: &Path, now: Timestamp) {
        if !matches!(event, ReceiverEvent::Start(_) | ReceiverEvent::Frame(_)) {
            self.goodbye = self.serial;
            self.left = Some(now);
        }
        match event {
            ReceiverEvent::Start(params) => {
                self.serial += 1;
                self.interval = params.frame_rate.interval();
                let is_predicted = params.codec.profile.states() > 0;
                let recorded = Recorded { serial: self.serial, params, start: self.next };
                self.recorded = (!is_predicted).then(|| Arc::new(recorded));
                // A frame of the stream before may be lost here: the new stream is what counts.
                self.jobs.replace(Job::Open { params, serial: self.serial });
            }
            ReceiverEvent::Frame(arrived) => {
                self.next = arrived.assembled.id.next();
                let clock_offset_us = path.clock().offset_us();
                self.jobs.replace(Job::Frame { arrived, clock_offset_us });
            }
            ReceiverEvent::Finished if self.one_stream => self.action = Some(Action::End),
            ReceiverEvent::Finished => limited!(info, "the sender has finished; waiting for the next call"),
            ReceiverEvent::PeerStopping => {
                limited!(info, "the sender has stopped; waiting for it to come back");
                self.action.get_or_insert(Action::Disconnect);
            }
            ReceiverEvent::PeerReplaced => {
                self.part("another receiver with this machine's key has taken the stream over".to_owned());
            }
            ReceiverEvent::PeerRejected(reason) => {
                self.part(format!("the sender ended the connection: {}", Quoted(&reason)));
            }
        }
    }

    /// Gives a datagram to the recording, which begins where the stream is.
    fn record(&mut self, bytes: &[u8], now: Timestamp) {
        let tap = self.recording.tap();
        let begins = !std::mem::replace(&mut self.was_recorded, tap.is_some()) && tap.is_some();
        let (Some(tap), Some(stream), true) = (tap, &mut self.recorded, self.stream.is_streaming()) else { return };
        if begins {
            *stream = Arc::new(Recorded { start: self.next, ..(**stream).clone() });
        }
        tap.datagram(stream, bytes, now);
    }

    /// Ends a dialler that is for one stream with `message`, since there will be none; any other daemon goes on.
    fn part(&mut self, message: String) {
        if self.dials && self.one_stream {
            self.action = Some(Action::Fail(Failure::network(message)));
        } else {
            limited!(warn, "{message}");
            self.action.get_or_insert(Action::Disconnect);
        }
    }

    fn take_events(&mut self, path: &Path, now: Timestamp) {
        while let Some(event) = self.stream.poll_event() {
            self.on_event(event, path, now);
        }
        while let Some(reason) = self.stream.poll_reason() {
            net::reasons::tell(&reason);
        }
    }

    fn publish(&self, path: &Path, now: Timestamp) {
        let mut view = lock(&self.view);
        view.snapshot.counters = self.stream.stats();
        view.snapshot.path_counters = path.counters();
        // The last one known stays for the final report.
        view.snapshot.clock_offset_us = path.clock().offset_us().or(view.snapshot.clock_offset_us);
        view.snapshot.clock_error_us = path.clock().error_us(now).or(view.snapshot.clock_error_us);
        view.snapshot.streaming = self.stream.is_streaming();
        if view.snapshot.source != self.stream.source() {
            (view.snapshot.source, view.snapshot.source_told) = (self.stream.source(), now);
            match view.snapshot.source {
                // Without a stream nobody says anything of its camera.
                SourceState::Gives if !view.snapshot.streaming => {}
                SourceState::Gives => limited!(info, "the camera there gives pictures again"),
                SourceState::Stalled => {
                    limited!(info, "camera stalled, says the sender: it is there and gives no pictures")
                }
                SourceState::Lost => {
                    limited!(info, "camera lost, says the sender: it is unplugged or another program has it")
                }
                SourceState::Unusable => {
                    limited!(info, "camera's pictures unusable, says the sender: they come, and are damaged or unknown")
                }
                SourceState::Withheld => limited!(info, "no pictures, says the sender: sound only"),
            }
        }
        view.snapshot.peer = self.peer;
        view.snapshot.greeted = self.peer.is_some() && path.has_greeted();
        view.snapshot.rings = self.peer.is_some() && path.rings();
        view.snapshot.heard = self.heard;
        view.snapshot.goodbye = self.goodbye;
        view.snapshot.left = self.left;
        view.snapshot.path = self.path;
        view.snapshot.obstacle = self.obstacle;
    }
}

impl Stream for ReceiverLink {
    fn on_connected(&mut self, peer: &Peer, path: &mut Path, now: Timestamp) {
        (self.peer, self.heard) = (Some(peer.key), now);
        self.stream.on_connected(path, now);
    }

    fn on_heard(&mut self, now: Timestamp) {
        self.heard = now;
    }

    fn on_disconnected(&mut self, path: &mut Path, now: Timestamp) {
        self.peer = None;
        self.stream.on_disconnected(path, now);
    }

    fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        if let ControlMessage::Bye { reason: ByeReason::Finished { last_frame } } = message {
            lock(&self.view).last_frame = last_frame;
        }
        if let ControlMessage::Welcome { start_frame, .. } = message {
            self.next = start_frame;
        }
        self.stream.on_control(message, path, now)
    }

    fn on_datagram(&mut self, bytes: &[u8], path: &mut Path, now: Timestamp) {
        self.record(bytes, now);
        self.stream.on_datagram(bytes, path, now);
        // At once: many datagrams may come together, and each may bring a frame.
        self.take_events(path, now);
    }

    fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        self.obstacle = obstacle;
    }

    fn on_called(&mut self, peer: &Peer) {
        let mut view = lock(&self.view);
        let LinkView { called, told_busy, .. } = &mut *view;
        for names in [called, told_busy] {
            if names.len() < CALLED_MAX {
                names.push(peer.name.clone());
            }
        }
    }

    fn on_wake(&mut self, path: &mut Path, now: Timestamp) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Opened(Opened { serial, refused: None }) if serial == self.serial => {
                    self.stream.ready(path, now)
                }
                Command::Opened(Opened { serial, refused: Some(reason) }) if serial == self.serial => {
                    self.stream.refuse(format!("the stream is too much for the receiver: {reason}"));
                    self.part(format!("the sender's stream is refused: {reason}"));
                }
                // The stream that this decoder was for has gone.
                Command::Opened(_) => {}
                Command::States { serial, report } if serial == self.serial => self.stream.report_states(&report),
                Command::States { .. } => {}
                Command::End(End::Finish) => {
                    self.stream.finish();
                    self.action = Some(Action::End);
                }
                Command::End(End::Stop) => self.on_stop(now),
            }
        }
    }

    fn on_tick(&mut self, state: Option<LinkState>, _: &mut Path, _: Timestamp) {
        self.path.look(state);
        if let Some(latency_limit) = &self.latency_limit {
            self.stream.set_latency_max(latency_limit.get());
        }
        self.pulse.beat();
    }

    fn handle_timeout(&mut self, path: &mut Path, now: Timestamp) {
        self.stream.handle_timeout(path, now);
    }

    fn on_stop(&mut self, _now: Timestamp) {
        self.stream.stop();
        self.action = Some(Action::End);
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.stream.poll_control()
    }

    fn poll_datagram(&mut self, _: &mut Path, _: Timestamp) -> Option<Vec<u8>> {
        self.stream.poll_datagram()
    }

    fn silence_max(&self) -> Duration {
        if self.stream.is_streaming() { streaming_silence(self.interval) } else { IDLE_SILENCE }
    }

    fn is_for_one_stream(&self) -> bool {
        self.one_stream
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.stream.poll_timeout()
    }

    fn poll_action(&mut self, path: &mut Path, now: Timestamp) -> Option<Action> {
        self.take_events(path, now);
        self.publish(path, now);
        let action = self.action.take();
        if action == Some(Action::End) {
            self.pulse.end();
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use common::path::Directions;
    use common::units::Bitrate;
    use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
    use picture::params::StreamParams;

    use super::*;

    /// A public key.
    const KEY: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    fn path() -> Path {
        Path::new(Directions::Receives, Bitrate::from_bps(0))
    }

    #[test]
    fn what_keeps_the_other_side_away_and_who_called_meanwhile_reach_the_main_thread() {
        let (_commands, queue) = channel();
        let (slot, view, pulse) = (Slot::new(), Arc::<Mutex<LinkView>>::default(), Pulse::default());
        let options = ReceiverOptions::default();
        let mut link = ReceiverLink::new(options, true, true, slot, queue, Arc::clone(&view), pulse, Switch::default());
        let peer = Peer { name: "tina".to_owned(), key: KEY.parse().unwrap() };
        (0..100).for_each(|_| link.on_called(&peer));
        link.on_obstacle(Some(Obstacle::NoNetwork));
        link.poll_action(&mut path(), Timestamp::default());
        let seen = lock(&view);
        assert_eq!((seen.snapshot.obstacle, seen.called.len()), (Some(Obstacle::NoNetwork), CALLED_MAX));
        assert_eq!(seen.called[0], "tina");
    }

    #[test]
    fn a_receiver_that_dials_notices_a_stalled_stream_within_frames() {
        let (commands, queue) = channel();
        let (slot, view, pulse) = (Slot::new(), Arc::default(), Pulse::default());
        let mut link =
            ReceiverLink::new(ReceiverOptions::default(), true, true, slot, queue, view, pulse, Switch::default());
        let now = Timestamp::default();
        let peer = Peer { name: "other".to_owned(), key: KEY.parse().unwrap() };
        let mut path = path();
        link.on_connected(&peer, &mut path, now);
        let params = StreamParams {
            frame_rate: FrameRate::new(50, 1).unwrap(),
            colour: ColourSpace::JPEG,
            ..StreamParams::new(FrameSize::new(64, 48).unwrap(), Chroma::C420)
        };
        assert_eq!(link.silence_max(), IDLE_SILENCE);
        link.on_control(ControlMessage::Welcome { params, start_frame: FrameId(0) }, &mut path, now).unwrap();
        assert!(link.poll_action(&mut path, now).is_none());
        commands.send(Command::Opened(Opened { serial: 1, refused: None })).unwrap();
        link.on_wake(&mut path, now);
        assert_eq!(link.silence_max(), Duration::from_millis(160), "three frames and 100 ms");
        link.on_disconnected(&mut path, now);
        assert_eq!(link.silence_max(), IDLE_SILENCE);
    }
}
