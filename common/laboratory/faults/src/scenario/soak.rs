//! The soak, T20: 1 % loss for hours, a fault of the others in every cycle, in an order of the seed. Nothing grows, no
//! clock drifts, and every gap has its fault.
//!
//! In the first half of the time senders are killed, in the second receivers: so each daemon has a life of half the time, long
//! enough to tell what grows from what it takes once.

use std::time::Duration;

use common::netsim::{Bursts, NetConditions, Random};
use common::units::Bitrate;

use crate::bars::Bars;
use crate::flood::Flood;
use crate::scenario::case::{Case, FAR};
use crate::scenario::event::Event;
use crate::scenario::measured::{Look, Measured, Span};
use crate::testbed::{ENDS, RECEIVER, SENDER};

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

/// The line when nothing happens.
const USUAL: NetConditions = NetConditions { loss: 0.01, ..FAR };

/// Kinds of events; all come before one comes again.
const KINDS: usize = 12;

/// Returns all kinds; `end` is the one that is killed.
fn kinds(end: usize) -> [Event; KINDS] {
    let line = |conditions| Event::Line { conditions, span: SPAN };
    let flood = |kind| Event::Flood { kind, per_second: 10_000, span: SPAN };
    let reorder_delay = Duration::from_millis(20);
    [
        Event::Kill(end),
        Event::Kill(end),
        Event::Pause { ends: [false, true], span: SPAN },
        Event::Rebind,
        flood(Flood::Junk),
        flood(Flood::Initials),
        line(USUAL.blackout()),
        line(NetConditions { loss: 0.05, ..FAR }),
        line(NetConditions { bursts: Some(Bursts { average: 0.01, mean_length: 8.0 }), ..FAR }),
        line(NetConditions { reorder: 0.01, reorder_by: 5, reorder_delay, duplicate: 0.01, ..USUAL }),
        line(USUAL.limited(Bitrate::from_bps(5_000_000), Duration::from_millis(500))),
        // 1280 bytes of IPv4.
        line(NetConditions { datagram_max: 1_252, ..USUAL }),
    ]
}

/// Returns the duration of an event that may cause a gap, milliseconds; none: it may cause none.
fn lasts(event: Event) -> Option<f64> {
    match event {
        Event::Flood { .. } => None,
        _ => Some(event.span().unwrap_or_default().as_secs_f64() * 1e3),
    }
}

/// Returns the soak of this length.
pub(crate) fn case(length: Duration, seed: u64, cycle: Option<Duration>) -> Case {
    let cycle = cycle.unwrap_or(CYCLE).max(CYCLE_MIN);
    let (mut random, mut waiting) = (Random::new(seed), Vec::new());
    let times = (0..).map(|number| LEAD + cycle * number).take_while(|&at| at + LEAD <= length);
    let events = times.map(|at| {
        if waiting.is_empty() {
            waiting = (0..KINDS).collect();
        }
        let kind = waiting.swap_remove(random.below(waiting.len() as u64) as usize);
        (at, kinds(if at < length / 2 { SENDER } else { RECEIVER })[kind])
    });
    Case::new(NAME, "T20: 1 % loss and a fault of the others in each cycle", check)
        .both_ways(USUAL)
        .events(events.collect())
        .noted(note)
        .fired(|passed| passed.there.lost > 10)
}

fn check(run: &Measured) -> Bars {
    let figures = CalmFigures::of(run);
    let mut bars = Bars::default();
    // In a short run a page more or less is a steep slope.
    let hours = (run.length / 3.6e6).min(1.0);
    for (end, name) in ENDS.into_iter().enumerate() {
        bars = bars
            .at_most(&format!("{name}'s memory, MB/h,"), figures.slope[end], SLOPE_MAX / hours)
            .at_most(&format!("{name}'s threads more"), figures.threads[end], SPARE)
            .at_most(&format!("{name}'s open files more"), figures.files[end], SPARE);
    }
    bars = bars
        .at_most("clocks' drift, ms,", figures.drift, DRIFT_MAX_MS)
        .at_most("panics", run.panics as f64, 0.0)
        .at_most("steps back", run.steps_back() as f64, 0.0);
    if figures.looks == 0 {
        bars.0.push("no look counts, as the soak was too short or never calm".to_owned());
    }
    let unexplained = unexplained(run);
    let sentences = unexplained.iter().take(5);
    bars.0.extend(sentences.map(|(at, gap)| format!("gap of {gap:.0} ms without a fault at {at:.0}")));
    bars
}

/// Returns a sentence with the figures.
fn note(run: &Measured) -> Option<String> {
    let CalmFigures { looks, slope: [s, r], slope_with_first: [s_first, r_first], threads, files, drift } =
        CalmFigures::of(run);
    Some(format!(
        "{} faults, {looks} looks, memory {s:.2}/{r:.2} MB/h (first faults counted too: {s_first:.2}/{r_first:.2}), \
         threads +{}/{}, files +{}/{}, clocks {drift:.2} ms",
        run.spans.len(),
        threads[0],
        threads[1],
        files[0],
        files[1]
    ))
}

/// Gaps that no fault and no stall of the machine explains: when they began, and how long they were.
fn unexplained(run: &Measured) -> Vec<(f64, f64)> {
    let has_fault = |from: f64, to: f64| {
        let is_near =
            |span: &Span| lasts(span.event).is_some_and(|lasts| from < span.at + lasts + AFTERMATH && to > span.at);
        run.spans.iter().any(is_near)
    };
    let points: Vec<f64> = run.pictures.iter().map(|picture| picture.at).chain([run.length]).collect();
    let gaps = points.windows(2).filter(|pair| pair[1] - pair[0] > GAP_MAX && !has_fault(pair[0], pair[1]));
    gaps.map(|pair| (pair[0], pair[1] - pair[0]))
        .filter(|&(at, gap)| gap - run.machine_stalled(at, at + gap) > GAP_MAX)
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
            run.spans.iter().all(|span| {
                let end = span.at + lasts(span.event).unwrap_or(SPAN.as_secs_f64() * 1e3);
                look.at < span.at || look.at > end + CALM_AFTER.as_secs_f64() * 1e3
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
            let points =
                looks.iter().map(|look| (look.lives[end], look.at / 3.6e6, look.held[end].memory as f64 / 1e6));
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
            threads: spread(|look, end| look.held[end].threads),
            files: spread(|look, end| look.held[end].files),
            drift,
        }
    }
}

/// Returns true if each kind of event came between the two times, milliseconds.
fn has_seen_all(run: &Measured, from: f64, to: f64) -> bool {
    let count = |time: f64| run.spans.iter().filter(|span| span.at < time).count();
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
    use crate::daemons::Held;
    use crate::logs::Picture;

    fn calm_hour() -> Measured {
        let picture = |number: u32| Picture {
            at: f64::from(number) * 40.0,
            frame: number.into(),
            latency: None,
            missing_blocks: 0,
            missing_coarse: 0,
        };
        let held = |memory| Held { memory, threads: 5, files: 20, ..Held::default() };
        let look = |second: u32| Look {
            at: f64::from(second) * 1e3,
            lives: [usize::from(second >= 1_800), 0],
            // The second process is larger from its begin.
            held: [if second < 1_800 { 40_000_000 } else { 50_000_000 }, 60_000_000].map(held),
            clock_offset: Some(f64::from(second % 3) * 0.1),
            ..Look::default()
        };
        Measured {
            length: 3.6e6,
            pictures: (0..90_000).map(picture).collect(),
            looks: (0..3_600).map(look).collect(),
            spans: (0..60)
                .map(|minute| (f64::from(minute) * 6e4, if minute == 30 { Event::Kill(SENDER) } else { Event::Rebind }))
                .map(|(at, event)| Span::new(at, event))
                .collect(),
            ..Measured::default()
        }
    }

    #[test]
    fn a_calm_hour_holds() {
        assert_eq!(check(&calm_hour()), Bars::default());
    }

    #[test]
    fn every_bar_can_be_broken() {
        let broken = |change: fn(&mut Measured)| {
            let mut run = calm_hour();
            change(&mut run);
            let bars = check(&run);
            assert_eq!(bars.0.len(), 1, "{bars:?}");
        };
        broken(|run| run.looks.iter_mut().for_each(|look| look.held[1].memory += (look.at * 0.4) as u64));
        broken(|run| run.looks.iter_mut().for_each(|look| look.held[0].threads += (look.at / 1e6) as usize));
        broken(|run| run.looks.iter_mut().for_each(|look| look.held[1].files += (look.at / 1e6) as usize));
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
                .for_each(|look| look.held[1].memory += (look.at.min(f64::from(minutes) * 6e4) * 10.0) as u64);
            (check(&run).0.len(), CalmFigures::of(&run).slope_with_first[1] > SLOPE_MAX)
        };
        assert_eq!((grown(11), grown(20)), ((0, true), (1, true)), "but it is told");
        let mut short = calm_hour();
        short.spans.truncate(KINDS - 1);
        assert_eq!(check(&short).0.len(), 6, "no daemon is old enough");
    }

    #[test]
    fn the_gap_of_a_fault_is_its_own() {
        let mut run = calm_hour();
        run.pictures.retain(|picture| !(1.8e6..1.8e6 + 900.0).contains(&picture.at));
        assert_eq!(check(&run), Bars::default());
    }

    #[test]
    fn every_kind_of_fault_comes_before_one_comes_again() {
        let soak = case(Duration::from_secs(15 + 12 * 60), 3, None);
        assert_eq!(soak.events.len(), 12);
        let lines = soak.events.iter().filter(|(_, event)| matches!(event, Event::Line { .. })).count();
        assert_eq!(lines, 6);
        let half = Duration::from_secs(15 + 12 * 60) / 2;
        let kills = soak.events.iter().filter_map(|&(at, event)| match event {
            Event::Kill(end) => Some((at < half, end == SENDER)),
            _ => None,
        });
        let kills: Vec<_> = kills.collect();
        assert!(
            kills.len() == 2 && kills.iter().all(|(is_first_half, of_sender)| is_first_half == of_sender),
            "{kills:?}"
        );
        let other = case(Duration::from_secs(15 + 12 * 60), 4, None);
        assert!(soak.events != other.events);
    }
}
