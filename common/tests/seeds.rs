//! Both ends over thousands of bad networks, among them some with a hostile sender. What must hold in each: frame
//! numbers rise, no frame comes after its deadline, every block that comes is the one that was sent, memory stays
//! bounded, and every frame is counted once.
//!
//! `SEEDS` in the environment is a range such as `0..10000` (`make seeds`) or one seed of a failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of sessions")]
mod world;

use std::ops::Range;
use std::time::Duration;

use common::netsim::{Bottleneck, Bursts, NetConditions, Random, Scenario};
use common::protection::Protection;
use common::session::ReceiverOptions;
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

/// Bad in some ways that follow from the seed.
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
        conditions.bottleneck = Some(Bottleneck { rate, queue: ms(10 + random.below(200)), overhead_bytes: 28 });
    }
    if random.chance(0.1) {
        conditions.datagram_max = 600 + random.below(700) as usize;
    }
    if random.chance(0.05) {
        conditions.loss = 1.0;
    }
    conditions
}

/// One to three kinds of weather within the stream's 0.8 seconds.
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
