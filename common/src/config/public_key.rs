//! A machine's public key as people read, send and paste it.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// An Ed25519 public key; its text is the 44 base64 characters of its 32 bytes, as in WireGuard.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key with these bytes (RFC 8032 encoding of the point; not checked to be on the curve).
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A text that is not a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a public key: it takes the 44 characters that `sender identity` or `receiver identity` prints \
     on the other machine"
)]
pub struct InvalidPublicKey(String);

impl FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text.trim()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| InvalidPublicKey(text.to_owned()))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text() {
        let key = PublicKey::from_bytes(std::array::from_fn(|i| i as u8 * 7));
        let text = key.to_string();
        assert_eq!(text.len(), 44);
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(format!(" {text}\n").parse(), Ok(key));
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in ["", "Zm9v", &"A".repeat(44), &format!("{}=", "é".repeat(43))] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }
}
