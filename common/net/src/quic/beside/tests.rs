use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, Waker};

use common::path::ways::{ANSWER_BYTES, KNOCK_BYTES};
use quinn::UdpPoller;
use quinn::udp::RecvMeta;

use super::super::relay::Unwrapped;
use super::super::steered::MARK;
use super::kinds::{Sort, sort};
use super::*;

#[test]
fn a_datagram_is_what_its_first_byte_and_its_source_tell() {
    let knock = [KNOCK; KNOCK_BYTES];
    assert_eq!(sort(&knock, || false), Sort::Aside);
    assert_eq!(sort(&knock[1..], || true), Sort::Junk, "of another length");
    for first in 0..=3 {
        assert_eq!(sort(&[first, 1], || true), Sort::Aside);
        assert_eq!(sort(&[first, 1], || false), Sort::Junk, "of a stranger");
        assert_eq!(sort(&[first; 1200], || true), Sort::Junk, "longer than an answer");
    }
    for first in [4, 12, 14, 20, 63] {
        assert_eq!(sort(&[first; KNOCK_BYTES], || true), Sort::Junk);
    }
    for first in [64, 127, 192, 255] {
        assert_eq!(sort(&[first; 1200], || true), Sort::Quic);
    }
    assert_eq!(sort(&[], || true), Sort::Junk);
}

/// Keeps what is sent.
#[derive(Debug, Default)]
struct Sent(Mutex<Vec<Vec<u8>>>);

impl AsyncUdpSocket for Sent {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        unimplemented!()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.lock().unwrap().push(transmit.contents.to_vec());
        Ok(())
    }

    fn poll_recv(&self, _: &mut Context<'_>, _: &mut [IoSliceMut<'_>], _: &mut [RecvMeta]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 8).into())
    }
}

#[test]
fn a_diallers_handshake_leaves_twice_and_all_else_once() {
    let sent = Arc::new(Sent::default());
    for (dials, contents) in
        [(true, [0xc0, 1]), (true, [0xe0, 2]), (true, [0x40, 3]), (true, [0x5f, 4]), (false, [0xc0, 5])]
    {
        let destination = ([127, 0, 0, 1], 9).into();
        let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: None, src_ip: None };
        let (socket, _beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, dials, None);
        socket.try_send(&transmit).unwrap();
    }
    let numbers: Vec<_> = sent.0.lock().unwrap().iter().map(|contents| contents[1]).collect();
    assert_eq!(numbers, [1, 1, 2, 2, 3, 4, 5]);
}

/// A relay that marks its packets with a byte and the peer's port.
#[derive(Debug)]
struct Marks;

impl Carrier for Marks {
    fn server(&self) -> SocketAddr {
        ([198, 51, 100, 9], 3478).into()
    }

    fn wrap(&self, to: SocketAddr, datagram: &[u8], _: bool, out: &mut Vec<u8>) -> bool {
        out.extend([64, to.port() as u8]);
        out.extend(datagram);
        true
    }

    fn unwrap(&self, packet: &[u8]) -> Unwrapped {
        match packet {
            [64, port, datagram @ ..] => Unwrapped::From(peer(*port), datagram.to_vec()),
            [0, ..] => Unwrapped::Handled,
            _ => Unwrapped::Other,
        }
    }
}

fn peer(port: u8) -> SocketAddr {
    ([203, 0, 113, 5], u16::from(port)).into()
}

#[test]
fn a_calls_packets_take_another_way_marked_and_come_from_where_quic_has_the_peer() {
    let sent = Arc::new(Sent::default());
    let (socket, mut beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, false, None);
    beside.sending().set_relay(Some(Arc::new(Marks)));
    let base = beside.sending().let_in(Pair { to: peer(7), base: Base::Relay });
    let send = |destination| {
        let contents = [64, 1, 64, 2];
        let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: Some(2), src_ip: None };
        socket.try_send(&transmit).unwrap();
        std::mem::take(&mut *sent.0.lock().unwrap())
    };
    beside.sending().steer(base);
    assert_eq!(send(base), [vec![64, 7, 64, 1, 64, 7, 64, 2]], "as before");
    beside.sending().take(Some(peer(7).into()));
    assert_eq!((beside.sending().in_use(base), beside.sending().moves()), (peer(7).into(), 1));
    assert_eq!(send(base), [vec![MARK, 64, 1, MARK, 64, 2]]);
    assert_eq!(send(peer(7)), [vec![64, 1, 64, 2]], "a new connection over the same way");
    beside.sending().take(Some(Pair { to: peer(9), base: Base::Relay }));
    assert_eq!(send(base), [vec![64, 9, MARK, 64, 1, 64, 9, MARK, 64, 2]]);

    let take = |packets: &[&[u8]], from: SocketAddr| {
        let mut buffer = packets.concat();
        let mut meta = RecvMeta { addr: from, len: buffer.len(), stride: packets[0].len(), ecn: None, dst_ip: None };
        socket.take(Base::Port, &mut buffer, &mut meta);
        (buffer[..meta.len].to_vec(), meta.stride, meta.addr)
    };
    let (first, last): (&[u8], &[u8]) = (&[MARK, 64, 1, 2], &[MARK, 65]);
    assert!(take(&[first, last], peer(7)).0.is_empty(), "nothing has proved that the peer is there");
    beside.sending().prove(peer(7).into(), false);
    assert_eq!(take(&[first, first, last], peer(7)), (vec![64, 1, 2, 64, 1, 2, 65], 3, base));
    assert_eq!(take(&[&[64, 1, 2]], peer(7)).2, peer(7), "a new connection over the same way");
    assert!(take(&[&[MARK, 0xc0, 1, 2]], peer(7)).0.is_empty(), "a handshake");
    // Behind the last of several packets a probe may lie.
    let (long, probe) = ([[MARK].as_slice(), &[64; ANSWER_BYTES]].concat(), [PROBE; ANSWER_BYTES]);
    assert_eq!(take(&[&long, &probe], peer(7)).0, [64; ANSWER_BYTES]);
    assert_eq!(beside.incoming.try_recv().unwrap().bytes, probe);
    let through = [&[64, 9], first].concat();
    assert!(take(&[&through], Marks.server()).0.is_empty());
    beside.sending().prove(Pair { to: peer(9), base: Base::Relay }, false);
    assert_eq!(take(&[&through], Marks.server()), (vec![64, 1, 2], 3, base));
    beside.sending().end_call();
    assert!(take(&[first], peer(7)).0.is_empty());
}

#[test]
fn quic_hears_at_the_other_port_only_who_was_let_in_and_everybody_at_the_first() {
    let sent = Arc::new(Sent::default());
    let another = Arc::clone(&sent);
    let open = Box::new(move || Ok(Arc::clone(&another) as Arc<dyn AsyncUdpSocket>));
    let (socket, mut beside) = split(Arc::new(Sent::default()), false, Some(open));
    let take = |via, packet: &[u8]| {
        let mut buffer = packet.to_vec();
        let mut meta = RecvMeta { addr: peer(7), len: buffer.len(), stride: buffer.len(), ecn: None, dst_ip: None };
        socket.take(via, &mut buffer, &mut meta);
        (meta.len, meta.addr)
    };
    let way = Pair { to: peer(7), base: Base::OtherPort };
    assert_eq!(take(Base::Port, &[64, 1]), (2, peer(7)));
    assert_eq!(take(Base::OtherPort, &[64, 1]).0, 0, "a stranger");
    assert_eq!(take(Base::OtherPort, &[KNOCK; KNOCK_BYTES]).0, 0);
    assert_eq!(beside.incoming.try_recv(), Ok(Aside { from: way, bytes: vec![KNOCK; KNOCK_BYTES] }));
    let address = beside.sending().let_in(way);
    assert_eq!((take(Base::OtherPort, &[64, 1]), take(Base::Port, &[64, 1])), ((2, address), (2, peer(7))));
    assert_eq!(take(Base::OtherPort, &[20, 1]).0, 0, "junk");

    let transmit = Transmit { destination: address, ecn: None, contents: &[64, 1], segment_size: None, src_ip: None };
    socket.try_send(&transmit).unwrap();
    assert!(sent.0.lock().unwrap().is_empty(), "there is no other port");
    assert_eq!(beside.sending().open_other_port().unwrap(), 8);
    socket.try_send(&transmit).unwrap();
    beside.sending().send(way, &[1]);
    assert_eq!(*sent.0.lock().unwrap(), [vec![64, 1], vec![1]]);
    // A call's packets, marked.
    beside.sending().steer(peer(9));
    beside.sending().prove(way, false);
    beside.sending().take(Some(way));
    socket.try_send(&Transmit { destination: peer(9), ..transmit }).unwrap();
    assert_eq!(sent.0.lock().unwrap()[2], [MARK, 64, 1]);
    assert_eq!(take(Base::OtherPort, &[MARK, 64, 1]), (2, peer(9)));
    assert_eq!(take(Base::Port, &[MARK, 64, 1]).0, 0, "not proved there");
}

/// Gives what it holds, and then nothing.
#[derive(Debug, Default)]
struct Holds(Mutex<VecDeque<io::Result<[u8; 2]>>>);

impl Holds {
    fn put(&self, datagrams: impl IntoIterator<Item = io::Result<[u8; 2]>>) {
        self.0.lock().unwrap().extend(datagrams);
    }
}

impl AsyncUdpSocket for Holds {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        unimplemented!()
    }

    fn try_send(&self, _: &Transmit<'_>) -> io::Result<()> {
        unimplemented!()
    }

    fn poll_recv(
        &self,
        _: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let Some(datagram) = self.0.lock().unwrap().pop_front() else { return Poll::Pending };
        Poll::Ready(datagram.map(|bytes| {
            bufs[0][..2].copy_from_slice(&bytes);
            meta[0] = RecvMeta { addr: peer(7), len: 2, stride: 2, ..RecvMeta::default() };
            1
        }))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(([127, 0, 0, 1], 8).into())
    }
}

#[derive(Default)]
struct Wakes(AtomicU64);

impl std::task::Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn both_ports_are_heard_from_the_start_whichever_has_more_and_one_that_fails_is_closed() {
    let [first, other] = [(); 2].map(|()| Arc::new(Holds::default()));
    let another = Arc::clone(&other);
    let open = Box::new(move || Ok(Arc::clone(&another) as Arc<dyn AsyncUdpSocket>));
    let (socket, beside) = split(Arc::clone(&first) as Arc<dyn AsyncUdpSocket>, false, Some(open));
    let at_other = beside.sending().let_in(Pair { to: peer(7), base: Base::OtherPort });
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    // Where QUIC sees the next packet come from; none: it waits.
    let next = || {
        let (mut buffer, mut meta) = ([0; 2], [RecvMeta::default()]);
        let polled = socket.poll_recv(&mut Context::from_waker(&waker), &mut [IoSliceMut::new(&mut buffer)], &mut meta);
        polled.map(|count| assert_eq!(count.unwrap(), 1)).is_ready().then_some(meta[0].addr)
    };
    other.put([Ok([64, 1])]);
    assert_eq!((next(), wakes.0.load(Ordering::Relaxed)), (None, 0));
    beside.sending().open_other_port().unwrap();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "who waits looks at the new one as well");
    assert_eq!(next(), Some(at_other));

    for port in [&first, &other] {
        port.put([(); 9].map(|()| Ok([64, 1])));
    }
    let heard = [(); 6].map(|()| next().unwrap());
    assert_eq!([peer(7), at_other].map(|from| heard.iter().filter(|&&one| one == from).count()), [3, 3]);
    while next().is_some() {}

    other.put([Err(io::ErrorKind::Other.into()), Ok([64, 1])]);
    assert_eq!([next(), next()], [None, None], "it is not looked at any more");
    first.put([Ok([64, 1])]);
    assert_eq!(next(), Some(peer(7)));
}

#[test]
fn what_goes_to_a_peer_behind_the_relay_is_wrapped_each_for_itself() {
    let sent = Arc::new(Sent::default());
    let (socket, beside) = split(Arc::clone(&sent) as Arc<dyn AsyncUdpSocket>, false, None);
    let pair = Pair { to: peer(7), base: Base::Relay };
    let destination = beside.sending().let_in(pair);
    assert_eq!(destination, beside.sending().let_in(pair), "one address for each");
    assert_eq!(beside.sending().pair_of(destination), pair);
    assert_eq!(beside.sending().pair_of(peer(7)), peer(7).into());
    let contents = [1, 1, 1, 2, 2];
    let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size: Some(3), src_ip: None };
    socket.try_send(&transmit).unwrap();
    assert!(sent.0.lock().unwrap().is_empty(), "there is no relay");
    beside.sending().set_relay(Some(Arc::new(Marks)));
    socket.try_send(&transmit).unwrap();
    assert_eq!(*sent.0.lock().unwrap(), [vec![64, 7, 1, 1, 1, 64, 7, 2, 2]]);
}

#[test]
fn quic_hears_through_the_relay_only_who_was_let_in() {
    let (socket, mut beside) = split(Arc::new(Sent::default()), false, None);
    beside.sending().set_relay(Some(Arc::new(Marks)));
    let take = |packets: &[&[u8]], from: SocketAddr| {
        let mut buffer = packets.concat();
        let stride = packets[0].len();
        let mut meta = RecvMeta { addr: from, len: buffer.len(), stride, ecn: None, dst_ip: None };
        socket.take(Base::Port, &mut buffer, &mut meta);
        (buffer[..meta.len].to_vec(), meta.stride, meta.addr)
    };
    let server = Marks.server();
    let (one, other): (&[u8], &[u8]) = (&[64, 7, 64, 1], &[64, 8, 64, 9]);
    assert!(take(&[one], server).0.is_empty(), "a stranger");
    let seven = beside.sending().let_in(Pair { to: peer(7), base: Base::Relay });
    let last: &[u8] = &[64, 7, 65];
    assert_eq!(take(&[one, other, one, &[0, 1, 2, 3], last], server), (vec![64, 1, 64, 1, 65], 2, seven));
    // Nobody else speaks for the relay, and nobody can bear such an address.
    assert_eq!(take(&[one], peer(7)).2, peer(7));
    let eight = beside.sending().let_in(Pair { to: peer(8), base: Base::Relay });
    assert_eq!(take(&[other], server), (vec![64, 9], 2, eight));
    let knock = [vec![64, 8], vec![KNOCK; KNOCK_BYTES]].concat();
    assert!(take(&[&knock], server).0.is_empty());
    let aside = Aside { from: Pair { to: peer(8), base: Base::Relay }, bytes: vec![KNOCK; KNOCK_BYTES] };
    assert_eq!(beside.incoming.try_recv(), Ok(aside));
}
