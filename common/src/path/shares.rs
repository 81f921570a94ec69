//! The streams that leave over a path, and what each may take of the target.

use std::time::Duration;

use crate::units::Bitrate;

/// Place of a stream where bits are few: a lower one has its own first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u8);

/// Rank of sound: it has its own before all others, and nothing else may make it wait.
pub const SOUND_RANK: Rank = Rank(1);

/// The wishes of a stream for its part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its place among the streams.
    pub rank: Rank,
    /// Rate that it needs with all that is around it; none: whatever is left.
    pub needs: Option<Bitrate>,
    /// Time between its frames or packets.
    pub interval: Duration,
}

/// The shares of all streams that leave, by rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares(Vec<(u8, Share)>);

impl Shares {
    /// Sets the share of stream `number`.
    pub(super) fn set(&mut self, number: u8, share: Share) {
        self.remove(number);
        let place = self.0.partition_point(|(_, other)| other.rank <= share.rank);
        self.0.insert(place, (number, share));
    }

    /// Takes notice that a stream has ended. Returns true if it was one.
    pub(super) fn remove(&mut self, number: u8) -> bool {
        let before = self.0.len();
        self.0.retain(|(other, _)| *other != number);
        self.0.len() < before
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what the streams of sound need; none: there is none.
    pub(super) fn sound(&self) -> Option<Bitrate> {
        let needs = self.0.iter().filter(|(_, share)| share.rank == SOUND_RANK).filter_map(|(_, share)| share.needs);
        needs.map(Bitrate::as_bps).reduce(u64::saturating_add).map(Bitrate::from_bps)
    }

    /// Returns the shortest time between two packets of sound.
    pub(super) fn sound_interval(&self) -> Option<Duration> {
        self.0.iter().filter(|(_, share)| share.rank == SOUND_RANK).map(|(_, share)| share.interval).min()
    }

    /// Returns true if stream `number` is one of sound.
    pub(super) fn is_sound(&self, number: u8) -> bool {
        self.0.iter().any(|(other, share)| *other == number && share.rank == SOUND_RANK)
    }

    /// Returns the longest time between two frames of any stream.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.0.iter().map(|(_, share)| share.interval).max()
    }

    /// Returns the part of `target` for stream `number`: what those of lower rank leave, at most what it needs.
    pub(super) fn of(&self, number: u8, target: Bitrate) -> Bitrate {
        let mut left = target.as_bps();
        for (other, share) in &self.0 {
            let part = share.needs.map_or(left, |needs| needs.as_bps().min(left));
            if *other == number {
                return Bitrate::from_bps(part);
            }
            left -= part;
        }
        Bitrate::from_bps(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_has_its_own_and_the_rest_goes_to_the_last() {
        let share = |rank, needs: Option<u64>| Share {
            rank: Rank(rank),
            needs: needs.map(Bitrate::from_bps),
            interval: Duration::from_millis(u64::from(rank) + 1),
        };
        let mut shares = Shares::default();
        shares.set(0, share(7, None));
        shares.set(1, share(1, Some(1_000)));
        shares.set(2, share(3, Some(300)));
        let parts =
            |shares: &Shares, target| [0, 1, 2].map(|number| shares.of(number, Bitrate::from_bps(target)).as_bps());
        assert_eq!(parts(&shares, 5_000), [3_700, 1_000, 300]);
        assert_eq!(shares.sound(), Some(Bitrate::from_bps(1_000)), "that of its rank alone");
        assert_eq!(parts(&shares, 1_200), [0, 1_000, 200]);
        assert_eq!(parts(&shares, 400), [0, 400, 0]);
        shares.set(1, share(1, Some(100)));
        assert_eq!((parts(&shares, 400), shares.interval()), ([0, 100, 300], Some(Duration::from_millis(8))));
        assert!(shares.remove(1) && !shares.remove(1));
        assert_eq!(parts(&shares, 400)[0], 100);
    }
}
