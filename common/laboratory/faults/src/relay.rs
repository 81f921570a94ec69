//! A UDP relay that simulates a bad network: both directions pass through [`common::netsim`], in real time.
//!
//! ```text
//! who dials ──▶ front socket ──▶ network ──▶ back socket ──▶ who listens, and the same way back
//! ```
//!
//! Several flows may share the network; each has sockets of its own.
//!
//! A thread reads each socket and stamps what comes; one thread holds both networks and sends. Waiting for a channel
//! is woken with a precision of 0.1 ms, so the relay adds less than a millisecond of its own.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use common::netsim::{HEADERS_BYTES, NetConditions, NetCounters, Network, Scenario};
use common::units::Timestamp;
use net::lock::lock;
use socket2::SockRef;

use crate::initial::{Ids, ids};

/// Interval at which a reader checks whether it shall end.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a socket buffer, for datagrams that come while the relay's threads wait for a processor.
const SOCKET_BUFFER: usize = 4 << 20;

/// Direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the dialler to the listener.
    There,
    /// From the listener to the dialler.
    Back,
}

enum Event {
    /// Came from `from` at the socket number `socket`.
    Datagram { flow: usize, way: Way, socket: usize, bytes: Vec<u8>, from: SocketAddr, at: Timestamp },
    /// The socket towards the first flow's listener becomes this one, of this number.
    Rebind(UdpSocket, usize),
    /// Begins these scenarios, there and back.
    Begin(Box<[Scenario; 2]>),
}

/// Counters of a relay.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Counters of the datagrams there.
    pub there: NetCounters,
    /// Counters of those back.
    pub back: NetCounters,
    /// Bytes that came from the first flow's dialler in each [`SLICE`] since the start, with the headers of IP and UDP.
    pub bytes: Vec<u64>,
    /// Those from each of the others' diallers.
    pub others: Vec<Vec<u64>>,
    /// Arrivals of the diallers' datagrams, with the queueing delay of each on the line.
    pub(crate) queueing: Vec<(Timestamp, Duration)>,
}

impl Passed {
    /// Returns the first dialler's bits a second, by whole seconds of the `length` that begins `from` after the relay.
    pub fn rates(&self, from: Duration, length: Duration) -> Vec<f64> {
        Self::rates_of(&self.bytes, from, length)
    }

    /// Returns the bits a second likewise of bytes by slices.
    pub fn rates_of(bytes: &[u64], from: Duration, length: Duration) -> Vec<f64> {
        let slices = bytes.get(from.as_micros().div_ceil(SLICE.as_micros()) as usize..).unwrap_or_default();
        let a_second = (1.0 / SLICE.as_secs_f64()).round() as usize;
        let seconds = slices.chunks_exact(a_second).take(length.as_secs() as usize);
        seconds.map(|bytes| 8.0 * bytes.iter().sum::<u64>() as f64).collect()
    }

    /// Returns the queueing delay of each of the diallers' datagrams, ms, in the `length` that begins `from` after the
    /// relay.
    pub fn queueing_ms(&self, from: Duration, length: Duration) -> Vec<f64> {
        let begin = Timestamp::default() + from;
        let within = |at: &Timestamp| *at >= begin && at.since(begin) < length;
        self.queueing.iter().filter(|(at, _)| within(at)).map(|(_, delay)| 1e3 * delay.as_secs_f64()).collect()
    }
}

/// Time that one entry of [`Passed::bytes`] covers.
pub const SLICE: Duration = Duration::from_millis(100);

/// Number of first bytes of a datagram that a tap sees.
const HEAD: usize = 32;

/// A tap on the line: reads, and sends with both ends' addresses.
#[derive(Clone, Debug)]
pub struct Tap {
    front: Arc<UdpSocket>,
    back: Arc<UdpSocket>,
    target: SocketAddr,
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
    fn target(&self) -> SocketAddr {
        if let Deed::Divert(other) = self.seen().deed { other } else { self.target }
    }

    /// Notes a datagram; returns true if it passes.
    fn note(&self, way: Way, bytes: &[u8], from: SocketAddr) -> bool {
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

/// A running relay. It ends with its value.
pub struct Relay {
    addresses: Vec<SocketAddr>,
    target: SocketAddr,
    began: Instant,
    events: Option<Sender<Event>>,
    stop: Arc<AtomicBool>,
    back_sockets: usize,
    threads: Vec<JoinHandle<()>>,
    forwarder: Option<JoinHandle<Passed>>,
    tap: Tap,
}

impl Relay {
    /// Starts an attacker's place on the path to `listener`, on this machine.
    pub(crate) fn on_path(listener: SocketAddr, deed: Deed) -> io::Result<Self> {
        let relay = Self::start((Ipv4Addr::LOCALHOST, 0).into(), listener, Duration::ZERO)?;
        relay.tap.set(deed);
        Ok(relay)
    }

    /// Starts a relay at `listen` (port 0: any) for one who dials it, to `target`, that delays by `delay` each way.
    pub fn start(listen: SocketAddr, target: SocketAddr, delay: Duration) -> io::Result<Self> {
        Self::shared(&[(listen, target)], delay)
    }

    /// Starts one that several flows share, each from where it listens to its target. There is at least one.
    pub fn shared(flows: &[(SocketAddr, SocketAddr)], delay: Duration) -> io::Result<Self> {
        let (events, queue) = channel();
        let mut open = Vec::new();
        for &(listen, target) in flows {
            let (front, back) = (socket(listen)?, back_socket(target)?);
            let tap = Tap {
                front: Arc::new(front.try_clone()?),
                back: Arc::new(back.try_clone()?),
                target,
                seen: Arc::default(),
            };
            open.push(Flow { front, back, back_number: 1, tap, bytes: Vec::new() });
        }
        let first = open.first().ok_or_else(|| io::Error::other("a relay needs a flow"))?;
        let mut relay = Self {
            tap: first.tap.clone(),
            addresses: open.iter().map(|flow| flow.front.local_addr()).collect::<io::Result<_>>()?,
            target: first.tap.target,
            began: Instant::now(),
            events: Some(events),
            stop: Arc::new(AtomicBool::new(false)),
            back_sockets: 1,
            threads: Vec::new(),
            forwarder: None,
        };
        for (number, flow) in open.iter().enumerate() {
            relay.read(flow.back.try_clone()?, number, Way::Back, flow.back_number);
            relay.read(flow.front.try_clone()?, number, Way::There, 0);
        }
        let network = || Network::new(NetConditions::perfect(delay), Timestamp::default());
        let forwarder =
            Forwarder { began: relay.began, networks: [network(), network()], flows: open, queueing: Vec::new() };
        relay.forwarder = Some(std::thread::spawn(move || forwarder.run(&queue)));
        Ok(relay)
    }

    /// Returns the address to dial.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Returns the address to dial of each flow.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the time at which it began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Returns the line as somebody on it sees it: the first flow.
    pub fn tap(&self) -> Tap {
        self.tap.clone()
    }

    /// Begins scenarios, there and back.
    pub fn begin(&self, there: Scenario, back: Scenario) {
        self.tell(Event::Begin(Box::new([there, back])));
    }

    /// Changes the port that the first flow's listener sees, as after a router has forgotten the old one.
    pub fn rebind(&mut self) -> io::Result<()> {
        let socket = back_socket(self.target)?;
        self.back_sockets += 1;
        self.read(socket.try_clone()?, 0, Way::Back, self.back_sockets);
        self.tell(Event::Rebind(socket, self.back_sockets));
        Ok(())
    }

    /// Ends the relay.
    pub fn stop(mut self) -> Passed {
        self.end();
        self.forwarder.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }

    fn tell(&self, event: Event) {
        if let Some(events) = &self.events {
            // The forwarder ends after this value only.
            let _ = events.send(event);
        }
    }

    fn read(&mut self, socket: UdpSocket, flow: usize, way: Way, number: usize) {
        let (stop, began) = (Arc::clone(&self.stop), self.began);
        let Some(events) = self.events.clone() else { return };
        self.threads.push(std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while !stop.load(Ordering::Relaxed) {
                // An error is the time-out or the port of someone who has gone; neither matters.
                let Ok((count, from)) = socket.recv_from(&mut buffer) else { continue };
                let bytes = buffer[..count].to_vec();
                let event = Event::Datagram { flow, way, socket: number, bytes, from, at: since(began) };
                if events.send(event).is_err() {
                    return;
                }
            }
        }));
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.events = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end();
    }
}

/// A datagram, and the number of its flow.
#[derive(Clone)]
struct Passing {
    flow: usize,
    bytes: Vec<u8>,
}

impl AsRef<[u8]> for Passing {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Sockets of those who dial and listen, and what came from who dials.
struct Flow {
    front: UdpSocket,
    back: UdpSocket,
    back_number: usize,
    tap: Tap,
    bytes: Vec<u64>,
}

struct Forwarder {
    began: Instant,
    networks: [Network<Passing>; 2],
    flows: Vec<Flow>,
    queueing: Vec<(Timestamp, Duration)>,
}

impl Forwarder {
    fn run(mut self, queue: &Receiver<Event>) -> Passed {
        loop {
            let next = self.networks.iter().filter_map(Network::next_arrival).min();
            let wait = next.map_or(LOOK, |next| next.since(since(self.began)));
            match queue.recv_timeout(wait) {
                Ok(event) => {
                    self.take(event);
                    queue.try_iter().for_each(|event| self.take(event));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let [there, back] = self.networks.map(|network| network.counters());
                    let mut bytes = self.flows.into_iter().map(|flow| flow.bytes);
                    let first = bytes.next().unwrap_or_default();
                    return Passed { there, back, bytes: first, others: bytes.collect(), queueing: self.queueing };
                }
            }
            let now = since(self.began);
            // An error is the port of someone who has gone.
            while let Some(datagram) = self.networks[Way::There as usize].pop(now) {
                let flow = &self.flows[datagram.flow];
                let _ = flow.back.send_to(&datagram.bytes, flow.tap.target());
            }
            while let Some(datagram) = self.networks[Way::Back as usize].pop(now) {
                let flow = &self.flows[datagram.flow];
                if let Some(client) = flow.tap.client() {
                    let _ = flow.front.send_to(&datagram.bytes, client);
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Datagram { flow, way, socket, bytes, from, at } => {
                let passing = &mut self.flows[flow];
                // The router forgets the old port: what comes there is lost.
                let is_forgotten = way == Way::Back && socket != passing.back_number;
                if is_forgotten || !passing.tap.note(way, &bytes, from) {
                    return;
                }
                if way == Way::There {
                    let slice = (at.as_us() / SLICE.as_micros() as u64) as usize;
                    passing.bytes.resize(passing.bytes.len().max(slice + 1), 0);
                    passing.bytes[slice] += (bytes.len() + HEADERS_BYTES) as u64;
                }
                let network = &mut self.networks[way as usize];
                network.push(Passing { flow, bytes }, at);
                if way == Way::There {
                    self.queueing.push((at, network.queue(at)));
                }
            }
            Event::Rebind(socket, number) => (self.flows[0].back, self.flows[0].back_number) = (socket, number),
            Event::Begin(scenarios) => {
                let now = since(self.began);
                for (network, scenario) in self.networks.iter_mut().zip(*scenarios) {
                    network.restart(scenario, now);
                }
            }
        }
    }
}

/// Opens a new socket towards the listener.
fn back_socket(target: SocketAddr) -> io::Result<UdpSocket> {
    let any = if target.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    socket((any, 0).into())
}

fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_read_timeout(Some(LOOK))?;
    // The system may give less, which is enough unless the machine is very busy.
    let _ = SockRef::from(&socket).set_recv_buffer_size(SOCKET_BUFFER);
    let _ = SockRef::from(&socket).set_send_buffer_size(SOCKET_BUFFER);
    Ok(socket)
}

fn since(began: Instant) -> Timestamp {
    Timestamp::from_us(began.elapsed().as_micros().try_into().unwrap_or(u64::MAX))
}
