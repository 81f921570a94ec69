//! The pairs of a band on bad lines, in virtual time: each is as good as a duet on the same line, though one coding serves several.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use common::netsim::linked::Linked;
use common::netsim::{NetConditions, Network, Pauses, Scenario};
use common::path::uplink::Uplink;
use common::stream::video::ArrivedFrame;
use common::stream::video::band::{Band, MemberLine, Seat};
use common::stream::video::prediction::{Held, REPLAYS_MAX, ReceiverId, Receivers, SentFrame};
use common::units::{Bitrate, FrameId, Timestamp};
use common::wire::states::{Fate, StatesReport};
use picture::coded::BlockState;
use picture::frame::{Chroma, ColourSpace, FrameSize};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, StreamParams};
use picture::pyramid::BlockLayout;
use picture::replay::Replay;

const STEP: Duration = Duration::from_millis(1);
const FRAME_STEPS: u64 = 33;
const SECONDS: u64 = 24;
const START: Timestamp = Timestamp::from_us(1_000_000);
/// Rates that leave a machine in all: a few packets a frame, and many.
const RATES: [Bitrate; 2] = [Bitrate::from_bps(3_000_000), Bitrate::from_bps(12_000_000)];
/// Gap that a line which loses may have in any case, ms: a frame is lost whole. The laboratory's bar is three intervals.
const GAP_MS: f64 = 2.0 * FRAME_STEPS as f64;
/// States that both ends keep.
const STATES: u8 = 15;
/// By which a pair of a band may be worse than a duet, ms.
const WORSE_MS: f64 = 5.0;
/// Percent of the duet's bytes that a pair has at least: frames for all have what the least of them may have.
const BYTES_LEAST_PERCENT: usize = 80;
/// Steps from one moment in which a line bears little to the next, and of the moment.
const DIPS_EVERY: u64 = 3_000;
const DIP: u64 = 150;
/// Steps for which the dead is away, and after which that is known.
const AWAY: u64 = 1_000;
const NOTICED: u64 = 300;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The lines of the laboratory's T1, T4 and T21.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Clean,
    Lossy,
    Narrow,
    Radio,
}

impl Line {
    /// Returns the ways there and back.
    fn ways(self, seed: u64) -> [Scenario; 2] {
        let far = NetConditions::perfect(ms(25));
        let ways = match self {
            Self::Clean => [far.into(), far.into()],
            Self::Lossy => [(); 2].map(|()| Scenario::from(NetConditions { loss: 0.05, ..far })),
            Self::Narrow => {
                let line = |bps| NetConditions::perfect(ms(10)).limited(Bitrate::from_bps(bps), ms(500));
                let steps = [(ms(0), line(50_000_000)), (ms(8_000), line(5_000_000)), (ms(16_000), line(50_000_000))];
                [Scenario::table(&steps), NetConditions::perfect(ms(10)).into()]
            }
            Self::Radio => {
                let pauses = || Pauses::random(seed, ms(2_000), ms(1_000 * SECONDS), ms(1_000), ms(40), ms(150));
                let way = || Scenario::from(far);
                [way().paused(Pauses::NONE, pauses()), way().paused(pauses(), Pauses::NONE)]
            }
        };
        let [there, back] = ways;
        [there.with_seed(2 * seed), back.with_seed(2 * seed + 1)]
    }
}

/// A frame, and the state that it was coded from.
#[derive(Clone, Copy, Debug)]
struct Sent {
    id: FrameId,
    age: u8,
    from: Option<u64>,
    blocks: usize,
}

impl SentFrame for Sent {
    fn block_count(&self) -> usize {
        self.blocks
    }
}

/// Decodes to a number that tells all that a state was made of.
struct Decoder;

impl Replay<Sent, u64> for Decoder {
    type Error = Infallible;

    fn replay(&mut self, frame: &Sent, gaps: &Gaps, reference: Option<&u64>) -> Result<u64, Infallible> {
        let mut hasher = DefaultHasher::new();
        (frame.id.0, gaps, reference).hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn hash(&self, state: &u64) -> u32 {
        *state as u32
    }
}

/// Figures of one of those who watch.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    p99_ms: f64,
    gap_ms: f64,
    shown: usize,
    /// Without a missing coarse block.
    coarse: usize,
    /// Sent, and predicted of these.
    sent: u32,
    predicted: u32,
    /// Sum of the ages of references, frames.
    ages: u32,
    /// Bytes that its frames may have had.
    bytes: usize,
    /// Decoded from another state than they were coded from, or not at all.
    astray: u32,
}

/// Ways of the last receiver to be a nuisance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nuisance {
    None,
    /// Its program dies each so many steps, and is back after a second.
    Dies(u64),
    /// Its hashes are wrong.
    Lies,
    /// It says that it has used nothing.
    Denies,
    /// Its line bears little for a moment, again and again, as beside sound that takes more of it.
    Dips,
}

struct Peer {
    pair: Linked,
    there: Network<Vec<u8>>,
    /// The frames on their way.
    under_way: VecDeque<Sent>,
    held: Held<u64>,
    delays_ms: Vec<f64>,
    last: Option<Timestamp>,
    was_open: bool,
    nuisance: Nuisance,
    seen: Seen,
}

impl Peer {
    fn new(params: StreamParams, line: Line, seed: u64, rate: Bitrate, now: Timestamp) -> Self {
        let [there, back] = line.ways(seed);
        Self {
            pair: Linked::new(params, rate, back, now),
            there: Network::new(there, now),
            under_way: VecDeque::new(),
            held: Held::new(STATES),
            delays_ms: vec![],
            last: None,
            was_open: false,
            nuisance: Nuisance::None,
            seen: Seen::default(),
        }
    }

    /// Decodes a frame and reports it, as the receiving half does.
    fn take(&mut self, mut frame: ArrivedFrame, coarse_blocks: usize) {
        let arrived = &mut frame.assembled.frame;
        let is_coarse = (0..coarse_blocks).all(|block| arrived.block(block) != BlockState::Missing);
        let (seen, id) = (&mut self.seen, frame.assembled.id);
        seen.coarse += usize::from(is_coarse);
        self.delays_ms.push(frame.released.since(frame.assembled.capture).as_secs_f64() * 1e3);
        let gap_ms = self.last.map_or(0.0, |last| frame.released.since(last).as_secs_f64() * 1e3);
        (seen.gap_ms, self.last) = (seen.gap_ms.max(gap_ms), Some(frame.released));
        self.under_way.retain(|sent| !id.is_newer_than(sent.id));
        let Some(sent) = self.under_way.front().filter(|sent| sent.id == id) else { return };
        let reference = self.held.reference(id, sent.age).copied();
        let is_right = reference == sent.from;
        seen.astray += u32::from(!is_right);
        if sent.age > 0 && reference.is_none() {
            self.held.on_lacking(id);
        } else if sent.age == 0 && !is_coarse {
            self.held.on_not_used(id);
        } else {
            let gaps = Gaps::of(arrived);
            let Ok(state) = Decoder.replay(sent, &gaps, reference.as_ref());
            self.held.on_used(id, gaps, state, Some(state as u32));
        }
        let Some(report) = self.held.report() else { return };
        let report = match self.nuisance {
            Nuisance::None | Nuisance::Dies(_) | Nuisance::Dips => report,
            Nuisance::Lies => StatesReport { hash: report.hash.map(|(back, hash)| (back, !hash)), ..report },
            Nuisance::Denies => StatesReport { fates: vec![Fate::NotUsed; report.fates.len()], hash: None, ..report },
        };
        self.pair.report(&report);
    }
}

/// One machine of a band sends to others, each on a line of its own seed.
fn run(line: Line, seeds: &[u64], rate: Bitrate, nuisance: Nuisance) -> Vec<Seen> {
    let size = FrameSize::new(200, 120).unwrap();
    let codec = CodecParams { profile: Profile::Predicted(STATES), ..CodecParams::default() };
    let params = StreamParams { colour: ColourSpace::JPEG, codec, ..StreamParams::new(size, Chroma::C420) };
    let layout = BlockLayout::new(&params);
    let peer = |seed: u64, now| Peer::new(params, line, seed, rate, now);
    let mut peers: Vec<_> = seeds.iter().map(|&seed| peer(seed, START)).collect();
    peers.last_mut().unwrap().nuisance = nuisance;
    let mut band = Band::new(peers.len());
    let mut receivers = Receivers::new(STATES, STEP * FRAME_STEPS as u32, None);
    for step in 0..1_000 * SECONDS {
        let now = START + STEP * step as u32;
        let dead_for = match nuisance {
            Nuisance::Dies(every) if step >= every => Some(step % every),
            _ => None,
        };
        if dead_for == Some(AWAY) {
            *peers.last_mut().unwrap() = Peer { nuisance, ..peer(seeds[seeds.len() - 1], now) };
        }
        if nuisance == Nuisance::Dips {
            let bears =
                if step % DIPS_EVERY >= DIPS_EVERY - DIP { Bitrate::from_bps(rate.as_bps() / 20) } else { rate };
            peers.last_mut().unwrap().pair.sender.set_rate_max(bears);
        }
        let dead_for = dead_for.filter(|&steps| steps < AWAY);
        let living = peers.len() - usize::from(dead_for.is_some());
        for peer in &mut peers[..living] {
            while let Some(datagram) = peer.there.pop(now) {
                peer.pair.on_datagram(&datagram, now);
            }
            peer.pair.listen(now);
        }
        if step % FRAME_STEPS == 0 {
            // That it is dead is not known at once.
            let known = if dead_for.is_some_and(|steps| steps >= NOTICED) { living } else { peers.len() };
            send((&mut peers, known), &mut band, &mut receivers, layout.blocks().len(), now);
        }
        for (peer, id) in peers[..living].iter_mut().zip((0..).map(ReceiverId)) {
            let (shown, leaving) = peer.pair.turn(now);
            leaving.into_iter().for_each(|datagram| peer.there.push(datagram, now));
            shown.into_iter().for_each(|frame| peer.take(frame, layout.coarse_blocks()));
            for report in peer.pair.take_told() {
                receivers.on_report(id, report, now);
            }
        }
    }
    let seen = peers.into_iter().map(|mut peer| {
        peer.delays_ms.sort_by(f64::total_cmp);
        let shown = peer.delays_ms.len();
        let p99_ms = peer.delays_ms.get(shown * 99 / 100).copied().unwrap_or(f64::MAX);
        Seen { p99_ms, shown, ..peer.seen }
    });
    seen.collect()
}

/// Codes a picture for all who want one, those whose places are below `known`, and hands it to their links.
fn send(
    (peers, known): (&mut [Peer], usize),
    band: &mut Band,
    receivers: &mut Receivers<Sent, u64>,
    blocks: usize,
    now: Timestamp,
) {
    let mut lines = vec![];
    for (at, peer) in peers.iter_mut().enumerate() {
        let id = ReceiverId(at as u32);
        let is_open = at < known && peer.pair.sender.is_streaming();
        if !std::mem::replace(&mut peer.was_open, is_open) && is_open {
            band.on_restart(at, now);
            receivers.leave(id);
        }
        let hindrance = receivers.hindrance(id, now).unwrap_or_default();
        lines.push(is_open.then(|| MemberLine { budget_bytes: peer.pair.sender.budget_bytes(), hindrance }));
    }
    let before: Vec<_> = (0..peers.len()).map(|at| band.seat(at)).collect();
    let for_all = band.choose(&lines, false, now);
    for (at, before) in before.into_iter().enumerate() {
        match (before == Seat::Together, band.seat(at) == Seat::Together) {
            (false, true) => receivers.join(ReceiverId(at as u32)),
            (true, false) => receivers.leave(ReceiverId(at as u32)),
            _ => {}
        }
    }
    // Of some frames the picture waits.
    let at_once = if now.as_us().is_multiple_of(2) { 0 } else { REPLAYS_MAX };
    let Ok(reference) = receivers.next(now, at_once, &mut Decoder);
    let (age, from) = reference.map_or((0, None), |(age, state)| (age, Some(state)));
    let sent = Sent { id: receivers.next_frame(), age, from, blocks };
    receivers.on_coded(age, &sent, now);
    let Ok(state) = Decoder.replay(&sent, &Gaps::default(), from.as_ref());
    receivers.on_state(sent.id, &state);
    for (at, peer) in peers.iter_mut().enumerate() {
        let (sent, bytes) = match (band.seat(at), for_all) {
            (Seat::Together, Some(bytes)) => (sent, bytes),
            (Seat::Apart, _) => (Sent { age: 0, from: None, ..sent }, peer.pair.sender.budget_bytes()),
            _ => continue,
        };
        peer.under_way.push_back(sent);
        let seen = &mut peer.seen;
        (seen.sent, seen.predicted) = (seen.sent + 1, seen.predicted + u32::from(sent.age > 0));
        (seen.ages, seen.bytes) = (seen.ages + u32::from(sent.age), seen.bytes + bytes);
        peer.pair.send(sent.id, bytes, now);
    }
}

/// Three and four machines call each other, each pair on a line of its own; the duet has the same line and the same share of the rate.
/// `age_most`: mean age of the references of a pair's frames.
fn check(line: Line, age_most: f64) {
    for (machines, rate) in [(3, RATES[0]), (3, RATES[1]), (4, RATES[1])] {
        let share = Uplink::even(rate, machines - 1);
        for sender in 0..machines as u64 {
            let others: Vec<_> = (0..machines as u64).filter(|&other| other != sender).collect();
            let seeds: Vec<_> = others.iter().map(|other| 100 * machines as u64 + 10 * sender + other).collect();
            for (seed, pair) in seeds.iter().zip(run(line, &seeds, share, Nuisance::None)) {
                let duet = &run(line, &[*seed], share, Nuisance::None)[0];
                let told = format!("{line:?}, {machines} machines, seed {seed}: {pair:?} beside {duet:?}");
                assert!(duet.shown > 600 && duet.predicted > 600, "{told}");
                assert!(
                    pair.p99_ms <= duet.p99_ms + WORSE_MS && pair.gap_ms <= duet.gap_ms.max(GAP_MS) + WORSE_MS,
                    "{told}"
                );
                assert!(pair.shown + 6 >= duet.shown && pair.coarse + 6 >= duet.coarse, "{told}");
                // As much picture: bits, and frames that are predicted.
                assert!(100 * pair.bytes >= BYTES_LEAST_PERCENT * duet.bytes, "{told}");
                let age = f64::from(pair.ages) / f64::from(pair.predicted);
                assert!(pair.predicted + 20 >= duet.predicted && age <= age_most, "{age:.2}: {told}");
            }
        }
    }
}

#[test]
fn pairs_on_clean_lines_are_duets_with_a_part_of_the_rate() {
    check(Line::Clean, 1.0);
}

#[test]
fn pairs_on_lossy_lines_are_as_good_as_duets() {
    check(Line::Lossy, 3.0);
}

#[test]
fn pairs_on_lines_that_become_narrow_are_as_good_as_duets() {
    check(Line::Narrow, 1.5);
}

#[test]
fn pairs_on_radio_that_pauses_are_as_good_as_duets() {
    check(Line::Radio, 1.6);
}

/// A frame that is coded alone costs the others most.
#[test]
fn one_who_dies_again_and_again_or_lies_costs_the_others_no_frame_that_is_coded_alone() {
    for (line, nuisance) in [
        (Line::Clean, Nuisance::Dies(5_000)),
        (Line::Clean, Nuisance::Dies(7_000)),
        (Line::Clean, Nuisance::Lies),
        (Line::Clean, Nuisance::Denies),
        (Line::Lossy, Nuisance::Dies(5_000)),
        (Line::Lossy, Nuisance::Lies),
    ] {
        let [well, with] = [Nuisance::None, nuisance].map(|nuisance| run(line, &[1, 2, 3], RATES[0], nuisance));
        for (well, with) in well.iter().zip(&with).take(2) {
            let told = format!("{line:?}, {nuisance:?}: {with:?} beside {well:?}");
            assert!(well.predicted > 700 && with.predicted >= well.predicted, "{told}");
            assert!(with.ages < well.ages + 60 && with.shown + 2 >= well.shown, "{told}");
        }
    }
}

#[test]
fn a_line_that_bears_little_for_a_moment_puts_nobody_apart() {
    // On a line that loses much as well, what all hold may be too old once in a moment.
    for (line, alone_most) in [(Line::Clean, 0), (Line::Lossy, 1_000 * SECONDS as u32 / DIPS_EVERY as u32)] {
        let [well, with] = [Nuisance::None, Nuisance::Dips].map(|nuisance| run(line, &[1, 2, 3], RATES[0], nuisance));
        for (well, with) in well.iter().zip(&with) {
            let told = format!("{line:?}: {with:?} beside {well:?}");
            assert!(well.predicted > 700 && with.predicted + alone_most >= well.predicted, "{told}");
            assert!(with.ages < well.ages + 240 && with.shown + 6 >= well.shown, "{told}");
            assert!(100 * with.bytes >= BYTES_LEAST_PERCENT * well.bytes, "{told}");
        }
    }
}
