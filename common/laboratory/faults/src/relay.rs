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

mod tap;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::netsim::{HEADERS_BYTES, NetConditions, NetCounters, Network, Scenario};
use common::units::Timestamp;
use socket2::SockRef;

pub(crate) use self::tap::Deed;
pub use self::tap::{Tap, Way};

/// Interval at which a reader checks whether it shall end.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a socket buffer, for datagrams that come while the relay's threads wait for a processor.
const SOCKET_BUFFER: usize = 4 << 20;

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

/// A running relay. It ends with its value.
pub struct Relay {
    addresses: Vec<SocketAddr>,
    target: SocketAddr,
    /// Port from which the first flow's listener is reached at first.
    back_port: u16,
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
            let tap = Tap::new(&front, &back, target)?;
            open.push(Flow { front, back, back_number: 1, tap, bytes: Vec::new() });
        }
        let first = open.first().ok_or_else(|| io::Error::other("a relay needs a flow"))?;
        let mut relay = Self {
            tap: first.tap.clone(),
            addresses: open.iter().map(|flow| flow.front.local_addr()).collect::<io::Result<_>>()?,
            target: first.tap.target,
            back_port: first.back.local_addr()?.port(),
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

    /// Returns the port at which the first flow's listener reaches who dials it, once that one has dialled.
    pub(crate) fn back_port(&self) -> u16 {
        self.back_port
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

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> UdpSocket {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        // Only a relay that does not work takes as long.
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    }

    #[test]
    fn flows_that_share_a_line_come_each_to_their_own_end_and_back() {
        let (diallers, listeners) = ([open(), open()], [open(), open()]);
        let flows: Vec<_> =
            listeners.iter().map(|to| ((Ipv4Addr::LOCALHOST, 0).into(), to.local_addr().unwrap())).collect();
        let relay = Relay::shared(&flows, Duration::ZERO).unwrap();
        let mut bytes = [0; 64];
        for (number, (dialler, address)) in (0..).zip(diallers.iter().zip(relay.addresses())) {
            dialler.send_to(&[number; 10], address).unwrap();
        }
        for (number, listener) in (0..).zip(&listeners) {
            let (count, from) = listener.recv_from(&mut bytes).unwrap();
            assert_eq!(bytes[..count], [number; 10]);
            listener.send_to(&[number + 7; 20], from).unwrap();
        }
        for (number, dialler) in (7..).zip(&diallers) {
            let count = dialler.recv(&mut bytes).unwrap();
            assert_eq!(bytes[..count], [number; 20]);
        }
        let passed = relay.stop();
        assert_eq!((passed.there.entered, passed.back.entered), (2, 2));
        assert_eq!(passed.bytes.iter().sum::<u64>(), 38);
        assert_eq!(passed.others.iter().map(|bytes| bytes.iter().sum::<u64>()).collect::<Vec<_>>(), [38]);
    }
}
