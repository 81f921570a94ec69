//! Several paths from one machine through one uplink, in virtual time: each has a rate control of its own, and sees the others' queue.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use common::netsim::linked::Linked;
use common::netsim::{Bottleneck, HEADERS_BYTES, NetConditions, Network};
use common::path::uplink::Uplink;
use common::units::{Bitrate, FrameId, Timestamp};
use picture::frame::{Chroma, ColourSpace, FrameSize};
use picture::params::StreamParams;

const STEP: Duration = Duration::from_millis(1);
const FRAME_STEPS: u64 = 33;
/// Steps between two divisions of the uplink.
const SHARE_STEPS: u64 = 250;

fn params() -> StreamParams {
    StreamParams { colour: ColourSpace::JPEG, ..StreamParams::new(FrameSize::new(200, 120).unwrap(), Chroma::C420) }
}

struct Peer {
    pair: Linked,
    /// The way behind the uplink.
    behind: Network,
    delays_ms: Vec<f64>,
    shown_bytes: usize,
}

/// A machine that sends to several over an uplink of a rate; what each way bears behind it. Returns for each peer the Mbit/s that arrive
/// in the second half, and the 95th percentile of the time from a frame's code to its release, ms.
fn run(uplink_bps: u64, all_bps: u64, ways_bps: &[u64], divides: bool, seconds: u64) -> Vec<(f64, f64)> {
    let line = |bps| NetConditions {
        bottleneck: Some(Bottleneck {
            rate: Bitrate::from_bps(bps),
            queue: Duration::from_millis(300),
            overhead_bytes: HEADERS_BYTES,
        }),
        ..NetConditions::perfect(Duration::from_millis(10))
    };
    let start = Timestamp::from_us(1_000_000);
    let all = Bitrate::from_bps(all_bps);
    let mut shares = Uplink::new(ways_bps.len());
    let most = if divides { Uplink::even(all, ways_bps.len()) } else { all };
    let mut shared: Network<Tagged> = Network::new(line(uplink_bps), start);
    let peer = |&bps: &u64| {
        let pair = Linked::new(params(), most, NetConditions::perfect(Duration::from_millis(20)), start);
        Peer { pair, behind: Network::new(line(bps), start), delays_ms: Vec::new(), shown_bytes: 0 }
    };
    let mut peers: Vec<_> = ways_bps.iter().map(peer).collect();
    let steps = 1_000 * seconds;
    for step in 0..steps {
        let now = start + STEP * step as u32;
        while let Some(Tagged(place, datagram)) = shared.pop(now) {
            peers[place].behind.push(datagram, now);
        }
        for (place, peer) in peers.iter_mut().enumerate() {
            while let Some(datagram) = peer.behind.pop(now) {
                peer.pair.on_datagram(&datagram, now);
            }
            peer.pair.listen(now);
            let sender = &mut peer.pair.sender;
            if divides && step % SHARE_STEPS == 0 {
                let target = sender.is_streaming().then(|| sender.rate_target());
                sender.set_rate_max(shares.share(place, target, all));
            }
            // Their frames are coded one after the other.
            if step % FRAME_STEPS == 4 * place as u64 {
                let bytes = sender.budget_bytes();
                peer.pair.send(FrameId((step / FRAME_STEPS) as u32), bytes, now);
            }
            let (shown, leaving) = peer.pair.turn(now);
            let delays_ms = shown.iter().map(|it| it.released.since(it.assembled.capture).as_secs_f64() * 1e3);
            peer.delays_ms.extend(delays_ms.filter(|_| step > steps / 2));
            for datagram in leaving {
                peer.shown_bytes += if step > steps / 2 { datagram.len() } else { 0 };
                shared.push(Tagged(place, datagram), now);
            }
        }
    }
    let figures = peers.iter_mut().map(|peer| {
        peer.delays_ms.sort_by(f64::total_cmp);
        let at = peer.delays_ms.len() * 95 / 100;
        (
            8.0 * peer.shown_bytes as f64 / (seconds as f64 / 2.0) / 1e6,
            peer.delays_ms.get(at).copied().unwrap_or(f64::MAX),
        )
    });
    figures.collect()
}

/// A datagram and its peer's place.
#[derive(Clone)]
struct Tagged(usize, Vec<u8>);

impl AsRef<[u8]> for Tagged {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

/// Two that want more than the uplink has share it without a queue that anybody would see, and neither starves.
#[test]
fn two_rate_controls_on_one_uplink_see_each_others_queue_and_share_it() {
    let alone = run(6_000_000, 20_000_000, &[100_000_000], true, 12);
    let figures = run(6_000_000, 20_000_000, &[100_000_000; 2], true, 12);
    let sum: f64 = figures.iter().map(|(mbit, _)| mbit).sum();
    assert!((3.6..6.1).contains(&sum), "{figures:?}, alone {alone:?}");
    for (mbit, delay) in &figures {
        assert!(*mbit > 0.25 * sum && *delay < alone[0].1 + 60.0, "{figures:?}, alone {alone:?}");
    }
}

/// The least that anybody says may leave is not exceeded, and the others take what a narrow way does not bear.
#[test]
fn a_narrow_way_leaves_its_part_to_the_others() {
    let figures = run(50_000_000, 9_000_000, &[100_000_000, 500_000, 100_000_000], true, 12);
    let undivided = run(50_000_000, 9_000_000, &[100_000_000, 500_000, 100_000_000], false, 12);
    let [first, narrow, last] = figures[..] else { panic!("{figures:?}") };
    assert!((3.4..4.4).contains(&first.0) && (3.4..4.4).contains(&last.0), "{figures:?}, {undivided:?}");
    assert!((0.2..0.55).contains(&narrow.0), "{figures:?}");
    assert!(first.1 < 60.0 && last.1 < 60.0, "{figures:?}");
    let sum: f64 = undivided.iter().map(|(mbit, _)| mbit).sum();
    assert!(sum > 12.0, "each takes all where nobody divides: {undivided:?}");
}
