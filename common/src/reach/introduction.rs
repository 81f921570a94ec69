//! Messages of two machines on the control stream when they are introduced.
//!
//! The joining side speaks first and proves that it knows the ticket's secret; then the inviting side proves the same;
//! then the one that joins says that it has remembered the other. Each message is two bytes of length and so many of
//! body.

use crate::path::ways::{CANDIDATES_BYTES_MAX, Candidate, take};

/// Bytes of a proof.
pub const MAC_BYTES: usize = 32;
/// Bytes before each message, which say how long it is.
pub const LENGTH_BYTES: usize = 2;
/// Longest body.
pub const MESSAGE_BYTES_MAX: usize = 256;

const _: () = assert!(1 + MAC_BYTES + CANDIDATES_BYTES_MAX <= MESSAGE_BYTES_MAX);

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Name and addresses of the speaker.
    Introduced(Introduced),
    /// I have remembered you.
    Remembered,
}

/// A proof that the speaker knows the secret, and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduced {
    /// Made with the ticket's secret over both keys and this very connection.
    pub mac: [u8; MAC_BYTES],
    /// Addresses of the speaker for later calls.
    pub candidates: Vec<Candidate>,
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side said something that belongs in no introduction: update the older side")]
pub struct MessageError;

impl Message {
    /// Returns the message with its length before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::Introduced(introduced) => {
                body.push(1);
                body.extend(introduced.mac);
                Candidate::encode_all(&introduced.candidates, &mut body);
            }
            Self::Remembered => body.push(2),
        }
        let mut bytes = (body.len() as u16).to_be_bytes().to_vec();
        bytes.append(&mut body);
        bytes
    }

    /// Returns the length that the bytes before a message announce.
    pub fn length(bytes: [u8; LENGTH_BYTES]) -> Result<usize, MessageError> {
        let length = usize::from(u16::from_be_bytes(bytes));
        if (1..=MESSAGE_BYTES_MAX).contains(&length) { Ok(length) } else { Err(MessageError) }
    }

    /// Returns the message of a body.
    pub fn decode(body: &[u8]) -> Result<Self, MessageError> {
        let (kind, mut rest) = body.split_first().ok_or(MessageError)?;
        let message = match kind {
            1 => {
                let mac = take(&mut rest).ok_or(MessageError)?;
                let candidates = Candidate::decode_all(&mut rest).ok_or(MessageError)?;
                Self::Introduced(Introduced { mac, candidates })
            }
            2 => Self::Remembered,
            _ => return Err(MessageError),
        };
        if rest.is_empty() { Ok(message) } else { Err(MessageError) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::path::ways::{ADDRESSES_MAX, Kind};

    #[test]
    fn messages_survive_their_bytes() {
        let address = |n| Candidate::new(Kind::HostIpv6, format!("[2001:db8::{n}]:20000").parse().unwrap()).unwrap();
        let introduced = Introduced { mac: [7; MAC_BYTES], candidates: (1..=ADDRESSES_MAX).map(address).collect() };
        for message in [Message::Introduced(introduced), Message::Remembered] {
            let bytes = message.encode();
            let (length, body) = bytes.split_first_chunk().unwrap();
            assert_eq!(Message::length(*length), Ok(body.len()));
            assert_eq!(Message::decode(body), Ok(message));
            assert_eq!(Message::decode(&[body, &[0]].concat()), Err(MessageError));
        }
        assert_eq!(Message::length([0, 0]), Err(MessageError));
        assert_eq!(Message::length([255, 255]), Err(MessageError));
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_a_message_or_none(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(message) = Message::decode(&body) {
                prop_assert_eq!(&message.encode()[LENGTH_BYTES..], body.as_slice());
            }
        }
    }
}
