//! The loop in which a client of the DHT meets its socket.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::dht::{Client, Due, Event, Id, Pace, Posting, TimedNote};
use common::path::ways::Candidate;
use common::units::Timestamp;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::Duration;

use super::keys::{ItemKeys, Slot};
use super::socket::{Wire, resolve};
use crate::failure::Failure;
use crate::reach::proof::random;
use crate::{clock, limited, wait};

/// Time between two looks at the names of the entrances.
const NAMES_AGAIN: Duration = Duration::from_secs(60);
/// Time after which somebody who did not take news is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// Instructions for the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) own: Vec<Candidate>,
    pub(super) pace: Pace,
    /// Times that it was told to hurry, and that a knock has come.
    pub(super) hurries: u64,
    pub(super) knocks: u64,
}

/// The part of a machine in an exchange of addresses: one of the two, or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Does {
    /// This machine's addresses are published.
    pub(crate) publishes: bool,
    /// The other machine's are looked up.
    pub(crate) looks: bool,
}

/// Items whose lookup is under way.
#[derive(Default)]
struct UnderWay {
    published: Option<Id>,
    looked_up: Vec<Slot>,
    /// Nodes that have answered for those that have ended.
    answers: usize,
}

pub(super) struct AtWork {
    keys: ItemKeys,
    nodes: Vec<String>,
    does: Does,
    hears: watch::Receiver<Told>,
    tell: mpsc::Sender<TimedNote>,
    /// True once a node has answered.
    answers: Arc<AtomicBool>,
    posting: Posting,
    under_way: UnderWay,
    /// A note that was found and not taken yet.
    found: Option<TimedNote>,
    last: Told,
    /// Number of the item that was published last.
    number: i64,
    named_at: Option<Timestamp>,
}

impl AtWork {
    pub(super) fn new(
        keys: ItemKeys,
        nodes: Vec<String>,
        does: Does,
        hears: watch::Receiver<Told>,
        (tell, answers): (mpsc::Sender<TimedNote>, Arc<AtomicBool>),
    ) -> Self {
        let posting = Posting::new(does.looks, clock::now());
        let under_way = UnderWay::default();
        let (last, found) = (Told::default(), None);
        Self { keys, nodes, does, hears, tell, answers, posting, under_way, found, last, number: 0, named_at: None }
    }

    pub(super) async fn go_on(mut self) {
        match self.work().await {
            Ok(()) => {}
            Err(error) => limited!(warn, "addresses are not looked for in BitTorrent's network: {error}"),
        }
    }

    async fn work(&mut self) -> Result<(), Failure> {
        let bound = UdpSocket::bind("0.0.0.0:0").await;
        let socket = Wire(bound.map_err(|error| Failure::network(error.to_string()))?);
        let (entrances, within_machine) = self.look_up().await;
        let mut client = Client::new(within_machine);
        client.set_entrances(entrances);
        loop {
            self.hear(&mut client);
            self.start_what_is_due(&mut client).await?;
            socket.send(&mut client).await;
            while let Some(event) = client.poll_event() {
                self.on_event(event);
            }
            if client.knows_nodes() {
                self.answers.store(true, Ordering::Relaxed);
            }
            if !self.tell_found() {
                return Ok(());
            }
            let now = clock::now();
            let again = self.found.is_some().then(|| now + AGAIN);
            let tomorrow = Some(now + Posting::until_tomorrow(clock::unix_ms()));
            let next =
                [self.posting.poll_timeout(), client.poll_timeout(now), again, tomorrow].into_iter().flatten().min();
            // A deadline that has passed comes again with a moment's pause, so that nobody turns in a circle.
            let next = next.map(|next| next.max(now + Duration::from_millis(1)));
            tokio::select! {
                () = socket.wait(&mut client) => {}
                changed = self.hears.changed() => if changed.is_err() { return Ok(()) },
                () = wait::until(next) => {}
            }
        }
    }

    async fn look_up(&mut self) -> (Vec<SocketAddrV4>, bool) {
        self.named_at = Some(clock::now());
        resolve(&self.nodes).await
    }

    /// Takes what it was told.
    fn hear(&mut self, client: &mut Client) {
        let told = self.hears.borrow_and_update().clone();
        let now = clock::now();
        if told.own != self.last.own || told.hurries != self.last.hurries {
            client.forget_silent();
        }
        if told.hurries != self.last.hurries {
            self.posting.wake(now);
        }
        self.posting.set_pace(told.pace);
        if told.knocks != self.last.knocks {
            self.posting.on_heard(now);
        }
        if self.does.publishes {
            self.posting.set_own(&told.own, now);
        }
        self.last = told;
    }

    async fn start_what_is_due(&mut self, client: &mut Client) -> Result<(), Failure> {
        while let Some(due) = self.posting.poll(Posting::day(clock::unix_ms()), clock::now()) {
            let is_old = self.named_at.is_none_or(|at| clock::now().since(at) >= NAMES_AGAIN);
            if !client.knows_nodes() && is_old {
                let (entrances, _) = self.look_up().await;
                client.set_entrances(entrances);
            }
            let (now, unix_ms) = (clock::now(), clock::unix_ms());
            let started = match due {
                Due::Publish => self.publish(client, unix_ms, now)?,
                Due::Look => {
                    for slot in Posting::days(unix_ms).filter_map(|day| self.keys.other(day)) {
                        if client.start(Id(random()?), slot.target, None, now) {
                            self.under_way.looked_up.push(slot);
                        }
                    }
                    !self.under_way.looked_up.is_empty()
                }
            };
            if !started {
                self.posting.on_end(due, 1, 0, now);
            }
        }
        Ok(())
    }

    fn publish(&mut self, client: &mut Client, unix_ms: u64, now: Timestamp) -> Result<bool, Failure> {
        let Some(slot) = self.keys.own(Posting::day(unix_ms)) else { return Ok(false) };
        self.number = (self.number + 1).max((unix_ms / 1000) as i64);
        let item = slot.item(&self.posting.own(unix_ms), self.number)?;
        let started = client.start(Id(random()?), slot.target, Some(item), now);
        self.under_way.published = started.then_some(slot.target);
        Ok(started)
    }

    fn on_event(&mut self, event: Event) {
        let now = clock::now();
        let alone = match event {
            Event::Value { target, value } => {
                let slot = self.under_way.looked_up.iter().find(|slot| slot.target == target);
                let Some(slot) = slot else { return };
                let opened = slot.open(&value);
                if let Some(found) = self.posting.believe(opened.as_deref(), clock::unix_ms()) {
                    self.found = Some(found);
                }
                None
            }
            Event::Done { target, answers, stored } if self.under_way.published == Some(target) => {
                self.under_way.published = None;
                tracing::debug!("addresses are published at {stored:?} nodes");
                self.posting.on_end(Due::Publish, answers, stored.unwrap_or(0), now)
            }
            Event::Done { target, answers, .. } => {
                self.under_way.looked_up.retain(|slot| slot.target != target);
                self.under_way.answers += answers;
                if !self.under_way.looked_up.is_empty() {
                    return;
                }
                let answers = std::mem::take(&mut self.under_way.answers);
                tracing::debug!("looked up at {answers} nodes, refused until now: {:?}", self.posting.refused());
                self.posting.on_end(Due::Look, answers, 0, now)
            }
        };
        if let Some(alone) = alone {
            let minutes = alone.as_secs().div_ceil(60);
            limited!(
                info,
                "BitTorrent's network does not answer, as where it is forbidden: going on without it, and asking again in \
                 {minutes} min"
            );
        }
    }

    /// Tells what was found; false if nobody is there to hear it any more.
    fn tell_found(&mut self) -> bool {
        let Some(found) = self.found.take() else { return !self.tell.is_closed() };
        match self.tell.try_send(found) {
            Ok(()) => {
                limited!(info, "BitTorrent's network has the addresses at which the other machine is now");
                true
            }
            Err(mpsc::error::TrySendError::Full(found)) => {
                self.found = Some(found);
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
}
