//! The network thread's part: where a clock meets the sending end of the stream.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::config::Peer;
use common::path::{Path, PathCounters, ProtocolViolation};
use common::stats::{CallState, HEARD_MAX, SenderReport, Stage, StageHistograms, Standing};
use common::stream::video::{SenderEvent, VideoSender};
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ControlMessage, SourceState};
use kernels::BackendInfo;
use net::clock;
use net::failure::Failure;
use net::limited;
use net::link::{Action, IDLE_SILENCE, LinkState, LiveRate, PathInUse, Stream, streaming_silence};
use net::quoted::Quoted;
use shell::record::Switch;
use shell::sd::Watchdog;
use shell::settings::{OwnSide, SoundSide};
use shell::slot::Slot;
use shell::stats::Statistics;

use crate::encode::Encoded;
use crate::gate::Gate;
use crate::predict::Told;
use crate::recorder::Recorder;
use crate::source::{SourceFrame, SourceInfo};

/// Ticks of the link from one line of statistics to the next.
const TICKS_PER_REPORT: u32 = 4;

/// Takes the capture time of each frame that the network takes.
pub type Given = Box<dyn FnMut(Timestamp) + Send>;

/// Parts of the sender's link.
pub(crate) struct Parts {
    pub(crate) stream: VideoSender,
    pub(crate) gate: Arc<Gate>,
    /// Its receiver's number among those of the gate.
    pub(crate) receiver: usize,
    pub(crate) pictures: Slot<SourceFrame>,
    pub(crate) coded: Slot<Arc<Encoded>>,
    pub(crate) info: SourceInfo,
    pub(crate) rate: LiveRate,
    pub(crate) backend: Arc<BackendInfo>,
    pub(crate) stats: Statistics,
    pub(crate) dials: bool,
    /// See [`Stream::is_for_one_stream`].
    pub(crate) one_stream: bool,
    /// Rate of another program's sound on the same line, as somebody has said.
    pub(crate) beside: Option<Bitrate>,
    /// Those who may ask for another rate.
    pub(crate) own: OwnSide,
    pub(crate) given: Option<Given>,
    pub(crate) recording: Recorder,
    /// The sound beside the pictures, where there is any.
    pub(crate) sound: Option<SoundSide>,
}

/// The sending end of a stream between the encode thread and the network.
pub struct SenderLink {
    parts: Parts,
    stages: StageHistograms,
    given: u64,
    sent: u64,
    finishing: bool,
    rtt_us: Option<u64>,
    /// Of the connections that have ended, and of this one.
    black_holes: [u64; 2],
    ticks: u32,
    path: PathInUse,
    /// As the path had counted last.
    counters: PathCounters,
    /// As it was asked for last during the call.
    rate_max: Bitrate,
    /// The part of that which may leave to this receiver.
    share: Bitrate,
    /// The path's target as it was last, what sound is on the line and what that bears.
    rate_target: Bitrate,
    beside: Option<Bitrate>,
    line: Option<Bitrate>,
    /// Time at which something came last, while somebody is connected.
    heard: Option<Timestamp>,
    action: Option<Action>,
    watchdog: Option<Watchdog>,
}

impl SenderLink {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            rate_max: parts.own.rate(),
            share: parts.gate.first_share(parts.own.rate()),
            rate_target: parts.own.rate(),
            beside: None,
            line: None,
            parts,
            stages: StageHistograms::default(),
            given: 0,
            sent: 0,
            finishing: false,
            rtt_us: None,
            black_holes: [0; 2],
            ticks: 0,
            path: PathInUse::default(),
            counters: PathCounters::default(),
            heard: None,
            action: None,
            watchdog: None,
        }
    }

    /// Lets this link tell the service manager that the sender works.
    pub fn feed_watchdog(&mut self, watchdog: Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Returns the recording of what is sent.
    pub fn recording(&self) -> Switch {
        self.parts.recording.recording()
    }

    /// Returns the rate that it follows.
    pub(crate) fn rate(&self) -> LiveRate {
        self.parts.rate.clone()
    }

    /// Writes the last line of statistics.
    pub fn report_final(&mut self) {
        let report = self.report(true);
        if report.frames_damaged > 0 {
            tracing::warn!("{} damaged pictures of the source were skipped", report.frames_damaged);
        }
        self.parts.stats.write(&report);
    }

    /// Gives the stream a frame if there is one and the stream may have it: one of a live source at once, so that the newest takes
    /// the place of one that is leaving, unless sound beside makes that one take nearly all of its time; one of a file when the one before has left.
    fn give(&mut self, path: &mut Path, now: Timestamp) -> bool {
        // A stream that has begun is known before a frame is taken for it, or the frame would count as one of the stream before.
        self.take_events(path, now);
        let stream = &mut self.parts.stream;
        if !stream.is_streaming() {
            return false;
        }
        let counters = stream.stats();
        let is_idle = counters.frames_sent + counters.frames_cut + counters.frames_unwanted >= self.given;
        if !is_idle && (!self.parts.info.is_live || stream.is_about_to_end(path, now)) {
            return false;
        }
        let encoded = self.parts.coded.try_take();
        if encoded.is_some() && self.parts.own.is_hidden() {
            self.parts.gate.unwanted.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let Some(encoded) = encoded else {
            if self.parts.coded.is_closed() && !self.finishing {
                self.finishing = true;
                stream.finish(now);
            }
            return false;
        };
        if encoded.params != *stream.params() {
            // The frame is lost: the receiver has no decoder for it yet. What is coded until then is not wanted.
            if stream.restart(encoded.params, path, now) {
                self.parts.gate.set_open(self.parts.receiver, false);
                self.parts.recording.on_params(encoded.params);
                self.follow_target(path);
            }
            return false;
        }
        for (stage, time) in [
            (Stage::Capture, encoded.waited),
            (Stage::Upload, encoded.stages.upload),
            (Stage::Transform, encoded.stages.transform),
            (Stage::Code, encoded.stages.code),
        ] {
            self.stages.record(stage, time);
        }
        for (stage, time) in [
            (Stage::Effects, encoded.effects),
            (Stage::Motion, encoded.stages.motion),
            (Stage::Compensate, encoded.stages.compensate),
        ] {
            if !time.is_zero() {
                self.stages.record(stage, time);
            }
        }
        self.parts.backend = Arc::clone(&encoded.backend);
        self.parts.recording.on_frame(&encoded.frame, encoded.times.capture, now);
        if let Some(given) = &mut self.parts.given {
            given(encoded.times.capture);
        }
        stream.on_frame(encoded.id, &encoded.frame, encoded.times, path, now);
        self.given += 1;
        self.follow_target(path);
        true
    }

    /// Tells the encoder and the congestion window what the target is now.
    fn follow_target(&self, path: &Path) {
        self.parts.gate.set_budget_bytes(self.parts.receiver, self.parts.stream.budget_bytes());
        self.parts.rate.set(path.target());
    }

    /// Lets as much leave as the other receivers' paths leave. `target`: that of this one's, while it gets something.
    fn share_uplink(&mut self, target: Option<Bitrate>, path: &mut Path) {
        let share = self.parts.gate.share(self.parts.receiver, target, self.rate_max);
        if std::mem::replace(&mut self.share, share) != share {
            path.set_rate_max(share);
            self.on_target(path);
        }
    }

    fn take_events(&mut self, path: &Path, now: Timestamp) {
        while let Some(event) = self.parts.stream.poll_event() {
            self.on_event(event, path, now);
        }
    }

    fn on_event(&mut self, event: SenderEvent, path: &Path, now: Timestamp) {
        match event {
            SenderEvent::Streaming => {
                limited!(info, "streaming {} at {} for a start", self.parts.stream.params().size, path.target());
                self.rate_target = path.target();
                self.follow_target(path);
                self.parts.recording.on_stream();
                // What was coded for the receiver before is too old for this one.
                if self.parts.info.is_live && self.parts.coded.try_take().is_some() {
                    self.parts.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                }
                self.parts.gate.tell(self.parts.receiver, Told::Restart);
                self.parts.gate.set_open(self.parts.receiver, true);
            }
            SenderEvent::States(report) => {
                self.parts.gate.tell(self.parts.receiver, Told::Report(report, now));
                self.parts.pictures.wake();
            }
            SenderEvent::Finished => self.action = Some(Action::End),
            SenderEvent::PeerFinished if self.parts.one_stream => self.action = Some(Action::End),
            SenderEvent::PeerFinished => {
                limited!(info, "the receiver has seen all that it wanted; waiting for the next call");
                self.parts.gate.set_open(self.parts.receiver, false);
            }
            SenderEvent::PeerStopping => {
                limited!(info, "the receiver has stopped; waiting for it to come back");
                self.action.get_or_insert(Action::Disconnect);
            }
            SenderEvent::PeerReplaced => {
                self.part("another sender with this machine's key has taken the connection over".to_owned());
            }
            SenderEvent::PeerRejected(reason) => {
                self.part(format!("the receiver ended the connection: {}", Quoted(&reason)));
            }
        }
    }

    /// Ends a dialler that is for one stream with `message`, since the peer wants none; any other daemon goes on.
    fn part(&mut self, message: String) {
        if self.parts.dials && self.parts.one_stream {
            self.action = Some(Action::Fail(Failure::network(message)));
        } else {
            limited!(warn, "{message}");
            self.action.get_or_insert(Action::Disconnect);
        }
    }

    fn gives_pictures(&self) -> bool {
        self.parts.stream.is_streaming() && self.parts.gate.source() == SourceState::Gives
    }

    fn standing(&self) -> Standing {
        let connected = self.heard.is_some_and(|heard| clock::now().since(heard) < HEARD_MAX);
        let has_sound = self.parts.sound.as_ref().is_some_and(SoundSide::is_sent);
        let state = match self.heard {
            None => CallState::Waiting,
            Some(_) if connected && has_sound && !self.gives_pictures() => CallState::Sound,
            Some(_) if !self.parts.stream.is_streaming() => CallState::Connected,
            Some(_) if connected => CallState::Streaming,
            Some(_) => CallState::Silent,
        };
        let (path, path_changes) = (self.path.name(), self.path.changes());
        Standing { unix_ms: clock::unix_ms(), state, connected, path, path_changes }
    }

    fn report(&self, is_final: bool) -> SenderReport {
        let counters = self.parts.stream.stats();
        let gate = &self.parts.gate;
        let unusable = gate.source_health.unusable();
        // A camera counts while no picture of it can be used, too.
        let damaged = gate.skipped.load(Ordering::Relaxed).max(unusable.sum());
        let prediction = gate.prediction();
        let audience = self.parts.own.audience();
        let dropped_early = self.parts.pictures.dropped()
            + self.parts.coded.dropped()
            + gate.unwanted.load(Ordering::Relaxed)
            + damaged;
        let pixels = counters.frames_sent.max(1) as f64 * self.parts.stream.params().size.pixels() as f64;
        SenderReport {
            standing: self.standing(),
            frames_captured: gate.captured.load(Ordering::Relaxed),
            frames_sent: counters.frames_sent,
            frames_dropped: dropped_early + counters.frames_cut + counters.frames_unwanted,
            frames_damaged: damaged,
            frames_unusable: unusable,
            counts: counters.counts,
            sound: self.parts.sound.as_ref().map(SoundSide::sent).unwrap_or_default(),
            audience: audience.map(|audience| audience.counts).unwrap_or_default(),
            audience_part: audience.map(|audience| audience.part),
            audience_connected: audience.map(|audience| audience.is_connected),
            audience_watched: audience.map(|audience| audience.is_watched),
            audience_unseen: audience.map(|audience| audience.is_unseen),
            bits_per_pixel: 8.0 * counters.coded_bytes as f64 / pixels,
            rate_target_bps: self.rate_target.as_bps(),
            beside_bps: self.beside.map(Bitrate::as_bps),
            line_bps: self.line.map(Bitrate::as_bps),
            rtt_us: self.counters.rtt.map(|rtt| rtt.as_micros() as u64).or(self.rtt_us),
            loss: self.counters.loss(),
            black_holes: self.black_holes.iter().sum(),
            stalled_ms: self.counters.send_stalled.as_secs_f64() * 1e3,
            frames_predicted: prediction.predicted,
            reference_ages: prediction.ages,
            frames_apart: gate.apart(self.parts.receiver),
            frames_replayed: prediction.replays,
            state_mismatches: prediction.mismatches,
            reasons: counters.reasons.plus(self.counters.reasons),
            backend: self.parts.backend.kind.to_string(),
            device: self.parts.backend.device.clone(),
            stages_us: self.stages.summary(),
            is_final,
        }
    }
}

impl Stream for SenderLink {
    fn on_connected(&mut self, _: &Peer, path: &mut Path, now: Timestamp) {
        self.heard = Some(now);
        path.set_beside(self.parts.beside);
        self.share_uplink(None, path);
        self.parts.stream.on_connected(path, now);
        self.on_target(path);
    }

    fn on_heard(&mut self, now: Timestamp) {
        self.heard = Some(now);
    }

    fn on_greeted(&mut self, _: &mut Path) {
        self.parts.stream.on_greeted();
    }

    fn on_disconnected(&mut self, path: &mut Path, _: Timestamp) {
        self.heard = None;
        self.parts.gate.set_open(self.parts.receiver, false);
        self.black_holes = [self.black_holes.iter().sum(), 0];
        self.parts.stream.on_disconnected(path);
        // What was not sent of the frames given is gone.
        let counters = self.parts.stream.stats();
        self.given = counters.frames_sent + counters.frames_cut + counters.frames_unwanted;
    }

    fn on_control(
        &mut self,
        message: ControlMessage,
        path: &mut Path,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        self.parts.stream.on_control(message, path, now)
    }

    fn on_datagram(&mut self, bytes: &[u8], _: &mut Path, _: Timestamp) {
        self.parts.stream.on_datagram(bytes);
    }

    fn on_feedback(&mut self, path: &Path) {
        self.parts.stream.on_feedback(path);
        self.follow_target(path);
    }

    fn on_target(&mut self, path: &Path) {
        self.parts.stream.on_target(path);
        self.follow_target(path);
    }

    fn on_wake(&mut self, _: &mut Path, _: Timestamp) {
        // A frame that is there is found when the loop feeds its streams.
        self.parts.stream.set_source(self.parts.gate.source());
    }

    fn feed(&mut self, path: &mut Path, now: Timestamp) -> bool {
        self.give(path, now)
    }

    fn on_tick(&mut self, state: Option<LinkState>, path: &mut Path, now: Timestamp) {
        self.path.look(state);
        (self.beside, self.line) = (path.beside(), path.line());
        let rate = self.parts.own.rate();
        if std::mem::replace(&mut self.rate_max, rate) != rate {
            tracing::info!("sending {rate} at most");
        }
        let target = self.parts.stream.is_streaming().then(|| path.target());
        self.share_uplink(target, path);
        if let Some(state) = state {
            self.rtt_us = Some(state.rtt.as_micros() as u64);
            self.black_holes[1] = state.black_holes;
        }
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.alive(now);
        }
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS_PER_REPORT) {
            let report = self.report(false);
            self.parts.stats.write(&report);
        }
    }

    fn handle_timeout(&mut self, _: &mut Path, now: Timestamp) {
        self.parts.stream.handle_timeout(now);
    }

    fn on_stop(&mut self, _: Timestamp) {
        self.parts.stream.stop();
        self.action = Some(Action::End);
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.parts.stream.poll_control()
    }

    fn poll_datagram(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        let datagram = self.parts.stream.poll_datagram(path, now);
        let counters = self.parts.stream.stats();
        if counters.frames_sent > self.sent {
            self.sent = counters.frames_sent;
            self.stages.record(Stage::Pace, counters.last_pace);
        }
        datagram
    }

    fn silence_max(&self) -> Duration {
        if self.parts.stream.is_streaming() {
            streaming_silence(self.parts.stream.params().frame_rate.interval())
        } else {
            IDLE_SILENCE
        }
    }

    fn is_for_one_stream(&self) -> bool {
        self.parts.one_stream
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.parts.stream.poll_timeout()
    }

    fn poll_action(&mut self, path: &mut Path, now: Timestamp) -> Option<Action> {
        self.take_events(path, now);
        (self.counters, self.rate_target) = (path.counters(), path.target());
        while let Some(reason) = path.poll_reason().or_else(|| self.parts.stream.poll_reason()) {
            net::reasons::tell(&reason);
        }
        self.action.take()
    }
}
