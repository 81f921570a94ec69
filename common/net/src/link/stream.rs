//! An end of a stream as the loop sees it.

use std::time::Duration;

use common::config::Peer;
use common::path::{Path, ProtocolViolation};
use common::units::Timestamp;
use common::wire::control::ControlMessage;

use super::{Action, IDLE_SILENCE, LinkState, Obstacle};

/// One end of a stream: what becomes of what comes, and what leaves. Each call has the path that it shares with the others. All calls
/// come from one thread.
pub trait Stream {
    /// Takes the connection of a peer whose key is proved.
    fn on_connected(&mut self, peer: &Peer, path: &mut Path, now: Timestamp) {
        let _ = (peer, path, now);
    }
    /// Takes notice that both machines have greeted: a sender may offer its stream.
    fn on_greeted(&mut self, path: &mut Path) {
        let _ = path;
    }
    /// The connection is gone; another may come.
    fn on_disconnected(&mut self, path: &mut Path, now: Timestamp) {
        let _ = (path, now);
    }
    /// Takes notice that something came of the peer, whatever it is about.
    fn on_heard(&mut self, now: Timestamp) {
        let _ = now;
    }
    /// Takes a message of the stream's other end, or the peer's goodbye.
    fn on_control(&mut self, message: ControlMessage, path: &mut Path, now: Timestamp)
    -> Result<(), ProtocolViolation>;
    /// Takes a datagram of the stream's other end: media, of which it tells the path, or a report.
    fn on_datagram(&mut self, bytes: &[u8], path: &mut Path, now: Timestamp) {
        let _ = (bytes, path, now);
    }
    /// Takes notice of a feedback report, which may have changed the target.
    fn on_feedback(&mut self, path: &Path) {
        self.on_target(path);
    }
    /// Takes notice that the target, or what a datagram can hold, may have changed.
    fn on_target(&mut self, path: &Path) {
        let _ = path;
    }
    /// Takes what keeps the other machine from being met, as far as is known, whenever that changes; none: nothing, or there is a
    /// connection.
    fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        let _ = obstacle;
    }
    /// Takes notice of another machine that has called meanwhile and was told that this one is in a call.
    fn on_called(&mut self, peer: &Peer) {
        let _ = peer;
    }
    /// Does what is due after [`super::Waker::wake`] was called on some thread.
    fn on_wake(&mut self, path: &mut Path, now: Timestamp) {
        let _ = (path, now);
    }
    /// Takes what leaves next, such as a frame, if there is one and it may leave. Returns true if it has. Called after each event and
    /// after all that could leave has left, while there is room.
    fn feed(&mut self, path: &mut Path, now: Timestamp) -> bool {
        let _ = (path, now);
        false
    }
    /// Called every [`super::TICK`], connected or not: for statistics and the watchdog.
    fn on_tick(&mut self, state: Option<LinkState>, path: &mut Path, now: Timestamp) {
        let _ = (state, path, now);
    }
    /// Does what is due at the stream's deadline.
    fn handle_timeout(&mut self, path: &mut Path, now: Timestamp) {
        let _ = (path, now);
    }
    /// The process was asked to stop (SIGINT, SIGTERM): queue a goodbye.
    fn on_stop(&mut self, now: Timestamp);
    /// Returns the next message for the other end.
    fn poll_control(&mut self) -> Option<ControlMessage> {
        None
    }
    /// Returns the next datagram to send now.
    fn poll_datagram(&mut self, path: &mut Path, now: Timestamp) -> Option<Vec<u8>> {
        let _ = (path, now);
        None
    }
    /// Returns the longest time without any packet that means nothing; after it a dialler dials beside the old
    /// connection. Without a stream, that is a few times QUIC's keep-alive.
    fn silence_max(&self) -> Duration {
        IDLE_SILENCE
    }
    /// True if this program is for one stream and ends with it: one of so many frames, or from or to a file. Any other one
    /// waits for the next call, or goes on dialling, whatever its peer does.
    fn is_for_one_stream(&self) -> bool {
        false
    }
    /// True if the call goes on as long as this stream does.
    fn keeps_call(&self) -> bool {
        true
    }
    /// True while the connection may not end at another stream's wish: for a bounded time.
    fn holds_connection(&self) -> bool {
        false
    }
    /// Returns the time to call [`Stream::handle_timeout`].
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }
    /// Returns the next task of the loop. Called after everything else, until it gives `None`.
    fn poll_action(&mut self, path: &mut Path, now: Timestamp) -> Option<Action> {
        let _ = (path, now);
        None
    }
}
