//! One uplink for several paths: what may leave on each.
//!
//! Each path has its own rate control, which finds what its way bears; those that share an uplink see each other's queue there. What
//! somebody has said that may leave in all is divided evenly, but for what a path does not bear: that is the others'.

use crate::units::Bitrate;

/// Percent of its part that a path takes where its way bears all of it.
const BEARS_ALL_FROM: u64 = 85;
/// Percent of what its way bears that a path may have, so that it finds when that becomes more.
const ROOM: u64 = 130;
/// The part of an even share that each path may have, whatever it bears: one in so many.
const LEAST: u64 = 4;

/// The paths of an uplink.
#[derive(Clone, Debug)]
pub struct Uplink {
    paths: Vec<Part>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Its target, while it is connected, bits a second.
    target: Option<u64>,
    /// As it was last.
    most: u64,
}

impl Uplink {
    /// Creates the uplink of so many paths, of which none is connected.
    pub fn new(paths: usize) -> Self {
        Self { paths: vec![Part::default(); paths] }
    }

    /// Returns what may leave on each of so many paths of which nothing is known.
    pub fn even(all: Bitrate, paths: usize) -> Bitrate {
        Bitrate::from_bps(all.as_bps() / (paths as u64).max(1))
    }

    /// Takes the target of a path, none while it is not connected; returns what may leave there, if that is `all` on all paths together.
    pub fn share(&mut self, path: usize, target: Option<Bitrate>, all: Bitrate) -> Bitrate {
        let even = Self::even(all, self.paths.len());
        let Some(part) = self.paths.get_mut(path) else { return even };
        part.target = target.map(Bitrate::as_bps);
        if target.is_none() {
            // As much as it has when it comes back.
            part.most = even.as_bps();
            return even;
        }
        let mut wants: Vec<_> = self.paths.iter().map(Part::wants).collect();
        // As much as it can have.
        wants[path] = u64::MAX;
        wants.sort_unstable();
        let (mut left, mut most) = (all.as_bps(), 0);
        for (place, want) in wants.iter().enumerate() {
            most = left / (wants.len() - place) as u64;
            left -= most.min(*want);
        }
        let most = most.max(even.as_bps() / LEAST);
        self.paths[path].most = most;
        Bitrate::from_bps(most)
    }
}

impl Part {
    /// Returns what it would take, bits a second.
    fn wants(&self) -> u64 {
        match self.target {
            None => 0,
            Some(target) if target.saturating_mul(100) >= self.most.saturating_mul(BEARS_ALL_FROM) => u64::MAX,
            Some(target) => target.saturating_mul(ROOM) / 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that bear so many kbit/s, when each has asked often enough; returns what each may have.
    fn divided<const N: usize>(all: u64, bears: [Option<u64>; N]) -> [u64; N] {
        let rate = |kbit: u64| Bitrate::from_bps(1_000 * kbit);
        let (mut uplink, mut most) = (Uplink::new(N), [all / N as u64; N]);
        for _ in 0..20 {
            for path in 0..N {
                let target = bears[path].map(|bears| rate(bears.min(most[path])));
                most[path] = uplink.share(path, target, rate(all)).as_bps() / 1_000;
            }
        }
        most
    }

    #[test]
    fn an_uplink_is_divided_evenly_but_for_what_a_path_does_not_bear() {
        assert_eq!(divided(12_000, [Some(50_000); 3]), [4_000; 3]);
        assert_eq!(divided(12_000, [Some(50_000)]), [12_000]);
        // One that nobody is connected to needs nothing, and one that is narrow little more than it bears.
        assert_eq!(divided(12_000, [Some(50_000), None, Some(50_000)]), [6_000, 4_000, 6_000]);
        let [first, narrow, last] = divided(12_000, [Some(50_000), Some(500), Some(50_000)]);
        assert_eq!((first, last), (5_675, 5_675));
        assert!(narrow >= 650, "{narrow}");
        // Together never more than all, but for the room of those that cannot use it.
        assert_eq!(divided(3_000, [Some(100), Some(100), Some(9_000)])[2], 2_740);
    }

    #[test]
    fn whoever_comes_back_has_its_share_at_once() {
        let (mut uplink, all) = (Uplink::new(2), Bitrate::from_bps(10_000_000));
        assert_eq!(uplink.share(0, Some(Bitrate::from_bps(9_000_000)), all), all);
        assert_eq!(uplink.share(1, None, all).as_bps(), 5_000_000);
        assert_eq!(uplink.share(1, Some(Bitrate::from_bps(4_500_000)), all).as_bps(), 5_000_000);
        assert_eq!(uplink.share(0, Some(Bitrate::from_bps(9_000_000)), all).as_bps(), 5_000_000);
        assert_eq!(uplink.share(7, None, all).as_bps(), 5_000_000, "no path of this uplink");
    }
}
