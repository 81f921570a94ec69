//! Worth of parity: frames lost, torn and whole on lossy networks, with and without it, as a Markdown table.
//!
//! `make protection` runs it. The frames are 720p60 at 20 Mbit/s with bytes spread over the bands as in a camera
//! picture; their datagrams are spread over three quarters of the frame interval. With parity the picture is smaller by
//! as much, so that both send the same number of bytes. The protection knows the loss, as after some seconds of
//! feedback.
#![allow(clippy::unwrap_used, reason = "constants that are right")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the time that protection takes is measured")]

use std::time::{Duration, Instant};

use common::netsim::{Bursts, NetConditions, Network, Random, Scenario};
use common::path::LossEstimate;
use common::stream::video::packetise::{Packet, packetise};
use common::stream::video::protection::{Protection, Protector};
use common::stream::video::reassemble::{AssembledFrame, Reassembler};
use common::units::{FrameId, SequenceNumber, Timestamp};
use common::wire::media::{Envelope, MediaHeader};
use picture::coded::{BlockState, CodedFrame, FrameHeader, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

const FRAMES: u32 = 10_000;
/// Of a frame at 20 Mbit/s.
const GROSS_BYTES: usize = 20_000_000 / 60 / 8;
const OVERHEAD: usize = 60;
const MAX_DATAGRAM: usize = 1_150;
const SEED: u64 = 1;

fn params() -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(60, 1).unwrap(),
        colour: ColourSpace::JPEG,
        ..StreamParams::new(FrameSize::new(1_280, 720).unwrap(), Chroma::C420)
    }
}

/// Returns a frame of `bytes` bytes; the coarser a band, the more bytes a block of it has.
fn make_frame(layout: &BlockLayout, bytes: usize) -> CodedFrame {
    let weight = |level: usize| 1 << level.min(6);
    let total: usize = layout.blocks().iter().map(|block| weight(block.level)).sum();
    let mut random = Random::new(SEED);
    let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 0 };
    let mut frame = CodedFrame { reference: 0, header, ends: vec![], data: vec![] };
    for block in layout.blocks() {
        frame.data.extend((0..bytes * weight(block.level) / total).map(|_| random.bits() as u8));
        frame.ends.push(frame.data.len() as u32);
    }
    frame
}

#[derive(Default)]
struct Tally {
    whole: u32,
    /// At most blocks of the finest bands are missing.
    but_finest: u32,
    coarse_missing: u32,
    coarse_missing_after_repair: u32,
    lost: u32,
    parity_share: f64,
    recovered: u64,
    /// Time that a frame takes, median.
    protecting: Duration,
    reassembling: Duration,
}

fn run(gross: usize, frames: u32, conditions: NetConditions, loss: LossEstimate, protection: Protection) -> Tally {
    let (params, layout) = (params(), BlockLayout::new(&params()));
    let interval = params.frame_rate.interval();
    let protector = Protector::new(protection, &layout);
    let packets = |frame: &CodedFrame| packetise(frame, layout.coarse_blocks(), MAX_DATAGRAM);
    // Coded bytes that leave room for headers and parity.
    let (mut coded, mut frame) = (gross, make_frame(&layout, gross));
    for _ in 0..20 {
        let protected = protector.protect(packets(&frame), 0, loss, usize::MAX, usize::MAX, OVERHEAD);
        let sent: usize = protected.packets.iter().map(|packet| packet.bytes() + OVERHEAD).sum();
        coded = coded * gross / sent;
        frame = make_frame(&layout, coded);
    }
    let mut tally = Tally::default();
    let (mut protecting, mut reassembling) = (vec![], vec![]);
    let mut network = Network::new(Scenario::from(conditions).with_seed(SEED), Timestamp::default());
    let mut reassembler = Reassembler::new(&params, FrameId(0), Timestamp::default());
    for id in 0..frames {
        let start = Timestamp::default() + interval * id;
        let packets = packets(&frame);
        let is_coarse = |packet: &&Packet| packet.begins_before(layout.coarse_blocks());
        let coarse: Vec<_> =
            packets.iter().filter(is_coarse).map(|packet| datagram(packet, &frame, FrameId(id))).collect();
        let began = Instant::now();
        let protected = protector.protect(packets, 0, loss, gross, usize::MAX, OVERHEAD);
        protecting.push(began.elapsed());
        tally.parity_share += protected.parity_wanted as f64 / gross as f64 / f64::from(frames);
        let count = protected.packets.len() as u32;
        for (place, packet) in (0..).zip(protected.packets) {
            network.push(datagram(&packet, &frame, FrameId(id)), start + interval * 3 / 4 * place / count);
        }
        let end = start + interval;
        reassembling.push(Duration::ZERO);
        while let Some(datagram) = network.pop(end) {
            let began = Instant::now();
            reassembler.on_datagram(&datagram, end);
            reassembling[id as usize] += began.elapsed();
        }
        let tears_coarse = |frame: &AssembledFrame| first_missing(frame).is_some_and(|at| at < layout.coarse_blocks());
        if reassembler.pending().any(tears_coarse) {
            tally.coarse_missing += 1;
            // What repair by request could bring: they are sent once more and may be lost once more.
            coarse.into_iter().for_each(|datagram| network.push(datagram, end));
            while let Some(datagram) = network.pop(end) {
                reassembler.on_datagram(&datagram, end);
            }
            tally.coarse_missing_after_repair += u32::from(reassembler.pending().any(tears_coarse));
        }
        let arrived = reassembler.poll_frame().or_else(|| reassembler.release(FrameId(id)));
        tally.count(arrived.as_ref(), &layout);
    }
    tally.recovered = reassembler.take_recovered().datagrams;
    [tally.protecting, tally.reassembling] = [protecting, reassembling].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    tally
}

fn datagram(packet: &Packet, frame: &CodedFrame, id: FrameId) -> Vec<u8> {
    let header = MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(0),
            capture: Timestamp::from_us(0),
            sent_offset_us: 0,
        },
        frame: id,
        steps: frame.header,
        reference: 0,
        is_last: false,
        place: packet.place,
        content: packet.content,
    };
    header.datagram(&packet.payload)
}

impl Tally {
    fn count(&mut self, arrived: Option<&AssembledFrame>, layout: &BlockLayout) {
        let Some(arrived) = arrived else {
            self.lost += 1;
            return;
        };
        match first_missing(arrived) {
            None => self.whole += 1,
            Some(at) if at >= layout.finest_start() => self.but_finest += 1,
            Some(_) => {}
        }
    }
}

/// Returns the first block that is missing.
fn first_missing(frame: &AssembledFrame) -> Option<usize> {
    (0..frame.frame.block_count()).find(|&at| frame.frame.block(at) == BlockState::Missing)
}

fn main() {
    let random = [0.01, 0.02, 0.05, 0.1].map(|share| (share, 1.0));
    let bursts = [(0.01, 3.0), (0.01, 8.0), (0.05, 3.0), (0.05, 8.0)];
    println!("{FRAMES} frames of {GROSS_BYTES} bytes, seed {SEED}; shares in %\n");
    println!(
        "| loss | burst | parity | parity of bytes | whole | whole but for the finest | coarse missing | after repair | lost | rebuilt |"
    );
    println!("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    for (share, mean_length) in random.into_iter().chain(bursts) {
        let mut conditions = NetConditions::perfect(Duration::ZERO);
        if mean_length > 1.0 {
            conditions.bursts = Some(Bursts { average: share, mean_length });
        } else {
            conditions.loss = share;
        }
        for protection in [Protection::Off, Protection::Auto] {
            let loss = LossEstimate { share, burst_mean: mean_length };
            let tally = run(GROSS_BYTES, FRAMES, conditions, loss, protection);
            let percent = |count: u32| 100.0 * f64::from(count) / f64::from(FRAMES);
            println!(
                "| {:.0} | {mean_length} | {protection:?} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
                100.0 * share,
                100.0 * tally.parity_share,
                percent(tally.whole),
                percent(tally.whole + tally.but_finest),
                percent(tally.coarse_missing),
                percent(tally.coarse_missing_after_repair),
                percent(tally.lost),
                tally.recovered,
            );
        }
    }

    println!("\nAt 5 % loss and lower rates: parity and what is whole\n");
    println!("| rate, Mbit/s | parity of bytes | whole | whole but for the finest | coarse missing |");
    println!("|---:|---:|---:|---:|---:|");
    for rate in [1, 2, 4, 8, 20] {
        let conditions = NetConditions { loss: 0.05, ..NetConditions::perfect(Duration::ZERO) };
        let loss = LossEstimate { share: 0.05, burst_mean: 1.0 };
        let tally = run(rate * 1_000_000 / 60 / 8, FRAMES, conditions, loss, Protection::Auto);
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(FRAMES);
        println!(
            "| {rate} | {:.1} | {:.2} | {:.2} | {:.2} |",
            100.0 * tally.parity_share,
            percent(tally.whole),
            percent(tally.whole + tally.but_finest),
            percent(tally.coarse_missing),
        );
    }

    println!("\nTime of a 720p60 frame at 5 % loss, us (median of 300)\n");
    println!("| rate, Mbit/s | parity | packets to datagrams | datagrams to frame |\n|---:|---|---:|---:|");
    for (mbits, protection) in
        [(20, Protection::Off), (20, Protection::Auto), (200, Protection::Off), (200, Protection::Auto)]
    {
        let conditions = NetConditions { loss: 0.05, ..NetConditions::perfect(Duration::ZERO) };
        let loss = LossEstimate { share: 0.05, burst_mean: 1.0 };
        let tally = run(mbits * 1_000_000 / 60 / 8, 300, conditions, loss, protection);
        let us = |time: Duration| time.as_nanos() as f64 / 1e3;
        println!("| {mbits} | {protection:?} | {:.0} | {:.0} |", us(tally.protecting), us(tally.reassembling));
    }
}
