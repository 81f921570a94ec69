//! Messages of the DHT (BEP 5, 43, 44), those of a client: `get` and `put`, and the replies to them.

use std::net::SocketAddrV4;

use super::bencode::{bytes, entry, put_bytes, put_integer};
use crate::path::ways::take;

/// Bytes of the number of a node or of an item.
pub const ID_BYTES: usize = 20;
/// Most bytes of a value.
pub const VALUE_BYTES_MAX: usize = 1000 - 5;
/// Longest datagram that is looked at.
const REPLY_BYTES_MAX: usize = 4096;
/// Longest token that is given back.
const TOKEN_BYTES_MAX: usize = 64;
/// Most nodes that are taken from one reply.
const NODES_MAX: usize = 20;
/// Bytes of a node in a reply.
const NODE_BYTES: usize = ID_BYTES + 4 + 2;

/// The number of a node or of an item: the nodes nearest to an item's keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; ID_BYTES]);

impl Id {
    /// Returns the distance from another, in the order of which nodes are near.
    pub(super) fn distance(&self, other: &Self) -> [u8; ID_BYTES] {
        std::array::from_fn(|at| self.0[at] ^ other.0[at])
    }
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: Id,
    pub(super) address: SocketAddrV4,
}

/// A signed value to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// SHA-1 of the public key.
    pub target: Id,
    /// Public key (Ed25519).
    pub key: [u8; 32],
    /// Number that grows from one value to the next.
    pub number: i64,
    /// Value, [`VALUE_BYTES_MAX`] at most.
    pub value: Vec<u8>,
    /// Signature over [`signable`].
    pub signature: [u8; 64],
}

/// Returns the bytes of a value over which its signature goes.
pub fn signable(number: i64, value: &[u8]) -> Vec<u8> {
    let mut bytes = b"3:seq".to_vec();
    put_integer(number, &mut bytes);
    bytes.extend(b"1:v");
    put_bytes(value, &mut bytes);
    bytes
}

/// The number by which a reply is known.
pub(super) type Transaction = u32;

/// Returns the request for an item, and for the nodes nearest to it. It says nothing of the program that sends it.
pub(super) fn get(transaction: Transaction, own: &Id, target: &Id) -> Vec<u8> {
    let mut out = b"d1:ad2:id".to_vec();
    put_bytes(&own.0, &mut out);
    out.extend(b"6:target");
    put_bytes(&target.0, &mut out);
    finish(b"get", transaction, out)
}

/// Returns the request to store an item, with the token that the node has given.
pub(super) fn put(transaction: Transaction, own: &Id, token: &[u8], item: &Item) -> Vec<u8> {
    let mut out = b"d1:ad2:id".to_vec();
    put_bytes(&own.0, &mut out);
    out.extend(b"1:k");
    put_bytes(&item.key, &mut out);
    out.extend(b"3:seq");
    put_integer(item.number, &mut out);
    out.extend(b"3:sig");
    put_bytes(&item.signature, &mut out);
    // BEP 44 has none, and nodes of the crate `mainline` answer nothing without.
    out.extend(b"6:target");
    put_bytes(&item.target.0, &mut out);
    out.extend(b"5:token");
    put_bytes(token, &mut out);
    out.extend(b"1:v");
    put_bytes(&item.value, &mut out);
    finish(b"put", transaction, out)
}

fn finish(name: &[u8], transaction: Transaction, mut out: Vec<u8>) -> Vec<u8> {
    out.extend(b"e1:q");
    put_bytes(name, &mut out);
    // Read-only: nobody is to ask this machine.
    out.extend(b"2:roi1e1:t");
    put_bytes(&transaction.to_be_bytes(), &mut out);
    out.extend(b"1:y1:qe");
    out
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) transaction: Transaction,
    /// The rest; none: the node refuses.
    pub(super) answer: Option<Answer>,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) id: Id,
    pub(super) nodes: Vec<Node>,
    pub(super) token: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
}

/// Returns the reply that these bytes are; none if they are none.
pub(super) fn reply(datagram: &[u8]) -> Option<Reply> {
    let datagram = datagram.get(..datagram.len().min(REPLY_BYTES_MAX))?;
    let transaction = Transaction::from_be_bytes(entry(datagram, b"t").and_then(bytes)?.try_into().ok()?);
    let answer = match entry(datagram, b"y").and_then(bytes)? {
        b"r" => Some(answer(entry(datagram, b"r")?)?),
        b"e" => None,
        _ => return None,
    };
    Some(Reply { transaction, answer })
}

fn answer(said: &[u8]) -> Option<Answer> {
    let string = |key: &[u8], most: usize| entry(said, key).and_then(bytes).filter(|bytes| bytes.len() <= most);
    let id = Id(string(b"id", ID_BYTES)?.try_into().ok()?);
    let mut compact = string(b"nodes", REPLY_BYTES_MAX).unwrap_or_default();
    let mut nodes = Vec::new();
    while nodes.len() < NODES_MAX && compact.len() >= NODE_BYTES {
        nodes.push(node(&mut compact)?);
    }
    let token = string(b"token", TOKEN_BYTES_MAX).map(<[u8]>::to_vec);
    let value = string(b"v", VALUE_BYTES_MAX).map(<[u8]>::to_vec);
    Some(Answer { id, nodes, token, value })
}

fn node(compact: &mut &[u8]) -> Option<Node> {
    let id = Id(take(compact)?);
    let ip: [u8; 4] = take(compact)?;
    Some(Node { id, address: SocketAddrV4::new(ip.into(), u16::from_be_bytes(take(compact)?)) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_those_of_the_standard() {
        let (own, target) = (Id(*b"abcdefghij0123456789"), Id(*b"mnopqrstuvwxyz123456"));
        assert_eq!(
            get(0x6161_6262, &own, &target),
            b"d1:ad2:id20:abcdefghij01234567896:target20:mnopqrstuvwxyz123456e1:q3:get2:roi1e1:t4:aabb1:y1:qe"
        );
        let item = Item { target, key: [b'k'; 32], number: 4, value: b"Hello World!".to_vec(), signature: [b's'; 64] };
        let (key, signature) = ("k".repeat(32), "s".repeat(64));
        assert_eq!(
            String::from_utf8(put(0x6161_6262, &own, b"to", &item)).unwrap(),
            format!(
                "d1:ad2:id20:abcdefghij01234567891:k32:{key}3:seqi4e3:sig64:{signature}6:target20:mnopqrstuvwxyz1234565:token2:to1:v12:Hello World!e\
                 1:q3:put2:roi1e1:t4:aabb1:y1:qe"
            )
        );
        // BEP 44, the example of a mutable item without salt.
        assert_eq!(signable(1, b"Hello World!"), b"3:seqi1e1:v12:Hello World!");
    }

    #[test]
    fn replies_are_read_and_what_is_too_long_in_them_is_left_out() {
        let node = |n: u8| [[n; 20].as_slice(), &[203, 0, 113, n, 0x1a, n]].concat();
        let nodes: Vec<u8> = (1..=60).flat_map(node).collect();
        let mut said = b"d1:rd2:id20:abcdefghij01234567895:nodes1560:".to_vec();
        said.extend(&nodes);
        said.extend(b"5:token2:to1:v3:abce1:t4:aabb1:y1:re");
        let Reply { transaction, answer } = reply(&said).unwrap();
        let answer = answer.unwrap();
        assert_eq!((transaction, answer.nodes.len()), (0x6161_6262, NODES_MAX));
        assert_eq!(answer.nodes[2], Node { id: Id([3; 20]), address: "203.0.113.3:6659".parse().unwrap() });
        assert_eq!(
            (answer.token.as_deref(), answer.value.as_deref()),
            (Some(b"to".as_slice()), Some(b"abc".as_slice()))
        );
        for end in 0..said.len() - 1 {
            assert!(reply(&said[..end]).is_none(), "{end}");
        }
        let error = reply(b"d1:eli201e5:errore1:t4:aabb1:y1:ee").unwrap();
        assert_eq!(error, Reply { transaction, answer: None });
        let long = format!(
            "d1:rd2:id20:abcdefghij01234567895:token65:{}1:v996:{}e1:t4:aabb1:y1:re",
            "t".repeat(65),
            "v".repeat(996)
        );
        let answer = reply(long.as_bytes()).unwrap().answer.unwrap();
        assert_eq!((answer.token, answer.value), (None, None));
        // A request, such as a node sends to this client, is none.
        assert_eq!(reply(&get(7, &Id([1; 20]), &Id([2; 20]))), None);
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_a_bounded_reply_or_none(front in 0..4_usize, noise in proptest::collection::vec(any::<u8>(), 0..400)) {
            let fronts = [b"".as_slice(), b"d1:rd2:id20:abcdefghij0123456789", b"d1:r", b"d1:t4:aabb1:y1:r1:rd2:id20:abcdefghij01234567895:nodes"];
            if let Some(Reply { answer: Some(answer), .. }) = reply(&[fronts[front], &noise].concat()) {
                prop_assert!(answer.nodes.len() <= NODES_MAX);
                prop_assert!(answer.value.is_none_or(|value| value.len() <= VALUE_BYTES_MAX));
            }
        }
    }
}
