//! A link test over known links, in virtual time: does it find what is there?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use common::linktest::{Answerer, Measured, Silent, Tester, Turning, told};
use common::netsim::{Bottleneck, NetConditions, Network, Scenario};
use common::units::{Bitrate, Timestamp};

/// Bytes that the bottleneck counts beyond a datagram's own, as the tester does.
const OVERHEAD_BYTES: usize = 60;
/// The answerer's clock is far from the tester's.
const CLOCK_AHEAD: Duration = Duration::from_secs(86_400);

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

/// Runs a test over two ways; the result and how long it took.
fn run(there: impl Into<Scenario>, back: impl Into<Scenario>) -> (Result<Measured, Silent>, Duration) {
    let start = Timestamp::from_us(1_000_000);
    let (mut there, mut back) = (Network::new(there, start), Network::new(back, start));
    let (mut tester, mut answerer) = (Tester::new(1_400, start), Answerer::default());
    let mut now = start;
    loop {
        while let Some(datagram) = tester.poll_datagram(now) {
            there.push(datagram, now);
        }
        while let Some(datagram) = there.pop(now) {
            if let Some(answer) = answerer.on_datagram(&datagram, now + CLOCK_AHEAD) {
                back.push(answer, now);
            }
        }
        while let Some(datagram) = back.pop(now) {
            tester.on_datagram(&datagram, now);
        }
        if let Some(outcome) = tester.outcome() {
            return (outcome, now.since(start));
        }
        let times = [tester.poll_timeout(), there.next_arrival(), back.next_arrival()];
        // A session that asks for the past is called again at once, as the loop of a daemon would.
        let next = times.into_iter().flatten().min().expect("someone waits for something");
        now = next.max(now + Duration::from_micros(1));
        assert!(now.since(start) < Duration::from_secs(60), "the test does not end");
    }
}

#[track_caller]
fn check_usable(measured: &Measured, capacity_bps: u64) {
    let share = measured.usable.as_bps() as f64 / capacity_bps as f64;
    assert!((0.75..=1.0).contains(&share), "{:?} of {capacity_bps} bits a second", measured);
}

#[test]
fn clean_lines_of_all_speeds_are_measured() {
    for (rate, delay) in [(1_000_000, 40), (5_000_000, 20), (20_000_000, 10), (50_000_000, 25), (150_000_000, 5)] {
        let (outcome, took) = run(line(rate, delay), NetConditions::perfect(Duration::from_millis(delay)));
        let measured = outcome.unwrap();
        check_usable(&measured, rate);
        assert!(took < Duration::from_secs(25), "{rate}: {took:?}");
        // A ping takes its own time through a slow line.
        let rtt = measured.rtt.p50.abs_diff(2_000 * delay);
        assert!(rtt <= 1_000 && measured.loss == 0.0 && !measured.at_least, "{measured:?}");
        assert!(measured.rtt_loaded.p95 <= 2_000 * delay + 40_000, "{measured:?}");
    }
}

#[test]
fn a_line_without_a_limit_carries_at_least_what_is_tried() {
    let measured = run(NetConditions::perfect(Duration::ZERO), NetConditions::perfect(Duration::ZERO)).0.unwrap();
    assert!(measured.at_least && measured.usable == Bitrate::from_bps(180_000_000), "{measured:?}");
}

#[test]
fn random_loss_is_told_from_congestion() {
    for (seed, loss) in [(1, 0.01), (2, 0.05), (3, 0.10)] {
        let there = Scenario::from(NetConditions { loss, ..line(30_000_000, 15) }).with_seed(seed);
        let back = Scenario::from(NetConditions { loss, ..NetConditions::perfect(Duration::from_millis(15)) });
        let measured = run(there, back.with_seed(seed + 10)).0.unwrap();
        check_usable(&measured, 30_000_000);
        assert!((measured.loss_loaded - loss).abs() < 0.02, "{loss}: {measured:?}");
        assert!(measured.loss > 0.0 && measured.loss < 4.0 * loss + 0.03, "{loss}: {measured:?}");
    }
}

#[test]
fn jitter_is_no_congestion() {
    let jittery = NetConditions { jitter: Duration::from_millis(12), ..line(40_000_000, 10) };
    check_usable(&run(jittery, jittery).0.unwrap(), 40_000_000);
}

#[test]
fn answers_that_come_after_the_last_ping_count() {
    let far = NetConditions::perfect(Duration::from_millis(150));
    let measured = run(far, far).0.unwrap();
    assert_eq!((measured.loss, measured.loss_loaded), (0.0, 0.0), "{measured:?}");
    assert!(measured.rtt_loaded.p50.abs_diff(300_000) < 1_000, "{measured:?}");
}

#[test]
fn the_way_back_may_be_slow() {
    check_usable(&run(line(50_000_000, 10), line(500_000, 10)).0.unwrap(), 50_000_000);
}

#[test]
fn silence_ends_the_test() {
    let dead = NetConditions { loss: 1.0, ..NetConditions::perfect(Duration::ZERO) };
    assert_eq!(run(dead, dead).0, Err(Silent));
    // Pings pass, loads do not; then nothing is usable, and the test says so.
    let small = NetConditions { datagram_max: 100, ..NetConditions::perfect(Duration::from_millis(5)) };
    let (outcome, took) = run(small, small);
    assert!(matches!(outcome, Err(Silent)) || outcome.is_ok_and(|measured| measured.usable.as_bps() == 0));
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[test]
fn in_its_turn_the_other_side_measures_the_other_way() {
    let start = Timestamp::from_us(1_000_000);
    let (mut there, mut back) = (Network::new(line(50_000_000, 10), start), Network::new(line(8_000_000, 10), start));
    let (mut turning, mut other) = (Turning::new(start), None);
    let mut now = start;
    let found = loop {
        while let Some(asked) = turning.poll_datagram(now) {
            there.push(asked, now);
        }
        while let Some(datagram) = there.pop(now) {
            // Whatever comes first is the request.
            let other = other.get_or_insert_with(|| Tester::new(1_400, now + CLOCK_AHEAD));
            other.on_datagram(&datagram, now + CLOCK_AHEAD);
        }
        if let Some(other) = &mut other {
            while let Some(datagram) = other.poll_datagram(now + CLOCK_AHEAD) {
                back.push(datagram, now);
            }
            if let Some(outcome) = other.outcome() {
                back.push(told(&outcome.unwrap()), now);
            }
        }
        while let Some(datagram) = back.pop(now) {
            if let Some(answer) = turning.on_datagram(&datagram, now) {
                there.push(answer, now);
            }
        }
        if let Some(outcome) = turning.outcome() {
            break outcome.expect("it has taken its turn");
        }
        now = now + Duration::from_micros(500);
        assert!(now.since(start) < Duration::from_secs(60), "the turn does not end");
    };
    assert!((6_000_000..=8_000_000).contains(&found.usable.as_bps()) && !found.at_least, "{found:?}");
    assert!(found.loaded_p50_us >= 20_000 && found.loaded_p95_us < 60_000 && found.lost_ppm < 10_000, "{found:?}");
}
