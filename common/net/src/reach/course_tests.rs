use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::path::ways::Base;
use tokio::net::UdpSocket;

use super::*;
use crate::clock;
use crate::identity::Identity;
use crate::quic::tests::options;
use crate::quic::{Accepted, Beside, Carrier, Connection, Endpoint, Input, PROBE, Takes, Unwrapped};

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// The address of the side that waits, as the relay knows it and nobody else.
const FAR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 9, 9, 9)), 7);
/// Longest wait for anything that must come.
const PATIENCE: Duration = Duration::from_secs(90);

async fn socket() -> UdpSocket {
    UdpSocket::bind(LOOPBACK).await.unwrap()
}

/// A relay with one place. Its packets bear the peer's address in front.
#[derive(Debug)]
struct Passes(SocketAddr);

const HEAD: usize = 7;

fn head(peer: SocketAddr) -> Vec<u8> {
    let IpAddr::V4(ip) = peer.ip() else { panic!("{peer} is not of IPv4") };
    [&[64], ip.octets().as_slice(), &peer.port().to_be_bytes()].concat()
}

impl Carrier for Passes {
    fn server(&self) -> SocketAddr {
        self.0
    }

    fn wrap(&self, to: SocketAddr, datagram: &[u8], _: bool, out: &mut Vec<u8>) -> bool {
        out.extend(head(to));
        out.extend(datagram);
        true
    }

    fn unwrap(&self, packet: &[u8]) -> Unwrapped {
        let &[64, a, b, c, d, high, low, ref datagram @ ..] = packet else { return Unwrapped::Other };
        let peer = SocketAddr::from(([a, b, c, d], u16::from_be_bytes([high, low])));
        Unwrapped::From(peer, datagram.to_vec())
    }
}

/// Starts a relay whose client is `near` and passes on to `far` only; returns its server and the client's place there.
async fn relay(near: SocketAddr, far: SocketAddr) -> (SocketAddr, SocketAddr) {
    let (server, place) = (socket().await, socket().await);
    let addresses = (server.local_addr().unwrap(), place.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut out, mut back) = (vec![0; 2_000], vec![0; 2_000]);
        loop {
            tokio::select! {
                Ok((count, _)) = server.recv_from(&mut out) => {
                    if out.starts_with(&head(FAR)) {
                        let _ = place.send_to(&out[HEAD..count], far).await;
                    }
                }
                Ok((count, _)) = place.recv_from(&mut back) => {
                    let _ = server.send_to(&[&head(FAR), &back[..count]].concat(), near).await;
                }
            }
        }
    });
    addresses
}

/// Starts a way between two ends that is open or not; returns the address of each on it, as the other sees it.
async fn way(ends: [SocketAddr; 2], is_open: Arc<AtomicBool>) -> [SocketAddr; 2] {
    let sockets = [socket().await, socket().await];
    let addresses = [0, 1].map(|end: usize| sockets[end].local_addr().unwrap());
    tokio::spawn(async move {
        let (mut one, mut other) = (vec![0; 2_000], vec![0; 2_000]);
        loop {
            // What comes to where one end seems to be is for that end, and comes from where the other seems to be.
            let (end, from, bytes) = tokio::select! {
                Ok((count, from)) = sockets[0].recv_from(&mut one) => (0, from, &one[..count]),
                Ok((count, from)) = sockets[1].recv_from(&mut other) => (1, from, &other[..count]),
            };
            if is_open.load(Ordering::Relaxed) && from == ends[1 - end] {
                let _ = sockets[1 - end].send_to(bytes, ends[end]).await;
            }
        }
    });
    addresses
}

/// Looks for a better way, for ever.
async fn attend(mut beside: Beside, mut course: Course, own: Vec<Candidate>) {
    let mut allowance = Allowance::default();
    loop {
        let now = clock::now();
        course.drive(|| own.clone(), &mut allowance, now).unwrap();
        let next = course.steering.poll_timeout(now, &allowance).unwrap().max(now + Duration::from_millis(1));
        tokio::select! {
            aside = beside.receive() => if aside.bytes[0] == PROBE {
                course.on_probe(&aside, &mut allowance, clock::now()).unwrap();
            },
            () = tokio::time::sleep_until(clock::to_tokio(next)) => {}
        }
    }
}

/// A call that carries a datagram every five milliseconds.
struct Call {
    dialled: Connection,
    accepted: Connection,
    sent: u32,
    /// Numbers of the datagrams that are still to come, of those sent.
    missing: BTreeSet<u32>,
}

impl Call {
    /// Goes on until packets of both ends have taken these ways for fifty datagrams; returns how many were lost meanwhile. One
    /// that is overtaken is not.
    async fn until(&mut self, ways: [Pair; 2]) -> u32 {
        tokio::time::timeout(PATIENCE, self.wait_for(ways)).await.unwrap()
    }

    async fn wait_for(&mut self, ways: [Pair; 2]) -> u32 {
        let (mut in_a_row, mut newest) = (0, 0);
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while in_a_row < 50 {
            let mut buffer = [0; 8];
            tokio::select! {
                _ = ticks.tick() => {
                    self.dialled.send_datagram([self.sent.to_be_bytes().as_slice(), &[7; 1_000]].concat());
                    self.missing.insert(self.sent);
                    self.sent += 1;
                }
                input = self.accepted.next(&mut buffer, b"") => if let Input::Datagram(datagram) = input.unwrap() {
                    let number = u32::from_be_bytes(datagram[..4].try_into().unwrap());
                    self.missing.remove(&number);
                    newest = newest.max(number);
                    let are_taken = [self.dialled.pair(), self.accepted.pair()] == ways;
                    in_a_row = if are_taken { in_a_row + 1 } else { 0 };
                }
            }
        }
        let before = self.missing.len();
        self.missing.retain(|number| *number > newest);
        (before - self.missing.len()) as u32
    }
}

#[test]
fn a_call_through_a_relay_becomes_direct_and_goes_back_when_that_way_is_cut() {
    let [one, other] = std::array::from_fn(|_| Identity::generate().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (dialling, near) =
            Endpoint::bind_beside(&options(&one, &[&other]), LOOPBACK.into(), Takes::Nothing).unwrap();
        let (listening, far) =
            Endpoint::bind_beside(&options(&other, &[&one]), LOOPBACK.into(), Takes::Everything).unwrap();
        let ends = [dialling.local_addr().unwrap(), listening.local_addr().unwrap()];
        let (server, place) = relay(ends[0], ends[1]).await;
        let is_open = Arc::new(AtomicBool::new(false));
        let seen = way(ends, Arc::clone(&is_open)).await;

        near.sending().set_relay(Some(Arc::new(Passes(server))));
        let through = Pair { to: FAR, base: Base::Relay };
        let address = near.sending().let_in(through);
        let accept = async {
            match listening.incoming().await.unwrap().accept().await.unwrap() {
                Accepted::Call(connection) => connection,
                Accepted::LinkTest(_) => panic!("nobody asked for a link test"),
            }
        };
        let dial = async {
            let mut dialled = dialling.dial(address).await.unwrap();
            assert!(matches!(dialled.next(&mut [0; 8], b"hello").await, Ok(Input::Written(_))));
            dialled
        };
        let (accepted, dialled) = tokio::join!(accept, dial);
        let relayed = [through, Pair::from(place)];
        let direct = [Pair::from(seen[1]), Pair::from(seen[0])];
        assert_eq!([dialled.pair(), accepted.pair()], relayed);

        for (beside, connection, role, own) in [
            (near, &dialled, Role::Dials, [(Kind::ServerReflexive, seen[0]), (Kind::Relayed, place)].as_slice()),
            (far, &accepted, Role::Waits, &[(Kind::ServerReflexive, seen[1])]),
        ] {
            let own = own.iter().filter_map(|(kind, address)| Candidate::new(*kind, *address)).collect();
            // Nobody outside may tell addresses of the loopback.
            let (call, given) = (connection.in_call(), seen.to_vec());
            let course = Course::new(call, role, Kind::Relayed, given, beside.sending(), clock::now());
            tokio::spawn(attend(beside, course.unwrap(), own));
        }
        let mut call = Call { dialled, accepted, sent: 0, missing: BTreeSet::new() };
        let lost = call.until(relayed).await;
        assert_eq!(lost, 0, "before anything happens");
        is_open.store(true, Ordering::Relaxed);
        let lost = call.until(direct).await;
        assert!(lost <= 1, "{lost} datagrams were lost on the change to the better way");
        is_open.store(false, Ordering::Relaxed);
        let lost = call.until(relayed).await;
        eprintln!("{lost} of the datagrams, 200 a second, were lost when the way was cut");
        assert!(lost > 0, "the way was cut: else this shows nothing");
        assert!(call.dialled.moves() >= 2 && call.accepted.moves() >= 2);
    });
}
