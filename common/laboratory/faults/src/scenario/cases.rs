//! The scenarios.

use std::time::Duration;

use common::netsim::{Bursts, HEADERS_BYTES, NetConditions, Pauses, Scenario, lines};
use common::units::Bitrate;

use crate::flood::Flood;
use crate::hostile::Act;
use crate::machine::route::Route;
use crate::relay::Passed;
use crate::scenario::case::{CLEAN, Case, FAR, LOOPBACK};
use crate::scenario::event::Event;
use crate::scenario::soak;
use crate::scenario::{checks, device_faults};
use crate::testbed::{RECEIVER, SENDER};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const NEAR: NetConditions = NetConditions::perfect(ms(10));

/// Video that an OpenCL device which is the processor itself can code besides everything else.
const SMALL: (&str, &str) = ("pattern:size=640x360:fps=30", "4M");

/// Returns all scenarios, to run for `length`; `cycle`: time between two of a fault that is repeated, if not its own.
/// `recordings` take the place of a made-up mobile line, two at most.
pub(crate) fn all(length: Duration, seed: u64, cycle: Option<Duration>, recordings: &[String]) -> Vec<Case> {
    let every = |period: u64, event: Event| -> Vec<(Duration, Event)> {
        let period = cycle.unwrap_or(ms(period));
        let times = (0..).map(|n| ms(3_000) + n * period).take_while(|&at| at + ms(3_000) <= length);
        times.map(|at| (at, event)).collect()
    };
    let span = length.saturating_sub(ms(5_000));

    let lossy = NetConditions { loss: 0.05, ..FAR };
    let bursty = NetConditions { bursts: Some(Bursts { average: 0.01, mean_length: 8.0 }), ..FAR };
    let gaps = Scenario::table(&[(ms(0), bursty), (ms(9_800), bursty.blackout())]).repeated_every(ms(10_000));
    let mixed = NetConditions { reorder: 0.01, reorder_by: 5, reorder_delay: ms(20), duplicate: 0.01, ..FAR };
    let line = |bps| NEAR.limited(Bitrate::from_bps(bps), ms(500));
    let (third, two_thirds) = (length / 3, length * 2 / 3);
    let narrowing =
        Scenario::table(&[(ms(0), line(50_000_000)), (third, line(5_000_000)), (two_thirds, line(50_000_000))]);
    // 1500 and 1280 bytes of IPv4.
    let of_size = |bytes: usize| NetConditions { datagram_max: bytes - HEADERS_BYTES, ..FAR };
    let smaller = Scenario::table(&[(ms(0), of_size(1_500)), (length / 2, of_size(1_280))]);
    let back = ms(checks::CABLE_BACK as u64);
    let cut = |path: NetConditions, span| {
        Scenario::table(&[(ms(0), path), (back.saturating_sub(span), path.blackout()), (back, path)])
    };
    let slow = FAR.limited(Bitrate::from_bps(1_000_000), ms(200));
    let pause = vec![(ms(2_000), Event::Pause { ends: [false, true], span: ms(5_000) })];
    let starved = vec![(length / 3, Event::Starve(length / 3))];
    let clocks = vec![
        (length / 4, Event::Clock("+1d")),
        (length / 2, Event::Clock("-1d")),
        (length * 3 / 4, Event::Clock("+0")),
    ];
    let shared = Route::Line { rate: Bitrate::from_bps(20_000_000), queue: ms(100) };
    let tcp = vec![(Duration::from_micros((checks::TCP_BEGINS * 1e3) as u64), Event::Tcp)];
    let flood = |kind, per_second| vec![(ms(2_000), Event::Flood { kind, per_second, span })];
    let hostile = |act| vec![(ms(2_000), Event::Hostile { act, span })];

    let cases = vec![
        Case::new(LOOPBACK, "the loopback", checks::loopback_check).route(Route::Direct),
        // The rate is with what is around the datagrams.
        Case::new("L2", "the loopback, 200 Mbit/s of 1080p30", checks::throughput_check)
            .route(Route::Direct)
            .of(None, ("pattern:size=1920x1080:fps=30", "214M")),
        Case::new(CLEAN, "no impairment, 50 ms RTT", checks::no_gap),
        Case {
            is_proof: true,
            needs_clean: true,
            ..Case::new("T1", "5 % loss, 50 ms RTT", checks::loss_check).both_ways(lossy).fired(loses_many)
        },
        Case::new("T2", "bursts (mean 8, 1 %), 200 ms blackout every 10 s", checks::bursts_check)
            .both_ways(gaps)
            .fired(loses_many),
        Case::new("T3", "1 % overtaken by 1 to 5, 1 % twice", checks::mixed_check)
            .both_ways(mixed)
            .fired(|passed| passed.there.overtaken > 20 && passed.there.duplicated > 20),
        Case::new("T4", "50, 5, 50 Mbit/s, 500 ms queue", checks::narrow_check)
            .lines(narrowing, NEAR)
            .fired(|passed| passed.there.entered > 1_000),
        Case::new("T5", "a TCP Cubic flow on the same 20 Mbit/s, 100 ms queue", checks::shared_check)
            .route(shared)
            .events(tcp),
        Case::new("T6", "MTU 1500 to 1280, no ICMP", checks::size_check)
            .both_ways(smaller)
            .fired(|passed| passed.there.too_large > 0),
        Case::new("T7a", "sender killed again and again", checks::back_in_a_second)
            .events(every(5_000, Event::Kill(SENDER))),
        Case::new("T7b", "the same with 5 % loss", checks::back_in_a_second)
            .both_ways(lossy)
            .events(every(5_000, Event::Kill(SENDER)))
            .fired(loses_many),
        Case::new("T8a", "receiver killed again and again", checks::back_in_a_second)
            .events(every(5_000, Event::Kill(RECEIVER))),
        Case::new("T8b", "receiver stopped for 5 s", checks::pause_check).events(pause),
        Case::new("T9", "the receiver's decoder has a fifth of a processor", checks::starved_check).events(starved),
        Case::new("T10", "sender begins in 1970; clocks a day ahead, a day behind", checks::no_gap).events(clocks),
        Case::new("T11a", "router gives another port every 3 s", checks::rebind_check)
            .events(every(3_000, Event::Rebind)),
        Case::new("T11b", "cable out for 10 s", checks::cable_check).both_ways(cut(FAR, ms(10_000))).fired(loses_some),
        // Shorter than a connection lives in silence: it is the same one afterwards.
        Case::new("T11d", "a line of 1 Mbit/s out for 7 s", checks::cable_check)
            .lines(cut(slow, ms(7_000)), cut(FAR, ms(7_000)))
            .fired(loses_some),
        Case::new("T11c", "another address every 3 s", checks::rebind_check)
            .route(Route::Spaces)
            .events(every(3_000, Event::Move)),
        Case::new("T13a", "each OpenCL call fails once at both ends", checks::device_check)
            .of(Some("opencl"), SMALL)
            .events(device_faults::each_call()),
        Case::new("T13b", "the device is lost for good", checks::device_check)
            .of(Some("opencl"), SMALL)
            .events(device_faults::losses()),
        Case::new("T13c", "the device hangs for 2 s", checks::device_check)
            .of(Some("opencl"), SMALL)
            .events(device_faults::hangs()),
        Case::new("T13d", "the OpenCL drivers vanish, then both daemons are killed", checks::device_check)
            .of(Some("auto"), SMALL)
            .events(device_faults::no_drivers()),
        Case::new("T18a", "10,000 junk datagrams/s", checks::flood_check).events(flood(Flood::Junk, 10_000)),
        Case::new("T18b", "10,000 handshakes/s begun", checks::flood_check).events(flood(Flood::Initials, 10_000)),
        Case::new("T18c", "1 Gbit/s of junk", checks::flood_check).events(flood(Flood::Junk, 104_000)),
        Case::new("T18d", "a peer with the right key: video and 10,000 other datagrams/s", checks::hostile_check)
            .events(hostile(Act::Flood)),
        Case::new("T19a", "a peer with the right key breaks every rule before a receiver", checks::abuse_check)
            .events(hostile(Act::Abuse)),
        Case::new("T19b", "the same before a sender that listens", checks::abuse_check)
            .route(Route::Direct)
            .listens(SENDER)
            .events(hostile(Act::AbuseSender)),
        soak::case(length, seed, cycle),
    ];
    cases.into_iter().chain(home_lines(length, seed, recordings)).map(|case| case.seeded(seed)).collect()
}

fn loses_many(passed: &Passed) -> bool {
    passed.there.lost > 50
}

fn loses_some(passed: &Passed) -> bool {
    passed.there.lost > 10
}

/// Lines and computers of homes: radios that pause, rates that jump, programs that stall.
fn home_lines(length: Duration, seed: u64, recordings: &[String]) -> Vec<Case> {
    let end = length + ms(10_000);
    let wifi = Pauses::random(seed, ms(2_000), end, ms(1_000), ms(40), ms(150));
    let scans = Pauses::scans(ms(3_000), end, ms(10_000), ms(60));
    let radio = |name, title, pauses: Pauses| {
        let there = Scenario::from(FAR).paused(Pauses::NONE, pauses.clone());
        Case::new(name, title, checks::radio_check).lines(there, Scenario::from(FAR).paused(pauses, Pauses::NONE))
    };
    let stalls = |name, title, ends| {
        let spans = [30, 80, 200].into_iter().cycle();
        let times = (2..).map(|second| ms(1_000 * second)).take_while(|&at| at + ms(4_000) <= length);
        let stalls = times.zip(spans).map(|(at, span)| (at, Event::Pause { ends, span: ms(span) }));
        Case::new(name, title, checks::stall_check).events(stalls.collect())
    };
    let mut homes = vec![
        radio("T21", "Wi-Fi: a pause of 40 to 150 ms each second", wifi),
        radio("T22", "Wi-Fi scans: ten pauses in a second, every ten", scans),
        Case::new("T23", "20, 6, 12, 3 Mbit/s, another every 0.5 to 2 s", checks::steps_check)
            .lines(lines::steps(seed, end, FAR, ms(500)), FAR),
        stalls("T25a", "sender stalls each second: 30, 80, 200 ms", [true, false]),
        stalls("T25b", "receiver stalls likewise", [false, true]),
        stalls("T25c", "both stall likewise", [true, true]),
        Case::new("T26", "every processor is busy", checks::busy_check)
            .route(Route::Direct)
            .events(vec![(ms(2_000), Event::Busy)]),
    ];
    let recordings: Vec<_> = match recordings {
        [] => vec![None],
        some => some.iter().take(2).map(Some).collect(),
    };
    let mobile = |recording: Option<&String>, queue| match recording {
        Some(recording) => lines::recorded(recording, FAR, queue),
        None => lines::mobile(seed, end, FAR, queue),
    };
    let queues = [("a mobile line, 200 ms of queue", ms(200)), ("a mobile line, 1 s of queue", ms(1_000))];
    let lines = recordings.iter().flat_map(|recording| queues.map(|(title, queue)| (title, mobile(*recording, queue))));
    let names = ["T24a", "T24b", "T24c", "T24d"];
    let mobile = names.into_iter().zip(lines);
    homes.extend(mobile.map(|(name, (title, there))| Case::new(name, title, checks::mobile_check).lines(there, FAR)));
    homes
}
