//! Rate control on lines and computers of homes, in virtual time: what stalls and what changes, each with its sign.
//! `SEEDS` in the environment: how many seeds a row.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;

use std::time::Duration;

use call::home::{Outcome, ROWS, Row, Stalls};
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Pauses, Scenario, lines};
use common::units::Bitrate;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn way() -> NetConditions {
    NetConditions::perfect(ms(25))
}

fn seeds(default: u64) -> u64 {
    std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn each(row: &Row, seeds: u64, check: impl Fn(&Outcome) -> bool) {
    for seed in 0..seeds {
        let outcome = row.run(seed, false).1;
        assert!(check(&outcome), "{row:?}, seed {seed}: {outcome:?}");
    }
}

#[test]
fn stalls_leave_the_rate_where_it_is() {
    for row in ROWS.iter().filter(|row| row.stalls != Stalls::Nothing) {
        each(row, seeds(2), |seen| {
            seen.during > 0.6 * seen.before && seen.worst > 0.4 * seen.before && seen.after > 0.95 * seen.before
        });
    }
}

#[test]
fn the_rate_is_back_two_seconds_after_the_line() {
    let mut count = 0;
    for row in ROWS.iter().filter(|row| row.line[0] != row.line[1]) {
        each(row, seeds(10), |seen| seen.back < s(2) && seen.overshoot < ms(50) && seen.after > 0.95 * seen.before);
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn a_rate_that_jumps_is_followed() {
    for frames in [60, 30] {
        let (length, mut shares, mut waits) = (s(60), vec![], vec![]);
        for seed in 0..seeds(4) {
            let line = lines::steps(seed, length, way(), ms(500));
            let mut call = Call::with_frames(frames, mbit(20), line.clone(), way());
            // Half of the lines deliver as a timer of a millisecond does.
            call.grain = ms(seed % 2);
            call.run(length);
            shares.push(1e6 * call.rates(s(2), length).0 / lines::capacity(&line, 19e6, s(2), length));
            waits.push(call.wait_percentile(0.95, s(2), length));
        }
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        let wait = waits.iter().sum::<Duration>() / waits.len() as u32;
        assert!(share > 0.8 && wait < ms(55), "{frames} frames a second: {shares:.2?} {waits:?}");
    }
}

/// Returns the lowest target of a call at up to 15 Mbit/s since second 5, in which something happens.
fn lowest(media: impl Into<Scenario>, back: impl Into<Scenario>, stalls: [Pauses; 2]) -> f64 {
    let mut call = Call::new(mbit(15), media, back);
    call.stalls = stalls;
    call.run(s(8));
    call.between(s(5), s(8)).map(|seen| seen.target.as_bps() as f64 / 1e6).fold(f64::MAX, f64::min)
}

fn once(span: u64) -> Pauses {
    Pauses::new([(ms(5_004), ms(span))])
}

#[test]
fn a_receiver_that_stalls_is_no_queue() {
    for span in [30, 80, 200] {
        let lowest = lowest(way().limited(mbit(20), ms(200)), way(), [Pauses::NONE, once(span)]);
        assert!(lowest > 14.0, "{span} ms: {lowest}");
    }
}

#[test]
fn a_sender_that_stalls_is_no_queue() {
    for span in [30, 80, 200, 400] {
        let lowest = lowest(way().limited(mbit(20), ms(200)), way(), [once(span), Pauses::NONE]);
        assert!(lowest > 14.0, "{span} ms: {lowest}");
    }
}

#[test]
fn both_ends_know_how_long_the_sender_stood_still() {
    let told = |stalls| {
        let mut call = Call::new(mbit(15), way().limited(mbit(20), ms(200)), way());
        call.stalls = stalls;
        call.run(s(8));
        (call.sender.path_counters().send_stalled, call.receiver.path_counters().peer_stalled)
    };
    let (own, there) = told([once(80), Pauses::NONE]);
    assert!(own == there && (ms(70)..ms(81)).contains(&own), "{own:?} {there:?}");
    assert_eq!(told([Pauses::NONE, once(80)]), (ms(0), ms(0)), "the receiver's stall is not the sender's");
}

#[test]
fn a_pause_of_a_radio_is_no_queue() {
    for span in [30, 80, 150] {
        let line = Scenario::from(way().limited(mbit(20), ms(200)));
        let behind = line.clone().paused(Pauses::NONE, once(span));
        let lowest_behind =
            lowest(behind, Scenario::from(way()).paused(once(span), Pauses::NONE), [(); 2].map(|()| Pauses::NONE));
        assert!(lowest_behind > 14.0, "{span} ms: {lowest_behind}");
        // Before the line the pause makes a queue of its own, which is given time to run empty.
        let mut call = Call::new(mbit(15), line.paused(once(span), Pauses::NONE), way());
        call.run(s(8));
        assert!(call.rates(s(6), s(8)).0 > 14.0 && call.wait_max(s(6), s(8)) < ms(10), "{span} ms");
    }
}

#[test]
fn scans_are_no_queue() {
    let scans = || Pauses::scans(s(5), s(8), s(10), ms(60));
    let line = Scenario::from(way().limited(mbit(20), ms(200))).paused(Pauses::NONE, scans());
    let lowest = lowest(line, Scenario::from(way()).paused(scans(), Pauses::NONE), [(); 2].map(|()| Pauses::NONE));
    assert!(lowest > 14.0, "{lowest}");
}

#[test]
fn a_radio_that_becomes_slower_is_a_queue() {
    let line = |rate| way().limited(mbit(rate), ms(300));
    let mut call = Call::new(mbit(15), Scenario::table(&[(s(0), line(20)), (s(5), line(6))]), way());
    call.run(s(10));
    assert!(call.between(ms(5_200), s(6)).all(|seen| seen.target < mbit(6)));
    assert!(call.rates(s(7), s(10)).0 > 5.0 && call.wait_max(s(6), s(10)) < ms(60));
}

#[test]
fn a_slow_line_that_loses_is_filled_and_left_as_soon_as_it_widens() {
    for (rate_bps, loss) in [(300_000, 0.1), (600_000, 0.0), (600_000, 0.05), (600_000, 0.1), (1_000_000, 0.03)] {
        for seed in 0..seeds(3) {
            let line = |bps| NetConditions { loss, ..way().limited(Bitrate::from_bps(bps), ms(300)) };
            let widens = Scenario::table(&[(s(0), line(rate_bps)), (s(10), line(20_000_000))]).with_seed(seed);
            let mut call = Call::new(mbit(20), widens, NetConditions { loss, ..way() });
            call.run(s(14));
            let (filled, followed) = (1e6 * call.rates(s(6), s(10)).0 / rate_bps as f64, call.rates(s(12), s(14)).0);
            assert!(
                filled > 0.85 - 2.0 * loss && followed > 14.0,
                "{rate_bps} bit/s, loss {loss}, seed {seed}: {filled:.2} of it, then {followed:.2} Mbit/s"
            );
        }
    }
}

#[test]
fn a_long_queue_is_not_filled() {
    let mut call = Call::new(mbit(15), way().limited(mbit(5), s(2)), way());
    call.run(s(20));
    assert!(call.wait_max(s(2), s(20)) < ms(80) && call.rates(s(2), s(20)).0 > 4.2);
}

#[test]
fn a_policer_is_found_by_loss_and_not_tried_for_ever() {
    let mut call = Call::new(mbit(30), way().limited(mbit(100), ms(200)).policed(mbit(10), ms(20)), way());
    call.run(s(30));
    let lost = call.sender.path_counters().datagrams_lost as f64 / call.sender.stats().datagrams_sent as f64;
    let got = call.rates(s(5), s(30)).0;
    assert!(got > 6.0 && lost < 0.2, "{got} Mbit/s, {lost} lost");
}

#[test]
fn a_cut_for_loss_leaves_what_gets_through() {
    // Half and more is lost; what is lost does not stand in any queue.
    for seed in 0..seeds(5) {
        let line = |rate| way().limited(mbit(100), ms(200)).policed(mbit(rate), ms(20));
        let falls = Scenario::table(&[(s(0), line(20)), (s(5), line(4))]).with_seed(seed);
        let mut call = Call::new(mbit(30), falls, way());
        call.run(s(10));
        let lowest = call.between(s(2), s(10)).map(|seen| seen.target).min().unwrap();
        assert!(lowest > Bitrate::from_bps(2_000_000), "seed {seed}: {lowest}");
    }
}

#[test]
fn a_radio_that_sends_in_batches_is_not_overrun() {
    // Nothing for 9 of 10 ms, behind a line of 10 Mbit/s.
    let batches = Pauses::new((0..4_000).map(|n| (ms(10 * n), ms(9))));
    let line = Scenario::from(way().limited(mbit(10), ms(500))).paused(Pauses::NONE, batches);
    let mut call = Call::new(mbit(30), line, way());
    call.run(s(20));
    let (got, wait) = (call.rates(s(3), s(20)).0, call.wait_percentile(0.95, s(3), s(20)));
    assert!(got > 6.0 && wait < ms(80), "{got} Mbit/s, {wait:?}");
}

#[test]
fn a_receiver_that_always_claims_to_stall_is_not_overrun() {
    let line = |rate| way().limited(mbit(rate), s(2));
    let mut call = Call::new(mbit(20), Scenario::table(&[(s(0), line(10)), (s(10), line(4))]), way());
    call.tamper = Some(|feedback| feedback[1] = 255);
    call.run(s(30));
    let (first, second) = (call.wait_max(s(3), s(10)), call.wait_max(s(14), s(30)));
    assert!(first < ms(200) && second < ms(200), "{first:?} {second:?}");
    assert!(call.between(s(14), s(30)).all(|seen| seen.target < mbit(6)));
}
