//! Parity that a group needs.

use crate::path::LossEstimate;

/// Returns the number of parity shards, at most `parity_max`, that is best for a group of `data` shards if a data shard
/// that cannot be rebuilt is as bad as sending `hole_cost` shards more: the least of `parity + hole_cost * lost data
/// shards`, the second expected under `loss`.
pub fn parity_shards(data: usize, loss: LossEstimate, hole_cost: f64, parity_max: usize) -> usize {
    if loss.share.is_nan() || loss.share <= 0.0 || data == 0 {
        return 0;
    }
    let cost = |parity: usize| parity as f64 + hole_cost * data_lost(data, parity, loss);
    // Each shard helps less than the one before, so the cost falls first and then rises: bisect for its turn.
    let mut turn = 0..parity_max;
    while !turn.is_empty() {
        let middle = turn.start + turn.len() / 2;
        if cost(middle + 1) < cost(middle) {
            turn.start = middle + 1;
        } else {
            turn.end = middle;
        }
    }
    turn.start
}

/// Returns the average number of `data` consecutive datagrams with `parity` of parity that are lost for good.
///
/// Gilbert's model: a chain of two states, one that loses every datagram and one that loses none. It leaves the bad one
/// with probability `r = 1 / burst_mean` and enters it with `q = share r / (1 - share)`, so that it loses `share` in
/// all (E. N. Gilbert, Capacity of a burst-noise channel, BSTJ 39, 1960). Forward recursion over the number lost up to
/// the first one too many; what is lost after it follows from the chain alone.
fn data_lost(data: usize, parity: usize, loss: LossEstimate) -> f64 {
    let share = loss.share.clamp(0.0, 0.9);
    let leave = 1.0 / loss.burst_mean.max(1.0 / (1.0 - share));
    let enter = share * leave / (1.0 - share);
    let shards = data + parity;
    // Of `rest` datagrams after a lost one: the long-run share, and the rest of the burst, which fades.
    let memory = 1.0 - enter - leave;
    let after = |rest: usize| {
        let burst_rest = memory * (1.0 - memory.powf(rest as f64)) / (1.0 - memory);
        share * rest as f64 + (1.0 - share) * burst_rest
    };
    // By the number lost so far: how probable it is to be there with the last datagram through, and with it lost.
    let (mut through, mut lost) = (vec![0.0; parity + 1], vec![0.0; parity + 2]);
    (through[0], lost[1]) = (1.0 - share, share);
    let mut lost_for_good = 0.0;
    for sent in 1..=shards {
        let too_many = std::mem::take(&mut lost[parity + 1]);
        lost_for_good += too_many * ((parity + 1) as f64 + after(shards - sent));
        for count in (0..=parity).rev() {
            let (good, bad) = (through[count], lost[count]);
            through[count] = good * (1.0 - enter) + bad * leave;
            lost[count + 1] = good * enter + bad * (1.0 - leave);
        }
        lost[0] = 0.0;
    }
    lost_for_good * data as f64 / shards as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netsim::Random;

    const fn loss(share: f64, burst_mean: f64) -> LossEstimate {
        LossEstimate { share, burst_mean }
    }

    #[test]
    fn without_parity_the_share_is_lost() {
        for (share, burst_mean) in [(0.05, 1.0), (0.05, 4.0), (0.3, 9.0)] {
            assert!((data_lost(40, 0, loss(share, burst_mean)) - 40.0 * share).abs() < 1e-9);
        }
        // Two of two, each with 1/2: one of them is data.
        assert!((data_lost(1, 1, loss(0.5, 2.0)) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn as_much_is_lost_as_in_a_trial() {
        for (share, burst_mean, parity) in [(0.05, 1.0 / 0.95, 4), (0.05, 4.0, 6), (0.1, 8.0, 10)] {
            let mut random = Random::new(1);
            let (leave, mut bad, mut total) = (1.0 / burst_mean, false, 0.0);
            let enter = share * leave / (1.0 - share);
            for _ in 0..100_000 {
                let mut lost = 0;
                for _ in 0..40 + parity {
                    bad = if bad { !random.chance(leave) } else { random.chance(enter) };
                    lost += usize::from(bad);
                }
                total += if lost > parity { lost as f64 * 40.0 / (40 + parity) as f64 } else { 0.0 };
            }
            let (found, predicted) = (total / 100_000.0, data_lost(40, parity, loss(share, burst_mean)));
            assert!((found / predicted - 1.0).abs() < 0.05, "{share} {burst_mean}: {found} {predicted}");
        }
    }

    #[test]
    fn the_count_is_the_cheapest_and_grows_with_loss() {
        assert_eq!(parity_shards(40, LossEstimate::default(), 50.0, 40), 0);
        let mut last = 0;
        for loss in [loss(0.01, 1.0), loss(0.02, 1.0), loss(0.05, 1.0), loss(0.05, 3.0), loss(0.1, 3.0)] {
            let cost = |parity: usize| parity as f64 + 50.0 * data_lost(40, parity, loss);
            let count = parity_shards(40, loss, 50.0, 40);
            let cheapest = (0..=40).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            assert_eq!(Some(count), cheapest);
            assert!(count > last, "{count} after {last}");
            last = count;
            assert_eq!(parity_shards(40, loss, 50.0, 2), 2);
        }
    }

    #[test]
    fn no_estimate_is_too_odd() {
        for share in [f64::NAN, -1.0, 0.0, 1e-300, 1.0, f64::INFINITY] {
            for burst_mean in [f64::NAN, -1.0, 0.0, 1e300, f64::INFINITY] {
                assert!(parity_shards(5, loss(share, burst_mean), 50.0, 5) <= 5);
            }
        }
    }
}
