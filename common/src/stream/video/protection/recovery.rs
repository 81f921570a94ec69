//! Recovery of a frame's missing datagrams from parity.

use std::collections::BTreeMap;

use reed_solomon_simd::ReedSolomonDecoder;

use super::error::ParityError;
use super::{SHARD_BYTES_MAX, SHARDS_MAX, write_shard};
use crate::wire::media::{Content, ShardPlace};

/// Bytes of shards kept per frame. What comes beyond is decoded but of no help to others.
pub(crate) const KEPT_BYTES_MAX: usize = 1 << 20;

/// The shards of a frame's groups that are not whole.
#[derive(Debug, Default)]
pub(crate) struct FrameShards {
    groups: BTreeMap<u8, ArrivedGroup>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct ArrivedGroup {
    /// Known from the first parity shard on.
    shape: Option<Shape>,
    /// Data shards by index, not padded.
    data: BTreeMap<usize, Vec<u8>>,
    /// Parity shards by index, counted from the first one.
    parity: BTreeMap<usize, Vec<u8>>,
    /// True if nothing of it is missing, or if it contradicts itself.
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    data: usize,
    parity: usize,
    shard_bytes: usize,
}

/// A parity shard that fits its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParityShard<'a> {
    group: u8,
    /// Among the parity shards.
    index: usize,
    shape: Shape,
    bytes: &'a [u8],
}

impl<'a> ParityShard<'a> {
    /// Returns a shard of a group of `data` and `parity` shards, or what is wrong with it.
    pub(crate) fn check(place: ShardPlace, data: u8, parity: u8, bytes: &'a [u8]) -> Result<Self, ParityError> {
        let shape = Shape { data: data.into(), parity: parity.into(), shard_bytes: bytes.len() };
        if shape.data == 0 || shape.data + shape.parity > SHARDS_MAX {
            return Err(ParityError::GroupSize);
        }
        let index = usize::from(place.index).checked_sub(shape.data).filter(|&index| index < shape.parity);
        let index = index.ok_or(ParityError::Index)?;
        if bytes.is_empty() || bytes.len() > SHARD_BYTES_MAX || !bytes.len().is_multiple_of(2) {
            return Err(ParityError::Bytes);
        }
        Ok(Self { group: place.group, index, shape, bytes })
    }
}

impl FrameShards {
    /// Keeps a datagram that came.
    pub(crate) fn keep_data(&mut self, place: ShardPlace, content: &Content, payload: &[u8]) {
        let group = self.groups.entry(place.group).or_default();
        let index = usize::from(place.index);
        if !group.is_closed && !group.data.contains_key(&index) {
            let shard = write_shard(content, payload);
            if self.bytes + shard.len() <= KEPT_BYTES_MAX {
                self.bytes += shard.len();
                group.data.insert(index, shard);
            }
        }
    }

    /// Keeps a parity shard; returns true if it is new, or what is wrong with it.
    pub(crate) fn keep_parity(&mut self, shard: &ParityShard<'_>) -> Result<bool, ParityError> {
        let group = self.groups.entry(shard.group).or_default();
        if *group.shape.get_or_insert(shard.shape) != shard.shape {
            return Err(ParityError::Contradiction);
        }
        let has_room = self.bytes + shard.bytes.len() <= KEPT_BYTES_MAX;
        if group.is_closed || group.parity.contains_key(&shard.index) || !has_room {
            return Ok(false);
        }
        self.bytes += shard.bytes.len();
        group.parity.insert(shard.index, shard.bytes.to_vec());
        Ok(true)
    }

    /// Returns the missing data shards of a group, if enough of it is there; it is closed then. An error says why its
    /// shards cannot be one group's.
    pub(crate) fn recover(&mut self, number: u8) -> Result<Vec<Vec<u8>>, ParityError> {
        let Some(group) = self.groups.get_mut(&number) else { return Ok(vec![]) };
        let Some(shape) = group.shape.filter(|_| !group.is_closed) else { return Ok(vec![]) };
        if group.data.len() + group.parity.len() < shape.data {
            return Ok(vec![]);
        }
        let result = if group.data.len() == shape.data { Ok(vec![]) } else { group.rebuild(shape) };
        let freed: usize = group.data.values().chain(group.parity.values()).map(Vec::len).sum();
        self.bytes -= freed;
        (group.data, group.parity, group.is_closed) = (BTreeMap::new(), BTreeMap::new(), true);
        result
    }

    /// Returns the bytes of the shards kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl ArrivedGroup {
    fn rebuild(&self, shape: Shape) -> Result<Vec<Vec<u8>>, ParityError> {
        let fits = |(&index, shard): (&usize, &Vec<u8>)| index < shape.data && shard.len() <= shape.shard_bytes;
        if !self.data.iter().all(fits) {
            return Err(ParityError::OtherGroup);
        }
        if shape.data == 1 {
            return Ok(self.parity.values().take(1).cloned().collect());
        }
        self.decode(shape).map_err(|_| ParityError::NotDecodable)
    }

    fn decode(&self, shape: Shape) -> Result<Vec<Vec<u8>>, reed_solomon_simd::Error> {
        let mut decoder = ReedSolomonDecoder::new(shape.data, shape.parity, shape.shard_bytes)?;
        let mut padded = Vec::with_capacity(shape.shard_bytes);
        for (&index, shard) in &self.data {
            padded.clear();
            padded.extend_from_slice(shard);
            padded.resize(shape.shard_bytes, 0);
            decoder.add_original_shard(index, &padded)?;
        }
        for (&index, shard) in &self.parity {
            decoder.add_recovery_shard(index, shard)?;
        }
        Ok(decoder.decode()?.restored_original_iter().map(|(_, shard)| shard.to_vec()).collect())
    }
}
