//! The sockets and what both parts know: which way a datagram takes out.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use common::path::ways::{Base, Pair};
use quinn::AsyncUdpSocket;
use quinn::udp::Transmit;

use super::super::relay::{Aliases, Carrier};
use super::super::steered::Steered;
use super::super::unproved::Unproved;
use crate::lock::lock;

/// Opens a socket at any other port.
pub(in super::super) type OpenAnother = Box<dyn Fn() -> io::Result<Arc<dyn AsyncUdpSocket>> + Send + Sync>;

pub(super) struct Shared {
    pub(super) inner: Arc<dyn AsyncUdpSocket>,
    pub(super) open_another: Option<OpenAnother>,
    /// The sockets of further bases.
    pub(super) others: Mutex<Arc<BTreeMap<Base, Arc<dyn AsyncUdpSocket>>>>,
    /// Whoever waits for packets.
    pub(super) waiting: Mutex<Option<Waker>>,
    /// The socket to be looked at first, so that none keeps another from being heard.
    pub(super) turn: AtomicUsize,
    pub(super) is_ipv6: bool,
    pub(super) servers: Mutex<Vec<SocketAddr>>,
    pub(super) relay: Mutex<Option<Arc<dyn Carrier>>>,
    pub(super) aliases: Mutex<Aliases>,
    /// The call of now.
    pub(super) steered: Mutex<Option<Steered>>,
    pub(super) moves: AtomicU64,
    /// Handshakes in which nothing has been proved.
    pub(super) unproved: Arc<Unproved>,
}

impl Shared {
    /// Creates it for a socket. `open_another`: opens one at another port, if that may be needed.
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>, open_another: Option<OpenAnother>) -> Self {
        let is_ipv6 = inner.local_addr().is_ok_and(|address| address.is_ipv6());
        Self {
            inner,
            open_another,
            others: Mutex::default(),
            waiting: Mutex::default(),
            turn: AtomicUsize::new(0),
            is_ipv6,
            servers: Mutex::default(),
            relay: Mutex::default(),
            aliases: Mutex::default(),
            steered: Mutex::default(),
            moves: AtomicU64::new(0),
            unproved: Arc::default(),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("inner", &self.inner).field("others", &self.others).finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the address as this socket writes it.
    pub(super) fn written(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_ipv6 => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
            _ => address,
        }
    }

    /// Sends it to the end of that way. From a base that is not open it is lost. If `lasting`, more will follow.
    pub(super) fn send(&self, pair: Pair, transmit: &Transmit<'_>, lasting: bool) -> io::Result<()> {
        let socket = match pair.base {
            Base::Port => Arc::clone(&self.inner),
            Base::Relay => return self.send_through(pair.to, transmit, lasting),
            base => match lock(&self.others).get(&base) {
                Some(other) => Arc::clone(other),
                None => return Ok(()),
            },
        };
        let Transmit { ecn, contents, segment_size, src_ip, .. } = *transmit;
        socket.try_send(&Transmit { destination: self.written(pair.to), ecn, contents, segment_size, src_ip })
    }

    /// Sends it to `to` through the relay. Where that passes nothing on, it is lost.
    fn send_through(&self, to: SocketAddr, transmit: &Transmit<'_>, lasting: bool) -> io::Result<()> {
        let Some(relay) = lock(&self.relay).clone() else { return Ok(()) };
        let segment = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        let mut packets = Vec::with_capacity(transmit.contents.len() + 256);
        let mut first = 0;
        for datagram in transmit.contents.chunks(segment) {
            if !relay.wrap(to, datagram, lasting, &mut packets) {
                return Ok(());
            }
            if first == 0 {
                first = packets.len();
            }
        }
        let segment_size = transmit.segment_size.map(|_| first);
        let destination = relay.server();
        let wrapped = Transmit { destination, ecn: None, contents: &packets, segment_size, src_ip: None };
        self.send(destination.into(), &wrapped, lasting)
    }
}
