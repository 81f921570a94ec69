//! The network thread's part of the sound that comes.

use std::sync::mpsc::Receiver;

use common::config::Peer;
use common::path::{Path, ProtocolViolation};
use common::stream::sound::{SoundReceiver, SoundReceiverEvent};
use common::units::Timestamp;
use common::wire::control::ControlMessage;
use common::wire::sound::{Bodies, SoundHeader};
use net::clock;
use net::limited;
use net::link::{Action, LinkState, Stream};
use shell::settings::SoundSide;
use sound::playout::Feed;
use sound::unit::{UNIT_BYTES_MAX, Unit};

use super::ear::Hearing;

/// The receiving end of a stream of sound between the network and the card's callback.
pub struct HearingLink {
    stream: SoundReceiver,
    feeds: Receiver<Feed>,
    feed: Option<Feed>,
    hearing: Hearing,
    side: SoundSide,
    action: Option<Action>,
}

impl HearingLink {
    pub(super) fn new(feeds: Receiver<Feed>, hearing: Hearing, side: SoundSide) -> Self {
        Self { stream: SoundReceiver::new(), feeds, feed: None, hearing, side, action: None }
    }

    /// Returns the ear of the card that is open.
    pub fn hearing(&self) -> Hearing {
        self.hearing.clone()
    }

    fn take_events(&mut self, path: &mut Path, now: Timestamp) {
        if let Some(newer) = self.feeds.try_iter().last() {
            self.feed = Some(newer);
        }
        while let Some(event) = self.stream.poll_event() {
            match event {
                // Also without a card: it may come later, and a recording needs none.
                SoundReceiverEvent::Offered(_) => {
                    self.stream.ready(path, now);
                    limited!(info, "the other side sends sound");
                }
                SoundReceiverEvent::Click(click) => self.side.set_click_there(click),
                SoundReceiverEvent::Late { .. } => {}
                SoundReceiverEvent::Ended => limited!(info, "the other side sends no more sound"),
            }
        }
    }
}

/// Gives each sound of a packet to `put`.
fn units(header: &SoundHeader, sounds: Bodies<'_>, now: Timestamp, mut put: impl FnMut(&Unit)) {
    let mut unit = Unit {
        number: header.number,
        format: header.format,
        epoch: header.epoch,
        capture_us: header.envelope.capture.as_us(),
        arrival_us: clock::to_monotonic(now),
        copies_back: 0,
        copies: header.copies,
        is_muted: header.is_muted,
        level: header.level,
        body: sound::unit::Body::Whole,
        len: 0,
        bytes: [0; UNIT_BYTES_MAX],
    };
    if header.is_muted {
        put(&unit);
    }
    for (back, body, sound) in sounds {
        let Some(bytes) = unit.bytes.get_mut(..sound.len()) else { continue };
        bytes.copy_from_slice(sound);
        unit.number = header.number.wrapping_sub(back.into());
        unit.is_muted = header.is_muted && back == 0;
        (unit.copies_back, unit.body, unit.len) = (back, body, sound.len() as u16);
        put(&unit);
    }
}

impl Stream for HearingLink {
    fn on_connected(&mut self, _: &Peer, _: &mut Path, _: Timestamp) {
        self.stream.on_connected();
    }

    fn on_disconnected(&mut self, _: &mut Path, _: Timestamp) {
        self.stream.on_disconnected();
        self.side.set_click_there(None);
    }

    fn on_control(&mut self, message: ControlMessage, path: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        self.stream.on_control(message, path)
    }

    fn on_datagram(&mut self, bytes: &[u8], path: &mut Path, now: Timestamp) {
        let Some((header, sounds)) = self.stream.on_datagram(bytes, path, now) else { return };
        if let Some(feed) = &mut self.feed {
            // For what has no room the ring keeps count.
            units(&header, sounds, now, |unit| _ = feed.push(unit));
        }
    }

    fn on_tick(&mut self, _: Option<LinkState>, path: &mut Path, now: Timestamp) {
        self.take_events(path, now);
        self.side.set_received(self.stream.counters().packets_received);
        if let Some(ear) = self.hearing.ear() {
            ear.controls.set_volume(self.side.volume());
        }
    }

    fn on_stop(&mut self, _: Timestamp) {
        self.stream.stop();
        self.action = Some(Action::End);
    }

    fn poll_control(&mut self) -> Option<ControlMessage> {
        self.stream.poll_control()
    }

    /// A call goes on as long as its pictures do.
    fn keeps_call(&self) -> bool {
        false
    }

    fn poll_action(&mut self, path: &mut Path, now: Timestamp) -> Option<Action> {
        self.take_events(path, now);
        self.action.take()
    }
}
