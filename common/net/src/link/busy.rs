//! Machines that this one knows and does not call now: whoever of them calls is told that it is in a call, since it would hear
//! nothing otherwise at the port that the two have for each other.

use std::sync::Arc;

use common::config::{Meet, Peer, PublicKey};
use tokio::sync::mpsc;

use super::door::{self, AtDoor, Order, Reply};
use crate::identity::Identity;
use crate::quic::EndpointOptions;

/// The doors of machines that this one does not call now.
#[derive(Default)]
pub(super) struct Doors(Vec<(PublicKey, mpsc::UnboundedSender<Order>)>);

impl Doors {
    /// Closes the door of a machine that is not known any more.
    pub(super) fn remove(&self, key: &PublicKey) {
        for (_, door) in self.0.iter().filter(|(of, _)| of == key) {
            let _ = door.send(Order::Remove);
        }
    }
}

/// Turns away each of `others` that calls, while the doors are kept, and tells `called` who it was. Must be called on a tokio runtime.
pub(super) fn turn_away(
    options: &EndpointOptions,
    identity: &Arc<Identity>,
    others: &[Meet],
    called: &mpsc::Sender<Peer>,
) -> Doors {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut doors = Doors::default();
    for other in others {
        // Where it is, it says by calling.
        let asks_nobody =
            Meet { host: None, mailbox: None, dht: Vec::new(), stun: Vec::new(), others: Vec::new(), ..other.clone() };
        let (door, orders) = mpsc::unbounded_channel();
        doors.0.push((other.peer.key, door));
        let (options, identity) = (options.clone(), Arc::clone(identity));
        tokio::spawn(door::wait(options, identity, asks_nobody, None, (Reply::Busy, false), orders, tell.clone()));
    }
    let called = called.clone();
    tokio::spawn(async move {
        while let Some(at_door) = told.recv().await {
            if let AtDoor::TurnedAway(peer, _) = at_door
                && called.send(peer).await.is_err()
            {
                return;
            }
        }
    });
    doors
}
