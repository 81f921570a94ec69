//! The one who listens, calls and takes calls: a thread that does one thing after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use calling::Handle;
use common::config::PublicKey;
use net::clock;
use net::failure::Failure;
use net::link::{AtDoor, Home, Reply};
use net::lock::lock;
use net::reach::presence;
use shell::cli::CommonFlags;

use super::call::{Running, start};
use super::event::{Event, State, Who, Why};
use super::history::History;
use super::host::Host;
use super::known::{self, Known};
use super::order::Order;
use super::person::{Answer, Person, Presence, What};

/// Time between two looks at the call of now.
const LOOK: Duration = Duration::from_millis(100);
/// The state that the window sees.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) people: Vec<Person>,
    pub(super) state: State,
    pub(super) handles: Vec<Handle>,
    pub(super) answer: Answer,
}

pub(super) struct Engine {
    pub(super) flags: CommonFlags,
    pub(super) host: Host,
    pub(super) known: Known,
    pub(super) history: History,
    pub(super) shown: Arc<Mutex<Shown>>,
    pub(super) orders: Sender<Order>,
    pub(super) events: Sender<Event>,
    pub(super) home: Option<Home>,
    pub(super) presences: BTreeMap<PublicKey, presence::Presence>,
    pub(super) ringing: BTreeSet<PublicKey>,
    pub(super) answer: Answer,
    pub(super) call: Option<Running>,
    /// Those whom files still list, which could not be written: strangers until the end of this program.
    pub(super) removed: BTreeSet<PublicKey>,
}

impl Engine {
    pub(super) fn run(mut self, queue: &Receiver<Order>) {
        self.go_home(BTreeSet::new());
        loop {
            // Without a call nothing changes by itself.
            let order = match &self.call {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(_) => queue.recv_timeout(LOOK),
            };
            match order {
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.look();
        }
        if let Some(call) = self.call.take() {
            call.end();
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Call(keys) => self.begin(&keys, false),
            Order::Take(key) => {
                if self.ringing.contains(&key) {
                    self.begin(&[key], true);
                }
            }
            Order::Decline(key) => {
                if self.ringing.remove(&key) {
                    self.home.iter().for_each(|home| home.decline(&key));
                    self.tell_of(key, |who| Event::RingEnded(who, false));
                }
            }
            Order::HangUp => self.call.iter_mut().for_each(|call| call.hang_up(Why::Here)),
            Order::Answer(answer) => {
                self.answer = answer;
                self.home.iter().for_each(|home| home.set_reply(reply(answer)));
                lock(&self.shown).answer = answer;
                if answer == Answer::AtOnce
                    && let Some(&key) = self.ringing.first()
                {
                    self.begin(&[key], true);
                }
            }
            Order::Reload => self.reload(),
            Order::Removed(key, is_listed) => self.on_removed(key, is_listed),
            Order::AtDoor(at_door) => self.at_door(at_door),
            Order::Opened(handles) => self.on_opened(handles),
            Order::CallEnded(ended) => self.on_ended(ended),
            Order::Close => {}
        }
    }

    /// Begins to wait for all who are known; `ended`: those with whom a call has just ended.
    fn go_home(&mut self, ended: BTreeSet<PublicKey>) {
        self.home = None;
        // Whoever is there says so again.
        let last_ms = Some(clock::unix_ms());
        for presence in self.presences.values_mut().filter(|it| !matches!(it, presence::Presence::Away { .. })) {
            *presence = presence::Presence::Away { last_ms };
        }
        for key in std::mem::take(&mut self.ringing) {
            self.tell_of(key, |who| Event::RingEnded(who, true));
        }
        if self.known.meets.is_empty() {
            return;
        }
        let orders = self.orders.clone();
        let tell = move |at_door| drop(orders.send(Order::AtDoor(at_door)));
        match Home::open(&self.known.shared, self.known.meets.clone(), reply(self.answer), ended, tell) {
            Ok(home) => self.home = Some(home),
            Err(failure) => self.tell(Event::Trouble(format!("nobody can call: {failure}"))),
        }
    }

    fn reload(&mut self) {
        match known::known(&self.flags) {
            Ok(known) => {
                let is_another = self.take(known);
                if is_another && self.call.is_none() {
                    self.go_home(BTreeSet::new());
                }
            }
            Err(failure) => self.tell(Event::Trouble(failure.message)),
        }
        self.show();
    }

    /// Takes those who are known now, but for whoever was removed; returns true if others are waited for than before.
    fn take(&mut self, mut known: Known) -> bool {
        known.people.retain(|(key, _)| !self.removed.contains(key));
        known.meets.retain(|meet| !self.removed.contains(&meet.peer.key));
        let is_another = known.meets != self.known.meets;
        self.known = known;
        is_another
    }

    fn on_removed(&mut self, key: PublicKey, is_listed: bool) {
        if is_listed {
            self.removed.insert(key);
        }
        self.home.iter().for_each(|home| home.remove(&key));
        if let Some(call) = &mut self.call {
            call.remove(key);
        }
        if self.ringing.remove(&key) {
            self.tell_of(key, |who| Event::RingEnded(who, false));
        }
        self.presences.remove(&key);
        self.kept(|history| history.forget(&key));
        self.known.people.retain(|(of, _)| *of != key);
        self.known.meets.retain(|meet| meet.peer.key != key);
        self.show();
    }

    fn at_door(&mut self, at_door: AtDoor) {
        let now = clock::unix_ms();
        let key = match &at_door {
            AtDoor::Presence(key, _) => *key,
            AtDoor::Rings(peer) | AtDoor::GaveUp(peer) | AtDoor::TurnedAway(peer, _) => peer.key,
            _ => return,
        };
        if self.who(&key).is_none() {
            return;
        }
        match at_door {
            AtDoor::Presence(_, presence) => drop(self.presences.insert(key, presence)),
            AtDoor::Rings(_) => {
                self.ringing.insert(key);
                match self.answer {
                    Answer::AtOnce if self.call.is_none() => self.begin(&[key], true),
                    _ => self.tell_of(key, Event::Rings),
                }
            }
            AtDoor::GaveUp(_) => {
                if self.ringing.remove(&key) {
                    self.kept(|history| history.on_reason(key, now, What::Missed));
                    self.tell_of(key, |who| Event::RingEnded(who, true));
                }
                if let Some(call) = self.call.as_mut().filter(|call| call.has(key) && call.is_taken) {
                    call.hang_up(Why::There);
                }
            }
            AtDoor::TurnedAway(_, Reply::DoNotDisturb) => self.tell_of(key, Event::ToldNotToDisturb),
            _ => {}
        }
        self.show();
    }

    /// Begins a call with all of them; `is_taken`: that of the only one, who rings.
    fn begin(&mut self, keys: &[PublicKey], is_taken: bool) {
        let who: Vec<_> = keys.iter().filter_map(|key| self.who(key)).collect();
        if who.is_empty() || who.len() != keys.len() || self.call.is_some() {
            return;
        }
        // Whoever calls somebody that rings takes that call.
        let is_taken = who.len() == 1 && (is_taken || self.ringing.contains(&who[0].key));
        for who in &who {
            if self.ringing.remove(&who.key) {
                self.tell(Event::RingEnded(who.clone(), false));
            }
        }
        match start(self.flags.clone(), self.host.clone(), who.clone(), is_taken, self.orders.clone()) {
            Ok(call) => {
                self.call = Some(call);
                who.into_iter().for_each(|who| self.tell(Event::Begins(who)));
            }
            Err(failure) => self.tell(Event::Trouble(failure.message)),
        }
        self.show();
    }

    fn on_opened(&mut self, handles: Vec<Handle>) {
        let Some(call) = &mut self.call else { return };
        let taken: Vec<_> = call.members.iter().map(|member| member.who.key).collect();
        // The call opens the same ports.
        if let Some(home) = self.home.take() {
            home.leave(&taken);
        }
        call.go(&handles);
        for key in std::mem::take(&mut self.ringing) {
            self.tell_of(key, |who| Event::RingEnded(who, false));
        }
        lock(&self.shown).handles = handles;
        self.show();
    }

    fn on_ended(&mut self, ended: Result<(), Failure>) {
        let Some(call) = self.call.take() else { return };
        let ended = call.joined(ended);
        let now = clock::unix_ms();
        for (who, was_connected, why) in &ended {
            let is_known = self.who(&who.key).is_some();
            if is_known && *was_connected {
                self.kept(|history| history.on_call(who.key, now));
            } else if let (true, Why::Kept(what)) = (is_known, why) {
                self.kept(|history| history.on_reason(who.key, now, what.clone()));
            }
        }
        lock(&self.shown).handles.clear();
        self.reload_quietly();
        let left = ended.iter().filter(|(_, was_connected, why)| *was_connected && *why == Why::Here);
        self.go_home(left.map(|(who, ..)| who.key).collect());
        ended.into_iter().for_each(|(who, _, why)| self.tell(Event::Ended(who, why)));
        self.show();
    }

    /// Reads again who is known: a call may have learned where somebody is.
    fn reload_quietly(&mut self) {
        if let Ok(known) = known::known(&self.flags) {
            self.take(known);
        }
    }

    /// Looks at the call of now.
    fn look(&mut self) {
        if let Some(call) = &mut self.call {
            let called = call.look();
            for name in called {
                let known = self.known.people.iter().find(|(_, known)| *known == name);
                if let Some((key, name)) = known.cloned() {
                    self.tell(Event::ToldBusy(Who { key, name }));
                }
            }
        }
        self.show();
    }

    /// Shows what has changed.
    pub(super) fn show(&self) {
        let members = self.call.iter().flat_map(|call| &call.members).filter(|member| member.is_connected);
        let in_call: BTreeSet<_> = members.map(|member| member.who.key).collect();
        let presence = |key: &PublicKey| match self.presences.get(key) {
            _ if in_call.contains(key) => Presence::InCall,
            None | Some(presence::Presence::Away { last_ms: None }) => Presence::Unknown,
            Some(presence::Presence::Here) => Presence::There,
            Some(presence::Presence::Likely) => Presence::Likely,
            Some(presence::Presence::Away { last_ms: Some(last_ms) }) => Presence::Gone(*last_ms),
        };
        let person = |(key, name): &(PublicKey, String)| {
            let past = self.history.of(key);
            let (last_call_ms, reasons) = (past.last_call_ms, past.reasons);
            Person { key: *key, name: name.clone(), presence: presence(key), last_call_ms, reasons }
        };
        let people: Vec<_> = self.known.people.iter().map(person).collect();
        let state = self.call.as_ref().map(Running::state).unwrap_or_default();
        let mut shown = lock(&self.shown);
        if shown.people != people || shown.state != state {
            (shown.people, shown.state) = (people, state);
            drop(shown);
            self.tell(Event::Changed);
        }
    }

    fn who(&self, key: &PublicKey) -> Option<Who> {
        let known = self.known.people.iter().find(|(known, _)| known == key);
        known.map(|(key, name)| Who { key: *key, name: name.clone() })
    }

    fn tell_of(&self, key: PublicKey, event: impl Fn(Who) -> Event) {
        self.who(&key).into_iter().for_each(|who| self.tell(event(who)));
    }

    /// Keeps something in the history; what cannot be written is told.
    fn kept(&mut self, keep: impl FnOnce(&mut History) -> Result<(), Failure>) {
        if let Err(failure) = keep(&mut self.history) {
            self.tell(Event::Trouble(failure.message));
        }
    }

    fn tell(&self, event: Event) {
        // Whoever hears of it looks how things stand.
        if event != Event::Changed {
            self.show();
        }
        // A window that has gone needs to know nothing.
        let _ = self.events.send(event);
        (self.host.wake)();
    }
}

fn reply(answer: Answer) -> Reply {
    match answer {
        Answer::Rings | Answer::AtOnce => Reply::Rings,
        Answer::DoNotDisturb => Reply::DoNotDisturb,
    }
}
