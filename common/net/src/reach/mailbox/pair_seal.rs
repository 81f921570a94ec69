//! The name of two machines' mailbox, and the seals of their notes, from the secret of the pair.
//!
//! That is the same for all times: who gets hold of one of the two private keys can open notes of the past, which have
//! addresses and nothing else.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::config::PublicKey;
use common::path::ways::Candidate;
use common::reach::{NOTE_BYTES, Note};
use ring::hmac::{Tag, sign};

use crate::failure::Failure;
use crate::identity::Identity;
use crate::reach::pair;
use crate::reach::proof::Cipher;

/// Bytes of a name.
const NAME_BYTES: usize = 16;

/// Name and keys for the notes of a machine and one other.
pub(crate) struct PairSeal {
    /// The name of the mailbox, and in it this machine's and the other's, which are the same each time.
    pub(super) mailbox: String,
    pub(super) own_name: String,
    pub(super) other_name: String,
    own: Cipher,
    other: Cipher,
}

impl PairSeal {
    /// Of the machine with the key `own` and the one with the key `other`; none if that is its own one.
    pub(crate) fn new(own: &Identity, other: &PublicKey) -> Option<Self> {
        let secret = pair::secret(own, other)?;
        let of = |what: &[u8], key: &PublicKey| sign(&secret, &[what, key.as_bytes()].concat());
        let cipher = |key: &PublicKey| Cipher::new(of(b"seal", key).as_ref());
        let own_key = own.public_key();
        Some(Self {
            mailbox: name(&sign(&secret, b"mailbox")),
            own_name: name(&of(b"side", &own_key)),
            other_name: name(&of(b"side", other)),
            own: cipher(&own_key)?,
            other: cipher(other)?,
        })
    }

    /// Returns a sealed note of this machine, which is at these addresses.
    pub(super) fn seal(&self, candidates: Vec<Candidate>) -> Result<String, Failure> {
        let note = Note { candidates }.encode().to_vec();
        Ok(URL_SAFE_NO_PAD.encode(self.own.seal([], note)?))
    }

    /// Returns the addresses in a note of the other machine; none if this is none.
    pub(super) fn open(&self, sealed: &str) -> Option<Vec<Candidate>> {
        if sealed.len() > 2 * NOTE_BYTES {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        Note::decode(&self.other.open([], &sealed)?).map(|note| note.candidates)
    }
}

fn name(tag: &Tag) -> String {
    URL_SAFE_NO_PAD.encode(&tag.as_ref()[..NAME_BYTES])
}

#[cfg(test)]
mod tests {
    use common::path::ways::Kind;

    use super::*;

    #[test]
    fn both_machines_and_nobody_else_have_the_same_mailbox_and_open_each_others_notes() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        let seal = |own: &Identity, other: &Identity| PairSeal::new(own, &other.public_key()).unwrap();
        let (one, other) = (seal(&a, &b), seal(&b, &a));
        assert_eq!(one.mailbox, other.mailbox);
        assert_eq!((&one.own_name, &one.other_name), (&other.other_name, &other.own_name));
        let names = [&one.mailbox, &one.own_name, &one.other_name];
        assert!(names[0] != names[1] && names[1] != names[2] && names.iter().all(|name| name.len() == 22));
        let candidates = vec![Candidate::new(Kind::ServerReflexive, "203.0.113.5:20000".parse().unwrap()).unwrap()];
        let note = one.seal(candidates.clone()).unwrap();
        assert_eq!(other.open(&note), Some(candidates.clone()));
        assert_eq!(one.open(&note), None, "its own one came back");
        for (own, peer) in [(&c, &a), (&c, &b), (&a, &c), (&b, &c)] {
            let stranger = seal(own, peer);
            assert_ne!(stranger.mailbox, one.mailbox);
            assert_eq!(stranger.open(&note), None);
        }
        assert_ne!(one.seal(candidates).unwrap(), note);
        assert_eq!(one.seal(Vec::new()).unwrap().len(), note.len(), "its length tells nothing");
        for at in 0..note.len() {
            let mut changed = note.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'E' } else { b'A' };
            assert_eq!(other.open(std::str::from_utf8(&changed).unwrap()), None);
            assert_eq!(other.open(&note[..at]), None);
        }
        assert_eq!(other.open(&note.repeat(3)), None);
        assert!(PairSeal::new(&a, &a.public_key()).is_none());
    }
}
