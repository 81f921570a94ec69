//! A machine's public key as people read, send and paste it.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use curve25519_dalek::edwards::CompressedEdwardsY;

/// Beginning of the text of a key.
const PREFIX: &str = "duet-key-";

/// An Ed25519 public key; its text is `duet-key-` and 48 characters: the base64 (RFC 4648, section 5) of its 32 bytes and of
/// their CRC-32, so that a mistyped one is told at once. The base64 of the 32 bytes alone, 44 characters, is read as well.
///
/// It is a point that a private key can have: verifiers accept signatures that anybody can make for points of small
/// order, of which 32 zero bytes are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Returns the key with these bytes (RFC 8032 encoding of the point); none if no private key belongs to them: no
    /// point of the curve, one of small or mixed order, or not the point's own encoding.
    pub fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        let point = CompressedEdwardsY(bytes).decompress()?;
        // No point that can be encoded in a second way is of prime order, so this leaves one encoding for each.
        (!point.is_small_order() && point.is_torsion_free()).then_some(Self(bytes))
    }

    /// Returns what the owner of this key and the owner of an Ed25519 private key share, and nobody else: X25519 (RFC 7748)
    /// of both keys, as points of that curve. `secret`: the first half of the private key's SHA-512 (RFC 8032, section
    /// 5.1.5).
    pub fn agree(&self, secret: [u8; 32]) -> Option<[u8; 32]> {
        Some(CompressedEdwardsY(self.0).decompress()?.to_montgomery().mul_clamped(secret).0)
    }

    /// Returns the first of the characters that are its own: enough to tell it from others at a glance, and the name of a peer that
    /// has none.
    pub fn start(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0[..6])
    }

    /// Returns the key's bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A text that is not a public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPublicKey {
    /// The text is no key's.
    #[error(
        "`{0}` is not a public key: it takes the line that begins with `duet-key-`, as `sender identity` or `receiver \
         identity` prints it on the other machine"
    )]
    Text(String),
    /// A character was lost or changed.
    #[error("`{0}` is not whole: a character of the key is wrong or missing; copy the whole line again")]
    Damaged(String),
    /// No machine's key.
    #[error(
        "`{0}` is no machine's key: no private key belongs to it, and anybody could sign for it; put the line \
         here that `sender identity` or `receiver identity` prints on the other machine"
    )]
    Unsafe(String),
}

impl FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = match text.trim().strip_prefix(PREFIX) {
            Some(coded) => {
                let whole = || {
                    let bytes = <[u8; 36]>::try_from(URL_SAFE_NO_PAD.decode(coded).ok()?).ok()?;
                    let (key, sum) = bytes.split_first_chunk::<32>()?;
                    (sum == checksum(key)).then_some(*key)
                };
                whole().ok_or_else(|| InvalidPublicKey::Damaged(text.to_owned()))?
            }
            None => {
                let bytes = STANDARD.decode(text.trim()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
                bytes.ok_or_else(|| InvalidPublicKey::Text(text.to_owned()))?
            }
        };
        Self::from_bytes(bytes).ok_or_else(|| InvalidPublicKey::Unsafe(text.to_owned()))
    }
}

fn checksum(key: &[u8; 32]) -> [u8; 4] {
    crc32fast::hash(key).to_be_bytes()
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.0[..], &checksum(&self.0)].concat();
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Returns true if both texts are of one key, in whatever form, or the same.
pub fn is_same_key(one: &str, other: &str) -> bool {
    match (one.parse::<PublicKey>(), other.parse::<PublicKey>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.trim() == other.trim(),
    }
}

/// Returns true if the text is meant as a key, right or wrong.
pub fn looks_like_key(text: &str) -> bool {
    text.trim().starts_with(PREFIX) || text.parse::<PublicKey>().is_ok()
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};

    use super::*;

    /// The public key of RFC 8032's first test vector.
    const SOUND: [u8; 32] = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
        0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
    ];

    /// Returns every encoding whose 255 bits of y are `low` + 2^255 - 19 or `low`, with both signs of x.
    fn encodings(low: u8) -> [[u8; 32]; 4] {
        let mut plain = [0; 32];
        plain[0] = low;
        let mut beyond = [0xff; 32];
        beyond[0] = 0xed + low;
        beyond[31] = 0x7f;
        let negative = |mut bytes: [u8; 32]| {
            bytes[31] |= 0x80;
            bytes
        };
        [plain, beyond, negative(plain), negative(beyond)]
    }

    #[test]
    fn a_key_survives_its_text() {
        let key = PublicKey::from_bytes(SOUND).unwrap();
        let text = key.to_string();
        assert_eq!(text, "duet-key-11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo_ogay");
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(format!(" {text}\n").parse(), Ok(key));
    }

    #[test]
    fn a_key_without_checksum_as_printed_before_is_read() {
        let (key, old) = (PublicKey::from_bytes(SOUND).unwrap(), STANDARD.encode(SOUND));
        assert_eq!(old.parse(), Ok(key));
        assert!(is_same_key(&old, &format!("{key} ")) && looks_like_key(&old));
        let other = PublicKey::from_bytes(ED25519_BASEPOINT_POINT.compress().0).unwrap().to_string();
        assert!(!is_same_key(&old, &other) && is_same_key("ana", "ana") && !looks_like_key("ana"));
    }

    #[test]
    fn no_mistyped_key_is_taken_for_one() {
        let text = PublicKey::from_bytes(SOUND).unwrap().to_string();
        let alphabet = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['-', '_', '=', ' ']);
        let coded = PREFIX.len()..text.len();
        let changed = coded.clone().flat_map(|at| {
            let text = &text;
            alphabet.clone().map(move |other| format!("{}{other}{}", &text[..at], &text[at + 1..]))
        });
        let swapped = coded.clone().skip(1).map(|at| {
            let pair: String = text[at - 1..=at].chars().rev().collect();
            format!("{}{pair}{}", &text[..at - 1], &text[at + 1..])
        });
        let lost = coded.map(|at| format!("{}{}", &text[..at], &text[at + 1..]));
        for wrong in changed.chain(swapped).chain(lost).filter(|wrong| *wrong != text) {
            assert_eq!(wrong.parse::<PublicKey>(), Err(InvalidPublicKey::Damaged(wrong)));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in ["", "Zm9v", &"A".repeat(44), &format!("{}=", "é".repeat(43))] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(InvalidPublicKey::Text(wrong.to_owned())));
        }
    }

    #[test]
    fn points_of_small_order_are_refused_in_every_encoding() {
        for point in EIGHT_TORSION {
            assert_eq!(PublicKey::from_bytes(point.compress().0), None, "{point:?}");
        }
        // y = 0 and y = 1 are of small order, and these are all that can be written in another way, too.
        for bytes in encodings(0).into_iter().chain(encodings(1)) {
            assert_eq!(PublicKey::from_bytes(bytes), None, "{bytes:?}");
        }
        let zeros = format!("{}=", "A".repeat(43));
        assert_eq!(zeros.parse::<PublicKey>(), Err(InvalidPublicKey::Unsafe(zeros)));
    }

    #[test]
    fn only_the_shortest_encoding_of_a_point_on_the_curve_is_a_key() {
        // Without the test of the encoding, the points of 18 small y would have two keys each.
        let mut points = 0;
        for low in 0..19 {
            for bytes in encodings(low) {
                points += u32::from(CompressedEdwardsY(bytes).decompress().is_some());
                assert!(bytes[31] & 0x7f == 0 || PublicKey::from_bytes(bytes).is_none(), "{bytes:?}");
            }
        }
        assert!(points > 20, "{points}");
        let mut off_the_curve = SOUND;
        while CompressedEdwardsY(off_the_curve).decompress().is_some() {
            off_the_curve[0] ^= 1;
            off_the_curve[1] += 1;
        }
        assert_eq!(PublicKey::from_bytes(off_the_curve), None);
    }

    #[test]
    fn a_point_of_mixed_order_is_refused() {
        let sound = ED25519_BASEPOINT_POINT;
        assert!(PublicKey::from_bytes(sound.compress().0).is_some());
        for torsion in &EIGHT_TORSION[1..] {
            assert_eq!(PublicKey::from_bytes((sound + torsion).compress().0), None);
        }
    }
}
