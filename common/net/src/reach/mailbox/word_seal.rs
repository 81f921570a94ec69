//! Keys from the words: an exchange that tells nobody the words, a proof that both sides have them, and sealed lines.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::config::PublicKey;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use spake2::{Ed25519Group, Identity, Password, Spake2};

use super::words::Words;

/// Side of a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It has shown the words.
    Shows,
    /// It was given them.
    Types,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Shows => Self::Types,
            Self::Types => Self::Shows,
        }
    }

    const fn label(self) -> &'static [u8] {
        match self {
            Self::Shows => b"shows",
            Self::Types => b"types",
        }
    }
}

/// Bytes of an exchange's message.
const MESSAGE_BYTES: usize = 33;
const KEY_BYTES: usize = 32;
/// Bytes of a proof.
pub(super) const PROOF_BYTES: usize = 32;

/// One side of an exchange of keys, before the other side's message.
pub(super) struct Exchange {
    side: Side,
    own: PublicKey,
    pake: Spake2<Ed25519Group>,
    message: Vec<u8>,
}

impl Exchange {
    /// Begins as `side` with the key `own` and the words.
    pub(super) fn new(side: Side, own: PublicKey, words: &Words) -> Self {
        let password = Password::new(words.to_string());
        let [shows, types] = [b"duet pair shows", b"duet pair types"].map(|name| Identity::new(name));
        let (pake, message) = match side {
            Side::Shows => Spake2::start_a(&password, &shows, &types),
            Side::Types => Spake2::start_b(&password, &shows, &types),
        };
        Self { side, own, pake, message }
    }

    /// Returns what the other side has to be told: this machine's key and the exchange's message.
    pub(super) fn message(&self) -> Vec<u8> {
        [self.own.as_bytes().as_slice(), &self.message].concat()
    }

    /// Takes the other side's message; `None` if it is none.
    pub(super) fn finish(self, message: &[u8]) -> Option<Seal> {
        let (key, message) = message.split_first_chunk::<KEY_BYTES>()?;
        let other = PublicKey::from_bytes(*key)?;
        if message.len() != MESSAGE_BYTES || other == self.own {
            return None;
        }
        let shared = Key::new(HMAC_SHA256, &self.pake.finish(message).ok()?);
        let keys = match self.side {
            Side::Shows => [self.own, other],
            Side::Types => [other, self.own],
        };
        Some(Seal { side: self.side, other, shared, keys: keys.map(|key| *key.as_bytes()).concat() })
    }
}

/// A secret that both sides have if they had the same words, and nobody else.
pub(super) struct Seal {
    side: Side,
    other: PublicKey,
    shared: Key,
    /// Keys of both machines: of the one that shows, then of the other.
    keys: Vec<u8>,
}

impl Seal {
    /// Returns the key that the other machine says is its own.
    pub(super) fn other(&self) -> PublicKey {
        self.other
    }

    fn label(&self, what: &[u8], side: Side) -> Vec<u8> {
        [b"duet pair ".as_slice(), what, b" ", side.label(), &self.keys].concat()
    }

    /// Returns the proof that this side has the words.
    pub(super) fn prove(&self) -> [u8; PROOF_BYTES] {
        let mut proof = [0; PROOF_BYTES];
        proof.copy_from_slice(sign(&self.shared, &self.label(b"proof", self.side)).as_ref());
        proof
    }

    /// Returns true if this is the other side's proof.
    pub(super) fn proves(&self, proof: &[u8]) -> bool {
        verify(&self.shared, &self.label(b"proof", self.side.other()), proof).is_ok()
    }

    fn cipher(&self, side: Side) -> Option<LessSafeKey> {
        let key = sign(&self.shared, &self.label(b"seal", side));
        UnboundKey::new(&CHACHA20_POLY1305, key.as_ref()).ok().map(LessSafeKey::new)
    }

    fn nonce(number: u32) -> Nonce {
        let mut bytes = [0; NONCE_LEN];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Nonce::assume_unique_for_key(bytes)
    }

    /// Seals line `number` of this side; a number is for one line.
    pub(super) fn seal(&self, number: u32, line: &str) -> Option<String> {
        let mut bytes = line.as_bytes().to_vec();
        self.cipher(self.side)?.seal_in_place_append_tag(Self::nonce(number), Aad::empty(), &mut bytes).ok()?;
        Some(text(&bytes))
    }

    /// Opens line `number` of the other side; `None` if it is not what that side has sealed.
    pub(super) fn open(&self, number: u32, sealed: &str) -> Option<String> {
        let mut bytes = bytes(sealed)?;
        let line = self.cipher(self.side.other())?.open_in_place(Self::nonce(number), Aad::empty(), &mut bytes).ok()?;
        String::from_utf8(line.to_vec()).ok()
    }
}

/// Returns bytes as text for a message.
pub(super) fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the bytes of such a text.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
