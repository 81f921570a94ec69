//! A search for one machine at work: its decisions ([`Meeting`]), a socket, STUN servers and a clock. During a call the
//! same socket shows better ways for it ([`Course`]).
//!
//! Where a round of knocks has failed, or a call has come about through a relay only, another port of this machine is tried
//! beside the first ([`Rounds`]). It asks STUN servers and the router for itself, and what they answer is told like all
//! addresses. The first port stays open with all that belongs to it: a configured one is what the other machine has stored, and
//! the place at the relay is bound to it.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use common::config::Turn;
use common::dht::Pace;
use common::path::ways::{
    Allowance, Base, Candidate, HeardKnocks, KNOCK_BYTES, Kind, Knock, Meeting, Origin, Pair, Role, Rounds, Step, merge,
};
use common::reach::{Outside, Place, Port};
use common::units::Timestamp;
use tokio::sync::{mpsc, watch};

use super::addresses;
use super::course::Course;
use super::dht::Dht;
use super::house::House;
use super::mailbox::Notes;
use super::mapping::Mapping;
use super::other_port::OtherPort;
use super::presence::SignsOf;
use super::proof::{KnockKey, random};
use super::relaying::{Allocation, Relaying};
use super::stun::Stun;

use crate::clock;
use crate::failure::Failure;
use crate::quic::{Aside, Beside, InCall, KNOCK, PROBE};
use crate::wait;

/// Servers that are asked, and addresses of each.
const SERVERS_MAX: usize = 4;
/// Time that servers may take to be found and to answer before nobody waits for them.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Time between notes, and between what the house is told, if this machine's addresses have changed.
const NOTE: Duration = Duration::from_secs(1);

/// Addresses with right knocks that are remembered.
const KNOCKED_MAX: usize = 16;

/// Next act of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Dial there, and say how it ended. Through the relay it is an address that only this socket knows.
    Path(SocketAddr),
    /// This machine's addresses are known, as far as anybody answers in time.
    Addresses,
}

/// Those who are asked for ways to this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks<'a> {
    /// `HOST:PORT` of STUN servers.
    pub(crate) stun: &'a [String],
    /// Relays.
    pub(crate) turn: &'a Turn,
    /// True if the router is asked to open the port.
    pub(crate) open_port: bool,
}

/// A search for one machine.
pub(crate) struct Search {
    beside: Beside,
    knocks: KnockKey,
    heard: HeardKnocks,
    meeting: Meeting,
    /// Bytes that may go to addresses that have not answered, from this socket and through its relay.
    allowance: Allowance,
    stun: Stun,
    servers: mpsc::Receiver<SocketAddr>,
    turn: Turn,
    relaying: Option<Relaying>,
    mapping: Option<Mapping>,
    rounds: Rounds,
    other: OtherPort,
    port: u16,
    ready: bool,
    gathered: bool,
    gather_until: Timestamp,
    begun: Timestamp,
    /// Newest first.
    knocked: VecDeque<SocketAddr>,
    role: Role,
    /// True if this side calls nobody, and waits for whoever does.
    is_idle: bool,
    /// The call of now, as it changes; none: nobody calls.
    calls: Option<watch::Receiver<Option<InCall>>>,
    course: Option<Course>,
    /// True if the way of the call's packets seems to die.
    doubts: bool,
    notes: Option<Notes>,
    dht: Option<Dht>,
    house: Option<House>,
    /// The place at which signs that the other machine is there are handed in.
    signs: Option<SignsOf>,
    note_at: Timestamp,
}

impl Search {
    /// A search through the socket at `port` to which `beside` belongs. What `asks` names is asked at once; a place at a
    /// relay and a port at the router are kept until the search is dropped. Must be called on a tokio runtime.
    pub(crate) fn new(
        beside: Beside,
        port: u16,
        knocks: KnockKey,
        role: Role,
        candidates: &[Candidate],
        asks: Asks<'_>,
    ) -> Self {
        let now = clock::now();
        let (found, receiver) = mpsc::channel(2 * SERVERS_MAX);
        for name in asks.stun.iter().take(SERVERS_MAX) {
            let (name, found) = (name.clone(), found.clone());
            tokio::spawn(async move {
                let addresses = match tokio::net::lookup_host(&name).await {
                    Ok(addresses) => addresses::one_of_each_family(addresses),
                    Err(error) => return tracing::debug!("{name}: {error}"),
                };
                for address in addresses {
                    let _ = found.send(address).await;
                }
            });
        }
        let mut meeting = Meeting::new(role, candidates, now);
        if !asks.turn.servers.is_empty() {
            meeting.expect_relays(asks.turn.ports.clone());
        }
        let somebody = !asks.stun.is_empty() || !asks.turn.servers.is_empty() || asks.open_port;
        Self {
            relaying: Relaying::start(asks.turn, beside.sending()),
            mapping: asks.open_port.then(|| Mapping::start(port)),
            turn: asks.turn.clone(),
            beside,
            knocks,
            heard: HeardKnocks::default(),
            meeting,
            allowance: Allowance::default(),
            rounds: Rounds::default(),
            other: OtherPort::default(),
            stun: Stun::default(),
            servers: receiver,
            port,
            ready: false,
            gathered: false,
            gather_until: now + if somebody { PATIENCE } else { Duration::ZERO },
            begun: now,
            knocked: VecDeque::with_capacity(KNOCKED_MAX),
            role,
            is_idle: false,
            calls: None,
            course: None,
            doubts: false,
            notes: None,
            dht: None,
            house: None,
            signs: None,
            note_at: now,
        }
    }

    /// Says in knocks from now on that this side calls nobody: another one that is idle, too, is not dialled.
    pub(crate) fn set_idle(&mut self) {
        self.is_idle = true;
        self.meeting.set_idle();
        if let Some(dht) = &self.dht {
            dht.set_pace(Pace::Idle);
        }
    }

    /// Looks for better ways for each of these calls from now on.
    pub(crate) fn follow(&mut self, calls: watch::Receiver<Option<InCall>>) {
        self.calls = Some(calls);
    }

    /// Leaves and reads notes from now on.
    pub(crate) fn take_notes(&mut self, notes: Notes) {
        self.notes = Some(notes);
    }

    /// Publishes this machine's addresses in the DHT, and looks the other's up there, from now on.
    pub(crate) fn use_dht(&mut self, dht: Dht) {
        self.dht = Some(dht);
    }

    /// Looks for the other machine in this house from now on.
    pub(crate) fn look_in(&mut self, house: House) {
        self.house = Some(house);
    }

    /// Hands in signs of the other machine from now on, and looks it up in the DHT as one does who calls nobody.
    pub(crate) fn tell_signs(&mut self, signs: SignsOf) {
        self.signs = Some(signs);
        self.dht.iter().for_each(|dht| dht.set_pace(Pace::Idle));
    }

    /// Returns true if a node of the DHT has answered.
    pub(crate) fn dht_answers(&self) -> bool {
        self.dht.as_ref().is_some_and(Dht::answers)
    }

    /// Returns true if a right knock has come from there, as it does before a friend dials.
    pub(crate) fn has_knocked(&self, address: SocketAddr) -> bool {
        self.knocked.contains(&address)
    }

    /// Returns true if a right knock has come from anywhere: the other machine is there.
    pub(crate) fn has_heard(&self) -> bool {
        !self.knocked.is_empty()
    }

    /// Returns this machine's addresses as known now.
    pub(crate) fn addresses(&self) -> Vec<Candidate> {
        let relayed = match self.place() {
            Some(Allocation::At(at)) => Candidate::new(Kind::Relayed, at),
            _ => None,
        };
        let mapped = self.mapping.as_ref().map(Mapping::candidates).unwrap_or_default();
        let seen = self.relaying.as_ref().and_then(Relaying::seen);
        let other = self.other.addresses();
        merge(&[&self.local(), &mapped, &self.stun.seen(), &other, seen.as_slice(), relayed.as_slice()])
    }

    /// Returns what is known now of this machine's way outside.
    pub(crate) fn outside(&self) -> Outside {
        let port = match &self.mapping {
            None => Port::NotAsked,
            Some(mapping) => mapping.opened().map_or(Port::Closed, Port::Open),
        };
        let relay = self.relaying.as_ref().map_or(Place::NotNamed, Relaying::answer);
        let mut seen = self.stun.answers();
        // A relay answers as a STUN server does, and may be one that was asked.
        let by_relay = self.relaying.as_ref().and_then(Relaying::seen).map(|candidate| candidate.address);
        seen.extend(by_relay.filter(|_| seen.is_empty()));
        Outside::of(&self.local(), &seen, port, relay)
    }

    fn local(&self) -> Vec<Candidate> {
        addresses::local(self.port, self.reaches((std::net::Ipv6Addr::LOCALHOST, 1).into()))
    }

    fn reaches(&self, address: SocketAddr) -> bool {
        self.beside.sending().reaches(address)
    }

    /// Returns the state of the place at the relay; none: there is no relay.
    fn place(&self) -> Option<Allocation> {
        self.relaying.as_ref().map(Relaying::place)
    }

    /// Adds further addresses of the other machine.
    pub(crate) fn add(&mut self, candidates: &[Candidate]) {
        let now = clock::now();
        self.meeting.add(candidates, now);
        self.rounds.on_news(now);
    }

    /// Begins anew: the connection has ended.
    pub(crate) fn restart(&mut self) {
        self.beside.forget();
        let now = clock::now();
        self.meeting.restart(now);
        self.keep_proved(now);
        self.rounds.restart(now);
        self.stun.doubt(now);
        if let Some(relaying) = &self.relaying {
            relaying.check();
        }
        if let Some(dht) = &self.dht {
            dht.hurry();
        }
    }

    /// Sets whether this side only answers, as during a call.
    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.meeting.set_quiet(quiet);
        if let Some(dht) = &self.dht {
            let waits = if self.signs.is_some() { Pace::Idle } else { Pace::Seeks };
            dht.set_pace(if quiet { Pace::Quiet } else { waits });
        }
    }

    /// Notes that dialling there has failed.
    pub(crate) fn dial_failed(&mut self, address: SocketAddr) {
        self.meeting.on_dial_failed(self.pair_of(address), clock::now());
    }

    /// Returns the kind of the address.
    pub(crate) fn kind_of(&self, address: SocketAddr) -> Kind {
        self.meeting.kind_of(self.pair_of(address)).unwrap_or(Kind::PeerReflexive)
    }

    /// Takes notice of the call of now.
    fn on_call(&mut self, call: Option<InCall>) {
        if let (Some(course), Some(call)) = (&self.course, &call)
            && course.is_of(call)
        {
            return;
        }
        let now = clock::now();
        self.keep_proved(now);
        // The old one lets go of the socket first.
        self.course = None;
        let Some(call) = call else { return };
        let kind = self.kind_of(call.address());
        self.course = Course::new(call, self.role, kind, self.meeting.given(), self.beside.sending(), now);
        if let Some(course) = &mut self.course {
            self.meeting.bases().for_each(|(base, at)| course.steering.open_base(base, at, now));
        }
    }

    /// Looks first, after the call, where the peer has been in it.
    fn keep_proved(&mut self, now: Timestamp) {
        if let Some((pair, kind)) = self.course.as_ref().and_then(|course| course.proved(now)) {
            self.meeting.on_proved(pair, kind, now);
        }
    }

    /// Opens another port if a round has failed; returns the time to look again.
    fn go_on_from_another_port(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.is_idle {
            return None;
        }
        let is_near = match &self.course {
            Some(course) => !course.steering.is_relayed(),
            None => self.meeting.is_near(now),
        };
        let is_sought = self.meeting.pairs() > 0 || self.course.is_some();
        if self.rounds.poll(is_sought, is_near, now) {
            // A router that has opened the first port is not asked for more.
            let asks_router = self.mapping.as_ref().is_some_and(|mapping| mapping.opened().is_none());
            if self.other.open(self.beside.sending(), self.stun.servers(), asks_router, now) {
                self.open_base(Base::OtherPort, None, now + OtherPort::OPENS);
            }
        }
        self.rounds.poll_timeout()
    }

    /// Looks from another base as well, before a call and during it; `at`: of a relay, its address.
    fn open_base(&mut self, base: Base, at: Option<IpAddr>, now: Timestamp) {
        self.meeting.open_base(base, at, now);
        if let Some(course) = &mut self.course {
            course.steering.open_base(base, at, now);
        }
    }

    fn close_base(&mut self, base: Base) {
        self.meeting.close_base(base);
        if let Some(course) = &mut self.course {
            course.steering.close_base(base);
        }
    }

    /// Takes notice of the state of the place at the relay.
    fn on_place(&mut self, now: Timestamp) {
        match self.place() {
            Some(Allocation::At(at)) => {
                self.meeting.seek_at(at.ip(), self.turn.ports.clone(), now);
                self.open_base(Base::Relay, Some(at.ip()), now);
            }
            _ => self.close_base(Base::Relay),
        }
    }

    /// Does what is due for the call's packets; returns the time to do so again.
    fn drive_course(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let Some(mut course) = self.course.take() else { return Ok(None) };
        let mut allowance = std::mem::take(&mut self.allowance);
        let driven = course.drive(|| self.addresses(), &mut allowance, now);
        self.allowance = allowance;
        let next = course.steering.poll_timeout(now, &self.allowance);
        let doubts = course.steering.is_in_doubt(now);
        if doubts && !self.doubts {
            // This machine may be at another address now, to which its place at the relay does not belong.
            self.stun.doubt(now);
            self.relaying.iter().for_each(Relaying::check);
        }
        self.doubts = doubts;
        self.course = Some(course);
        driven.map(|()| next)
    }

    fn pair_of(&self, address: SocketAddr) -> Pair {
        self.beside.sending().pair_of(address)
    }

    /// Goes on until there is something for the caller to do. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Result<Found, Failure> {
        if !self.ready {
            self.beside.writable().await;
            self.ready = true;
        }
        loop {
            let now = clock::now();
            while let Some((server, request)) = self.stun.poll(now) {
                self.beside.sending().send(server, &request);
            }
            let round = self.go_on_from_another_port(now);
            self.other.ask(self.beside.sending(), now);
            let answered = self.stun.is_complete()
                && self.servers.is_closed()
                && self.servers.is_empty()
                && self.place() != Some(Allocation::Asked)
                && self.mapping.as_ref().is_none_or(Mapping::is_complete);
            if !self.gathered && (now >= self.gather_until || answered && now > self.begun) {
                self.gathered = true;
                // A note was worth nothing before.
                self.note_at = now;
                return Ok(Found::Addresses);
            }
            while let Some(step) = self.meeting.poll(now, u128::from_le_bytes(random()?), &mut self.allowance) {
                match step {
                    Step::Knock(pair) if pair.is_relayed() || self.reaches(pair.to) => {
                        let [nonce, echo] = self.meeting.nonces(pair);
                        let knock = Knock { made_ms: clock::unix_ms(), nonce, echo, is_idle: self.is_idle };
                        self.beside.sending().send(pair, &self.knocks.make(&knock));
                    }
                    Step::Knock(_) => {}
                    Step::Dial(pair) => return Ok(Found::Path(self.beside.sending().let_in(pair))),
                }
            }
            let course = self.drive_course(now)?;
            let gather = (!self.gathered).then_some(self.gather_until);
            let note = self.leave_note(now);
            let (stun, other) = (self.stun.poll_timeout(), self.other.poll_timeout());
            let meeting = self.meeting.poll_timeout(now, &self.allowance);
            let next = [stun, other, meeting, gather, course, note, round];
            let next = next.into_iter().flatten().min();
            // A deadline that has passed comes again with a moment's pause, so that nobody turns in a circle.
            let next = next.map(|next| next.max(now + Duration::from_millis(1)));
            tokio::select! {
                aside = self.beside.receive() => self.on_aside(&aside)?,
                Some(server) = self.servers.recv() => {
                    if self.beside.sending().reaches(server) {
                        self.beside.expect_from(server);
                        self.stun.add(server, clock::now());
                    }
                }
                () = wait::of(self.relaying.as_mut().map(Relaying::changed)) => {
                    self.on_place(clock::now());
                }
                call = another_call(&mut self.calls) => self.on_call(call),
                candidates = wait::of(self.notes.as_mut().map(Notes::next)) => {
                    let now = clock::now();
                    self.meeting.set_news(Origin::Note, &candidates, now);
                    self.rounds.on_news(now);
                }
                found = wait::of(self.dht.as_mut().map(Dht::next)) => {
                    let now = clock::now();
                    if let Some(signs) = &self.signs {
                        signs.noted(found.made_ms, found.until_ms);
                    }
                    self.meeting.set_news(Origin::Dht, &found.note.candidates, now);
                    self.rounds.on_news(now);
                }
                candidates = wait::of(self.house.as_mut().map(House::next)) => {
                    self.meeting.set_news(Origin::House, &candidates, clock::now());
                }
                () = wait::of(self.mapping.as_mut().map(Mapping::changed)) => {}
                () = wait::until(next) => {}
            }
        }
    }

    /// Leaves a note and tells the house if it is time to look whether that is needed; returns the time to do so again.
    fn leave_note(&mut self, now: Timestamp) -> Option<Timestamp> {
        let leaves_notes = (self.notes.is_some() || self.dht.is_some()) && self.gathered;
        if !leaves_notes && self.house.is_none() {
            return None;
        }
        if now >= self.note_at {
            self.note_at = now + NOTE;
            if leaves_notes {
                let addresses = self.addresses();
                self.notes.iter_mut().for_each(|notes| notes.leave(addresses.clone()));
                self.dht.iter().for_each(|dht| dht.publish(addresses.clone()));
            }
            if let Some(house) = &self.house {
                house.announce(self.local());
            }
        }
        Some(self.note_at)
    }

    fn on_aside(&mut self, aside: &Aside) -> Result<(), Failure> {
        match aside.bytes.first() {
            Some(&PROBE) => {
                if let Some(course) = &mut self.course {
                    course.on_probe(aside, &mut self.allowance, clock::now())?;
                }
            }
            Some(&KNOCK) => self.on_knock(aside),
            _ if aside.from.base == Base::OtherPort => self.other.on_message(aside.from.to, &aside.bytes),
            _ => self.stun.on_message(aside.from.to, &aside.bytes),
        }
        Ok(())
    }
}

impl Search {
    fn on_knock(&mut self, aside: &Aside) {
        let now = clock::now();
        let Some(heard) = self.knocks.of_peer(&aside.bytes) else { return };
        let is_new = heard.is_new(&mut self.heard, clock::unix_ms());
        if is_new && let Some(signs) = &self.signs {
            signs.heard();
            self.dht.iter().for_each(Dht::heard);
        }
        if self.is_idle && heard.knock.is_idle {
            // One that begins learns at once that this one is there; its answer needs none.
            if is_new && heard.knock.echo == 0 {
                self.answer_idle(aside.from, heard.knock.nonce, now);
            }
            return;
        }
        self.meeting.on_knock(aside.from, &heard.knock, is_new, &mut self.allowance, now);
        // QUIC hears those only that are there now.
        if !self.meeting.works(aside.from, now) {
            return;
        }
        self.beside.sending().let_in(aside.from);
        if !self.has_knocked(aside.from.to) {
            self.knocked.truncate(KNOCKED_MAX - 1);
            self.knocked.push_front(aside.from.to);
        }
    }

    fn answer_idle(&mut self, from: Pair, echo: u64, now: Timestamp) {
        let Ok(nonce) = random().map(u64::from_le_bytes) else { return };
        self.allowance.on_heard(from.to, KNOCK_BYTES, now);
        if self.allowance.take(Origin::Packet, from.to, KNOCK_BYTES, now) {
            let knock = Knock { made_ms: clock::unix_ms(), nonce, echo, is_idle: true };
            self.beside.sending().send(from, &self.knocks.make(&knock));
        }
    }
}

async fn another_call(calls: &mut Option<watch::Receiver<Option<InCall>>>) -> Option<InCall> {
    if let Some(calls) = calls
        && calls.changed().await.is_ok()
    {
        return calls.borrow_and_update().clone();
    }
    std::future::pending().await
}
