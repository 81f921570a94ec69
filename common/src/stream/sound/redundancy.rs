//! Number of copies that each packet carries.

use std::time::Duration;

use sound::unit::COPIES_MAX;

use crate::path::LossEstimate;
use crate::units::Timestamp;

/// Share of lost datagrams from which on a packet carries one copy, two, three. With independent losses of 1 %, one copy leaves 4.5 gaps a
/// minute at 64 samples, two none; with 5 % three leave 0.2.
const FROM: [f64; COPIES_MAX as usize] = [0.0002, 0.004, 0.025];
/// Part of that share below which a copy is one too many.
const UNTIL: f64 = 0.5;
/// Time for which fewer must be enough: a delay that follows the copies should not change often.
const HELD: Duration = Duration::from_secs(20);

/// Follows the loss: more copies at once, fewer one by one.
#[derive(Debug, Default)]
pub(super) struct Redundancy {
    copies: u8,
    /// Time since which fewer would be enough.
    fewer_since: Option<Timestamp>,
}

impl Redundancy {
    /// Takes the estimate of the loss.
    pub(super) fn on_loss(&mut self, loss: LossEstimate, now: Timestamp) {
        let wanted = |scale: f64| FROM.iter().filter(|&&from| loss.share >= from * scale).count() as u8;
        let (least, most) = (wanted(1.0), wanted(UNTIL));
        if least > self.copies {
            (self.copies, self.fewer_since) = (least, None);
        } else if most >= self.copies {
            self.fewer_since = None;
        } else if now.since(*self.fewer_since.get_or_insert(now)) >= HELD {
            (self.copies, self.fewer_since) = (self.copies - 1, Some(now));
        }
    }

    /// Returns the number of copies.
    pub(super) fn copies(&self) -> u8 {
        self.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_us(1_000_000 * seconds)
    }

    fn loss(share: f64) -> LossEstimate {
        LossEstimate { share, burst_mean: 1.0 }
    }

    #[test]
    fn more_at_once_and_fewer_one_by_one() {
        let mut redundancy = Redundancy::default();
        let copies = |redundancy: &mut Redundancy, share, seconds| {
            redundancy.on_loss(loss(share), at(seconds));
            redundancy.copies()
        };
        assert_eq!(copies(&mut redundancy, 0.0, 0), 0);
        assert_eq!(copies(&mut redundancy, 0.001, 1), 1);
        assert_eq!(copies(&mut redundancy, 0.05, 2), 3);
        assert_eq!((3..22).map(|second| copies(&mut redundancy, 0.0, second)).max(), Some(3));
        assert_eq!(copies(&mut redundancy, 0.0, 23), 2);
        assert_eq!(copies(&mut redundancy, 0.0, 42), 2);
        assert_eq!(copies(&mut redundancy, 0.0, 43), 1);
        assert_eq!(copies(&mut redundancy, 0.0, 63), 0);
    }

    #[test]
    fn around_a_limit_it_stays() {
        let mut redundancy = Redundancy::default();
        for second in 0..600 {
            redundancy.on_loss(loss(if second % 2 == 0 { 0.0041 } else { 0.0021 }), at(second));
            assert_eq!(redundancy.copies(), 2);
        }
    }
}
