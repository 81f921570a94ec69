//! Pass criteria of the picture. Times are milliseconds.

use crate::attack::GROWTH_MAX_MB;
use crate::machine::device::DeviceAct;
use crate::scenario::fault::Fault;
use crate::scenario::measured::{Measured, percentile};

/// Longest gap between pictures that counts as none, in times between two pictures of the source.
const GAP_MAX: f64 = 3.0;

/// Collects sentences.
#[derive(Default)]
struct Verdict(Vec<String>);

impl Verdict {
    /// Checks that `value` is at most `limit`.
    fn at_most(mut self, what: &str, value: f64, limit: f64) -> Self {
        if value.is_nan() || value > limit {
            self.0.push(format!("{what} {value:.0} > {limit:.0}"));
        }
        self
    }

    /// Checks that neither daemon's memory grew much.
    fn grows_little(self, run: &Measured) -> Self {
        self.at_most("growth, MB", run.growth.into_iter().max().unwrap_or(0) as f64 / 1e6, GROWTH_MAX_MB)
    }

    /// Checks that the share `value` is at least `limit`.
    fn at_least(mut self, what: &str, value: f64, limit: f64) -> Self {
        if value.is_nan() || value < limit {
            self.0.push(format!("{what} {:.1} % < {:.1} %", 100.0 * value, 100.0 * limit));
        }
        self
    }
}

pub(crate) fn no_gap(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).at_least("presented", run.presented(), 0.999).0
}

fn in_order(run: &Measured) -> Verdict {
    Verdict::default().at_most("steps back", run.steps_back() as f64, 0.0)
}

pub(crate) fn loss_check(run: &Measured) -> Vec<String> {
    let [.., clean] = run.clean.unwrap_or([f64::NAN; 3]);
    in_order(run)
        .at_most("gap", run.gap_max(), GAP_MAX * run.interval)
        .at_least("presented", run.presented(), 0.999)
        .at_least("coarse", run.share(|picture| picture.missing_coarse == 0), 0.99)
        .at_least("rate", run.rate(1, run.rates.len()) / run.rate_told, 0.8)
        .at_most("p99 beyond the clean run's", run.latency()[2] - clean, 5.0)
        .0
}

pub(crate) fn bursts_check(run: &Measured) -> Vec<String> {
    let early = percentile(&run.latencies(0.0, 5_000.0), 0.5);
    let late = percentile(&run.latencies(run.length - 5_000.0, run.length), 0.5);
    in_order(run).at_most("gap", run.gap_max(), 250.0).at_most("growth of p50", late - early, 10.0).0
}

pub(crate) fn mixed_check(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).at_least("presented", run.presented(), 1.0).0
}

pub(crate) fn narrow_check(run: &Measured) -> Vec<String> {
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

pub(crate) fn size_check(run: &Measured) -> Vec<String> {
    in_order(run)
        .at_most("gap", run.gap_max(), 500.0)
        // Until QUIC notices, which takes some round trips; the next frame is then cut into smaller datagrams.
        .at_least("whole", run.share(|picture| picture.missing_blocks == 0), 0.99)
        .at_most("connections", run.connections as f64, 1.0)
        .at_most("black holes", run.black_holes, 1.0)
        .0
}

pub(crate) fn back_in_a_second(run: &Measured) -> Vec<String> {
    in_order(run).at_most("p99 of gaps", percentile(&run.gaps_at_faults(), 0.99), 1_000.0).grows_little(run).0
}

/// Checks that a daemon whose device fails goes on with the processor, and so does one that finds no driver.
pub(crate) fn device_check(run: &Measured) -> Vec<String> {
    let is_device = |fault: &Fault| matches!(fault, Fault::Device { .. });
    let has_devices = run.spans.iter().any(|(_, fault)| is_device(fault));
    // After a kill, a daemon that still has its device needs time to open it.
    let counts = |fault: &Fault| is_device(fault) || !has_devices;
    let gaps = run.spans.iter().filter(|(_, fault)| counts(fault)).map(|&(at, _)| run.gap_around(at, 100.0));
    let gap = gaps.fold(0.0, f64::max);
    let mut verdict = in_order(run).at_most("gap", gap, 1_000.0).at_most("panics", run.panics as f64, 0.0);
    verdict.0.extend(run.backends.iter().filter(|(_, is_right)| !is_right).map(|(who, _)| who.clone()));
    let fails = |fault: &Fault| matches!(fault, Fault::Device { act: DeviceAct::Fail | DeviceAct::FailOnce(_), .. });
    if run.backends.is_empty() && run.spans.iter().any(|(_, fault)| fails(fault)) {
        verdict.0.push("no call has failed".to_owned());
    }
    verdict.0
}

pub(crate) fn pause_check(run: &Measured) -> Vec<String> {
    let mut verdict = in_order(run).grows_little(run);
    let normal = percentile(&run.latencies(0.0, 2_000.0), 0.5);
    for &at in &run.returns {
        let oldest = run.latencies(at, at + 2_000.0).into_iter().fold(0.0, f64::max);
        verdict = verdict.at_most("first picture", run.first_after(at), 200.0);
        verdict = verdict.at_most("oldest picture", oldest, normal + 100.0);
    }
    verdict.0
}

/// Checks that a decoder with a fifth of a processor, in the middle third, skips whole frames and shows the newest.
pub(crate) fn starved_check(run: &Measured) -> Vec<String> {
    let (Some(&from), Some(&to)) = (run.faults.first(), run.returns.first()) else {
        return vec!["nothing was starved".to_owned()];
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
    verdict.0
}

pub(crate) fn rebind_check(run: &Measured) -> Vec<String> {
    let gaps = run.faults.iter().map(|&at| run.gap_around(at, 500.0));
    in_order(run).at_most("gap", gaps.fold(0.0, f64::max), 200.0).at_most("connections", run.connections as f64, 1.0).0
}

/// Time at which the cable that was out for ten seconds is in again, milliseconds.
pub(crate) const CABLE_BACK: f64 = 12_000.0;

pub(crate) fn cable_check(run: &Measured) -> Vec<String> {
    in_order(run).at_most("back after", run.first_after(CABLE_BACK), 1_000.0).0
}

pub(crate) fn flood_check(run: &Measured) -> Vec<String> {
    in_order(run).at_most("gap", run.gap_max(), GAP_MAX * run.interval).grows_little(run).0
}

pub(crate) fn loopback_check(run: &Measured) -> Vec<String> {
    in_order(run)
        .at_least("presented", run.presented(), 0.999)
        .at_most("p99", run.latency()[2], run.interval)
        .at_most("queues p99", run.queues_p99, 3.0)
        .0
}

pub(crate) fn throughput_check(run: &Measured) -> Vec<String> {
    let rate = run.rate(2, run.rates.len()) / 200e6;
    let cores = run.network_cpu[0] + run.network_cpu[1];
    in_order(run).at_least("rate, of 200 Mbit/s", rate, 1.0).at_most("network, % of a core", 100.0 * cores, 100.0).0
}

/// Checks the call next to a TCP flow, on a line whose queue holds 100 ms.
pub(crate) fn shared_check(run: &Measured) -> Vec<String> {
    let normal = percentile(&run.latencies(0.0, TCP_BEGINS), 0.5);
    let from = (TCP_BEGINS / 1e3) as usize + 5;
    let (media, tcp) = (run.rate(from, run.rates.len()), Measured::mean(&run.tcp_rates, from));
    let share = media / (media + tcp).max(1.0);
    let late = run.latencies(TCP_BEGINS + 5_000.0, run.length);
    in_order(run)
        .at_least("our share", share, 0.25)
        .at_least("TCP's share", 1.0 - share, 0.25)
        .at_most("p95 of added delay", percentile(&late, 0.95) - normal, 120.0)
        .0
}

/// Time at which the TCP flow of T5 begins, milliseconds.
pub(crate) const TCP_BEGINS: f64 = 5_000.0;

/// Checks a call whose sender is, from 2 s on, a program with its key that sends sound video and much else.
pub(crate) fn hostile_check(run: &Measured) -> Vec<String> {
    let begun = run.pictures.iter().find(|picture| picture.at > 2_100.0).map_or(run.length, |picture| picture.at);
    let gap = run.gaps(begun + 500.0, run.hostile_until).into_iter().fold(0.0, f64::max);
    in_order(run)
        .at_most("gap", gap, GAP_MAX * run.interval)
        .at_most("growth, MB", run.growth[1] as f64 / 1e6, GROWTH_MAX_MB)
        .0
}

/// Memory that a daemon may take whatever a peer does, MB.
const MEMORY_MAX_MB: f64 = 512.0;

/// Checks that every abuse was answered by the end of its connection, with a reason.
pub(crate) fn abuse_check(run: &Measured) -> Vec<String> {
    let memory = run.memory.into_iter().max().unwrap_or(0);
    let mut verdict = Verdict::default().grows_little(run).at_most("memory, MB", memory as f64 / 1e6, MEMORY_MAX_MB);
    for &at in &run.returns {
        verdict = verdict.at_most("back after", run.first_after(at), 1_000.0);
    }
    verdict.0.extend(run.unanswered.iter().map(|what| format!("not answered: {what}")));
    verdict.0
}

/// Returns the rate of the first two seconds, in which nothing is wrong yet.
fn rate_before(run: &Measured) -> f64 {
    run.rate(1, 2)
}

/// Checks a radio that pauses: the rate stands, and pictures come late by the pause.
pub(crate) fn radio_check(run: &Measured) -> Vec<String> {
    let rate = run.rate(2, run.rates.len()) / rate_before(run);
    in_order(run).at_least("rate in the pauses", rate, 0.6).at_most("gap", run.gap_max(), 350.0).0
}

/// Programs that stall each second until four seconds before the end.
pub(crate) fn stall_check(run: &Measured) -> Vec<String> {
    let (end, before) = (run.rates.len(), rate_before(run));
    in_order(run)
        .at_least("rate in the stalls", run.rate(2, end.saturating_sub(3)) / before, 0.6)
        .at_least("rate 2 s after them", run.rate(end.saturating_sub(1), end) / before, 0.9)
        .0
}

pub(crate) fn steps_check(run: &Measured) -> Vec<String> {
    changing_check(run, 0.8)
}

pub(crate) fn mobile_check(run: &Measured) -> Vec<String> {
    changing_check(run, 0.75)
}

/// Checks a line that changes all the time: it is used, and its queue stays short for 95 of 100 packets.
fn changing_check(run: &Measured, share: f64) -> Vec<String> {
    in_order(run)
        .at_least("rate, of the line's", run.rate(1, run.rates.len()) / run.capacity, share)
        .at_most("queueing delay p95", percentile(&run.queueing_ms, 0.95), 60.0)
        .0
}

pub(crate) fn busy_check(run: &Measured) -> Vec<String> {
    let rate = run.rate(3, run.rates.len()) / rate_before(run);
    in_order(run).at_least("rate", rate, 0.6).at_most("p99", run.latency()[2], 50.0).0
}
