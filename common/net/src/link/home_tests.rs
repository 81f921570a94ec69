use std::net::UdpSocket;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::config::{LinkMode, Peer};
use common::path::ways::{Candidate, Kind, Role};
use common::path::{Directions, Path, ProtocolViolation};
use common::stream::video::VIDEO;
use common::units::Timestamp;
use common::wire::control::{self, ControlMessage, StreamId};
use tokio::sync::watch;

use super::super::dial::accept_for_ever;
use super::super::meet::Meeting;
use super::super::obstacle::Obstacles;
use super::super::{HangUp, LinkOptions, LinkState, Obstacle, Stream, Streams, Waker};
use super::*;
use crate::quic::tests::{identities, options};
use crate::reach::presence::Presence;

/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that a caller learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Learned {
    Rings,
    Greeted,
    Kept(Obstacle),
    Called,
}

/// A stream that tells what the loop tells it.
struct Watcher {
    tell: Sender<Learned>,
    rang: bool,
    ends: bool,
}

impl Stream for Watcher {
    fn on_greeted(&mut self, _: &mut Path) {
        let _ = self.tell.send(Learned::Greeted);
    }
    fn on_control(&mut self, _: ControlMessage, _: &mut Path, _: Timestamp) -> Result<(), ProtocolViolation> {
        Ok(())
    }
    fn on_obstacle(&mut self, obstacle: Option<Obstacle>) {
        if let Some(obstacle) = obstacle {
            let _ = self.tell.send(Learned::Kept(obstacle));
        }
    }
    fn on_called(&mut self, _: &Peer) {
        let _ = self.tell.send(Learned::Called);
    }
    fn on_tick(&mut self, _: Option<LinkState>, path: &mut Path, _: Timestamp) {
        if !std::mem::replace(&mut self.rang, path.rings()) && path.rings() {
            let _ = self.tell.send(Learned::Rings);
        }
    }
    fn on_stop(&mut self, _: Timestamp) {
        self.ends = true;
    }
    fn poll_action(&mut self, _: &mut Path, _: Timestamp) -> Option<super::super::Action> {
        std::mem::take(&mut self.ends).then_some(super::super::Action::End)
    }
}

/// A machine with a port for each other one.
struct Machine {
    identity: Arc<Identity>,
    name: &'static str,
    ports: BTreeMap<&'static str, u16>,
}

/// Returns machines of these names, of which the first dials the others.
fn machines<const N: usize>(names: [&'static str; N]) -> [Machine; N] {
    let mut identities: Vec<_> = [identities(), identities()].into_iter().flatten().collect();
    identities.sort_by_key(|identity| *identity.public_key().as_bytes());
    let free = || UdpSocket::bind("[::]:0").unwrap().local_addr().unwrap().port();
    names.map(|name| {
        let ports = names.iter().filter(|other| **other != name).map(|other| (*other, free())).collect();
        Machine { identity: Arc::new(identities.remove(0)), name, ports }
    })
}

impl Machine {
    fn peer(&self) -> Peer {
        Peer { name: self.name.to_owned(), key: self.identity.public_key() }
    }

    /// Returns how this machine finds another.
    fn meet(&self, other: &Self) -> Meet {
        let at = ([127, 0, 0, 1], other.ports[self.name]).into();
        Meet {
            peer: other.peer(),
            candidates: vec![Candidate::new(Kind::Host, at).unwrap()],
            host: None,
            port: self.ports[other.name],
            turn: common::config::Turn::default(),
            open_port: false,
            house: false,
            mailbox: None,
            dht: Vec::new(),
            stun: Vec::new(),
            others: Vec::new(),
        }
    }

    fn endpoint(&self) -> EndpointOptions {
        EndpointOptions { protocol: Protocol::BothWays, ..options(&self.identity, &[]) }
    }

    /// Waits for these at home; returns what happens, too.
    fn at_home(&self, others: &[&Self], reply: Reply) -> (Home, Receiver<AtDoor>) {
        self.at_home_after(others, reply, BTreeSet::new())
    }

    /// The same after calls with these that this side has ended.
    fn at_home_after(&self, others: &[&Self], reply: Reply, ended: BTreeSet<PublicKey>) -> (Home, Receiver<AtDoor>) {
        let (tell, told) = channel();
        let known = others.iter().map(|other| self.meet(other)).collect();
        let home = Home::of(self.endpoint(), Arc::clone(&self.identity), known, (reply, ended), move |what| {
            let _ = tell.send(what);
        });
        (home.unwrap(), told)
    }

    /// Calls another on a thread of its own, while `others` are known, too.
    fn call(&self, other: &Self, others: &[&Self]) -> Caller {
        let meet = Meet { others: others.iter().map(|third| self.meet(third)).collect(), ..self.meet(other) };
        let endpoint = EndpointOptions { peers: vec![other.peer()], ..self.endpoint() };
        let identity = Arc::clone(&self.identity);
        let (tell, learned) = channel();
        let waker = Waker::default();
        let hang_up = HangUp::new(waker.clone());
        let asked = hang_up.clone();
        let thread = std::thread::spawn(move || {
            let mode = LinkMode::Meet(Box::new(meet));
            let options = LinkOptions { mode, identity, endpoint, learning: None };
            let mut watcher = Watcher { tell, rang: false, ends: false };
            let call = Streams::new(Directions::Both, Bitrate::from_bps(1_000_000)).ended_by(asked);
            let mut calls = [call.with(StreamId::sent(VIDEO), &mut watcher)];
            super::super::run(options, &waker, &mut calls)
        });
        Caller { learned, hang_up, thread }
    }
}

struct Caller {
    learned: Receiver<Learned>,
    hang_up: HangUp,
    thread: JoinHandle<Result<(), Failure>>,
}

impl Caller {
    /// Waits until it learns that; returns what it has learned before.
    fn until(&self, wanted: Learned) -> Vec<Learned> {
        let mut before = Vec::new();
        loop {
            match self.learned.recv_timeout(PATIENCE) {
                Ok(learned) if learned == wanted => return before,
                Ok(learned) => before.push(learned),
                Err(error) => panic!("{wanted:?}: {error}, after {before:?}"),
            }
        }
    }

    fn end(self) {
        self.hang_up.hang_up();
        self.thread.join().unwrap().unwrap();
    }
}

fn next(told: &Receiver<AtDoor>) -> AtDoor {
    told.recv_timeout(PATIENCE).unwrap()
}

/// Returns what happens next besides presence.
fn next_call(told: &Receiver<AtDoor>) -> AtDoor {
    std::iter::repeat_with(|| next(told)).find(|told| !matches!(told, AtDoor::Presence(..))).unwrap()
}

/// Runs a test with each of the two as the one that dials.
fn in_either_role(test: impl Fn(&Machine, &Machine)) {
    let [a, b] = machines(["a", "b"]);
    test(&a, &b);
    let [a, b] = machines(["a", "b"]);
    test(&b, &a);
}

#[test]
fn whoever_calls_rings_and_is_greeted_by_nobody_before_the_call_is_taken() {
    in_either_role(|caller, called| {
        let (home, told) = called.at_home(&[caller], Reply::Rings);
        let calling = caller.call(called, &[]);
        assert_eq!(next_call(&told), AtDoor::Rings(caller.peer()));
        assert_eq!(calling.until(Learned::Rings), []);
        home.leave(&[caller.peer().key]);
        let taking = called.call(caller, &[]);
        for side in [&calling, &taking] {
            assert!(!side.until(Learned::Greeted).contains(&Learned::Greeted));
        }
        assert!(told.try_iter().all(|told| !matches!(told, AtDoor::Rings(_))), "it rings once");
        taking.end();
        calling.end();
    });
}

#[test]
fn whoever_hangs_up_or_is_declined_rings_no_longer() {
    in_either_role(|caller, called| {
        let (home, told) = called.at_home(&[caller], Reply::Rings);
        let calling = caller.call(called, &[]);
        assert_eq!(next_call(&told), AtDoor::Rings(caller.peer()));
        calling.until(Learned::Rings);
        calling.end();
        assert_eq!(next_call(&told), AtDoor::GaveUp(caller.peer()));
        let calling = caller.call(called, &[]);
        assert_eq!(next_call(&told), AtDoor::Rings(caller.peer()));
        home.decline(&caller.peer().key);
        calling.until(Learned::Kept(Obstacle::Declined));
        // It calls on, and is told no.
        calling.end();
        home.leave(&[]);
        assert!(told.try_iter().all(|told| matches!(told, AtDoor::Presence(..))));
    });
}

/// Whoever has hung up hears nothing more of that call, whose program on the other side calls on by itself, and the next one at once.
#[test]
fn a_call_that_has_ended_rings_no_more_and_a_new_one_does() {
    in_either_role(|caller, called| {
        let (calling, taking) = (caller.call(called, &[]), called.call(caller, &[]));
        for side in [&calling, &taking] {
            side.until(Learned::Greeted);
        }
        taking.end();
        let ended = BTreeSet::from([caller.peer().key]);
        let (home, told) = called.at_home_after(&[caller], Reply::Rings, ended);
        calling.until(Learned::Kept(Obstacle::Declined));
        calling.end();
        let again = caller.call(called, &[]);
        assert_eq!(next_call(&told), AtDoor::Rings(caller.peer()), "the first that rings is the new call");
        assert!(!again.until(Learned::Rings).contains(&Learned::Kept(Obstacle::Declined)));
        again.end();
        assert_eq!(next_call(&told), AtDoor::GaveUp(caller.peer()));
        home.leave(&[]);
    });
}

/// A door of which the other is told that somebody calls there: returns how the other ends the connection.
async fn end_at_a_door(machine: &Machine, other: &Machine) -> String {
    let (_, nobody) = watch::channel(None);
    let endpoint = EndpointOptions { peers: vec![other.peer()], ..machine.endpoint() };
    let meet = machine.meet(other);
    let mut meeting = Meeting::open(&endpoint, &machine.identity, &meet, nobody, Obstacles::default()).unwrap();
    let (connections, mut accepted) = mpsc::channel(1);
    let (endpoint, waits) = (meeting.endpoint(), meeting.role == Role::Waits);
    let accepts = accept_for_ever(endpoint.clone(), waits.then_some(connections), Arc::default(), Obstacles::default());
    let mut accepting = JoinSet::from_iter([accepts]);
    let mut connection = loop {
        tokio::select! {
            Some(accepted) = accepted.recv() => break accepted.unwrap(),
            found = meeting.next_at_home() => if let Ok(connection) = endpoint.dial(found.unwrap()).await {
                break connection;
            },
            _ = accepting.join_next() => panic!("it accepts for ever"),
        }
    };
    let mut waits = Vec::new();
    control::encode(&ControlMessage::Waits { rings: true }, None, &mut waits);
    connection.begin(waits);
    let mut buffer = [0; 256];
    loop {
        match connection.next(&mut buffer, &[]).await {
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}

/// A late sign of a call makes one of two that wait dial the other: nobody calls then.
fn is_no_call(one: &Machine, other: &Machine) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(async { tokio::time::timeout(PATIENCE, end_at_a_door(one, other)).await.unwrap() });
    assert!(end.contains("nobody calls"), "{end}");
}

#[test]
fn two_that_wait_for_each_other_ring_at_neither() {
    in_either_role(|one, other| {
        let (home, told) = other.at_home(&[one], Reply::Rings);
        is_no_call(one, other);
        let calling = one.call(other, &[]);
        calling.until(Learned::Rings);
        assert_eq!(next_call(&told), AtDoor::Rings(one.peer()), "the call, and nothing before it");
        assert!(!told.try_iter().any(|told| matches!(told, AtDoor::GaveUp(_) | AtDoor::Rings(_))));
        calling.end();
        home.leave(&[]);
    });
}

#[test]
fn who_does_not_want_to_be_disturbed_says_so_and_nothing_rings() {
    in_either_role(|caller, called| {
        let (home, told) = called.at_home(&[caller], Reply::DoNotDisturb);
        let calling = caller.call(called, &[]);
        assert_eq!(next_call(&told), AtDoor::TurnedAway(caller.peer(), Reply::DoNotDisturb));
        assert!(!calling.until(Learned::Kept(Obstacle::DoNotDisturb)).contains(&Learned::Rings));
        home.set_reply(Reply::Rings);
        assert_eq!(told.iter().find(|told| matches!(told, AtDoor::Rings(_))), Some(AtDoor::Rings(caller.peer())));
        calling.end();
    });
}

#[test]
fn who_waits_is_no_caller_for_one_that_is_busy_or_not_to_be_disturbed() {
    in_either_role(|one, other| {
        for reply in [Reply::Busy, Reply::DoNotDisturb] {
            let (home, told) = other.at_home(&[one], reply);
            is_no_call(one, other);
            let calling = one.call(other, &[]);
            assert_eq!(next_call(&told), AtDoor::TurnedAway(one.peer(), reply), "the call");
            assert!(!told.try_iter().any(|told| matches!(told, AtDoor::GaveUp(_))));
            calling.end();
            home.leave(&[]);
        }
    });
}

#[test]
fn two_that_wait_know_of_each_other_and_neither_calls() {
    let [a, b] = machines(["a", "b"]);
    let (home_a, told_a) = a.at_home(&[&b], Reply::Rings);
    let (home_b, told_b) = b.at_home(&[&a], Reply::Rings);
    let is_here = |of: &Machine| AtDoor::Presence(of.peer().key, Presence::Here);
    assert_eq!([next(&told_a), next(&told_b)], [is_here(&b), is_here(&a)]);
    home_a.leave(&[]);
    home_b.leave(&[]);
    assert!(told_a.try_iter().chain(told_b.try_iter()).all(|told| matches!(told, AtDoor::Presence(..))));
}

#[test]
fn a_third_is_told_that_both_are_in_a_call_and_whoever_is_removed_is_in_none() {
    in_either_role(|a, b| {
        let [c, d] = machines(["c", "d"]);
        // Of a's ports one is for c.
        let mut of_a = Machine { identity: Arc::clone(&a.identity), name: a.name, ports: a.ports.clone() };
        of_a.ports.insert("c", d.ports["c"]);
        let mut third = Machine { identity: Arc::clone(&c.identity), name: "c", ports: c.ports };
        third.ports.insert(a.name, third.ports["d"]);
        let (calling, called) = (of_a.call(b, &[&third]), b.call(&of_a, &[]));
        calling.until(Learned::Greeted);
        called.until(Learned::Greeted);
        let late = third.call(&of_a, &[]);
        late.until(Learned::Kept(Obstacle::InAnotherCall));
        calling.until(Learned::Called);
        late.end();
        calling.hang_up.remove(b.peer().key);
        called.until(Learned::Kept(Obstacle::Removed));
        // It has ended by itself.
        calling.thread.join().unwrap().unwrap();
        called.end();
    });
}
