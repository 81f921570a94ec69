//! A band beside a duet: `sender call` of three or four machines pairwise over relays, and one of two over a relay of its own with the same
//! line and the rate of one pair, at once. Also a band of which one has a narrow line, or is killed again and again, beside one that is left alone.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::netsim::{NetConditions, Scenario};
use common::path::uplink::Uplink;
use common::units::Bitrate;

use crate::bars::{Bars, Report, check_names};
use crate::daemons::Daemon;
use crate::logs::{self, Picture, longest_gap, percentile};
use crate::machine::namespaces::Home;
use crate::machine::stalls::Watch;
use crate::quality::{Original, Quality};
use crate::relay::Relay;
use crate::scenario::case::Case;
use crate::scenario::sound::{Heard, Server};
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

/// By how much a pair may be later than the duet, ms, and how much less picture it may have, dB: its frames are predicted from what all hold.
const LATER_MAX: f64 = 5.0;
/// Parts of a run in each of which a pair is compared with the duet, on which the same befalls the same line.
const PARTS: usize = 6;
/// Gaps a minute that a pair's sound may have more than the duet's, and the part of the duet's that may come on top.
const GAPS_MAX: f64 = 2.0;
const GAPS_PART: f64 = 0.1;
const LESS_MAX: f64 = 1.0;
/// Picture that one who is a nuisance may cost the others, dB.
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
    /// True: their own sound, from and to a JACK server without a card.
    pub(crate) sound: bool,
    pub(crate) original: Option<Arc<Original>>,
}

/// The players of a group.
#[derive(Clone, Copy, Debug)]
struct Cast {
    members: usize,
    last: Last,
    /// Leaves each machine in all.
    rate: Bitrate,
}

/// Runs all lines that are asked for.
pub(crate) fn run(wanted: &BandOptions<'_>) -> Result<()> {
    let known = wanted.cases.iter().map(|case| case.name).chain(["narrow", "killed"]);
    check_names("line", wanted.names, known)?;
    let usual = ["T1", "T4", "T21", "narrow", "killed"].map(str::to_owned);
    let names = if wanted.names.is_empty() { &usual[..] } else { wanted.names };
    let rate: Bitrate = wanted.rate.parse().context("--rate")?;
    println!("{}, {}, {} s each, seed {}\n", wanted.source, wanted.rate, wanted.length.as_secs(), wanted.seed);
    println!(
        "| line | who | pictures | latency p50, p95, p99, ms | gap p99, longest, ms | PSNR-Y, dB | sound: added, ms; gaps, concealed a minute | processor, % each | machine late, ms | bars |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
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
        let well = Cast { members: wanted.members, last: Last::Plays, rate };
        let (alone, with) = match disturbed {
            None => (Cast { members: 2, rate: Uplink::even(rate, wanted.members - 1), ..well }, well),
            Some(last) => (well, Cast { last, ..well }),
        };
        let seen = together(wanted, case, &wanted.folder.join(name), [alone, with])
            .with_context(|| format!("{name}: see the logs in the folder of this run"))?;
        let [first, second] = &seen.groups;
        let bars = match disturbed {
            None => as_good(first, second),
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

/// Checks that no pair is later than the duet in the same direction of the line, nor has less picture.
fn as_good(duet: &Seen, band: &Seen) -> Bars {
    band.pairs.iter().fold(Bars::default(), |bars, pair| {
        let Some(of_duet) = duet.pairs.iter().find(|other| other.is_there == pair.is_there) else { return bars };
        let mut bars = [0.5, 0.95, 0.99].into_iter().fold(bars, |bars, share| {
            let (later, doubt) = later(of_duet, pair, share);
            let what = format!("{} later by p{:.0}, with {doubt:.1} of doubt,", pair.name, 1e2 * share);
            bars.at_most(&what, later - doubt.min(LATER_MAX), LATER_MAX)
        });
        let less = of_duet.psnr - pair.psnr;
        bars.expect(less <= LESS_MAX || less.is_nan(), format!("{} has {less:.2} dB less", pair.name));
        heard_as_well(of_duet, pair, bars)
    })
}

/// Returns by how much a pair is later than another: the mean of the differences in each part of the run, and twice its standard error. The
/// longest pauses of a line decide the last percents, and the moments of the pictures in them, which differ from camera to camera.
fn later(than: &Pair, pair: &Pair, share: f64) -> (f64, f64) {
    let of = |pair: &Pair| pair.parts().map(|latencies| percentile(&latencies, share));
    let differences: Vec<_> = of(pair).into_iter().zip(of(than)).map(|(one, other)| one - other).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    (mean, 2.0 * (squares / (count - 1.0) / count).sqrt())
}

/// Checks that a pair's sound is as good as another's, where there is sound.
fn heard_as_well(than: &Pair, pair: &Pair, bars: Bars) -> Bars {
    let Some((than, heard)) = than.heard.zip(pair.heard) else { return bars };
    let bars = bars.at_most(&format!("sound: {} later", pair.name), heard.added[0] - than.added[0], LATER_MAX);
    bars.at_most(&format!("sound: {}, more gaps", pair.name), heard.gaps - than.gaps, GAPS_MAX + GAPS_PART * than.gaps)
}

/// Checks that the pairs of the others have what they have where all is well.
fn unchanged(well: &Seen, others: &Seen) -> Bars {
    others.pairs.iter().fold(Bars::default(), |bars, pair| {
        let Some(of_well) = well.pairs.iter().find(|other| other.name == pair.name) else { return bars };
        let later = pair.latency[1] - of_well.latency[1];
        let mut bars = bars.at_most(&format!("{} later by p95", pair.name), later, LATER_MAX);
        let lost = of_well.psnr - pair.psnr;
        bars.expect(lost <= LOST_MAX || lost.is_nan(), format!("{} lost {lost:.2} dB", pair.name));
        heard_as_well(of_well, pair, bars)
    })
}

/// One of a pair's sides, as the other sees it.
#[derive(Clone, Debug, Default)]
struct Pair {
    name: String,
    /// True for pictures that go there, not back.
    is_there: bool,
    shown: usize,
    /// Of each picture the part of the run in which it was shown, and its latency.
    latencies: Vec<(usize, f64)>,
    latency: [f64; 3],
    gap_p99: f64,
    gap_most: f64,
    psnr: f64,
    heard: Option<Heard>,
}

impl Pair {
    /// Returns the latencies of each part of the run.
    fn parts(&self) -> [Vec<f64>; PARTS] {
        std::array::from_fn(|part| self.latencies.iter().filter(|it| it.0 == part).map(|it| it.1).collect())
    }

    fn row(&self, who: &str, processor: &str, late: Option<f64>, verdict: &str) -> String {
        let [p50, p95, p99] = self.latency;
        let late = late.map_or_else(|| "?".to_owned(), |late| format!("{late:.0}"));
        let heard = self.heard.map_or_else(String::new, |heard| {
            format!("{:.1}; {:.1}, {:.1}", heard.added[0], heard.gaps, heard.concealed)
        });
        format!(
            "| {who} | {} | {p50:.1}, {p95:.1}, {p99:.1} | {:.0}, {:.0} | {:.2} | {heard} | {processor} | {late} | {verdict} |",
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
        let latencies: Vec<_> = self.pairs.iter().flat_map(|pair| pair.latencies.iter().copied()).collect();
        let most = |of: fn(&Pair) -> f64| self.pairs.iter().map(of).fold(0.0, f64::max);
        Pair {
            name: String::new(),
            is_there: true,
            shown: self.pairs.iter().map(|pair| pair.shown).sum(),
            latency: quantiles(&latencies),
            heard: None,
            gap_p99: most(|pair| pair.gap_p99),
            gap_most: most(|pair| pair.gap_most),
            psnr: self.pairs.iter().map(|pair| pair.psnr).sum::<f64>() / self.pairs.len() as f64,
            latencies,
        }
    }
}

/// Returns the median and the two that are most of all.
fn quantiles(latencies: &[(usize, f64)]) -> [f64; 3] {
    let latencies: Vec<_> = latencies.iter().map(|it| it.1).collect();
    [0.5, 0.95, 0.99].map(|share| percentile(&latencies, share))
}

/// The figures of both groups at once.
struct Together {
    groups: [Seen; 2],
    machine_late: Option<f64>,
}

/// Lets both groups play for the length that is asked for.
fn together(wanted: &BandOptions<'_>, case: &Case, folder: &Path, groups: [Cast; 2]) -> Result<Together> {
    std::fs::create_dir_all(folder)?;
    let server = wanted.sound.then(|| Server::start(folder)).transpose()?.map(Rc::new);
    let mut playing = Vec::new();
    for (number, cast) in groups.into_iter().enumerate() {
        let folder = folder.join(format!("group{number}"));
        playing.push(Group::begin(wanted, &folder, number as u8 * 4, cast, server.clone())?);
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
    cast: Cast,
    deaths: u32,
    /// All hear and play through one, as through a card.
    server: Option<Rc<Server>>,
}

impl Group {
    /// Starts all; `first`: number of the first one's home.
    fn begin(
        wanted: &BandOptions<'_>,
        folder: &Path,
        first: u8,
        cast: Cast,
        server: Option<Rc<Server>>,
    ) -> Result<Self> {
        let count = cast.members;
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
        let mut group = Self { members, relays, bed, cast, deaths: 0, server };
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
        self.cast.last != Last::Plays && number + 1 == self.members.len()
    }

    fn start(&mut self, wanted: &BandOptions<'_>, number: usize) -> Result<()> {
        let name = NAMES[number];
        let file = |what: &str| self.bed.file(&format!("{name}{what}"));
        let mut config = format!(
            "[expert]\nopen_port = false\nhouse = false\nstun = []\npictures = \"{}\"\n",
            file(".shown").display()
        );
        if self.server.is_none() {
            config += "[sound]\ncard = \"none\"\n";
        }
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
        command.args(["--backend", "cpu", "--source", wanted.source, "--sink", "headless"]);
        if let Some(server) = &self.server {
            server.join(&mut command);
        }
        command.arg("--rate").arg(self.cast.rate.as_bps().to_string());
        command.arg("--stats").arg(file(".jsonl"));
        let mut quality = vec![];
        if let Some(original) = wanted.original.as_ref().filter(|_| !self.is_apart(number)) {
            command.arg("--sink").arg(format!("y4m:{}", file(".y4m").display()));
            for other in self.others(number) {
                let watched = Quality::new(Arc::clone(original));
                watched.watch(&self.of(number, other, ".y4m"))?;
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
    fn of(&self, number: usize, other: usize, end: &str) -> PathBuf {
        let whose = if self.members.len() > 2 { format!("-{}", NAMES[other]) } else { String::new() };
        self.bed.file(&format!("{}{whose}{end}", NAMES[number]))
    }

    /// Returns all who see and whom, of those that are measured.
    fn sides(&self) -> Vec<(usize, usize)> {
        let measured = (0..self.members.len()).filter(|&number| !self.is_apart(number));
        let all = measured.flat_map(|number| self.others(number).map(move |other| (number, other)));
        all.filter(|side| !self.is_apart(side.1)).collect()
    }

    fn sees_all(&self) -> bool {
        let shown = |(number, other): (usize, usize)| {
            std::fs::read_to_string(self.of(number, other, ".shown")).unwrap_or_default().lines().count()
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
            if self.cast.last == Last::IsNarrow && self.is_apart(*high) {
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
        if self.cast.last != Last::IsKilled {
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
            let mut pictures = logs::pictures(&self.of(number, other, ".shown"), began_unix)?;
            pictures.retain(|picture| (0.0..length_ms).contains(&picture.at));
            let part = |picture: &Picture| ((picture.at / length_ms * PARTS as f64) as usize, picture.latency);
            let latencies: Vec<_> = pictures.iter().map(part).filter_map(|(part, it)| Some((part, it?))).collect();
            let quality = self.members[number].quality.iter().find(|quality| quality.0 == other);
            let samples = quality.map(|quality| quality.1.since(began)).unwrap_or_default();
            let within: Vec<f64> =
                samples.iter().filter(|sample| sample.0 < length_ms).map(|sample| sample.1).collect();
            let stats = std::fs::read_to_string(self.of(number, other, "-received.jsonl")).unwrap_or_default();
            seen.pairs.push(Pair {
                name: format!("{} sees {}", NAMES[number], NAMES[other]),
                is_there: other < number,
                shown: pictures.len(),
                latency: quantiles(&latencies),
                latencies,
                heard: self.server.as_ref().map(|_| Heard::of(&stats, began_unix)),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair whose latency is the same in each part but for what is added there.
    fn pair(added: [f64; PARTS]) -> Pair {
        let part = |(part, added)| (0..100).map(move |picture| (part, 30.0 + f64::from(picture) + added));
        Pair { latencies: added.into_iter().enumerate().flat_map(part).collect(), ..Pair::default() }
    }

    #[test]
    fn what_differs_from_part_to_part_is_doubt_and_what_does_not_is_not() {
        let duet = pair([0.0, 50.0, 0.0, 20.0, 0.0, 0.0]);
        let (by, doubt) = later(&duet, &pair([8.0, 58.0, 8.0, 28.0, 8.0, 8.0]), 0.99);
        assert_eq!((by, doubt), (8.0, 0.0));
        let (by, doubt) = later(&duet, &pair([18.0, 48.0, 18.0, 18.0, 18.0, -2.0]), 0.5);
        assert!((by - 8.0).abs() < 1e-9 && (8.0..10.0).contains(&doubt), "{by} {doubt}");
        assert!(later(&duet, &Pair::default(), 0.5).0.is_nan());
    }

    #[test]
    fn a_pair_that_is_later_or_has_less_than_the_duet_does_not_hold() {
        let seen = |pair: Pair| Seen { pairs: vec![pair], processor: 0.0 };
        let duet = || seen(Pair { psnr: 40.0, ..pair([0.0; PARTS]) });
        let of = |added: f64, psnr| as_good(&duet(), &seen(Pair { psnr, ..pair([added; PARTS]) })).0.len();
        assert_eq!((of(4.9, 39.1), of(5.1, 39.1), of(4.9, 38.9)), (0, 3, 1));
        assert_eq!(of(-9.0, f64::NAN), 0, "pictures were not compared");
    }
}
