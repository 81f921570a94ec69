//! The scenarios: conditions of the network, faults of the daemons, and when the picture has held.
//!
//! Times are milliseconds. Pass criteria are for 60 frames a second.

use std::time::Duration;

use common::netsim::{Bursts, NetConditions, Scenario};
use common::units::Bitrate;

use crate::measured::{Measured, percentile};
use crate::relay::Passed;

/// Something that happens to a daemon or its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Killed, and started again after [`RESTART`].
    KillSender,
    KillReceiver,
    /// Stopped for this long, then continued.
    PauseReceiver(Duration),
    /// The router gives who dials another port.
    Rebind,
    /// This many datagrams a second at the listener's port for this long.
    Flood {
        kind: Flood,
        per_second: u32,
        span: Duration,
    },
}

/// What a flood is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// 1200 random bytes.
    Junk,
    /// First packets of handshakes that never go on, each from another connection.
    Initials,
}

/// Pause before a killed daemon runs again, as in the systemd units.
pub(crate) const RESTART: Duration = Duration::from_millis(200);

/// One scenario.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// From who dials to who listens.
    pub(crate) there: Scenario,
    pub(crate) back: Scenario,
    pub(crate) faults: Vec<(Duration, Fault)>,
    /// What is not as it should be, one sentence each.
    pub(crate) check: fn(&Measured) -> Vec<String>,
    /// Whether the network has done its part.
    pub(crate) fired: fn(&Passed) -> bool,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// One way of a 50 ms round trip.
pub(crate) const FAR: NetConditions = NetConditions::perfect(ms(25));
const NEAR: NetConditions = NetConditions::perfect(ms(10));

/// All scenarios, to run for `length`.
pub(crate) fn all(length: Duration, seed: u64) -> Vec<Case> {
    let case = |name, title, there: Scenario, back: Scenario, faults, check, fired| {
        // Other fates on the way back.
        let (there, back) = (there.with_seed(seed), back.with_seed(seed ^ 0x5eed));
        Case { name, title, there, back, faults, check, fired }
    };
    let both = |conditions: NetConditions| (Scenario::from(conditions), Scenario::from(conditions));
    let every = |first: u64, period: u64, fault: Fault| -> Vec<(Duration, Fault)> {
        let times = (0..).map(|n| ms(first + n * period)).take_while(|&at| at + ms(3_000) <= length);
        times.map(|at| (at, fault)).collect()
    };
    let (far, far_back) = both(FAR);

    let (loss, loss_back) = both(NetConditions { loss: 0.05, ..FAR });
    let bursty = NetConditions { bursts: Some(Bursts { average: 0.01, mean_length: 8.0 }), ..FAR };
    let gaps = Scenario::table(&[(ms(0), bursty), (ms(9_800), bursty.blackout())]).repeated_every(ms(10_000));
    let (mixed, mixed_back) =
        both(NetConditions { reorder: 0.01, reorder_by: 5, reorder_delay: ms(20), duplicate: 0.01, ..FAR });
    let line = |bps| NEAR.limited(Bitrate::from_bps(bps), ms(500));
    let (third, two_thirds) = (length / 3, length * 2 / 3);
    let narrowing =
        Scenario::table(&[(ms(0), line(50_000_000)), (third, line(5_000_000)), (two_thirds, line(50_000_000))]);
    // 1500 and 1280 bytes of IPv4.
    let of_size = |bytes: usize| NetConditions { datagram_max: bytes - 28, ..FAR };
    let smaller = Scenario::table(&[(ms(0), of_size(1_500)), (length / 2, of_size(1_280))]);
    let cut = Scenario::table(&[(ms(0), FAR), (ms(2_000), FAR.blackout()), (ms(7_000), FAR)]);
    let pause = Fault::PauseReceiver(ms(5_000));
    let flood =
        |kind| vec![(ms(2_000), Fault::Flood { kind, per_second: 10_000, span: length.saturating_sub(ms(4_000)) })];

    vec![
        case("clean", "no impairment, 50 ms RTT", far.clone(), far_back.clone(), vec![], no_gap, anything),
        case("T1", "5 % loss, 50 ms RTT", loss, loss_back, vec![], loss_check, |passed| passed.there.lost > 50),
        case(
            "T2",
            "bursts (mean 8, 1 %), 200 ms blackout every 10 s",
            gaps.clone(),
            gaps,
            vec![],
            bursts_check,
            |passed| passed.there.lost > 50,
        ),
        case("T3", "1 % overtaken by 1 to 5, 1 % twice", mixed, mixed_back, vec![], mixed_check, |passed| {
            passed.there.overtaken > 20 && passed.there.duplicated > 20
        }),
        case("T4", "50, 5, 50 Mbit/s, 500 ms queue", narrowing, NEAR.into(), vec![], narrow_check, |passed| {
            passed.there.entered > 1_000
        }),
        case("T6", "MTU 1500 to 1280, no ICMP", smaller.clone(), smaller, vec![], size_check, |passed| {
            passed.there.too_large > 0
        }),
        case(
            "T7",
            "sender killed every 5 s",
            far.clone(),
            far_back.clone(),
            every(3_000, 5_000, Fault::KillSender),
            back_in_a_second,
            anything,
        ),
        case(
            "T8a",
            "receiver killed every 5 s",
            far.clone(),
            far_back.clone(),
            every(3_000, 5_000, Fault::KillReceiver),
            back_in_a_second,
            anything,
        ),
        case(
            "T8b",
            "receiver stopped for 5 s",
            far.clone(),
            far_back.clone(),
            vec![(ms(2_000), pause)],
            pause_check,
            anything,
        ),
        case(
            "T11a",
            "router gives another port every 3 s",
            far.clone(),
            far_back.clone(),
            every(3_000, 3_000, Fault::Rebind),
            rebind_check,
            anything,
        ),
        case("T11b", "cable out for 5 s", cut.clone(), cut, vec![], cable_check, |passed| passed.there.lost > 10),
        case(
            "T18a",
            "10,000 junk datagrams/s",
            far.clone(),
            far_back.clone(),
            flood(Flood::Junk),
            flood_check,
            anything,
        ),
        case("T18b", "10,000 handshakes/s begun", far, far_back, flood(Flood::Initials), flood_check, anything),
    ]
}

fn anything(_: &Passed) -> bool {
    true
}

/// Collects sentences.
#[derive(Default)]
struct Verdict(Vec<String>);

impl Verdict {
    /// `value` must be at most `limit`.
    fn at_most(mut self, what: &str, value: f64, limit: f64) -> Self {
        if value.is_nan() || value > limit {
            self.0.push(format!("{what} {value:.0} > {limit:.0}"));
        }
        self
    }

    /// The share `value` must be at least `limit`.
    fn at_least(mut self, what: &str, value: f64, limit: f64) -> Self {
        if value.is_nan() || value < limit {
            self.0.push(format!("{what} {:.1} % < {:.1} %", 100.0 * value, 100.0 * limit));
        }
        self
    }
}

fn no_gap(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), 50.0).at_least("presented", run.presented(), 0.999).0
}

fn in_order(run: &Measured) -> Verdict {
    Verdict::default().at_most("steps back", run.steps_back() as f64, 0.0)
}

fn loss_check(run: &Measured) -> Vec<String> {
    let verdict = in_order(run)
        .at_most("gap", run.gap_max(), 50.0)
        .at_least("presented", run.presented(), 0.999)
        .at_least("coarse", run.share(|picture| picture.missing_coarse == 0), 0.99)
        .at_least("rate", run.rate(1, run.rates.len()) / run.rate_told, 0.8);
    match run.clean {
        Some([_, _, p99]) => verdict.at_most("p99", run.latency()[2], p99 + 5.0).0,
        None => verdict.0,
    }
}

fn bursts_check(run: &Measured) -> Vec<String> {
    let early = percentile(&run.latencies(0.0, 5_000.0), 0.5);
    let late = percentile(&run.latencies(run.length - 5_000.0, run.length), 0.5);
    in_order(run).at_most("gap", run.gap_max(), 250.0).at_most("growth of p50", late - early, 10.0).0
}

fn mixed_check(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), 50.0).at_least("presented", run.presented(), 1.0).0
}

fn narrow_check(run: &Measured) -> Vec<String> {
    let (third, two_thirds) = (run.length / 3.0, run.length * 2.0 / 3.0);
    let normal = percentile(&run.latencies(third / 2.0, third), 0.5);
    let highest = |from: f64, to: f64| run.latencies(from, to).into_iter().fold(0.0, f64::max) - normal;
    let before = run.rate(2, (third / 1e3) as usize);
    // Of a short run, the last second.
    let again = ((two_thirds / 1e3) as usize + 5).min(run.rates.len().saturating_sub(1));
    in_order(run)
        .at_most("delay added", highest(third, two_thirds), 250.0)
        .at_most("delay added 500 ms on", highest(third + 500.0, two_thirds), 100.0)
        .at_most("without coarse blocks", run.coarse_gap_max(), 100.0)
        .at_least("rate 5 s after", run.rate(again, again + 1) / before, 0.8)
        .0
}

fn size_check(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), 500.0).at_most("connections", run.connections as f64, 1.0).0
}

fn back_in_a_second(run: &Measured) -> Vec<String> {
    let mut verdict = in_order(run);
    for &at in &run.faults {
        verdict = verdict.at_most("gap", run.gap_around(at, 100.0), 1_000.0);
    }
    verdict.at_most("growth, MB", run.growth.into_iter().max().unwrap_or(0) as f64 / 1e6, 16.0).0
}

fn pause_check(run: &Measured) -> Vec<String> {
    let mut verdict = in_order(run).at_most("growth, MB", run.growth.into_iter().max().unwrap_or(0) as f64 / 1e6, 16.0);
    let normal = percentile(&run.latencies(0.0, 2_000.0), 0.5);
    for &at in &run.returns {
        let first = run.pictures.iter().find(|picture| picture.at >= at).map(|picture| picture.at - at);
        let oldest = run.latencies(at, at + 2_000.0).into_iter().fold(0.0, f64::max);
        verdict = verdict.at_most("first picture", first.unwrap_or(f64::NAN), 200.0);
        verdict = verdict.at_most("oldest picture", oldest, normal + 100.0);
    }
    verdict.0
}

fn rebind_check(run: &Measured) -> Vec<String> {
    let gaps = run.faults.iter().map(|&at| run.gap_around(at, 500.0));
    in_order(run).at_most("gap", gaps.fold(0.0, f64::max), 200.0).at_most("connections", run.connections as f64, 1.0).0
}

fn cable_check(run: &Measured) -> Vec<String> {
    let first = run.pictures.iter().find(|picture| picture.at >= 7_000.0).map(|picture| picture.at - 7_000.0);
    in_order(run).at_most("back after", first.unwrap_or(f64::NAN), 1_000.0).0
}

fn flood_check(run: &Measured) -> Vec<String> {
    in_order(run)
        .at_most("gap", run.gap_max(), 50.0)
        .at_most("growth, MB", run.growth.into_iter().max().unwrap_or(0) as f64 / 1e6, 16.0)
        .0
}
