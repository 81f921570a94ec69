//! The call whose packets may take another way than the one on which QUIC has the peer.
//!
//! QUIC keeps one address for the peer, that of the way on which the call began; the socket sends to another instead, and
//! gives what comes from there the address that QUIC knows. QUIC's own migration is not used: only a client's address may
//! change, the server forgets round trip, packet size and window then, and may send no more than three times what it has
//! heard until the new address is proved. Here the proof comes first, on a way that carries nothing else
//! ([`common::path::ways::Steering`]).
//!
//! Packets on another way begin with [`MARK`], so that those of a new connection over the same addresses are told apart.
//! They are taken from where the peer has proved to be, with a seal that only the two ends of the call can make. QUIC
//! opens them as always: a forged source gains nobody more than a place on the way, as it does at any router.
//!
//! If the peer marks what comes on the very way that QUIC knows, it sees this machine elsewhere than QUIC does
//! there, as behind a router that has begun to use another port. A client's QUIC would drop packets from there, so they
//! are marked, too.

use std::net::SocketAddr;

use common::path::ways::Pair;

/// First byte of a packet that takes another way: in a range that RFC 7983 leaves to nobody.
pub(super) const MARK: u8 = 0x0e;

/// Ways from which packets are taken; the one whose last proof is the oldest makes room.
const PROVED_MAX: usize = 16;

/// A call, as its socket sees it.
#[derive(Debug)]
pub(super) struct Steered {
    /// The peer's address for QUIC.
    base: SocketAddr,
    /// The way that its packets take; none: as QUIC says.
    way: Option<Pair>,
    /// The way on which QUIC has the peer, and whether packets on it are marked.
    base_way: Pair,
    is_elsewhere: bool,
    proved: Vec<Pair>,
    /// Ways on which the peer has answered a question, and so receives; those of `proved` may only have a forged source.
    answered: Vec<Pair>,
}

impl Steered {
    pub(super) fn new(base: SocketAddr, base_way: Pair) -> Self {
        let [proved, answered] = [(); 2].map(|()| Vec::with_capacity(PROVED_MAX));
        Self { base, way: None, base_way, is_elsewhere: false, proved, answered }
    }

    /// Sets the way that packets take; none: as QUIC says.
    pub(super) fn take(&mut self, way: Option<Pair>) {
        self.way = way;
    }

    /// Takes packets on that way from now on. Ways that go on proving themselves are not those that make room. `answered`: a
    /// question that went that way was answered.
    pub(super) fn prove(&mut self, way: Pair, answered: bool) {
        put_first(&mut self.proved, way);
        if answered {
            put_first(&mut self.answered, way);
        }
    }

    /// Returns true if a question was answered on that way, unless many others were answered since.
    pub(super) fn has_answered(&self, way: Pair) -> bool {
        self.answered.contains(&way)
    }

    /// Returns the way that packets to QUIC's `address` take instead, marked.
    pub(super) fn way_to(&self, address: SocketAddr) -> Option<Pair> {
        let marked = self.way.or(self.is_elsewhere.then_some(self.base_way));
        marked.filter(|_| address == self.base)
    }

    /// Takes notice of marked packets on that way; returns QUIC's address of whoever sends them.
    pub(super) fn base_of(&mut self, way: Pair) -> Option<SocketAddr> {
        let is_proved = self.proved.contains(&way);
        self.is_elsewhere |= is_proved && way == self.base_way;
        is_proved.then_some(self.base)
    }
}

fn put_first(ways: &mut Vec<Pair>, way: Pair) {
    ways.retain(|known| *known != way);
    ways.truncate(PROVED_MAX - 1);
    ways.insert(0, way);
}

/// Marks packets that leave together, which are `segment` bytes long, but for a shorter last one.
pub(super) fn mark(contents: &[u8], segment: usize) -> Vec<u8> {
    let segment = segment.max(1);
    let mut marked = Vec::with_capacity(contents.len() + contents.len().div_ceil(segment));
    for packet in contents.chunks(segment) {
        marked.push(MARK);
        marked.extend(packet);
    }
    marked
}

#[cfg(test)]
mod tests {
    use common::path::ways::Base;

    use super::*;

    #[test]
    fn only_the_calls_packets_take_another_way_and_only_proved_ways_are_heard() {
        let address = |port: u16| SocketAddr::from(([203, 0, 113, 5], port));
        let mut steered = Steered::new(address(1), address(1).into());
        assert_eq!((steered.way_to(address(1)), steered.base_of(address(2).into())), (None, None));
        steered.prove(address(2).into(), false);
        steered.take(Some(address(2).into()));
        assert_eq!(steered.way_to(address(1)), Some(address(2).into()));
        assert_eq!(steered.way_to(address(2)), None, "a new connection");
        assert_eq!(steered.base_of(address(2).into()), Some(address(1)));
        assert_eq!(steered.base_of(Pair { to: address(2), base: Base::Relay }), None);
        for port in 3..100 {
            steered.prove(address(port).into(), false);
            steered.prove(address(3).into(), false);
        }
        assert_eq!(steered.proved.len(), PROVED_MAX);
        assert_eq!(steered.base_of(address(3).into()), Some(address(1)), "it goes on proving itself");
        assert_eq!(steered.base_of(address(2).into()), None);
    }

    #[test]
    fn only_an_answer_shows_that_the_peer_receives_somewhere() {
        let way = |port: u16| Pair::from(SocketAddr::from(([203, 0, 113, 5], port)));
        let mut steered = Steered::new(way(1).to, way(1));
        steered.prove(way(2), false);
        assert!(!steered.has_answered(way(1)) && !steered.has_answered(way(2)), "anybody can send from there");
        for port in 2..100 {
            steered.prove(way(port), true);
        }
        assert_eq!(steered.answered.len(), PROVED_MAX);
        assert_eq!([83, 84, 99].map(|port| steered.has_answered(way(port))), [false, true, true]);
    }

    #[test]
    fn where_the_peer_marks_on_the_usual_way_this_side_does_so_too() {
        let (base, way) = (SocketAddr::from(([240, 0, 0, 1], 1)), SocketAddr::from(([203, 0, 113, 5], 1)));
        let usual = Pair { to: way, base: Base::Relay };
        let mut steered = Steered::new(base, usual);
        assert_eq!(steered.base_of(usual), None, "a stranger");
        assert_eq!(steered.way_to(base), None);
        steered.prove(usual, false);
        steered.prove(way.into(), false);
        assert_eq!((steered.base_of(way.into()), steered.way_to(base)), (Some(base), None), "another way");
        assert_eq!((steered.base_of(usual), steered.way_to(base)), (Some(base), Some(usual)));
        assert_eq!(steered.way_to(way), None, "a new connection");
        steered.take(Some(way.into()));
        assert_eq!(steered.way_to(base), Some(way.into()));
    }

    #[test]
    fn each_packet_is_marked() {
        assert_eq!(mark(&[1, 1, 1, 2, 2], 3), [MARK, 1, 1, 1, MARK, 2, 2]);
        assert!(mark(&[], 0).is_empty());
    }
}
