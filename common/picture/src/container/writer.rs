//! Writing `.duet` files.

use std::io::{self, Write};

use super::{
    ASPECT, END, FILE_VERSION, FILTER_VERSION, FrameHead, MAGIC, PARTIAL, PARTIAL_LIST, WHOLE, WHOLE_LIST, pieces,
};
use crate::coded::{BlockState, CodedFrame, FrameHeader, ReceivedFrame};
use crate::frame::PixelAspect;
use crate::params::{Profile, StreamParams};
use crate::run::{BLOCK_BYTES_MAX, DirectorySize, Form, map_bytes, write_directory};

/// Writes a file, frame by frame. One that is not finished lacks its end, which a reader says.
#[derive(Debug)]
pub struct ContainerWriter<W> {
    out: W,
    predicts: bool,
    /// The number of the next picture.
    next: u32,
}

impl<W: Write> ContainerWriter<W> {
    /// Writes the head of a file.
    pub fn new(params: &StreamParams, out: W) -> io::Result<Self> {
        let predicts = matches!(params.codec.profile, Profile::Predicted(_));
        let mut writer = Self { out, predicts, next: 0 };
        let mut bytes = MAGIC.to_vec();
        let raster = params.raster.to_bytes();
        let (more, raster) = match params.raster.aspect {
            PixelAspect::SQUARE => (0, &raster[..1]),
            _ => (ASPECT, &raster[..]),
        };
        bytes.extend((more + if predicts { FILTER_VERSION } else { FILE_VERSION }).to_le_bytes());
        bytes.extend(params.to_bytes());
        bytes.extend(raster);
        check(&mut bytes, 0);
        writer.out.write_all(&bytes)?;
        Ok(writer)
    }

    /// Writes the next picture's frame. A reference counts for a profile with prediction only.
    pub fn frame(&mut self, frame: &CodedFrame) -> io::Result<()> {
        let block = |index| match frame.block(index) {
            [] => BlockState::Zero,
            bytes => BlockState::Coded(bytes),
        };
        let (kind, body) = self.blocks(frame.reference, frame.header, frame.block_count(), block);
        self.body(self.next, kind, &body)
    }

    /// Writes the next picture's frame that is not made of blocks, less than 4 GiB.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut body = bytes.to_vec();
        check(&mut body, 0);
        self.body(self.next, WHOLE, &body)
    }

    /// Writes the blocks that have arrived of the frame of picture `number`. Those since the last frame have none, and
    /// the picture before stands for them. `reference` counts for a profile with prediction only.
    ///
    /// Errors: `number` is not beyond the last frame's.
    pub fn received(&mut self, number: u32, reference: u8, frame: &ReceivedFrame) -> io::Result<()> {
        let (kind, body) = self.blocks(reference, frame.header, frame.block_count(), |index| frame.block(index));
        self.body(number, kind, &body)
    }

    /// Returns the number of pictures.
    pub fn pictures(&self) -> u32 {
        self.next
    }

    /// Writes the end of a file of at least `pictures` pictures; where the last ones have no frame, the picture before stands.
    pub fn finish(mut self, pictures: u32) -> io::Result<W> {
        let end = FrameHead { length: 0, number: self.next.max(pictures), kind: END };
        self.out.write_all(&end.to_bytes())?;
        Ok(self.out)
    }

    /// The kind and the bytes of a frame of `count` blocks. A block longer than [`BLOCK_BYTES_MAX`], which no encoder makes,
    /// is written as all zero.
    fn blocks<'a>(
        &self,
        reference: u8,
        header: FrameHeader,
        count: usize,
        block: impl Fn(usize) -> BlockState<'a>,
    ) -> (u8, Vec<u8>) {
        let bytes = |index| match block(index) {
            BlockState::Coded(bytes) if bytes.len() <= BLOCK_BYTES_MAX => bytes,
            _ => &[],
        };
        let mut out = Vec::new();
        if self.predicts {
            out.push(reference);
        }
        let [a, b, c, _] = header.fine_blocks.to_le_bytes();
        out.extend([header.step.index(), a, b, c]);
        let lengths = (0..count).map(|index| bytes(index).len());
        let form = if self.predicts { DirectorySize::of(lengths.clone()).shortest().0 } else { Form::Map };
        write_directory(form, lengths, &mut out);
        let is_missing = |index: &usize| block(*index) == BlockState::Missing;
        let is_partial = (0..count).any(|index| is_missing(&index));
        if is_partial {
            let start = out.len();
            out.resize(start + map_bytes(count), 0);
            (0..count).filter(is_missing).for_each(|index| out[start + index / 8] |= 1 << (index % 8));
        }
        let kind = match (form, is_partial) {
            (Form::Map, false) => WHOLE,
            (Form::Map, true) => PARTIAL,
            (Form::List, false) => WHOLE_LIST,
            (Form::List, true) => PARTIAL_LIST,
        };
        check(&mut out, 0);
        let mut first = 0;
        for (blocks, _) in pieces((0..count).map(|index| bytes(index).len())) {
            let start = out.len();
            (first..first + blocks).for_each(|index| out.extend_from_slice(bytes(index)));
            check(&mut out, start);
            first += blocks;
        }
        (kind, out)
    }

    fn body(&mut self, number: u32, kind: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).map_err(|_| io::Error::other("a frame takes less than 4 GiB"))?;
        let next = number.checked_add(1).filter(|_| number >= self.next);
        let next = next.ok_or_else(|| io::Error::other("a frame is not beyond the one before it"))?;
        // In one piece, which a full disk takes or refuses.
        self.out.write_all(&[&FrameHead { length, number, kind }.to_bytes(), body].concat())?;
        self.next = next;
        Ok(())
    }
}

/// Appends the check of `bytes` from `start` on.
fn check(bytes: &mut Vec<u8>, start: usize) {
    let check = crc32fast::hash(&bytes[start..]);
    bytes.extend(check.to_le_bytes());
}
