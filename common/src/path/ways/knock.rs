//! Knocks: small datagrams that open the ways through both routers, and prove them.
//!
//! A knock bears the time and a nonce, which the other side returns in its next knock on the same way. Whoever returns a nonce
//! has heard it there: such a way is open in both directions, and nobody has forged its address. A knock that is minutes old, or
//! that has come before, may have been sent by anybody who has once seen it.

use std::collections::BTreeSet;

/// Bytes of a knock as it is sent: its kind, what it says, and a tag that shows who made it.
pub const KNOCK_BYTES: usize = 1 + KNOCK_BODY_BYTES + KNOCK_TAG_BYTES;
/// Bytes of what it says.
pub const KNOCK_BODY_BYTES: usize = 24;
/// Bytes of its tag.
pub const KNOCK_TAG_BYTES: usize = 16;

/// Age of a knock, ahead or behind, that shows nothing any more, milliseconds: clocks differ.
const AGE_MAX_MS: u64 = 5 * 60 * 1_000;
/// Knocks that are remembered: those of some seconds from all ports to all addresses, as some overtake others.
const REMEMBERED_MAX: usize = 4_096;

/// The content of a knock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knock {
    /// Time at which it was made, on its maker's clock, milliseconds since 1970.
    pub made_ms: u64,
    /// To be returned on the same way; 0: nothing is.
    pub nonce: u64,
    /// The other side's nonce that came last on this way; 0: none has.
    pub echo: u64,
    /// True if its maker calls nobody, and waits for whoever does.
    pub is_idle: bool,
}

/// Bit of the time that stands for [`Knock::is_idle`].
const IDLE: u64 = 1 << 63;

impl Knock {
    /// Returns its bytes.
    pub fn encode(&self) -> [u8; KNOCK_BODY_BYTES] {
        let mut bytes = [0; KNOCK_BODY_BYTES];
        let made_ms = self.made_ms & !IDLE | if self.is_idle { IDLE } else { 0 };
        for (place, part) in bytes.chunks_exact_mut(8).zip([made_ms, self.nonce, self.echo]) {
            place.copy_from_slice(&part.to_be_bytes());
        }
        bytes
    }

    /// Returns the knock with these bytes.
    pub fn decode(bytes: &[u8; KNOCK_BODY_BYTES]) -> Self {
        let part = |at: usize| bytes[8 * at..8 * (at + 1)].iter().fold(0, |part, &byte| part << 8 | u64::from(byte));
        Self { made_ms: part(0) & !IDLE, nonce: part(1), echo: part(2), is_idle: part(0) & IDLE > 0 }
    }
}

/// The knocks that have come of late: each counts once.
#[derive(Clone, Debug, Default)]
pub struct HeardKnocks {
    /// Times at which they were made, and tags.
    known: BTreeSet<(u64, [u8; KNOCK_TAG_BYTES])>,
    /// Those made up to then may have come.
    forgotten_ms: u64,
}

impl HeardKnocks {
    /// Takes a knock that was made at that time and bears that tag; true if it is new. `now_ms`: milliseconds since 1970.
    pub fn is_new(&mut self, made_ms: u64, tag: [u8; KNOCK_TAG_BYTES], now_ms: u64) -> bool {
        if made_ms.abs_diff(now_ms) > AGE_MAX_MS || made_ms <= self.forgotten_ms || !self.known.insert((made_ms, tag)) {
            return false;
        }
        while self.known.len() > REMEMBERED_MAX {
            if let Some((made_ms, _)) = self.known.pop_first() {
                self.forgotten_ms = made_ms;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn tag(n: u64) -> [u8; KNOCK_TAG_BYTES] {
        u128::from(n).to_be_bytes()
    }

    #[test]
    fn a_knock_counts_once_and_for_some_minutes() {
        let mut heard = HeardKnocks::default();
        for (made, now, is_new) in [
            (NOW, NOW, true),
            (NOW, NOW, false),
            (NOW, NOW + AGE_MAX_MS, false),
            (NOW - AGE_MAX_MS, NOW, true),
            (NOW - AGE_MAX_MS - 1, NOW, false),
            (NOW + AGE_MAX_MS, NOW, true),
            (NOW + AGE_MAX_MS + 1, NOW, false),
            (0, NOW, false),
            (u64::MAX, NOW, false),
        ] {
            assert_eq!(heard.is_new(made, tag(1), now), is_new, "{made} at {now}");
        }
        assert!(heard.is_new(NOW, tag(2), NOW), "another one of the same moment");
    }

    proptest! {
        #[test]
        fn a_knock_survives_its_bytes(made_ms in 0..IDLE, nonce: u64, echo: u64, is_idle: bool) {
            let knock = Knock { made_ms, nonce, echo, is_idle };
            prop_assert_eq!(Knock::decode(&knock.encode()), knock);
        }

        #[test]
        fn none_counts_twice_whatever_comes_in_between(times in proptest::collection::vec(0..20_000_u64, 1..9_000)) {
            let (mut heard, mut counted) = (HeardKnocks::default(), BTreeSet::new());
            for (n, time) in times.into_iter().enumerate() {
                let knock = (NOW + time, tag(time % 7));
                if heard.is_new(knock.0, knock.1, NOW + n as u64) {
                    prop_assert!(counted.insert(knock), "{knock:?} counted twice");
                }
                prop_assert!(heard.known.len() <= REMEMBERED_MAX);
            }
        }
    }
}
