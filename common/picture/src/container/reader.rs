//! Reading `.duet` files: what is whole, and what is not.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use super::{
    ASPECT, ASPECT_BYTES, CHECK_BYTES, END, FILE_HEAD_BYTES, FILE_VERSION, FILTER_VERSION, FRAME_HEAD_BYTES, FileError,
    FrameHead, GROUPS_VERSION, MAGIC, PARTIAL, PARTIAL_LIST, UNCHECKED_HEAD_BYTES, UNCHECKED_VERSION, WHOLE_LIST,
    pieces,
};
use crate::coded::{FrameHeader, ReceivedFrame, StepIndex};
use crate::frame::Raster;
use crate::params::{Profile, StreamParams};
use crate::pyramid::BlockLayout;
use crate::run::{FRAME_HEADER_BYTES, Form, RunError, split_directory, split_map};
use crate::vectors::VectorLayout;

/// Bytes that are looked through at once for the next frame behind damage.
const SEARCH_BYTES: usize = 1 << 16;

/// A part of a file, as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A frame, or what is left of it.
    Frame(FileFrame),
    /// A place of which nothing is left.
    Damage(Damage),
}

/// A frame of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFrame {
    /// Number of the picture, from 0. For pictures that have no frame the one before stands.
    pub number: u32,
    /// Its bytes.
    pub content: Content,
}

/// The bytes of a frame, as its profile has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Of `quad`, with prediction or without.
    Blocks {
        /// Number of pictures back to its reference; 0: it has none.
        reference: u8,
        /// Its blocks, without those that are missing or damaged.
        frame: ReceivedFrame,
        /// Number of damaged blocks.
        damaged: usize,
    },
    /// Of `pcwt`.
    Bytes(Vec<u8>),
}

/// A damaged place. As text it goes on from the file's name and a colon.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// These bytes are no frame.
    Bytes {
        /// Range of their bytes in the file.
        at: Range<u64>,
        /// The pictures whose frames should stand before the next frame.
        pictures: Range<u32>,
    },
    /// Nothing can be decoded of this picture's frame.
    Frame(u32),
    /// A frame with this number comes after one with the same or a larger number.
    Order(u32),
    /// It ends before its end, inside or behind the frame before this picture's.
    End(u32),
    /// Something stands behind the end.
    BehindEnd,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { at, pictures } if pictures.is_empty() => {
                write!(out, "bytes {} to {} are damaged", at.start, at.end)
            }
            Self::Bytes { at, pictures } => {
                let (first, last) = (pictures.start, pictures.end - 1);
                write!(out, "bytes {} to {} are damaged, up to frames {first} to {last} are lost", at.start, at.end)
            }
            Self::Frame(number) => write!(out, "frame {number} is damaged, nothing of it can be decoded"),
            Self::Order(number) => write!(out, "frame {number} comes out of order and is left out"),
            Self::End(next) => write!(out, "its end is missing, from about frame {next} on"),
            Self::BehindEnd => write!(out, "something stands behind its end"),
        }
    }
}

/// Reads a file frame by frame. What is damaged is passed over and told. A file that grows meanwhile is read as if it had been
/// cut where its end is met first.
#[derive(Debug)]
pub struct ContainerReader<R> {
    input: R,
    params: StreamParams,
    is_checked: bool,
    blocks: usize,
    /// Bytes that have been read and are not used yet, and where in the file they begin.
    buffer: Vec<u8>,
    offset: u64,
    /// True once the input has ended. It is not asked again: what is written behind that while the file is read would
    /// continue a frame of which a part was taken for the whole.
    is_over: bool,
    /// The number of the next picture.
    next: u32,
    ended: bool,
}

impl<R: Read> ContainerReader<R> {
    /// Reads the head of a file.
    ///
    /// Errors: of reading; of kind `InvalidData` with a [`FileError`], it is no `.duet` file that can be read.
    pub fn new(input: R) -> io::Result<Self> {
        let invalid = |error: FileError| io::Error::new(io::ErrorKind::InvalidData, error);
        let (mut input, mut head) = (input, Vec::new());
        input.by_ref().take(UNCHECKED_HEAD_BYTES as u64).read_to_end(&mut head)?;
        let (bytes, version) = parse_head(&head).map_err(invalid)?;
        let (bytes, is_checked) = (bytes.to_vec(), version != UNCHECKED_VERSION);
        let mut raster = Raster::default();
        if is_checked {
            let has_aspect = [FILE_VERSION, GROUPS_VERSION, FILTER_VERSION].contains(&(version.saturating_sub(ASPECT)));
            let head_bytes = FILE_HEAD_BYTES + if has_aspect { ASPECT_BYTES } else { 0 };
            input.by_ref().take((head_bytes - head.len() + CHECK_BYTES) as u64).read_to_end(&mut head)?;
            let (checked, _) = split_checked(&head, head_bytes).ok_or_else(|| invalid(FileError::Head))?;
            let mut bytes = raster.to_bytes();
            bytes.iter_mut().zip(&checked[FILE_HEAD_BYTES - 1..]).for_each(|(to, from)| *to = *from);
            raster = Raster::from_bytes(&bytes).map_err(|error| invalid(error.into()))?;
        }
        let params = StreamParams::from_bytes(&bytes).map_err(|error| invalid(error.into()))?;
        let params = StreamParams { raster, ..params };
        let (blocks, offset) = (BlockLayout::new(&params).blocks().len(), head.len() as u64);
        let buffer = Vec::new();
        Ok(Self { input, params, is_checked, blocks, buffer, offset, is_over: false, next: 0, ended: false })
    }

    /// Returns the stream's parameters.
    pub fn params(&self) -> &StreamParams {
        &self.params
    }

    /// Returns true if damage can be seen: the file has checks.
    pub fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Returns the number of pictures so far; after the end, of all.
    pub fn pictures(&self) -> u32 {
        self.next
    }

    /// Returns the next part; `None` behind the end.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        if self.ended {
            return Ok(None);
        }
        if !self.is_checked {
            return self.next_unchecked();
        }
        if !self.fill(FRAME_HEAD_BYTES + CHECK_BYTES)? {
            return Ok(self.cut());
        }
        let Some(head) = FrameHead::parse(&self.buffer) else { return self.search().map(Some) };
        self.skip(FRAME_HEAD_BYTES + CHECK_BYTES);
        if head.kind == END {
            return self.end(head).map(|damage| damage.map(Entry::Damage));
        }
        let is_whole = self.fill(head.length as usize)?;
        let body = self.take(head.length as usize);
        if head.number < self.next {
            return Ok(Some(Entry::Damage(Damage::Order(head.number))));
        }
        self.next = head.number.saturating_add(1);
        let parsed = self.content(head.kind, &body);
        if !is_whole && parsed.is_none() {
            return Ok(self.cut());
        }
        // If it is cut, the end of the file is told by the next call.
        Ok(Some(entry(head.number, parsed)))
    }

    /// The next entry of a file without checks.
    fn next_unchecked(&mut self) -> io::Result<Option<Entry>> {
        if !self.fill(4)? {
            self.ended = self.buffer.is_empty();
            return Ok(if self.ended { None } else { self.cut() });
        }
        let length = self.buffer.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
        self.skip(4);
        if !self.fill(length)? {
            return Ok(self.cut());
        }
        let body = self.take(length);
        let number = self.next;
        self.next = number.saturating_add(1);
        let parsed = match self.params.codec.profile {
            Profile::Pcwt => Some(Content::Bytes(body)),
            _ => self.unchecked_blocks(&body).ok(),
        };
        Ok(Some(entry(number, parsed)))
    }

    /// The file is over too soon.
    fn cut(&mut self) -> Option<Entry> {
        self.ended = true;
        Some(Entry::Damage(Damage::End(self.next)))
    }

    fn end(&mut self, head: FrameHead) -> io::Result<Option<Damage>> {
        self.ended = true;
        let known = self.next;
        self.next = known.max(head.number);
        if head.number < known {
            return Ok(Some(Damage::Order(head.number)));
        }
        Ok(self.fill(1)?.then_some(Damage::BehindEnd))
    }

    /// Finds the next head, at least a byte further on.
    fn search(&mut self) -> io::Result<Entry> {
        let start = self.offset;
        self.skip(1);
        let head_bytes = FRAME_HEAD_BYTES + CHECK_BYTES;
        loop {
            let is_more = self.fill(SEARCH_BYTES)?;
            let mut heads = self.buffer.windows(head_bytes).map(FrameHead::parse);
            let found = heads.position(|head| head.is_some_and(|head| head.number >= self.next));
            match found {
                Some(at) => {
                    let head = FrameHead::parse(&self.buffer[at..]);
                    self.skip(at);
                    let pictures = self.next..head.map_or(self.next, |head| head.number);
                    return Ok(Entry::Damage(Damage::Bytes { at: start..self.offset, pictures }));
                }
                None if is_more => self.skip(self.buffer.len() - (head_bytes - 1)),
                None => {
                    self.skip(self.buffer.len());
                    return Ok(Entry::Damage(Damage::Bytes { at: start..self.offset, pictures: self.next..self.next }));
                }
            }
        }
    }

    /// Returns the whole parts of the body of a frame, or of the start of a body; `None`: there is none.
    fn content(&self, kind: u8, body: &[u8]) -> Option<Content> {
        if self.params.codec.profile == Profile::Pcwt {
            return Some(Content::Bytes(split_checked(body, body.len().checked_sub(CHECK_BYTES)?)?.0.to_vec()));
        }
        let (reference, count, header, rest) = self.frame_header(body).ok()?;
        let form = if matches!(kind, WHOLE_LIST | PARTIAL_LIST) { Form::List } else { Form::Map };
        let (lengths, mut rest) = split_directory(form, rest, count).ok()?;
        let mut missing: &[u8] = &[];
        if matches!(kind, PARTIAL | PARTIAL_LIST) {
            (missing, rest) = split_map(rest, count).ok()?;
        }
        let mut rest = split_checked(body, body.len() - rest.len())?.1;
        let is_missing = |index: usize| missing.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1);
        let mut frame = ReceivedFrame::empty(header, count);
        for (index, _) in lengths.iter().enumerate().filter(|&(index, length)| *length == 0 && !is_missing(index)) {
            frame.insert(index, &[]);
        }
        let (mut first, mut damaged) = (0, 0);
        for (blocks, bytes) in pieces(lengths.iter().copied()) {
            let (piece, after) = match split_checked(rest, bytes) {
                Some((piece, after)) => (Some(piece), after),
                None => (None, rest.get(bytes + CHECK_BYTES..).unwrap_or(&[])),
            };
            rest = after;
            let mut at = 0;
            for (index, &length) in lengths[..first + blocks].iter().enumerate().skip(first).filter(|one| *one.1 > 0) {
                match piece.and_then(|piece| piece.get(at..at + length)) {
                    Some(block) => _ = frame.insert(index, block),
                    None => damaged += 1,
                }
                at += length;
            }
            first += blocks;
        }
        rest.is_empty().then_some(Content::Blocks { reference, frame, damaged })
    }

    fn unchecked_blocks(&self, body: &[u8]) -> Result<Content, FileError> {
        let (reference, count, header, rest) = self.frame_header(body)?;
        let (lengths, mut data) = split_directory(Form::Map, rest, count)?;
        let mut frame = ReceivedFrame::empty(header, count);
        for (index, length) in lengths.into_iter().enumerate() {
            let (block, rest) = data.split_at_checked(length).ok_or(RunError::Bytes)?;
            frame.insert(index, block);
            data = rest;
        }
        if !data.is_empty() {
            return Err(RunError::Bytes.into());
        }
        Ok(Content::Blocks { reference, frame, damaged: 0 })
    }

    /// Reference, number of blocks and header of a frame, and what follows them.
    fn frame_header<'a>(&self, body: &'a [u8]) -> Result<(u8, usize, FrameHeader, &'a [u8]), FileError> {
        let cut = FileError::ShorterThanFrameHeader;
        let (reference, rest) = match self.params.codec.profile {
            Profile::Predicted(_) => {
                body.split_first().map(|(&reference, rest)| (reference, rest)).ok_or(cut.clone())?
            }
            _ => (0, body),
        };
        let slices = if reference == 0 { 0 } else { VectorLayout::new(self.params.size).slices() };
        let ([step, a, b, c], rest) = rest.split_first_chunk::<FRAME_HEADER_BYTES>().ok_or(cut)?;
        let step = StepIndex::new(*step).ok_or(FileError::UnknownStep)?;
        let header = FrameHeader { step, fine_blocks: u32::from_le_bytes([*a, *b, *c, 0]) };
        Ok((reference, slices + self.blocks, header, rest))
    }

    /// Reads on until `bytes` are in the buffer; false if there are not so many.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        let lacking = bytes.saturating_sub(self.buffer.len());
        if lacking > 0 && !self.is_over {
            // Grows as bytes come, so that a length alone cannot ask for memory.
            self.is_over = self.input.by_ref().take(lacking as u64).read_to_end(&mut self.buffer)? < lacking;
        }
        Ok(self.buffer.len() >= bytes)
    }

    /// Takes `bytes`, or what there is, from the buffer.
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let bytes = bytes.min(self.buffer.len());
        self.offset += bytes as u64;
        let rest = self.buffer.split_off(bytes);
        std::mem::replace(&mut self.buffer, rest)
    }

    fn skip(&mut self, bytes: usize) {
        self.offset += bytes as u64;
        self.buffer.drain(..bytes);
    }
}

fn entry(number: u32, content: Option<Content>) -> Entry {
    match content {
        Some(content) => Entry::Frame(FileFrame { number, content }),
        None => Entry::Damage(Damage::Frame(number)),
    }
}

/// Splits `length` bytes and their check from `bytes`; `None` if they are not whole.
fn split_checked(bytes: &[u8], length: usize) -> Option<(&[u8], &[u8])> {
    let (piece, rest) = bytes.split_at_checked(length)?;
    let (check, rest) = rest.split_first_chunk::<CHECK_BYTES>()?;
    (crc32fast::hash(piece).to_le_bytes() == *check).then_some((piece, rest))
}

/// The bytes of the parameters, and the version, in the head of a file.
fn parse_head(bytes: &[u8]) -> Result<(&[u8], u16), FileError> {
    let Some(([low, high], params)) = bytes.strip_prefix(MAGIC).and_then(|bytes| bytes.split_first_chunk()) else {
        let is_short = bytes.len() < UNCHECKED_HEAD_BYTES && (bytes.starts_with(MAGIC) || MAGIC.starts_with(bytes));
        return Err(match is_short {
            true => FileError::ShorterThanHead,
            false => FileError::OtherKind,
        });
    };
    let found = u16::from_le_bytes([*low, *high]);
    let mut checked = [FILE_VERSION, GROUPS_VERSION, FILTER_VERSION].into_iter().flat_map(|of| [of, of + ASPECT]);
    if found != UNCHECKED_VERSION && !checked.any(|version| version == found) {
        return Err(FileError::Version { found });
    }
    if bytes.len() < UNCHECKED_HEAD_BYTES {
        return Err(FileError::ShorterThanHead);
    }
    Ok((params, found))
}
