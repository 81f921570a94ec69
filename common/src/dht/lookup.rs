//! A lookup: nodes nearer and nearer to an item are asked for it, until the nearest of those that answer have been.

use std::net::SocketAddrV4;
use std::time::Duration;

use super::message::{Answer, ID_BYTES, Id, Node, Transaction};
use crate::path::ways::Scope;
use crate::units::Timestamp;

/// Nodes nearest to an item that are asked, and that keep it.
pub(super) const NEAREST: usize = 20;
/// Requests on their way at once.
const AT_ONCE: usize = 8;
/// Most requests of one lookup, whatever its nodes say.
pub const REQUESTS_MAX: usize = 120;
/// Nodes that are remembered.
const NODES_MAX: usize = 240;
/// Nodes that stay silent, of those that one has named, after which no other of them is asked; and those that may be waited for at
/// once.
const IN_VAIN: usize = 4;
const EACH_AT_ONCE: usize = 3;
/// Addresses of one network of 256 that are taken, each from another node: so nobody fills a lookup with what he has rented, and who
/// names false ports of others' machines keeps nobody else from naming the right ones.
const OF_ONE_NETWORK: usize = 4;
/// Time after which another node is asked beside one that has not answered, and after which nobody waits for it.
const SLOW: Duration = Duration::from_millis(700);
const SILENT: Duration = Duration::from_millis(2500);
/// Least port that is asked: those below belong to other services.
const PORT_LEAST: u16 = 1024;
/// Longest lookup.
const LONGEST: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    New,
    Asked(Transaction, Timestamp),
    /// It has answered, with a token or without.
    Answered(Option<Vec<u8>>),
    Silent,
}

#[derive(Clone, Debug)]
struct Contact {
    distance: [u8; ID_BYTES],
    address: SocketAddrV4,
    /// The node that has named it; none: it was known.
    named_by: Option<SocketAddrV4>,
    state: State,
}

impl Contact {
    /// Returns its address and the token with which it stores something, if it has given one.
    fn keeper(&self) -> Option<(SocketAddrV4, &[u8])> {
        match &self.state {
            State::Answered(Some(token)) => Some((self.address, token)),
            _ => None,
        }
    }
}

/// A lookup under way.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) target: Id,
    /// Nearest first. One whose number is not known is asked before all others.
    contacts: Vec<Contact>,
    /// True if nodes may be in this machine, as those of a test are.
    within_machine: bool,
    requests: usize,
    begun: Timestamp,
}

impl Lookup {
    /// Begins with nodes that are known, and with `entrances`, addresses of which no more is known; those if few nodes are, or if
    /// `enters`.
    pub(super) fn new(
        target: Id,
        known: impl Iterator<Item = Node>,
        entrances: &[SocketAddrV4],
        (enters, within_machine): (bool, bool),
        now: Timestamp,
    ) -> Self {
        let mut lookup = Self { target, contacts: Vec::new(), within_machine, requests: 0, begun: now };
        known.for_each(|node| lookup.add(target.distance(&node.id), node.address, None, now));
        if enters || lookup.contacts.len() < NEAREST {
            entrances.iter().for_each(|address| lookup.add([0; ID_BYTES], *address, None, now));
        }
        lookup
    }

    /// Adds a node, unless it is no machine of the internet, or enough of its network are there.
    fn add(&mut self, distance: [u8; ID_BYTES], address: SocketAddrV4, named_by: Option<SocketAddrV4>, now: Timestamp) {
        let is_anybody = Scope::of((*address.ip()).into()) == Scope::World;
        let is_near = address.ip().is_loopback() && self.within_machine;
        if address.port() < PORT_LEAST || !(is_anybody || is_near) {
            return;
        }
        if let Some(known) = self.contacts.iter().position(|known| known.address == address) {
            // Somebody else knows it, too.
            if self.contacts[known].state == State::New && !self.named_alike(known, now).1 {
                self.contacts[known].named_by = named_by;
            }
            return;
        }
        let network = |address: SocketAddrV4| address.ip().to_bits() >> 8;
        let mut alike = self.contacts.iter().filter(|known| network(known.address) == network(address));
        let is_full = alike.clone().count() >= OF_ONE_NETWORK
            || named_by.is_some() && alike.any(|known| known.named_by == named_by);
        if is_full && !is_near {
            return;
        }
        let at = self.contacts.partition_point(|known| known.distance <= distance);
        self.contacts.insert(at, Contact { distance, address, named_by, state: State::New });
        if self.contacts.len() > NODES_MAX {
            // The farthest that nobody waits for.
            let last = self.contacts.iter().rposition(|known| !matches!(known.state, State::Asked(..)));
            last.map(|last| self.contacts.remove(last));
        }
    }

    /// Returns the next node to ask, and notes that it is asked; `avoid`: those that were silent of late.
    pub(super) fn poll(
        &mut self,
        transaction: Transaction,
        avoid: impl Fn(SocketAddrV4) -> bool,
        now: Timestamp,
    ) -> Option<SocketAddrV4> {
        for contact in &mut self.contacts {
            if contact.state == State::New && avoid(contact.address) {
                contact.state = State::Silent;
            }
        }
        let waits = |contact: &&Contact| matches!(contact.state, State::Asked(_, at) if now.since(at) < SLOW);
        if self.requests >= REQUESTS_MAX
            || now.since(self.begun) >= LONGEST
            || self.contacts.iter().filter(waits).count() >= AT_ONCE
        {
            return None;
        }
        let next = self
            .wanted(now)
            .find(|at| self.contacts[*at].state == State::New && self.named_alike(*at, now).0 < EACH_AT_ONCE)?;
        self.contacts[next].state = State::Asked(transaction, now);
        self.requests += 1;
        Some(self.contacts[next].address)
    }

    /// Returns how many of those that the same node has named as this one are waited for, and whether more of them were there
    /// than not, but for a few.
    fn named_alike(&self, at: usize, now: Timestamp) -> (usize, bool) {
        let Some(by) = self.contacts[at].named_by else { return (0, true) };
        let (mut waited, mut vain, mut right) = (0, 0, 0);
        for contact in self.contacts.iter().filter(|contact| contact.named_by == Some(by)) {
            match contact.state {
                State::Asked(_, at) if now.since(at) < SLOW => waited += 1,
                State::Asked(..) | State::Silent => vain += 1,
                State::Answered(_) => right += 1,
                State::New => {}
            }
        }
        (waited, vain < IN_VAIN + right)
    }

    /// The nearest that may still answer or have: the places of those of which an answer matters.
    fn wanted(&self, now: Timestamp) -> impl Iterator<Item = usize> + use<'_> {
        let counts = move |state: &State| match state {
            State::New | State::Answered(_) => true,
            State::Asked(_, at) => now.since(*at) < SLOW,
            State::Silent => false,
        };
        let places = self.contacts.iter().enumerate();
        let places = places.filter(move |(_, contact)| counts(&contact.state)).map(|(at, _)| at);
        places.filter(move |at| self.contacts[*at].state != State::New || self.named_alike(*at, now).1).take(NEAREST)
    }

    /// Gives up those that stay silent, at the end all that were slow; returns them.
    pub(super) fn give_up(&mut self, is_end: bool, now: Timestamp) -> Vec<SocketAddrV4> {
        let longest = if is_end { SLOW } else { SILENT };
        let mut silent = Vec::new();
        for contact in &mut self.contacts {
            if matches!(contact.state, State::Asked(_, at) if now.since(at) >= longest) {
                contact.state = State::Silent;
                silent.push(contact.address);
            }
        }
        silent
    }

    /// Takes the answer of a node, or that it refuses; false if it was not asked so.
    pub(super) fn on_reply(
        &mut self,
        from: SocketAddrV4,
        transaction: Transaction,
        answer: Option<&Answer>,
        now: Timestamp,
    ) -> bool {
        let is_asked = |known: &Contact| {
            known.address == from && matches!(known.state, State::Asked(asked, _) if asked == transaction)
        };
        let Some(at) = self.contacts.iter().position(is_asked) else { return false };
        let mut contact = self.contacts.remove(at);
        match answer {
            Some(answer) => {
                contact.distance = self.target.distance(&answer.id);
                contact.state = State::Answered(answer.token.clone());
            }
            None => contact.state = State::Silent,
        }
        let at = self.contacts.partition_point(|known| known.distance <= contact.distance);
        self.contacts.insert(at, contact);
        for node in answer.into_iter().flat_map(|answer| &answer.nodes) {
            self.add(self.target.distance(&node.id), node.address, Some(from), now);
        }
        true
    }

    /// Returns true if no node is left of which an answer matters.
    pub(super) fn is_done(&self, now: Timestamp) -> bool {
        if now.since(self.begun) >= LONGEST {
            return true;
        }
        let is_asked = |contact: &&Contact| matches!(contact.state, State::Asked(..));
        if self.requests >= REQUESTS_MAX {
            return !self.contacts.iter().any(|contact| is_asked(&contact));
        }
        let answered = |at: usize| matches!(self.contacts[at].state, State::Answered(_));
        let mut wanted = self.wanted(now).peekable();
        match wanted.peek() {
            // Of all that are left somebody slow may answer yet.
            None => !self.contacts.iter().any(|contact| is_asked(&contact)),
            Some(_) => wanted.all(answered),
        }
    }

    /// Returns the nearest nodes that have given a token, and the tokens.
    pub(super) fn keepers(&self) -> impl Iterator<Item = (SocketAddrV4, &[u8])> {
        self.contacts.iter().filter_map(Contact::keeper).take(NEAREST)
    }

    /// Returns how many nodes have answered.
    pub(super) fn answers(&self) -> usize {
        self.contacts.iter().filter(|contact| matches!(contact.state, State::Answered(_))).count()
    }

    /// Returns the time to look again.
    pub(super) fn poll_timeout(&self, now: Timestamp) -> Timestamp {
        let end = self.begun + LONGEST;
        let next = self.contacts.iter().filter_map(|contact| match contact.state {
            State::Asked(_, at) if at + SLOW > now => Some(at + SLOW),
            State::Asked(_, at) => Some(at + SILENT),
            _ => None,
        });
        next.fold(end, Timestamp::min)
    }
}
