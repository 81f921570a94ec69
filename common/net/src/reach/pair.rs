//! The secret of two machines that know each other's keys.
//!
//! The secret is X25519 (RFC 7748) between the private Ed25519 key of one and the public one of the other, each as a point of
//! that curve: the same key for both is safe where the two uses cannot be confused, as here, where what comes out of one is
//! only ever hashed with a name of its own (Thormarker, "On using the same key pair for Ed25519 and an X25519 based KEM", 2021).

use common::config::PublicKey;
use ring::hmac::{HMAC_SHA256, Key, sign};

use crate::identity::Identity;

/// Returns the key that the machines with the keys `own` and `other` make names and other keys with, and nobody else can
/// compute; none if they are the same.
pub(super) fn secret(own: &Identity, other: &PublicKey) -> Option<Key> {
    let shared = own.agree(other).filter(|_| own.public_key() != *other)?;
    let mut keys = [*own.public_key().as_bytes(), *other.as_bytes()];
    keys.sort_unstable();
    let secret = sign(&Key::new(HMAC_SHA256, b"duet notes"), &[shared, keys[0], keys[1]].concat());
    Some(Key::new(HMAC_SHA256, secret.as_ref()))
}
