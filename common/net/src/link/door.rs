//! The port of a machine that this one knows and does not call: whoever calls there hears what there is to say, and is in no call before
//! somebody here takes it.
//!
//! A caller proves its key in the handshake, and then waits: this side holds the connection, says whether it rings, reads the first message
//! and sends nothing else. Taking the call ends that connection; the caller looks on, as after any other end, and the call meets it at the
//! same port. The first message says whether a person calls, a program that calls on by itself, which nobody wants to hear after the
//! call, or nobody: where two wait for each other, a late sign of a call makes one dial the other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use common::config::{Meet, Peer, PublicKey, Turn};
use common::path::ways::Role;
use common::wire::control::{self, ControlMessage, ControlReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::dial::accept_for_ever;
use super::meet::Meeting;
use super::obstacle::Obstacles;
use crate::identity::Identity;
use crate::quic::{Claim, CloseCode, Connection, EndpointOptions, Input, QuicError};
use crate::reach::presence::{Presence, SignsOf};
use crate::wait;

/// Pause before the same machine is told again.
const AGAIN: Duration = Duration::from_secs(2);
/// A caller that was declined rings anew when it has not called for so long: a program that calls on by itself does within less.
const DECLINED: Duration = Duration::from_secs(8);
/// Bytes of a caller's first message that are read at once.
const FIRST_BYTES: usize = 256;
/// Pause before a port is opened again that another program has, such as a call of this user.
const OPEN_AGAIN: Duration = Duration::from_secs(5);

/// The answer to whoever calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// That it rings, until somebody takes the call or declines.
    #[default]
    Rings,
    /// That this machine is in a call with another.
    Busy,
    /// That nobody wants to be disturbed.
    DoNotDisturb,
}

/// Something that has happened at the port of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtDoor {
    /// Its presence is another than before.
    Presence(PublicKey, Presence),
    /// It calls, and waits.
    Rings(Peer),
    /// It has called and has gone.
    GaveUp(Peer),
    /// It has called and was told no, as [`Reply`] wanted. What it is told when it calls on is not told here.
    TurnedAway(Peer, Reply),
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Reply(Reply),
    /// Whoever rings is declined.
    Decline,
    /// This door closes; `taken`: whoever rings is called back by a call that opens the same port.
    Leave {
        taken: bool,
    },
    /// The machine is not known any more.
    Remove,
}

/// Waits at the port of `meet` until it is told to leave; tells what happens while somebody takes that. `options` are those of all
/// doors; whoever calls is told the reply. `has_ended`: this side has just ended a call with that machine.
pub(super) async fn wait(
    options: EndpointOptions,
    identity: Arc<Identity>,
    meet: Meet,
    signs: Option<SignsOf>,
    (mut reply, has_ended): (Reply, bool),
    mut orders: mpsc::UnboundedReceiver<Order>,
    tell: mpsc::UnboundedSender<AtDoor>,
) {
    let peer = meet.peer.clone();
    // Who starts a call in another program may have the port.
    let options = EndpointOptions { peers: vec![peer.clone()], claim: Claim::Yielding, ..options };
    // A place at a relay, a port at the router and a thread for the house are for calls.
    let asks_little = Meet { turn: Turn::default(), open_port: false, house: false, ..meet };
    let mut door = loop {
        let (_, nobody) = watch::channel(None);
        match Meeting::open(&options, &identity, &asks_little, nobody, Obstacles::default()) {
            Ok(mut meeting) => {
                meeting.be_idle(signs);
                break Door {
                    peer,
                    meeting,
                    reply,
                    has_ended,
                    tell,
                    ring: None,
                    deaf_until: None,
                    quiet_until: None,
                    told_until: None,
                };
            }
            Err(error) => tracing::debug!("{}: {error}", peer.name),
        }
        tokio::select! {
            () = tokio::time::sleep(OPEN_AGAIN) => {}
            order = orders.recv() => match order {
                Some(Order::Reply(wanted)) => reply = wanted,
                Some(Order::Decline) => {}
                Some(Order::Leave { .. } | Order::Remove) | None => return,
            },
        }
    };
    door.work(&mut orders).await;
}

/// A caller that waits.
struct Ring {
    connection: Connection,
    /// Address at which this side has dialled it, if it has.
    dialled: Option<SocketAddr>,
    /// Its first message, while that is awaited; nobody is told before of its call.
    first: Option<ControlReader>,
    /// The answer that it gets.
    reply: Reply,
}

/// A caller, by its first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// A person calls, or a program that this side has not sent away.
    Calls,
    /// A program calls on by itself after the call has ended.
    CallsOn,
    /// It waits for calls, too.
    Waits,
}

impl Ring {
    /// Waits for the caller's first message. Nothing is lost if it is dropped.
    async fn caller(&mut self) -> Caller {
        let Some(reader) = &mut self.first else { return std::future::pending().await };
        let mut buffer = [0; FIRST_BYTES];
        loop {
            match self.connection.next(&mut buffer, &[]).await {
                Ok(Input::Control(count)) => {
                    reader.push(&buffer[..count]);
                    match reader.next() {
                        Ok(None) => {}
                        Ok(Some((_, ControlMessage::CallsOn))) => return Caller::CallsOn,
                        Ok(Some((_, ControlMessage::Waits { .. }))) => return Caller::Waits,
                        // What else it is a call finds out.
                        Ok(Some(_)) | Err(_) => return Caller::Calls,
                    }
                }
                Ok(Input::Datagram(_) | Input::Written(_)) => {}
                // That it has gone is seen beside.
                Err(_) => return std::future::pending().await,
            }
        }
    }
}

struct Door {
    peer: Peer,
    meeting: Meeting,
    reply: Reply,
    /// This side has ended a call with that machine: whoever calls on there is declined.
    has_ended: bool,
    tell: mpsc::UnboundedSender<AtDoor>,
    ring: Option<Ring>,
    /// Nobody is heard until then, who was told a moment ago.
    deaf_until: Option<Instant>,
    /// Whoever calls until then is declined once more.
    quiet_until: Option<Instant>,
    /// Whoever calls until then was told of here already.
    told_until: Option<Instant>,
}

#[expect(clippy::large_enum_variant, reason = "one value at a time, on the stack")]
enum Event {
    Called(Connection, Option<SocketAddr>),
    NotReached(QuicError, Option<SocketAddr>),
    Reached(SocketAddr),
    HungUp,
    /// The caller has said its first message.
    Said(Caller),
    HearsAgain,
    Order(Option<Order>),
}

impl Door {
    async fn work(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) {
        let (connections, mut accepted) = mpsc::channel::<Result<Connection, QuicError>>(1);
        let accepts = (self.meeting.role == Role::Waits).then_some(connections);
        let busy = Arc::new(AtomicBool::new(self.reply == Reply::Busy));
        let accepting = accept_for_ever(self.meeting.endpoint(), accepts, busy, Obstacles::default());
        let mut accepting = JoinSet::from_iter([accepting]);
        let mut dials = JoinSet::new();
        loop {
            let end = self.ring.as_ref().map(|ring| ring.connection.end());
            let hears = self.deaf_until.is_none();
            let event = tokio::select! {
                biased;
                order = orders.recv() => Event::Order(order),
                () = wait::of(end.as_ref().map(|end| end.wait())) => Event::HungUp,
                caller = wait::of(self.ring.as_mut().map(Ring::caller)) => Event::Said(caller),
                () = wait::of(self.deaf_until.map(tokio::time::sleep_until)) => Event::HearsAgain,
                Some(called) = accepted.recv(), if hears => called_or_not(called, None),
                Some(Ok((address, dialled))) = dials.join_next() => called_or_not(dialled, Some(address)),
                found = self.meeting.next_at_home(), if hears => match found {
                    Ok(address) => Event::Reached(address),
                    Err(error) => Event::NotReached(error, None),
                },
                _ = accepting.join_next(), if !accepting.is_empty() => continue,
            };
            match event {
                Event::Order(Some(order)) => {
                    if self.obey(order).await {
                        return;
                    }
                }
                Event::Order(None) => return,
                Event::HungUp => {
                    if let Some(Ring { dialled, first, .. }) = self.ring.take() {
                        dialled.into_iter().for_each(|address| self.meeting.dial_ended(address));
                        if first.is_none() {
                            self.say(AtDoor::GaveUp(self.peer.clone()));
                        }
                    }
                }
                Event::Said(caller) => {
                    if let Some(ring) = self.ring.take() {
                        self.on_said(ring, caller);
                    }
                }
                Event::HearsAgain => self.deaf_until = None,
                Event::Called(connection, dialled) => self.on_caller(connection, dialled),
                Event::Reached(address) => {
                    let endpoint = self.meeting.endpoint();
                    dials.spawn(async move { (address, endpoint.dial(address).await) });
                }
                Event::NotReached(error, dialled) => {
                    tracing::debug!("{}: {error}", self.peer.name);
                    dialled.into_iter().for_each(|address| self.meeting.dial_ended(address));
                    if error.is_final() {
                        self.deaf_until = Some(Instant::now() + OPEN_AGAIN);
                    }
                }
            }
        }
    }

    /// Does as it is told; returns true if that is to leave.
    async fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Reply(reply) => (self.reply, self.quiet_until, self.told_until) = (reply, None, None),
            Order::Decline => {
                if let Some(ring) = self.ring.take() {
                    self.quiet_until = Some(Instant::now() + DECLINED);
                    self.turn_away(ring, CloseCode::Declined);
                }
            }
            Order::Leave { taken } => {
                if let Some(Ring { connection, .. }) = self.ring.take() {
                    let (code, reason) = if taken { (CloseCode::Done, TAKEN) } else { (CloseCode::Busy, BUSY) };
                    connection.finish(&[], Duration::ZERO, code, reason).await;
                }
                return true;
            }
            Order::Remove => {
                if let Some(Ring { connection, .. }) = self.ring.take() {
                    connection.finish(&[], Duration::ZERO, CloseCode::Removed, "removed").await;
                }
                return true;
            }
        }
        false
    }

    /// Takes a caller whose key is proved.
    fn on_caller(&mut self, mut connection: Connection, dialled: Option<SocketAddr>) {
        let now = Instant::now();
        if self.quiet_until.is_some_and(|until| now < until) {
            self.quiet_until = Some(now + DECLINED);
            self.turn_away(Ring { connection, dialled, first: None, reply: self.reply }, CloseCode::Declined);
            return;
        }
        // Of the same machine: a newer connection takes the older one's place, and rings on.
        let old = self.ring.take();
        old.iter().for_each(|old| old.connection.close(CloseCode::Replaced, "replaced by a newer connection"));
        let rings_on = old.is_some_and(|old| old.first.is_none());
        let reply = if rings_on { Reply::Rings } else { self.reply };
        let mut said = Vec::new();
        control::encode(&ControlMessage::Waits { rings: reply == Reply::Rings }, None, &mut said);
        connection.begin(said);
        let first = (!rings_on).then(ControlReader::default);
        self.ring = Some(Ring { connection, dialled, first, reply });
    }

    /// Answers a caller that has said its first message.
    fn on_said(&mut self, mut ring: Ring, caller: Caller) {
        let code = match (caller, ring.reply) {
            (Caller::Waits, _) => CloseCode::Done,
            (Caller::CallsOn, _) if self.has_ended => CloseCode::Declined,
            (_, Reply::Busy) => CloseCode::Busy,
            (_, Reply::DoNotDisturb) => CloseCode::DoNotDisturb,
            (_, Reply::Rings) => {
                ring.first = None;
                self.ring = Some(ring);
                self.say(AtDoor::Rings(self.peer.clone()));
                return;
            }
        };
        if matches!(code, CloseCode::Busy | CloseCode::DoNotDisturb) {
            let now = Instant::now();
            let was_told = self.told_until.replace(now + DECLINED).is_some_and(|until| now < until);
            if !was_told {
                self.say(AtDoor::TurnedAway(self.peer.clone(), ring.reply));
            }
        }
        self.turn_away(ring, code);
    }

    fn turn_away(&mut self, caller: Ring, code: CloseCode) {
        let reason = match code {
            CloseCode::Busy => BUSY,
            CloseCode::Done => "nobody calls",
            _ => "no",
        };
        caller.connection.close(code, reason);
        caller.dialled.into_iter().for_each(|address| self.meeting.dial_ended(address));
        self.deaf_until = Some(Instant::now() + AGAIN);
    }

    fn say(&self, what: AtDoor) {
        // Nobody who listens needs none of it.
        let _ = self.tell.send(what);
    }
}

/// Words with which a connection is closed.
const BUSY: &str = "connected to another machine";
const TAKEN: &str = "the call is taken";

fn called_or_not(called: Result<Connection, QuicError>, dialled: Option<SocketAddr>) -> Event {
    match called {
        Ok(connection) => Event::Called(connection, dialled),
        Err(error) => Event::NotReached(error, dialled),
    }
}
