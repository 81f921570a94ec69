//! How much parity a group needs.

use crate::session::LossEstimate;

/// The least number of parity shards, at most `parity_max`, with which a group of `data` shards stays incomplete less
/// often than in `failure` of all frames; `parity_max` if none is enough.
pub fn parity_shards(data: usize, loss: LossEstimate, failure: f64, parity_max: usize) -> usize {
    if loss.share.is_nan() || loss.share <= 0.0 || data == 0 {
        return 0;
    }
    // More parity never fails more often: bisect for the first count that is enough.
    let (mut enough, mut too_few) = (parity_max, 0..parity_max);
    while !too_few.is_empty() {
        let middle = too_few.start + too_few.len() / 2;
        if failure_share(data + middle, middle, loss) <= failure {
            enough = middle;
            too_few.end = middle;
        } else {
            too_few.start = middle + 1;
        }
    }
    enough
}

/// How probable it is that more than `bearable` of `shards` consecutive datagrams get lost.
///
/// Gilbert's model: a chain of two states, one that loses every datagram and one that loses none. It leaves the bad one
/// with probability `r = 1 / burst_mean` and enters it with `q = share r / (1 - share)`, so that it loses `share` in
/// all (E. N. Gilbert, Capacity of a burst-noise channel, BSTJ 39, 1960). Forward recursion over the number lost.
fn failure_share(shards: usize, bearable: usize, loss: LossEstimate) -> f64 {
    let share = loss.share.clamp(0.0, 0.9);
    let leave = 1.0 / loss.burst_mean.max(1.0 / (1.0 - share));
    let enter = share * leave / (1.0 - share);
    // By the number lost so far: how probable it is to be there with the last datagram through, and with it lost.
    let (mut through, mut lost) = (vec![0.0; bearable + 1], vec![0.0; bearable + 2]);
    (through[0], lost[1]) = (1.0 - share, share);
    let mut failed = std::mem::take(&mut lost[bearable + 1]);
    for _ in 1..shards {
        for count in (0..=bearable).rev() {
            let (good, bad) = (through[count], lost[count]);
            through[count] = good * (1.0 - enter) + bad * leave;
            lost[count + 1] = good * enter + bad * (1.0 - leave);
        }
        lost[0] = 0.0;
        failed += std::mem::take(&mut lost[bearable + 1]);
    }
    failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netsim::Random;

    const fn loss(share: f64, burst_mean: f64) -> LossEstimate {
        LossEstimate { share, burst_mean }
    }

    #[test]
    fn independent_losses_follow_the_binomial_distribution() {
        // 1 - 0.95^10 - 10 * 0.05 * 0.95^9
        assert!((failure_share(10, 1, loss(0.05, 1.0)) - 0.086_138).abs() < 1e-6);
        assert!((failure_share(4, 0, loss(0.5, 2.0)) - 0.937_5).abs() < 1e-9);
        assert_eq!(failure_share(4, 4, loss(0.5, 1.0)), 0.0);
    }

    #[test]
    fn bursts_fail_as_often_as_in_a_trial() {
        let (share, burst_mean, shards, bearable) = (0.05, 4.0, 40, 6);
        let mut random = Random::new(1);
        let (leave, mut bad, mut failures) = (1.0 / burst_mean, false, 0);
        let enter = share * leave / (1.0 - share);
        for _ in 0..200_000 {
            let mut lost = 0;
            for _ in 0..shards {
                bad = if bad { !random.chance(leave) } else { random.chance(enter) };
                lost += usize::from(bad);
            }
            failures += u32::from(lost > bearable);
        }
        let (found, predicted) =
            (f64::from(failures) / 200_000.0, failure_share(shards, bearable, loss(share, burst_mean)));
        assert!((found / predicted - 1.0).abs() < 0.03, "{found} {predicted}");
    }

    #[test]
    fn parity_grows_with_loss_and_bursts_up_to_its_bound() {
        assert_eq!(parity_shards(40, LossEstimate::default(), 1e-3, 40), 0);
        let wanted = [(0.01, 1.0), (0.02, 1.0), (0.05, 1.0), (0.05, 3.0), (0.1, 8.0)];
        let counts = wanted.map(|(share, burst)| parity_shards(40, loss(share, burst), 1e-3, 40));
        assert_eq!(counts[0], 3);
        assert!(counts.is_sorted() && counts[4] == 40, "{counts:?}");
        for (data, count) in [(40, counts[2]), (1, parity_shards(1, loss(0.05, 1.0), 1e-3, 9))] {
            assert!(failure_share(data + count, count, loss(0.05, 1.0)) <= 1e-3);
            assert!(failure_share(data + count - 1, count - 1, loss(0.05, 1.0)) > 1e-3);
        }
    }

    #[test]
    fn no_estimate_is_too_odd() {
        for share in [f64::NAN, -1.0, 0.0, 1e-300, 1.0, f64::INFINITY] {
            for burst_mean in [f64::NAN, -1.0, 0.0, 1e300, f64::INFINITY] {
                assert!(parity_shards(5, loss(share, burst_mean), 1e-3, 5) <= 5);
            }
        }
    }
}
