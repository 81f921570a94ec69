//! The network thread's part: a sending session for pictures that go back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::config::Peer;
use common::protection::Protection;
use common::session::{ProtocolViolation, SenderEvent, SenderSession};
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ControlMessage, StreamEnd};
use net::limited;
use net::link::{Action, IDLE_SILENCE, Link, LinkState, LiveRate, streaming_silence};
use net::lock::lock;
use net::quoted::Quoted;
use picture::params::StreamParams;
use shell::slot::Slot;

use super::Shared;
use super::coder::Coded;

/// Messages that may come before this side knows what it sends: the other's greeting, and what a careless one says twice.
const EARLY_MAX: usize = 8;

/// Ways that wait to be told. Where the line holds more back, the oldest are left out: they do not count then.
const TOLD_MAX: usize = 64;

/// A sending session between the bounce thread and the network. It begins when the first picture of a stream was shown.
pub(super) struct BounceLink {
    shared: Arc<Shared>,
    coded: Slot<Coded>,
    rate: LiveRate,
    session: Option<SenderSession>,
    /// Largest datagram of the connection, bytes.
    max_datagram: Option<usize>,
    early: Vec<ControlMessage>,
    /// Serial number of the last stream that was sent back, and the time between its frames.
    serial: u64,
    interval: Duration,
    told: VecDeque<ControlMessage>,
    action: Option<Action>,
}

impl BounceLink {
    /// Creates a link that takes pictures from `coded` and keeps `rate` up to date.
    pub(super) fn new(shared: Arc<Shared>, coded: Slot<Coded>, rate: LiveRate) -> Self {
        Self {
            shared,
            coded,
            rate,
            session: None,
            max_datagram: None,
            early: Vec::new(),
            serial: 0,
            interval: Duration::ZERO,
            told: VecDeque::new(),
            action: None,
        }
    }

    fn rate_max(&self) -> Bitrate {
        Bitrate::from_bps(self.shared.rate_bps.load(Ordering::Relaxed))
    }

    /// Offers a stream, once the connection and the pictures are there.
    fn begin(&mut self, serial: u64, params: StreamParams, now: Timestamp) {
        (self.serial, self.interval) = (serial, params.frame_rate.interval());
        // The connection of that stream may have gone meanwhile.
        let Some(max_datagram) = self.max_datagram else { return };
        let mut session = SenderSession::new(params, self.rate_max(), Protection::Auto);
        session.on_connected(now, max_datagram);
        for message in self.early.drain(..) {
            if let Err(violation) = session.on_control(message, now) {
                limited!(warn, "{violation}");
                self.action = Some(Action::Disconnect);
            }
        }
        self.session = Some(session);
    }

    /// Tells the encoder and the congestion window what the session's target is now.
    fn follow_target(&self) {
        if let Some(session) = &self.session {
            self.shared.budget_bytes.store(session.budget_bytes(), Ordering::Relaxed);
            self.rate.set(session.rate_target());
        }
    }

    fn feed(&mut self, now: Timestamp) {
        if let Some(session) = self.session.as_mut().filter(|session| session.is_streaming())
            && let Some(Coded { frame, times, way }) = self.coded.try_take()
        {
            session.on_frame(frame, times, now);
            if self.told.len() >= TOLD_MAX {
                self.told.pop_front();
            }
            self.told.push_back(ControlMessage::Bounced(way));
            self.follow_target();
        }
    }

    fn on_event(&mut self, event: SenderEvent) {
        match event {
            SenderEvent::Streaming => {
                limited!(info, "pictures go back");
                self.follow_target();
                self.shared.is_open.store(true, Ordering::Relaxed);
            }
            SenderEvent::States(_) => {}
            SenderEvent::PeerRejected(reason) => {
                limited!(warn, "the other side ended the test: {}", Quoted(&reason));
                self.action = Some(Action::Disconnect);
            }
            SenderEvent::Finished
            | SenderEvent::PeerFinished
            | SenderEvent::PeerStopping
            | SenderEvent::PeerReplaced => {
                self.action.get_or_insert(Action::Disconnect);
            }
        }
    }
}

impl Link for BounceLink {
    fn on_connected(&mut self, _: &Peer, max_datagram: usize, _: Timestamp) {
        self.max_datagram = Some(max_datagram);
    }

    fn on_disconnected(&mut self, _: Timestamp) {
        self.shared.is_open.store(false, Ordering::Relaxed);
        (self.session, self.max_datagram) = (None, None);
        self.early.clear();
        self.told.clear();
        self.coded.try_take();
    }

    fn on_control(&mut self, _: StreamEnd, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        match &mut self.session {
            Some(session) => session.on_control(message, now),
            None if self.early.len() < EARLY_MAX => {
                self.early.push(message);
                Ok(())
            }
            None => {
                Err(ProtocolViolation("the peer broke the protocol: it asks before anything is offered".to_owned()))
            }
        }
    }

    fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) {
        if let Some(session) = &mut self.session {
            session.on_datagram(bytes, now);
        }
        self.follow_target();
    }

    fn on_path_changed(&mut self, now: Timestamp) {
        if let Some(session) = &mut self.session {
            session.on_path_changed(now);
        }
    }

    fn on_max_datagram(&mut self, bytes: usize) {
        self.max_datagram = Some(bytes);
        if let Some(session) = &mut self.session {
            session.set_max_datagram(bytes);
        }
        self.follow_target();
    }

    fn on_wake(&mut self, now: Timestamp) {
        let stream = *lock(&self.shared.stream);
        if let Some((serial, params)) = stream.filter(|(serial, _)| *serial != self.serial) {
            self.begin(serial, params, now);
        }
    }

    fn on_tick(&mut self, _: Option<LinkState>, _: Timestamp) {
        let rate_max = self.rate_max();
        if let Some(session) = &mut self.session {
            session.set_rate_max(rate_max);
        }
        self.follow_target();
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if let Some(session) = &mut self.session {
            session.handle_timeout(now);
        }
        self.follow_target();
    }

    fn on_stop(&mut self, _: Timestamp) {
        if let Some(session) = &mut self.session {
            session.stop();
        }
        self.action = Some(Action::End);
    }

    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)> {
        let of_session = self.session.as_mut().and_then(SenderSession::poll_control);
        of_session.or_else(|| self.told.pop_front()).map(|message| (StreamEnd::Sender, message))
    }

    fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        // The newest picture takes the place of the one that is leaving.
        self.feed(now);
        self.session.as_mut().and_then(|session| session.poll_datagram(now))
    }

    fn silence_max(&self) -> Duration {
        match &self.session {
            Some(session) if session.is_streaming() => streaming_silence(self.interval),
            _ => IDLE_SILENCE,
        }
    }

    fn is_for_one_stream(&self) -> bool {
        false
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.session.as_ref().and_then(SenderSession::poll_timeout)
    }

    fn poll_action(&mut self, _: Timestamp) -> Option<Action> {
        while let Some(event) = self.session.as_mut().and_then(SenderSession::poll_event) {
            self.on_event(event);
        }
        while let Some(reason) = self.session.as_mut().and_then(SenderSession::poll_reason) {
            tracing::debug!("{reason}");
        }
        if let Some(failure) = lock(&self.shared.failed).take() {
            return Some(Action::Fail(failure));
        }
        self.action.take()
    }
}
