//! The table of a connection's streams, with the path that they share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::{Peer, PublicKey};
use common::path::{Datagram, Directions, Path, ProtocolViolation};
use common::stream::video::VIDEO;
use common::units::{Bitrate, Timestamp};
use common::wire::control::{ByeReason, ControlMessage, StreamEnd, StreamId};

use super::stream::Stream;
use super::{Action, IDLE_SILENCE, LinkState, Obstacle, Waker};
use crate::lock::lock;

/// Most streams that are refused and not told yet: of more the peer is not told.
const REFUSED_MAX: usize = 8;

/// Asks all streams to end, from any thread.
#[derive(Clone, Debug)]
pub struct HangUp {
    asked: Arc<AtomicBool>,
    removed: Arc<Mutex<Vec<PublicKey>>>,
    waker: Waker,
}

impl HangUp {
    /// Creates a handle that wakes the loop through `waker`.
    pub fn new(waker: Waker) -> Self {
        Self { asked: Arc::default(), removed: Arc::default(), waker }
    }

    /// Ends the call.
    pub fn hang_up(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// Ends all that there is with the machine of this key, which is not known any more: a call with it, which it is told, or its door.
    pub fn remove(&self, key: PublicKey) {
        lock(&self.removed).push(key);
        self.waker.wake();
    }
}

/// One end of a stream; it goes on or has ended.
struct Entry<'a> {
    id: StreamId,
    stream: &'a mut dyn Stream,
    ended: bool,
}

/// The streams between this machine and a peer, and the path that they share, from connection to connection. Each stream ends by
/// itself; the call ends with the last that keeps it. A failure of one ends all, as does [`HangUp`].
pub struct Streams<'a> {
    path: Path,
    entries: Vec<Entry<'a>>,
    hang_up: Option<HangUp>,
    refused: VecDeque<StreamId>,
    disconnect: bool,
    /// True once streams that keep no call were told that it ends.
    is_ending: bool,
}

impl<'a> Streams<'a> {
    /// Creates a table without a stream, of which what is sent takes at most `rate_max`.
    pub fn new(directions: Directions, rate_max: Bitrate) -> Self {
        let path = Path::new(directions, rate_max);
        Self { path, entries: Vec::new(), hang_up: None, refused: VecDeque::new(), disconnect: false, is_ending: false }
    }

    /// Creates the table of a call that sends video and receives it, and sends at most `rate_max`.
    pub fn both_ways(rate_max: Bitrate, sending: &'a mut dyn Stream, receiving: &'a mut dyn Stream) -> Self {
        let table = Self::new(Directions::Both, rate_max);
        table.with(StreamId::sent(VIDEO), sending).with(StreamId::received(VIDEO), receiving)
    }

    /// Adds an end of a stream. Datagrams of those added first leave first.
    pub fn with(mut self, id: StreamId, stream: &'a mut dyn Stream) -> Self {
        self.entries.push(Entry { id, stream, ended: false });
        self
    }

    /// Ends all streams when `hang_up` asks for it.
    pub fn ended_by(mut self, hang_up: HangUp) -> Self {
        self.hang_up = Some(hang_up);
        self
    }

    /// Calls `tell` with each stream that has not ended, and the path.
    fn each(&mut self, mut tell: impl FnMut(&mut dyn Stream, &mut Path)) {
        for entry in self.entries.iter_mut().filter(|entry| !entry.ended) {
            tell(entry.stream, &mut self.path);
        }
    }

    /// Returns the place of an end of a stream.
    fn find(&self, id: StreamId) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }

    /// Takes the connection of a peer whose key is proved.
    pub(super) fn on_connected(&mut self, peer: &Peer, max_datagram: usize, now: Timestamp) {
        self.disconnect = false;
        self.refused.clear();
        self.path.on_connected(now, max_datagram);
        self.each(|stream, path| stream.on_connected(peer, path, now));
    }

    /// The connection is gone; another may come.
    pub(super) fn on_disconnected(&mut self, now: Timestamp) {
        self.each(|stream, path| stream.on_disconnected(path, now));
        self.path.on_disconnected();
    }

    /// Takes a control message. `about`: the end of a stream that says it; none: it is about the path, or about all streams.
    pub(super) fn on_control(
        &mut self,
        about: Option<StreamId>,
        message: ControlMessage,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        self.each(|stream, _| stream.on_heard(now));
        let had_greeted = self.path.has_greeted();
        let Some(message) = self.path.on_control(message, now)? else {
            if self.path.has_greeted() && !had_greeted {
                self.each(|stream, path| stream.on_greeted(path));
            }
            return Ok(());
        };
        let Some(id) = about.map(StreamId::other_end) else { return self.on_control_of_all(message, now) };
        match self.find(id).map(|place| &mut self.entries[place]) {
            Some(entry) if entry.ended => Ok(()),
            Some(entry) => entry.stream.on_control(message, &mut self.path, now),
            None => self.on_unknown(id, &message),
        }
    }

    /// Takes a message about no stream: a goodbye is one of all streams.
    fn on_control_of_all(&mut self, message: ControlMessage, now: Timestamp) -> Result<(), ProtocolViolation> {
        if !matches!(message, ControlMessage::Bye { .. }) {
            return self.path.violation("a message about no stream that only streams have");
        }
        for entry in self.entries.iter_mut().filter(|entry| !entry.ended) {
            entry.stream.on_control(message.clone(), &mut self.path, now)?;
        }
        Ok(())
    }

    /// Answers what is said about a stream that this program does not know, such as that of a newer one.
    fn on_unknown(&mut self, id: StreamId, message: &ControlMessage) -> Result<(), ProtocolViolation> {
        match message {
            ControlMessage::Bye { .. } => Ok(()),
            offer if offer.is_offer() && id.end == StreamEnd::Receiver => {
                if self.refused.len() < REFUSED_MAX {
                    self.refused.push_back(id);
                }
                Ok(())
            }
            _ => self.path.violation("a message about a stream that was not begun"),
        }
    }

    /// Takes a datagram.
    pub(super) fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) {
        self.each(|stream, _| stream.on_heard(now));
        let id = match self.path.on_datagram(bytes, now) {
            Datagram::Feedback(_) => return self.each(|stream, path| stream.on_feedback(path)),
            Datagram::Media(envelope) => StreamId::received(envelope.stream),
            Datagram::States(number) => StreamId::sent(number),
            Datagram::Malformed(_) => return,
        };
        if let Some(place) = self.find(id).filter(|&place| !self.entries[place].ended) {
            self.entries[place].stream.on_datagram(bytes, &mut self.path, now);
        }
    }

    /// Takes notice that packets take another way from now on; the connection is the same.
    pub(super) fn on_path_changed(&mut self, now: Timestamp) {
        self.path.on_path_changed(now);
    }

    /// Takes what a datagram can hold from now on, bytes: it changes with the path, and a larger one is not sent.
    pub(super) fn on_max_datagram(&mut self, bytes: usize) {
        self.path.set_max_datagram(bytes);
        self.each(|stream, path| stream.on_target(path));
    }

    /// Takes what keeps the other machine from being met.
    pub(super) fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        self.each(|stream, _| stream.on_obstacle(obstacle));
    }

    /// Takes notice of another machine that has called meanwhile.
    pub(super) fn on_called(&mut self, peer: &Peer) {
        self.each(|stream, _| stream.on_called(peer));
    }

    /// Returns the keys of machines that are not known any more.
    pub(super) fn take_removed(&mut self) -> Vec<PublicKey> {
        self.hang_up.as_ref().map(|hang_up| std::mem::take(&mut *lock(&hang_up.removed))).unwrap_or_default()
    }

    /// Does what is due after [`Waker::wake`] was called on some thread.
    pub(super) fn on_wake(&mut self, now: Timestamp) {
        if self.hang_up.as_ref().is_some_and(|hang_up| hang_up.asked.swap(false, Ordering::Relaxed)) {
            self.on_stop(now);
        }
        self.each(|stream, path| stream.on_wake(path, now));
    }

    /// Lets streams take what they are to send next, such as a frame. Returns true if one has.
    pub(super) fn feed(&mut self, now: Timestamp) -> bool {
        let mut has_fed = false;
        self.each(|stream, path| has_fed |= stream.feed(path, now));
        has_fed
    }

    /// Called every [`super::TICK`], connected or not.
    pub(super) fn on_tick(&mut self, state: Option<LinkState>, now: Timestamp) {
        self.each(|stream, path| stream.on_tick(state, path, now));
    }

    /// Does what is due.
    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        self.path.handle_timeout(now);
        self.each(|stream, path| {
            stream.on_target(path);
            stream.handle_timeout(path, now);
        });
    }

    /// The process was asked to stop: all say goodbye.
    pub(super) fn on_stop(&mut self, now: Timestamp) {
        self.each(|stream, _| stream.on_stop(now));
    }

    /// Returns the next control message to send, and which end of a stream says it.
    pub(super) fn poll_control(&mut self) -> Option<(Option<StreamId>, ControlMessage)> {
        if let Some(message) = self.path.poll_control() {
            return Some((None, message));
        }
        if let Some(id) = self.refused.pop_front() {
            let reason = ByeReason::Protocol("there is nothing here that such a stream is for".to_owned());
            return Some((Some(id), ControlMessage::Bye { reason }));
        }
        // Also of one that has ended: its goodbye may still be queued.
        self.entries.iter_mut().find_map(|entry| Some((Some(entry.id), entry.stream.poll_control()?)))
    }

    /// Returns the next datagram to send now.
    pub(super) fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        // Feedback reports first: they are small, and useless when old.
        if let Some(feedback) = self.path.poll_datagram(now) {
            return Some(feedback);
        }
        let mut live = self.entries.iter_mut().filter(|entry| !entry.ended);
        live.find_map(|entry| entry.stream.poll_datagram(&mut self.path, now))
    }

    /// Returns the longest time without any packet that means nothing. Any stream is enough for traffic both ways.
    pub(super) fn silence_max(&self) -> Duration {
        self.entries.iter().map(|entry| entry.stream.silence_max()).min().unwrap_or(IDLE_SILENCE)
    }

    /// Returns true if a stream is the only one that the program is for.
    pub(super) fn is_for_one_stream(&self) -> bool {
        self.entries.iter().any(|entry| entry.stream.is_for_one_stream())
    }

    /// Returns the time to call [`Self::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        let live = self.entries.iter().filter(|entry| !entry.ended);
        live.map(|entry| entry.stream.poll_timeout()).chain([self.path.poll_timeout()]).flatten().min()
    }

    /// Returns the next task of the loop.
    pub(super) fn poll_action(&mut self, now: Timestamp) -> Option<Action> {
        let mut failure = None;
        for entry in self.entries.iter_mut().filter(|entry| !entry.ended) {
            match entry.stream.poll_action(&mut self.path, now) {
                Some(Action::Fail(why)) => failure = failure.or(Some(why)),
                Some(Action::Disconnect) => self.disconnect = true,
                Some(Action::End) => {
                    entry.ended = true;
                    match entry.id.end {
                        StreamEnd::Sender => self.path.end(entry.id.number),
                        StreamEnd::Receiver => self.path.end_receiving(entry.id.number),
                    }
                }
                None => {}
            }
        }
        if let Some(failure) = failure {
            return Some(Action::Fail(failure));
        }
        let keeps = |entries: &[Entry<'_>]| entries.iter().any(|entry| !entry.ended && entry.stream.keeps_call());
        if !keeps(&self.entries) && !std::mem::replace(&mut self.is_ending, true) {
            // One may have to wait for what it lacks.
            self.on_stop(now);
        }
        if !keeps(&self.entries) {
            return Some(Action::End);
        }
        let holds = self.entries.iter().any(|entry| !entry.ended && entry.stream.holds_connection());
        (!holds && std::mem::take(&mut self.disconnect)).then_some(Action::Disconnect)
    }
}

#[cfg(test)]
#[path = "streams_tests.rs"]
pub(super) mod tests;
