//! Proofs that a machine knows a secret of two: knocks, the proofs of an introduction, and the seals of a call.

use common::config::PublicKey;
use common::reach::{MAC_BYTES, PROOF_BYTES, Role, Ticket};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, Tag, sign, verify};
use ring::rand::{SecureRandom, SystemRandom};

use crate::exit::Failure;
use crate::quic::{KNOCK, KNOCK_BYTES, PROBE, SEAL_BYTES, SHARED_BYTES};

/// Bytes of a knock that make each one different.
const NONCE_BYTES: usize = 8;

/// Returns random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::network("the system gives no random numbers"))?;
    Ok(bytes)
}

/// The secret of a ticket.
#[derive(Clone)]
pub(crate) struct Secret(Key);

impl Secret {
    pub(crate) fn new(secret: &[u8; PROOF_BYTES]) -> Self {
        Self(Key::new(HMAC_SHA256, secret))
    }

    /// Returns the key of this introduction's knocks.
    pub(crate) fn knocks(&self, own: Role) -> KnockKey {
        KnockKey::new(sign(&self.0, b"duet knock").as_ref(), own)
    }

    /// Returns the proof of the secret by the side in the role `speaker`, on the connection with the secret bytes
    /// `shared`.
    pub(crate) fn prove(&self, speaker: Role, keys: &Keys, shared: &[u8; SHARED_BYTES]) -> [u8; MAC_BYTES] {
        let mut bytes = [0; MAC_BYTES];
        bytes.copy_from_slice(sign(&self.0, &keys.message(speaker, shared)).as_ref());
        bytes
    }

    /// Returns true if `mac` is what the side in the role `speaker` has to say.
    pub(crate) fn proves(
        &self,
        mac: &[u8; MAC_BYTES],
        speaker: Role,
        keys: &Keys,
        shared: &[u8; SHARED_BYTES],
    ) -> bool {
        verify(&self.0, &keys.message(speaker, shared), mac).is_ok()
    }

    /// Returns the proof in an answer.
    pub(crate) fn seal(&self, answer: &Ticket) -> [u8; PROOF_BYTES] {
        first(&sign(&self.0, &[b"duet answer".as_slice(), &answer.told()].concat()))
    }
}

/// The keys of the two machines of an introduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) inviting: PublicKey,
    pub(crate) joining: PublicKey,
}

impl Keys {
    fn message(&self, speaker: Role, shared: &[u8; SHARED_BYTES]) -> Vec<u8> {
        let label: &[u8] = match speaker {
            Role::Dials => b"duet joins",
            Role::Waits => b"duet invites",
        };
        [label, self.inviting.as_bytes(), self.joining.as_bytes(), shared].concat()
    }
}

/// Makes and recognises knocks.
#[derive(Clone)]
pub(crate) struct KnockKey {
    key: Key,
    own: Role,
}

impl KnockKey {
    fn new(secret: &[u8], own: Role) -> Self {
        Self { key: Key::new(HMAC_SHA256, secret), own }
    }

    /// Returns the knocks of two machines that know each other's keys. Whoever knows both keys can knock; it gains a
    /// handshake, in which it must prove one of them.
    pub(crate) fn of_peers(own: &PublicKey, peer: &PublicKey, role: Role) -> Self {
        let (smaller, larger) = if own.as_bytes() < peer.as_bytes() { (own, peer) } else { (peer, own) };
        Self::new(&[b"duet knock".as_slice(), smaller.as_bytes(), larger.as_bytes()].concat(), role)
    }

    /// Returns a knock of this side.
    pub(crate) fn make(&self) -> Result<[u8; KNOCK_BYTES], Failure> {
        let mut knock = [KNOCK; KNOCK_BYTES];
        let nonce: [u8; NONCE_BYTES] = random()?;
        knock[1..=NONCE_BYTES].copy_from_slice(&nonce);
        knock[1 + NONCE_BYTES..].copy_from_slice(&self.tag(self.own, &nonce));
        Ok(knock)
    }

    /// Returns true if it is one of the other side: not one of this side's that came back.
    pub(crate) fn is_of_peer(&self, knock: &[u8]) -> bool {
        let other = match self.own {
            Role::Dials => Role::Waits,
            Role::Waits => Role::Dials,
        };
        let parts = knock.split_first().and_then(|(_, rest)| rest.split_at_checked(NONCE_BYTES));
        // The comparison need not take constant time: each nonce has another tag.
        parts.is_some_and(|(nonce, tag)| knock.first() == Some(&KNOCK) && self.tag(other, nonce) == *tag)
    }

    fn tag(&self, role: Role, nonce: &[u8]) -> [u8; PROOF_BYTES] {
        let label: &[u8] = match role {
            Role::Dials => b"dials",
            Role::Waits => b"waits",
        };
        first(&sign(&self.key, &[label, nonce].concat()))
    }
}

/// Seals and opens the probes of one call: only its two ends can read and make them, each its own.
pub(crate) struct Seals {
    own: LessSafeKey,
    peer: LessSafeKey,
}

/// Bytes of a sealed probe beyond its own.
pub(crate) const SEALED_BYTES: usize = 1 + NONCE_LEN + 16;

impl Seals {
    /// Makes the keys from what the connection's two ends know; none if the bytes are no keys.
    pub(crate) fn new(shared: &[u8; SEAL_BYTES], own: Role) -> Option<Self> {
        let (dials, waits) = shared.split_at(SEAL_BYTES / 2);
        let key = |bytes| UnboundKey::new(&CHACHA20_POLY1305, bytes).ok().map(LessSafeKey::new);
        let (own, peer) = match own {
            Role::Dials => (key(dials)?, key(waits)?),
            Role::Waits => (key(waits)?, key(dials)?),
        };
        Some(Self { own, peer })
    }

    /// Returns a sealed probe.
    pub(crate) fn seal(&self, mut probe: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let sealed =
            self.own.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from([PROBE]), &mut probe);
        sealed.map_err(|_| Failure::network("a probe cannot be sealed"))?;
        Ok([&[PROBE], nonce.as_slice(), &probe].concat())
    }

    /// Returns a probe of the other end; none if this is none.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (_, rest) = sealed.split_first().filter(|(first, _)| **first == PROBE)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN)?;
        let mut probe = rest.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let length = self.peer.open_in_place(nonce, Aad::from([PROBE]), &mut probe).ok()?.len();
        probe.truncate(length);
        Some(probe)
    }
}

/// Returns the first bytes of a tag.
fn first(tag: &Tag) -> [u8; PROOF_BYTES] {
    let mut bytes = [0; PROOF_BYTES];
    bytes.copy_from_slice(&tag.as_ref()[..PROOF_BYTES]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    #[test]
    fn a_knock_is_known_to_the_other_side_only() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap().public_key());
        let (one, other) = (KnockKey::of_peers(&a, &b, Role::Dials), KnockKey::of_peers(&b, &a, Role::Waits));
        let knock = one.make().unwrap();
        assert!(other.is_of_peer(&knock));
        assert!(!one.is_of_peer(&knock), "its own one came back");
        assert!(!KnockKey::of_peers(&c, &b, Role::Waits).is_of_peer(&knock));
        for at in 0..knock.len() {
            let mut changed = knock;
            changed[at] ^= 1;
            assert!(!other.is_of_peer(&changed) && !other.is_of_peer(&knock[..at]));
        }
        assert_ne!(one.make().unwrap(), knock);
    }

    #[test]
    fn a_seal_is_opened_by_the_other_end_of_the_call_only() {
        let shared: [u8; SEAL_BYTES] = std::array::from_fn(|at| at as u8);
        let (one, other) = (Seals::new(&shared, Role::Dials).unwrap(), Seals::new(&shared, Role::Waits).unwrap());
        let sealed = one.seal(vec![1, 2, 3]).unwrap();
        assert_eq!(sealed.len(), 3 + SEALED_BYTES);
        assert_eq!(other.open(&sealed), Some(vec![1, 2, 3]));
        assert_eq!(one.open(&sealed), None, "its own one came back");
        assert_eq!(Seals::new(&[9; SEAL_BYTES], Role::Waits).unwrap().open(&sealed), None, "of another call");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(other.open(&changed).is_none() && other.open(&sealed[..at]).is_none());
        }
        assert_ne!(one.seal(vec![1, 2, 3]).unwrap(), sealed);
    }

    #[test]
    fn a_proof_is_good_for_one_speaker_one_pair_and_one_connection() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap().public_key());
        let secret = Secret::new(&[7; PROOF_BYTES]);
        let (keys, shared) = (Keys { inviting: a, joining: b }, [9; SHARED_BYTES]);
        let mac = secret.prove(Role::Dials, &keys, &shared);
        assert!(secret.proves(&mac, Role::Dials, &keys, &shared));
        assert!(!secret.proves(&mac, Role::Waits, &keys, &shared), "said back");
        assert!(!secret.proves(&mac, Role::Dials, &Keys { inviting: a, joining: c }, &shared));
        assert!(!secret.proves(&mac, Role::Dials, &keys, &[8; SHARED_BYTES]), "replayed on another connection");
        assert!(!Secret::new(&[6; PROOF_BYTES]).proves(&mac, Role::Dials, &keys, &shared));
    }
}
