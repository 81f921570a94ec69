//! A siege: all hostile peers in turn beside a running call of two right daemons, half of the time before a receiver
//! that listens, half before a sender.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use common::netsim::Random;
use common::wire::control::StreamEnd;

use crate::attack::GROWTH_MAX_MB;
use crate::attack::beside::{Ground, KINDS, Kind};
use crate::attack::{Testbed, Victim, unix_time};
use crate::machine::stalls::{Stalls, Watch};
use crate::relay::Relay;
use crate::scenario::measured::{self, Picture};

/// Small video, so that two processors have room for everybody.
const SOURCE: &str = "pattern:size=640x360:fps=60";
const RATE: &str = "4M";
/// One way.
const DELAY: Duration = Duration::from_millis(10);
/// Time from the first picture to the begin: memory has its size then.
const WARM_UP: Duration = Duration::from_secs(5);
/// Longest and shortest time that one kind acts before the next does, and the pause after it.
const SLOT_MAX: Duration = Duration::from_secs(20);
const SLOT_MIN: Duration = Duration::from_secs(3);
const CALM: Duration = Duration::from_secs(1);

const GAP_MAX_MS: f64 = 50.0;
const LINES_MAX_AN_HOUR: usize = 100;

const ENDS: [&str; 2] = ["sender", "receiver"];

/// Lets the kinds of these names act (all if there is none) for `length` and prints what each has cost; fails if a bar
/// was not held.
pub(crate) fn run(names: &[String], programs: &Path, folder: &Path, length: Duration, seed: u64) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !KINDS.iter().any(|kind| kind.name == name.as_str())) {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        bail!("there is no hostile peer `{unknown}`: there are {}", known.join(", "));
    }
    println!("{SOURCE}, {RATE}, {} s, seed {seed}\n", length.as_secs());
    let is_asked = |kind: &&Kind| names.is_empty() || names.iter().any(|name| name == kind.name);
    let mut rows: Vec<SiegeRow> = KINDS.iter().filter(is_asked).map(SiegeRow::new).collect();
    let mut faults = Vec::new();
    for listens in [StreamEnd::Receiver, StreamEnd::Sender] {
        let name = ENDS[end(listens)];
        let testbed = Testbed::new(programs, &folder.join(format!("{name}-listens")))?;
        let siege = Siege::begin(&testbed, listens, seed)?;
        let broken = siege.hold(length / 2, seed, &mut rows).with_context(|| format!("the {name} listened"))?;
        faults.extend(broken.into_iter().map(|fault| format!("while the {name} listened: {fault}")));
    }
    println!("{HEAD}");
    for row in &rows {
        println!("{row}");
        faults.extend(row.faults().into_iter().map(|fault| format!("{}: {fault}", row.kind.name)));
    }
    println!("\nFiles: {}", folder.display());
    if !faults.is_empty() {
        bail!("the siege has broken through\n{}", faults.join("\n"));
    }
    Ok(())
}

fn end(role: StreamEnd) -> usize {
    match role {
        StreamEnd::Sender => 0,
        StreamEnd::Receiver => 1,
    }
}

/// A call under siege.
struct Siege<'a> {
    testbed: &'a Testbed,
    ground: Arc<Ground>,
    /// Sender and receiver.
    daemons: [Victim; 2],
    /// Ends with this value.
    _relay: Relay,
}

/// Figures of a kind of hostile peer in one slot.
struct Slot {
    kind: usize,
    from: f64,
    to: f64,
}

impl<'a> Siege<'a> {
    fn begin(testbed: &'a Testbed, listens: StreamEnd, seed: u64) -> Result<Self> {
        let address = testbed.free_address()?;
        let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], 0)), address, DELAY)?;
        let (listener, dialler) = (end(listens), 1 - end(listens));
        let command = |end: usize| -> Result<Command> {
            let mut command = testbed.program(ENDS[end])?;
            let (flag, to) = if end == listener { ("--listen", address) } else { ("--to", relay.address()) };
            command.args([
                flag,
                &to.to_string(),
                "--peer",
                &testbed.key(ENDS[1 - end])?,
                "--peer",
                &testbed.key("second")?,
            ]);
            match end {
                0 => command.args(["--source", SOURCE, "--rate", RATE]),
                _ => command.args(["--sink", "headless", "--config"]).arg(testbed.pictures_config()?),
            };
            Ok(command)
        };
        let mut first = testbed.start(ENDS[listener], &mut command(listener)?)?;
        testbed.wait_until_bound(address, &mut first)?;
        let second = testbed.start(ENDS[dialler], &mut command(dialler)?)?;
        let mut daemons = if listener == 0 { [first, second] } else { [second, first] };
        testbed.wait_for_pictures(&mut daemons[1], 1)?;
        std::thread::sleep(WARM_UP);
        let ground = Arc::new(Ground {
            target: address,
            peer: testbed.identity(ENDS[listener])?.public_key(),
            tap: relay.tap(),
            dials: if listens == StreamEnd::Sender { StreamEnd::Receiver } else { StreamEnd::Sender },
            second: testbed.identity("second")?.certified_key()?,
            stranger: testbed.identity("stranger")?.certified_key()?,
            seed,
        });
        Ok(Self { testbed, ground, daemons, _relay: relay })
    }

    /// Lets all kinds act in turn, in an order of the seed, adds to their rows what they have cost, and returns the
    /// bars of the whole that were not held.
    fn hold(mut self, length: Duration, seed: u64, rows: &mut [SiegeRow]) -> Result<Vec<String>> {
        let span = (length / rows.len() as u32).saturating_sub(CALM).clamp(SLOT_MIN, SLOT_MAX);
        let (mut random, mut order, mut slots) = (Random::new(seed), Vec::new(), Vec::new());
        let (began, began_unix) = (Instant::now(), unix_time()?);
        let watch = Watch::start(&self.testbed.file(""))?;
        self.daemons.iter_mut().for_each(Victim::begin);
        let before = self.daemons.each_ref().map(|daemon| daemon.daemon.memory());
        while began.elapsed() + span + CALM <= length || slots.len() < rows.len() {
            if order.is_empty() {
                order = (0..rows.len()).collect();
            }
            let kind = order.swap_remove(random.below(order.len() as u64) as usize);
            let from = began.elapsed();
            let name = rows[kind].kind.name;
            self.slot(&mut rows[kind], span).with_context(|| format!("during `{name}`"))?;
            slots.push(Slot { kind, from: from.as_secs_f64() * 1e3, to: began.elapsed().as_secs_f64() * 1e3 });
        }
        let stalls = watch.map(|watch| watch.end(began_unix, began_unix + began.elapsed())).transpose()?;
        let pictures = measured::pictures(&self.testbed.file("pictures"), began_unix)?;
        for slot in &slots {
            rows[slot.kind].gap = rows[slot.kind].gap.longer(gap(&pictures, slot, stalls.as_ref()));
        }
        let mut faults = Vec::new();
        let hours = (length.as_secs() as usize).div_ceil(3_600);
        for (index, mut victim) in self.daemons.into_iter().enumerate() {
            let outcome = victim.outcome()?;
            let (name, growth) = (ENDS[index], victim.memory_most().saturating_sub(before[index]) as f64 / 1e6);
            let lines = outcome.log_lines.unwrap_or_default();
            let connections = victim.daemon.said().matches("connected to ").count();
            println!("{name}: {growth:.1} MB more at most, {lines} lines in its log, {connections} connections");
            if growth > GROWTH_MAX_MB {
                faults.push(format!("the {name} grew by {growth:.1} MB > {GROWTH_MAX_MB:.0}"));
            }
            if lines > LINES_MAX_AN_HOUR * hours {
                faults.push(format!("the {name} wrote {lines} lines > {}", LINES_MAX_AN_HOUR * hours));
            }
            victim.daemon.stop()?;
        }
        Ok(faults)
    }

    /// Lets one kind act for `span`.
    fn slot(&mut self, row: &mut SiegeRow, span: Duration) -> Result<()> {
        let now = |daemons: &[Victim; 2]| {
            daemons.each_ref().map(|daemon| (daemon.daemon.memory(), daemon.daemon.time(), daemon.lines()))
        };
        let (before, began) = (now(&self.daemons), Instant::now());
        let stop = Arc::new(AtomicBool::new(false));
        let (ground, stopped, kind) = (Arc::clone(&self.ground), Arc::clone(&stop), row.kind);
        let hostile = std::thread::spawn(move || kind.run(&ground, &stopped));
        let mut most = before.map(|(memory, ..)| memory);
        while began.elapsed() < span + CALM {
            std::thread::sleep(Duration::from_millis(50));
            stop.store(began.elapsed() >= span, Ordering::Relaxed);
            for (victim, most) in self.daemons.iter_mut().zip(&mut most) {
                victim.look();
                victim.daemon.check()?;
                *most = (*most).max(victim.daemon.memory());
            }
        }
        let after = now(&self.daemons);
        row.acts += hostile.join().map_err(|_| anyhow!("the hostile peer broke down"))??;
        row.time += began.elapsed();
        for end in 0..2 {
            row.growth[end] = row.growth[end].max(most[end].saturating_sub(before[end].0));
            row.cpu[end] += after[end].1.saturating_sub(before[end].1);
            row.lines[end] += after[end].2.saturating_sub(before[end].2);
        }
        Ok(())
    }
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

/// Returns the longest gap that overlaps the slot.
fn gap(pictures: &[Picture], slot: &Slot, stalls: Option<&Stalls>) -> Gap {
    let points = pictures.iter().map(|picture| picture.at).filter(|&at| at > 0.0);
    let points: Vec<f64> = std::iter::once(0.0).chain(points).chain([slot.to]).collect();
    let overlaps = |pair: &&[f64]| pair[1] > slot.from && pair[0] < slot.to;
    let gaps = points.windows(2).filter(overlaps).map(|pair| Gap {
        whole: pair[1] - pair[0],
        machine: stalls.map_or(0.0, |stalls| stalls.between(pair[0], pair[1])),
    });
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
    time: Duration,
    gap: Gap,
    growth: [u64; 2],
    lines: [usize; 2],
    cpu: [Duration; 2],
}

impl SiegeRow {
    fn new(kind: &'static Kind) -> Self {
        Self {
            kind,
            acts: 0,
            time: Duration::ZERO,
            gap: Gap::default(),
            growth: [0; 2],
            lines: [0; 2],
            cpu: [Duration::ZERO; 2],
        }
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let gap = self.gap.own();
        if gap > GAP_MAX_MS {
            faults.push(format!("gap {gap:.0} > {GAP_MAX_MS:.0}"));
        }
        for (name, growth) in ENDS.iter().zip(self.growth.map(|bytes| bytes as f64 / 1e6)) {
            if growth > GROWTH_MAX_MB {
                faults.push(format!("the {name} grew by {growth:.1} MB > {GROWTH_MAX_MB:.0}"));
            }
        }
        if self.acts == 0 {
            faults.push("it has not acted".to_owned());
        }
        faults
    }
}

impl fmt::Display for SiegeRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [grown, received] = self.growth.map(|bytes| bytes as f64 / 1e6);
        let [sender, receiver] = self.cpu.map(|time| 100.0 * time.as_secs_f64() / self.time.as_secs_f64());
        let faults = self.faults();
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
            if faults.is_empty() { "yes".to_owned() } else { faults.join("; ") }
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "tests")]

    use super::*;

    #[test]
    fn a_gap_counts_in_each_slot_that_it_overlaps_less_what_the_machine_made() {
        let picture = |at: f64| Picture { at, frame: 0, latency: None, missing_blocks: 0, missing_coarse: 0 };
        let pictures = [20.0, 90.0, 100.0, 200.0].map(picture);
        let stalls = Stalls { late: vec![(150.0, 40.0), (155.0, 20.0), (300.0, 9.0)] };
        let slot = |from, to| Slot { kind: 0, from, to };
        let found = gap(&pictures, &slot(0.0, 90.0), Some(&stalls));
        assert_eq!(found, Gap { whole: 70.0, machine: 0.0 });
        assert_eq!(gap(&pictures, &slot(50.0, 60.0), None), found);
        assert_eq!(gap(&pictures, &slot(110.0, 190.0), Some(&stalls)), Gap { whole: 100.0, machine: 45.0 });
        assert_eq!(gap(&[], &slot(110.0, 190.0), None), Gap { whole: 190.0, machine: 0.0 });
    }

    #[test]
    fn every_bar_can_be_broken() {
        let row = |change: fn(&mut SiegeRow)| {
            let mut row = SiegeRow { acts: 1, ..SiegeRow::new(&KINDS[0]) };
            change(&mut row);
            row.faults().len()
        };
        assert_eq!(row(|_| {}), 0);
        assert_eq!(row(|row| row.gap.whole = 51.0), 1);
        assert_eq!(row(|row| row.gap = Gap { whole: 90.0, machine: 41.0 }), 0);
        assert_eq!(row(|row| row.growth = [17_000_000; 2]), 2);
        assert_eq!(row(|row| row.acts = 0), 1);
    }
}
