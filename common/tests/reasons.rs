//! The reasons that the sessions give for the state of the picture: for each a line that makes it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests of calls")]
mod call;
#[allow(dead_code, reason = "shared with the other tests of sessions")]
mod world;

use std::time::Duration;

use call::tcp::Tcp;
use call::{Call, mbit, ms};
use common::netsim::{NetConditions, Pauses, Scenario};
use common::reason::{Cause, Reason, ReasonCounts};
use common::stream::video::protection::Protection;
use common::stream::video::{FrameTimes, ReceiverOptions};
use common::units::FrameId;
use common::wire::media::{Content, MediaHeader};
use picture::coded::CodedFrame;
use world::World;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn way(delay: u64) -> NetConditions {
    NetConditions::perfect(ms(delay))
}

/// A line of 50 Mbit/s that becomes one of `rate` after five seconds, and goes back after fifteen.
fn steps(rate: u64) -> Call {
    let line = |rate| way(10).limited(mbit(rate), ms(500));
    Call::new(mbit(20), Scenario::table(&[(s(0), line(50)), (s(5), line(rate)), (s(15), line(50))]), way(10))
}

/// Returns the counts of the sender's reasons, of its path and its stream.
fn sent(call: &Call) -> ReasonCounts {
    call.sender.path_counters().reasons.plus(call.sender.stats().reasons)
}

/// Returns the number of times that the sender and the receiver have given each reason, of those that occurred.
fn counts(call: &Call) -> Vec<(Cause, u64)> {
    let sender = sent(call);
    let receiver = call.receiver.stats().reasons;
    let sender = Cause::SENDER.iter().map(|&cause| (cause, sender.get(cause)));
    let receiver = Cause::RECEIVER.iter().map(|&cause| (cause, receiver.get(cause)));
    sender.chain(receiver).filter(|&(_, count)| count > 0).collect()
}

/// Fails unless the sender or the receiver has given each of `causes`.
#[track_caller]
fn check(call: &Call, causes: &[Cause]) {
    let counts = counts(call);
    for cause in causes {
        assert!(counts.iter().any(|(given, _)| given == cause), "{cause:?} is not among {counts:?}");
    }
}

/// The sender's reasons, in words.
fn words(call: &mut Call) -> Vec<String> {
    std::iter::from_fn(|| call.sender.poll_reason()).map(|reason| reason.to_string()).collect()
}

#[test]
fn a_clean_line_gives_growth_at_the_start_and_nothing_else() {
    for line in [way(10), way(10).limited(mbit(50), ms(500))] {
        let mut call = Call::new(mbit(20), line, way(10));
        call.run(s(30));
        let start = [Cause::GrowthBegan, Cause::GrowthEnded, Cause::ProbingBegan].map(|cause| (cause, 1));
        assert_eq!(counts(&call), start);
    }
}

#[test]
fn a_line_that_becomes_slower_tells_why_the_target_fell_and_when_it_came_back() {
    let falls = [
        (17, Cause::CutByDelay, "target 20.0 Mbit/s -> 9.8 Mbit/s: a queue stands"),
        (15, Cause::CutByCollapse, "target 20.0 Mbit/s -> 9.0 Mbit/s: the queueing delay grows by 100 %"),
    ];
    for (rate, cause, cut) in falls {
        let mut call = steps(rate);
        call.run(s(25));
        check(&call, &[cause, Cause::QueueEmptied]);
        let words = words(&mut call);
        let said = |text: &str| words.iter().any(|line| line.contains(text));
        assert!(said(cut), "{words:#?}");
        assert!(said("the queue is empty"), "{words:#?}");
        assert!(words.len() < 20, "a log of 25 seconds is short: {words:#?}");
        let reasons = sent(&call);
        assert_eq!(words.len() as u64, Cause::SENDER.iter().map(|&cause| reasons.get(cause)).sum::<u64>());
    }
}

#[test]
fn a_delay_that_falls_by_a_part_only_is_a_queue_that_stands() {
    let line = Scenario::table(&[(s(0), way(10)), (s(5), way(35)), (ms(5_500), way(20))]);
    let mut call = Call::new(mbit(20), line, way(10));
    call.run(s(8));
    check(&call, &[Cause::CutByDelay, Cause::QueueStands]);
}

#[test]
fn bursts_of_a_radio_that_sends_in_batches_are_doubted() {
    // Nothing for 18 of 20 ms, behind a line of 5 Mbit/s.
    let batches = Pauses::new((0..500).map(|n| (ms(20 * n), ms(18))));
    let line = Scenario::from(way(25).limited(mbit(5), ms(500))).paused(Pauses::NONE, batches);
    let mut call = Call::new(mbit(30), line, way(25));
    let mut said = vec![];
    for _ in 0..10 {
        call.run(s(1));
        said.extend(words(&mut call));
    }
    check(&call, &[Cause::BurstsDoubted]);
    assert!(said.iter().any(|line| line.contains("arrived: not believed for 500.0 ms")), "{said:#?}");
}

#[test]
fn loss_that_persists_cuts_and_sets_a_ceiling_that_is_forgotten() {
    let line = way(25).limited(mbit(100), ms(200));
    let line = Scenario::table(&[(s(0), line.policed(mbit(10), ms(20))), (s(10), line)]);
    let mut call = Call::new(mbit(60), line, way(25));
    call.run(s(5));
    let words = words(&mut call);
    call.run(s(50));
    check(&call, &[Cause::CutByLoss, Cause::CeilingSet, Cause::CeilingForgotten, Cause::PartsMissing]);
    assert!(words.iter().any(|line| line.contains("% of the datagrams are lost, usual is 0 %")), "{words:#?}");
}

#[test]
fn another_flow_is_competition_and_its_end_is_told() {
    let mut call = Call::new(mbit(50), way(20).limited(mbit(20), ms(100)), way(20));
    call.run(s(5));
    call.tcp = Some(Tcp::new(ms(20)));
    call.run(s(25));
    call.tcp.as_mut().unwrap().is_over = true;
    call.run(s(10));
    check(
        &call,
        &[Cause::CompetitionBegan, Cause::CompetitionProbed, Cause::CutInCompetition, Cause::CompetitionEnded],
    );
}

#[test]
fn silence_is_told_once_for_each_cut_and_what_it_takes_from_frames() {
    let mut call = Call::new(mbit(20), way(10).limited(mbit(50), ms(500)), way(10));
    call.run(s(3));
    words(&mut call);
    call.silent_until = call.now + s(5);
    call.run(ms(900));
    let silences = words(&mut call);
    let wanted = "target 10.0 Mbit/s -> 5.0 Mbit/s: no feedback report for 500.0 ms";
    assert!(silences.len() == 3 && silences.iter().any(|line| line == wanted), "{silences:#?}");
    call.run(s(8));
    let counts = sent(&call);
    assert_eq!((counts.get(Cause::CutBySilence), counts.get(Cause::SilenceOver)), (7, 1));
    check(&call, &[Cause::DetailLeftOut]);
}

#[test]
fn a_frame_that_a_newer_one_overtakes_is_told() {
    let mut world = World::new(way(10), ReceiverOptions::default());
    world.stream(3);
    for n in 0..2 {
        let now = world.now + ms(10 * n);
        world.sender.on_frame(
            world.sender.next_frame(),
            &world::frame(n, 20_000),
            FrameTimes { capture: now, coded: now },
            now,
        );
        assert!(world.sender.poll_datagram(now).is_some());
    }
    let reasons = std::iter::from_fn(|| world.sender.poll_reason());
    assert!(reasons.into_iter().any(|reason| matches!(reason, Reason::FrameOvertaken { frame: FrameId(3), .. })));
}

#[test]
fn a_frame_without_a_whole_block_is_told_and_not_shown() {
    let mut world = World::new(way(10), ReceiverOptions::default());
    world.stream(3);
    let whole = world.receiver.stats().frames_complete;
    // Of a frame whose first block takes several datagrams comes the first part of that block.
    world.tamper = Some(|datagram| {
        let content = MediaHeader::parse(datagram).map(|(header, _)| header.content);
        if !matches!(content, Ok(Content::Fragment { offset: 0, .. })) {
            datagram.clear();
        }
    });
    let blocks = world::frame(0, 5_000).block_count();
    let large = CodedFrame { ends: vec![4_000; blocks], data: vec![1; 4_000], ..world::frame(0, 5_000) };
    for _ in 0..5 {
        let now = world.now + Duration::from_micros(world::SENDER_AHEAD_US as u64);
        world.sender.on_frame(world.sender.next_frame(), &large, FrameTimes { capture: now, coded: now }, now);
        world.run_for(world::INTERVAL);
    }
    world.run_for(s(1));
    let stats = world.receiver.stats();
    assert_eq!((stats.frames_complete, stats.frames_partial), (whole, 0));
    assert_eq!((stats.reasons.get(Cause::FrameUnusable), stats.reasons.get(Cause::PartsMissing)), (5, 0));
    let said: Vec<_> = std::iter::from_fn(|| world.receiver.poll_reason()).map(|reason| reason.to_string()).collect();
    assert!(said.len() == 5 && said.iter().all(|line| line.contains("no block of it is there")), "{said:#?}");
}

#[test]
fn frames_that_do_not_come_whole_are_told_by_how_they_ended() {
    let count = |loss: f64, latency_max: Option<Duration>, protection: Protection| {
        let mut counts = [0; Cause::RECEIVER.len()];
        for seed in 0..20 {
            let line = Scenario::from(NetConditions { loss, ..way(10) }).with_seed(seed);
            let options = ReceiverOptions { latency_max, ..ReceiverOptions::default() };
            let mut world = World::protected(line, options, protection);
            world.run(25);
            let stats = world.receiver.stats();
            assert_eq!(
                stats.reasons.get(Cause::PartsMissing) + stats.reasons.get(Cause::PushedOut),
                stats.frames_partial
            );
            for (sum, &cause) in counts.iter_mut().zip(Cause::RECEIVER) {
                *sum += stats.reasons.get(cause);
            }
        }
        counts
    };
    assert_eq!(count(0.0, None, Protection::Auto), [0; 5]);
    let [parts_missing, _, _, stale, skipped] = count(0.8, None, Protection::Auto);
    assert!(parts_missing > 0 && stale == 0 && skipped > 0);
    let [_, pushed_out, ..] = count(0.3, Some(s(1)), Protection::Auto);
    assert!(pushed_out > 0);
}
