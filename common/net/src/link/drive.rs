//! The loop itself: drain the link, do what it asks, wait for one event, hand it over.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use common::config::{LinkMode, Peer};
use common::reach::{Kind, Role as Meets};
use common::units::Timestamp;
use common::wire::control::{self, ByeReason, ControlMessage, ControlReader, StreamEnd};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::dial::{Dialler, IN_ANOTHER_CALL, SilenceMax, accept_for_ever, dial_for_ever};
use super::meet::Meeting;
use super::obstacle::{Obstacle, Obstacles};
use super::others::turn_away;
use super::path::Ways;
use super::runtime::on_the_network;
use super::{Action, Link, LinkOptions, LinkState, NOBODY, TICK, Waker};
use crate::clock;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::limited;
use crate::quic::{CloseCode, Connection, Endpoint, Input, QuicError};
use crate::reach::has_network;
use crate::stop::Requests;
use crate::wait;

/// Time that a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);
/// Time after which the send buffer is looked at again for room.
const ROOM_CHECK: Duration = Duration::from_millis(1);
/// Datagrams handed over between two looks at everything else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Bytes for the control stream that wait at most, besides those in QUIC's own window: minutes of answers to a peer that
/// does not read them.
const PENDING_MAX: usize = 64 << 10;

/// Ticks between two looks whether this machine is on a network.
const TICKS_PER_LOOK: u32 = 4;

/// Everything that can happen.
#[expect(clippy::large_enum_variant, reason = "one value at a time, on the stack")]
enum LinkEvent {
    Connection(Result<Connection, QuicError>),
    Input(Input),
    Lost(QuicError),
    /// Another machine has called and was turned away.
    Called(Peer),
    Wake,
    Tick,
    Timeout,
    Stop,
}

/// Runs the loop on this thread, with a single-threaded runtime of its own, until the daemon ends.
///
/// Dialling is repeated for ever, and begins as soon as a connection has stalled ([`Link::silence_max`]), unless the peer
/// proves its key and refuses this machine's. A listener refuses who is not allowed and goes on; a newer connection of
/// the same peer takes the older one's place.
pub fn run(options: LinkOptions, waker: &Waker, link: &mut impl Link) -> Result<(), Failure> {
    on_the_network(drive(options, waker, link))
}

async fn drive(options: LinkOptions, waker: &Waker, link: &mut impl Link) -> Result<(), Failure> {
    // Before the socket: who sees that the daemon listens may ask it to stop.
    let mut requests = Requests::new();
    let (sender, mut connections) = mpsc::channel(4);
    let busy = Arc::new(AtomicBool::new(false));
    let silence_max = Arc::new(SilenceMax::new(link.silence_max()));
    let LinkOptions { mode, identity, endpoint: endpoint_options, mut learning } = options;
    let mut listener = None;
    let ways = Ways::of(&mode);
    let (calls, call) = watch::channel(None);
    let (called, mut callers) = mpsc::channel(4);
    let obstacles = Obstacles::default();
    // Of this machine's own address no network is needed.
    let needs_network = !matches!(&mode, LinkMode::Dial(address) if is_own(address));
    match mode {
        LinkMode::DialNobody => return Err(Failure::usage(NOBODY)),
        LinkMode::Dial(address) => {
            tokio::spawn(dial_for_ever(
                Dialler::new(endpoint_options, address, obstacles.clone()),
                sender.clone(),
                Arc::clone(&silence_max),
            ));
        }
        LinkMode::Listen(address) => {
            let endpoint = Endpoint::bind(&endpoint_options, address, true)?;
            tracing::info!("listening at {}", endpoint.local_addr().unwrap_or(address));
            listener = Some(endpoint.clone());
            tokio::spawn(accept_for_ever(endpoint, Some(sender.clone()), Arc::clone(&busy), obstacles.clone()));
        }
        LinkMode::Meet(meet) => {
            let meeting = Meeting::open(&endpoint_options, &identity, &meet, call, obstacles.clone())?;
            turn_away(&endpoint_options, &identity, &meet.others, &called);
            if meeting.role == Meets::Dials {
                tokio::spawn(accept_for_ever(meeting.endpoint(), None, Arc::clone(&busy), obstacles.clone()));
                tokio::spawn(dial_for_ever(meeting, sender.clone(), Arc::clone(&silence_max)));
            } else {
                let endpoint = meeting.endpoint();
                listener = Some(endpoint.clone());
                tokio::spawn(accept_for_ever(endpoint, Some(sender.clone()), Arc::clone(&busy), obstacles.clone()));
                tokio::spawn(meeting.wait_for_ever(Arc::clone(&busy)));
            }
        }
    }
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut buffer = vec![0; 4096];
    let mut active: Option<Active> = None;
    let mut stopping = false;
    let mut turned_away = HashMap::new();
    let (mut obstacle, mut looks) = (None, 0);

    let result = loop {
        let mut blocked = false;
        if let Some(active) = &mut active {
            if active.has_moved() {
                link.on_path_changed(clock::now());
            }
            blocked = active.drain(link);
        }
        if let Some(action) = link.poll_action(clock::now()) {
            if let Some(active) = &mut active {
                active.drain(link);
            }
            match action {
                Action::End => break Ok(()),
                Action::Fail(failure) => break Err(failure),
                Action::Disconnect => {
                    if let Some(active) = active.take() {
                        active.finish(CloseCode::Done, "goodbye").await;
                        link.on_disconnected(clock::now());
                    }
                    continue;
                }
            }
        }
        busy.store(active.is_some(), Ordering::Relaxed);
        if active.is_none() {
            calls.send_if_modified(|call| call.take().is_some());
        }
        silence_max.set(link.silence_max());
        // What is due cannot leave while the buffer is full: waiting for it would not wait at all.
        let deadline = if blocked { Some(clock::now() + ROOM_CHECK) } else { link.poll_timeout() };
        let event = tokio::select! {
            biased;
            () = requests.next() => LinkEvent::Stop,
            Some(connection) = connections.recv() => LinkEvent::Connection(connection),
            () = wait::until(deadline) => LinkEvent::Timeout,
            () = waker.0.notified() => LinkEvent::Wake,
            Some(peer) = callers.recv() => LinkEvent::Called(peer),
            input = wait::of(active.as_mut().map(|active| active.connection.next(&mut buffer, &active.pending))) => {
                input.map_or_else(LinkEvent::Lost, LinkEvent::Input)
            }
            _ = ticks.tick() => LinkEvent::Tick,
        };
        let now = clock::now();
        // Before a frame is cut into datagrams.
        if let Some(active) = &mut active {
            active.tell_max_datagram(link);
        }
        match event {
            LinkEvent::Stop if stopping => break Ok(()),
            LinkEvent::Stop => {
                stopping = true;
                link.on_stop(now);
            }
            LinkEvent::Connection(Err(error)) => break Err(error.into()),
            LinkEvent::Connection(Ok(connection)) => {
                if let Some(old) = active.take() {
                    if old.connection.peer().key != connection.peer().key {
                        let limit = turned_away.entry(connection.peer().key).or_insert_with(Limit::each_minute);
                        let (caller, other) = (&connection.peer().name, &old.connection.peer().name);
                        limited!(limit; warn, "{caller} called, but {other} is connected");
                        connection.close(CloseCode::Busy, "connected to another machine");
                        active = Some(old);
                        continue;
                    }
                    limited!(info, "{} has connected anew", connection.peer().name);
                    tokio::spawn(old.replaced());
                    link.on_disconnected(now);
                }
                if let Some(learning) = &mut learning {
                    learning.begin();
                }
                calls.send_replace(Some(connection.in_call()));
                let new = Active::new(connection, ways.clone());
                link.on_connected(new.connection.peer(), new.max_datagram, now);
                active = Some(new);
            }
            LinkEvent::Input(input) => {
                let Some(mut current) = active.take() else { continue };
                match current.handle(input, &buffer, link, now).await {
                    Ok(()) => active = Some(current),
                    Err(violation) => {
                        limited!(warn, "{}: {violation}", current.connection.peer().name);
                        current.drain(link);
                        current.finish(CloseCode::Protocol, &violation).await;
                        link.on_disconnected(now);
                        if listener.is_none() && link.is_for_one_stream() {
                            break Err(Failure::network(violation));
                        }
                    }
                }
            }
            LinkEvent::Lost(error) => {
                if let Some(old) = active.take() {
                    link.on_disconnected(now);
                    // The only refusal that ends a daemon: the machine that it dials has proved its key and does not
                    // allow this one's. Once it has said a word, it has allowed it.
                    if listener.is_none() && !old.heard && error.is_final() {
                        break Err(error.into());
                    }
                    let name = &old.connection.peer().name;
                    match error {
                        QuicError::InAnotherCall(_) => {
                            limited!(IN_ANOTHER_CALL; info, "{name} is in a call with another machine; trying again");
                        }
                        error => limited!(info, "the connection to {name} has ended: {error}"),
                    }
                }
            }
            LinkEvent::Called(peer) => {
                let limit = turned_away.entry(peer.key).or_insert_with(Limit::each_minute);
                limited!(limit; warn, "{} called and was told that this machine is in a call", peer.name);
                link.on_called(&peer);
            }
            LinkEvent::Wake => link.on_wake(now),
            LinkEvent::Tick => {
                if active.as_ref().is_some_and(|active| active.heard) {
                    obstacles.clear();
                }
                if needs_network && looks % TICKS_PER_LOOK == 0 {
                    look_for_network(&obstacles);
                }
                looks += 1;
                let found = obstacles.now(now).filter(|_| active.as_ref().is_none_or(|active| !active.heard));
                if std::mem::replace(&mut obstacle, found) != found {
                    link.on_obstacle(found);
                }
                if let (Some(learning), Some(active)) = (&mut learning, &active) {
                    learning.look(active.connection.peer(), active.address_to_remember(), now);
                }
                link.on_tick(active.as_ref().map(Active::state), now);
            }
            LinkEvent::Timeout if link.poll_timeout().is_some_and(|deadline| deadline <= now) => {
                link.handle_timeout(now)
            }
            LinkEvent::Timeout => {}
        }
    };
    // Before the goodbye, which a dialler must not take for a reason to dial anew.
    connections.close();
    if let Some(active) = active.take() {
        active.finish(CloseCode::Done, "goodbye").await;
    }
    if let Some(endpoint) = listener {
        endpoint.close().await;
    }
    result
}

/// Returns true for an address of this machine itself.
fn is_own(address: &str) -> bool {
    address.starts_with("localhost:")
        || address.parse::<SocketAddr>().is_ok_and(|address| address.ip().to_canonical().is_loopback())
}

/// Looks whether this machine is on a network, and says so when that has changed.
fn look_for_network(obstacles: &Obstacles) {
    let is_there = has_network();
    if obstacles.set_network(is_there) {
        match is_there {
            true => limited!(info, "this computer is on a network again"),
            false => limited!(warn, "{}; looking for one", Obstacle::NoNetwork),
        }
    }
}

/// A connection and what lies between it and the session.
struct Active {
    connection: Connection,
    reader: ControlReader,
    pending: Vec<u8>,
    heard: bool,
    ways: Ways,
    /// Number of times that packets have changed their way.
    moves: u64,
    /// Bytes that a datagram can hold, as the link knows.
    max_datagram: usize,
}

impl Active {
    fn new(connection: Connection, ways: Ways) -> Self {
        let (moves, max_datagram) = (connection.moves(), connection.max_datagram());
        let reader = ControlReader::default();
        Self { connection, reader, pending: Vec::new(), heard: false, ways, moves, max_datagram }
    }

    /// Returns true if packets take another way than when it was called last.
    fn has_moved(&mut self) -> bool {
        let moves = self.connection.moves();
        std::mem::replace(&mut self.moves, moves) != moves
    }

    /// Returns where the peer has proved to be, unless that is a place at a relay, which lasts as long as the program there.
    fn address_to_remember(&self) -> Option<SocketAddr> {
        let route = self.connection.proved_route()?;
        (self.ways.kind_of(route) != Kind::Relayed).then_some(route.to)
    }

    /// Tells the link if a datagram can hold more or less than it knows.
    fn tell_max_datagram(&mut self, link: &mut impl Link) {
        let bytes = self.connection.max_datagram();
        if std::mem::replace(&mut self.max_datagram, bytes) != bytes {
            link.on_max_datagram(bytes);
        }
    }

    fn state(&self) -> LinkState {
        let connection = &self.connection;
        LinkState {
            rtt: connection.rtt(),
            black_holes: connection.black_holes(),
            path: self.ways.kind_of(connection.route()),
        }
    }

    /// Sends what the session has to send; true if the send buffer is full.
    fn drain(&mut self, link: &mut impl Link) -> bool {
        while let Some((speaker, message)) = link.poll_control() {
            control::encode(&message, speaker, &mut self.pending);
        }
        while self.connection.has_room() {
            match link.poll_datagram(clock::now()) {
                Some(datagram) => self.connection.send_datagram(datagram),
                None => return false,
            }
        }
        true
    }

    /// Hands input to the session. An error is what the peer did wrong.
    async fn handle(
        &mut self,
        input: Input,
        buffer: &[u8],
        link: &mut impl Link,
        now: Timestamp,
    ) -> Result<(), String> {
        match input {
            Input::Written(count) => {
                self.pending.drain(..count);
            }
            Input::Control(_) if self.pending.len() > PENDING_MAX => {
                return Err("the peer does not read what it is told".to_owned());
            }
            Input::Control(count) => {
                self.reader.push(&buffer[..count]);
                while let Some((speaker, message)) = self.reader.next().map_err(|error| error.to_string())? {
                    if !std::mem::replace(&mut self.heard, true) {
                        let (name, address) = (&self.connection.peer().name, self.connection.address());
                        let kind = self.ways.kind_of(self.connection.route());
                        limited!(info, "connected to {name} at {address}, {}", kind.name());
                    }
                    link.on_control(speaker, message, now).map_err(|violation| violation.to_string())?;
                }
            }
            Input::Datagram(first) => {
                let mut next: Option<Bytes> = Some(first);
                for _ in 0..DATAGRAMS_AT_ONCE {
                    let Some(datagram) = next else { break };
                    link.on_datagram(&datagram, clock::now());
                    next = self.connection.try_datagram().await;
                }
                if let Some(datagram) = next {
                    link.on_datagram(&datagram, clock::now());
                }
            }
        }
        Ok(())
    }

    async fn finish(self, code: CloseCode, reason: &str) {
        self.connection.finish(&self.pending, GOODBYE, code, reason).await;
    }

    async fn replaced(mut self) {
        // To whichever ends the peer is; a message for an end that it is not changes nothing.
        for speaker in [StreamEnd::Sender, StreamEnd::Receiver] {
            control::encode(&ControlMessage::Bye { reason: ByeReason::ReplacedByNewer }, speaker, &mut self.pending);
        }
        self.finish(CloseCode::Replaced, "replaced by a newer connection").await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::both::tests::Half;
    use crate::quic::tests::{identities, options, run};

    /// Longest wait for what must come.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_link_learns_from_the_loop_what_a_datagram_holds() {
        let [a, b, _] = identities();
        run(async {
            let listening = Endpoint::bind(&options(&a, &[&b]), ([127, 0, 0, 1], 0).into(), true).unwrap();
            let mode = LinkMode::Dial(listening.local_addr().unwrap().to_string());
            let endpoint = options(&b, &[&a]);
            let (waker, mut link) = (Waker::default(), Half::default());
            let accept = async {
                let _accepted = listening.incoming().await.unwrap().accept().await.unwrap();
                std::future::pending::<()>().await;
            };
            // QUIC begins with a size that every path carries and finds that the loopback carries more.
            let driven = tokio::time::timeout(
                PATIENCE,
                drive(LinkOptions { mode, identity: b, endpoint, learning: None }, &waker, &mut link),
            );
            tokio::select! {
                () = accept => {}
                ended = driven => assert_eq!(ended.expect("the link is told nothing"), Ok(())),
            }
            let [begun, found] = link.max_datagrams[..] else { panic!("{:?}", link.max_datagrams) };
            assert!(found > begun, "{found} {begun}");
        });
    }
}
