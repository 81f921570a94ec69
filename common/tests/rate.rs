//! Rate control over a bottleneck in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;

use std::time::Duration;

use call::tcp::Tcp;
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Scenario};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn way(delay: u64) -> NetConditions {
    NetConditions::perfect(ms(delay))
}

/// Prints how it went, for whoever looks at a failure.
fn print(call: &Call) {
    for lines in call.seen.chunks(6) {
        let wait = lines.iter().map(|seen| seen.wait).max().unwrap_or_default();
        let bytes: usize = lines.iter().map(|seen| seen.bytes).sum();
        let last = lines[lines.len() - 1];
        eprintln!(
            "{:6.2} s  target {}  wait {wait:?}  arrived {:.1}",
            last.at.as_secs_f64(),
            last.target,
            bytes as f64 * 80e-6
        );
    }
}

#[test]
fn the_start_is_quick() {
    let mut call = Call::new(mbit(20), way(25).limited(mbit(50), ms(500)), way(25));
    call.run(s(3));
    print(&call);
    let reached = call.seen.iter().find(|seen| seen.target == mbit(20)).unwrap().at;
    assert!(reached < ms(1_000), "{reached:?}");
    assert!(call.wait_max(ms(0), s(3)) < ms(30));
}

#[test]
fn a_longer_way_is_no_queue_once_it_is_known_that_the_way_is_another() {
    let line = |delay| way(delay).limited(mbit(50), ms(500));
    let lowest = |is_told| {
        let mut call = Call::new(mbit(20), Scenario::table(&[(s(0), line(10)), (s(5), line(45))]), way(10));
        call.run(s(5));
        if is_told {
            call.sender.on_path_changed(call.now);
        }
        call.run(s(5));
        print(&call);
        call.between(s(5), s(10)).map(|seen| seen.target).min().unwrap()
    };
    assert_eq!(lowest(true), mbit(20));
    assert!(lowest(false) < mbit(18), "else this test shows nothing");
    // And a shorter one.
    let mut call = Call::new(mbit(20), Scenario::table(&[(s(0), line(45)), (s(5), line(10))]), way(10));
    call.run(s(5));
    call.sender.on_path_changed(call.now);
    call.run(s(5));
    assert_eq!(call.between(s(5), s(10)).map(|seen| seen.target).min(), Some(mbit(20)));
}

#[test]
fn a_frame_leaves_at_once_where_the_line_is_fast() {
    for max in [2, 20, 50] {
        let mut call = Call::new(mbit(max), way(1), way(1));
        call.run(s(5));
        let slowest = call.between(s(1), s(5)).map(|seen| seen.pace).max().unwrap();
        assert!(slowest < ms(1), "at most {max} Mbit/s: {slowest:?}");
    }
    // A frame of 20 Mbit/s takes 3.3 ms on a line of 100.
    let mut call = Call::new(mbit(20), way(10).limited(mbit(100), ms(500)), way(10));
    call.run(s(5));
    let slowest = call.between(s(1), s(5)).map(|seen| seen.pace).max().unwrap();
    assert!(slowest < ms(4), "{slowest:?}");
}

#[test]
fn a_frame_makes_a_coarse_picture_sharp_where_the_line_takes_it_and_no_other_waits() {
    let line = |rate| way(25).limited(mbit(rate), ms(300));
    let (sharp, usual) = (2.0..6.0, 0.5..1.5);
    for (conditions, wanted) in [
        (way(25), &sharp),
        (line(50), &sharp),
        (line(8), &sharp),
        (line(2), &usual),
        (line(1), &usual),
        (NetConditions { loss: 0.05, ..line(20) }, &sharp),
        // Bursts agree at times.
        (NetConditions { jitter: ms(5), ..line(20) }, &(0.5..6.0)),
    ] {
        let called = |alone| {
            let mut call = Call::predicted(mbit(2), conditions, way(25), alone);
            call.run(s(10));
            call
        };
        let call = called(90);
        let share = call.given[60..90].iter().sum::<usize>() as f64 / 30.0;
        // The first frame's line is not known yet.
        for begin in [90, 180] {
            let largest = *call.given[begin + 1..begin + 30].iter().max().unwrap() as f64 / share;
            assert!(wanted.contains(&largest), "{conditions:?}: {largest}");
            let three_seconds = call.given[begin..begin + 90].iter().sum::<usize>() as f64 / share;
            // Parity, which is not counted here, is less of a large frame.
            let is_repaid = three_seconds < if conditions.loss > 0.0 { 94.0 } else { 91.0 };
            assert!(is_repaid, "{conditions:?}: {three_seconds:.2}");
        }
        let wait = |call: &Call| call.wait_max(s(3), s(10));
        assert!(wait(&call) <= wait(&called(u32::MAX)) + ms(10), "{conditions:?}: {:?}", wait(&call));
    }
}

#[test]
fn a_step_of_the_link_down_and_up() {
    let line = |rate| way(10).limited(mbit(rate), ms(500));
    // At different times within a frame interval and between two feedbacks.
    for (max, bar) in [(20, 200), (30, 250)] {
        for step in [5_000, 5_003, 5_006, 5_009, 5_012, 5_015] {
            let scenario = Scenario::table(&[(s(0), line(50)), (ms(step), line(5)), (s(15), line(50))]);
            let mut call = Call::new(mbit(max), scenario, way(10));
            call.run(s(25));
            print(&call);
            let (worst, later) = (call.wait_max(s(5), s(15)), call.wait_max(ms(5_500), s(15)));
            assert!(worst < ms(bar) && later < ms(100), "{step} ms: {worst:?}, after half a second {later:?}");
            let used = call.rates(s(7), s(15)).0;
            assert!((3.5..5.1).contains(&used), "{used}");
            let back = call.between(s(15), s(25)).find(|seen| seen.target >= mbit(4 * max / 5)).unwrap().at;
            assert!(back < s(20), "{back:?}");
        }
    }
}

#[test]
fn jitter_is_no_queue() {
    for jitter in [2, 8] {
        let conditions = NetConditions { jitter: ms(jitter), ..way(25).limited(mbit(50), ms(500)) };
        let mut call = Call::new(mbit(20), Scenario::from(conditions).with_seed(3), way(25));
        call.run(s(20));
        print(&call);
        assert!(call.between(s(2), s(20)).all(|seen| seen.target >= mbit(16)), "{jitter} ms");
    }
}

#[test]
fn random_loss_costs_nothing() {
    let conditions = NetConditions { loss: 0.05, ..way(25).limited(mbit(50), ms(500)) };
    let mut call = Call::new(mbit(20), conditions, NetConditions { loss: 0.05, ..way(25) });
    call.run(s(20));
    print(&call);
    assert!(call.between(s(2), s(20)).all(|seen| seen.target >= mbit(16)));
    let loss = call.sender.loss();
    assert!((0.03..0.07).contains(&loss.share) && loss.burst_mean < 1.3, "{loss:?}");
}

#[test]
fn large_frames_on_a_fast_link_are_no_loss() {
    let mut call = Call::new(mbit(500), way(1).limited(mbit(8_000), ms(50)), way(1));
    call.run(s(10));
    print(&call);
    let loss = call.sender.loss();
    assert!(loss.share < 1e-3, "{loss:?}");
    assert!(call.between(s(5), s(10)).all(|seen| seen.target == mbit(500)));
}

#[test]
fn a_link_that_is_too_slow_is_found_and_used() {
    for rate in [2, 10] {
        let mut call = Call::new(mbit(40), way(20).limited(mbit(rate), ms(300)), way(20));
        call.run(s(20));
        print(&call);
        let used = call.rates(s(5), s(20)).0 / rate as f64;
        let wait = call.wait_max(s(2), s(20));
        assert!((0.75..=1.0).contains(&used) && wait < ms(80), "{used} of {rate} Mbit/s, {wait:?}");
    }
}

#[test]
fn a_shallow_queue_shows_as_loss() {
    let mut call = Call::new(mbit(30), way(20).limited(mbit(10), ms(8)), way(20));
    call.run(s(15));
    print(&call);
    assert!(call.between(s(5), s(15)).all(|seen| seen.target <= mbit(16)));
    assert!(call.rates(s(5), s(15)).0 > 6.0);
}

#[test]
fn silence_halves_and_leaves_the_coarse_bands() {
    let mut call = Call::new(mbit(20), way(10).limited(mbit(50), ms(500)), way(10));
    call.run(s(3));
    let before = call.sender.rate_target();
    assert_eq!(before, mbit(20));
    call.silent_until = call.now + ms(1_500);
    let sent = |call: &Call| call.sender.stats().counts.bytes_sent;
    call.run(ms(300));
    assert_eq!(call.sender.rate_target(), mbit(10));
    call.run(ms(800));
    let then = sent(&call);
    call.run(ms(300));
    let coarse = (sent(&call) - then) as f64 * 8.0 / 0.3e6;
    assert!(coarse < 2.0 && coarse > 0.1, "{coarse} Mbit/s");
    call.run(s(4));
    print(&call);
    assert!(call.sender.rate_target() >= mbit(16), "{}", call.sender.rate_target());
}

#[test]
fn still_pictures_neither_raise_nor_lower_the_target() {
    let mut call = Call::new(mbit(40), way(20).limited(mbit(20), ms(300)), way(20));
    call.run(s(10));
    let before = call.sender.rate_target();
    call.detail = 0.1;
    call.run(s(20));
    let after = call.sender.rate_target();
    print(&call);
    assert!(after >= before.min(mbit(12)) && after <= mbit(24), "{before} {after}");
    call.detail = 1.0;
    call.run(s(5));
    assert!(call.wait_max(s(30), s(35)) < ms(100));
}

#[test]
fn a_tcp_flow_and_the_call_both_get_their_share() {
    for (rate, queue) in [(20, 100), (20, 250), (40, 60)] {
        let mut call = Call::new(mbit(50), way(20).limited(mbit(rate), ms(queue)), way(20));
        call.run(s(5));
        call.tcp = Some(Tcp::new(ms(20)));
        call.run(s(55));
        print(&call);
        let (media, tcp) = call.rates(s(15), s(60));
        let share = media / (media + tcp);
        eprintln!("{rate} Mbit/s, {queue} ms: call {media:.1}, TCP {tcp:.1} Mbit/s");
        assert!((0.25..=0.75).contains(&share), "{share}");
        assert!(call.wait_max(s(5), s(60)) <= ms(queue + 20));
        // When the flow has gone, the queue goes too.
        if let Some(tcp) = &mut call.tcp {
            tcp.is_over = true;
        }
        call.run(s(15));
        let wait = call.wait_max(s(74), s(75));
        assert!(wait < ms(60), "{wait:?}");
    }
}
