//! The post box of two machines at a mailbox server, which anybody may host and nobody need trust. It is one box with two
//! kinds of keys: four words that a person says, and the secret that two machines share who know each other.
//!
//! **Words** instead of a ticket: `pair` shows them on one machine and takes them on the other. The first word is the place at
//! which they meet; all four are the password of an exchange of keys (SPAKE2, RFC 9382), whose messages tell nothing of
//! the password: who guesses must ask one of the two, and after three wrong guesses the words are dead. What the
//! exchange gives is bound to the keys of both machines. It seals the ticket, and the answer to it if there is one; from
//! there on all is as with a ticket that a person has carried.
//!
//! **Notes** tell a later call where a home is now ([`notes`]).

mod courier;
mod failures;
mod notes;
mod pair_seal;
mod pairing;
mod protocol;
mod socket;
mod word_seal;
mod words;

pub(super) use courier::Courier;
pub(super) use failures::{ANEW, WordFailures};
pub(crate) use notes::{Notes, PairSeal};
pub use pairing::PairError;
pub(super) use pairing::{Event, Pairing};
pub(super) use word_seal::Side;
pub use words::{Words, WordsError};
