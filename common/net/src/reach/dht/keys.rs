//! The items of two machines: where each publishes its addresses on a day, and what seals and signs them, from what only the two
//! know. That is the secret of the pair, or at an introduction that of the ticket.
//!
//! An item's public key is all that a node learns of it. It follows from the secret as a random number does, is another each
//! day and for each of the two, and so is its seal.

use common::config::PublicKey;
use common::dht::{Id, Item, SEALED_NOTE_BYTES, TimedNote, signable};
use common::path::ways::Role;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::hmac::{Key, sign};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::failure::Failure;
use crate::identity::Identity;
use crate::reach::pair;
use crate::reach::proof::{Cipher, Secret};

/// The items of this machine and one other.
pub(crate) struct ItemKeys {
    secret: Key,
    own: Vec<u8>,
    other: Vec<u8>,
}

impl ItemKeys {
    /// Of the machine with the key `own` and the one with the key `other`; none if that is its own one.
    pub(crate) fn of_peers(own: &Identity, other: &PublicKey) -> Option<Self> {
        let names = [own.public_key().as_bytes().to_vec(), other.as_bytes().to_vec()];
        let [own_name, other_name] = names;
        Some(Self { secret: pair::secret(own, other)?, own: own_name, other: other_name })
    }

    /// Of the two machines of an introduction.
    pub(in crate::reach) fn of_ticket(ticket: &Secret, own: Role) -> Self {
        let (joins, invites) = (b"joins".to_vec(), b"invites".to_vec());
        let (own, other) = if own == Role::Dials { (joins, invites) } else { (invites, joins) };
        Self { secret: ticket.items(), own, other }
    }

    /// Returns this machine's item of a day since 1970.
    pub(super) fn own(&self, day: u64) -> Option<Slot> {
        self.slot(&self.own, day)
    }

    /// Returns the other machine's.
    pub(super) fn other(&self, day: u64) -> Option<Slot> {
        self.slot(&self.other, day)
    }

    fn slot(&self, of: &[u8], day: u64) -> Option<Slot> {
        let derived = |what: &[u8]| sign(&self.secret, &[what, &day.to_be_bytes(), of].concat());
        let pair = Ed25519KeyPair::from_seed_unchecked(derived(b"dht item").as_ref()).ok()?;
        let key = *pair.public_key().as_ref().first_chunk()?;
        let target = Id(*digest(&SHA1_FOR_LEGACY_USE_ONLY, &key).as_ref().first_chunk()?);
        Some(Slot { pair, key, target, cipher: Cipher::new(derived(b"dht seal").as_ref())? })
    }
}

/// An item of one machine and day.
pub(super) struct Slot {
    pair: Ed25519KeyPair,
    key: [u8; 32],
    pub(super) target: Id,
    cipher: Cipher,
}

impl Slot {
    /// Returns the item with these addresses. `number`: greater than that of the one before.
    pub(super) fn item(&self, note: &TimedNote, number: i64) -> Result<Item, Failure> {
        let value = self.cipher.seal([], note.encode())?;
        let signed = self.pair.sign(&signable(number, &value));
        let mut signature = [0; 64];
        signature.copy_from_slice(signed.as_ref());
        Ok(Item { target: self.target, key: self.key, number, value, signature })
    }

    /// Returns what is sealed in a value of the item; none if it is nobody's.
    pub(super) fn open(&self, value: &[u8]) -> Option<Vec<u8>> {
        if value.len() != SEALED_NOTE_BYTES {
            return None;
        }
        self.cipher.open([], value)
    }
}

#[cfg(test)]
mod tests {
    use common::path::ways::{Candidate, Kind};
    use common::reach::Note;
    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    const DAY: u64 = 20_783;

    fn note(last: u8) -> TimedNote {
        let candidate = Candidate::new(Kind::ServerReflexive, ([203, 0, 113, last], 20_000).into()).unwrap();
        TimedNote {
            made_ms: 1_795_651_200_000,
            until_ms: 1_795_651_300_000,
            note: Note { candidates: vec![candidate; usize::from(last % 8)] },
        }
    }

    #[test]
    fn only_the_two_know_their_items_and_open_each_others() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        let of = |own: &Identity, other: &Identity| ItemKeys::of_peers(own, &other.public_key()).unwrap();
        let (one, other) = (of(&a, &b), of(&b, &a));
        let (mine, theirs) = (one.own(DAY).unwrap(), other.other(DAY).unwrap());
        let item = mine.item(&note(5), 7).unwrap();
        assert_eq!((mine.target, item.key, item.value.len()), (theirs.target, theirs.key, SEALED_NOTE_BYTES));
        assert_eq!(theirs.open(&item.value), Some(note(5).encode()));
        let signed = UnparsedPublicKey::new(&ED25519, item.key);
        assert!(signed.verify(&signable(7, &item.value), &item.signature).is_ok());
        assert!(signed.verify(&signable(8, &item.value), &item.signature).is_err());
        for wrong in
            [one.other(DAY), one.own(DAY + 1), other.other(DAY - 1), of(&c, &a).other(DAY), of(&c, &b).other(DAY)]
        {
            let wrong = wrong.unwrap();
            assert!(wrong.target != mine.target && wrong.open(&item.value).is_none());
        }
        for length in 0..=1000 {
            let mut value = item.value.clone();
            value.resize(length, 0);
            assert_eq!(theirs.open(&value).is_some(), length == SEALED_NOTE_BYTES, "{length}");
        }
        for at in 0..item.value.len() {
            let mut value = item.value.clone();
            value[at] ^= 1;
            assert_eq!(theirs.open(&value), None, "{at}");
        }
        assert!(ItemKeys::of_peers(&a, &a.public_key()).is_none());
    }

    #[test]
    fn the_items_of_a_ticket_are_those_of_whoever_has_it() {
        let [joins, invites] = [Role::Dials, Role::Waits].map(|role| ItemKeys::of_ticket(&Secret::new(&[7; 16]), role));
        let item = joins.own(DAY).unwrap().item(&note(1), 1).unwrap();
        assert_eq!(invites.other(DAY).unwrap().open(&item.value), Some(note(1).encode()));
        assert!(invites.own(DAY).unwrap().target != item.target);
        let another = ItemKeys::of_ticket(&Secret::new(&[8; 16]), Role::Waits).other(DAY).unwrap();
        assert!(another.target != item.target && another.open(&item.value).is_none());
    }

    /// Returns the longest run of bytes that both have.
    fn common_run(one: &[u8], other: &[u8]) -> usize {
        let run = |(at, from): (usize, usize)| one[at..].iter().zip(&other[from..]).take_while(|(a, b)| a == b).count();
        let starts = (0..one.len()).flat_map(|at| (0..other.len()).map(move |from| (at, from)));
        starts.map(run).max().unwrap_or(0)
    }

    /// Somebody who knows both public keys, and another pair, watches what is published for two days.
    #[test]
    fn what_is_published_cannot_be_linked_to_keys_or_to_the_day_before() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        let of = |own: &Identity, other: &Identity| ItemKeys::of_peers(own, &other.public_key()).unwrap();
        // The same addresses at the same time, so that all that could be alike would be.
        let published: Vec<_> = [of(&a, &b), of(&b, &a), of(&a, &c)]
            .iter()
            .flat_map(|keys| [DAY, DAY + 1].map(|day| keys.own(day).unwrap().item(&note(3), 1).unwrap()))
            .chain([of(&a, &b).own(DAY).unwrap().item(&note(0), 1).unwrap()])
            .collect();
        assert!(published.iter().all(|item| item.value.len() == SEALED_NOTE_BYTES), "one size, whatever is in it");
        let publics = [a.public_key(), b.public_key()].map(|key| *key.as_bytes());
        let addresses = note(3).encode();
        for (n, item) in published.iter().enumerate() {
            let seen = [item.key.as_slice(), &item.target.0, &item.value, &item.signature];
            for known in publics.iter().map(<[u8; 32]>::as_slice).chain([addresses.as_slice()]) {
                for seen in seen {
                    assert!(common_run(seen, known) < 5, "something of a public key or an address is seen");
                }
            }
            // The last is of the first's item, so its key is.
            for other in published[..published.len() - 1].iter().skip(n + 1) {
                assert!(item.key != other.key && item.target != other.target);
                for (seen, then) in
                    seen.iter().zip([other.key.as_slice(), &other.target.0, &other.value, &other.signature])
                {
                    assert!(common_run(seen, then) < 5, "two items share something");
                }
            }
        }
        // All that both public keys, a day and the words of this program give without the secret.
        let [first, second] = publics;
        for keys in [[first, second], [second, first]] {
            let guesses = [keys.concat(), keys[0].to_vec(), [b"duet notes".as_slice(), &keys.concat()].concat()];
            for guess in guesses {
                let guessed = ItemKeys {
                    secret: Key::new(ring::hmac::HMAC_SHA256, &guess),
                    own: keys[0].to_vec(),
                    other: keys[1].to_vec(),
                };
                for day in [DAY, DAY + 1] {
                    for slot in [guessed.own(day).unwrap(), guessed.other(day).unwrap()] {
                        assert!(published.iter().all(|item| item.key != slot.key && slot.open(&item.value).is_none()));
                    }
                }
            }
        }
        // Nor does one of the two show a third what it has with the other.
        let theirs = [of(&c, &a), of(&c, &b)];
        for slot in theirs.iter().flat_map(|keys| [keys.own(DAY).unwrap(), keys.other(DAY).unwrap()]) {
            assert!(published[..4].iter().all(|item| item.key != slot.key && slot.open(&item.value).is_none()));
        }
    }
}
