//! Connections between two machines behind routers: tickets that introduce them, addresses at which each may be
//! reached, their messages at the introduction, and the decision when to knock where and when to dial.
//!
//! Both sides send small datagrams, knocks, to every address at which the other may be. A knock opens the way for
//! answers through the router of whoever sends it, and each returns what the other side's last one has borne. So a side knows
//! where it has been heard, and there one side dials: one handshake, over a path that works. During the call its packets may
//! change to a better way, and back. Addresses are told by others and may be anybody's: what goes to one that has not answered
//! is counted in one [`Allowance`].
//!
//! Some routers spoil a port: they keep it for another machine, let it out nowhere, or hold on to what they knew of it. So a
//! round of knocks that was heard nowhere is followed by one from another port of this machine, of which the other is told
//! like of all addresses. The first port stays open, and knocks on: others have stored it, and nothing takes its place.

mod allowance;
mod candidate;
mod introduction;
mod knock;
mod meeting;
mod note;
mod outside;
mod probe;
mod remembering;
mod rounds;
mod scope;
mod steering;
mod tellings;
mod ticket;

pub use self::allowance::{Allowance, Origin, Quota, TIMES};
pub use self::candidate::{ADDRESSES_MAX, Candidate, Kind, canonical, is_of_one_cable, merge, usable};
pub use self::introduction::{Introduced, LENGTH_BYTES, MAC_BYTES, MESSAGE_BYTES_MAX, Message, MessageError};
pub use self::knock::{HeardKnocks, KNOCK_BODY_BYTES, KNOCK_BYTES, KNOCK_TAG_BYTES, Knock};
pub use self::meeting::{Meeting, News, PLACES_MAX, Role, Route, Step, Via};
pub use self::note::{NOTE_BYTES, Note};
pub use self::outside::{Finding, Ipv6, Opened, Outside, Place, Port, Router};
pub use self::probe::{PROBE_BYTES_MAX, Probe, SEALED_BYTES};
pub use self::remembering::{FOUND_MAX, Remembering};
pub use self::rounds::Rounds;
pub use self::scope::Scope;
pub use self::steering::{Act, Steering};
pub use self::ticket::{PROOF_BYTES, Purpose, TICKET_LIFE_S, Ticket, TicketError};
