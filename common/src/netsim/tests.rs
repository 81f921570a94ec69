use super::*;
use crate::units::Bitrate;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn us(us: u64) -> Timestamp {
    Timestamp::from_us(us)
}

const BYTES: usize = 1_222;

/// Sends 10,000 datagrams of 1250 bytes, one every 100 us; returns arrival and number of each, and the counters.
fn arrivals(scenario: impl Into<Scenario>) -> (Vec<(u64, u32)>, NetCounters) {
    let mut network = Network::new(scenario, us(0));
    for datagram in 0..10_000u32 {
        let mut bytes = vec![0; BYTES];
        bytes[..4].copy_from_slice(&datagram.to_le_bytes());
        network.push(bytes, us(u64::from(datagram) * 100));
    }
    let mut seen = Vec::new();
    while let Some(at) = network.next_arrival() {
        assert_eq!(network.pop(us(at.as_us() - 1)), None);
        let datagram = network.pop(at).unwrap_or_default();
        seen.push((at.as_us(), u32::from_le_bytes([datagram[0], datagram[1], datagram[2], datagram[3]])));
    }
    (seen, network.counters())
}

#[test]
fn a_perfect_network_only_delays() {
    let (seen, counters) = arrivals(NetConditions::perfect(ms(3)));
    assert_eq!(seen.len(), 10_000);
    assert!(seen.iter().all(|&(at, datagram)| at == u64::from(datagram) * 100 + 3_000));
    assert_eq!(counters, NetCounters { entered: 10_000, ..NetCounters::default() });
}

#[test]
fn the_conditions_hold_and_the_seed_decides() {
    let conditions = NetConditions {
        loss: 0.1,
        duplicate: 0.05,
        reorder: 0.02,
        reorder_delay: ms(1),
        jitter: Duration::from_micros(300),
        ..NetConditions::perfect(ms(3))
    };
    let (seen, counters) = arrivals(conditions);
    assert!((9_350..9_550).contains(&seen.len()), "{}", seen.len());
    assert_eq!(seen.len() as u64, 10_000 - counters.lost + counters.duplicated);
    let overtaken = seen.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    assert!((100..300).contains(&overtaken), "{overtaken}");
    assert_eq!(seen, arrivals(conditions).0);
    assert_ne!(seen, arrivals(Scenario::from(conditions).with_seed(1)).0);
}

#[test]
fn a_spread_of_jitter_is_half_of_a_bell_and_keeps_the_order_if_it_is_small() {
    let conditions = NetConditions { jitter_spread: Duration::from_micros(10), ..NetConditions::perfect(ms(3)) };
    let (seen, _) = arrivals(conditions);
    let mut more: Vec<_> = seen.iter().map(|&(at, datagram)| at - u64::from(datagram) * 100 - 3_000).collect();
    more.sort_unstable();
    // Half are within 0.674 spreads, 99 % within 2.576, and none beyond the limit.
    assert!((6..=7).contains(&more[5_000]) && (24..=27).contains(&more[9_900]), "{} {}", more[5_000], more[9_900]);
    assert!(more.last().is_some_and(|&most| most <= 60));
    let (wide, _) = arrivals(NetConditions { jitter_spread: ms(5), ..conditions });
    assert!(wide.windows(2).all(|pair| pair[0].1 < pair[1].1));
    assert!(NetConditions { jitter_spread: ms(5), ..conditions }.delay_max() == ms(33));
}

#[test]
fn whose_a_datagram_is_travels_with_it() {
    #[derive(Clone)]
    struct Of(usize, [u8; 100]);
    impl AsRef<[u8]> for Of {
        fn as_ref(&self) -> &[u8] {
            &self.1
        }
    }
    // 128 bytes with headers take 1.024 ms.
    let line = NetConditions::perfect(ms(5)).limited(Bitrate::from_bps(1_000_000), ms(100));
    let mut network = Network::new(line, us(0));
    (0..4).for_each(|whose| network.push(Of(whose, [0; 100]), us(0)));
    let seen: Vec<_> = (0..4).filter_map(|n| network.pop(us(5_000 + 1_024 * (n + 1)))).map(|of| of.0).collect();
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn bursts_have_their_length_and_share() {
    let bursts = Bursts { average: 0.05, mean_length: 8.0 };
    let scenario = Scenario::from(NetConditions { bursts: Some(bursts), ..NetConditions::perfect(ms(1)) });
    let (mut lost, mut runs) = (0, 0);
    for seed in 0..20 {
        let (seen, counters) = arrivals(scenario.clone().with_seed(seed));
        lost += counters.lost;
        runs += seen.windows(2).filter(|pair| pair[1].1 != pair[0].1 + 1).count() as u64;
    }
    let (share, length) = (lost as f64 / 200_000.0, lost as f64 / runs as f64);
    assert!((0.04..0.06).contains(&share) && (7.0..9.0).contains(&length), "{share:.3}, {length:.2}");
}

#[test]
fn overtaken_datagrams_come_after_the_number_said() {
    let conditions =
        NetConditions { reorder: 0.01, reorder_by: 5, reorder_delay: ms(50), ..NetConditions::perfect(ms(1)) };
    let (seen, counters) = arrivals(conditions);
    assert_eq!(seen.len(), 10_000);
    let mut by = [0u64; 7];
    for (place, &(_, datagram)) in seen.iter().enumerate() {
        let late = place.saturating_sub(datagram as usize);
        by[late.min(6)] += 1;
    }
    // Another that is overtaken on the way shifts a place by one, seldom.
    assert!(by[1..=5].iter().all(|&count| count > 5) && by[6] <= 3, "{by:?}");
    assert_eq!(by[1..].iter().sum::<u64>().abs_diff(counters.overtaken) / 10, 0, "{by:?} {counters:?}");
}

#[test]
fn a_bottleneck_spaces_queues_and_drops() {
    // Asked for 100 Mbit/s, it sends 50: a datagram every 200 us, the queue 25 deep.
    let (seen, counters) = arrivals(NetConditions::perfect(ms(1)).limited(Bitrate::from_bps(50_000_000), ms(5)));
    assert_eq!(seen[0], (1_200, 0));
    assert!(seen.windows(2).all(|pair| pair[1].0 - pair[0].0 == 200));
    let longest = seen.iter().map(|&(at, datagram)| at - u64::from(datagram) * 100).max();
    assert_eq!(longest, Some(5_000 + 200 + 1_000));
    assert!((4_970..5_000).contains(&counters.overflowed), "{counters:?}");
    assert_eq!(seen.len() as u64, 10_000 - counters.overflowed);
}

#[test]
fn the_queue_is_the_time_until_all_has_left_the_bottleneck() {
    // A datagram of 1250 bytes takes 10 ms.
    let mut network = Network::new(NetConditions::perfect(ms(5)).limited(Bitrate::from_bps(1_000_000), ms(500)), us(0));
    assert_eq!(network.queue(us(0)), ms(0));
    for datagrams in 1..=3 {
        network.push(vec![0; BYTES], us(0));
        assert_eq!(network.queue(us(0)), ms(10 * datagrams));
    }
    assert_eq!([10_000, 29_000, 30_000, 99_000].map(|now| network.queue(us(now))), [ms(20), ms(1), ms(0), ms(0)]);
}

#[test]
fn what_is_queued_leaves_at_the_rate_of_its_time() {
    let line = |rate| NetConditions::perfect(ms(0)).limited(Bitrate::from_bps(rate), ms(1_000));
    let scenario =
        Scenario::table(&[(ms(10), line(50_000_000)), (ms(20), line(5_000_000)), (ms(50), line(50_000_000))]);
    let (seen, _) = arrivals(scenario);
    let sent_in = |from: u64, to: u64| seen.iter().filter(|&&(at, _)| (from..to).contains(&at)).count();
    assert_eq!((sent_in(1, 20_001), sent_in(20_001, 50_001), sent_in(50_001, 80_001)), (100, 15, 150));
}

#[test]
fn another_scenario_begins_with_the_old_queue() {
    let line = NetConditions::perfect(ms(0)).limited(Bitrate::from_bps(10_000), ms(5_000));
    let mut network = Network::new(line, us(1_000_000));
    (0..2).for_each(|_| network.push(vec![0; 1_222], us(2_000_000)));
    network.restart(line, us(3_500_000));
    network.push(vec![0; 1_222], us(3_500_000));
    let arrivals: Vec<_> = std::iter::from_fn(|| {
        let at = network.next_arrival()?;
        network.pop(at).map(|_| at.as_us())
    })
    .collect();
    assert_eq!(arrivals, [3_000_000, 4_000_000, 5_000_000]);
}

#[test]
fn large_datagrams_vanish_while_the_path_is_narrow() {
    let narrow = NetConditions { datagram_max: BYTES - 1, ..NetConditions::perfect(ms(1)) };
    let (seen, counters) = arrivals(Scenario::table(&[(ms(0), NetConditions::perfect(ms(1))), (ms(500), narrow)]));
    assert_eq!((seen.len(), counters.too_large), (5_000, 5_000));
}

#[test]
fn a_table_repeats() {
    let fair = NetConditions::perfect(ms(1));
    let scenario = Scenario::table(&[(ms(0), fair), (ms(70), fair.blackout())]).repeated_every(ms(100));
    assert_eq!(scenario.at(ms(69)).loss, 0.0);
    assert_eq!((scenario.at(ms(170)).loss, scenario.at(ms(200)).loss), (1.0, 0.0));
    assert_eq!((scenario.next_change(ms(20)), scenario.next_change(ms(270))), (Some(ms(70)), Some(ms(300))));
    let (seen, counters) = arrivals(scenario);
    assert_eq!((seen.len(), counters.lost), (7_000, 3_000));
    let longest = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).max();
    assert_eq!(longest, Some(30_100));
}

#[test]
fn nothing_is_lost_in_a_pause_and_all_comes_at_its_end() {
    let line = NetConditions::perfect(ms(3)).limited(Bitrate::from_bps(200_000_000), ms(500));
    let pauses = || Pauses::new([(ms(100), ms(50))]);
    let (behind, _) = arrivals(Scenario::from(line).paused(Pauses::NONE, pauses()));
    let at = |seen: &[(u64, u32)], from: u64, to: u64| seen.iter().filter(|seen| (from..to).contains(&seen.0)).count();
    assert_eq!((behind.len(), at(&behind, 100_000, 150_000)), (10_000, 0));
    assert_eq!(at(&behind, 150_000, 150_001), 500, "at once");
    let (before, _) = arrivals(Scenario::from(line).paused(pauses(), Pauses::NONE));
    assert_eq!((before.len(), at(&before, 104_000, 153_000)), (10_000, 0));
    // The line of 200 Mbit/s takes 50 us for each, so that the queue of 500 of them is gone after 50 ms.
    assert!((198..=200).contains(&at(&before, 153_000, 163_000)));
}

#[test]
fn a_policer_delays_nothing_and_lets_through_its_rate_and_a_burst() {
    let (seen, counters) = arrivals(NetConditions::perfect(ms(3)).policed(Bitrate::from_bps(50_000_000), ms(10)));
    // 5000 of 10,000 in a second, and the 50 of 10 ms at once.
    assert!((5_045..5_055).contains(&seen.len()), "{}", seen.len());
    assert_eq!(counters.overflowed as usize, 10_000 - seen.len());
    assert!(seen.iter().all(|&(at, datagram)| at == u64::from(datagram) * 100 + 3_000));
}
