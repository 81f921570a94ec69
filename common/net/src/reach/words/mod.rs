//! Four words instead of a ticket: `pair` shows them on one machine and takes them on the other.
//!
//! Both machines meet at a mailbox server, which anybody may host and nobody need trust. The first word is the place at
//! which they meet; all four are the password of an exchange of keys (SPAKE2, RFC 9382), whose messages tell nothing of
//! the password: who guesses must ask one of the two, and after three wrong guesses the words are dead. What the
//! exchange gives is bound to the keys of both machines. It seals the ticket, and the answer to it if there is one; from
//! there on all is as with a ticket that a person has carried.

mod courier;
mod failures;
mod list;
mod mailbox;
mod seal;

pub(super) use courier::Courier;
pub(super) use failures::{ANEW, WordFailures};
pub use list::{Words, WordsError};
pub use mailbox::PairError;
pub(super) use mailbox::{Client, Event};
pub(super) use seal::Side;
