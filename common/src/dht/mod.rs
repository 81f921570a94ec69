//! A client of BitTorrent's Mainline DHT: addresses are left at an existing network of millions of nodes, and found there, without
//! any server. It is a client only (BEP 43): it answers nobody and stores nothing for others.
//!
//! An *item* (BEP 44) is a value of at most 1000 bytes under a public key, signed, with a number that grows; the nodes nearest
//! to the hash of that key keep it for two hours. [`Client`] looks items up and stores them; [`Posting`] decides when, and which
//! of the values that come are believed. Nodes are anybody's: what one says costs a bounded number of packets and bytes.

mod bencode;
mod client;
mod lookup;
mod message;
mod posting;

pub use self::client::{Client, Event, JOBS_MAX};
pub use self::lookup::REQUESTS_MAX;
pub use self::message::{ID_BYTES, Id, Item, VALUE_BYTES_MAX, signable};
pub use self::posting::{Due, Pace, Posting, Refused, SEALED_NOTE_BYTES, TIMED_NOTE_BYTES, TimedNote};
