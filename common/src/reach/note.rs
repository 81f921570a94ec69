//! Note that a machine leaves for another at a mailbox server: its addresses of now.

use crate::path::ways::{CANDIDATES_BYTES_MAX, Candidate, take};

/// Bytes of a note, whatever it says: its length tells nothing.
pub const NOTE_BYTES: usize = 1 + CANDIDATES_BYTES_MAX;

/// Longest time for which a note is believed, milliseconds.
pub const NOTE_LIFE_MS: u64 = 3 * 60 * 60 * 1000;

/// The first byte.
const VERSION: u8 = 1;

/// A note, as sealed for the other machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Addresses at which its writer may be.
    pub candidates: Vec<Candidate>,
}

impl Note {
    /// Returns its bytes, filled with zeros.
    pub fn encode(&self) -> [u8; NOTE_BYTES] {
        let mut bytes = vec![VERSION];
        Candidate::encode_all(&self.candidates, &mut bytes);
        let mut note = [0; NOTE_BYTES];
        note[..bytes.len()].copy_from_slice(&bytes);
        note
    }

    /// Returns the note with these bytes; none if there is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes.get(..NOTE_BYTES).filter(|note| note.len() == bytes.len())?;
        match take(&mut bytes)? {
            [VERSION] => Candidate::decode_all(&mut bytes).map(|candidates| Self { candidates }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ways::ADDRESSES_MAX;
    use crate::path::ways::Kind;

    #[test]
    fn notes_survive_their_bytes_and_are_all_of_one_length() {
        let v6 = |n: usize| Candidate::new(Kind::HostIpv6, format!("[2001:db8::{n}]:4820").parse().unwrap()).unwrap();
        for count in 0..=ADDRESSES_MAX {
            let note = Note { candidates: (1..=count).map(v6).collect() };
            let bytes = note.encode();
            assert_eq!(Note::decode(&bytes), Some(note));
            assert_eq!(Note::decode(&bytes[1..]), None);
            assert_eq!(Note::decode(&[bytes.as_slice(), &[0]].concat()), None);
            let mut other = bytes;
            other[0] += 1;
            assert_eq!(Note::decode(&other), None, "of a later version");
            other = bytes;
            other[1] = ADDRESSES_MAX as u8 + 1;
            assert_eq!(Note::decode(&other), None);
        }
    }
}
