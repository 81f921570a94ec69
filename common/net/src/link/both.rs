//! Both directions of video over one connection: a sending and a receiving link side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::config::Peer;
use common::session::ProtocolViolation;
use common::units::Timestamp;
use common::wire::control::{ControlMessage, StreamEnd};
use common::wire::feedback::is_for_sender;

use super::{Action, Link, LinkState, Obstacle, Waker};

/// Asks both directions to end, from any thread.
#[derive(Clone, Debug)]
pub struct HangUp {
    asked: Arc<AtomicBool>,
    waker: Waker,
}

impl HangUp {
    /// Creates a handle that wakes the loop through `waker`.
    pub fn new(waker: Waker) -> Self {
        Self { asked: Arc::default(), waker }
    }

    /// Ends the call.
    pub fn hang_up(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.waker.wake();
    }
}

/// One direction; it goes on or has ended.
#[derive(Debug)]
struct Half<L> {
    link: L,
    ended: bool,
}

impl<L: Link> Half<L> {
    /// Returns the link, unless it has ended.
    fn live(&mut self) -> Option<&mut L> {
        (!self.ended).then_some(&mut self.link)
    }
}

/// Whoever follows a call besides its two directions, such as a latency test.
pub trait Onlooker {
    /// Takes notice of the peer that is connected.
    fn on_connected(&mut self, peer: &Peer) {
        let _ = peer;
    }
    /// Takes a message that is for neither direction; gives back any other.
    fn on_control(&mut self, message: ControlMessage) -> Option<ControlMessage> {
        Some(message)
    }
    /// Returns a message of its own to send, and as which end.
    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)> {
        None
    }
    /// Returns what the call shall do now.
    fn poll_action(&mut self, now: Timestamp) -> Option<Action> {
        let _ = now;
        None
    }
}

impl Onlooker for () {}

/// Two links that share a connection. Each ends by itself; both have ended when the second has. A failure of one ends
/// both, as does [`HangUp`].
#[derive(Debug)]
pub struct BothWays<S, R, O = ()> {
    sending: Half<S>,
    receiving: Half<R>,
    hang_up: HangUp,
    disconnect: bool,
    onlooker: O,
}

impl<S: Link, R: Link> BothWays<S, R> {
    /// Joins the two directions of a call.
    pub fn new(sending: S, receiving: R, hang_up: HangUp) -> Self {
        Self::followed(sending, receiving, hang_up, ())
    }
}

impl<S: Link, R: Link, O: Onlooker> BothWays<S, R, O> {
    /// Joins the two directions of a call that `onlooker` follows.
    pub fn followed(sending: S, receiving: R, hang_up: HangUp, onlooker: O) -> Self {
        let (sending, receiving) = (Half { link: sending, ended: false }, Half { link: receiving, ended: false });
        Self { sending, receiving, hang_up, disconnect: false, onlooker }
    }

    /// Returns the sending link, for its last words.
    pub fn sending(&mut self) -> &mut S {
        &mut self.sending.link
    }

    /// Calls `tell` with each link that has not ended.
    fn each(&mut self, mut tell: impl FnMut(&mut dyn Link)) {
        if let Some(link) = self.sending.live() {
            tell(link);
        }
        if let Some(link) = self.receiving.live() {
            tell(link);
        }
    }
}

/// Returns the action that one half asks for; none: nothing that concerns the connection yet.
fn ask<L: Link>(half: &mut Half<L>, now: Timestamp) -> Option<Action> {
    let action = half.live()?.poll_action(now)?;
    half.ended |= action == Action::End;
    Some(action)
}

impl<S: Link, R: Link, O: Onlooker> Link for BothWays<S, R, O> {
    fn on_connected(&mut self, peer: &Peer, max_datagram: usize, now: Timestamp) {
        self.disconnect = false;
        self.onlooker.on_connected(peer);
        self.each(|link| link.on_connected(peer, max_datagram, now));
    }

    fn on_disconnected(&mut self, now: Timestamp) {
        self.each(|link| link.on_disconnected(now));
    }

    fn on_control(
        &mut self,
        speaker: StreamEnd,
        message: ControlMessage,
        now: Timestamp,
    ) -> Result<(), ProtocolViolation> {
        let Some(message) = self.onlooker.on_control(message) else { return Ok(()) };
        // What a sending end says is for the receiving end, and the other way round.
        match speaker {
            StreamEnd::Sender => self.receiving.live().map_or(Ok(()), |link| link.on_control(speaker, message, now)),
            StreamEnd::Receiver => self.sending.live().map_or(Ok(()), |link| link.on_control(speaker, message, now)),
        }
    }

    fn on_datagram(&mut self, bytes: &[u8], now: Timestamp) {
        if is_for_sender(bytes) {
            if let Some(link) = self.sending.live() {
                link.on_datagram(bytes, now);
            }
        } else if let Some(link) = self.receiving.live() {
            link.on_datagram(bytes, now);
        }
    }

    fn on_path_changed(&mut self, now: Timestamp) {
        self.each(|link| link.on_path_changed(now));
    }

    fn on_max_datagram(&mut self, bytes: usize) {
        self.each(|link| link.on_max_datagram(bytes));
    }

    fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        self.each(|link| link.on_obstacle(obstacle));
    }

    fn on_called(&mut self, peer: &Peer) {
        self.each(|link| link.on_called(peer));
    }

    fn on_wake(&mut self, now: Timestamp) {
        if self.hang_up.asked.swap(false, Ordering::Relaxed) {
            self.on_stop(now);
        }
        self.each(|link| link.on_wake(now));
    }

    fn on_tick(&mut self, state: Option<LinkState>, now: Timestamp) {
        self.each(|link| link.on_tick(state, now));
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.each(|link| link.handle_timeout(now));
    }

    fn on_stop(&mut self, now: Timestamp) {
        self.each(|link| link.on_stop(now));
    }

    fn poll_control(&mut self) -> Option<(StreamEnd, ControlMessage)> {
        // Also of a half that has ended: its goodbye may still be queued.
        let of_links = self.sending.link.poll_control().or_else(|| self.receiving.link.poll_control());
        of_links.or_else(|| self.onlooker.poll_control())
    }

    fn poll_datagram(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        // Feedback reports first: they are small, and useless when old.
        let feedback = self.receiving.live().and_then(|link| link.poll_datagram(now));
        feedback.or_else(|| self.sending.live().and_then(|link| link.poll_datagram(now)))
    }

    fn silence_max(&self) -> Duration {
        // Either stream is enough for traffic both ways.
        self.sending.link.silence_max().min(self.receiving.link.silence_max())
    }

    fn is_for_one_stream(&self) -> bool {
        self.sending.link.is_for_one_stream() || self.receiving.link.is_for_one_stream()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        let sending = self.sending.link.poll_timeout().filter(|_| !self.sending.ended);
        let receiving = self.receiving.link.poll_timeout().filter(|_| !self.receiving.ended);
        [sending, receiving].into_iter().flatten().min()
    }

    fn poll_action(&mut self, now: Timestamp) -> Option<Action> {
        if let Some(action) = self.onlooker.poll_action(now) {
            return Some(action);
        }
        let asked = [ask(&mut self.sending, now), ask(&mut self.receiving, now)];
        for action in asked.into_iter().flatten() {
            match action {
                Action::Fail(failure) => return Some(Action::Fail(failure)),
                Action::Disconnect => self.disconnect = true,
                Action::End => {}
            }
        }
        if self.sending.ended && self.receiving.ended {
            return Some(Action::End);
        }
        std::mem::take(&mut self.disconnect).then_some(Action::Disconnect)
    }
}

#[cfg(test)]
#[path = "both_tests.rs"]
pub(crate) mod tests;
