//! The client: lookups under way, what is stored at their end, and nodes that are known to answer.
//!
//! A hostile node costs a bounded number of packets: it names addresses, and each of them gets one request of some hundred bytes,
//! [`REQUESTS_MAX`] a lookup at most and eight at once; one that stays silent gets no other for ten minutes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;
use std::time::Duration;

use super::lookup::{Lookup, NEAREST};
use super::message::{self, Id, Item, Node, Transaction};
use crate::units::Timestamp;

/// Lookups at once.
pub const JOBS_MAX: usize = 4;
/// Nodes that have answered of late and are remembered, and addresses that have been silent.
const KNOWN_MAX: usize = 64;
const SILENT_MAX: usize = 1024;
/// Time for which a silent address is left alone.
const SILENT: Duration = Duration::from_secs(600);
/// Time that a node has to say that it has stored an item.
const STORE: Duration = Duration::from_millis(2500);
/// Events that wait to be taken.
const EVENTS_MAX: usize = 2 * super::lookup::REQUESTS_MAX;

/// Something that a lookup has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node has given this value for the item. Anybody can make one: only its seal tells.
    Value {
        /// The item.
        target: Id,
        /// As it came.
        value: Vec<u8>,
    },
    /// A lookup has ended.
    Done {
        /// The item.
        target: Id,
        /// Nodes that have answered.
        answers: usize,
        /// Nodes that have stored it, if it was to be stored.
        stored: Option<usize>,
    },
}

#[derive(Clone, Debug)]
struct Job {
    /// This machine's number for the lookup. Another one each time, so that by it nobody tells that two are of one machine.
    own: Id,
    lookup: Lookup,
    item: Option<Item>,
    /// Requests to store: to whom, under what number, since when.
    puts: Vec<(SocketAddrV4, Transaction)>,
    put_at: Option<Timestamp>,
    stored: usize,
}

/// A client of the DHT. It knows no socket and no clock.
#[derive(Clone, Debug)]
pub struct Client {
    within_machine: bool,
    entrances: Vec<SocketAddrV4>,
    /// Newest first.
    known: VecDeque<Node>,
    silent: BTreeMap<SocketAddrV4, Timestamp>,
    jobs: Vec<Job>,
    out: VecDeque<(SocketAddrV4, Vec<u8>)>,
    events: VecDeque<Event>,
}

impl Client {
    /// A client that knows nobody. `within_machine`: nodes of the loopback are asked, as those of a test are.
    pub fn new(within_machine: bool) -> Self {
        let (known, silent) = (VecDeque::with_capacity(KNOWN_MAX), BTreeMap::new());
        let (out, events) = (VecDeque::new(), VecDeque::new());
        Self { within_machine, entrances: Vec::new(), known, silent, jobs: Vec::new(), out, events }
    }

    /// Sets the addresses by which the network is entered while few nodes are known.
    pub fn set_entrances(&mut self, entrances: Vec<SocketAddrV4>) {
        self.entrances = entrances;
    }

    /// Forgets who was silent: this machine's network is another now.
    pub fn forget_silent(&mut self) {
        self.silent.clear();
    }

    /// Returns true if a node is known.
    pub fn knows_nodes(&self) -> bool {
        !self.known.is_empty()
    }

    /// Looks an item up under `own`, a random number, and stores `item` at the nodes nearest to it if there is one; false if it is
    /// looked up already, or too much is.
    pub fn start(&mut self, own: Id, target: Id, item: Option<Item>, now: Timestamp) -> bool {
        if self.jobs.len() >= JOBS_MAX || self.jobs.iter().any(|job| job.lookup.target == target) {
            return false;
        }
        let known = self.known.iter().copied();
        let lookup = Lookup::new(target, known, &self.entrances, (item.is_some(), self.within_machine), now);
        self.jobs.push(Job { own, lookup, item, puts: Vec::new(), put_at: None, stored: 0 });
        true
    }

    /// Returns the next datagram to send, and where to. `random`: numbers that nobody can guess.
    pub fn poll_transmit(
        &mut self,
        mut random: impl FnMut() -> u32,
        now: Timestamp,
    ) -> Option<(SocketAddrV4, Vec<u8>)> {
        self.drive(&mut random, now);
        if let Some(out) = self.out.pop_front() {
            return Some(out);
        }
        let Self { jobs, silent, entrances, .. } = self;
        let avoid = |address: SocketAddrV4| {
            !entrances.contains(&address) && silent.get(&address).is_some_and(|since| now.since(*since) < SILENT)
        };
        for job in jobs.iter_mut().filter(|job| job.put_at.is_none()) {
            let transaction = random();
            if let Some(to) = job.lookup.poll(transaction, avoid, now) {
                return Some((to, message::get(transaction, &job.own, &job.lookup.target)));
            }
        }
        None
    }

    /// Ends what is done, and stores what was looked up to be stored.
    fn drive(&mut self, random: &mut impl FnMut() -> u32, now: Timestamp) {
        let mut n = 0;
        while n < self.jobs.len() {
            let job = &mut self.jobs[n];
            let mut silent = job.lookup.give_up(false, now);
            let is_done = job.put_at.is_none() && job.lookup.is_done(now);
            if is_done {
                silent.extend(job.lookup.give_up(true, now));
            }
            for address in silent {
                self.known.retain(|known| known.address != address);
                if self.silent.len() >= SILENT_MAX {
                    let oldest = self.silent.iter().min_by_key(|(_, since)| **since).map(|(address, _)| *address);
                    oldest.and_then(|oldest| self.silent.remove(&oldest));
                }
                self.silent.insert(address, now);
            }
            if is_done {
                job.put_at = Some(now);
                if let Some(item) = &job.item {
                    for (to, token) in job.lookup.keepers() {
                        let transaction = random();
                        job.puts.push((to, transaction));
                        self.out.push_back((to, message::put(transaction, &job.own, token, item)));
                    }
                }
            }
            let is_over = |at| job.puts.is_empty() || now.since(at) >= STORE;
            if job.put_at.is_some_and(is_over) {
                let job = self.jobs.remove(n);
                let stored = job.item.is_some().then_some(job.stored);
                let (target, answers) = (job.lookup.target, job.lookup.answers());
                self.tell(Event::Done { target, answers, stored });
            } else {
                n += 1;
            }
        }
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Takes a datagram; false if it was not asked for, and is nobody's.
    pub fn on_datagram(&mut self, from: SocketAddrV4, datagram: &[u8], now: Timestamp) -> bool {
        let Some(reply) = message::reply(datagram) else { return false };
        // It was slow only.
        self.silent.remove(&from);
        for job in &mut self.jobs {
            let put = job.puts.iter().position(|put| *put == (from, reply.transaction));
            if let Some(put) = put {
                job.puts.swap_remove(put);
                job.stored += usize::from(reply.answer.is_some());
                return true;
            }
            if !job.lookup.on_reply(from, reply.transaction, reply.answer.as_ref(), now) {
                continue;
            }
            if let Some(answer) = reply.answer {
                let target = job.lookup.target;
                self.known.retain(|known| known.address != from);
                self.known.truncate(KNOWN_MAX - 1);
                self.known.push_front(Node { id: answer.id, address: from });
                if let Some(value) = answer.value {
                    self.tell(Event::Value { target, value });
                }
            }
            return true;
        }
        false
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the time to look again; none: nothing is under way.
    pub fn poll_timeout(&self, now: Timestamp) -> Option<Timestamp> {
        self.jobs.iter().map(|job| job.put_at.map_or_else(|| job.lookup.poll_timeout(now), |at| at + STORE)).min()
    }
}

const _: () = assert!(NEAREST <= KNOWN_MAX, "those that keep an item are known the next time");

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
