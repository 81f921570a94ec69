//! The `.duet` file: stream parameters, then frames as their bytes would go on the wire.
//!
//! ```text
//! "DUET"  u16 version  stream parameters (25 bytes)
//! per frame: u32 length of what follows, u8 step, u24 fine blocks, one run of all blocks
//! ```
//! A frame of a profile with prediction has one byte more in front, how many frames before it its reference is (0: it has
//! none); with a reference, the run holds the slices of vectors and then the blocks. These numbers are little-endian. What follows the length is the profile's: a frame of the profile `pcwt` is bytes that
//! only its decoder reads.

use std::io::{self, Write};

use crate::coded::{CodedFrame, FrameHeader, PredictedFrame, StepIndex};
use crate::params::StreamParams;
use crate::pyramid::BlockLayout;
use crate::vectors::VectorLayout;
use crate::wire::DecodeError;
use crate::wire::params::PARAMS_BYTES;
use crate::wire::run::{FRAME_HEADER_BYTES, Run, write_run};

/// Version of the file and of the coded frames in it.
pub const FILE_VERSION: u16 = 2;

const MAGIC: &[u8; 4] = b"DUET";
const HEADER_BYTES: usize = MAGIC.len() + 2 + PARAMS_BYTES;

/// Writes the head of a file.
pub fn write_header(params: &StreamParams, out: &mut impl Write) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&FILE_VERSION.to_le_bytes())?;
    out.write_all(&params.to_bytes())
}

/// Writes one frame: four bytes of length and [`crate::wire::run::coded_size`] bytes.
pub fn write_frame(frame: &CodedFrame, out: &mut impl Write) -> io::Result<()> {
    write_frame_after(Vec::new(), frame, out)
}

/// Writes one frame of a profile with prediction: four bytes of length, the reference, and
/// [`crate::wire::run::coded_size`] bytes.
pub fn write_predicted_frame(frame: &PredictedFrame, out: &mut impl Write) -> io::Result<()> {
    write_frame_after(vec![frame.reference], &frame.frame, out)
}

fn write_frame_after(mut bytes: Vec<u8>, frame: &CodedFrame, out: &mut impl Write) -> io::Result<()> {
    let [a, b, c, _] = frame.header.fine_blocks.to_le_bytes();
    bytes.extend([frame.header.step.index(), a, b, c]);
    write_run(frame, 0..frame.block_count(), &mut bytes);
    write_frame_bytes(&bytes, out)
}

/// Writes one frame that is not made of blocks: four bytes of length and `bytes`, less than 4 GiB.
pub fn write_frame_bytes(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("a frame takes less than 4 GiB"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(bytes)
}

/// Reads a file that lies in memory.
#[derive(Clone, Debug)]
pub struct ContainerReader<'a> {
    params: StreamParams,
    blocks: usize,
    rest: &'a [u8],
}

impl<'a> ContainerReader<'a> {
    /// Checks the head of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (head, rest) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or(DecodeError::Malformed("not a .duet file: it is shorter than the head of one"))?;
        let Some([low, high, params @ ..]) = head.strip_prefix(MAGIC) else {
            return Err(DecodeError::Malformed("not a .duet file: it does not begin with `DUET`"));
        };
        let found = u16::from_le_bytes([*low, *high]);
        if found != FILE_VERSION {
            return Err(DecodeError::FileVersion { found });
        }
        let params = StreamParams::from_bytes(params)?;
        Ok(Self { params, blocks: BlockLayout::new(&params).blocks().len(), rest })
    }

    /// The stream's parameters.
    pub fn params(&self) -> &StreamParams {
        &self.params
    }

    /// The next frame; `None` at the end of the file.
    pub fn next_frame(&mut self) -> Result<Option<CodedFrame>, DecodeError> {
        let mut ahead = self.clone();
        let frame = ahead.next_frame_bytes()?.map(|bytes| parse_frame(bytes, self.blocks)).transpose()?;
        *self = ahead;
        Ok(frame)
    }

    /// The next frame of a profile with prediction; `None` at the end of the file.
    pub fn next_predicted_frame(&mut self) -> Result<Option<PredictedFrame>, DecodeError> {
        let mut ahead = self.clone();
        let parse = |bytes: &[u8]| -> Result<PredictedFrame, DecodeError> {
            let cut = DecodeError::Malformed("a frame is shorter than its header");
            let (&reference, bytes) = bytes.split_first().ok_or(cut)?;
            let slices = if reference == 0 { 0 } else { VectorLayout::new(self.params.size).slices() };
            Ok(PredictedFrame { reference, frame: parse_frame(bytes, slices + self.blocks)? })
        };
        let frame = ahead.next_frame_bytes()?.map(parse).transpose()?;
        *self = ahead;
        Ok(frame)
    }

    /// The bytes of the next frame, whatever its profile; `None` at the end of the file.
    pub fn next_frame_bytes(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let cut = DecodeError::Malformed("the file ends inside a frame");
        let (len, rest) = self.rest.split_first_chunk::<4>().ok_or(cut.clone())?;
        let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or(cut)?;
        self.rest = rest;
        Ok(Some(bytes))
    }
}

fn parse_frame(bytes: &[u8], blocks: usize) -> Result<CodedFrame, DecodeError> {
    let ([step, a, b, c], run) = bytes
        .split_first_chunk::<FRAME_HEADER_BYTES>()
        .ok_or(DecodeError::Malformed("a frame is shorter than its header"))?;
    let step = StepIndex::new(*step).ok_or(DecodeError::Malformed("a frame's step is beyond the coarsest"))?;
    let header = FrameHeader { step, fine_blocks: u32::from_le_bytes([*a, *b, *c, 0]) };
    let mut frame = CodedFrame { header, ends: Vec::with_capacity(blocks), data: Vec::with_capacity(run.len()) };
    for block in Run::parse(run, blocks)? {
        frame.data.extend_from_slice(block);
        frame.ends.push(frame.data.len() as u32);
    }
    Ok(frame)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::frame::{Chroma, ColourSpace, FrameSize};
    use crate::params::CodecParams;
    use crate::units::FrameRate;
    use crate::wire::run::coded_size;

    fn file() -> (Vec<CodedFrame>, Vec<u8>) {
        let params = StreamParams {
            size: FrameSize::new(40, 33).unwrap(),
            frame_rate: FrameRate::new(30, 1).unwrap(),
            chroma: Chroma::Grey,
            colour: ColourSpace::JPEG,
            codec: CodecParams::default(),
        };
        let blocks = BlockLayout::new(&params).blocks().len();
        let header = FrameHeader { step: StepIndex::MAX, fine_blocks: 2 };
        let full = CodedFrame {
            header,
            ends: (1..=blocks as u32).map(|block| block * 200).collect(),
            data: (0..200 * blocks).map(|at| at as u8).collect(),
        };
        let empty = CodedFrame { header, ends: vec![0; blocks], data: vec![] };
        let mut bytes = Vec::new();
        write_header(&params, &mut bytes).unwrap();
        write_frame(&full, &mut bytes).unwrap();
        write_frame(&empty, &mut bytes).unwrap();
        (vec![full, empty], bytes)
    }

    fn read(bytes: &[u8]) -> Result<Vec<CodedFrame>, DecodeError> {
        let mut reader = ContainerReader::new(bytes)?;
        std::iter::from_fn(|| reader.next_frame().transpose()).collect()
    }

    #[test]
    fn frames_come_back_and_the_length_is_the_coded_size() {
        let (frames, bytes) = file();
        assert_eq!(bytes.len(), HEADER_BYTES + frames.iter().map(|frame| 4 + coded_size(frame)).sum::<usize>());
        assert_eq!(read(&bytes).unwrap(), frames);
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_except_between_frames() {
        let (frames, bytes) = file();
        let whole = [HEADER_BYTES, HEADER_BYTES + 4 + coded_size(&frames[0])];
        for len in 0..bytes.len() {
            assert_eq!(read(&bytes[..len]).is_ok(), whole.contains(&len), "{len}");
        }
    }

    #[test]
    fn frames_of_any_bytes_come_back() {
        let (_, file) = file();
        let mut bytes = file[..HEADER_BYTES].to_vec();
        for frame in [&b"any"[..], b""] {
            write_frame_bytes(frame, &mut bytes).unwrap();
        }
        let mut reader = ContainerReader::new(&bytes).unwrap();
        assert_eq!(reader.next_frame_bytes().unwrap(), Some(&b"any"[..]));
        assert_eq!(reader.next_frame_bytes().unwrap(), Some(&b""[..]));
        assert_eq!(reader.next_frame_bytes().unwrap(), None);
    }

    #[test]
    fn predicted_frames_come_back_with_their_vectors() {
        let (frames, file) = file();
        let slices = [b"vectors".to_vec()];
        let predicted = [PredictedFrame::new(0, &[], &frames[0]), PredictedFrame::new(3, &slices, &frames[0])];
        assert_eq!(predicted[1].frame.block(0), b"vectors");
        assert_eq!(predicted[1].frame.block(1), frames[0].block(0));
        let mut bytes = file[..HEADER_BYTES].to_vec();
        for frame in &predicted {
            write_predicted_frame(frame, &mut bytes).unwrap();
        }
        let mut reader = ContainerReader::new(&bytes).unwrap();
        for frame in predicted {
            assert_eq!(reader.next_predicted_frame().unwrap(), Some(frame));
        }
        assert_eq!(reader.next_predicted_frame().unwrap(), None);
        bytes.truncate(HEADER_BYTES);
        bytes.extend([0; 4]);
        assert!(ContainerReader::new(&bytes).unwrap().next_predicted_frame().is_err(), "not even a header");
    }

    #[test]
    fn another_version_is_named() {
        let (_, mut bytes) = file();
        for found in [1, 9] {
            bytes[4] = found;
            let error = read(&bytes).unwrap_err();
            assert_eq!(error, DecodeError::FileVersion { found: found.into() });
            let sentence = format!("this is a .duet file of version {found}, and this program reads version 2");
            assert!(error.to_string().starts_with(&sentence), "{error}");
        }
    }
}
