//! The scenarios.

use std::time::Duration;

use common::netsim::{Bursts, HEADERS_BYTES, NetConditions, Pauses, Scenario, lines};
use common::units::Bitrate;

use crate::scenario::case::{CLEAN, Case, FAR, LOOPBACK, Route};
use crate::scenario::fault::{Act, Fault, Flood};
use crate::scenario::measured::Measured;
use crate::scenario::soak;
use crate::scenario::{checks, device_faults};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const NEAR: NetConditions = NetConditions::perfect(ms(10));

/// Video that an OpenCL device which is the processor itself can code besides everything else.
const SMALL: (&str, &str) = ("pattern:size=640x360:fps=30", "4M");

/// Returns all scenarios, to run for `length`; `cycle`: time between two of a fault that is repeated, if not its own.
/// `recordings` take the place of a made-up mobile line, two at most.
pub(crate) fn all(length: Duration, seed: u64, cycle: Option<Duration>, recordings: &[String]) -> Vec<Case> {
    let case = |name, title, (there, back): (Scenario, Scenario), faults, check| {
        // Other fates on the way back.
        let (there, back) = (there.with_seed(seed), back.with_seed(seed ^ 0x5eed));
        let route = Route::Relay;
        Case {
            name,
            title,
            route,
            there,
            back,
            faults,
            is_proof: false,
            needs_clean: false,
            backend: None,
            stream: None,
            check,
            fired: |_| true,
        }
    };
    let both = |conditions: NetConditions| (Scenario::from(conditions), Scenario::from(conditions));
    let twice = |scenario: Scenario| (scenario.clone(), scenario);
    let far = both(FAR);
    let every = |period: u64, fault: Fault| -> Vec<(Duration, Fault)> {
        let period = cycle.unwrap_or(ms(period));
        let times = (0..).map(|n| ms(3_000) + n * period).take_while(|&at| at + ms(3_000) <= length);
        times.map(|at| (at, fault)).collect()
    };
    let during = |fault: fn(Duration) -> Fault| vec![(ms(2_000), fault(length.saturating_sub(ms(5_000))))];

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
    let pause = vec![(ms(2_000), Fault::PauseReceiver(ms(5_000)))];
    let starved = vec![(length / 3, Fault::StarveReceiver(length / 3))];
    let clocks = vec![
        (length / 4, Fault::Clock("+1d")),
        (length / 2, Fault::Clock("-1d")),
        (length * 3 / 4, Fault::Clock("+0")),
    ];

    let homes = home_lines(length, seed, recordings, &case);
    let shared = Route::Line { rate: Bitrate::from_bps(20_000_000), queue: ms(100) };
    vec![
        Case { route: Route::Direct, ..case(LOOPBACK, "the loopback", far.clone(), vec![], checks::loopback_check) },
        Case {
            route: Route::Direct,
            // With what is around the datagrams.
            stream: Some(("pattern:size=1920x1080:fps=30", "214M")),
            ..case("L2", "the loopback, 200 Mbit/s of 1080p30", far.clone(), vec![], checks::throughput_check)
        },
        case(CLEAN, "no impairment, 50 ms RTT", far.clone(), vec![], checks::no_gap),
        Case {
            is_proof: true,
            needs_clean: true,
            fired: |passed| passed.there.lost > 50,
            ..case("T1", "5 % loss, 50 ms RTT", both(NetConditions { loss: 0.05, ..FAR }), vec![], checks::loss_check)
        },
        Case {
            fired: |passed| passed.there.lost > 50,
            ..case("T2", "bursts (mean 8, 1 %), 200 ms blackout every 10 s", twice(gaps), vec![], checks::bursts_check)
        },
        Case {
            fired: |passed| passed.there.overtaken > 20 && passed.there.duplicated > 20,
            ..case("T3", "1 % overtaken by 1 to 5, 1 % twice", both(mixed), vec![], checks::mixed_check)
        },
        Case {
            fired: |passed| passed.there.entered > 1_000,
            ..case("T4", "50, 5, 50 Mbit/s, 500 ms queue", (narrowing, NEAR.into()), vec![], checks::narrow_check)
        },
        Case {
            route: shared,
            ..case(
                "T5",
                "a TCP Cubic flow on the same 20 Mbit/s, 100 ms queue",
                far.clone(),
                vec![(Duration::from_micros((checks::TCP_BEGINS * 1e3) as u64), Fault::Tcp)],
                checks::shared_check,
            )
        },
        Case {
            fired: |passed| passed.there.too_large > 0,
            ..case("T6", "MTU 1500 to 1280, no ICMP", twice(smaller), vec![], checks::size_check)
        },
        case(
            "T7a",
            "sender killed again and again",
            far.clone(),
            every(5_000, Fault::KillSender),
            checks::back_in_a_second,
        ),
        Case {
            fired: |passed| passed.there.lost > 50,
            ..case(
                "T7b",
                "the same with 5 % loss",
                both(NetConditions { loss: 0.05, ..FAR }),
                every(5_000, Fault::KillSender),
                checks::back_in_a_second,
            )
        },
        case(
            "T8a",
            "receiver killed again and again",
            far.clone(),
            every(5_000, Fault::KillReceiver),
            checks::back_in_a_second,
        ),
        case("T8b", "receiver stopped for 5 s", far.clone(), pause, checks::pause_check),
        case("T9", "the receiver's decoder has a fifth of a processor", far.clone(), starved, checks::starved_check),
        case("T10", "sender begins in 1970; clocks a day ahead, a day behind", far.clone(), clocks, checks::no_gap),
        case(
            "T11a",
            "router gives another port every 3 s",
            far.clone(),
            every(3_000, Fault::Rebind),
            checks::rebind_check,
        ),
        Case {
            fired: |passed| passed.there.lost > 10,
            ..case("T11b", "cable out for 10 s", twice(cut(FAR, ms(10_000))), vec![], checks::cable_check)
        },
        // Shorter than a connection lives in silence: it is the same one afterwards.
        Case {
            fired: |passed| passed.there.lost > 10,
            ..case(
                "T11d",
                "a line of 1 Mbit/s out for 7 s",
                (cut(slow, ms(7_000)), cut(FAR, ms(7_000))),
                vec![],
                checks::cable_check,
            )
        },
        Case {
            route: Route::Spaces,
            ..case("T11c", "another address every 3 s", far.clone(), every(3_000, Fault::Move), checks::rebind_check)
        },
        Case {
            backend: Some("opencl"),
            stream: Some(SMALL),
            ..case(
                "T13a",
                "each OpenCL call fails once at both ends",
                far.clone(),
                device_faults::each_call(),
                checks::device_check,
            )
        },
        Case {
            backend: Some("opencl"),
            stream: Some(SMALL),
            ..case("T13b", "the device is lost for good", far.clone(), device_faults::losses(), checks::device_check)
        },
        Case {
            backend: Some("opencl"),
            stream: Some(SMALL),
            ..case("T13c", "the device hangs for 2 s", far.clone(), device_faults::hangs(), checks::device_check)
        },
        Case {
            backend: Some("auto"),
            stream: Some(SMALL),
            ..case(
                "T13d",
                "the OpenCL drivers vanish, then both daemons are killed",
                far.clone(),
                device_faults::no_drivers(),
                checks::device_check,
            )
        },
        case(
            "T18a",
            "10,000 junk datagrams/s",
            far.clone(),
            during(|span| Fault::Flood { kind: Flood::Junk, per_second: 10_000, span }),
            checks::flood_check,
        ),
        case(
            "T18b",
            "10,000 handshakes/s begun",
            far.clone(),
            during(|span| Fault::Flood { kind: Flood::Initials, per_second: 10_000, span }),
            checks::flood_check,
        ),
        case(
            "T18c",
            "1 Gbit/s of junk",
            far.clone(),
            during(|span| Fault::Flood { kind: Flood::Junk, per_second: 104_000, span }),
            checks::flood_check,
        ),
        case(
            "T18d",
            "a peer with the right key: video and 10,000 other datagrams/s",
            far.clone(),
            during(|span| Fault::Hostile { act: Act::Flood, span }),
            checks::hostile_check,
        ),
        case(
            "T19a",
            "a peer with the right key breaks every rule before a receiver",
            far.clone(),
            during(|span| Fault::Hostile { act: Act::Abuse, span }),
            checks::abuse_check,
        ),
        Case {
            route: Route::Reversed,
            ..case(
                "T19b",
                "the same before a sender that listens",
                far,
                during(|span| Fault::Hostile { act: Act::AbuseSender, span }),
                checks::abuse_check,
            )
        },
        soak::case(length, seed, cycle),
    ]
    .into_iter()
    .chain(homes)
    .collect()
}

/// Makes a case of its name, title, conditions there and back, faults and check.
type Make<'a> = &'a dyn Fn(
    &'static str,
    &'static str,
    (Scenario, Scenario),
    Vec<(Duration, Fault)>,
    fn(&Measured) -> Vec<String>,
) -> Case;

/// Lines and computers of homes: radios that pause, rates that jump, programs that stall.
fn home_lines(length: Duration, seed: u64, recordings: &[String], case: Make<'_>) -> Vec<Case> {
    let end = length + ms(10_000);
    let wifi = Pauses::random(seed, ms(2_000), end, ms(1_000), ms(40), ms(150));
    let scans = Pauses::scans(ms(3_000), end, ms(10_000), ms(60));
    let radio = |pauses: Pauses| {
        let there = Scenario::from(FAR).paused(Pauses::NONE, pauses.clone());
        (there, Scenario::from(FAR).paused(pauses, Pauses::NONE))
    };
    let line = |there: Scenario| (there, Scenario::from(FAR));
    let stalls = |sender, receiver| -> Vec<(Duration, Fault)> {
        let spans = [30, 80, 200].into_iter().cycle();
        let times = (2..).map(|second| ms(1_000 * second)).take_while(|&at| at + ms(4_000) <= length);
        times.zip(spans).map(|(at, span)| (at, Fault::Stall { sender, receiver, span: ms(span) })).collect()
    };
    let mut homes = vec![
        case("T21", "Wi-Fi: a pause of 40 to 150 ms each second", radio(wifi), vec![], checks::radio_check),
        case("T22", "Wi-Fi scans: ten pauses in a second, every ten", radio(scans), vec![], checks::radio_check),
        case(
            "T23",
            "20, 6, 12, 3 Mbit/s, another every 0.5 to 2 s",
            line(lines::steps(seed, end, FAR, ms(500))),
            vec![],
            checks::steps_check,
        ),
        case(
            "T25a",
            "sender stalls each second: 30, 80, 200 ms",
            line(FAR.into()),
            stalls(true, false),
            checks::stall_check,
        ),
        case("T25b", "receiver stalls likewise", line(FAR.into()), stalls(false, true), checks::stall_check),
        case("T25c", "both stall likewise", line(FAR.into()), stalls(true, true), checks::stall_check),
        Case {
            route: Route::Direct,
            ..case(
                "T26",
                "every processor is busy",
                line(FAR.into()),
                vec![(ms(2_000), Fault::Busy)],
                checks::busy_check,
            )
        },
    ];
    let queues = [("a mobile line, 200 ms of queue", ms(200)), ("a mobile line, 1 s of queue", ms(1_000))];
    let mobile =
        recordings.iter().take(2).map(|text| Box::new(|queue| lines::recorded(text, FAR, queue)) as CaseLine<'_>);
    let mut mobile: Vec<CaseLine<'_>> = mobile.collect();
    if mobile.is_empty() {
        mobile.push(Box::new(|queue| lines::mobile(seed, end, FAR, queue)));
    }
    let mut names = ["T24a", "T24b", "T24c", "T24d"].into_iter();
    for of_queue in mobile {
        for (title, queue) in queues {
            homes.extend(
                names.next().map(|name| case(name, title, line(of_queue(queue)), vec![], checks::mobile_check)),
            );
        }
    }
    homes
}

type CaseLine<'a> = Box<dyn Fn(Duration) -> Scenario + 'a>;
