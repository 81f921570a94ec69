//! The search for the other machine's place at this machine's relay.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use super::kinds::{Base, Kind, Origin, Pair};
use super::knock::KNOCK_BYTES;
use crate::units::Timestamp;

/// Time before the other's place is searched for, and from one look to the next while that is not needed.
const SEEK_AFTER: Duration = Duration::from_millis(500);
/// From one place that is tried to the next, while the other is expected at any moment, and later.
const SEEK: Duration = Duration::from_millis(4);
const SEEK_LATER: Duration = Duration::from_millis(50);
/// Most places at a relay that are tried.
pub const PLACES_MAX: u16 = 64;

const _: () =
    assert!(SEEK_AFTER.as_millis() < Kind::Relayed.settle().as_millis(), "found before a worse one is dialled");
const _: () = assert!(2 * PLACES_MAX as u64 * KNOCK_BYTES as u64 <= Origin::Relay.quota().burst, "all of them once");

/// The places that a relay gives out, and which of them is tried next; each directly and through the relay.
#[derive(Clone, Debug)]
pub(super) struct Seeking {
    at: IpAddr,
    ports: RangeInclusive<u16>,
    turn: u32,
    next: Timestamp,
}

impl Seeking {
    /// Begins at the relay `at`, for a search that has begun at `since`.
    pub(super) fn new(at: IpAddr, ports: RangeInclusive<u16>, since: Timestamp, now: Timestamp) -> Self {
        Self { at, ports, turn: 0, next: now.max(since + SEEK_AFTER) }
    }

    pub(super) fn restart(&mut self, now: Timestamp) {
        self.next = now + SEEK_AFTER;
    }

    /// Returns the place to try now. `is_met`: whether the other machine is found already; `expected`: whether it is about to
    /// come.
    pub(super) fn poll(&mut self, is_met: bool, expected: bool, now: Timestamp) -> Option<Pair> {
        if self.next > now {
            return None;
        }
        self.next = now
            + match (is_met, expected) {
                (true, _) => SEEK_AFTER,
                (false, true) => SEEK,
                (false, false) => SEEK_LATER,
            };
        (!is_met).then(|| self.place())
    }

    pub(super) fn poll_timeout(&self) -> Timestamp {
        self.next
    }

    fn place(&mut self) -> Pair {
        let places = self.ports.end().saturating_sub(*self.ports.start()).min(PLACES_MAX - 1);
        self.turn = (self.turn + 1) % (2 * (u32::from(places) + 1));
        let port = self.ports.start().saturating_add((self.turn / 2) as u16);
        let base = if self.turn % 2 == 1 { Base::Relay } else { Base::Port };
        Pair { to: SocketAddr::new(self.at, port), base }
    }
}
