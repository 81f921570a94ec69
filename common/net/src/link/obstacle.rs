//! Obstacles that keep two machines from meeting, as far as this one knows: for the log, and for the window, which is all that a musician
//! looks at.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::units::Timestamp;

use crate::lock::lock;
use crate::quic::QuicError;

/// Time for which an obstacle counts after it was met last: attempts come more often.
const FRESH: Duration = Duration::from_secs(10);

/// Something that keeps two machines from meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// This machine is on no network.
    NoNetwork,
    /// The other machine is in a call with a third.
    InAnotherCall,
    /// Somebody there has declined the call.
    Declined,
    /// Nobody there wants to be disturbed.
    DoNotDisturb,
    /// The other machine does not know this one any more.
    Removed,
    /// The other machine's program speaks another protocol.
    OtherProgram,
    /// Packets of the size that QUIC begins with do not get through.
    LargePackets,
    /// The other machine was not found for a while.
    NotFound,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNetwork => "this computer has no network",
            Self::InAnotherCall => "the other side is in a call with another machine",
            Self::Declined => "the call was declined there",
            Self::DoNotDisturb => "nobody there wants to be disturbed now",
            Self::Removed => "this machine was removed there and is not known any more: introduce the two anew",
            Self::OtherProgram => "another program or version runs there: start `sender call` on both sides",
            Self::LargePackets => "packets of 1200 bytes do not get through",
            Self::NotFound => "if Duet runs there, too, the address of one may have changed: introduce the two anew with `invite` and `join`",
        })
    }
}

impl Obstacle {
    /// Returns the obstacle that the failure of an attempt shows, if it shows one.
    pub(crate) fn of(error: &QuicError) -> Option<Self> {
        match error {
            QuicError::InAnotherCall(_) => Some(Self::InAnotherCall),
            QuicError::Declined(_) => Some(Self::Declined),
            QuicError::DoNotDisturb(_) => Some(Self::DoNotDisturb),
            QuicError::Removed(_) => Some(Self::Removed),
            QuicError::NoCommonProtocol => Some(Self::OtherProgram),
            QuicError::LargePackets(_) => Some(Self::LargePackets),
            _ => None,
        }
    }
}

/// The obstacles of now, shared by those who meet them and those who tell of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Obstacles(Arc<Mutex<Met>>);

#[derive(Debug, Default)]
struct Met {
    has_no_network: bool,
    is_not_found: bool,
    last: Option<(Obstacle, Timestamp)>,
}

impl Obstacles {
    /// Takes notice of an obstacle.
    pub(crate) fn meet(&self, obstacle: Obstacle, now: Timestamp) {
        let mut met = lock(&self.0);
        match obstacle {
            Obstacle::NoNetwork => met.has_no_network = true,
            Obstacle::NotFound => met.is_not_found = true,
            _ => met.last = Some((obstacle, now)),
        }
    }

    /// Takes notice of the failure of an attempt.
    pub(crate) fn failed(&self, error: &QuicError, now: Timestamp) {
        if let Some(obstacle) = Obstacle::of(error) {
            self.meet(obstacle, now);
        }
    }

    /// Sets whether this machine is on a network; returns true if that is new.
    pub(crate) fn set_network(&self, is_there: bool) -> bool {
        std::mem::replace(&mut lock(&self.0).has_no_network, !is_there) == is_there
    }

    /// Forgets all but the network: there is a connection.
    pub(crate) fn clear(&self) {
        let mut met = lock(&self.0);
        (met.is_not_found, met.last) = (false, None);
    }

    /// Returns the one that is nearest to what is wrong.
    pub(crate) fn now(&self, now: Timestamp) -> Option<Obstacle> {
        let met = lock(&self.0);
        let last = met.last.filter(|(_, at)| now.since(*at) < FRESH).map(|(obstacle, _)| obstacle);
        let no_network = met.has_no_network.then_some(Obstacle::NoNetwork);
        no_network.or(last).or(met.is_not_found.then_some(Obstacle::NotFound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_obstacle_is_told_while_it_is_met() {
        let at = |seconds: u64| Timestamp::from_us(1_000_000 * seconds);
        let obstacles = Obstacles::default();
        assert_eq!(obstacles.now(at(0)), None);
        obstacles.meet(Obstacle::NotFound, at(20));
        assert_eq!(obstacles.now(at(1_000)), Some(Obstacle::NotFound));
        obstacles.failed(&QuicError::InAnotherCall("Robert".to_owned()), at(1_000));
        obstacles.failed(&QuicError::TimedOut, at(1_001));
        assert_eq!(obstacles.now(at(1_009)), Some(Obstacle::InAnotherCall));
        assert_eq!(obstacles.now(at(1_010)), Some(Obstacle::NotFound));
        obstacles.failed(&QuicError::NoCommonProtocol, at(1_010));
        assert!(obstacles.set_network(false) && !obstacles.set_network(false));
        assert_eq!(obstacles.now(at(1_011)), Some(Obstacle::NoNetwork));
        obstacles.clear();
        assert_eq!(obstacles.now(at(1_011)), Some(Obstacle::NoNetwork), "a connection may be dead already");
        assert!(obstacles.set_network(true) && obstacles.now(at(1_012)).is_none());
    }
}
