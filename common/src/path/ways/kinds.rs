//! The tables of ways: all that sets kinds of candidates, bases and origins apart. A new way through a router is a row here,
//! and whoever finds it; the checklist, its pacing and the allowance take the rest from the tables.

use std::net::SocketAddr;
use std::time::Duration;

use super::quota::Quota;
use super::scope::Scope;

/// Kinds of candidates, by their source. The order is that of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An IPv6 address of the machine: no router translates it.
    HostIpv6,
    /// An IPv4 address of the machine: its own house, or a machine without a router.
    Host,
    /// The router gave it when it was asked.
    Mapped,
    /// A server outside has seen it.
    ServerReflexive,
    /// Source of a check.
    PeerReflexive,
    /// A relay passes on what comes there, or what is sent there goes through one.
    Relayed,
}

/// The properties of a kind.
struct Row {
    /// Its number in messages.
    number: u8,
    /// Its name there.
    name: &'static str,
    /// Relays that packets to it pass at the other machine's end.
    relays: u8,
    /// Wait for a better pair, after the first of this kind that works.
    settle: Duration,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::HostIpv6, Self::Host, Self::Mapped, Self::ServerReflexive, Self::PeerReflexive, Self::Relayed];

    const fn row(self) -> Row {
        const DIRECT: Row = Row { number: 0, name: "", relays: 0, settle: Duration::from_millis(40) };
        match self {
            Self::HostIpv6 => Row { number: 0, name: "directly over IPv6", ..DIRECT },
            Self::Host => Row { number: 1, name: "directly", ..DIRECT },
            Self::Mapped => Row { number: 2, name: "through a port that the router has opened", ..DIRECT },
            // Whoever has learned an address from a check tells it as one that was seen.
            Self::ServerReflexive | Self::PeerReflexive => Row { number: 3, name: "through the routers", ..DIRECT },
            // Long enough to find a direct one.
            Self::Relayed => Row { number: 4, name: "through a relay", relays: 1, settle: Duration::from_secs(1) },
        }
    }

    /// Returns its name in messages.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    pub(super) const fn number(self) -> u8 {
        self.row().number
    }

    /// Returns the kind with that number in messages.
    pub(super) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    pub(super) const fn relays(self) -> u8 {
        self.row().relays
    }

    pub(super) const fn settle(self) -> Duration {
        self.row().settle
    }
}

/// The begin of a way at this machine. The order is that of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// The port that the other machine has been told of, or has stored.
    Port,
    /// Another port of this machine, opened since that one leads nowhere ([`super::Rounds`]).
    OtherPort,
    /// This machine's relay.
    Relay,
}

impl Base {
    /// Returns the number of relays that packets pass at this machine's end.
    pub(super) const fn relays(self) -> u8 {
        match self {
            Self::Port | Self::OtherPort => 0,
            Self::Relay => 1,
        }
    }
}

/// A candidate pair: a way to the other machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The other machine's candidate: the address to send to.
    pub to: SocketAddr,
    /// Its begin at this machine.
    pub base: Base,
}

impl Pair {
    /// Returns true if it goes through this machine's relay.
    pub fn is_relayed(&self) -> bool {
        self.base.relays() > 0
    }
}

impl From<SocketAddr> for Pair {
    fn from(to: SocketAddr) -> Self {
        Self { to, base: Base::Port }
    }
}

/// Source of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// This machine's user: the configuration, an introduction, a ticket, a name.
    User,
    /// A note at a mailbox server.
    Note,
    /// A note in the DHT.
    Dht,
    /// Somebody in the same house.
    House,
    /// The other end of a call.
    Call,
    /// A packet that came from there.
    Packet,
    /// A place at this machine's relay that was guessed.
    Relay,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::User, Self::Note, Self::Dht, Self::House, Self::Call, Self::Packet, Self::Relay];

    /// Returns the quota for all addresses of this origin.
    pub const fn quota(self) -> Quota {
        match self {
            // Sixteen addresses from two ports and through a relay, ten knocks a second.
            Self::User => Quota::per_s(20_000, 20_000),
            // Two seconds at full speed, then some twenty packets a second.
            Self::Note | Self::Dht => Quota::per_s(1_000, 20_000),
            Self::House => Quota::per_s(1_000, 12_000),
            Self::Call => Quota::per_s(1_000, 6_000),
            Self::Packet => Quota::per_s(8_000, 8_000),
            // All places of a relay once, and then each every second.
            Self::Relay => Quota::per_s(5_000, 6_000),
        }
    }

    /// Returns the quota of one address; none: it gets what came from it, [`super::TIMES`] times.
    pub const fn of_each(self) -> Option<Quota> {
        match self {
            // Half a minute of knocks, then four a second.
            Self::User => Some(Quota::per_s(170, 40_000)),
            Self::Note | Self::Dht | Self::House | Self::Call => Some(Quota { burst: 12_000, per_hour: 12_000 }),
            Self::Packet => None,
            Self::Relay => Some(Quota::per_s(40, 4_000)),
        }
    }

    /// Returns the smallest network whose addresses are taken from there: what others say of this house, to whoever is not
    /// in it, is left out.
    pub(super) const fn scope(self) -> Scope {
        match self {
            Self::User | Self::Packet | Self::Relay => Scope::Machine,
            Self::House => Scope::House,
            Self::Note | Self::Dht | Self::Call => Scope::World,
        }
    }
}
