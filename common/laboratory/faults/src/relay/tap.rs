//! The place on a relay's line of somebody who reads what passes, and sends and changes it.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Result;
use net::lock::lock;

use crate::initial::{Ids, ids};

/// Direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the dialler to the listener.
    There,
    /// From the listener to the dialler.
    Back,
}

/// Number of first bytes of a datagram that a tap sees.
const HEAD: usize = 32;

/// A tap on the line: reads, and sends with both ends' addresses.
#[derive(Clone, Debug)]
pub struct Tap {
    front: Arc<UdpSocket>,
    back: Arc<UdpSocket>,
    pub(super) target: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    client: Option<SocketAddr>,
    heads: [Vec<u8>; 2],
    deed: Deed,
    /// Handshakes begun, by the ids of their first packets.
    begun: HashSet<Vec<u8>>,
    /// Demands to prove an address that the listener has sent.
    retries: usize,
}

/// Treatment of the dialler's packets by an attacker on the path, who sees every one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Deed {
    /// Lets them through, and the answers.
    #[default]
    Pass,
    /// Takes them, and answers each that begins a handshake with this.
    Forge(fn(&Ids) -> Result<Vec<u8>>),
    /// Lets another machine answer.
    Divert(SocketAddr),
}

impl Tap {
    /// Creates the tap of a flow's sockets.
    pub(super) fn new(front: &UdpSocket, back: &UdpSocket, target: SocketAddr) -> io::Result<Self> {
        let [front, back] = [front.try_clone()?, back.try_clone()?].map(Arc::new);
        Ok(Self { front, back, target, seen: Arc::default() })
    }

    /// Returns the first bytes of the newest datagram that went this way; `None` before there was one.
    pub fn newest(&self, way: Way) -> Option<Vec<u8>> {
        let head = self.seen().heads[way as usize].clone();
        (!head.is_empty()).then_some(head)
    }

    /// Returns the address of who dials.
    pub fn client(&self) -> Option<SocketAddr> {
        self.seen().client
    }

    /// Sends a datagram this way as if the other end had.
    pub fn inject(&self, way: Way, datagram: &[u8]) {
        // An error is the port of someone who has gone.
        let _ = match (way, self.client()) {
            (Way::There, _) => self.back.send_to(datagram, self.target),
            (Way::Back, Some(client)) => self.front.send_to(datagram, client),
            (Way::Back, None) => Ok(0),
        };
    }

    /// Changes the treatment of the dialler's packets.
    pub(crate) fn set(&self, deed: Deed) {
        self.seen().deed = deed;
    }

    /// Returns the number of handshakes that the dialler has begun.
    pub(crate) fn begun(&self) -> usize {
        self.seen().begun.len()
    }

    /// Returns how many times the listener has demanded that the dialler prove its address.
    pub(crate) fn retries(&self) -> usize {
        self.seen().retries
    }

    /// Returns who answers.
    pub(super) fn target(&self) -> SocketAddr {
        if let Deed::Divert(other) = self.seen().deed { other } else { self.target }
    }

    /// Notes a datagram; returns true if it passes.
    pub(super) fn note(&self, way: Way, bytes: &[u8], from: SocketAddr) -> bool {
        let mut seen = self.seen();
        let mut asked = None;
        match way {
            Way::There => {
                asked = ids(bytes);
                seen.client = Some(from);
                seen.begun.extend(asked.iter().map(|asked| asked.from.clone()));
            }
            // A Retry packet of RFC 9000, section 17.2.5.
            Way::Back => seen.retries += usize::from(bytes.first().is_some_and(|first| first & 0xf0 == 0xf0)),
        }
        let head = &mut seen.heads[way as usize];
        head.clear();
        head.extend_from_slice(&bytes[..bytes.len().min(HEAD)]);
        match seen.deed {
            Deed::Pass => true,
            Deed::Divert(other) => way == Way::There || from == other,
            Deed::Forge(forge) => {
                if let Some(Ok(answer)) = asked.map(|asked| forge(&asked)) {
                    // An error is the port of someone who has gone.
                    let _ = self.front.send_to(&answer, from);
                }
                false
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }
}
