//! A machine while no call is on: it waits for all whom it knows, each at the port of the two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;

use common::config::{Meet, PublicKey, SharedConfig};
use common::units::Bitrate;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::door::{self, AtDoor, Order, Reply};
use crate::failure::Failure;
use crate::identity::Identity;
use crate::live_rate::LiveRate;
use crate::quic::EndpointOptions;
use crate::reach::presence::{self, Presences};
use crate::runtime::on_the_network;
use crate::tls::Protocol;

/// A machine that waits for whoever calls, on a thread of its own.
#[derive(Debug)]
pub struct Home {
    doors: BTreeMap<PublicKey, mpsc::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Home {
    /// Begins to wait for each of `known`, with this machine's key, and calls `tell` on another thread with what happens. `ended`: those
    /// with which this side has just ended a call; where their programs call on by themselves, that is declined, and a new call rings.
    ///
    /// Errors: there is no key, or no thread. A port that another program has is tried again.
    pub fn open(
        shared: &SharedConfig,
        known: Vec<Meet>,
        reply: Reply,
        ended: BTreeSet<PublicKey>,
        tell: impl FnMut(AtDoor) + Send + 'static,
    ) -> Result<Self, Failure> {
        let identity = Arc::new(Identity::load(&Identity::path_of(shared)?)?);
        let rate = LiveRate::new(Bitrate::from_bps(0));
        let options = EndpointOptions::of(shared, &identity, Protocol::BothWays, rate, 0)?;
        Self::of(options, identity, known, (reply, ended), tell)
    }

    fn of(
        options: EndpointOptions,
        identity: Arc<Identity>,
        known: Vec<Meet>,
        (reply, ended): (Reply, BTreeSet<PublicKey>),
        mut tell: impl FnMut(AtDoor) + Send + 'static,
    ) -> Result<Self, Failure> {
        let mut doors = BTreeMap::new();
        let known: Vec<_> = known
            .into_iter()
            .map(|meet| {
                let (door, orders) = mpsc::unbounded_channel();
                doors.insert(meet.peer.key, door);
                (meet, orders)
            })
            .collect();
        let at_home = async move {
            let (told, mut heard) = mpsc::unbounded_channel();
            let (watching, mut presences) = presence::watch();
            let mut waiting = JoinSet::new();
            for (meet, orders) in known {
                let (key, signs) = (meet.peer.key, Some(watching.of(meet.peer.key)));
                let reply = (reply, ended.contains(&key));
                waiting.spawn(door::wait(
                    options.clone(),
                    Arc::clone(&identity),
                    meet,
                    signs,
                    reply,
                    orders,
                    told.clone(),
                ));
            }
            drop(told);
            let mut known = Presences::new();
            loop {
                tokio::select! {
                    at_door = heard.recv() => match at_door {
                        Some(at_door) => tell(at_door),
                        None => break,
                    },
                    Ok(()) = presences.changed() => {
                        let now = presences.borrow_and_update().clone();
                        let new = now.iter().filter(|(key, presence)| known.get(key) != Some(presence));
                        new.for_each(|(key, presence)| tell(AtDoor::Presence(*key, *presence)));
                        known = now;
                    }
                }
            }
            while waiting.join_next().await.is_some() {}
            Ok(())
        };
        let thread = std::thread::Builder::new().name("home".to_owned()).spawn(move || {
            if let Err(failure) = on_the_network(at_home) {
                tracing::error!("nobody can call: {failure}");
            }
        });
        let thread = thread.map_err(|error| Failure::network(format!("nobody can call: {error}")))?;
        Ok(Self { doors, thread: Some(thread) })
    }

    /// Sets what whoever calls from now on is told. Who rings already goes on.
    pub fn set_reply(&self, reply: Reply) {
        for door in self.doors.values() {
            let _ = door.send(Order::Reply(reply));
        }
    }

    /// Declines the call of the machine with this key, if it rings.
    pub fn decline(&self, key: &PublicKey) {
        self.order(key, Order::Decline);
    }

    /// Closes the door of a machine that is not known any more; if it rings, it is told.
    pub fn remove(&self, key: &PublicKey) {
        self.order(key, Order::Remove);
    }

    fn order(&self, key: &PublicKey, order: Order) {
        if let Some(door) = self.doors.get(key) {
            let _ = door.send(order);
        }
    }

    /// Ends, and returns when all ports are free. `taken`: those with whom a call begins, at the same ports; others that ring are told
    /// that this machine is in a call.
    pub fn leave(mut self, taken: &[PublicKey]) {
        self.end(taken);
    }

    fn end(&mut self, taken: &[PublicKey]) {
        for (key, door) in &self.doors {
            let _ = door.send(Order::Leave { taken: taken.contains(key) });
        }
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.end(&[]);
    }
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
