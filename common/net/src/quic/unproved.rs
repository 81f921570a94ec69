//! Limits what leaves for a handshake in which nothing has been proved. QUIC answers each packet that comes for one that is over with
//! a goodbye, also packets that anybody can make (RFC 9000, section 10.2.1, asks for a limit), and sends up to a whole packet more than
//! three times what an unproved address has sent.
//!
//! A handshake is known by this side's connection id, which stands in the long header of all its packets (RFC 9000, section 17.2).
//! [`Numbered`] makes the ids, and an [`Attempt`] keeps the one that was made for it; until it has become a connection, the socket
//! lets as many bytes of its packets out as it may still send.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, HashedConnectionIdGenerator, InvalidCid};

use crate::lock::lock;

/// Attempts that are known: more than are under way and than end while QUIC remembers one.
const ATTEMPTS_MAX: usize = 256;
/// Bytes with which an attempt says that it is over, if anybody is there: twice the same packet from a dialler.
const GOODBYE_BYTES: usize = 2 * 1200;
/// Bytes of handshake packets that go to whoever has begun one before anything is proved: with a packet with a short header, which is
/// not counted here, less than three times those of the shortest first packet.
const ANSWER_BYTES: usize = 2 * 1200;
/// Place of the first connection id's length in a long header: behind the first byte and the version.
const ID_AT: usize = 5;

thread_local! {
    /// The id that was made last on this thread.
    static LAST: Cell<Option<ConnectionId>> = const { Cell::new(None) };
}

/// Makes connection ids, and keeps the last one for whoever has asked for it.
pub(super) struct Numbered(pub(super) HashedConnectionIdGenerator);

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        let id = self.0.generate_cid();
        LAST.set(Some(id));
        id
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.0.validate(id)
    }

    fn cid_len(&self) -> usize {
        self.0.cid_len()
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        self.0.cid_lifetime()
    }
}

/// A handshake under way. It must be dropped before QUIC's own part of it.
#[derive(Debug)]
pub(super) struct Attempt {
    id: Option<ConnectionId>,
    end_bytes: usize,
    all: Arc<Unproved>,
}

impl Attempt {
    /// Begins an attempt with `begin`, which makes its id on this thread.
    pub(super) fn begin<C>(all: &Arc<Unproved>, begin: impl FnOnce() -> C) -> (C, Self) {
        LAST.set(None);
        let begun = begin();
        (begun, Self { id: LAST.take(), end_bytes: GOODBYE_BYTES, all: Arc::clone(all) })
    }

    /// Begins one that somebody else wants; `is_proved`: whether it is known to be at its address.
    pub(super) fn answer<C>(all: &Arc<Unproved>, is_proved: bool, begin: impl FnOnce() -> C) -> (C, Self) {
        let (begun, attempt) = Self::begin(all, begin);
        if let Some(id) = attempt.id.filter(|_| !is_proved) {
            all.limit(id, ANSWER_BYTES);
        }
        (begun, attempt)
    }

    /// It has become a connection.
    pub(super) fn succeed(mut self) {
        if let Some(id) = self.id.take() {
            self.all.forget(id);
        }
    }

    /// Nobody has answered, so nobody needs a goodbye.
    pub(super) fn fall_silent(mut self) {
        self.end_bytes = 0;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.all.limit(id, self.end_bytes);
        }
    }
}

/// Attempts with a limit, and the bytes that may still leave for each.
#[derive(Debug, Default)]
pub(super) struct Unproved(Mutex<VecDeque<(ConnectionId, usize)>>);

impl Unproved {
    /// From now on so many bytes may leave, and no more than before.
    fn limit(&self, id: ConnectionId, bytes: usize) {
        let mut known = lock(&self.0);
        if let Some((_, left)) = known.iter_mut().rev().find(|(known, _)| *known == id) {
            *left = bytes.min(*left);
            return;
        }
        if known.len() == ATTEMPTS_MAX {
            known.pop_front();
        }
        known.push_back((id, bytes));
    }

    fn forget(&self, id: ConnectionId) {
        lock(&self.0).retain(|(known, _)| *known != id);
    }

    /// Returns true if these bytes may leave, and counts them; they begin with a long header.
    pub(super) fn lets_out(&self, packets: &[u8]) -> bool {
        let Some(id) = own_id(packets) else { return true };
        let mut known = lock(&self.0);
        let Some((_, left)) = known.iter_mut().rev().find(|(known, _)| **known == *id) else { return true };
        let rest = left.checked_sub(packets.len());
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }
}

/// Returns the sender's id in a packet with a long header.
fn own_id(packet: &[u8]) -> Option<&[u8]> {
    let end = |at: usize| packet.get(at).map(|&length| at + 1 + usize::from(length));
    let at = end(ID_AT)?;
    packet.get(at + 1..end(at)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: &[u8]) -> Vec<u8> {
        [&[0xc0, 0, 0, 0, 1, 3, 9, 9, 9, id.len() as u8][..], id, &[7; 1182]].concat()
    }

    fn id(number: u8) -> ConnectionId {
        ConnectionId::new(&[number; 8])
    }

    #[test]
    fn nothing_leaves_beyond_the_limit_of_an_attempt() {
        let unproved = Unproved::default();
        let let_out = |number: u8| (0..100).filter(|_| unproved.lets_out(&packet(&[number; 8]))).count();
        assert_eq!(packet(&[1; 8]).len(), 1200);
        unproved.limit(id(1), GOODBYE_BYTES);
        unproved.limit(id(2), 0);
        unproved.limit(id(3), ANSWER_BYTES);
        assert_eq!([1, 2, 3, 4].map(let_out), [2, 0, 2, 100]);
        // An end gives nothing back, and a connection has no limit.
        unproved.limit(id(3), GOODBYE_BYTES);
        assert_eq!(let_out(3), 0);
        unproved.forget(id(3));
        assert_eq!(let_out(3), 100);
        for number in 0..ATTEMPTS_MAX as u64 {
            unproved.limit(ConnectionId::new(&number.to_be_bytes()), 0);
        }
        assert_eq!(lock(&unproved.0).len(), ATTEMPTS_MAX);
    }

    #[test]
    fn the_senders_id_is_the_second_one() {
        assert_eq!(own_id(&packet(&[5; 8])), Some(&[5; 8][..]));
        assert_eq!(own_id(&packet(&[])), Some(&[][..]));
        for length in 0..18 {
            assert_eq!(own_id(&packet(&[5; 8])[..length]), None, "{length}");
        }
    }
}
