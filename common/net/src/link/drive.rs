//! The loop itself: send what the calls have, do what they ask, wait for one event, hand it over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use common::config::{LinkMode, Peer, PublicKey};
use common::path::ways::Role as Meets;
use common::units::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::active::Active;
use super::busy::{Doors, turn_away};
use super::dial::{Dialler, SilenceMax, TURNED_AWAY, accept_for_ever, dial_for_ever};
use super::meet::Meeting;
use super::obstacle::{Obstacle, Obstacles};
use super::path::Ways;

use super::streams::Streams;
use super::{Action, IDLE_SILENCE, LinkOptions, NOBODY, TICK, Waker};
use crate::clock;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::limited;
use crate::quic::{CloseCode, Connection, Endpoint, InCall, Input, QuicError};
use crate::reach::{Learning, has_network};
use crate::runtime::on_the_network;
use crate::stop::Requests;
use crate::wait;

/// Time after which the send buffer is looked at again for room.
const ROOM_CHECK: Duration = Duration::from_millis(1);

/// Ticks between two looks whether this machine is on a network.
const TICKS_PER_LOOK: u32 = 4;

/// Everything that can happen.
#[expect(clippy::large_enum_variant, reason = "one value at a time, on the stack")]
enum LinkEvent {
    Connection(Result<Connection, QuicError>),
    Input(PublicKey, Result<Input, QuicError>),
    /// Another machine has called and was turned away.
    Called(Peer),
    Wake,
    Tick,
    Timeout,
    Stop,
}

/// Runs the loop on this thread, with a single-threaded runtime of its own, until all `calls` have ended. Each is with one peer at
/// a time; a machine that connects takes its own, or one that is free, and is turned away where there is none.
///
/// Dialling is repeated for ever, and begins as soon as a connection has stalled ([`Stream::silence_max`](super::Stream::silence_max)),
/// unless the peer proves its key and refuses this machine's. A listener refuses who is not allowed and goes on; a newer connection
/// of the same peer takes the older one's place.
pub fn run(options: LinkOptions, waker: &Waker, calls: &mut [Streams<'_>]) -> Result<(), Failure> {
    on_the_network(drive(options, waker, calls))
}

async fn drive(options: LinkOptions, waker: &Waker, calls: &mut [Streams<'_>]) -> Result<(), Failure> {
    // Before the socket: who sees that the daemon listens may ask it to stop.
    let mut requests = Requests::new();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut network = Network::open(options, calls)?;
    let result = loop {
        if let ControlFlow::Break(result) = network.settle().await {
            break result;
        }
        let deadline = network.deadline();
        let event = tokio::select! {
            biased;
            () = requests.next() => LinkEvent::Stop,
            Some(connection) = network.connections.recv() => LinkEvent::Connection(connection),
            () = wait::until(deadline) => LinkEvent::Timeout,
            () = waker.0.notified() => LinkEvent::Wake,
            Some(peer) = network.callers.recv() => LinkEvent::Called(peer),
            (key, input) = next_input(&mut network.peers) => LinkEvent::Input(key, input),
            _ = ticks.tick() => LinkEvent::Tick,
        };
        if let ControlFlow::Break(result) = network.handle(event).await {
            break result;
        }
    };
    network.end().await;
    result
}

/// Waits for input of any peer.
async fn next_input(peers: &mut BTreeMap<PublicKey, Active>) -> (PublicKey, Result<Input, QuicError>) {
    let mut inputs: Vec<_> = peers.iter_mut().map(|(&key, active)| Box::pin(active.next(key))).collect();
    poll_fn(|context| {
        let ready = inputs.iter_mut().find_map(|input| match input.as_mut().poll(context) {
            Poll::Ready(input) => Some(input),
            Poll::Pending => None,
        });
        ready.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// The peers that are connected, and what brings more of them.
struct Network<'a, 's> {
    calls: &'a mut [Streams<'s>],
    /// Calls that have ended, by their place.
    ended: Vec<bool>,
    peers: BTreeMap<PublicKey, Active>,
    connections: mpsc::Receiver<Result<Connection, QuicError>>,
    /// Machines that were turned away where they called.
    callers: mpsc::Receiver<Peer>,
    /// The call that others, who look for us, may find.
    in_call: watch::Sender<Option<InCall>>,
    busy: Arc<AtomicBool>,
    silence_max: Arc<SilenceMax>,
    listener: Option<Endpoint>,
    ways: Ways,
    obstacles: Obstacles,
    obstacle: Option<Obstacle>,
    needs_network: bool,
    looks: u32,
    learning: Option<Learning>,
    turned_away: HashMap<PublicKey, Limit>,
    /// Of machines that this one does not call now.
    doors: Doors,
    /// Machines that are not known any more.
    removed: BTreeSet<PublicKey>,
    stopping: bool,
}

impl<'a, 's> Network<'a, 's> {
    /// Listens, dials or looks for the peer, as the options say.
    fn open(options: LinkOptions, calls: &'a mut [Streams<'s>]) -> Result<Self, Failure> {
        let LinkOptions { mode, identity, endpoint: endpoint_options, learning } = options;
        let (sender, connections) = mpsc::channel(4);
        let (called, callers) = mpsc::channel(4);
        let (in_call, call) = watch::channel(None);
        let busy = Arc::new(AtomicBool::new(false));
        let obstacles = Obstacles::default();
        let silence_max = Arc::new(SilenceMax::new(silence_max(calls)));
        let ways = Ways::of(&mode);
        // Of this machine's own address no network is needed.
        let needs_network = !matches!(&mode, LinkMode::Dial(address) if is_own(address));
        let accept = |endpoint, takes: Option<mpsc::Sender<_>>| {
            tokio::spawn(accept_for_ever(endpoint, takes, Arc::clone(&busy), obstacles.clone()));
        };
        let (mut listener, mut doors) = (None, Doors::default());
        match mode {
            LinkMode::DialNobody => return Err(Failure::usage(NOBODY)),
            LinkMode::Dial(address) => {
                let dialler = Dialler::new(endpoint_options, address, obstacles.clone());
                tokio::spawn(dial_for_ever(dialler, sender, Arc::clone(&silence_max)));
            }
            LinkMode::Listen(address) => {
                let endpoint = Endpoint::bind(&endpoint_options, address, true)?;
                tracing::info!("listening at {}", endpoint.local_addr().unwrap_or(address));
                listener = Some(endpoint.clone());
                accept(endpoint, Some(sender));
            }
            LinkMode::Meet(meet) => {
                let meeting = Meeting::open(&endpoint_options, &identity, &meet, call, obstacles.clone())?;
                doors = turn_away(&endpoint_options, &identity, &meet.others, &called);
                if meeting.role == Meets::Dials {
                    accept(meeting.endpoint(), None);
                    tokio::spawn(dial_for_ever(meeting, sender, Arc::clone(&silence_max)));
                } else {
                    listener = Some(meeting.endpoint());
                    accept(meeting.endpoint(), Some(sender));
                    tokio::spawn(meeting.wait_for_ever(Arc::clone(&busy)));
                }
            }
        }
        Ok(Self {
            ended: vec![false; calls.len()],
            calls,
            peers: BTreeMap::new(),
            connections,
            callers,
            in_call,
            busy,
            silence_max,
            listener,
            ways,
            obstacles,
            obstacle: None,
            needs_network,
            looks: 0,
            learning,
            turned_away: HashMap::new(),
            doors,
            removed: BTreeSet::new(),
            stopping: false,
        })
    }

    /// Sends what there is to send and does what the calls ask for, until they ask for nothing.
    async fn settle(&mut self) -> ControlFlow<Result<(), Failure>> {
        loop {
            let mut is_settled = true;
            for active in self.peers.values_mut() {
                let call = &mut self.calls[active.call];
                if active.has_moved() {
                    call.on_path_changed(clock::now());
                }
                active.exchange(call);
            }
            for place in 0..self.calls.len() {
                let Some(action) = self.calls[place].poll_action(clock::now()) else { continue };
                let key = self.peers.iter().find(|(_, active)| active.call == place).map(|(&key, _)| key);
                if let Some(active) = key.and_then(|key| self.peers.get_mut(&key)) {
                    active.drain(&mut self.calls[place]);
                }
                match action {
                    Action::End => {
                        self.ended[place] = true;
                        if self.ended.iter().all(|&ended| ended) {
                            return ControlFlow::Break(Ok(()));
                        }
                    }
                    Action::Fail(failure) => return ControlFlow::Break(Err(failure)),
                    Action::Disconnect => is_settled = false,
                }
                if let Some(active) = key.and_then(|key| self.peers.remove(&key)) {
                    active.finish(CloseCode::Done, "goodbye").await;
                    self.calls[place].on_disconnected(clock::now());
                }
            }
            if is_settled {
                break;
            }
        }
        self.busy.store(self.free_call().is_none(), Ordering::Relaxed);
        if self.peers.is_empty() {
            self.in_call.send_if_modified(|call| call.take().is_some());
        }
        self.silence_max.set(silence_max(self.calls));
        ControlFlow::Continue(())
    }

    /// Returns the time at which something is due.
    fn deadline(&self) -> Option<Timestamp> {
        // What is due cannot leave while the buffer is full: waiting for it would not wait at all.
        let blocked = |place| self.peers.values().any(|active| active.call == place && active.is_blocked);
        let of_call = |(place, call): (usize, &Streams<'_>)| {
            if blocked(place) { Some(clock::now() + ROOM_CHECK) } else { call.poll_timeout() }
        };
        self.live_calls().filter_map(of_call).min()
    }

    /// Returns the calls that have not ended, with their places.
    fn live_calls(&self) -> impl Iterator<Item = (usize, &Streams<'s>)> {
        self.calls.iter().enumerate().filter(|(place, _)| !self.ended[*place])
    }

    /// Returns the place of a call with nobody.
    fn free_call(&self) -> Option<usize> {
        let is_free = |place: &usize| self.peers.values().all(|active| active.call != *place);
        self.live_calls().map(|(place, _)| place).find(is_free)
    }

    async fn handle(&mut self, event: LinkEvent) -> ControlFlow<Result<(), Failure>> {
        let now = clock::now();
        // Before a frame is cut into datagrams.
        for active in self.peers.values_mut() {
            active.tell_max_datagram(&mut self.calls[active.call]);
        }
        match event {
            LinkEvent::Stop if self.stopping => return ControlFlow::Break(Ok(())),
            LinkEvent::Stop => {
                self.stopping = true;
                self.calls.iter_mut().for_each(|call| call.on_stop(now));
            }
            LinkEvent::Connection(Err(error)) => return ControlFlow::Break(Err(error.into())),
            LinkEvent::Connection(Ok(connection)) => self.on_connection(connection, now),
            LinkEvent::Input(key, Ok(input)) => return self.on_input(key, input, now).await,
            LinkEvent::Input(key, Err(error)) => return self.on_lost(key, error, now),
            LinkEvent::Called(peer) => {
                let limit = self.turned_away.entry(peer.key).or_insert_with(Limit::each_minute);
                limited!(limit; warn, "{} called and was told that this machine is in a call", peer.name);
                self.calls.iter_mut().for_each(|call| call.on_called(&peer));
            }
            LinkEvent::Wake => {
                self.remove(now).await;
                self.calls.iter_mut().for_each(|call| call.on_wake(now));
            }
            LinkEvent::Tick => self.on_tick(now),
            LinkEvent::Timeout => {
                let is_due = |call: &&mut Streams<'_>| call.poll_timeout().is_some_and(|deadline| deadline <= now);
                self.calls.iter_mut().filter(is_due).for_each(|call| call.handle_timeout(now));
            }
        }
        ControlFlow::Continue(())
    }

    /// Ends what there is with machines that are not known any more.
    async fn remove(&mut self, now: Timestamp) {
        for place in 0..self.calls.len() {
            for key in self.calls[place].take_removed() {
                self.doors.remove(&key);
                self.removed.insert(key);
                if let Some(active) = self.peers.remove(&key) {
                    limited!(info, "{} is not known any more: the call has ended", active.connection.peer().name);
                    let call = &mut self.calls[active.call];
                    active.finish(CloseCode::Removed, "removed").await;
                    call.on_disconnected(now);
                    call.on_stop(now);
                }
            }
        }
    }

    /// Takes a connection for the call that its peer is in already, or for a free one.
    fn on_connection(&mut self, connection: Connection, now: Timestamp) {
        let peer = connection.peer();
        if self.removed.contains(&peer.key) {
            return connection.close(CloseCode::Removed, "removed");
        }
        let call = if let Some(old) = self.peers.remove(&peer.key) {
            limited!(info, "{} has connected anew", peer.name);
            let call = old.call;
            tokio::spawn(old.replaced());
            self.calls[call].on_disconnected(now);
            call
        } else if let Some(call) = self.free_call() {
            call
        } else {
            let others: Vec<_> = self.peers.values().map(|active| &*active.connection.peer().name).collect();
            let limit = self.turned_away.entry(peer.key).or_insert_with(Limit::each_minute);
            limited!(limit; warn, "{} called, but {} is connected", peer.name, others.join(" and "));
            return connection.close(CloseCode::Busy, "connected to another machine");
        };
        if let Some(learning) = &mut self.learning {
            learning.begin();
        }
        self.in_call.send_replace(Some(connection.in_call()));
        let new = Active::new(connection, call, self.ways.clone());
        self.calls[call].on_connected(new.connection.peer(), new.max_datagram, now);
        self.peers.insert(new.connection.peer().key, new);
    }

    async fn on_input(&mut self, key: PublicKey, input: Input, now: Timestamp) -> ControlFlow<Result<(), Failure>> {
        let Some(active) = self.peers.get_mut(&key) else { return ControlFlow::Continue(()) };
        let call = &mut self.calls[active.call];
        if let Err(violation) = active.handle(input, call, now).await
            && let Some(mut active) = self.peers.remove(&key)
        {
            limited!(warn, "{}: {violation}", active.connection.peer().name);
            active.drain(call);
            active.finish(CloseCode::Protocol, &violation).await;
            call.on_disconnected(now);
            if self.listener.is_none() && call.is_for_one_stream() {
                return ControlFlow::Break(Err(Failure::network(violation)));
            }
        }
        ControlFlow::Continue(())
    }

    fn on_lost(&mut self, key: PublicKey, error: QuicError, now: Timestamp) -> ControlFlow<Result<(), Failure>> {
        let Some(old) = self.peers.remove(&key) else { return ControlFlow::Continue(()) };
        self.calls[old.call].on_disconnected(now);
        // The only refusal that ends a daemon: the machine that it dials has proved its key and does not
        // allow this one's. Once it has said a word, it has allowed it.
        if self.listener.is_none() && !old.heard && error.is_final() {
            return ControlFlow::Break(Err(error.into()));
        }
        self.obstacles.failed(&error, now);
        let name = &old.connection.peer().name;
        match error {
            error if error.is_no() => limited!(TURNED_AWAY; info, "{error}; trying again"),
            error => limited!(info, "the connection to {name} has ended: {error}"),
        }
        ControlFlow::Continue(())
    }

    fn on_tick(&mut self, now: Timestamp) {
        let is_heard = self.peers.values().any(|active| active.heard);
        if is_heard {
            self.obstacles.clear();
        }
        if self.needs_network && self.looks.is_multiple_of(TICKS_PER_LOOK) {
            look_for_network(&self.obstacles);
        }
        self.looks += 1;
        let found = self.obstacles.now(now).filter(|_| !is_heard);
        if std::mem::replace(&mut self.obstacle, found) != found {
            self.calls.iter_mut().for_each(|call| call.on_obstacle(found));
        }
        for active in self.peers.values() {
            if let Some(learning) = &mut self.learning {
                learning.look(active.connection.peer(), active.address_to_remember(), now);
            }
        }
        for (place, call) in self.calls.iter_mut().enumerate() {
            let active = self.peers.values().find(|active| active.call == place);
            call.on_tick(active.map(Active::state), now);
        }
    }

    /// Says goodbye to all.
    async fn end(mut self) {
        // Before the goodbye, which a dialler must not take for a reason to dial anew.
        self.connections.close();
        while let Some((_, active)) = self.peers.pop_first() {
            active.finish(CloseCode::Done, "goodbye").await;
        }
        if let Some(endpoint) = self.listener {
            endpoint.close().await;
        }
    }
}

/// Returns the longest time without any packet that means nothing in any call.
fn silence_max(calls: &[Streams<'_>]) -> Duration {
    calls.iter().map(Streams::silence_max).min().unwrap_or(IDLE_SILENCE)
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

#[cfg(test)]
mod tests {
    use common::units::Bitrate;
    use common::wire::PROTOCOL_VERSION;
    use common::wire::control::{self, ControlMessage};

    use super::*;
    use crate::link::streams::tests::Half;
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
            let (waker, [mut half, mut silent]) = (Waker::default(), <[Half; 2]>::default());
            let call = Streams::both_ways(Bitrate::from_bps(1_000_000), &mut half, &mut silent);
            let accept = async {
                let _accepted = listening.incoming().await.unwrap().accept().await.unwrap();
                std::future::pending::<()>().await;
            };
            let mut calls = [call];
            // QUIC begins with a size that every path carries and finds that the loopback carries more.
            let driven = tokio::time::timeout(
                PATIENCE,
                drive(LinkOptions { mode, identity: Arc::new(b), endpoint, learning: None }, &waker, &mut calls),
            );
            tokio::select! {
                () = accept => {}
                ended = driven => assert_eq!(ended.expect("the link is told nothing"), Ok(())),
            }
            drop(calls);
            let [begun, found] = half.max_datagrams[..] else { panic!("{:?}", half.max_datagrams) };
            assert!(found > begun, "{found} {begun}");
        });
    }

    #[test]
    fn each_peer_has_a_call_of_its_own_and_one_too_many_is_turned_away() {
        let ([host, first, second], [third, ..]) = (identities(), identities());
        let (mut halves, waker) = (<[[Half; 2]; 2]>::default(), Waker::default());
        halves.iter_mut().flatten().for_each(|half| half.stays = true);
        let address = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let sockets = [&first, &second, &third].map(|caller| options(caller, &[&host]));
        let endpoint = options(&host, &[&first, &second, &third]);
        let told = run(async {
            let rate = Bitrate::from_bps(1_000_000);
            let mut calls = halves.each_mut().map(|[sends, receives]| Streams::both_ways(rate, sends, receives));
            let mode = LinkMode::Listen(address);
            let driven =
                drive(LinkOptions { mode, identity: Arc::new(host), endpoint, learning: None }, &waker, &mut calls);
            let mut hello = Vec::new();
            control::encode(&ControlMessage::Hello { version: PROTOCOL_VERSION, sends: true }, None, &mut hello);
            let callers = async {
                let mut told = Vec::new();
                for socket in &sockets {
                    let socket = Endpoint::bind(socket, ([127, 0, 0, 1], 0).into(), false).unwrap();
                    let mut connection = socket.dial(address).await.unwrap();
                    let (mut pending, mut buffer) = (hello.clone(), [0; 64]);
                    // Until this machine has heard a Hello, or that there is no place for it.
                    let answer = loop {
                        match connection.next(&mut buffer, &pending).await {
                            Ok(Input::Written(bytes)) => drop(pending.drain(..bytes)),
                            Ok(Input::Control(_)) => break None,
                            Ok(Input::Datagram(_)) => {}
                            Err(error) => break Some(error),
                        }
                    };
                    told.push((socket, connection, answer));
                }
                told.into_iter().map(|(_, _, answer)| answer).collect::<Vec<_>>()
            };
            tokio::select! {
                ended = driven => panic!("{ended:?}"),
                told = tokio::time::timeout(PATIENCE, callers) => told.expect("the third is told nothing"),
            }
        });
        assert!(matches!(told[..], [None, None, Some(QuicError::InAnotherCall(_))]), "{told:?}");
        assert!(halves.iter().flatten().all(|half| !half.max_datagrams.is_empty()));
    }
}
