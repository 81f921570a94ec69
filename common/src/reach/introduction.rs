//! Messages of two machines on the control stream when they are introduced.
//!
//! The joining side speaks first and proves that it knows the ticket's secret; then the inviting side proves the same;
//! then the one that joins says that it has remembered the other. Each message is two bytes of length and so many of
//! body. Whoever has a name tells it with the proof.

use crate::path::ways::{CANDIDATES_BYTES_MAX, Candidate, take};

/// Bytes of a proof.
pub const MAC_BYTES: usize = 32;
/// Bytes before each message, which say how long it is.
pub const LENGTH_BYTES: usize = 2;
/// Longest body.
pub const MESSAGE_BYTES_MAX: usize = 384;
/// Longest name, bytes: [`super::NAME_MAX`] characters.
const NAME_BYTES_MAX: usize = 4 * super::NAME_MAX;

const _: () = assert!(1 + MAC_BYTES + CANDIDATES_BYTES_MAX + 1 + NAME_BYTES_MAX <= MESSAGE_BYTES_MAX);

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Name and addresses of the speaker.
    Introduced(Introduced),
    /// I have remembered you.
    Remembered,
}

/// A proof that the speaker knows the secret, its addresses and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduced {
    /// Made with the ticket's secret over both keys and this very connection.
    pub mac: [u8; MAC_BYTES],
    /// Addresses of the speaker for later calls.
    pub candidates: Vec<Candidate>,
    /// Name by which the speaker's owner goes, in the owner's own words; empty: none was told. [`super::name_in`] makes a name of it.
    pub name: String,
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
                let name = &introduced.name[..introduced.name.floor_char_boundary(NAME_BYTES_MAX)];
                body.push(name.len() as u8);
                body.extend(name.as_bytes());
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
                let [length] = take(&mut rest).ok_or(MessageError)?;
                let name = rest.split_off(..usize::from(length)).filter(|name| name.len() <= NAME_BYTES_MAX);
                let name = String::from_utf8(name.ok_or(MessageError)?.to_vec()).map_err(|_| MessageError)?;
                Self::Introduced(Introduced { mac, candidates, name })
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
        let candidates: Vec<_> = (1..=ADDRESSES_MAX).map(address).collect();
        let named = |name: &str| {
            let (mac, candidates, name) = ([7; MAC_BYTES], candidates.clone(), name.to_owned());
            Message::Introduced(Introduced { mac, candidates, name })
        };
        let longest = "\u{1f3bb}".repeat(super::super::NAME_MAX);
        for message in [named(""), named("Clara"), named(&longest), Message::Remembered] {
            let bytes = message.encode();
            let (length, body) = bytes.split_first_chunk().unwrap();
            assert_eq!(Message::length(*length), Ok(body.len()));
            assert_eq!(Message::decode(body), Ok(message));
            assert_eq!(Message::decode(&[body, &[0]].concat()), Err(MessageError));
        }
        let Message::Introduced(cut) = Message::decode(&named(&longest.repeat(9)).encode()[LENGTH_BYTES..]).unwrap()
        else {
            panic!()
        };
        assert_eq!(cut.name, longest);
        let mut bytes = named("Clara").encode();
        *bytes.last_mut().unwrap() = 0xff;
        assert_eq!(Message::decode(&bytes[LENGTH_BYTES..]), Err(MessageError), "letters that are none");
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
