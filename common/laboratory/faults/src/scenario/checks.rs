//! Pass criteria of the picture. Times are milliseconds.

use crate::bars::{Bars, GROWTH_MAX_MB};
use crate::logs::percentile;
use crate::machine::device::DeviceAct;
use crate::scenario::event::Event;
use crate::scenario::measured::{Measured, Span};

/// Longest gap between pictures that counts as none, in times between two pictures of the source.
const GAP_MAX: f64 = 3.0;

pub(crate) fn no_gap(run: &Measured) -> Bars {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).at_least("presented", run.presented(), 0.999)
}

impl Bars {
    /// Checks that neither daemon's memory grew much.
    fn grows_little(self, run: &Measured) -> Self {
        self.at_most("growth, MB", run.growth.into_iter().max().unwrap_or(0) as f64 / 1e6, GROWTH_MAX_MB)
    }
}

fn in_order(run: &Measured) -> Bars {
    Bars::default().at_most("steps back", run.steps_back() as f64, 0.0)
}

pub(crate) fn loss_check(run: &Measured) -> Bars {
    let [.., clean] = run.clean.unwrap_or([f64::NAN; 3]);
    in_order(run)
        .at_most("gap", run.gap_max(), GAP_MAX * run.interval)
        .at_least("presented", run.presented(), 0.999)
        .at_least("coarse", run.share(|picture| picture.missing_coarse == 0), 0.99)
        .at_least("rate", run.rate(1, run.rates.len()) / run.rate_told, 0.8)
        .at_most("p99 beyond the clean run's", run.latency()[2] - clean, 5.0)
}

pub(crate) fn bursts_check(run: &Measured) -> Bars {
    let early = percentile(&run.latencies(0.0, 5_000.0), 0.5);
    let late = percentile(&run.latencies(run.length - 5_000.0, run.length), 0.5);
    in_order(run).at_most("gap", run.gap_max(), 250.0).at_most("growth of p50", late - early, 10.0)
}

pub(crate) fn mixed_check(run: &Measured) -> Bars {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).at_least("presented", run.presented(), 1.0)
}

pub(crate) fn narrow_check(run: &Measured) -> Bars {
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
}

pub(crate) fn size_check(run: &Measured) -> Bars {
    in_order(run)
        .at_most("gap", run.gap_max(), 500.0)
        // Until QUIC notices, which takes some round trips; the next frame is then cut into smaller datagrams.
        .at_least("whole", run.share(|picture| picture.missing_blocks == 0), 0.99)
        .at_most("connections", run.connections[1] as f64, 1.0)
        .at_most("black holes", run.black_holes, 1.0)
}

pub(crate) fn back_in_a_second(run: &Measured) -> Bars {
    in_order(run).at_most("p99 of gaps", percentile(&run.gaps_at_events(), 0.99), 1_000.0).grows_little(run)
}

/// Checks that a daemon whose device fails goes on with the processor, and so does one that finds no driver.
pub(crate) fn device_check(run: &Measured) -> Bars {
    let is_device = |span: &&Span| matches!(span.event, Event::Device { .. });
    let has_devices = run.spans.iter().any(|span| is_device(&span));
    // After a kill, a daemon that still has its device needs time to open it.
    let counts = |span: &&Span| is_device(span) || !has_devices;
    let gaps = run.spans.iter().filter(counts).map(|span| run.gap_around(span.at, 100.0));
    let gap = gaps.fold(0.0, f64::max);
    let mut verdict = in_order(run).at_most("gap", gap, 1_000.0).at_most("panics", run.panics as f64, 0.0);
    verdict.0.extend(run.backends.iter().filter(|(_, is_right)| !is_right).map(|(who, _)| who.clone()));
    let fails = |span: &Span| matches!(span.event, Event::Device { act: DeviceAct::Fail | DeviceAct::FailOnce(_), .. });
    if run.backends.is_empty() && run.spans.iter().any(fails) {
        verdict.0.push("no call has failed".to_owned());
    }
    verdict
}

pub(crate) fn pause_check(run: &Measured) -> Bars {
    let mut verdict = in_order(run).grows_little(run);
    let normal = percentile(&run.latencies(0.0, 2_000.0), 0.5);
    for &at in &run.returns {
        let oldest = run.latencies(at, at + 2_000.0).into_iter().fold(0.0, f64::max);
        verdict = verdict.at_most("first picture", run.first_after(at), 200.0);
        verdict = verdict.at_most("oldest picture", oldest, normal + 100.0);
    }
    verdict
}

/// Checks that a decoder with a fifth of a processor, in the middle third, skips whole frames and shows the newest.
pub(crate) fn starved_check(run: &Measured) -> Bars {
    let (Some(&Span { at: from, .. }), Some(&to)) = (run.spans.first(), run.returns.first()) else {
        return Bars(vec!["nothing was starved".to_owned()]);
    };
    // Its average of what decoding takes, and frames that were under way, settle first.
    let from = from + 500.0;
    let shown = run.pictures.iter().filter(|picture| (from..to).contains(&picture.at)).count();
    let one = (to - from) / shown.max(1) as f64;
    let normal = percentile(&run.latencies(0.0, from - 500.0), 0.95);
    let half = (from + to) / 2.0;
    let [early, late] = [(from, half), (half, to)].map(|(from, to)| percentile(&run.latencies(from, to), 0.95));
    let (first, last) = ((from / 1e3).ceil() as usize, (to / 1e3) as usize);
    let mut verdict = in_order(run)
        // One frame being decoded, the newest one waiting, one being shown.
        .at_most("delay added, in pictures shown", (late.max(early) - normal) / one, 3.0)
        .at_most("growth of the delay", late - early, one.max(20.0))
        .at_least("whole pictures", run.share(|picture| picture.missing_blocks == 0), 0.99)
        .at_least("rate that came", run.rate(first, last) / run.rate(0, (from / 1e3) as usize), 0.9);
    let usual = run.pictures.iter().filter(|picture| picture.at < from - 500.0).count() as f64 / (from - 500.0);
    if shown as f64 / (to - from) > 0.9 * usual {
        verdict.0.push("it was not starved: as many pictures as before".to_owned());
    }
    verdict
}

pub(crate) fn rebind_check(run: &Measured) -> Bars {
    let gaps = run.spans.iter().map(|span| run.gap_around(span.at, 500.0));
    in_order(run).at_most("gap", gaps.fold(0.0, f64::max), 200.0).at_most("connections", run.connections[1] as f64, 1.0)
}

/// Time at which the cable that was out for ten seconds is in again, milliseconds.
pub(crate) const CABLE_BACK: f64 = 12_000.0;

pub(crate) fn cable_check(run: &Measured) -> Bars {
    in_order(run).at_most("back after", run.first_after(CABLE_BACK), 1_000.0)
}

pub(crate) fn flood_check(run: &Measured) -> Bars {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).grows_little(run)
}

pub(crate) fn loopback_check(run: &Measured) -> Bars {
    in_order(run).at_least("presented", run.presented(), 0.999).at_most("p99", run.latency()[2], run.interval).at_most(
        "queues p99",
        run.queues_p99,
        3.0,
    )
}

pub(crate) fn throughput_check(run: &Measured) -> Bars {
    let rate = run.rate(2, run.rates.len()) / 200e6;
    let cores = run.network_cpu[0] + run.network_cpu[1];
    in_order(run).at_least("rate, of 200 Mbit/s", rate, 1.0).at_most("network, % of a core", 100.0 * cores, 100.0)
}

/// Checks the call next to a TCP flow, on a line whose queue holds 100 ms.
pub(crate) fn shared_check(run: &Measured) -> Bars {
    let normal = percentile(&run.latencies(0.0, TCP_BEGINS), 0.5);
    let from = (TCP_BEGINS / 1e3) as usize + 5;
    let (media, tcp) = (run.rate(from, run.rates.len()), Measured::mean(&run.tcp_rates, from));
    let share = media / (media + tcp).max(1.0);
    let late = run.latencies(TCP_BEGINS + 5_000.0, run.length);
    in_order(run).at_least("our share", share, 0.25).at_least("TCP's share", 1.0 - share, 0.25).at_most(
        "p95 of added delay",
        percentile(&late, 0.95) - normal,
        120.0,
    )
}

/// Time at which the TCP flow of T5 begins, milliseconds.
pub(crate) const TCP_BEGINS: f64 = 5_000.0;

/// Checks a call whose sender is, from 2 s on, a program with its key that sends sound video and much else.
pub(crate) fn hostile_check(run: &Measured) -> Bars {
    let begun = run.pictures.iter().find(|picture| picture.at > 2_100.0).map_or(run.length, |picture| picture.at);
    let gap = run.gaps(begun + 500.0, run.hostile_until).into_iter().fold(0.0, f64::max);
    in_order(run).at_most("gap", gap, GAP_MAX * run.interval).at_most(
        "growth, MB",
        run.growth[1] as f64 / 1e6,
        GROWTH_MAX_MB,
    )
}

/// Memory that a daemon may take whatever a peer does, MB.
const MEMORY_MAX_MB: f64 = 512.0;

/// Checks that every abuse was answered by the end of its connection, with a reason.
pub(crate) fn abuse_check(run: &Measured) -> Bars {
    let memory = run.memory.into_iter().max().unwrap_or(0);
    let mut verdict = Bars::default().grows_little(run).at_most("memory, MB", memory as f64 / 1e6, MEMORY_MAX_MB);
    for &at in &run.returns {
        verdict = verdict.at_most("back after", run.first_after(at), 1_000.0);
    }
    verdict.0.extend(run.unanswered.iter().map(|what| format!("not answered: {what}")));
    verdict
}

/// Returns the rate of the first two seconds, in which nothing is wrong yet.
fn rate_before(run: &Measured) -> f64 {
    run.rate(1, 2)
}

/// Checks a radio that pauses: the rate stands, and pictures come late by the pause.
pub(crate) fn radio_check(run: &Measured) -> Bars {
    let rate = run.rate(2, run.rates.len()) / rate_before(run);
    in_order(run).at_least("rate in the pauses", rate, 0.6).at_most("gap", run.gap_max(), 350.0)
}

/// Programs that stall each second until four seconds before the end.
pub(crate) fn stall_check(run: &Measured) -> Bars {
    let (end, before) = (run.rates.len(), rate_before(run));
    in_order(run).at_least("rate in the stalls", run.rate(2, end.saturating_sub(3)) / before, 0.6).at_least(
        "rate 2 s after them",
        run.rate(end.saturating_sub(1), end) / before,
        0.9,
    )
}

pub(crate) fn steps_check(run: &Measured) -> Bars {
    changing_check(run, 0.8)
}

pub(crate) fn mobile_check(run: &Measured) -> Bars {
    changing_check(run, 0.75)
}

/// Checks a line that changes all the time: it is used, and its queue stays short for 95 of 100 packets.
fn changing_check(run: &Measured, share: f64) -> Bars {
    in_order(run).at_least("rate, of the line's", run.rate(1, run.rates.len()) / run.capacity, share).at_most(
        "queueing delay p95",
        percentile(&run.queueing_ms, 0.95),
        60.0,
    )
}

pub(crate) fn busy_check(run: &Measured) -> Bars {
    let rate = run.rate(3, run.rates.len()) / rate_before(run);
    in_order(run).at_least("rate", rate, 0.6).at_most("p99", run.latency()[2], 50.0)
}

/// Returns what is to be said of a run besides its figures.
pub(crate) fn note(run: &Measured) -> Option<String> {
    if !run.backends.is_empty() {
        return Some(format!("{} ends of calls or drivers", run.backends.len()));
    }
    if let ([Span { at: from, event: Event::Starve(_), .. }], Some(&to)) = (&run.spans[..], run.returns.first()) {
        let rate = |from: f64, to: f64| {
            let inside = run.pictures.iter().filter(|picture| (from..to).contains(&picture.at)).count();
            1e3 * inside as f64 / (to - from)
        };
        let latency = |from, to| {
            let all = run.latencies(from, to);
            [0.5, 0.95].map(|share| format!("{:.0}", percentile(&all, share))).join("/")
        };
        return Some(format!(
            "{:.0} pictures/s before, {:.0} starved; latency p50/p95 {} ms before, {} ms starved",
            rate(0.0, *from),
            rate(*from, to),
            latency(0.0, *from),
            latency(*from, to),
        ));
    }
    run.spans.iter().any(|span| matches!(span.event, Event::Kill(_))).then(|| {
        let gaps = run.gaps_at_events();
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| percentile(&gaps, share));
        format!("{} kills, gap p50/p99/most {p50:.0}/{p99:.0}/{most:.0} ms", gaps.len())
    })
}
