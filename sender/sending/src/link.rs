//! The network thread's part: where a clock meets the sending session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::config::Peer;
use common::session::{ProtocolViolation, SenderEvent, SenderSession};
use common::stats::{CallState, HEARD_MAX, SenderReport, Stage, StageHistograms, Standing};
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ControlMessage, StreamEnd};
use kernels::BackendInfo;
use net::clock;
use net::failure::Failure;
use net::limited;
use net::link::{Action, IDLE_SILENCE, Link, LinkState, LiveRate, PathInUse, streaming_silence};
use net::quoted::Quoted;
use shell::sd::Watchdog;
use shell::settings::OwnSide;
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
    pub(crate) session: SenderSession,
    pub(crate) gate: Arc<Gate>,
    pub(crate) pictures: Slot<SourceFrame>,
    pub(crate) coded: Slot<Encoded>,
    pub(crate) info: SourceInfo,
    pub(crate) rate: LiveRate,
    pub(crate) backend: Arc<BackendInfo>,
    pub(crate) stats: Statistics,
    pub(crate) dials: bool,
    /// See [`Link::is_for_one_stream`].
    pub(crate) one_stream: bool,
    /// Those who may ask for another rate.
    pub(crate) own: OwnSide,
    pub(crate) given: Option<Given>,
    pub(crate) recording: Option<Recorder>,
}

/// A sending session between the encode thread and the network.
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
    /// As it was asked for last during the call.
    rate_max: Bitrate,
    /// Time at which something came last, while somebody is connected.
    heard: Option<Timestamp>,
    action: Option<Action>,
    watchdog: Option<Watchdog>,
}

impl SenderLink {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            rate_max: parts.own.rate(),
            parts,
            stages: StageHistograms::default(),
            given: 0,
            sent: 0,
            finishing: false,
            rtt_us: None,
            black_holes: [0; 2],
            ticks: 0,
            path: PathInUse::default(),
            heard: None,
            action: None,
            watchdog: None,
        }
    }

    /// Lets this link tell the service manager that the sender works.
    pub fn feed_watchdog(&mut self, watchdog: Watchdog) {
        self.watchdog = Some(watchdog);
    }

    /// Writes the last line of statistics.
    pub fn report_final(&mut self) {
        let report = self.report(true);
        if report.frames_damaged > 0 {
            tracing::warn!("{} damaged pictures of the source were skipped", report.frames_damaged);
        }
        self.parts.stats.write(&report);
    }

    /// Gives the session a frame if there is one and the session may have it: one of a live source at once, one of
    /// a file when the one before has left.
    fn feed(&mut self, now: Timestamp) -> bool {
        // A stream that has begun is known before a frame is taken for it, or the frame would count as one of the stream before.
        self.take_events(now);
        let session = &mut self.parts.session;
        if !session.is_streaming() {
            return false;
        }
        let counters = session.stats();
        let is_idle = counters.frames_sent + counters.frames_cut + counters.frames_unwanted >= self.given;
        if !self.parts.info.is_live && !is_idle {
            return false;
        }
        let Some(encoded) = self.parts.coded.try_take() else {
            if self.parts.coded.is_closed() && !self.finishing {
                self.finishing = true;
                session.finish(now);
            }
            return false;
        };
        if encoded.params != *session.params() {
            // The frame is lost: the receiver has no decoder for it yet. What is coded until then is not wanted.
            if session.restart(encoded.params, now) {
                self.parts.gate.set_open(false);
                self.parts.recording.iter_mut().for_each(|recording| recording.on_params(encoded.params));
                self.follow_target();
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
        self.parts.backend = encoded.backend;
        if let Some(recording) = &mut self.parts.recording {
            recording.on_frame(&encoded.frame, encoded.times.capture, now);
        }
        if let Some(given) = &mut self.parts.given {
            given(encoded.times.capture);
        }
        session.on_frame(encoded.id, &encoded.frame, encoded.times, now);
        self.given += 1;
        self.follow_target();
        true
    }

    /// Tells the encoder and the congestion window what the session's target is now.
    fn follow_target(&self) {
        self.parts.gate.set_budget_bytes(self.parts.session.budget_bytes());
        self.parts.rate.set(self.parts.session.rate_target());
    }

    fn take_events(&mut self, now: Timestamp) {
        while let Some(event) = self.parts.session.poll_event() {
            self.on_event(event, now);
        }
    }

    fn on_event(&mut self, event: SenderEvent, now: Timestamp) {
        match event {
            SenderEvent::Streaming => {
                limited!(
                    info,
                    "streaming {} at {} for a start",
                    self.parts.session.params().size,
                    self.parts.session.rate_target()
                );
                self.follow_target();
                self.parts.recording.iter_mut().for_each(Recorder::on_stream);
                // What was coded for the receiver before is too old for this one.
                if self.parts.info.is_live && self.parts.coded.try_take().is_some() {
                    self.parts.gate.unwanted.fetch_add(1, Ordering::Relaxed);
                }
                self.parts.gate.tell(Told::Restart);
                self.parts.gate.set_open(true);
            }
            SenderEvent::States(report) => {
                self.parts.gate.tell(Told::Report(report, now));
                self.parts.pictures.wake();
            }
            SenderEvent::Finished => self.action = Some(Action::End),
            SenderEvent::PeerFinished if self.parts.one_stream => self.action = Some(Action::End),
            SenderEvent::PeerFinished => {
                limited!(info, "the receiver has seen all that it wanted; waiting for the next call");
                self.parts.gate.set_open(false);
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

    fn standing(&self) -> Standing {
        let connected = self.heard.is_some_and(|heard| clock::now().since(heard) < HEARD_MAX);
        let state = match self.heard {
            None => CallState::Waiting,
            Some(_) if !self.parts.session.is_streaming() => CallState::Connected,
            Some(_) if connected => CallState::Streaming,
            Some(_) => CallState::Silent,
        };
        let (path, path_changes) = (self.path.name(), self.path.changes());
        Standing { unix_ms: clock::unix_ms(), state, connected, path, path_changes }
    }

    fn report(&self, is_final: bool) -> SenderReport {
        let counters = self.parts.session.stats();
        let gate = &self.parts.gate;
        let unusable = gate.source_health.unusable();
        // A camera counts while no picture of it can be used, too.
        let damaged = gate.skipped.load(Ordering::Relaxed).max(unusable.sum());
        let prediction = gate.prediction();
        let dropped_early = self.parts.pictures.dropped()
            + self.parts.coded.dropped()
            + gate.unwanted.load(Ordering::Relaxed)
            + damaged;
        let pixels = counters.frames_sent.max(1) as f64 * self.parts.session.params().size.pixels() as f64;
        SenderReport {
            standing: self.standing(),
            frames_captured: gate.captured.load(Ordering::Relaxed),
            frames_sent: counters.frames_sent,
            frames_dropped: dropped_early + counters.frames_cut + counters.frames_unwanted,
            frames_damaged: damaged,
            frames_unusable: unusable,
            bytes_sent: counters.bytes_sent,
            bits_per_pixel: 8.0 * counters.coded_bytes as f64 / pixels,
            rate_target_bps: self.parts.session.rate_target().as_bps(),
            rtt_us: counters.rtt.map(|rtt| rtt.as_micros() as u64).or(self.rtt_us),
            loss: counters.loss(),
            black_holes: self.black_holes.iter().sum(),
            stalled_ms: counters.stalled.as_secs_f64() * 1e3,
            frames_predicted: prediction.predicted,
            frames_replayed: prediction.replays,
            state_mismatches: prediction.mismatches,
            reasons: counters.reasons,
            backend: self.parts.backend.kind.to_string(),
            device: self.parts.backend.device.clone(),
            stages_us: self.stages.summary(),
            is_final,
        }
    }
}

impl Link for SenderLink {
    fn on_connected(&mut self, _: &Peer, max_datagram: usize, now: Timestamp) {
        self.heard = Some(now);
        self.parts.session.on_connected(now, max_datagram);
    }

    fn on_disconnected(&mut self, now: Timestamp) {
        self.heard = None;
        self.parts.gate.set_open(false);
        self.black_holes = [self.black_holes.iter().sum(), 0];
        self.parts.session.on_disconnected(now);
        // What was not sent of the frames given is gone.
        let counters = self.parts.session.stats();
        self.given = counters.frames_sent + counters.frames_cut + counters.frames_unwanted;
    }

    fn on_control(&mut self, _: StreamEnd, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        self.heard = Some(now);
        self.parts.session.on_control(message, now)
    }

    fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) {
        self.heard = Some(now);
        self.parts.session.on_datagram(bytes, now);
        self.follow_target();
    }

    fn on_path_changed(&mut self, now: Timestamp) {
        self.parts.session.on_path_changed(now);
    }

    fn on_max_datagram(&mut self, bytes: usize) {
        self.parts.session.set_max_datagram(bytes);
        self.follow_target();
    }

    fn on_wake(&mut self, _: Timestamp) {
        // A frame that is there is found when the loop polls for datagrams.
        self.parts.session.set_source(self.parts.gate.source());
    }

    fn on_tick(&mut self, state: Option<LinkState>, now: Timestamp) {
        self.path.look(state);
        let rate = self.parts.own.rate();
        if std::mem::replace(&mut self.rate_max, rate) != rate {
            tracing::info!("sending {rate} at most");
            self.parts.session.set_rate_max(rate);
            self.follow_target();
        }
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

    fn handle_timeout(&mut self, now: Timestamp) {
        self.parts.session.handle_timeout(now);
        self.follow_target();
    }

    fn on_stop(&mut self, _: Timestamp) {
        self.parts.session.stop();
        self.action = Some(Action::End);
    }

    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)> {
        self.parts.session.poll_control().map(|message| (StreamEnd::Sender, message))
    }

    fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        loop {
            // The newest frame of a live source takes the place of the one that is leaving.
            if self.parts.info.is_live {
                self.feed(now);
            }
            let datagram = self.parts.session.poll_datagram(now);
            let counters = self.parts.session.stats();
            if counters.frames_sent > self.sent {
                self.sent = counters.frames_sent;
                self.stages.record(Stage::Pace, counters.last_pace);
            }
            if datagram.is_some() || !self.feed(now) {
                return datagram;
            }
        }
    }

    fn silence_max(&self) -> Duration {
        if self.parts.session.is_streaming() {
            streaming_silence(self.parts.session.params().frame_rate.interval())
        } else {
            IDLE_SILENCE
        }
    }

    fn is_for_one_stream(&self) -> bool {
        self.parts.one_stream
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.parts.session.poll_timeout()
    }

    fn poll_action(&mut self, now: Timestamp) -> Option<Action> {
        self.take_events(now);
        while let Some(reason) = self.parts.session.poll_reason() {
            tracing::debug!("{reason}");
        }
        self.action.take()
    }
}
