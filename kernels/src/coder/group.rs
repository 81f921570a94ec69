//! Blocks of a predicted frame that are coded together: a group of them is the bytes of its first block, and the others have
//! none.
//!
//! Little is left of most blocks, so what a block costs besides its coefficients counts. A group has one state of the rANS coder
//! for all of its blocks, and says of squares of ever smaller sides where there is anything at all. Its blocks are the same
//! integers that their own code would have; all voices code and decode blocks alone, and this is the same Rust for each.

mod symbols;

use std::ops::Range;

use picture::coded::{BlockState, CodedFrame, ReceivedFrame};
use picture::params::StreamParams;
use picture::pyramid::{BLOCK_SIDE, BlockLayout};
use picture::run::BLOCK_BYTES_MAX;
use rayon::prelude::*;

use self::symbols::{Counter, Reader, Symbols, Tile, Writer, walk};
use crate::cpu::{IntegerCoder, PerThread};
use crate::reference::quad::{Damaged, Shape};
use crate::reference::rans;
use crate::tables::residual::{FREQUENCIES, NEAR, START, block_row, cost};

/// Most bytes of a group of more than one block: with its directory it fits the datagrams of every path.
const BYTES_MAX: usize = 1100;
/// Behind the rANS bytes: the number of blocks, and what no block alone ends with.
const TRAILER: usize = 3;
const MARK: u8 = 0;
const _: () = assert!(BYTES_MAX <= BLOCK_BYTES_MAX, "a group is written as a block");

/// The place of a block, on which its code depends besides its coefficients.
#[derive(Clone, Copy, Debug)]
struct Place {
    shape: Shape,
    chroma: bool,
}

/// Joins the blocks of a stream's frames in groups, and splits these.
#[derive(Debug)]
pub struct Groups {
    places: Vec<Place>,
    coarse: usize,
    scratches: PerThread<Scratch>,
}

struct Scratch {
    coder: IntegerCoder,
    tile: Tile,
    /// The tile's rows one after another.
    rows: Vec<i32>,
}

impl Groups {
    /// Creates it for a stream without prediction, `inner`, that has the same blocks.
    pub fn new(inner: &StreamParams) -> Self {
        let layout = BlockLayout::new(inner);
        let places = layout.blocks().iter();
        let places =
            places.map(|block| Place { shape: Shape::from(block), chroma: block.channel.index() > 0 }).collect();
        let room = BLOCK_SIDE * BLOCK_SIDE;
        let scratch = || {
            Box::new(Scratch { coder: IntegerCoder::new(), tile: [0; BLOCK_SIDE * BLOCK_SIDE], rows: vec![0; room] })
        };
        Self { places, coarse: layout.coarse_blocks(), scratches: PerThread::new(scratch) }
    }

    /// Returns a frame, made of blocks alone, with these joined; `None` for one that no encoder makes.
    pub fn join(&self, frame: &CodedFrame) -> Option<CodedFrame> {
        let symbols = self.symbols(frame)?;
        let groups = self.groups(&symbols);
        let coded: Vec<_> = groups.par_iter().map(|group| self.code(&symbols[group.clone()], group.start)).collect();
        let bytes = coded.iter().map(Vec::len).sum();
        let (mut data, mut ends) = (Vec::with_capacity(bytes), vec![0; symbols.len()]);
        let mut next = 0;
        for (group, coded) in groups.iter().zip(&coded) {
            ends[next..group.start].fill(data.len() as u32);
            data.extend_from_slice(coded);
            next = group.start;
        }
        ends[next..].fill(data.len() as u32);
        Some(CodedFrame { reference: 0, header: frame.header, ends, data })
    }

    /// Calls `put(row, symbol)` for every symbol that has one of [`FREQUENCIES`] when the blocks of `frame` are joined.
    pub fn for_each_symbol(&self, frame: &CodedFrame, mut put: impl FnMut(usize, usize)) {
        let Some(symbols) = self.symbols(frame) else { return };
        for group in self.groups(&symbols) {
            let mut near = [false; NEAR];
            for index in group {
                put(self.row(index, near), symbols[index].as_ref().map_or(0, |symbols| symbols.pattern));
                near = [symbols[index].is_some(), near[0]];
            }
        }
        for index in 0..frame.block_count() {
            if !frame.block(index).is_empty() {
                self.scratches.with(|scratch| {
                    if scratch.load(frame.block(index), self.places[index].shape).is_ok() {
                        let counter = Counter(&mut put);
                        _ = walk(counter, &mut scratch.tile, self.places[index].shape, None);
                    }
                });
            }
        }
    }

    /// Returns what is there of the blocks of a frame, behind its `slices` slices, each as its own code, and how many groups are
    /// damaged: nothing of their blocks is there.
    ///
    /// A group brings all of its blocks, whatever else is known of them.
    pub fn split(&self, frame: &ReceivedFrame, slices: usize) -> (ReceivedFrame, u64) {
        let count = self.places.len();
        let mut split = ReceivedFrame::empty(frame.header, count);
        let mut groups = Vec::new();
        for index in 0..count {
            match frame.block(slices + index) {
                BlockState::Coded(bytes) if bytes.last() == Some(&MARK) => groups.push((index, bytes)),
                BlockState::Coded(bytes) => _ = split.insert(index, bytes),
                BlockState::Missing | BlockState::Zero => {}
            }
        }
        let decoded: Vec<_> = groups.par_iter().map(|&(first, bytes)| self.decode(bytes, first)).collect();
        let mut damaged = 0;
        for ((first, _), group) in groups.iter().zip(decoded) {
            // A block that two have is a sign of damage, too; the first of them counts.
            match group {
                Ok(blocks) if (*first..).zip(&blocks).all(|(index, _)| split.block(index) == BlockState::Missing) => {
                    for (index, block) in (*first..).zip(&blocks) {
                        split.insert(index, block);
                    }
                }
                _ => damaged += 1,
            }
        }
        for index in 0..count {
            if frame.block(slices + index) == BlockState::Zero {
                split.insert(index, &[]);
            }
        }
        (split, damaged)
    }

    /// Returns true if blocks of a frame, behind its slices, are joined.
    pub(crate) fn has_groups(frame: &ReceivedFrame, slices: usize) -> bool {
        (slices..frame.block_count())
            .any(|index| matches!(frame.block(index), BlockState::Coded(bytes) if bytes.last() == Some(&MARK)))
    }

    /// The row of a block's pattern.
    fn row(&self, index: usize, near: [bool; NEAR]) -> usize {
        let Place { shape, chroma } = self.places[index];
        block_row(shape.class, chroma, shape.diagonal, near.into_iter().filter(|&near| near).count())
    }

    /// The symbols of each block that has bytes.
    fn symbols(&self, frame: &CodedFrame) -> Option<Vec<Option<Symbols>>> {
        if frame.block_count() != self.places.len() {
            return None;
        }
        let blocks = (0..self.places.len()).into_par_iter().with_min_len(16);
        let symbols = blocks.map(|index| match frame.block(index) {
            [] => Ok(None),
            bytes => self.scratches.with(|scratch| {
                let shape = self.places[index].shape;
                scratch.load(bytes, shape)?;
                let mut writer = Writer::default();
                writer.0.pattern = walk(&mut writer, &mut scratch.tile, shape, None)?;
                Ok(Some(writer.0))
            }),
        });
        symbols.collect::<Result<_, Damaged>>().ok()
    }

    /// Chooses the groups: each begins and ends with a block that is not all zero, and no coarse block is with one that is
    /// not.
    fn groups(&self, symbols: &[Option<Symbols>]) -> Vec<Range<usize>> {
        const BITS: u32 = ((BYTES_MAX - TRAILER - 4) * 8) as u32;
        let mut groups: Vec<Range<usize>> = Vec::new();
        // Of the open group, with the blocks behind its end: what they cost, and the two before the next one.
        let (mut total, mut near) = (0, [false; NEAR]);
        for (index, block) in symbols.iter().enumerate() {
            let pattern = block.as_ref().map_or(0, |block| block.pattern);
            let price = |near| {
                let own = cost(FREQUENCIES[self.row(index, near)][pattern]);
                own.saturating_add(block.as_ref().map_or(0, |block| block.cost))
            };
            let is_new = groups.last().is_none_or(|group| {
                index == self.coarse || index - group.start >= usize::from(u16::MAX) || total + price(near) > BITS << 8
            });
            if is_new {
                near = [false; NEAR];
                // Nothing is open until the next block that is not zero.
                total = if block.is_some() { price(near) } else { BITS << 8 };
            } else {
                total += price(near);
            }
            if block.is_some() {
                match groups.last_mut().filter(|_| !is_new) {
                    Some(group) => group.end = index + 1,
                    None => groups.push(index..index + 1),
                }
            }
            near = [block.is_some(), near[0]];
        }
        groups
    }

    /// The bytes of a group.
    fn code(&self, symbols: &[Option<Symbols>], first: usize) -> Vec<u8> {
        let mut rows = Vec::with_capacity(symbols.len());
        let mut near = [false; NEAR];
        for (at, block) in symbols.iter().enumerate() {
            rows.push(self.row(first + at, near));
            near = [block.is_some(), near[0]];
        }
        let mut bytes = Vec::with_capacity(BYTES_MAX);
        let mut rans = rans::RansEncoder::new(0, rans::payload_bits(0), &mut bytes);
        for (block, row) in symbols.iter().zip(rows).rev() {
            for &(start, frequency) in block.iter().flat_map(|block| block.ranges.iter().rev()) {
                rans.put_range(start.into(), frequency.into());
            }
            let pattern = block.as_ref().map_or(0, |block| block.pattern);
            rans.put_range(START[row][pattern].into(), FREQUENCIES[row][pattern].into());
        }
        rans.finish();
        bytes.extend((symbols.len() as u16).to_le_bytes());
        bytes.push(MARK);
        bytes
    }

    /// Decodes a group to the code of each of its blocks alone. Whatever the bytes are, this ends and stays in bounds.
    fn decode(&self, bytes: &[u8], first: usize) -> Result<Vec<Vec<u8>>, Damaged> {
        let (bytes, &[low, high, _]) = bytes.split_last_chunk::<TRAILER>().ok_or(Damaged)?;
        let count = usize::from(u16::from_le_bytes([low, high]));
        if count == 0 || first + count > self.places.len() || bytes.len() > BLOCK_BYTES_MAX {
            return Err(Damaged);
        }
        let mut reader = Reader(rans::RansDecoder::new(bytes));
        let mut near = [false; NEAR];
        let mut blocks = Vec::with_capacity(count);
        for index in first..first + count {
            let pattern = reader.get(self.row(index, near));
            let mut block = Vec::new();
            if pattern > 0 {
                let shape = self.places[index].shape;
                self.scratches.with(|scratch| {
                    walk(&mut reader, &mut scratch.tile, shape, Some(pattern))?;
                    scratch.store(shape, &mut block);
                    Ok(())
                })?;
            }
            blocks.push(block);
            near = [pattern > 0, near[0]];
        }
        match reader.0.finish() {
            Some((rans::STATE_MIN, 0)) => Ok(blocks),
            _ => Err(Damaged),
        }
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Scratch").finish_non_exhaustive()
    }
}

impl Scratch {
    /// Decodes a block alone into the tile.
    fn load(&mut self, bytes: &[u8], shape: Shape) -> Result<(), Damaged> {
        let rows = &mut self.rows[..shape.width * shape.height];
        self.coder.decode(bytes, shape, rows)?;
        self.tile.fill(0);
        for (to, from) in self.tile.chunks_exact_mut(BLOCK_SIDE).zip(rows.chunks_exact(shape.width)) {
            to[..shape.width].copy_from_slice(from);
        }
        Ok(())
    }

    /// Appends the code of the tile's block alone.
    fn store(&mut self, shape: Shape, out: &mut Vec<u8>) {
        let rows = &mut self.rows[..shape.width * shape.height];
        for (to, from) in rows.chunks_exact_mut(shape.width).zip(self.tile.chunks_exact(BLOCK_SIDE)) {
            to.copy_from_slice(&from[..shape.width]);
        }
        self.coder.encode(rows, shape, out);
    }
}

#[cfg(test)]
mod tests {
    use picture::coded::{FrameHeader, StepIndex};
    use picture::frame::{Chroma, FrameSize};

    use proptest::prelude::*;

    use super::*;
    use crate::reference::quad;
    use crate::tables::MAX_LENGTH;

    const HEADER: FrameHeader = FrameHeader { step: StepIndex::ONE, fine_blocks: 0 };

    fn params((width, height): (u32, u32), chroma: Chroma) -> StreamParams {
        StreamParams::new(FrameSize::new(width, height).unwrap(), chroma)
    }

    /// Returns a frame of blocks alone: one in `full` of 256 is not zero, and neither is one in `dense` of 256 of its
    /// coefficients, of up to so many bits.
    fn frame(groups: &Groups, full: u8, dense: u8, bits: u32, mut seed: u64) -> CodedFrame {
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32
        };
        let mut block = |place: &Place| {
            let mut bytes = Vec::new();
            if random() as u8 <= full {
                let mut value = || {
                    let magnitude = (random() % (1 << (random() % bits)) + 1).min((1 << MAX_LENGTH) - 1) as i32;
                    if random() as u8 > dense {
                        0
                    } else if random() % 2 == 0 {
                        magnitude
                    } else {
                        -magnitude
                    }
                };
                let values: Vec<_> = (0..place.shape.width * place.shape.height).map(|_| value()).collect();
                quad::encode(&values, place.shape, &mut bytes);
            }
            bytes
        };
        CodedFrame::from_blocks(HEADER, &groups.places.iter().map(&mut block).collect::<Vec<_>>())
    }

    fn frames() -> impl Strategy<Value = (Groups, CodedFrame)> {
        let size = prop_oneof![Just((1, 1)), Just((97, 70)), Just((200, 121)), Just((33, 1)), Just((640, 360))];
        let chroma = prop_oneof![Just(Chroma::C420), Just(Chroma::C444), Just(Chroma::Grey)];
        (size, chroma, any::<u8>(), any::<u8>(), 1..=25_u32, any::<u64>()).prop_map(
            |(size, chroma, full, dense, bits, seed)| {
                let groups = Groups::new(&params(size, chroma));
                let frame = frame(&groups, full, dense / 4, bits, seed);
                (groups, frame)
            },
        )
    }

    /// Starts of groups, and the number of their blocks.
    fn extents(joined: &CodedFrame) -> Vec<(usize, usize)> {
        let coded = (0..joined.block_count()).filter(|&index| !joined.block(index).is_empty());
        let count = |index| {
            let (_, &[low, high, mark]) = joined.block(index).split_last_chunk().unwrap();
            assert_eq!(mark, MARK);
            (index, usize::from(u16::from_le_bytes([low, high])))
        };
        coded.map(count).collect()
    }

    /// Returns how many groups are damaged.
    fn split_any(groups: &Groups, frame: &CodedFrame) -> u64 {
        let (split, damaged) = groups.split(&ReceivedFrame::from(frame), 0);
        for (index, place) in groups.places.iter().enumerate() {
            if let BlockState::Coded(bytes) = split.block(index)
                && bytes.last() == Some(&MARK)
            {
                assert!(
                    quad::decode(bytes, place.shape, &mut vec![0; place.shape.width * place.shape.height]).is_err()
                );
            }
        }
        damaged
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn blocks_come_back_from_their_groups((groups, frame) in frames(), slices in 0..3_usize) {
            let joined = groups.join(&frame).unwrap();
            let extents = extents(&joined);
            for &(first, count) in &extents {
                prop_assert!(count == 1 || joined.block(first).len() <= BYTES_MAX, "{} bytes", joined.block(first).len());
                prop_assert!((first < groups.coarse) == (first + count <= groups.coarse));
            }
            prop_assert!(extents.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            let mut received = ReceivedFrame::empty(HEADER, slices + frame.block_count());
            for index in 0..frame.block_count() {
                received.insert(slices + index, joined.block(index));
            }
            let (split, damaged) = groups.split(&received, slices);
            prop_assert_eq!(damaged, 0);
            prop_assert_eq!((split.missing(), split.block_count()), (0, frame.block_count()));
            for index in 0..frame.block_count() {
                let wanted = match frame.block(index) {
                    [] => BlockState::Zero,
                    bytes => BlockState::Coded(bytes),
                };
                prop_assert_eq!(split.block(index), wanted);
            }
        }

        #[test]
        fn a_group_that_is_not_there_takes_its_blocks_alone((groups, frame) in frames(), which: prop::sample::Index) {
            let joined = groups.join(&frame).unwrap();
            let extents = extents(&joined);
            prop_assume!(!extents.is_empty());
            let (first, count) = extents[which.index(extents.len())];
            let mut received = ReceivedFrame::from(&joined);
            received.forget(first..first + count);
            let (split, damaged) = groups.split(&received, 0);
            prop_assert_eq!((split.missing(), damaged), (count, 0));
            // Its other blocks may be missing: it brings them.
            let mut received = ReceivedFrame::from(&joined);
            received.forget(first + 1..first + count);
            prop_assert_eq!(groups.split(&received, 0).0.missing(), 0);
        }

        #[test]
        fn wrong_bytes_are_groups_or_damage(
            (groups, frame) in frames(), which: prop::sample::Index, at: prop::sample::Index, flip in 1..=255_u8, cut: bool,
            noise in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let joined = groups.join(&frame).unwrap();
            let mut blocks: Vec<_> = (0..joined.block_count()).map(|index| joined.block(index).to_vec()).collect();
            let block = which.index(blocks.len());
            if blocks[block].is_empty() {
                blocks[block] = [&noise[..], &[1, 0, MARK]].concat();
            } else {
                let at = at.index(blocks[block].len());
                blocks[block][at] ^= flip;
                if cut {
                    blocks[block].truncate(at);
                }
            }
            split_any(&groups, &CodedFrame::from_blocks(HEADER, &blocks));
        }
    }

    #[test]
    fn groups_that_cannot_be_are_damage() {
        let groups = Groups::new(&params((200, 120), Chroma::C420));
        let frame = frame(&groups, 255, 20, 3, 1);
        let joined = groups.join(&frame).unwrap();
        let blocks: Vec<_> = (0..joined.block_count()).map(|index| joined.block(index).to_vec()).collect();
        let (first, count) = extents(&joined)[0];
        assert!(first == 0 && count > 2);
        let damaged = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut blocks = blocks.clone();
            change(&mut blocks);
            split_any(&groups, &CodedFrame::from_blocks(HEADER, &blocks))
        };
        assert_eq!(damaged(&|_| {}), 0);
        let set = |block: &mut Vec<u8>, count: u16| {
            let at = block.len() - TRAILER;
            block[at..at + 2].copy_from_slice(&count.to_le_bytes());
        };
        assert_eq!(damaged(&|blocks| set(&mut blocks[0], 0)), 1, "of no block");
        assert_eq!(damaged(&|blocks| set(&mut blocks[0], count as u16 - 1)), 1, "of a block too few");
        assert_eq!(damaged(&|blocks| set(&mut blocks[0], u16::MAX)), 1, "beyond the last block");
        assert_eq!(damaged(&|blocks| blocks[1] = b"more".to_vec()), 1, "of a block that has bytes of its own");
        assert_eq!(damaged(&|blocks| blocks[2] = blocks[0].clone()), 1, "over another one");
        assert_eq!(damaged(&|blocks| blocks[0] = vec![MARK]), 1, "of nothing");
        assert_eq!(damaged(&|blocks| blocks[0] = vec![1, 0, MARK]), 1, "without a state");
    }

    #[test]
    fn a_picture_in_which_nothing_is_left_takes_no_bytes() {
        let groups = Groups::new(&params((1_280, 720), Chroma::C420));
        let frame = CodedFrame::from_blocks(HEADER, &vec![vec![]; groups.places.len()]);
        assert_eq!(groups.join(&frame).map(|joined| joined.data), Some(vec![]));
        assert_eq!(groups.join(&CodedFrame::from_blocks(HEADER, &[vec![]])), None, "no frame of this stream");
    }
}
