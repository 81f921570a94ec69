//! Both ends over thousands of bad networks, among them some with a hostile sender. What must hold in each: frame
//! numbers rise, no frame comes after its deadline, every block that comes is the one that was sent, memory stays
//! bounded, and every frame is counted once. And calls over thousands of lines and computers of homes, which stall: the
//! rate must be there in the end.
//!
//! `SEEDS` in the environment is a range such as `0..10000` (`make seeds`) or one seed of a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;
#[allow(dead_code, reason = "shared with the other tests of sessions")]
mod world;

use std::ops::Range;
use std::time::Duration;

use call::Call;
use common::netsim::{Bottleneck, Bursts, HEADERS_BYTES, NetConditions, Pauses, Random, Scenario};
use common::stream::video::ReceiverOptions;
use common::stream::video::protection::Protection;
use common::units::Bitrate;
use world::World;

const FRAMES: u64 = 25;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("SEEDS") else { return 0..2_000 };
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("SEEDS={text}: write 7 or 0..10000"));
    match text.split_once("..") {
        Some((start, end)) => number(start)..number(end),
        None => number(&text)..number(&text) + 1,
    }
}

/// Returns conditions that are bad in some ways, by the seed.
fn conditions(random: &mut Random) -> NetConditions {
    let mut conditions = NetConditions::perfect(ms(random.below(60)));
    if random.chance(0.5) {
        conditions.loss = 0.3 * random.unit().powi(2);
    }
    if random.chance(0.3) {
        let mean_length = 1.0 + random.below(12) as f64;
        conditions.bursts = Some(Bursts { average: 0.1 * random.unit(), mean_length });
    }
    if random.chance(0.3) {
        conditions.duplicate = 0.2 * random.unit();
    }
    if random.chance(0.3) {
        conditions.reorder = 0.1 * random.unit();
        conditions.reorder_by = random.below(6) as u32;
        conditions.reorder_delay = ms(1 + random.below(40));
    }
    if random.chance(0.5) {
        conditions.jitter = ms(random.below(6));
    }
    if random.chance(0.2) {
        let rate = Bitrate::from_bps(1_000_000 + random.below(8_000_000));
        conditions.bottleneck =
            Some(Bottleneck { rate, queue: ms(10 + random.below(200)), overhead_bytes: HEADERS_BYTES });
    }
    if random.chance(0.1) {
        conditions.datagram_max = 600 + random.below(700) as usize;
    }
    if random.chance(0.05) {
        conditions.loss = 1.0;
    }
    conditions
}

/// Returns a scenario with one to three kinds of impairment within the stream's 0.8 seconds.
fn scenario(seed: u64) -> Scenario {
    let mut random = Random::new(seed);
    let changes = random.below(3);
    let lines: Vec<_> = (0..=changes).map(|at| (ms(at * 300), conditions(&mut random))).collect();
    Scenario::table(&lines).with_seed(seed)
}

fn options(seed: u64) -> ReceiverOptions {
    ReceiverOptions {
        latency_max: seed.is_multiple_of(3).then(|| ms(seed % 50)),
        drops_backlog: seed.is_multiple_of(2),
        size_max: None,
    }
}

#[test]
fn thousands_of_bad_networks_break_no_promise() {
    let (mut complete, mut partial, mut lost, mut recovered) = (0, 0, 0, 0);
    for seed in seeds() {
        let protection = if seed % 8 == 7 { Protection::Off } else { Protection::Auto };
        let mut world = World::protected(scenario(seed), options(seed), protection);
        world.try_run(FRAMES).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let (counters, sender) = (world.receiver.stats(), world.sender.stats());
        assert!(world.sender_finished && world.receiver_finished, "seed {seed}: not finished");
        assert_eq!(sender.frames_sent + sender.frames_cut, FRAMES, "seed {seed}");
        let all = counters.frames_complete + counters.frames_partial + counters.frames_lost;
        assert_eq!(all, FRAMES, "seed {seed}: {counters:?}");
        assert_eq!((counters.datagrams_malformed, counters.fec_malformed), (0, 0), "seed {seed}: {counters:?}");
        complete += counters.frames_complete;
        partial += counters.frames_partial;
        lost += counters.frames_lost;
        recovered += counters.fec_recovered;
    }
    println!("seeds {:?}: {complete} complete, {partial} partial, {lost} lost, {recovered} rebuilt", seeds());
    if seeds().end - seeds().start >= 2_000 {
        // Bad enough to mean something, and the picture went on.
        assert!(complete > 3 * lost && partial > 4_000 && lost > 200 && recovered > 2_000);
    }
}

#[test]
fn a_sender_that_lies_about_parity_is_counted_and_costs_no_memory() {
    let (mut malformed, mut contradictions, mut shown) = (0, 0, 0);
    for seed in seeds().step_by(4) {
        let mut world = World::new(scenario(seed), options(seed));
        world.hostile = Some(Random::new(seed));
        world.try_run(FRAMES).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let counters = world.receiver.stats();
        malformed += counters.datagrams_malformed;
        contradictions += counters.fec_malformed;
        shown += world.trace.len();
    }
    println!("seeds {:?}: {malformed} malformed, {contradictions} contradictions, {shown} frames shown", seeds());
    if seeds().end - seeds().start >= 2_000 {
        assert!(malformed > 10_000 && contradictions > 100 && shown > 1_000);
    }
}

/// Returns a call over a line of a home whose radio pauses or whose ends stall, from second 2 to 11; and what the line
/// bears in the end, bits a second.
fn home(seed: u64) -> (Call, f64) {
    let mut random = Random::new(seed ^ 0x1103e);
    let most = 1_000_000 * (1 + random.below(30));
    let mut way = NetConditions::perfect(ms(3 + random.below(60)));
    if random.chance(0.3) {
        way.loss = 0.05 * random.unit();
    }
    if random.chance(0.3) {
        way.jitter = ms(random.below(5));
    }
    let queue = ms(50 + random.below(500));
    let line = |random: &mut Random| {
        if random.chance(0.3) { way } else { way.limited(Bitrate::from_bps(500_000 + random.below(25_000_000)), queue) }
    };
    let (first, last) = (line(&mut random), line(&mut random));
    let bears = last.bottleneck.map_or(most as f64, |line| (most as f64).min(line.rate.as_bps() as f64));
    let (from, to) = (Duration::from_secs(2), Duration::from_secs(11));
    let [period, longest] = [300 + random.below(2_000), 20 + random.below(180)].map(ms);
    let pauses = |number: u64| Pauses::random(seed + number, from, to, period, longest / 2, longest.min(period / 2));
    let mut media = Scenario::table(&[(ms(0), first), (ms(3_000 + random.below(6_000)), last)]).with_seed(seed);
    let mut back = Scenario::from(way);
    let what = random.below(6);
    match what {
        0 => (media, back) = (media.paused(pauses(0), pauses(0)), back.paused(pauses(0), pauses(0))),
        1 => (media, back) = (media.paused(Pauses::NONE, pauses(0)), back.paused(pauses(0), Pauses::NONE)),
        2 => (media, back) = (media.paused(pauses(0), Pauses::NONE).holding(92), back.paused(Pauses::NONE, pauses(0))),
        _ => {}
    }
    let mut call = Call::new(Bitrate::from_bps(most), media, back);
    if what == 3 || what == 5 {
        call.stalls[0] = pauses(1);
    }
    if what == 4 || what == 5 {
        call.stalls[1] = pauses(2);
    }
    (call, bears * (1.0 - way.loss))
}

/// Nobody has sound beside in these homes, whatever their stalls do to frames.
#[test]
fn stalls_are_not_taken_for_sound_beside() {
    let all = std::env::var_os("SEEDS").is_some();
    let (mut found, mut calls) = (vec![], 0);
    for seed in seeds().step_by(if all { 1 } else { 20 }) {
        let mut call = home(seed).0;
        call.sender.set_beside(None);
        call.run(ms(16_000));
        calls += 1;
        found.extend(call.sender.beside().0.map(|rate| (seed, rate.as_bps())));
    }
    println!("sound found in {} of {calls} homes: {found:?}", found.len());
    assert!(100 * found.len() <= calls, "sound where none is: {found:?}");
}

#[test]
fn after_stalls_the_rate_is_there() {
    let all = std::env::var_os("SEEDS").is_some();
    let (mut shares, mut bad) = (vec![], vec![]);
    for seed in seeds().step_by(if all { 1 } else { 20 }) {
        let (mut call, bears) = home(seed);
        call.run(ms(16_000));
        let share = 1e6 * call.rates(ms(13_000), ms(16_000)).0 / bears;
        shares.push(share);
        if share < 0.5 {
            bad.push((seed, share));
        }
    }
    shares.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| shares.get((shares.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!(
        "home lines, {} seeds: share in the end, least {:.2}, 1 % {:.2}, median {:.2}",
        shares.len(),
        at(0.0),
        at(0.01),
        at(0.5)
    );
    assert!(bad.is_empty(), "less than half of what the line bears, in the end: {bad:.2?}");
}
