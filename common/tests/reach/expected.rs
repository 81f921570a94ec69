//! Ways through routers: where there must be one.

use std::time::Duration;

use common::netsim::Random;
use common::netsim::router::{Filtering, RouterKind, Spoilt};

/// Returns a router as homes have them.
pub(crate) fn kind(random: &mut Random) -> RouterKind {
    let (per_destination, filter) = match random.below(4) {
        0 => (false, Filtering::Open),
        1 => (false, Filtering::Address),
        2 => (false, Filtering::AddressAndPort),
        _ => (true, Filtering::AddressAndPort),
    };
    RouterKind { per_destination, filter, hairpin: random.chance(0.5), lasts: Duration::from_secs(30) }
}

/// The routers before one port of a machine, as far as they matter to others outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// True if each destination sees another port.
    pub(crate) is_symmetric: bool,
    /// True if only answers get in; else all from machines that were sent to do.
    pub(crate) is_strict: bool,
    /// True if everything gets in.
    pub(crate) is_open: bool,
    /// True if the other machine is told where the port is.
    pub(crate) is_told: bool,
}

/// Returns true if packets get through both ways between two ports.
pub(crate) fn punches(one: Before, other: Before) -> bool {
    // A port that nobody can know beforehand is no matter only to who lets every port in.
    let is_found = |one: Before, other: Before| !one.is_symmetric || !other.is_strict;
    // Where both show each destination another port, each answer comes from a port that was not asked: nobody takes it.
    if one.is_symmetric && other.is_symmetric {
        return false;
    }
    match (one.is_told, other.is_told) {
        (true, true) => is_found(one, other) && is_found(other, one),
        // Of whom nothing was told, that one must knock first, at a port that lets it in; the port that was told of a router that
        // shows each destination another one leads in for a server only, unless it lets in all.
        (false, true) => !other.is_strict && (!other.is_symmetric || other.is_open) && is_found(other, one),
        (true, false) => !one.is_strict && (!one.is_symmetric || one.is_open) && is_found(one, other),
        (false, false) => false,
    }
}

/// Returns what stands before the ports from which a machine behind these routers gets out; the first router spoils one.
/// `has_ticket`: whether what was told by a ticket is true still.
pub(crate) fn ports(chain: &[RouterKind], spoilt: Option<Spoilt>, has_mailbox: bool, has_ticket: bool) -> Vec<Before> {
    let is_strict = chain.iter().any(|kind| kind.filter == Filtering::AddressAndPort);
    let is_symmetric = chain.iter().any(|kind| kind.per_destination);
    let is_open = chain.iter().all(|kind| kind.filter == Filtering::Open);
    let other = Before { is_symmetric, is_strict, is_open, is_told: has_mailbox };
    // A router that shows each destination another port shows another one when it starts anew.
    let is_symmetric = is_symmetric || spoilt.is_some();
    let first = Before { is_symmetric, is_told: has_mailbox || has_ticket || !is_symmetric, ..other };
    match spoilt {
        None => vec![first],
        Some(Spoilt::Kept) => vec![first, other],
        Some(Spoilt::Blocked) => vec![other],
    }
}
