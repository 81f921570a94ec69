//! The pace at which what others tell of their addresses is taken.

use std::time::Duration;

use super::candidate::Candidate;
use crate::units::Timestamp;

/// Shortest time from one list of addresses that is taken to the next: nobody's change faster.
const PAUSE: Duration = Duration::from_secs(2);

/// Lists of addresses from one who tells them. The newest waits until its time has come; those in between are passed over.
#[derive(Clone, Debug, Default)]
pub(super) struct Tellings {
    taken: Option<Timestamp>,
    waiting: Option<Vec<Candidate>>,
}

impl Tellings {
    /// Takes notice of a list; [`Tellings::take`] gives it out.
    pub(super) fn tell(&mut self, candidates: &[Candidate]) {
        self.waiting = Some(candidates.to_vec());
    }

    /// Returns the list to take now, if there is one.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<Vec<Candidate>> {
        self.due().filter(|due| *due <= now)?;
        self.taken = Some(now);
        self.waiting.take()
    }

    /// Returns the time to call [`Tellings::take`]; none: nothing waits.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.waiting.as_ref()?;
        Some(self.taken.map_or(Timestamp::default(), |taken| taken + PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn the_newest_is_taken_once_in_two_seconds() {
        let list = |n: u8| vec![Candidate::new(Kind::ServerReflexive, ([203, 0, 113, n], 9).into()).unwrap()];
        let at = |ms: u64| Timestamp::from_us(1_000_000 + 1_000 * ms);
        let mut tellings = Tellings::default();
        assert_eq!((tellings.due(), tellings.take(at(0))), (None, None));
        let mut taken = Vec::new();
        for ms in 0..5_000 {
            tellings.tell(&list((ms % 250) as u8));
            taken.extend(tellings.take(at(ms)).map(|list| (ms, list)));
        }
        assert_eq!(taken, [0, 2_000, 4_000].map(|ms: u64| (ms, list((ms % 250) as u8))));
        assert_eq!(tellings.take(at(5_999)), None);
        assert_eq!(tellings.due(), Some(at(6_000)));
        assert_eq!(tellings.take(at(6_000)), Some(list((4_999 % 250) as u8)), "nothing is lost");
        assert_eq!(tellings.due(), None);
    }
}
