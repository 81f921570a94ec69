//! The soak, T20: 1 % loss for hours, a fault of the others in every cycle, in an order of the seed. Nothing grows, no
//! clock drifts, and every gap has its fault.
//!
//! In the first half of the time senders are killed, in the second receivers: so each daemon has a life of half the time, long
//! enough to tell what grows from what it takes once.

use std::time::Duration;

use common::netsim::{Bursts, NetConditions, Random, Scenario};
use common::units::Bitrate;

use crate::scenario::case::{Case, FAR};
use crate::scenario::fault::{Fault, Flood};
use crate::scenario::measured::{Look, Measured};

/// The scenario's name.
pub(crate) const NAME: &str = "soak";
/// Time between two faults if none is asked for.
const CYCLE: Duration = Duration::from_secs(60);
/// Time from the begin to the first fault, and the shortest time from the last one to the end.
const LEAD: Duration = Duration::from_secs(15);
/// Duration of the faults that last.
const SPAN: Duration = Duration::from_secs(5);
/// Time after a fault's end for which a gap is attributed to it, milliseconds.
const AFTERMATH: f64 = 2_000.0;

/// Time after a fault's end from which figures count. Those of a daemon count only when each kind of fault has come once in its
/// life: what a kind takes when it comes first is not growth.
const CALM_AFTER: Duration = Duration::from_secs(8);
/// Age from which memory counts where the first faults do.
const AGE_MIN: Duration = Duration::from_secs(30);
/// Shortest time between two faults, with a look or two at calm daemons.
const CYCLE_MIN: Duration = SPAN.saturating_add(CALM_AFTER).saturating_add(Duration::from_secs(2));
const GAP_MAX: f64 = 50.0;
/// Megabytes an hour; in a shorter run, megabytes from its begin to its end.
const SLOPE_MAX: f64 = 1.0;
/// Threads and open files that a daemon may have now and then, such as for the look-up of a name.
const SPARE: f64 = 2.0;
const DRIFT_MAX_MS: f64 = 1.0;

/// An event of the run.
#[derive(Clone, Copy)]
enum SoakEvent {
    /// A daemon is killed: which one, the time says.
    Kill,
    /// Another fault of a daemon or the relay.
    Fault(Fault),
    /// A fault of the line, both ways.
    Line(NetConditions),
}

/// The line when nothing happens.
const USUAL: NetConditions = NetConditions { loss: 0.01, ..FAR };

/// Kinds of events; all come before one comes again.
const KINDS: usize = 12;

fn events() -> [SoakEvent; KINDS] {
    [
        SoakEvent::Kill,
        SoakEvent::Kill,
        SoakEvent::Fault(Fault::PauseReceiver(SPAN)),
        SoakEvent::Fault(Fault::Rebind),
        SoakEvent::Fault(Fault::Flood { kind: Flood::Junk, per_second: 10_000, span: SPAN }),
        SoakEvent::Fault(Fault::Flood { kind: Flood::Initials, per_second: 10_000, span: SPAN }),
        SoakEvent::Line(USUAL.blackout()),
        SoakEvent::Line(NetConditions { loss: 0.05, ..FAR }),
        SoakEvent::Line(NetConditions { bursts: Some(Bursts { average: 0.01, mean_length: 8.0 }), ..FAR }),
        SoakEvent::Line(NetConditions {
            reorder: 0.01,
            reorder_by: 5,
            reorder_delay: Duration::from_millis(20),
            duplicate: 0.01,
            ..USUAL
        }),
        SoakEvent::Line(USUAL.limited(Bitrate::from_bps(5_000_000), Duration::from_millis(500))),
        // 1280 bytes of IPv4.
        SoakEvent::Line(NetConditions { datagram_max: 1_252, ..USUAL }),
    ]
}

/// Returns the duration of a fault that may cause a gap, milliseconds; none: it may cause none.
fn lasts(fault: Fault) -> Option<f64> {
    match fault {
        Fault::PauseReceiver(span) | Fault::Line(span) => Some(span.as_secs_f64() * 1e3),
        Fault::Flood { .. } => None,
        _ => Some(0.0),
    }
}

/// Returns the soak of this length.
pub(crate) fn case(length: Duration, seed: u64, cycle: Option<Duration>) -> Case {
    let cycle = cycle.unwrap_or(CYCLE).max(CYCLE_MIN);
    let (mut random, mut waiting) = (Random::new(seed), Vec::new());
    let (mut faults, mut line) = (Vec::new(), vec![(Duration::ZERO, USUAL)]);
    let mut at = LEAD;
    while at + LEAD <= length {
        if waiting.is_empty() {
            waiting = events().to_vec();
        }
        faults.push((
            at,
            match waiting.swap_remove(random.below(waiting.len() as u64) as usize) {
                SoakEvent::Kill if at < length / 2 => Fault::KillSender,
                SoakEvent::Kill => Fault::KillReceiver,
                SoakEvent::Fault(fault) => fault,
                SoakEvent::Line(conditions) => {
                    line.extend([(at, conditions), (at + SPAN, USUAL)]);
                    Fault::Line(SPAN)
                }
            },
        ));
        at += cycle;
    }
    Case::new(NAME, "T20: 1 % loss and a fault of the others in each cycle", check)
        .both_ways(Scenario::table(&line))
        .faults(faults)
        .fired(|passed| passed.there.lost > 10)
}

fn check(run: &Measured) -> Vec<String> {
    let figures = CalmFigures::of(run);
    let mut faults = Vec::new();
    let mut at_most = |what: &str, figure: f64, limit: f64| {
        if figure.is_nan() {
            faults.push(format!("{what} unknown: no look counts, as the soak was too short or never calm"));
        } else if figure > limit {
            faults.push(format!("{what} {figure:.2} > {limit:.2}"));
        }
    };
    // In a short run a page more or less is a steep slope.
    let hours = (run.length / 3.6e6).min(1.0);
    for (end, name) in ["sender", "receiver"].into_iter().enumerate() {
        at_most(&format!("{name}'s memory, MB/h,"), figures.slope[end], SLOPE_MAX / hours);
        at_most(&format!("{name}'s threads more"), figures.threads[end], SPARE);
        at_most(&format!("{name}'s open files more"), figures.files[end], SPARE);
    }
    at_most("clocks' drift, ms,", figures.drift, DRIFT_MAX_MS);
    at_most("panics", run.panics as f64, 0.0);
    at_most("steps back", run.steps_back() as f64, 0.0);
    let unexplained = unexplained(run);
    faults.extend(unexplained.iter().take(5).map(|(at, gap)| format!("gap of {gap:.0} ms without a fault at {at:.0}")));
    faults
}

/// Returns a sentence with the figures.
pub(crate) fn note(run: &Measured) -> String {
    let CalmFigures { looks, slope: [s, r], slope_with_first: [s_first, r_first], threads, files, drift } =
        CalmFigures::of(run);
    format!(
        "{} faults, {looks} looks, memory {s:.2}/{r:.2} MB/h (first faults counted too: {s_first:.2}/{r_first:.2}), \
         threads +{}/{}, files +{}/{}, clocks {drift:.2} ms",
        run.faults.len(),
        threads[0],
        threads[1],
        files[0],
        files[1]
    )
}

/// Gaps that no fault and no stall of the machine explains: when they began, and how long they were.
fn unexplained(run: &Measured) -> Vec<(f64, f64)> {
    let has_fault = |from: f64, to: f64| {
        run.spans.iter().any(|&(at, fault)| lasts(fault).is_some_and(|lasts| from < at + lasts + AFTERMATH && to > at))
    };
    let points: Vec<f64> = run.pictures.iter().map(|picture| picture.at).chain([run.length]).collect();
    let gaps = points.windows(2).filter(|pair| pair[1] - pair[0] > GAP_MAX && !has_fault(pair[0], pair[1]));
    let made_by_machine = |from: f64, to: f64| run.stalls.as_ref().map_or(0.0, |stalls| stalls.between(from, to));
    gaps.map(|pair| (pair[0], pair[1] - pair[0]))
        .filter(|&(at, gap)| gap - made_by_machine(at, at + gap) > GAP_MAX)
        .collect()
}

/// Figures of calm times.
struct CalmFigures {
    looks: usize,
    /// Memory, megabytes an hour.
    slope: [f64; 2],
    /// The same from [`AGE_MIN`] on, with what the first fault of each kind takes. It has no bar.
    slope_with_first: [f64; 2],
    /// Largest number less the smallest.
    threads: [f64; 2],
    files: [f64; 2],
    /// Largest difference of two clock offsets of the same two processes, milliseconds.
    drift: f64,
}

impl CalmFigures {
    fn of(run: &Measured) -> Self {
        let is_calm = |look: &&Look| {
            run.spans.iter().all(|&(at, fault)| {
                let end = at + lasts(fault).unwrap_or(SPAN.as_secs_f64() * 1e3);
                look.at < at || look.at > end + CALM_AFTER.as_secs_f64() * 1e3
            })
        };
        let calm: Vec<&Look> = run.looks.iter().filter(is_calm).collect();
        let begin = |end: usize, life: usize| {
            run.looks.iter().find(|look| look.lives[end] == life).map_or(f64::NAN, |look| look.at)
        };
        let warm = |end: usize| {
            let is_warm = |look: &&Look| has_seen_all(run, begin(end, look.lives[end]), look.at);
            calm.iter().copied().filter(is_warm).collect::<Vec<_>>()
        };
        let slope_of = |looks: &[&Look], end: usize| {
            let points = looks.iter().map(|look| (look.lives[end], look.at / 3.6e6, look.memory[end] as f64 / 1e6));
            slope(&points.collect::<Vec<_>>())
        };
        let slope_with_first = [0, 1].map(|end| {
            let is_older = |look: &&Look| look.at - begin(end, look.lives[end]) >= AGE_MIN.as_secs_f64() * 1e3;
            slope_of(&calm.iter().copied().filter(is_older).collect::<Vec<_>>(), end)
        });
        let spread = |count: fn(&Look, usize) -> usize| {
            [0, 1].map(|end| spread_of(warm(end).into_iter().map(|look| count(look, end) as f64)))
        };
        let offsets = calm.iter().filter_map(|look| Some((look.lives, look.clock_offset?)));
        let offsets: Vec<_> = offsets.collect();
        let of_pair = |lives: [usize; 2]| offsets.iter().filter(move |(other, _)| *other == lives).map(|(_, ms)| *ms);
        let drift = offsets.iter().map(|(lives, _)| spread_of(of_pair(*lives))).fold(f64::NAN, f64::max);
        Self {
            looks: calm.len(),
            slope: [0, 1].map(|end| slope_of(&warm(end), end)),
            slope_with_first,
            threads: spread(|look, end| look.threads[end]),
            files: spread(|look, end| look.files[end]),
            drift,
        }
    }
}

/// Returns true if each kind of event came between the two times, milliseconds.
fn has_seen_all(run: &Measured, from: f64, to: f64) -> bool {
    let count = |time: f64| run.spans.iter().filter(|(at, _)| *at < time).count();
    (count(from).div_ceil(KINDS) + 1) * KINDS <= count(to)
}

/// Returns the largest less the smallest; not a number without values.
fn spread_of(values: impl Iterator<Item = f64>) -> f64 {
    let (least, most) = values.fold((f64::NAN, f64::NAN), |(least, most), value| (value.min(least), value.max(most)));
    most - least
}

/// Returns the growth of the values, by least squares: one slope for all, but each life has its own beginning. Points:
/// life, time, value.
fn slope(points: &[(usize, f64, f64)]) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for life in points.chunk_by(|a, b| a.0 == b.0) {
        let count = life.len() as f64;
        let mean = |of: fn(&(usize, f64, f64)) -> f64| life.iter().map(of).sum::<f64>() / count;
        let (time, value) = (mean(|point| point.1), mean(|point| point.2));
        above += life.iter().map(|point| (point.1 - time) * (point.2 - value)).sum::<f64>();
        below += life.iter().map(|point| (point.1 - time).powi(2)).sum::<f64>();
    }
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::measured::Picture;

    fn calm_hour() -> Measured {
        let picture = |number: u32| Picture {
            at: f64::from(number) * 40.0,
            frame: number.into(),
            latency: None,
            missing_blocks: 0,
            missing_coarse: 0,
        };
        let look = |second: u32| Look {
            at: f64::from(second) * 1e3,
            lives: [usize::from(second >= 1_800), 0],
            // The second process is larger from its begin.
            memory: [if second < 1_800 { 40_000_000 } else { 50_000_000 }, 60_000_000],
            threads: [5, 6],
            files: [20, 21],
            clock_offset: Some(f64::from(second % 3) * 0.1),
        };
        Measured {
            length: 3.6e6,
            pictures: (0..90_000).map(picture).collect(),
            looks: (0..3_600).map(look).collect(),
            spans: (0..60)
                .map(|minute| (f64::from(minute) * 6e4, if minute == 30 { Fault::KillSender } else { Fault::Rebind }))
                .collect(),
            ..Measured::default()
        }
    }

    #[test]
    fn a_calm_hour_holds() {
        assert_eq!(check(&calm_hour()), Vec::<String>::new());
    }

    #[test]
    fn every_bar_can_be_broken() {
        let broken = |change: fn(&mut Measured)| {
            let mut run = calm_hour();
            change(&mut run);
            let faults = check(&run);
            assert_eq!(faults.len(), 1, "{faults:?}");
        };
        broken(|run| run.looks.iter_mut().for_each(|look| look.memory[1] += (look.at * 0.4) as u64));
        broken(|run| run.looks.iter_mut().for_each(|look| look.threads[0] += (look.at / 1e6) as usize));
        broken(|run| run.looks.iter_mut().for_each(|look| look.files[1] += (look.at / 1e6) as usize));
        broken(|run| run.looks.iter_mut().for_each(|look| look.clock_offset = Some(look.at * 1e-6)));
        broken(|run| run.panics = 1);
        broken(|run| run.pictures.retain(|picture| !(1e6..1e6 + 60.0).contains(&picture.at)));
        broken(|run| run.pictures[60_000].frame = 7);
        broken(|run| run.looks.iter_mut().for_each(|look| look.clock_offset = None));
    }

    #[test]
    fn what_the_first_fault_of_each_kind_takes_is_no_growth() {
        let grown = |minutes: u32| {
            let mut run = calm_hour();
            run.looks
                .iter_mut()
                .for_each(|look| look.memory[1] += (look.at.min(f64::from(minutes) * 6e4) * 10.0) as u64);
            (check(&run).len(), CalmFigures::of(&run).slope_with_first[1] > SLOPE_MAX)
        };
        assert_eq!((grown(11), grown(20)), ((0, true), (1, true)), "but it is told");
        let mut short = calm_hour();
        short.spans.truncate(KINDS - 1);
        assert_eq!(check(&short).len(), 6, "no daemon is old enough");
    }

    #[test]
    fn the_gap_of_a_fault_is_its_own() {
        let mut run = calm_hour();
        run.pictures.retain(|picture| !(1.8e6..1.8e6 + 900.0).contains(&picture.at));
        assert_eq!(check(&run), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_fault_comes_before_one_comes_again() {
        let soak = case(Duration::from_secs(15 + 12 * 60), 3, None);
        assert_eq!(soak.faults.len(), 12);
        let lines = soak.faults.iter().filter(|(_, fault)| matches!(fault, Fault::Line(_))).count();
        assert_eq!(lines, 6);
        let half = Duration::from_secs(15 + 12 * 60) / 2;
        let kills = soak.faults.iter().filter(|(_, fault)| matches!(fault, Fault::KillSender | Fault::KillReceiver));
        let kills: Vec<_> = kills.map(|&(at, fault)| (at < half, fault == Fault::KillSender)).collect();
        assert!(
            kills.len() == 2 && kills.iter().all(|(is_first_half, of_sender)| is_first_half == of_sender),
            "{kills:?}"
        );
        let other = case(Duration::from_secs(15 + 12 * 60), 4, None);
        assert!(soak.faults != other.faults);
    }
}
