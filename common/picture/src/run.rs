//! A run of consecutive blocks as bytes: in every datagram and, with checks in between, in `.duet` files. Its directory has
//! one of two forms, whichever is shorter:
//!
//! ```text
//! map      ceil(n / 8) bytes   bit i mod 8 of byte i div 8 is 1 if block i has bytes; spare bits are 0
//!          per such block      its length: 1..=127 as one byte, else two bytes, big-endian, with the top bit set
//! list     number              of blocks that have bytes
//!          per such block      number of blocks since the last one, and its length
//!          numbers: 0..=127 as one byte, else as a length
//! data     the blocks' bytes one after another
//! ```

use std::ops::Range;

use crate::coded::CodedFrame;

/// Length of a frame's header: step u8, fine blocks u24.
pub const FRAME_HEADER_BYTES: usize = 4;

/// Forms of a run's directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A bit for each block.
    #[default]
    Map,
    /// The blocks between two that have bytes.
    List,
}

/// Longest block that a run can hold.
pub const BLOCK_BYTES_MAX: usize = 0x7fff;

/// Reasons for which bytes are no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RunError {
    #[error("a run is shorter than its map")]
    TooShort,
    #[error("a run's map has bits beyond its blocks")]
    Map,
    #[error("a run's lengths do not add up to its bytes")]
    Bytes,
    #[error("a run has a length that is zero, cut or written long")]
    Length,
    #[error("a run's list of blocks is cut, written long or has blocks beyond its last")]
    List,
}

/// Largest number in a list.
const NUMBER_MAX: usize = 0x7fff;
const _: () = assert!(BLOCK_BYTES_MAX <= NUMBER_MAX, "a block's length is a number of a list");

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

/// Returns the bytes of a number in a list.
const fn number_bytes(number: usize) -> usize {
    if number < 128 { 1 } else { 2 }
}

/// The directory of a run in the making, block by block.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectorySize {
    blocks: usize,
    /// Blocks that have bytes, and the bytes of their lengths.
    coded: usize,
    lengths: usize,
    /// Blocks since the last one that has bytes, and the bytes of all such numbers.
    since: usize,
    skips: usize,
    /// A number is too large for a list.
    is_wide: bool,
}

impl DirectorySize {
    /// Returns the directory with one more block, of `len` bytes.
    #[must_use]
    pub fn with(self, len: usize) -> Self {
        let blocks = self.blocks + 1;
        if len == 0 {
            return Self { blocks, since: self.since + 1, ..self };
        }
        Self {
            blocks,
            coded: self.coded + 1,
            lengths: self.lengths + directory_bytes(len),
            since: 0,
            skips: self.skips + number_bytes(self.since),
            is_wide: self.is_wide || self.since > NUMBER_MAX || self.coded == NUMBER_MAX,
        }
    }

    /// Returns its form and its bytes: a map, or what is shorter if it may be a list.
    pub fn size(self, may_be_list: bool) -> (Form, usize) {
        if may_be_list { self.shortest() } else { (Form::Map, map_bytes(self.blocks) + self.lengths) }
    }

    /// Returns its shorter form and its bytes.
    pub fn shortest(self) -> (Form, usize) {
        let (map, list) = (map_bytes(self.blocks), number_bytes(self.coded) + self.skips);
        if self.is_wide || map <= list { (Form::Map, map + self.lengths) } else { (Form::List, list + self.lengths) }
    }

    /// Of blocks of these lengths.
    pub(crate) fn of(lengths: impl Iterator<Item = usize>) -> Self {
        lengths.fold(Self::default(), Self::with)
    }
}

/// Returns the bytes of a whole frame: header and one run of all its blocks, as [`write_run`] writes it. This is what a
/// byte budget limits.
pub fn coded_size(frame: &CodedFrame) -> usize {
    coded_size_as(frame, frame.reference > 0)
}

/// Returns the bytes of a whole frame as [`coded_size`], with a map, or with what is shorter if it may be a list.
pub fn coded_size_as(frame: &CodedFrame, may_be_list: bool) -> usize {
    let directory = DirectorySize::of((0..frame.block_count()).map(|index| frame.range(index).len()));
    FRAME_HEADER_BYTES + directory.size(may_be_list).1 + frame.data.len()
}

/// Appends the blocks `range` of `frame` as a run, whose form it returns: a map, or with a reference, of which few blocks
/// have bytes, what is shorter of a map and a list.
///
/// A block longer than [`BLOCK_BYTES_MAX`], which no encoder makes, is written as all zero.
pub fn write_run(frame: &CodedFrame, range: Range<usize>, out: &mut Vec<u8>) -> Form {
    let length = |index: usize| Some(frame.range(index).len()).filter(|&len| len <= BLOCK_BYTES_MAX).unwrap_or(0);
    let form = DirectorySize::of(range.clone().map(length)).size(frame.reference > 0).0;
    write_directory(form, range.clone().map(length), out);
    for index in range {
        if length(index) > 0 {
            out.extend_from_slice(frame.block(index));
        }
    }
    form
}

/// Appends the directory of blocks of these lengths, at most [`BLOCK_BYTES_MAX`], in this form, which can hold them.
pub(crate) fn write_directory(form: Form, lengths: impl ExactSizeIterator<Item = usize> + Clone, out: &mut Vec<u8>) {
    match form {
        Form::Map => {
            let map_at = out.len();
            out.resize(map_at + map_bytes(lengths.len()), 0);
            for (index, length) in lengths.enumerate() {
                if length > 0 {
                    out[map_at + index / 8] |= 1 << (index % 8);
                    push_number(length, out);
                }
            }
        }
        Form::List => {
            push_number(lengths.clone().filter(|&length| length > 0).count(), out);
            let mut since = 0;
            for length in lengths {
                if length == 0 {
                    since += 1;
                    continue;
                }
                push_number(since, out);
                push_number(length, out);
                since = 0;
            }
        }
    }
}

/// Appends a number of at most [`NUMBER_MAX`].
fn push_number(number: usize, out: &mut Vec<u8>) {
    match number_bytes(number) {
        1 => out.push(number as u8),
        _ => out.extend((number as u16 | 0x8000).to_be_bytes()),
    }
}

/// Splits the directory of a run of `count` blocks from `bytes`: the lengths, and what follows them.
pub(crate) fn split_directory(form: Form, bytes: &[u8], count: usize) -> Result<(Vec<usize>, &[u8]), RunError> {
    let (mut entries, rest) = Entries::split(form, bytes, count)?;
    let mut lengths = vec![0; count];
    for length in &mut lengths {
        *length = entries.next_length();
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

/// A directory that has been checked, block by block.
#[derive(Clone, Debug)]
enum Entries<'a> {
    Map {
        map: &'a [u8],
        lengths: &'a [u8],
        next: usize,
    },
    List {
        /// Behind the number of blocks before the next one with bytes.
        list: &'a [u8],
        left: usize,
        skip: usize,
    },
}

impl<'a> Entries<'a> {
    /// Checks the directory of `count` blocks at the start of `bytes`; returns it and what follows it.
    fn split(form: Form, bytes: &'a [u8], count: usize) -> Result<(Self, &'a [u8]), RunError> {
        match form {
            Form::Map => {
                let (map, lengths) = split_map(bytes, count)?;
                let coded: u32 = map.iter().map(|byte| byte.count_ones()).sum();
                let mut rest = lengths;
                for _ in 0..coded {
                    (_, rest) = split_length(rest)?;
                }
                Ok((Self::Map { map, lengths, next: 0 }, rest))
            }
            Form::List => {
                let (coded, list) = split_number(bytes).ok_or(RunError::List)?;
                let (mut rest, mut end) = (list, 0);
                for _ in 0..coded {
                    let (skip, after) = split_number(rest).ok_or(RunError::List)?;
                    (_, rest) = split_length(after)?;
                    end += skip + 1;
                    if end > count {
                        return Err(RunError::List);
                    }
                }
                let mut entries = Self::List { list, left: coded, skip: 0 };
                entries.next_skip();
                Ok((entries, rest))
            }
        }
    }

    fn next_skip(&mut self) {
        if let Self::List { list, left: 1.., skip } = self
            && let Some((next, rest)) = split_number(list)
        {
            (*skip, *list) = (next, rest);
        }
    }

    /// The length of the next block; 0 if it has no bytes.
    fn next_length(&mut self) -> usize {
        let length = match self {
            Self::Map { map, lengths, next } => {
                let is_coded = map.get(*next / 8).is_some_and(|byte| byte >> (*next % 8) & 1 == 1);
                *next += 1;
                let Some((length, rest)) = split_length(lengths).ok().filter(|_| is_coded) else { return 0 };
                *lengths = rest;
                return length;
            }
            Self::List { left: 0, .. } => return 0,
            Self::List { skip: skip @ 1.., .. } => {
                *skip -= 1;
                return 0;
            }
            Self::List { list, left, .. } => {
                let Ok((length, rest)) = split_length(list) else { return 0 };
                (*list, *left) = (rest, *left - 1);
                length
            }
        };
        self.next_skip();
        length
    }
}

/// A run whose directory and total length have been checked.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    entries: Entries<'a>,
    data: &'a [u8],
    next: usize,
    count: usize,
}

impl<'a> Run<'a> {
    /// Checks that `bytes` are exactly a run of `count` blocks; otherwise says why not.
    pub fn parse(form: Form, bytes: &'a [u8], count: usize) -> Result<Self, RunError> {
        let (entries, data) = Entries::split(form, bytes, count)?;
        let mut all = entries.clone();
        let total: usize = (0..count).map(|_| all.next_length()).sum();
        if data.len() != total {
            return Err(RunError::Bytes);
        }
        Ok(Self { entries, data, next: 0, count })
    }
}

impl<'a> Iterator for Run<'a> {
    type Item = &'a [u8];

    /// Returns the next block's bytes; empty if it is all zero.
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.next == self.count {
            return None;
        }
        self.next += 1;
        let (block, data) = self.data.split_at_checked(self.entries.next_length())?;
        self.data = data;
        Some(block)
    }
}

/// Splits a number from the rest; `None` if it is cut or written long.
fn split_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes {
        [first @ 0..=127, ref rest @ ..] => Some((usize::from(first), rest)),
        [first @ 128..=255, second, ref rest @ ..] => {
            let number = usize::from(first & 0x7f) << 8 | usize::from(second);
            (number >= 128).then_some((number, rest))
        }
        [] | [_] => None,
    }
}

/// Splits one length and the bytes that follow it from the rest.
fn split_length(bytes: &[u8]) -> Result<(usize, &[u8]), RunError> {
    split_number(bytes).filter(|&(length, _)| length > 0).ok_or(RunError::Length)
}
