//! A coded frame as datagrams.

use std::ops::Range;

use picture::coded::CodedFrame;
use picture::run::{BLOCK_BYTES_MAX, DirectorySize, write_run};

use crate::path::pacing::Paced;
use crate::wire::media::{BLOCKS_HEADER_BYTES, Content, FRAGMENT_HEADER_BYTES, RUN_BLOCKS_MAX, ShardPlace};

/// Smallest datagram limit that is obeyed; QUIC always carries more.
pub const DATAGRAM_BYTES_MIN: usize = 128;

/// A datagram of a frame. Its header is written when it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The kind of the payload.
    pub content: Content,
    /// Its place in a protection group.
    pub place: Option<ShardPlace>,
    /// The bytes after the header.
    pub payload: Vec<u8>,
}

impl Packet {
    /// Returns the length of the datagram, bytes.
    pub fn bytes(&self) -> usize {
        self.content.header_bytes() + self.payload.len()
    }

    /// Returns true if the frame is whole without it.
    pub fn is_parity(&self) -> bool {
        matches!(self.content, Content::Parity { .. })
    }

    /// Returns true if it carries blocks before block `index` of its frame.
    pub fn begins_before(&self, index: usize) -> bool {
        match self.content {
            Content::Blocks { first: at, .. } | Content::Fragment { block: at, .. } => (at as usize) < index,
            Content::Parity { .. } => false,
        }
    }
}

impl Paced for Packet {
    fn bytes(&self) -> usize {
        Self::bytes(self)
    }

    fn is_parity(&self) -> bool {
        Self::is_parity(self)
    }
}

/// Cuts `frame` into datagrams of at most `max_datagram` bytes (at least [`DATAGRAM_BYTES_MIN`]): whole blocks
/// in coding order, and a block that fits into no datagram in parts. With block `coarse_blocks` a new datagram begins:
/// what protects the coarse ones protects nothing else.
///
/// Of a frame with a reference few blocks have bytes: a list of them may be shorter than a map.
pub fn packetise(frame: &CodedFrame, coarse_blocks: usize, max_datagram: usize) -> Vec<Packet> {
    let (max_datagram, may_be_list) = (max_datagram.max(DATAGRAM_BYTES_MIN), frame.reference > 0);
    let mut cutter = Cutter { frame, max_datagram, packets: vec![] };
    let payload_max = cutter.max_datagram - BLOCKS_HEADER_BYTES;
    let none = DirectorySize::default();
    // The open run: blocks `run`, their directory and the bytes of their data.
    let (mut run, mut directory, mut data) = (0..0, none, 0);
    for index in 0..frame.block_count() {
        let len = frame.range(index).len();
        // A block that no run can hold is written as all zero and takes no bytes.
        let len = if len > BLOCK_BYTES_MAX { 0 } else { len };
        if none.with(len).size(may_be_list).1 + len > payload_max {
            cutter.push_run(run);
            cutter.push_fragments(index);
            (run, directory, data) = (index + 1..index + 1, none, 0);
            continue;
        }
        let is_full = directory.with(len).size(may_be_list).1 + data + len > payload_max || run.len() == RUN_BLOCKS_MAX;
        if is_full || index == coarse_blocks {
            cutter.push_run(run);
            (run, directory, data) = (index..index, none, 0);
        }
        (run.end, directory, data) = (index + 1, directory.with(len), data + len);
    }
    cutter.push_run(run);
    cutter.packets
}

struct Cutter<'a> {
    frame: &'a CodedFrame,
    max_datagram: usize,
    packets: Vec<Packet>,
}

impl Cutter<'_> {
    fn push_run(&mut self, run: Range<usize>) {
        if run.is_empty() {
            return;
        }
        let mut payload = Vec::with_capacity(self.max_datagram);
        let form = write_run(self.frame, run.clone(), &mut payload);
        self.push(Content::Blocks { first: run.start as u32, count: run.len() as u16, form }, payload);
    }

    /// Parts of even size, so that no datagram is almost empty.
    fn push_fragments(&mut self, index: usize) {
        let block = self.frame.block(index);
        let parts = block.len().div_ceil(self.max_datagram - FRAGMENT_HEADER_BYTES);
        let part_bytes = block.len().div_ceil(parts);
        for (part, chunk) in block.chunks(part_bytes).enumerate() {
            let offset = (part * part_bytes) as u16;
            let content = Content::Fragment { block: index as u32, total: block.len() as u16, offset };
            self.push(content, chunk.to_vec());
        }
    }

    fn push(&mut self, content: Content, payload: Vec<u8>) {
        self.packets.push(Packet { content, place: None, payload });
    }
}

#[cfg(test)]
mod tests {
    use picture::coded::{FrameHeader, StepIndex};
    use picture::run::Run;

    use super::*;

    /// Returns a frame whose block `i` has `lens[i]` bytes, all different from their neighbours.
    fn frame(lens: &[usize]) -> CodedFrame {
        let mut frame = CodedFrame {
            reference: 0,
            header: FrameHeader { step: StepIndex::MIN, fine_blocks: 1 },
            ends: vec![],
            data: vec![],
        };
        for len in lens {
            frame.data.extend((0..*len).map(|at| (at % 251) as u8));
            frame.ends.push(frame.data.len() as u32);
        }
        frame
    }

    /// Returns the block indices and lengths found in the datagrams, fragments as (index, part length).
    fn contents(packets: &[Packet], max: usize) -> Vec<Vec<(usize, usize)>> {
        let content = |packet: &Packet| {
            assert!(packet.bytes() <= max, "{} > {max}", packet.bytes());
            match packet.content {
                Content::Blocks { first, count, form } => {
                    let run = Run::parse(form, &packet.payload, count.into()).unwrap();
                    run.enumerate().map(|(at, block)| (first as usize + at, block.len())).collect()
                }
                Content::Fragment { block, .. } => vec![(block as usize, packet.payload.len())],
                Content::Parity { .. } => vec![],
            }
        };
        packets.iter().map(content).collect()
    }

    #[test]
    fn blocks_stay_whole_and_in_order() {
        let packets = packetise(&frame(&[60, 0, 20, 50, 0]), 0, 130);
        assert_eq!(contents(&packets, 130), [vec![(0, 60), (1, 0), (2, 20)], vec![(3, 50), (4, 0)]]);
    }

    #[test]
    fn a_run_fills_its_datagram_to_the_last_byte() {
        // 128 = header 31, map 1, lengths 2, data 94.
        let packets = packetise(&frame(&[48, 46]), 0, 128);
        assert_eq!(contents(&packets, 128), [[(0, 48), (1, 46)]]);
        let packets = packetise(&frame(&[48, 47]), 0, 128);
        assert_eq!(contents(&packets, 128), [[(0, 48)], [(1, 47)]]);
    }

    #[test]
    fn coarse_blocks_have_datagrams_of_their_own() {
        let packets = packetise(&frame(&[10, 0, 20, 10]), 2, 128);
        assert_eq!(contents(&packets, 128), [[(0, 10), (1, 0)], [(2, 20), (3, 10)]]);
    }

    #[test]
    fn a_large_block_goes_in_even_parts() {
        let packets = packetise(&frame(&[5, 100, 6]), 0, 0);
        assert_eq!(contents(&packets, 128), [[(0, 5)], [(1, 50)], [(1, 50)], [(2, 6)]]);
    }

    #[test]
    fn an_empty_picture_is_a_map() {
        let packets = packetise(&frame(&[0; 2_000]), 0, 128);
        assert_eq!(packets.iter().map(Packet::bytes).collect::<Vec<_>>(), [128, 128, 31 + 56]);
        assert_eq!(packets.iter().map(|packet| packet.begins_before(97 * 8)).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn blocks_without_bytes_take_none_of_a_predicted_frame() {
        let packets = packetise(&CodedFrame { reference: 1, ..frame(&[0; 2_000]) }, 0, 128);
        assert_eq!(packets.iter().map(Packet::bytes).collect::<Vec<_>>(), [32]);
        let mut lens = [0; 2_000];
        (lens[700], lens[1_100], lens[1_999]) = (40, 50, 1);
        let packets = packetise(&CodedFrame { reference: 1, ..frame(&lens) }, 0, 128);
        let whole = [(700, 40), (1_100, 50), (1_999, 1)];
        let blocks =
            contents(&packets, 128).into_iter().map(|run| run.into_iter().filter(|&(_, len)| len > 0).collect());
        assert_eq!(blocks.collect::<Vec<Vec<_>>>(), [&whole[..2], &whole[2..]]);
        let begins = packets.iter().map(|packet| packet.begins_before(1_101)).collect::<Vec<_>>();
        assert_eq!(begins, [true, false], "the blocks behind the last one that fits go with it");
    }

    #[test]
    fn a_block_beyond_the_format_becomes_zero() {
        let packets = packetise(&frame(&[BLOCK_BYTES_MAX + 1, 3]), 0, 1_000);
        assert_eq!(contents(&packets, 1_000), [[(0, 0), (1, 3)]]);
        let packets = packetise(&frame(&[BLOCK_BYTES_MAX]), 0, 40_000);
        assert_eq!(contents(&packets, 40_000), [[(0, BLOCK_BYTES_MAX)]]);
    }
}
