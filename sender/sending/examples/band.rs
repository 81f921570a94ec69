//! One coding for several receivers: what it costs the processor, and what one that is slow, killed again and again or lies costs the
//! pictures of the others. Time is that of the frames alone.

use std::collections::VecDeque;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use common::stream::video::band::{Band, MemberLine, Seat};
use common::stream::video::prediction::{Held, ReceiverId};
use common::units::{FrameId, Timestamp};
use common::wire::states::{Fate, StatesReport};
use kernels::{BackendChoice, Decoder, Effort, Picture, State, Target};
use picture::coded::{CodedFrame, ReceivedFrame};
use picture::frame::{Chroma, ColourSpace, FrameSize, PixelFormat};
use picture::gaps::Gaps;
use picture::params::{CodecParams, Profile, StreamParams};
use sending::predict::{PEER, StreamEncoder, Told};
use sending::source::pattern::Pattern;

/// States that both ends keep, half a second at 30 frames a second.
const STATES: u8 = 15;
/// Frames from one to the report of it.
const DELAY: u64 = 3;
/// Frames from one death of a receiver to the next, and for which it is away.
const KILLED_EVERY: u64 = 150;
const AWAY: u64 = 30;
/// Blocks that are missing where some are.
const LOST_BLOCKS: usize = 5;

/// Codes a pattern for one, two and three receivers.
#[derive(Debug, Parser)]
struct Arguments {
    /// Width and height of pictures
    #[arg(long, default_values_t = [640, 360], num_args = 2)]
    size: Vec<u32>,
    /// Frames of each row
    #[arg(long, default_value_t = 450)]
    frames: u64,
    /// Bytes of a frame
    #[arg(long, default_value_t = 6_000)]
    bytes: usize,
    /// Bytes of a frame that the slow receiver's line bears
    #[arg(long, default_value_t = 2_000)]
    slow_bytes: usize,
    /// Predict only where the programs do, frames of few bits
    #[arg(long)]
    auto: bool,
    /// Percent of frames of which each receiver lacks some blocks
    #[arg(long, default_value_t = 0)]
    gaps: u64,
    /// Of three receivers, only the row whose last one is so
    #[arg(long)]
    last: Option<Nuisance>,
}

/// The last receiver's ways to be a nuisance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Nuisance {
    None,
    Slow,
    Killed,
    /// Its hashes are wrong.
    Lies,
    /// It says that it got nothing.
    Denies,
}

/// A receiver; all that are together decode the same, so that one decodes for all.
struct Peer {
    decoder: Decoder,
    held: Held<State>,
    reports: VecDeque<(u64, StatesReport)>,
    error: f64,
    pictures: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!(
        "| receivers | the last one | coding | processor, ms a picture | PSNR-Y of the first, dB | predicted, % |"
    );
    println!("|---|---|---|---|---|---|");
    for (peers, nuisance, each) in [
        (1, Nuisance::None, false),
        (2, Nuisance::None, false),
        (3, Nuisance::None, false),
        (3, Nuisance::None, true),
        (3, Nuisance::Slow, false),
        (3, Nuisance::Killed, false),
        (3, Nuisance::Lies, false),
        (3, Nuisance::Denies, false),
    ] {
        if arguments.last.is_some_and(|last| (peers, nuisance, each) != (3, last, false)) {
            continue;
        }
        let (ms, psnr, predicted) = run(&arguments, peers, nuisance, each)?;
        let coding = if each { "one each" } else { "one for all" };
        println!("| {peers} | {nuisance:?} | {coding} | {ms:.1} | {psnr:.2} | {predicted:.0} |");
    }
    Ok(())
}

fn run(arguments: &Arguments, count: usize, nuisance: Nuisance, each: bool) -> Result<(f64, f64, f64)> {
    let codec = CodecParams { profile: Profile::Predicted(STATES), ..CodecParams::default() };
    let size = FrameSize::new(arguments.size[0], arguments.size[1])?;
    let params = StreamParams { colour: ColourSpace::JPEG, codec, ..StreamParams::new(size, Chroma::C420) };
    let pattern = Pattern::new(params.size, params.frame_rate);
    let encoders = if each { count } else { 1 };
    let open = |_| {
        let encoder = StreamEncoder::open(&params, BackendChoice::Cpu)?;
        let mut encoder = if arguments.auto { encoder.only_where_worth_it() } else { encoder };
        encoder.set_effort(Effort::Low);
        if !each {
            encoder.leave(PEER);
        }
        Ok(encoder)
    };
    let mut encoders = (0..encoders).map(open).collect::<Result<Vec<_>>>()?;
    let peer = |_| {
        let decoder = Decoder::open(&params, BackendChoice::Cpu)?;
        let (held, reports, error, pictures) = (Held::new(STATES), VecDeque::new(), 0.0, 0);
        Ok(Peer { decoder, held, reports, error, pictures })
    };
    let mut peers = (0..count).map(peer).collect::<Result<Vec<_>>>()?;
    let (mut band, mut data, mut spent) = (Band::new(count), Vec::new(), 0);
    let last = count - 1;
    (0..count).for_each(|at| band.on_restart(at, Timestamp::from_us(1)));
    for number in 0..arguments.frames {
        let now = Timestamp::from_us(1 + number * 1_000_000 / 30);
        data.clear();
        pattern.draw(number as u32, 0, &mut data);
        let is_away = nuisance == Nuisance::Killed && number % KILLED_EVERY >= KILLED_EVERY - AWAY;
        if nuisance == Nuisance::Killed && number > 0 && number % KILLED_EVERY == 0 {
            peers[last] = peer(last)?;
            band.on_restart(last, now);
            encoders[0].leave(ReceiverId(last as u32));
        }
        for (at, peer) in peers.iter_mut().enumerate() {
            while let Some((_, report)) = peer.reports.pop_front_if(|(due, _)| *due <= number) {
                match each {
                    true => encoders[at].on_told(Told::Report(report, now)),
                    false => encoders[0].on_told_of(ReceiverId(at as u32), Told::Report(report, now)),
                }
            }
        }
        let began = processor_ns()?;
        let mut frames: Vec<Option<(FrameId, std::sync::Arc<CodedFrame>)>> = vec![None; count];
        if each {
            for (encoder, frame) in encoders.iter_mut().zip(&mut frames) {
                let coded =
                    encoder.code_owned((PixelFormat::I420, data.clone()), Target::Bytes(arguments.bytes), now)?;
                *frame = coded.map(|coded| (coded.id, coded.frame));
                while encoder.prepare(now)? {}
            }
        } else {
            let encoder = &mut encoders[0];
            let line = |at: usize| {
                // A connection that has died is noticed after a moment.
                let is_gone = at == last && is_away && number % KILLED_EVERY >= KILLED_EVERY - AWAY + 9;
                let is_slow = at == last && nuisance == Nuisance::Slow;
                let budget_bytes = if is_slow { arguments.slow_bytes } else { arguments.bytes };
                let hindrance = encoder.hindrance(ReceiverId(at as u32), now).unwrap_or_default();
                (!is_gone).then_some(MemberLine { budget_bytes, hindrance })
            };
            let lines: Vec<_> = (0..count).map(line).collect();
            let before: Vec<_> = (0..count).map(|at| band.seat(at)).collect();
            let budget = band.choose(&lines, !encoder.predicts(), now).unwrap_or(arguments.bytes);
            for (at, &before) in before.iter().enumerate() {
                match (before == Seat::Together, band.seat(at) == Seat::Together) {
                    (false, true) => encoder.join(ReceiverId(at as u32)),
                    (true, false) => encoder.leave(ReceiverId(at as u32)),
                    _ => {}
                }
            }
            let coded = encoder.code_owned((PixelFormat::I420, data.clone()), Target::Bytes(budget), now)?;
            let coded = coded.map(|coded| (coded.id, coded.frame));
            for at in 0..count {
                frames[at] = match (band.seat(at), &coded) {
                    (Seat::Together, coded) => coded.clone(),
                    (Seat::Apart, Some((id, _))) => {
                        let bytes = lines[at].map_or(arguments.bytes, |line| line.budget_bytes);
                        let apart = encoder.code_apart((PixelFormat::I420, data.clone()), Target::Bytes(bytes))?;
                        apart.map(|(frame, _)| (*id, frame))
                    }
                    _ => None,
                };
            }
            while encoder.prepare(now)? {}
        }
        spent += processor_ns()? - began;
        for (at, frame) in frames.into_iter().enumerate() {
            let Some((id, frame)) = frame.filter(|_| !(at == last && is_away)) else { continue };
            // Coarse blocks of a frame alone come through.
            let chance = (frame.reference > 0).then(|| scramble(number * 64 + at as u64));
            let lost = chance.filter(|chance| chance % 100 < arguments.gaps);
            let report = peers[at].take(&params, id, (&frame, lost), &data)?;
            let report = match (at == last, nuisance) {
                (true, Nuisance::Lies) => StatesReport { hash: Some((0, 7)), ..report },
                (true, Nuisance::Denies) => {
                    let fates = report.fates.iter().map(|_| Fate::NotUsed).collect();
                    StatesReport { fates, hash: None, ..report }
                }
                _ => report,
            };
            peers[at].reports.push_back((number + DELAY, report));
        }
    }
    let psnr = 10.0 * (255.0 * 255.0 * peers[0].pictures as f64 / peers[0].error).log10();
    let counters = encoders[0].counters();
    let predicted = 100.0 * counters.predicted as f64 / counters.frames.max(1) as f64;
    Ok((spent as f64 / 1e6 / arguments.frames as f64, psnr, predicted))
}

impl Peer {
    /// Decodes a frame; returns the report of it.
    fn take(
        &mut self,
        params: &StreamParams,
        id: FrameId,
        (frame, lost): (&CodedFrame, Option<u64>),
        original: &[u8],
    ) -> Result<StatesReport> {
        let mut received = ReceivedFrame::from(frame);
        if let Some(lost) = lost {
            let start = (lost / 100) as usize % received.block_count();
            received.forget(start..(start + LOST_BLOCKS).min(received.block_count()));
        }
        let (gaps, reference) = (Gaps::of(&mut received), self.held.reference(id, frame.reference));
        let mut out = Picture::decoded_from(params);
        let state = self.decoder.decode(&received, reference, &mut out)?;
        let pixels = params.size.pixels();
        let squares: f64 =
            original[..pixels].iter().zip(&out.data()[..pixels]).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
        self.error += squares / pixels as f64;
        self.pictures += 1;
        self.held.on_used(id, gaps, state, Some(out.hash()));
        self.held.report().ok_or_else(|| anyhow::anyhow!("nothing to report"))
    }
}

/// Returns what looks like chance.
fn scramble(number: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

/// Returns the processor time of all threads of this process, ns.
fn processor_ns() -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}
