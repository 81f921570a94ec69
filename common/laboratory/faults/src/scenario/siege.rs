//! A siege: all hostile peers in turn beside a running call of two right daemons, half of the time before a receiver
//! that listens, half before a sender.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use common::netsim::{NetConditions, Random};
use picture::frame::FrameRate;

use crate::attack::beside::{KINDS, Kind};
use crate::bars::{Bars, GROWTH_MAX_MB, Report, check_names};
use crate::scenario::case::Case;
use crate::scenario::event::Event;
use crate::scenario::measured::{Measured, Span};
use crate::scenario::run;
use crate::scenario::setup::Stream;
use crate::testbed::{ENDS, RECEIVER, SENDER};

/// Small video, so that two processors have room for everybody.
const SOURCE: &str = "pattern:size=640x360:fps=60";
const RATE: &str = "4M";
const LINE: NetConditions = NetConditions::perfect(Duration::from_millis(10));
/// Time from the first picture to the begin: memory has its size then.
const WARM_UP: Duration = Duration::from_secs(5);
/// Longest and shortest time that one kind acts before the next does, and the pause after it.
const SLOT_MAX: Duration = Duration::from_secs(20);
const SLOT_MIN: Duration = Duration::from_secs(3);
const CALM: Duration = Duration::from_secs(1);

const GAP_MAX_MS: f64 = 50.0;
const LINES_MAX_AN_HOUR: usize = 100;

/// Lets the kinds of these names act (all if there is none) for `length` and prints what each has cost; fails if a bar
/// was not held.
pub(crate) fn run(names: &[String], programs: &Path, folder: &Path, length: Duration, seed: u64) -> Result<()> {
    check_names("hostile peer", names, KINDS.iter().map(|kind| kind.name))?;
    println!("{SOURCE}, {RATE}, {} s, seed {seed}\n", length.as_secs());
    let is_asked = |kind: &&Kind| names.is_empty() || names.iter().any(|name| name == kind.name);
    let kinds: Vec<&'static Kind> = KINDS.iter().filter(is_asked).collect();
    let stream = Stream::of(SOURCE, RATE, FrameRate::new(60, 1).context("60 a second")?, programs);
    let (mut rows, mut report) = (kinds.iter().map(|kind| SiegeRow::new(kind)).collect::<Vec<_>>(), Report::default());
    for listens in [RECEIVER, SENDER] {
        let name = ENDS[listens];
        let case = case(&kinds, listens, length / 2, seed);
        let folder = folder.join(format!("{name}-listens"));
        let end = case.events.last().map_or(length / 2, |&(at, event)| at + event.span().unwrap_or_default() + CALM);
        let (measured, _) = run::run(&case, &stream, &folder, end).with_context(|| format!("the {name} listened"))?;
        rows.iter_mut().for_each(|row| row.add(&measured));
        report.add(&format!("while the {name} listened"), whole(&measured));
    }
    println!("{HEAD}");
    for row in &rows {
        report.row(row, &format!("{}: {}", row.kind.name, row.bars().verdict("")), row.bars().0.is_empty());
    }
    report.end(folder, "the siege has broken through:")
}

/// Returns the call before the end that `listens`: all kinds act in turn, in an order of the seed.
fn case(kinds: &[&'static Kind], listens: usize, length: Duration, seed: u64) -> Case {
    let span = (length / kinds.len() as u32).saturating_sub(CALM).clamp(SLOT_MIN, SLOT_MAX);
    let slots = (length.as_millis() / (span + CALM).as_millis()) as usize;
    let (mut random, mut order) = (Random::new(seed), Vec::new());
    let slots = (0..slots.max(kinds.len())).map(|number| {
        if order.is_empty() {
            order.extend(kinds);
        }
        let kind: &'static Kind = order.swap_remove(random.below(order.len() as u64) as usize);
        ((span + CALM) * number as u32, Event::Beside { kind, span })
    });
    let events = slots.collect();
    let title = "hostile peers beside a call";
    Case {
        settling: WARM_UP,
        ..Case::new("siege", title, whole).both_ways(LINE).events(events).listens(listens).seeded(seed)
    }
}

/// Prints what the whole has cost, and holds it to its bars.
fn whole(run: &Measured) -> Bars {
    let (mut bars, hours) = (Bars::default(), (run.length / 3.6e6).ceil() as usize);
    for (end, name) in ENDS.into_iter().enumerate() {
        let (growth, lines) = (run.growth[end] as f64 / 1e6, run.lines[end]);
        println!("{name}: {growth:.1} MB more at most, {lines} lines in its log, {} connections", run.connections[end]);
        bars = bars.at_most(&format!("growth of the {name}, MB,"), growth, GROWTH_MAX_MB);
        bars = bars.at_most(&format!("lines of the {name}"), lines as f64, (LINES_MAX_AN_HOUR * hours) as f64);
    }
    bars
}

/// A time without a new picture, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Gap {
    whole: f64,
    /// Part of it in which the machine itself stalled.
    machine: f64,
}

impl Gap {
    /// Returns the part that the machine has not made.
    fn own(self) -> f64 {
        self.whole - self.machine
    }

    fn longer(self, other: Self) -> Self {
        if other.own() > self.own() { other } else { self }
    }
}

/// Returns the longest gap that overlaps the time from `from` to `to`.
fn gap(run: &Measured, from: f64, to: f64) -> Gap {
    let points = run.pictures.iter().map(|picture| picture.at).filter(|&at| at > 0.0);
    let points: Vec<f64> = std::iter::once(0.0).chain(points).chain([to]).collect();
    let overlaps = |pair: &&[f64]| pair[1] > from && pair[0] < to;
    let gaps = points
        .windows(2)
        .filter(overlaps)
        .map(|pair| Gap { whole: pair[1] - pair[0], machine: run.machine_stalled(pair[0], pair[1]) });
    gaps.fold(Gap::default(), Gap::longer)
}

const HEAD: &str = "\
| hostile peer | what it does | times | longest gap, ms | of it the machine | growth sender/receiver, MB | \
log lines sender/receiver | processor sender/receiver, % of a core | held |
|---|---|---|---|---|---|---|---|---|";

/// Cost of a kind in all its slots.
struct SiegeRow {
    kind: &'static Kind,
    acts: u64,
    time: f64,
    gap: Gap,
    growth: [u64; 2],
    lines: [usize; 2],
    cpu: [Duration; 2],
}

impl SiegeRow {
    fn new(kind: &'static Kind) -> Self {
        Self { kind, acts: 0, time: 0.0, gap: Gap::default(), growth: [0; 2], lines: [0; 2], cpu: [Duration::ZERO; 2] }
    }

    /// Adds what the kind has cost in a run.
    fn add(&mut self, run: &Measured) {
        let is_own = |span: &&Span| matches!(span.event, Event::Beside { kind, .. } if kind.name == self.kind.name);
        for span in run.spans.iter().filter(is_own).cloned().collect::<Vec<_>>() {
            self.acts += span.acts;
            self.time += (span.until - span.at) / 1e3;
            self.gap = self.gap.longer(gap(run, span.at, span.until));
            for end in [SENDER, RECEIVER] {
                self.growth[end] = self.growth[end].max(span.growth[end]);
                self.lines[end] += span.lines[end];
                self.cpu[end] += span.time[end];
            }
        }
    }

    fn bars(&self) -> Bars {
        let mut bars = Bars::default().at_most("gap", self.gap.own(), GAP_MAX_MS);
        for (name, growth) in ENDS.iter().zip(self.growth.map(|bytes| bytes as f64 / 1e6)) {
            bars = bars.at_most(&format!("growth of the {name}, MB,"), growth, GROWTH_MAX_MB);
        }
        bars.expect(self.acts > 0, "it has not acted");
        bars
    }
}

impl fmt::Display for SiegeRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [grown, received] = self.growth.map(|bytes| bytes as f64 / 1e6);
        let [sender, receiver] = self.cpu.map(|time| 100.0 * time.as_secs_f64() / self.time);
        write!(
            out,
            "| {} | {} | {} | {:.0} | {:.0} | {grown:.1}/{received:.1} | {}/{} | {sender:.0}/{receiver:.0} | {} |",
            self.kind.name,
            self.kind.title,
            self.acts,
            self.gap.whole,
            self.gap.machine,
            self.lines[0],
            self.lines[1],
            self.bars().verdict("yes")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::Picture;
    use crate::machine::stalls::Stalls;

    #[test]
    fn a_gap_counts_in_each_slot_that_it_overlaps_less_what_the_machine_made() {
        let picture = |at: f64| Picture { at, frame: 0, latency: None, missing_blocks: 0, missing_coarse: 0 };
        let pictures = [20.0, 90.0, 100.0, 200.0].map(picture).to_vec();
        let stalls = Some(Stalls { late: vec![(150.0, 40.0), (155.0, 20.0), (300.0, 9.0)] });
        let mut run = Measured { pictures, stalls, ..Measured::default() };
        let found = Gap { whole: 70.0, machine: 0.0 };
        assert_eq!(gap(&run, 0.0, 90.0), found);
        assert_eq!(gap(&run, 50.0, 60.0), found);
        assert_eq!(gap(&run, 110.0, 190.0), Gap { whole: 100.0, machine: 45.0 });
        (run.pictures, run.stalls) = (Vec::new(), None);
        assert_eq!(gap(&run, 110.0, 190.0), Gap { whole: 190.0, machine: 0.0 });
    }

    #[test]
    fn every_bar_can_be_broken() {
        let row = |change: fn(&mut SiegeRow)| {
            let mut row = SiegeRow { acts: 1, ..SiegeRow::new(&KINDS[0]) };
            change(&mut row);
            row.bars().0.len()
        };
        assert_eq!(row(|_| {}), 0);
        assert_eq!(row(|row| row.gap.whole = 51.0), 1);
        assert_eq!(row(|row| row.gap = Gap { whole: 90.0, machine: 41.0 }), 0);
        assert_eq!(row(|row| row.growth = [17_000_000; 2]), 2);
        assert_eq!(row(|row| row.acts = 0), 1);
    }

    #[test]
    fn every_kind_acts_in_turn_before_one_acts_again() {
        let kinds: Vec<_> = KINDS.iter().collect();
        let case = case(&kinds, RECEIVER, Duration::from_secs(10), 3);
        let named = |events: &[(Duration, Event)]| {
            let mut names: Vec<_> = events.iter().map(|(_, event)| format!("{event:?}")).collect();
            names.sort();
            names.dedup();
            names.len()
        };
        assert_eq!((case.events.len(), named(&case.events)), (KINDS.len(), KINDS.len()), "a short siege has all");
        let long = super::case(&kinds, RECEIVER, Duration::from_secs(462), 3);
        assert_eq!((long.events.len(), named(&long.events[KINDS.len()..])), (2 * KINDS.len(), KINDS.len()));
    }
}
