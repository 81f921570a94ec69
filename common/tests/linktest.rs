//! A link test over known links, in virtual time: does it find what is there?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use common::linktest::{Found, LinkTest, Measured, Silent};
use common::netsim::{Bottleneck, NetConditions, Network, Scenario};
use common::units::{Bitrate, Timestamp};
use common::wire::feedback::FeedbackHeader;
use common::wire::probe::TestDatagram;

/// Bytes that the bottleneck counts beyond a datagram's own, as the tester does.
const OVERHEAD_BYTES: usize = 60;
/// The answering side's clock is far from the other's.
const CLOCK_AHEAD: Duration = Duration::from_secs(86_400);
/// Longest that each side may take.
const SIDE_MAX: Duration = Duration::from_secs(25);

fn line(rate_bps: u64, delay_ms: u64) -> NetConditions {
    NetConditions {
        bottleneck: Some(Bottleneck {
            rate: Bitrate::from_bps(rate_bps),
            queue: Duration::from_millis(500),
            overhead_bytes: OVERHEAD_BYTES,
        }),
        ..NetConditions::perfect(Duration::from_millis(delay_ms))
    }
}

/// Runs a test over two ways; the other side answers if `answers`. Returns the result and how long it took.
fn run_with(there: impl Into<Scenario>, back: impl Into<Scenario>, answers: bool) -> (Result<Found, Silent>, Duration) {
    let start = Timestamp::from_us(1_000_000);
    let (mut there, mut back) = (Network::new(there, start), Network::new(back, start));
    let (mut one, mut other) = (LinkTest::begin(1_400, start), LinkTest::answer(1_400, start + CLOCK_AHEAD));
    let mut now = start;
    loop {
        while let Some(datagram) = one.poll_datagram(now) {
            there.push(datagram, now);
        }
        while let Some(datagram) = there.pop(now) {
            other.on_datagram(&datagram, now + CLOCK_AHEAD);
        }
        while let Some(datagram) = other.poll_datagram(now + CLOCK_AHEAD) {
            if answers {
                back.push(datagram, now);
            }
        }
        while let Some(datagram) = back.pop(now) {
            one.on_datagram(&datagram, now);
        }
        if let Some(outcome) = one.outcome() {
            return (outcome, now.since(start));
        }
        let others = other.poll_timeout().map(|at| Timestamp::from_us(at.as_us() - CLOCK_AHEAD.as_micros() as u64));
        let times = [one.poll_timeout(), others, there.next_arrival(), back.next_arrival()];
        // A session that asks for the past is called again at once, as the loop of a daemon would.
        let next = times.into_iter().flatten().min().expect("someone waits for something");
        now = next.max(now + Duration::from_micros(1));
        assert!(now.since(start) < 2 * SIDE_MAX, "the test does not end");
    }
}

fn run(there: impl Into<Scenario>, back: impl Into<Scenario>) -> Found {
    run_with(there, back, true).0.unwrap()
}

#[track_caller]
fn check_usable(usable: Bitrate, capacity_bps: u64) {
    let share = usable.as_bps() as f64 / capacity_bps as f64;
    assert!((0.75..=1.0).contains(&share), "{usable} of {capacity_bps} bits a second");
}

#[test]
fn clean_lines_of_all_speeds_are_measured() {
    for (rate, delay) in [(1_000_000, 40), (5_000_000, 20), (20_000_000, 10), (50_000_000, 25), (150_000_000, 5)] {
        let (outcome, took) = run_with(line(rate, delay), NetConditions::perfect(Duration::from_millis(delay)), true);
        let measured = outcome.unwrap().there;
        check_usable(measured.usable, rate);
        assert!(took < Duration::from_secs(40), "{rate}: {took:?}");
        // The smallest datagram takes its own time through a slow line.
        let rtt = measured.rtt.p50.abs_diff(2_000 * delay);
        assert!(rtt <= 1_000 && measured.loss == 0.0 && !measured.at_least, "{measured:?}");
        assert!(measured.rtt_loaded.p95 <= 2_000 * delay + 40_000, "{measured:?}");
    }
}

#[test]
fn what_is_overtaken_is_no_loss() {
    let overtaken = NetConditions { reorder: 0.02, reorder_delay: Duration::from_millis(20), ..line(20_000_000, 10) };
    for seed in 0..8 {
        let [there, back] = [seed, seed + 100].map(|seed| Scenario::from(overtaken).with_seed(seed));
        check_usable(run(there, back).there.usable, 20_000_000);
    }
}

#[test]
fn a_tester_that_lies_and_takes_no_datagrams_is_taken() {
    for max_datagram in [0, 10, 1_200] {
        let mut now = Timestamp::from_us(1_000_000);
        let mut test = LinkTest::answer(max_datagram, now);
        test.on_datagram(&TestDatagram::Turn.to_bytes(), now);
        for number in 0..4_000 {
            now = now + Duration::from_millis(10);
            while test.poll_datagram(now).is_some() {}
            let received = 100_000 - 10 * u32::from(number);
            let report = FeedbackHeader { number, received, time: now, ..FeedbackHeader::default() };
            test.on_datagram(&report.encode(std::iter::empty()), now);
        }
    }
}

#[test]
fn timers_that_are_late_are_no_loss() {
    let start = Timestamp::from_us(1_000_000);
    let (mut one, mut other, mut now) = (LinkTest::begin(1_400, start), LinkTest::answer(1_400, start), start);
    let found = loop {
        while let Some(datagram) = one.poll_datagram(now) {
            other.on_datagram(&datagram, now);
        }
        while let Some(datagram) = other.poll_datagram(now) {
            one.on_datagram(&datagram, now);
        }
        if let Some(outcome) = one.outcome() {
            break outcome.unwrap();
        }
        // Never on time.
        now = now + Duration::from_micros(1_300);
        assert!(now.since(start) < 2 * SIDE_MAX, "the test does not end");
    };
    assert_eq!((found.there.loss, found.there.loss_loaded, found.back.unwrap().lost_ppm), (0.0, 0.0, 0));
}

#[test]
fn a_line_without_a_limit_carries_at_least_what_is_tried() {
    let found = run(NetConditions::perfect(Duration::ZERO), NetConditions::perfect(Duration::ZERO));
    assert!(found.there.at_least && found.there.usable == Bitrate::from_bps(180_000_000), "{found:?}");
    let back = found.back.unwrap();
    assert!(back.at_least && back.usable == found.there.usable, "{found:?}");
}

#[test]
fn random_loss_is_told_from_congestion() {
    for (seed, loss) in [(1, 0.01), (2, 0.05), (3, 0.10)] {
        let there = Scenario::from(NetConditions { loss, ..line(30_000_000, 15) }).with_seed(seed);
        let back = Scenario::from(NetConditions { loss, ..NetConditions::perfect(Duration::from_millis(15)) });
        let measured = run(there, back.with_seed(seed + 10)).there;
        check_usable(measured.usable, 30_000_000);
        assert!((measured.loss_loaded - loss).abs() < 0.02, "{loss}: {measured:?}");
        assert!(measured.loss > 0.0 && measured.loss < 4.0 * loss + 0.03, "{loss}: {measured:?}");
    }
}

#[test]
fn what_is_lost_at_the_beginning_is_not_taken_for_the_line_s_end() {
    // One in ten: the rate control cuts before it knows that this is usual.
    for seed in 0..4 {
        let there = NetConditions { loss: 0.1, ..line(40_000_000, 40) };
        let found = run(Scenario::from(there).with_seed(seed), NetConditions::perfect(Duration::from_millis(40)));
        check_usable(found.there.usable, 40_000_000);
    }
}

#[test]
fn what_a_policer_throws_away_is_not_usable() {
    let policed = NetConditions::perfect(Duration::from_millis(20));
    let policed = policed.policed(Bitrate::from_bps(10_000_000), Duration::from_millis(50));
    let measured = run(policed, NetConditions::perfect(Duration::from_millis(20))).there;
    check_usable(measured.usable, 10_000_000);
    assert!(measured.loss_loaded < 0.05, "{measured:?}");
}

#[test]
fn jitter_is_no_congestion() {
    let jittery = NetConditions { jitter: Duration::from_millis(12), ..line(40_000_000, 10) };
    check_usable(run(jittery, jittery).there.usable, 40_000_000);
}

#[test]
fn answers_that_come_after_the_last_question_count() {
    let far = NetConditions::perfect(Duration::from_millis(150));
    let Measured { loss, loss_loaded, rtt_loaded, .. } = run(far, far).there;
    assert_eq!((loss, loss_loaded), (0.0, 0.0));
    assert!(rtt_loaded.p50.abs_diff(300_000) < 1_000, "{rtt_loaded:?}");
}

#[test]
fn the_way_back_may_be_slow_and_is_measured_in_its_turn() {
    let found = run(line(50_000_000, 10), line(500_000, 10));
    check_usable(found.there.usable, 50_000_000);
    check_usable(found.back.unwrap().usable, 500_000);
}

#[test]
fn silence_ends_the_test() {
    let dead = NetConditions { loss: 1.0, ..NetConditions::perfect(Duration::ZERO) };
    assert_eq!(run_with(dead, dead, true).0, Err(Silent));
    assert_eq!(run_with(line(9_000_000, 5), line(9_000_000, 5), false).0, Err(Silent));
    // The smallest datagrams pass, loads do not; then nothing is usable, and the test says so.
    let small = NetConditions { datagram_max: 100, ..NetConditions::perfect(Duration::from_millis(5)) };
    let (outcome, took) = run_with(small, small, true);
    assert!(matches!(outcome, Err(Silent)) || outcome.is_ok_and(|found| found.there.usable.as_bps() == 0));
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[test]
fn in_its_turn_the_other_side_measures_the_other_way() {
    let back = run(line(50_000_000, 10), line(8_000_000, 10)).back.expect("it has taken its turn");
    assert!((6_000_000..=8_000_000).contains(&back.usable.as_bps()) && !back.at_least, "{back:?}");
    assert!(back.loaded_p50_us >= 20_000 && back.loaded_p95_us < 60_000 && back.lost_ppm < 10_000, "{back:?}");
}

#[test]
fn a_side_that_does_not_take_its_turn_is_asked_for_a_while() {
    let at = |ms: u64| Timestamp::from_us(1_000_000 + 1_000 * ms);
    let mut there = LinkTest::begin(1_400, at(0));
    let mut other = LinkTest::answer(1_400, at(0));
    let mut asked = 0;
    let outcome = (0..60_000).find_map(|ms| {
        while let Some(datagram) = there.poll_datagram(at(ms)) {
            // Only the load comes.
            let is_load = datagram.len() != 12;
            asked += usize::from(!is_load);
            if is_load {
                other.on_datagram(&datagram, at(ms));
            }
        }
        while let Some(datagram) = other.poll_datagram(at(ms)) {
            there.on_datagram(&datagram, at(ms));
        }
        there.outcome()
    });
    let found = outcome.expect("an outcome").unwrap();
    assert_eq!((asked, found.back), (15, None));
    assert!(found.there.usable.as_bps() > 0 && there.is_over());
}
