//! A sound program and our picture on one line, in virtual time: the sound does not suffer, and the picture hardly.
//! `SEEDS` in the environment: how many seeds a row.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;

use std::time::Duration;

use call::beside::{FROM, Known, Outcome, Row, SAMPLES, TO, line, rows, sound};
use call::home::ROWS;
use call::sound::Sound;
use call::tcp::Tcp;
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Network, Scenario, lines};
use common::units::Timestamp;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn declared() -> Known {
    Known::Declared(Sound::rate(SAMPLES))
}

fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Returns the 99th percentile of the wait of sound that has the line for itself, ms.
fn alone_ms(row: &Row, seed: u64) -> f64 {
    let start = Timestamp::default();
    let mut network = Network::new(Scenario::from(line(mbit(row.line))).with_seed(seed), start);
    let mut sound = sound(seed, start);
    while let Some(at) = sound.next_at().filter(|at| at.since(start) < TO) {
        sound.poll(at).into_iter().for_each(|packet| network.push(packet, at));
    }
    while let Some(at) = network.next_arrival() {
        network.pop(at).into_iter().for_each(|packet| assert!(sound.on_packet(&packet, at, start)));
    }
    sound.harm(FROM, TO).0
}

/// The bars: two milliseconds for the sound, and three for a picture that has half of the line.
#[track_caller]
fn check(row: &Row, seed: u64, before: &Outcome, after: &Outcome) {
    let said = format!("{row:?}, seed {seed}: before {before:?}, after {after:?}");
    assert!(after.p99_ms <= alone_ms(row, seed) + 2.0 && after.late == 0.0, "{said}");
    assert!((0.5..0.9).contains(&after.used) && (row.is_half || after.used > 0.7), "{said}");
    assert!(!row.is_half || after.picture_ms <= before.picture_ms + 3.1, "{said}");
}

#[test]
fn sound_that_was_declared_does_not_suffer() {
    let mut harmed = 0;
    for row in rows() {
        for seed in 0..seeds() {
            let before = row.run(seed, Known::Nothing).1;
            check(&row, seed, &before, &row.run(seed, declared()).1);
            harmed += u32::from(before.p99_ms > alone_ms(&row, seed) + 2.0);
        }
    }
    assert!(u64::from(harmed) > 12 * seeds(), "the model shows the harm where nothing is said: {harmed}");
}

#[test]
fn sound_that_nobody_has_declared_is_found() {
    for row in rows().iter().filter(|row| row.line <= 20) {
        for seed in 0..seeds() {
            let mut call = row.call(seed, Known::Found);
            call.run(s(18));
            let (rate, found) = (Sound::rate(SAMPLES).as_bps() as f64, call.sender.beside().0);
            let found = found.unwrap_or_else(|| panic!("{row:?}, seed {seed}: nothing")).as_bps() as f64;
            assert!((0.7..1.4).contains(&(found / rate)), "{row:?}, seed {seed}: {found}");
            let (p99_ms, late) = call.sound.as_ref().unwrap().harm(s(10), s(18));
            assert!(p99_ms < alone_ms(row, seed) + 2.0 && late == 0.0, "{row:?}, seed {seed}: {p99_ms} ms, {late}");
        }
    }
}

#[test]
fn nothing_is_found_where_no_sound_is() {
    let mut calls = vec![];
    for row in rows() {
        let mut call = row.call(0, Known::Apart);
        call.run(s(12));
        calls.push((format!("{row:?}"), call));
    }
    for row in ROWS {
        calls.push((format!("{row:?}"), row.run(0, false).0));
    }
    let way = NetConditions::perfect(ms(25));
    for seed in 0..3 {
        for (name, line) in
            [("steps", lines::steps(seed, s(30), way, ms(500))), ("mobile", lines::mobile(seed, s(30), way, ms(200)))]
        {
            let mut call = Call::new(mbit(20), line, way);
            call.sender.set_beside(None);
            call.run(s(30));
            calls.push((format!("{name} {seed}"), call));
        }
    }
    for rate in [3, 5, 10, 20, 50] {
        let mut call = Call::new(mbit(2 * rate), way.limited(mbit(rate), ms(100)), way);
        call.sender.set_beside(None);
        call.run(s(4));
        call.tcp = Some(Tcp::new(ms(25)));
        call.run(s(20));
        calls.push((format!("TCP on {rate}"), call));
    }
    let found: Vec<_> = calls.iter().filter_map(|(name, call)| Some((name, call.sender.beside().0?))).collect();
    assert!(found.is_empty(), "of {}: {found:#?}", calls.len());
}

#[test]
fn a_line_that_jumps_is_known_again() {
    for seed in 0..seeds().max(4) {
        let steps = [(s(0), 20), (s(8), 5), (s(16), 20), (s(24), 50)];
        let steps = steps.map(|(at, rate)| (at, line(mbit(rate))));
        let mut call = Call::beside(30, mbit(100), Scenario::table(&steps).with_seed(seed), declared());
        call.sound = Some(sound(seed, call.now));
        call.run(s(32));
        let sound = call.sound.as_ref().unwrap();
        for (from, to, rate) in [(3, 8, 14.0), (11, 16, 2.0), (20, 24, 14.0), (28, 32, 33.0)] {
            let harm = sound.harm(s(from), s(to));
            let seen = call.rates(s(from), s(to)).0;
            assert!(harm.0 < 3.2 && harm.1 == 0.0 && seen > rate, "seed {seed}, from {from} s: {harm:?}, {seen}");
        }
        // Until the first feedback after a step nobody can know; then the queue is to empty.
        let late = sound.harm(s(8), s(11)).1 * 3.0 / 60.0;
        assert!(late < 190.0, "seed {seed}: {late} packets late after the line has become slower");
    }
}

#[test]
fn the_begin_of_a_call_is_gentle_too() {
    for (rate, seed) in [5, 8, 20, 50].into_iter().flat_map(|rate| (0..4).map(move |seed| (rate, seed))) {
        let mut call = Call::beside(30, mbit(60), Scenario::from(line(mbit(rate))).with_seed(seed), declared());
        call.sound = Some(sound(seed, call.now));
        call.run(s(3));
        let (p99_ms, late) = call.sound.as_ref().unwrap().harm(s(0), s(3));
        assert!(p99_ms < 4.0 && late <= 60.0, "{rate} Mbit/s, seed {seed}: {p99_ms} ms, {late} late a minute");
    }
}

#[test]
fn a_clock_of_a_millisecond_shows_the_line_too() {
    for rate in [5, 10, 20] {
        let mut call = Call::beside(30, mbit(60), Scenario::from(line(mbit(rate))), declared());
        call.grain = ms(1);
        call.run(s(12));
        let bears = call.sender.beside().1.unwrap().as_bps() as f64 / 1e6;
        assert!((0.75..1.25).contains(&(bears / rate as f64)), "{rate}: {bears}");
    }
}
