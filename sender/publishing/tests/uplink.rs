//! An audience beside a call on one uplink, in virtual time: the call keeps its rate, and its audience gives way as soon as the line is less.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use common::netsim::linked::Linked;
use common::netsim::{Bottleneck, HEADERS_BYTES, NetConditions, Network, Scenario};
use common::units::{Bitrate, FrameId, Timestamp};
use picture::frame::{Chroma, ColourSpace, FrameSize};
use picture::params::StreamParams;
use publishing::{Allowance, BASE_BPS, Call, MAIN_BPS, Part, SOUND_BPS};

const STEP: Duration = Duration::from_millis(1);
const FRAME_STEPS: u64 = 33;
/// Bytes of a packet of the audience.
const MAX_DATAGRAM: usize = 1_200;
/// Steps between two looks of the publisher.
const LOOK_STEPS: u64 = 10;
/// The rate that the call is asked for.
const WANTED: u64 = 20_000_000;
const START: Timestamp = Timestamp::from_us(1_000_000);

/// A packet of the call, or so many bytes of the audience's.
#[derive(Clone)]
enum Packet {
    Call(Vec<u8>),
    Audience(Vec<u8>),
}

impl AsRef<[u8]> for Packet {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Call(bytes) | Self::Audience(bytes) => bytes,
        }
    }
}

/// Outcome of a call and its audience.
#[derive(Debug)]
struct Outcome {
    /// Of the call in the last half.
    mbit: f64,
    delay_p95_ms: f64,
    /// Each change of what the audience gets, with its time in ms.
    parts: Vec<(u64, Part)>,
}

fn params() -> StreamParams {
    StreamParams { colour: ColourSpace::JPEG, ..StreamParams::new(FrameSize::new(200, 120).unwrap(), Chroma::C420) }
}

fn line(bps: u64) -> NetConditions {
    let rate = Bitrate::from_bps(bps);
    let queue = Duration::from_millis(300);
    let bottleneck = Some(Bottleneck { rate, queue, overhead_bytes: HEADERS_BYTES });
    NetConditions { bottleneck, ..NetConditions::perfect(Duration::from_millis(15)) }
}

/// Bits a second of the audience's packets, whose own transport knows nothing of the call.
fn bps(part: Part) -> u64 {
    let sound = u64::from(SOUND_BPS);
    match part {
        Part::Nothing => 0,
        Part::Sound => sound,
        Part::Base => sound + BASE_BPS,
        Part::Main => sound + BASE_BPS + MAIN_BPS,
    }
}

/// Calls for so many seconds over an uplink that changes, with an audience or without.
fn run(uplink: Scenario, has_audience: bool, seconds: u64) -> Outcome {
    let back = NetConditions::perfect(Duration::from_millis(15));
    let mut pair = Linked::new(params(), Bitrate::from_bps(WANTED), back, START);
    let mut there: Network<Packet> = Network::new(uplink, START);
    let mut allowance = Allowance::new(BASE_BPS, MAIN_BPS, 1_700_000);
    let (mut part, mut owed) = (Part::Nothing, 0);
    let (mut parts, mut delays_ms, mut bytes) = (vec![(0, part)], Vec::new(), 0);
    let steps = 1_000 * seconds;
    for step in 0..steps {
        let (now, is_told) = (START + STEP * step as u32, step > steps / 2);
        while let Some(packet) = there.pop(now) {
            if let Packet::Call(datagram) = packet {
                bytes += if is_told { datagram.len() } else { 0 };
                pair.on_datagram(&datagram, now);
            }
        }
        pair.listen(now);
        if step % FRAME_STEPS == 0 {
            pair.send(FrameId((step / FRAME_STEPS) as u32), pair.sender.budget_bytes(), now);
        }
        let (shown, leaving) = pair.turn(now);
        let shown_ms = shown.iter().map(|it| it.released.since(it.assembled.capture).as_secs_f64() * 1e3);
        delays_ms.extend(shown_ms.filter(|_| is_told));
        if has_audience && step % LOOK_STEPS == 0 {
            let (rate, wanted) = (pair.sender.rate_target(), Bitrate::from_bps(WANTED));
            part = allowance.look(Some(Call { rate, wanted, is_slow: false }), now);
            if parts.last().is_none_or(|(_, last)| *last != part) {
                parts.push((step, part));
            }
            // What the coders have made meanwhile leaves at once.
            owed += bps(part) / 8 * LOOK_STEPS / 1_000;
            while owed >= MAX_DATAGRAM as u64 {
                owed -= MAX_DATAGRAM as u64;
                there.push(Packet::Audience(vec![0; MAX_DATAGRAM]), now);
            }
        }
        leaving.into_iter().for_each(|datagram| there.push(Packet::Call(datagram), now));
    }
    delays_ms.sort_by(f64::total_cmp);
    let delay_p95_ms = delays_ms.get(delays_ms.len() * 95 / 100).copied().unwrap_or(f64::MAX);
    Outcome { mbit: 8.0 * bytes as f64 / (seconds as f64 / 2.0) / 1e6, delay_p95_ms, parts }
}

#[test]
fn a_call_on_two_megabits_keeps_its_rate_beside_its_audience() {
    for seed in 0..4 {
        let uplink = || Scenario::from(line(2_000_000)).with_seed(seed);
        let (alone, beside) = (run(uplink(), false, 30), run(uplink(), true, 30));
        let told = format!("seed {seed}: {alone:?} {beside:?}");
        assert!(alone.mbit > 1.2, "{told}");
        assert!(beside.mbit > 0.9 * alone.mbit && beside.delay_p95_ms < alone.delay_p95_ms + 10.0, "{told}");
        assert!(beside.parts.iter().any(|(_, part)| *part == Part::Sound), "the audience hears it: {told}");
        assert!(beside.parts.iter().all(|(_, part)| *part <= Part::Base), "{told}");
    }
}

/// Of a fast line that becomes a slow one, the pictures of the audience have gone 100 ms later.
#[test]
fn the_audience_gives_way_as_soon_as_the_line_is_less() {
    for seed in 0..4 {
        let fall = Duration::from_secs(20);
        let uplink = Scenario::table(&[(Duration::ZERO, line(30_000_000)), (fall, line(2_000_000))]).with_seed(seed);
        let outcome = run(uplink, true, 24);
        let fell = outcome.parts.iter().find(|(at, part)| *at > 20_000 && *part <= Part::Sound);
        let before = outcome.parts.iter().rfind(|(at, _)| *at <= 20_000);
        assert!(before.is_some_and(|(_, part)| *part == Part::Main), "seed {seed}: {outcome:?}");
        assert!(fell.is_some_and(|(at, _)| *at <= 20_100), "seed {seed}: {outcome:?}");
    }
}
