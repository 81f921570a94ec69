//! Questions and answers of a call's ends, which show the ways between them.

use super::candidate::{CANDIDATES_BYTES_MAX, Candidate, take};

/// Bytes of a question before its addresses, and of an answer: what it is, then numbers.
const QUESTION_HEAD_BYTES: usize = 1 + 8 + 8;
const ANSWER_BODY_BYTES: usize = 1 + 8;
/// Longest question with all its addresses, bytes, unsealed and without what makes it long on purpose.
pub const QUESTION_BODY_BYTES_MAX: usize = QUESTION_HEAD_BYTES + CANDIDATES_BYTES_MAX;
/// Bytes of a sealed probe beyond its own: its kind, a nonce of the seal, a tag.
pub const SEALED_BYTES: usize = 1 + 12 + 16;
/// Bytes of a sealed question that tells no addresses and is not made long.
pub const QUESTION_BYTES: usize = SEALED_BYTES + QUESTION_HEAD_BYTES + 1;
/// Bytes of a sealed answer.
pub const ANSWER_BYTES: usize = SEALED_BYTES + ANSWER_BODY_BYTES;

const _: () = assert!(ANSWER_BYTES <= QUESTION_BYTES, "an answer is never longer than what has asked for it");
const _: () = assert!(SEALED_BYTES + QUESTION_BODY_BYTES_MAX <= 1200, "it fits a datagram wherever QUIC works");

/// A question or an answer, as sealed for the call's other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Asks for an answer on the same way.
    Question {
        /// Number of the question, higher than all before.
        number: u64,
        /// Random bits that the answer returns: who has not heard the question cannot answer it.
        nonce: u64,
        /// All addresses at which the one who asks may be; none: as told before.
        candidates: Vec<Candidate>,
    },
    /// Answers the question with that nonce.
    Answer(u64),
}

const QUESTION: u8 = 1;
const ANSWER: u8 = 2;

impl Probe {
    /// Returns its bytes; a question is filled with zeros up to `length`.
    pub fn encode(&self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length.max(QUESTION_BODY_BYTES_MAX));
        match self {
            Self::Question { number, nonce, candidates } => {
                bytes.push(QUESTION);
                bytes.extend(number.to_be_bytes());
                bytes.extend(nonce.to_be_bytes());
                Candidate::encode_all(candidates, &mut bytes);
                bytes.resize(bytes.len().max(length), 0);
            }
            Self::Answer(nonce) => {
                bytes.push(ANSWER);
                bytes.extend(nonce.to_be_bytes());
            }
        }
        bytes
    }

    /// Returns the probe with these bytes; none if there is none.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let kind = take::<1>(&mut bytes)?[0];
        let first = u64::from_be_bytes(take(&mut bytes)?);
        match kind {
            QUESTION => {
                let (number, nonce) = (first, u64::from_be_bytes(take(&mut bytes)?));
                let candidates = Candidate::decode_all(&mut bytes)?;
                Some(Self::Question { number, nonce, candidates })
            }
            ANSWER if bytes.is_empty() => Some(Self::Answer(first)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Kind;
    use super::*;

    #[test]
    fn probes_survive_their_bytes_and_their_length() {
        let candidates = ["[2001:db8::1]:4820", "203.0.113.5:1"].map(|text| text.parse().unwrap());
        let candidates: Vec<_> =
            candidates.into_iter().map(|address| Candidate::new(Kind::ServerReflexive, address).unwrap()).collect();
        let question = Probe::Question { number: 7, nonce: u64::MAX - 7, candidates };
        for length in [0, 1_400] {
            let bytes = question.encode(length);
            assert!(bytes.len() == length || length == 0 && bytes.len() <= QUESTION_BODY_BYTES_MAX);
            assert_eq!(Probe::decode(&bytes), Some(question.clone()));
        }
        let answer = Probe::Answer(u64::MAX).encode(1_400);
        assert_eq!(
            (answer.len(), Probe::decode(&answer)),
            (9, Some(Probe::Answer(u64::MAX))),
            "never longer than asked"
        );
        for end in 0..9 {
            assert_eq!(Probe::decode(&answer[..end]), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(probe) = Probe::decode(&bytes) {
                prop_assert_eq!(Probe::decode(&probe.encode(0)), Some(probe));
            }
        }
    }
}
