//! The ways between two machines, in the words of ICE (RFC 8445): each gathers *candidates*, addresses at which it may be; a
//! *pair* is a local *base* and a candidate of the other machine; a *check* goes there and bears a nonce, and who returns it has
//! heard it there; of the pairs that are proved so, one is *nominated*. Candidates come as they are found (RFC 8838).
//!
//! Before a call the checks are knocks, small datagrams that open the ways through both routers ([`Meeting`]): one side dials the
//! pair that it nominates, so that there is one handshake, over a path that works. During the call they are sealed questions
//! ([`Steering`]), and each end nominates the pair on which it sends. Both keep one kind of checklist, with one
//! table of kinds, bases and origins. Addresses are told by others and may be anybody's: what goes to one that has not answered
//! is counted in one [`Allowance`].
//!
//! Some routers spoil a port: they keep it for another machine, let it out nowhere, or hold on to what they knew of it. So a
//! round of knocks that was heard nowhere is followed by one from another port of this machine, of which the other is told
//! like of all addresses. The first port stays open, and knocks on: others have stored it, and nothing takes its place.

mod allowance;
mod candidate;
mod checklist;
mod kinds;
mod knock;
mod meeting;
mod probe;
mod quota;
mod rounds;
mod scope;
mod seeking;
mod steering;
mod tellings;

pub use self::allowance::{Allowance, TIMES};
pub(crate) use self::candidate::take;
pub use self::candidate::{ADDRESSES_MAX, CANDIDATES_BYTES_MAX, Candidate, canonical, is_of_one_cable, merge, usable};
pub use self::kinds::{Base, Kind, Origin, Pair};
pub use self::knock::{HeardKnocks, KNOCK_BODY_BYTES, KNOCK_BYTES, KNOCK_TAG_BYTES, Knock};
pub use self::meeting::{Meeting, Role, Step};
pub use self::probe::{ANSWER_BYTES, Probe, QUESTION_BODY_BYTES_MAX, QUESTION_BYTES, SEALED_BYTES};
pub use self::quota::Quota;
pub use self::rounds::Rounds;
pub use self::scope::Scope;
pub use self::seeking::PLACES_MAX;
pub use self::steering::{Act, Steering};
