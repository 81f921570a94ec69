use picture::coded::{BlockState, CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, ColourSpace, FrameRate, FrameSize};
use picture::params::StreamParams;
use picture::pyramid::BlockLayout;

use super::recovery::KEPT_BYTES_MAX;
use super::*;
use crate::netsim::Random;
use crate::path::LossEstimate;
use crate::stream::video::packetise::{Packet, packetise};
use crate::stream::video::reassemble::{DatagramOutcome, Reassembler};
use crate::units::{FrameId, SequenceNumber, Timestamp};
use crate::wire::media::{Envelope, MediaHeader, ShardPlace};

const OVERHEAD: usize = 60;
const MAX_DATAGRAM: usize = 1_200;

fn params() -> StreamParams {
    StreamParams {
        frame_rate: FrameRate::new(50, 1).unwrap(),
        colour: ColourSpace::JPEG,
        ..StreamParams::new(FrameSize::new(640, 360).unwrap(), Chroma::C420)
    }
}

fn layout() -> BlockLayout {
    BlockLayout::new(&params())
}

/// Returns blocks of 0 to 199 bytes.
fn frame() -> CodedFrame {
    let mut random = Random::new(3);
    let header = FrameHeader { step: StepIndex::MIN, fine_blocks: 2 };
    let mut frame = CodedFrame { reference: 0, header, ends: vec![], data: vec![] };
    for _ in layout().blocks() {
        frame.data.extend((0..random.below(200)).map(|_| random.bits() as u8));
        frame.ends.push(frame.data.len() as u32);
    }
    frame
}

fn packets() -> Vec<Packet> {
    let max = MAX_DATAGRAM - PARITY_EXTRA_BYTES;
    packetise(&frame(), layout().coarse_blocks(), max)
}

fn of_frame() -> MediaHeader {
    MediaHeader {
        envelope: Envelope {
            stream: 0,
            sequence: SequenceNumber(0),
            capture: Timestamp::from_us(9),
            sent_offset_us: 0,
        },
        frame: FrameId(0),
        steps: frame().header,
        reference: 0,
        is_last: false,
        place: None,
        content: Content::Parity { data: 130, parity: 126 },
    }
}

fn datagram(packet: &Packet) -> Vec<u8> {
    MediaHeader { place: packet.place, content: packet.content, ..of_frame() }.datagram(&packet.payload)
}

fn protect(loss: LossEstimate, room: usize) -> Protected {
    Protector::new(Protection::Auto, &layout()).protect(packets(), 0, loss, room, usize::MAX, OVERHEAD)
}

/// Returns (data, parity) datagrams by group; group 0 are those without one.
fn groups(protected: &Protected) -> Vec<(usize, usize)> {
    let mut groups = vec![];
    for packet in &protected.packets {
        let group = packet.place.map_or(0, |place| usize::from(place.group));
        groups.resize(groups.len().max(group + 1), (0, 0));
        *(if packet.is_parity() { &mut groups[group].1 } else { &mut groups[group].0 }) += 1;
    }
    groups
}

/// Returns true if every block is there with its bytes.
fn is_intact(received: &ReceivedFrame, sent: &CodedFrame) -> bool {
    (0..sent.block_count()).all(|index| match received.block(index) {
        BlockState::Missing => false,
        BlockState::Zero => sent.block(index).is_empty(),
        BlockState::Coded(bytes) => bytes == sent.block(index),
    })
}

const LOSS: LossEstimate = LossEstimate { share: 0.05, burst_mean: 1.0 };

#[test]
fn coarse_datagrams_are_doubled_and_the_others_by_loss() {
    let unprotected = packets().len();
    let calm = protect(LossEstimate::default(), usize::MAX);
    assert_eq!(groups(&calm)[1..], [(1, 1)]);
    let lossy = groups(&protect(LOSS, usize::MAX));
    let finest = packets().iter().filter(|packet| !packet.begins_before(layout().finest_start())).count();
    let (coarse, middle) = (lossy[1], lossy[2]);
    assert!(coarse.0 == 1 && coarse.1 > 1 && middle.1 > middle.0 / 10 && middle.1 <= middle.0, "{lossy:?}");
    assert_eq!((lossy.len(), lossy[0]), (3, (finest, 0)));
    assert_eq!(lossy.iter().map(|group| group.0).sum::<usize>(), unprotected);

    let off = Protector::new(Protection::Off, &layout()).protect(packets(), 0, LOSS, usize::MAX, usize::MAX, OVERHEAD);
    assert_eq!((groups(&off), off.parity_wanted), (vec![(unprotected, 0)], 0));
}

#[test]
fn what_a_predicted_frame_stands_on_has_more_parity() {
    let coarse = |slices: usize, loss: LossEstimate, room: usize| {
        let mut packets = packetise(&frame(), slices + layout().coarse_blocks(), MAX_DATAGRAM - PARITY_EXTRA_BYTES);
        packets.truncate(6);
        let protector = Protector::new(Protection::Auto, &layout());
        groups(&protector.protect(packets, slices, loss, room, usize::MAX, OVERHEAD))[1]
    };
    for room in [0, usize::MAX] {
        assert_eq!([coarse(0, LOSS, room), coarse(1, LOSS, room)], [(1, 1), (1, 2)]);
    }
    assert_eq!(coarse(1, LossEstimate { share: 0.01, ..LOSS }, usize::MAX), (1, 1), "rare");
}

#[test]
fn parity_keeps_to_its_room_except_for_one_copy_of_the_coarse() {
    let wanted = protect(LOSS, usize::MAX).parity_wanted;
    for room in [0, 900, 3_000, wanted - 1, wanted] {
        let protected = protect(LOSS, room);
        let parity = protected.packets.iter().filter(|packet| packet.is_parity());
        let bytes: usize = parity.clone().map(|parity| parity.bytes() + OVERHEAD).sum();
        assert_eq!(protected.parity_wanted, wanted);
        assert!(bytes <= room || parity.count() == 1, "{bytes} in {room}");
        assert!(room < wanted || bytes == wanted);
    }
}

#[test]
fn as_much_is_wanted_as_goes_if_there_is_room() {
    let protector = Protector::new(Protection::Auto, &layout());
    for most in [0, 900, 1_300, 3_000, 10_000, usize::MAX] {
        let protected = protector.protect(packets(), 0, LOSS, most, most, OVERHEAD);
        let parity = protected.packets.iter().filter(|packet| packet.is_parity());
        assert_eq!(protected.parity_wanted, parity.map(|parity| parity.bytes() + OVERHEAD).sum::<usize>());
        assert_eq!(protector.protect(packets(), 0, LOSS, 0, most, OVERHEAD).parity_wanted, protected.parity_wanted);
    }
}

#[test]
fn datagrams_stay_within_the_limit_and_a_burst_spares_data_or_parity() {
    let protected = protect(LOSS, usize::MAX);
    let packets = &protected.packets;
    assert!(packets.iter().all(|packet| packet.bytes() <= MAX_DATAGRAM));
    let longest = packets.iter().filter(|packet| packet.is_parity()).map(Packet::bytes).max();
    assert!(longest > Some(MAX_DATAGRAM - 250));
    let places = |group: u8, is_parity: bool| {
        let is_it = move |packet: &Packet| {
            packet.is_parity() == is_parity && packet.place.is_some_and(|place| place.group == group)
        };
        packets.iter().enumerate().filter(move |(_, packet)| is_it(packet)).map(|(at, _)| at)
    };
    let gap = places(1, true).min().unwrap() - places(1, false).max().unwrap();
    assert!(gap >= 4, "coarse parity {gap} behind its data");
    let middle: Vec<_> = places(2, true).collect();
    assert!(middle.windows(2).all(|pair| pair[1] > pair[0] + 1), "parity in a row: {middle:?}");
}

#[test]
fn many_datagrams_make_groups_of_few() {
    let mut random = Random::new(1);
    let packets: Vec<_> = (0..6_000)
        .map(|_| {
            let mut packet = packets()[1].clone();
            let len = 100 + random.below(100) as usize;
            packet.payload.truncate(len);
            packet
        })
        .collect();
    let protected =
        Protector::new(Protection::Auto, &layout()).protect(packets, 0, LOSS, usize::MAX, usize::MAX, OVERHEAD);
    let groups = groups(&protected);
    assert_eq!(groups.len(), 16);
    assert!(groups[1..].iter().all(|group| (1..=128).contains(&group.0) && group.0 + group.1 <= SHARDS_MAX));
}

#[test]
fn a_frame_is_whole_if_each_group_has_as_many_shards_as_data() {
    let protected = protect(LOSS, usize::MAX);
    let counts = groups(&protected);
    let mut random = Random::new(5);
    for trial in 0..50 {
        // As many datagrams of each group vanish as it has parity, others in each trial; then they come in any order.
        let mut datagrams: Vec<_> = protected.packets.iter().collect();
        for at in (1..datagrams.len()).rev() {
            datagrams.swap(at, random.below(at as u64 + 1) as usize);
        }
        let mut to_lose: Vec<_> = counts.iter().map(|group| group.1).collect();
        datagrams.retain(|packet| match packet.place {
            Some(place) if to_lose[usize::from(place.group)] > 0 => {
                to_lose[usize::from(place.group)] -= 1;
                false
            }
            _ => true,
        });
        let lost_data = datagrams.iter().filter(|datagram| !datagram.is_parity()).count();
        let mut reassembler = Reassembler::new(&params(), FrameId(0), Timestamp::default());
        for datagram in datagrams {
            let outcome = reassembler.on_datagram(&self::datagram(datagram), Timestamp::default());
            assert!(matches!(outcome, DatagramOutcome::Accepted | DatagramOutcome::Duplicate), "{trial}: {outcome:?}");
        }
        let whole = reassembler.poll_frame().unwrap();
        assert!(is_intact(&whole.frame, &frame()), "{trial}");
        let recovered = reassembler.take_recovered();
        assert_eq!(recovered.datagrams as usize, packets().len() - lost_data);
        assert_eq!(recovered.malformed, 0);
    }
}

#[test]
fn lies_in_a_parity_header_are_malformed_and_open_no_frame() {
    let protected = protect(LOSS, usize::MAX);
    let parity = &datagram(protected.packets.iter().find(|packet| packet.is_parity()).unwrap());
    let changed = |changes: &[(usize, u8)], len: usize| {
        let mut bytes = parity.clone();
        changes.iter().for_each(|&(at, value)| bytes[at] = value);
        bytes.resize(len, 7);
        bytes
    };
    let len = parity.len();
    for (what, lie) in [
        ("no group", changed(&[(16, 0), (17, 0)], len)),
        ("an index without a group", changed(&[(16, 0)], len)),
        ("a group beyond the last", changed(&[(16, 16)], len)),
        ("no data", changed(&[(26, 0)], len)),
        ("no parity", changed(&[(27, 0)], len)),
        ("too many shards", changed(&[(26, 200), (27, 57), (17, 201)], len)),
        ("index of data", changed(&[(17, 0)], len)),
        ("index beyond the parity", changed(&[(17, 255)], len)),
        ("an odd size", changed(&[], len - 1)),
        ("no shard", changed(&[], PARITY_HEADER_BYTES)),
        ("half a header", changed(&[], PARITY_HEADER_BYTES - 1)),
        ("a giant shard", changed(&[], PARITY_HEADER_BYTES + SHARD_BYTES_MAX + 2)),
    ] {
        let mut reassembler = Reassembler::new(&params(), FrameId(0), Timestamp::default());
        let outcome = reassembler.on_datagram(&lie, Timestamp::default());
        assert!(matches!(outcome, DatagramOutcome::Malformed(_)), "{what}: {outcome:?}");
        assert_eq!(reassembler.pending().count(), 0, "{what}");
    }
    let mut reassembler = Reassembler::new(&params(), FrameId(0), Timestamp::default());
    assert_eq!(reassembler.on_datagram(parity, Timestamp::default()), DatagramOutcome::Accepted);
    let other_counts = reassembler.on_datagram(&changed(&[(27, parity[27] + 1)], len), Timestamp::default());
    let other_size = reassembler.on_datagram(&changed(&[], len + 2), Timestamp::default());
    assert!(matches!([other_counts, other_size], [DatagramOutcome::Malformed(_), DatagramOutcome::Malformed(_)]));
    assert_eq!(reassembler.on_datagram(parity, Timestamp::default()), DatagramOutcome::Duplicate);
}

#[test]
fn changed_shards_are_counted_and_never_believed_beyond_their_frame() {
    let mut random = Random::new(11);
    let protected = protect(LOSS, usize::MAX);
    let (mut rebuilt, mut refused) = (0, 0);
    for trial in 0..300 {
        let mut reassembler = Reassembler::new(&params(), FrameId(0), Timestamp::default());
        for packet in &protected.packets {
            let mut bytes = datagram(packet);
            if random.chance(0.1) {
                continue;
            }
            if random.chance(0.3) {
                // Sizes, places, counts and contents, all even so that some shards stay shards.
                let at = [2, 3, 24, 25, 26, 27, 28, 29][random.below(8) as usize];
                bytes[at] = [0, 1, 2, 3, 255, random.bits() as u8][random.below(6) as usize];
                bytes.truncate(bytes.len() - 2 * usize::from(random.chance(0.2)));
            }
            let at = Timestamp::from_us(trial);
            reassembler.on_datagram(&bytes, at);
            assert!(reassembler.pending().count() <= 1);
            assert!(reassembler.held_bytes() <= KEPT_BYTES_MAX + frame().data.len());
        }
        let recovered = reassembler.take_recovered();
        (rebuilt, refused) = (rebuilt + recovered.datagrams, refused + recovered.malformed);
    }
    assert!(rebuilt > 50 && refused > 50, "{rebuilt} rebuilt, {refused} refused");
}

#[test]
fn shards_kept_are_bounded() {
    let mut reassembler = Reassembler::new(&params(), FrameId(0), Timestamp::default());
    let mut kept = 0;
    for group in 1..=15 {
        for index in 130..=255 {
            let place = Some(ShardPlace { group, index });
            let bytes = MediaHeader { place, ..of_frame() }.datagram(&[1; SHARD_BYTES_MAX]);
            kept += u32::from(reassembler.on_datagram(&bytes, Timestamp::default()) == DatagramOutcome::Accepted);
            assert!(reassembler.held_bytes() <= KEPT_BYTES_MAX);
        }
    }
    assert_eq!(kept, 256);
}
