//! A band beside a duet: `sender call` of three or four machines pairwise over relays, and one of two over a relay of its own with the same
//! line, at once. Also a band of which one has a narrow line, or is killed again and again, beside one that is left alone.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::netsim::{NetConditions, Scenario};
use common::units::Bitrate;

use crate::bars::{Bars, Report, check_names};
use crate::daemons::Daemon;
use crate::logs::{self, longest_gap, percentile};
use crate::machine::namespaces::Home;
use crate::machine::stalls::Watch;
use crate::quality::{Original, Quality};
use crate::relay::Relay;
use crate::scenario::case::Case;
use crate::testbed::{Testbed, unix_time};

/// Names of those who play.
const NAMES: [&str; 4] = ["anna", "bert", "clara", "david"];
/// Longest time until all see each other; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(40);
/// Time from then to the begin of the line: clocks, ways and rates are found.
const SETTLING: Duration = Duration::from_secs(8);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two deaths of one, and for which it is away.
const KILLED_EVERY: Duration = Duration::from_secs(5);
const AWAY: Duration = Duration::from_secs(1);
/// Line of the one who has a narrow one.
const NARROW_BPS: u64 = 500_000;
const PORT: u16 = 4_820;

/// By how much a pair may be later than the duet, ms, and how much picture the others may lose, dB.
const LATER_MAX: f64 = 5.0;
const LOST_MAX: f64 = 0.3;

/// Fate of the last of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Plays,
    IsNarrow,
    IsKilled,
}

/// Asked of a run.
pub(crate) struct BandOptions<'a> {
    /// Scenarios whose lines are taken, and `narrow` and `killed`.
    pub(crate) names: &'a [String],
    pub(crate) cases: &'a [Case],
    pub(crate) members: usize,
    pub(crate) programs: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) length: Duration,
    pub(crate) seed: u64,
    pub(crate) source: &'a str,
    pub(crate) rate: &'a str,
    pub(crate) original: Option<Arc<Original>>,
}

/// Runs all lines that are asked for.
pub(crate) fn run(wanted: &BandOptions<'_>) -> Result<()> {
    let known = wanted.cases.iter().map(|case| case.name).chain(["narrow", "killed"]);
    check_names("line", wanted.names, known)?;
    let usual = ["T1", "T4", "T21", "narrow", "killed"].map(str::to_owned);
    let names = if wanted.names.is_empty() { &usual[..] } else { wanted.names };
    println!("{}, {}, {} s each, seed {}\n", wanted.source, wanted.rate, wanted.length.as_secs(), wanted.seed);
    println!(
        "| line | who | pictures | latency p50, p95, p99, ms | gap p99, longest, ms | PSNR-Y, dB | processor, % each | machine late, ms | bars |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut report = Report::default();
    for name in names {
        let disturbed = match name.as_str() {
            "narrow" => Some(Last::IsNarrow),
            "killed" => Some(Last::IsKilled),
            _ => None,
        };
        let clean = |case: &&Case| case.name == if disturbed.is_some() { "clean" } else { name };
        let case = wanted.cases.iter().find(clean).context("no such line")?;
        // Both are on the same lines at the same time.
        let (alone, with) = match disturbed {
            None => ((2, Last::Plays), (wanted.members, Last::Plays)),
            Some(last) => ((wanted.members, Last::Plays), (wanted.members, last)),
        };
        let seen = together(wanted, case, &wanted.folder.join(name), [alone, with])
            .with_context(|| format!("{name}: see the logs in the folder of this run"))?;
        let [first, second] = &seen.groups;
        let bars = match disturbed {
            None => later(first, second),
            Some(_) => unchanged(first, second),
        };
        let names = if disturbed.is_some() { ["all well", "the others"] } else { ["duet", "band"] };
        for (group, (who, bars)) in seen.groups.iter().zip(names.into_iter().zip([Bars::default(), bars])) {
            for pair in group.pairs.iter().chain(std::iter::once(&group.all())) {
                let verdict = if pair.name.is_empty() { bars.verdict("held") } else { String::new() };
                let cpu = if pair.name.is_empty() { format!("{:.0}", group.processor) } else { String::new() };
                let text = pair.row(&format!("{name} | {who} {}", pair.name), &cpu, seen.machine_late, &verdict);
                report.row(text, name, !pair.name.is_empty() || bars.0.is_empty());
            }
        }
    }
    report.end(wanted.folder, "the band did not hold in")
}

/// Checks that no pair is later than the duet in the same direction of the line.
fn later(duet: &Seen, band: &Seen) -> Bars {
    band.pairs.iter().fold(Bars::default(), |bars, pair| {
        let Some(of_duet) = duet.pairs.iter().find(|other| other.is_there == pair.is_there) else { return bars };
        (0..3).fold(bars, |bars, at| {
            let what = format!("{} later by p{}", pair.name, [50, 95, 99][at]);
            bars.at_most(&what, pair.latency[at] - of_duet.latency[at], LATER_MAX)
        })
    })
}

/// Checks that the pairs of the others have what they have where all is well.
fn unchanged(well: &Seen, others: &Seen) -> Bars {
    others.pairs.iter().fold(Bars::default(), |bars, pair| {
        let Some(of_well) = well.pairs.iter().find(|other| other.name == pair.name) else { return bars };
        let later = pair.latency[1] - of_well.latency[1];
        let mut bars = bars.at_most(&format!("{} later by p95", pair.name), later, LATER_MAX);
        let lost = of_well.psnr - pair.psnr;
        bars.expect(lost <= LOST_MAX || lost.is_nan(), format!("{} lost {lost:.2} dB", pair.name));
        bars
    })
}

/// One of a pair's sides, as the other sees it.
#[derive(Clone, Debug, Default)]
struct Pair {
    name: String,
    /// True for pictures that go there, not back.
    is_there: bool,
    shown: usize,
    latencies: Vec<f64>,
    latency: [f64; 3],
    gap_p99: f64,
    gap_most: f64,
    psnr: f64,
}

impl Pair {
    fn row(&self, who: &str, processor: &str, late: Option<f64>, verdict: &str) -> String {
        let [p50, p95, p99] = self.latency;
        let late = late.map_or_else(|| "?".to_owned(), |late| format!("{late:.0}"));
        format!(
            "| {who} | {} | {p50:.1}, {p95:.1}, {p99:.1} | {:.0}, {:.0} | {:.2} | {processor} | {late} | {verdict} |",
            self.shown, self.gap_p99, self.gap_most, self.psnr
        )
    }
}

/// The figures of one group.
#[derive(Default)]
struct Seen {
    pairs: Vec<Pair>,
    processor: f64,
}

impl Seen {
    /// Returns all pairs as one, which has no name.
    fn all(&self) -> Pair {
        let latencies: Vec<f64> = self.pairs.iter().flat_map(|pair| pair.latencies.iter().copied()).collect();
        let most = |of: fn(&Pair) -> f64| self.pairs.iter().map(of).fold(0.0, f64::max);
        Pair {
            name: String::new(),
            is_there: true,
            shown: self.pairs.iter().map(|pair| pair.shown).sum(),
            latency: [0.5, 0.95, 0.99].map(|share| percentile(&latencies, share)),
            gap_p99: most(|pair| pair.gap_p99),
            gap_most: most(|pair| pair.gap_most),
            psnr: self.pairs.iter().map(|pair| pair.psnr).sum::<f64>() / self.pairs.len() as f64,
            latencies,
        }
    }
}

/// The figures of both groups at once.
struct Together {
    groups: [Seen; 2],
    machine_late: Option<f64>,
}

/// Lets both groups play for the length that is asked for.
fn together(wanted: &BandOptions<'_>, case: &Case, folder: &Path, groups: [(usize, Last); 2]) -> Result<Together> {
    let mut playing = Vec::new();
    for (number, (members, last)) in groups.into_iter().enumerate() {
        let folder = folder.join(format!("group{number}"));
        playing.push(Group::begin(wanted, &folder, number as u8 * 4, members, last)?);
    }
    let until = Instant::now() + PATIENCE;
    while !playing.iter().all(Group::sees_all) {
        playing.iter_mut().try_for_each(Group::check)?;
        if Instant::now() > until {
            bail!("not everybody saw everybody within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(SETTLING);
    let (began, began_unix) = (Instant::now(), unix_time()?);
    let watch = Watch::start(folder)?;
    playing.iter().for_each(|group| group.line(case, wanted.seed));
    playing.iter_mut().for_each(Group::count);
    while began.elapsed() < wanted.length {
        std::thread::sleep(LOOK);
        playing.iter_mut().try_for_each(|group| group.go_on(wanted, began.elapsed()))?;
    }
    let stalls = watch.map(|watch| watch.end(began_unix, began_unix + wanted.length)).transpose()?;
    let seen = |group: Group| group.end(began, began_unix, wanted.length);
    let mut playing = playing.into_iter();
    let (Some(first), Some(second)) = (playing.next(), playing.next()) else { bail!("two groups play") };
    let groups = [seen(first)?, seen(second)?];
    Ok(Together {
        groups,
        machine_late: stalls.map(|stalls| stalls.late.iter().map(|late| late.1).fold(0.0, f64::max)),
    })
}

/// One who plays.
struct Member {
    home: Home,
    daemon: Option<Daemon>,
    /// Pictures of each other that are compared.
    quality: Vec<(usize, Quality)>,
    before: Duration,
}

/// Machines that call each other.
struct Group {
    members: Vec<Member>,
    /// Relays, each with the two that it joins.
    relays: Vec<(usize, usize, Relay)>,
    bed: Testbed,
    last: Last,
    deaths: u32,
}

impl Group {
    /// Starts all; `first`: number of the first one's home.
    fn begin(wanted: &BandOptions<'_>, folder: &Path, first: u8, count: usize, last: Last) -> Result<Self> {
        let bed = Testbed::new(wanted.programs, folder)?;
        let mut members = Vec::new();
        for number in 0..count {
            let home = Home::new(first + number as u8)?;
            members.push(Member { home, daemon: None, quality: vec![], before: Duration::ZERO });
        }
        let mut relays = Vec::new();
        for low in 0..count {
            for high in low + 1..count {
                let target = SocketAddr::from((members[high].home.far, PORT + low as u16));
                let relay = Relay::start((members[low].home.near, 0).into(), target, Duration::from_millis(25))?;
                relays.push((low, high, relay));
            }
        }
        let mut group = Self { members, relays, bed, last, deaths: 0 };
        for number in (0..count).rev() {
            group.start(wanted, number)?;
        }
        Ok(group)
    }

    fn others(&self, number: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.members.len()).filter(move |other| *other != number)
    }

    /// Returns true if this one is not measured.
    fn is_apart(&self, number: usize) -> bool {
        self.last != Last::Plays && number + 1 == self.members.len()
    }

    fn start(&mut self, wanted: &BandOptions<'_>, number: usize) -> Result<()> {
        let name = NAMES[number];
        let file = |what: &str| self.bed.file(&format!("{name}{what}"));
        let mut config = format!(
            "[expert]\nopen_port = false\nhouse = false\nstun = []\npictures = \"{}\"\n[sound]\ncard = \"none\"\n",
            file(".shown").display()
        );
        for other in self.others(number) {
            let of_both = (number.min(other), number.max(other));
            let relay = self.relays.iter().find(|relay| (relay.0, relay.1) == of_both);
            let (.., relay) = relay.context("each two have a relay")?;
            // The one with the lower number is in front of it.
            let address = match number < other {
                true => relay.address(),
                false => (self.members[number].home.near, relay.back_port()).into(),
            };
            config += &format!(
                "[[peer]]\nname = \"{}\"\npublic_key = \"{}\"\nport = {}\naddresses = [\"{address}\"]\n",
                NAMES[other],
                self.bed.key(NAMES[other])?,
                PORT + other as u16
            );
        }
        std::fs::write(file(".toml"), config)?;
        let program = self.members[number].home.command(&self.bed.path("sender"));
        let mut command = self.bed.with_key(program, name)?;
        command.arg("call").args(self.others(number).map(|other| NAMES[other])).arg("--config").arg(file(".toml"));
        command.args(["--backend", "cpu", "--source", wanted.source, "--rate", wanted.rate, "--sink", "headless"]);
        command.arg("--stats").arg(file(".jsonl"));
        let mut quality = vec![];
        if let Some(original) = wanted.original.as_ref().filter(|_| !self.is_apart(number)) {
            command.arg("--sink").arg(format!("y4m:{}", file(".y4m").display()));
            for other in self.others(number) {
                let watched = Quality::new(Arc::clone(original));
                watched.watch(&self.of(number, other, "y4m"))?;
                quality.push((other, watched));
            }
        }
        let log = file(&format!("{}.log", self.deaths));
        let member = &mut self.members[number];
        member.daemon = Some(Daemon::start(name, &mut command, &log)?);
        member.quality = quality;
        Ok(())
    }

    /// Returns the file of one about another, as a band names it; a duet has no need to.
    fn of(&self, number: usize, other: usize, kind: &str) -> PathBuf {
        let whose = if self.members.len() > 2 { format!("-{}", NAMES[other]) } else { String::new() };
        self.bed.file(&format!("{}{whose}.{kind}", NAMES[number]))
    }

    /// Returns all who see and whom, of those that are measured.
    fn sides(&self) -> Vec<(usize, usize)> {
        let measured = (0..self.members.len()).filter(|&number| !self.is_apart(number));
        let all = measured.flat_map(|number| self.others(number).map(move |other| (number, other)));
        all.filter(|side| !self.is_apart(side.1)).collect()
    }

    fn sees_all(&self) -> bool {
        let shown = |(number, other): (usize, usize)| {
            std::fs::read_to_string(self.of(number, other, "shown")).unwrap_or_default().lines().count()
        };
        self.sides().into_iter().all(|side| shown(side) > 10)
    }

    fn check(&mut self) -> Result<()> {
        self.members.iter_mut().filter_map(|member| member.daemon.as_mut()).try_for_each(Daemon::check)
    }

    /// Begins the line of `case` between all, with the same fates.
    fn line(&self, case: &Case, seed: u64) {
        for (_, high, relay) in &self.relays {
            let [mut there, mut back] = [case.there.clone(), case.back.clone()];
            if self.last == Last::IsNarrow && self.is_apart(*high) {
                let path = NetConditions::perfect(Duration::from_millis(25));
                let narrow = path.limited(Bitrate::from_bps(NARROW_BPS), Duration::from_millis(500));
                [there, back] = [Scenario::from(narrow), Scenario::from(narrow)];
            }
            relay.begin(there.with_seed(seed), back.with_seed(seed ^ 0x5eed));
        }
    }

    /// Lets processor time count from here.
    fn count(&mut self) {
        for member in &mut self.members {
            member.before = member.daemon.as_ref().map(Daemon::time).unwrap_or_default();
        }
    }

    fn go_on(&mut self, wanted: &BandOptions<'_>, now: Duration) -> Result<()> {
        self.check()?;
        let last = self.members.len() - 1;
        if self.last != Last::IsKilled {
            return Ok(());
        }
        if now >= KILLED_EVERY * (self.deaths + 1) && self.members[last].daemon.is_some() {
            self.deaths += 1;
            return self.members[last].daemon.take().map_or(Ok(()), Daemon::kill);
        }
        if self.members[last].daemon.is_none() && now >= KILLED_EVERY * self.deaths + AWAY {
            self.start(wanted, last)?;
        }
        Ok(())
    }

    /// Ends all, and returns what was seen since `began`.
    fn end(mut self, began: Instant, began_unix: Duration, length: Duration) -> Result<Seen> {
        let length_ms = length.as_secs_f64() * 1e3;
        let measured: Vec<_> = (0..self.members.len()).filter(|&number| !self.is_apart(number)).collect();
        let took = measured.iter().map(|&number| {
            let member = &self.members[number];
            member.daemon.as_ref().map(Daemon::time).unwrap_or_default().saturating_sub(member.before)
        });
        let took: Duration = took.sum();
        let mut seen = Seen { pairs: vec![], processor: 1e2 * took.div_duration_f64(length) / measured.len() as f64 };
        for (number, other) in self.sides() {
            let mut pictures = logs::pictures(&self.of(number, other, "shown"), began_unix)?;
            pictures.retain(|picture| (0.0..length_ms).contains(&picture.at));
            let latencies: Vec<f64> = pictures.iter().filter_map(|picture| picture.latency).collect();
            let quality = self.members[number].quality.iter().find(|quality| quality.0 == other);
            let samples = quality.map(|quality| quality.1.since(began)).unwrap_or_default();
            let within: Vec<f64> =
                samples.iter().filter(|sample| sample.0 < length_ms).map(|sample| sample.1).collect();
            seen.pairs.push(Pair {
                name: format!("{} sees {}", NAMES[number], NAMES[other]),
                is_there: other < number,
                shown: pictures.len(),
                latency: [0.5, 0.95, 0.99].map(|share| percentile(&latencies, share)),
                latencies,
                gap_p99: percentile(&logs::gaps(&pictures, 0.0, length_ms), 0.99),
                gap_most: longest_gap(&pictures, 0.0, length_ms),
                psnr: within.iter().sum::<f64>() / within.len() as f64,
            });
        }
        for member in &mut self.members {
            // A call ends for all with the first who ends it.
            member.daemon.take().map_or(Ok(()), Daemon::kill)?;
        }
        Ok(seen)
    }
}
