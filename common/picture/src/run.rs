//! A run of consecutive blocks as bytes: in every datagram and, with checks in between, in `.duet` files.
//!
//! ```text
//! map      ceil(n / 8) bytes   bit i mod 8 of byte i div 8 is 1 if block i is not all zero; spare bits are 0
//! lengths  per such block      1..=127 as one byte, else two bytes, big-endian, with the top bit set
//! data     the blocks' bytes one after another
//! ```

use std::ops::Range;

use crate::coded::CodedFrame;

/// Length of a frame's header: step u8, fine blocks u24.
pub const FRAME_HEADER_BYTES: usize = 4;

/// Longest block that a run can hold.
pub const BLOCK_BYTES_MAX: usize = 0x7fff;

/// Reasons for which bytes are no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Shorter than its map.
    #[error("a run is shorter than its map")]
    TooShort,
    /// The map has bits beyond its blocks.
    #[error("a run's map has bits beyond its blocks")]
    Map,
    /// The lengths do not add up to its bytes.
    #[error("a run's lengths do not add up to its bytes")]
    Bytes,
    /// A length that is zero, cut or written long.
    #[error("a run has a length that is zero, cut or written long")]
    Length,
}

/// Returns what a block of `len` bytes costs besides its bit of the map and its bytes.
pub const fn directory_bytes(len: usize) -> usize {
    match len {
        0 => 0,
        1..=127 => 1,
        _ => 2,
    }
}

/// Returns the length of the map of `blocks` blocks, bytes.
pub const fn map_bytes(blocks: usize) -> usize {
    blocks.div_ceil(8)
}

/// Returns the bytes of a whole frame: header and one run of all its blocks. This is what a byte budget limits.
pub fn coded_size(frame: &CodedFrame) -> usize {
    let blocks = frame.block_count();
    let directory: usize = (0..blocks).map(|index| directory_bytes(frame.range(index).len())).sum();
    FRAME_HEADER_BYTES + map_bytes(blocks) + directory + frame.data.len()
}

/// Appends the blocks `range` of `frame` as a run.
///
/// A block longer than [`BLOCK_BYTES_MAX`], which no encoder makes, is written as all zero.
pub fn write_run(frame: &CodedFrame, range: Range<usize>, out: &mut Vec<u8>) {
    let map_at = out.len();
    out.resize(map_at + map_bytes(range.len()), 0);
    let fits = |index: usize| (1..=BLOCK_BYTES_MAX).contains(&frame.range(index).len());
    for (bit, index) in range.clone().enumerate() {
        if fits(index) {
            out[map_at + bit / 8] |= 1 << (bit % 8);
            push_length(frame.range(index).len(), out);
        }
    }
    for index in range {
        if fits(index) {
            out.extend_from_slice(frame.block(index));
        }
    }
}

/// Appends the length of a block of at most [`BLOCK_BYTES_MAX`] bytes; of one without bytes, nothing.
pub(crate) fn push_length(len: usize, out: &mut Vec<u8>) {
    match directory_bytes(len) {
        0 => {}
        1 => out.push(len as u8),
        _ => out.extend((len as u16 | 0x8000).to_be_bytes()),
    }
}

/// Splits the map and the lengths of a run of `count` blocks from `bytes`: the lengths, and what follows them.
pub(crate) fn split_directory(bytes: &[u8], count: usize) -> Result<(Vec<usize>, &[u8]), RunError> {
    let (map, mut rest) = split_map(bytes, count)?;
    let mut lengths = vec![0; count];
    for (index, length) in lengths.iter_mut().enumerate() {
        if map[index / 8] >> (index % 8) & 1 == 1 {
            (*length, rest) = split_length(rest)?;
        }
    }
    Ok((lengths, rest))
}

/// Splits a map of `count` blocks from `bytes`.
pub(crate) fn split_map(bytes: &[u8], count: usize) -> Result<(&[u8], &[u8]), RunError> {
    let (map, rest) = bytes.split_at_checked(map_bytes(count)).ok_or(RunError::TooShort)?;
    if !count.is_multiple_of(8) && map.last().is_some_and(|last| last >> (count % 8) != 0) {
        return Err(RunError::Map);
    }
    Ok((map, rest))
}

/// A run whose map, lengths and total length have been checked.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    map: &'a [u8],
    lengths: &'a [u8],
    data: &'a [u8],
    next: usize,
    count: usize,
}

impl<'a> Run<'a> {
    /// Checks that `bytes` are exactly a run of `count` blocks; otherwise says why not.
    pub fn parse(bytes: &'a [u8], count: usize) -> Result<Self, RunError> {
        let (map, rest) = split_map(bytes, count)?;
        let coded: u32 = map.iter().map(|byte| byte.count_ones()).sum();
        let (mut lengths, mut total) = (rest, 0);
        for _ in 0..coded {
            let (len, after) = split_length(lengths)?;
            (lengths, total) = (after, total + len);
        }
        if lengths.len() != total {
            return Err(RunError::Bytes);
        }
        Ok(Self { map, lengths: rest, data: lengths, next: 0, count })
    }
}

impl<'a> Iterator for Run<'a> {
    type Item = &'a [u8];

    /// Returns the next block's bytes; empty if it is all zero.
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.next == self.count {
            return None;
        }
        let coded = self.map[self.next / 8] >> (self.next % 8) & 1 == 1;
        self.next += 1;
        if !coded {
            return Some(&[]);
        }
        let (len, lengths) = split_length(self.lengths).ok()?;
        let (block, data) = self.data.split_at_checked(len)?;
        (self.lengths, self.data) = (lengths, data);
        Some(block)
    }
}

/// Splits one length and the bytes that follow it from the rest.
fn split_length(bytes: &[u8]) -> Result<(usize, &[u8]), RunError> {
    match *bytes {
        [first @ 1..=127, ref rest @ ..] => Ok((usize::from(first), rest)),
        [first @ 128..=255, second, ref rest @ ..] => {
            let len = usize::from(first & 0x7f) << 8 | usize::from(second);
            if len < 128 { Err(RunError::Length) } else { Ok((len, rest)) }
        }
        [0, ..] => Err(RunError::Length),
        [] | [_] => Err(RunError::Length),
    }
}
