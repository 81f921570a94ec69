//! A frame's datagrams with their parity, in the order in which they leave.

use picture::pyramid::BlockLayout;

use super::count::parity_shards;
use super::{Protection, SHARD_BYTES_MAX, SHARDS_MAX, code, prepare, write_shard};
use crate::path::LossEstimate;
use crate::stream::video::packetise::Packet;
use crate::wire::media::{Content, GROUPS_MAX, PARITY_HEADER_BYTES, ShardPlace};

/// Cost of losing a coarse datagram, in datagrams of parity. Its loss shows a part of the frame before: several dB.
const COARSE_COST: f64 = 2_000.0;
/// Cost likewise, for each datagram of the frame, where that is less: the fewer a frame has, the more each is worth. At
/// 5 % loss and 2 Mbit/s of 640x480 this is worth 0.6 dB.
const COARSE_COST_EACH: f64 = 50.0;
/// Frames that one of a predicted frame shows through: those predicted from it lack the same, until the sender knows. A round
/// trip of 50 ms and two frames, of 30 a second.
const COARSE_FRAMES_PREDICTED: f64 = 4.0;
/// Cost of losing a datagram of another group, in datagrams of parity. Its loss is a speck of blur for one frame. Rate
/// and distortion alone would make it about 10 (one datagram in forty is worth 0.1 dB, a lost one up to 1 dB); but a
/// flickering speck is easily seen.
const MIDDLE_COST: f64 = 50.0;
/// Largest ratio of parity to data of a coarse group, beyond one copy.
const COARSE_EXTRA_MAX: usize = 3;
/// Largest ratio of parity to data of another group: beyond it, a coarser picture is better.
const MIDDLE_PARITY_MAX: f64 = 0.4;
/// Data shards of a group.
const GROUP_DATA_MAX: usize = SHARDS_MAX / 2;

/// A frame ready to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// Coarse datagrams first. Parity lies among data that is less important than its own, evenly and as far away as
    /// it can, so that one burst does not take both.
    pub packets: Vec<Packet>,
    /// Bytes of the parity that the loss calls for, overhead included, as far as whole datagrams of it fit in what a
    /// frame may give to it, whether or not there was room for it.
    pub parity_wanted: usize,
}

/// Adds parity to frames.
#[derive(Clone, Debug)]
pub struct Protector {
    protection: Protection,
    coarse_blocks: usize,
    finest_start: usize,
}

impl Protector {
    /// Creates a protector for the frames of a stream.
    pub fn new(protection: Protection, layout: &BlockLayout) -> Self {
        if protection == Protection::Auto {
            prepare();
        }
        Self { protection, coarse_blocks: layout.coarse_blocks(), finest_start: layout.finest_start() }
    }

    /// Protects a frame's `packets`, which are in coding order and begin with `slices` of vectors, with at most `room`
    /// bytes of parity, each datagram counted with `overhead` bytes around it. Coarse datagrams get as much parity as
    /// data even without room, those of a predicted frame all that they want: a frame that is too long by one is made up for by the
    /// next ones, and one that lacks them is not. A frame that leaves room for it may give it `most` bytes.
    pub fn protect(
        &self,
        mut packets: Vec<Packet>,
        slices: usize,
        loss: LossEstimate,
        room: usize,
        most: usize,
        overhead: usize,
    ) -> Protected {
        let before = |block| packets.iter().take_while(|packet: &&Packet| packet.begins_before(block)).count();
        let (coarse_end, middle_end) = (before(slices + self.coarse_blocks), before(slices + self.finest_start));
        let [mut coarse_parity, mut middle_parity] = [vec![], vec![]];
        let mut parity_wanted = 0;
        if self.protection == Protection::Auto {
            let frames = if slices > 0 { COARSE_FRAMES_PREDICTED } else { 1.0 };
            let coarse_cost = frames * COARSE_COST.min(COARSE_COST_EACH * packets.len() as f64);
            let mut groups = groups_of(0..coarse_end, Tier::Coarse, coarse_cost, loss);
            groups.extend(groups_of(coarse_end..middle_end, Tier::Middle, MIDDLE_COST, loss));
            groups.truncate(GROUPS_MAX.into());
            let (mut room, mut most) = (room, most);
            for at in 0..groups.len() {
                // What is left is shared evenly by the groups left.
                let groups_left = if groups[at].tier == Tier::Coarse { 1 } else { groups.len() - at };
                let group = &mut groups[at];
                if group.parity == 0 {
                    continue;
                }
                let shards = shards(&packets, group);
                let shard_bytes = shards.first().map_or(0, Vec::len);
                let cost = PARITY_HEADER_BYTES + shard_bytes + overhead;
                let floor = match group.tier {
                    Tier::Coarse if slices > 0 => group.parity,
                    Tier::Coarse => group.members.len(),
                    Tier::Middle => 0,
                };
                let fitting = |bytes: usize| group.parity.min((bytes / groups_left / cost).max(floor));
                let wanted = fitting(most) * cost;
                most = most.saturating_sub(wanted);
                parity_wanted += wanted;
                group.parity = fitting(room);
                room = room.saturating_sub(group.parity * cost);
                let parity = protect_group(&mut packets, group, at as u8 + 1, &shards);
                match group.tier {
                    Tier::Coarse => coarse_parity.extend(parity),
                    Tier::Middle => middle_parity.extend(parity),
                }
            }
        }
        let mut data = packets.into_iter();
        let mut packets: Vec<_> = data.by_ref().take(coarse_end).collect();
        let middle = data.by_ref().take(middle_end - coarse_end).collect::<Vec<_>>();
        let finest = interleave(data.collect(), middle_parity);
        packets.extend(interleave(middle.into_iter().chain(finest).collect(), coarse_parity));
        Protected { packets, parity_wanted }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Coarse,
    Middle,
}

struct Group {
    tier: Tier,
    /// Indices of the packets.
    members: Vec<usize>,
    /// Number of parity shards.
    parity: usize,
}

/// Splits packets into as few groups as hold them, packet by packet in turn, so that the groups share every burst.
fn groups_of(packets: std::ops::Range<usize>, tier: Tier, hole_cost: f64, loss: LossEstimate) -> Vec<Group> {
    let count = packets.len().div_ceil(GROUP_DATA_MAX);
    let data = packets.len().div_ceil(count.max(1));
    let burst_mean = loss.burst_mean / count.max(1) as f64;
    let parity = match tier {
        Tier::Coarse => {
            // One burst may take all its data; its parity lies among other datagrams and is lost one by one. So the
            // parity alone is to be a group that is whole, in the share of frames whose data is lost.
            let singly = LossEstimate { burst_mean: 1.0, ..loss };
            let extra_max = (COARSE_EXTRA_MAX * data).min(SHARDS_MAX - 2 * data);
            data + parity_shards(data, singly, hole_cost * loss.share, extra_max)
        }
        Tier::Middle => {
            let parity_max = (data as f64 * MIDDLE_PARITY_MAX).ceil() as usize;
            parity_shards(data, LossEstimate { burst_mean, ..loss }, hole_cost, parity_max)
        }
    };
    let members = |first: usize| packets.clone().skip(first).step_by(count).collect();
    (0..count).map(|first| Group { tier, members: members(first), parity }).collect()
}

/// Returns the group's data shards, all of the same even size.
fn shards(packets: &[Packet], group: &Group) -> Vec<Vec<u8>> {
    let members = group.members.iter().map(|&member| &packets[member]);
    let mut shards: Vec<_> = members.map(|packet| write_shard(&packet.content, &packet.payload)).collect();
    let bytes = shards.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(2);
    shards.iter_mut().for_each(|shard| shard.resize(bytes, 0));
    shards
}

/// Gives the group's packets their places and returns its parity packets.
fn protect_group(packets: &mut [Packet], group: &Group, number: u8, shards: &[Vec<u8>]) -> Vec<Packet> {
    let data = group.members.len();
    let shard_bytes = shards.first().map_or(0, Vec::len);
    let bounded = shard_bytes <= SHARD_BYTES_MAX && data + group.parity <= SHARDS_MAX;
    if group.parity == 0 || !bounded {
        return vec![];
    }
    let Ok(parity) = code(shards, group.parity, shard_bytes) else { return vec![] };
    for (index, &member) in group.members.iter().enumerate() {
        packets[member].place = Some(ShardPlace { group: number, index: index as u8 });
    }
    let content = Content::Parity { data: data as u8, parity: parity.len() as u8 };
    let places = (data..).map(|index| Some(ShardPlace { group: number, index: index as u8 }));
    places.zip(parity).map(|(place, payload)| Packet { content, place, payload }).collect()
}

/// Returns `among` with `parity` spread evenly between and behind.
fn interleave(among: Vec<Packet>, parity: Vec<Packet>) -> Vec<Packet> {
    let (among_len, parity_len) = (among.len(), parity.len());
    let mut spread = Vec::with_capacity(among_len + parity_len);
    let mut parity = parity.into_iter().enumerate().peekable();
    for (at, packet) in among.into_iter().enumerate() {
        spread.push(packet);
        let is_due = |index: usize| (index + 1) * among_len < (at + 1) * (parity_len + 1);
        while let Some((_, parity)) = parity.next_if(|(index, _)| is_due(*index)) {
            spread.push(parity);
        }
    }
    spread.extend(parity.map(|(_, parity)| parity));
    spread
}
