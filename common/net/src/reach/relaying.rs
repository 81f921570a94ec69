//! This machine's place at a relay: the first of the list that gives one, and the next when it is lost.
//!
//! One relay is in use at a time. Packets for it share the socket with QUIC, so that whoever is met through the relay may be
//! met directly as well.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::config::Turn;
use common::path::ways::Candidate;
use common::reach::Place;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::addresses::one_of_each_family;
use super::turn::{Due, News, Relay};
use crate::clock;
use crate::limited;
use crate::lock::lock;
use crate::quic::{Carrier, Sending};
use crate::wait;

/// Relays of the list that are asked.
const SERVERS_MAX: usize = 4;
/// Longest time to look a name up.
const LOOK_UP: Duration = Duration::from_secs(2);
/// Pause before the list is gone through anew, at first and at most.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// State of the place at the relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Allocation {
    /// No relay has answered yet.
    #[default]
    Asked,
    /// This machine's address there.
    At(SocketAddr),
    /// None of the list gives a place now.
    Refused,
}

/// Keeps a place at a relay until it is dropped.
#[derive(Debug)]
pub(super) struct Relaying {
    place: watch::Receiver<Allocation>,
    task: JoinHandle<()>,
    sending: Sending,
    current: Arc<Mutex<Option<Arc<Relay>>>>,
    /// The words of the last one that has refused a place.
    refused: Arc<Mutex<Option<String>>>,
}

impl Relaying {
    /// Asks the relays of `turn` from now on, on a task of its own. None: there are none.
    pub(super) fn start(turn: &Turn, sending: &Sending) -> Option<Self> {
        if turn.servers.is_empty() {
            return None;
        }
        let (tell, place) = watch::channel(Allocation::Asked);
        let (current, refused) = (Arc::default(), Arc::default());
        let keeper = Keeper {
            turn: turn.clone(),
            sending: sending.clone(),
            tell,
            current: Arc::clone(&current),
            refused: Arc::clone(&refused),
        };
        let task = tokio::spawn(keeper.keep_for_ever());
        Some(Self { place, task, sending: sending.clone(), current, refused })
    }

    /// Returns how the relays have answered up to now.
    pub(super) fn answer(&self) -> Place {
        match (self.place(), lock(&self.refused).clone()) {
            (Allocation::At(at), _) => Place::At(at),
            (_, Some(refused)) => Place::Refused(refused),
            (_, None) => Place::Silent,
        }
    }

    pub(super) fn place(&self) -> Allocation {
        *self.place.borrow()
    }

    /// Returns the address at which the relay's server sees this machine, if it has a place there.
    pub(super) fn seen(&self) -> Option<Candidate> {
        lock(&self.current).as_ref().and_then(|relay| relay.seen())
    }

    /// Finds out now whether the place still is this machine's: the connection has stalled.
    pub(super) fn check(&self) {
        if let Some(relay) = &*lock(&self.current) {
            relay.check(clock::now());
        }
    }

    /// Waits until the place is another.
    pub(super) async fn changed(&mut self) {
        wait::change(&mut self.place).await;
    }
}

impl Drop for Relaying {
    fn drop(&mut self) {
        self.task.abort();
        self.sending.set_relay(None);
        if let Some(relay) = lock(&self.current).take() {
            relay.give_back(&self.sending);
        }
    }
}

/// Goes through the list of relays.
struct Keeper {
    turn: Turn,
    sending: Sending,
    tell: watch::Sender<Allocation>,
    current: Arc<Mutex<Option<Arc<Relay>>>>,
    refused: Arc<Mutex<Option<String>>>,
}

impl Keeper {
    async fn keep_for_ever(self) {
        let mut pause = PAUSE;
        loop {
            for name in self.turn.servers.iter().take(SERVERS_MAX) {
                for server in look_up(name).await.into_iter().filter(|server| self.sending.reaches(*server)) {
                    if self.keep(name, server).await {
                        pause = PAUSE;
                    }
                }
            }
            self.tell.send_replace(Allocation::Refused);
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSE_MAX);
        }
    }

    /// Asks one relay for a place and keeps it as long as possible; true if there was one.
    async fn keep(&self, name: &str, server: SocketAddr) -> bool {
        let relay = Arc::new(Relay::new(server, &self.turn));
        *lock(&self.current) = Some(Arc::clone(&relay));
        self.sending.set_relay(Some(Arc::clone(&relay) as Arc<dyn Carrier>));
        let mut had = false;
        loop {
            let Due { next, packets, news } = relay.due(clock::now());
            for packet in packets {
                self.sending.send(server, &packet);
            }
            match news {
                Some(News::Allocated(at)) => {
                    had = true;
                    if !self.turn.ports.contains(&at.port()) {
                        let (first, last) = self.turn.ports.clone().into_inner();
                        limited!(
                            warn,
                            "the relay {name} passes packets on at port {}: outside of `expert.turn_ports` ({first} to {last}), \
                             where the other machine looks in later calls",
                            at.port()
                        );
                    }
                    tracing::debug!("a place at the relay {name}: {at}");
                    self.tell.send_replace(Allocation::At(at));
                }
                Some(News::Lost) => break,
                None => {}
            }
            let until = clock::to_tokio(next.max(clock::now() + Duration::from_millis(1)));
            tokio::select! {
                () = relay.woken() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        self.sending.set_relay(None);
        lock(&self.current).take();
        self.tell.send_replace(Allocation::Asked);
        match (had, relay.refusal()) {
            (true, _) => limited!(warn, "the place at the relay {name} is lost; asking for another"),
            (false, Some(refusal)) => {
                *lock(&self.refused) = Some(refusal.says());
                limited!(warn, "the relay {name} {}", refusal.sentence());
            }
            (false, None) => limited!(warn, "the relay {name} does not answer at {server}; going on without"),
        }
        had
    }
}

/// Looks a relay's name up.
async fn look_up(name: &str) -> Vec<SocketAddr> {
    match tokio::time::timeout(LOOK_UP, tokio::net::lookup_host(name)).await {
        Ok(Ok(addresses)) => return one_of_each_family(addresses),
        Ok(Err(error)) => limited!(warn, "the relay {name} is not found: {error}"),
        Err(_) => limited!(warn, "the relay {name} is not found in {} s", LOOK_UP.as_secs()),
    }
    Vec::new()
}
