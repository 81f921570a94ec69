//! Proofs that a machine knows a secret of two: knocks, the proofs of an introduction, and the seals of a call.

use common::config::PublicKey;
use common::path::ways::{HeardKnocks, KNOCK_BODY_BYTES, KNOCK_BYTES, KNOCK_TAG_BYTES, Knock, Role, SEALED_BYTES};
use common::reach::{MAC_BYTES, PROOF_BYTES, Ticket};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, Tag, sign, verify};
use ring::rand::{SecureRandom, SystemRandom};

use super::pair;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::quic::{KNOCK, PROBE, SEAL_BYTES, SHARED_BYTES};

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
        KnockKey { key: Key::new(HMAC_SHA256, sign(&self.0, b"duet knock").as_ref()), own }
    }

    /// Returns the secret of the items of this introduction in the DHT.
    pub(crate) fn items(&self) -> Key {
        Key::new(HMAC_SHA256, sign(&self.0, b"duet dht").as_ref())
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

/// A knock of the other side, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeardKnock {
    /// Its content.
    pub(super) knock: Knock,
    tag: [u8; KNOCK_TAG_BYTES],
}

impl HeardKnock {
    /// Returns true if it is of now and has not come before. `now_ms`: milliseconds since 1970.
    pub(super) fn is_new(&self, heard: &mut HeardKnocks, now_ms: u64) -> bool {
        heard.is_new(self.knock.made_ms, self.tag, now_ms)
    }
}

impl KnockKey {
    /// Returns the knocks of two machines that know each other's keys: nobody else can make them. None: the keys are the same.
    pub(crate) fn of_peers(own: &Identity, peer: &PublicKey, role: Role) -> Option<Self> {
        let secret = sign(&pair::secret(own, peer)?, b"knock");
        Some(Self { key: Key::new(HMAC_SHA256, secret.as_ref()), own: role })
    }

    /// Returns the knocks of a machine that nobody knows.
    pub(super) fn of_nobody() -> Result<Self, Failure> {
        Ok(Self { key: Key::new(HMAC_SHA256, &random::<KNOCK_TAG_BYTES>()?), own: Role::Waits })
    }

    /// Returns a knock of this side.
    pub(super) fn make(&self, knock: &Knock) -> [u8; KNOCK_BYTES] {
        let body = knock.encode();
        let mut bytes = [KNOCK; KNOCK_BYTES];
        bytes[1..=KNOCK_BODY_BYTES].copy_from_slice(&body);
        bytes[1 + KNOCK_BODY_BYTES..].copy_from_slice(&tag(&self.key, self.own, &body));
        bytes
    }

    /// Returns the knock of the other side that has these bytes; none if it is none, or one of this side's that came back.
    pub(super) fn of_peer(&self, bytes: &[u8]) -> Option<HeardKnock> {
        let (&KNOCK, rest) = bytes.split_first()? else { return None };
        let (body, theirs) = rest.split_first_chunk::<KNOCK_BODY_BYTES>()?;
        let theirs: [u8; KNOCK_TAG_BYTES] = theirs.try_into().ok()?;
        // The comparison need not take constant time: each knock has another tag.
        (tag(&self.key, other(self.own), body) == theirs)
            .then(|| HeardKnock { knock: Knock::decode(body), tag: theirs })
    }
}

fn other(role: Role) -> Role {
    match role {
        Role::Dials => Role::Waits,
        Role::Waits => Role::Dials,
    }
}

/// Returns the tag of a knock of the side in that role.
fn tag(key: &Key, role: Role, body: &[u8]) -> [u8; KNOCK_TAG_BYTES] {
    let label: &[u8] = match role {
        Role::Dials => b"dials",
        Role::Waits => b"waits",
    };
    first(&sign(key, &[label, body].concat()))
}

/// A key by which one side seals what the other opens, each message with a random nonce before it.
pub(super) struct Cipher(LessSafeKey);

impl Cipher {
    /// The cipher with these 32 bytes; none if they are not as many.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        UnboundKey::new(&CHACHA20_POLY1305, key).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// Returns the nonce and the sealed message, behind `front`, which is sealed with it.
    pub(super) fn seal<const N: usize>(&self, front: [u8; N], mut message: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let sealed =
            self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(front), &mut message);
        sealed.map_err(|_| Failure::network("a message cannot be sealed"))?;
        Ok([front.as_slice(), &nonce, &message].concat())
    }

    /// Returns the message that was sealed so; none if it was not.
    pub(super) fn open<const N: usize>(&self, front: [u8; N], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.strip_prefix(front.as_slice())?.split_at_checked(NONCE_LEN)?;
        let mut message = rest.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let length = self.0.open_in_place(nonce, Aad::from(front), &mut message).ok()?.len();
        message.truncate(length);
        Some(message)
    }
}

/// Seals and opens the probes of one call: only its two ends can read and make them, each its own.
pub struct Seals {
    own: Cipher,
    peer: Cipher,
}

const _: () = assert!(SEALED_BYTES == 1 + NONCE_LEN + MAX_TAG_LEN);

impl Seals {
    /// Makes the keys from what the connection's two ends know; none if the bytes are no keys.
    pub fn new(shared: &[u8; SEAL_BYTES], own: Role) -> Option<Self> {
        let (dials, waits) = shared.split_at(SEAL_BYTES / 2);
        let (own, peer) = if own == Role::Dials { (dials, waits) } else { (waits, dials) };
        Some(Self { own: Cipher::new(own)?, peer: Cipher::new(peer)? })
    }

    /// Returns a sealed probe.
    pub fn seal(&self, probe: Vec<u8>) -> Result<Vec<u8>, Failure> {
        self.own.seal([PROBE], probe)
    }

    /// Returns a probe of the other end; none if this is none.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.peer.open([PROBE], sealed)
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

    #[test]
    fn a_knock_is_known_to_the_other_side_only() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        let of = |own: &Identity, peer: &Identity, role| KnockKey::of_peers(own, &peer.public_key(), role).unwrap();
        let (one, other) = (of(&a, &b, Role::Dials), of(&b, &a, Role::Waits));
        let said = Knock { made_ms: 1, nonce: 2, echo: 3, is_idle: false };
        let knock = one.make(&said);
        assert_eq!(other.of_peer(&knock).unwrap().knock, said);
        assert!(one.of_peer(&knock).is_none(), "its own one came back");
        // A friend of both, who knows their public keys.
        assert!(of(&c, &b, Role::Waits).of_peer(&knock).is_none() && of(&c, &a, Role::Waits).of_peer(&knock).is_none());
        for at in 0..knock.len() {
            let mut changed = knock;
            changed[at] ^= 1;
            assert!(other.of_peer(&changed).is_none() && other.of_peer(&knock[..at]).is_none());
        }
        assert!(KnockKey::of_peers(&a, &a.public_key(), Role::Waits).is_none());
    }

    #[test]
    fn a_knock_counts_once() {
        let [a, b] = std::array::from_fn(|_| Identity::generate().unwrap());
        let one = KnockKey::of_peers(&a, &b.public_key(), Role::Dials).unwrap();
        let other = KnockKey::of_peers(&b, &a.public_key(), Role::Waits).unwrap();
        let (mut heard, now) = (HeardKnocks::default(), 1_700_000_000_000);
        let said = Knock { made_ms: now, nonce: 2, echo: 0, is_idle: false };
        let heard_knock = other.of_peer(&one.make(&said)).unwrap();
        assert_eq!([(); 2].map(|()| heard_knock.is_new(&mut heard, now)), [true, false]);
        let late = other.of_peer(&one.make(&Knock { nonce: 3, ..said })).unwrap();
        assert!(!late.is_new(&mut heard, now + 600_000) && late.is_new(&mut heard, now));
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
