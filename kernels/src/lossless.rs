//! Lossless coding on the processor's cores and by the reference: the reversible colour transform, the 5/3 in integers,
//! and the block coder of the `quad` profile without a quantiser.
//!
//! Blocks are those of a lossy stream, each decodable alone.

use std::time::Instant;

use picture::coded::{BlockState, CodedFrame, FrameHeader, ReceivedFrame, StepIndex};
use picture::params::StreamParams;
use picture::pyramid::{Block, BlockLayout, Pyramid};
use rayon::prelude::*;

use crate::cpu::IntegerCoder;
use crate::reference::quad::{self, Damaged, Shape};
use crate::reference::{check_decode, check_size, rct, rows, store};
use crate::{
    Backend, BackendInfo, DecodeError, DecodeTimes, EncodeError, EncodeTimes, FrameDecoder, FrameEncoder, Picture,
    PictureRef, Target, Transform, Values,
};

/// Blocks that a thread takes at a time.
const BLOCKS_PER_TASK: usize = 8;

/// Codes blocks of integers.
enum LosslessCoder {
    Reference,
    Cpu(Box<IntegerCoder>),
}

impl LosslessCoder {
    /// Returns the coder that belongs to a back end.
    fn of(backend: &BackendInfo) -> Self {
        match backend.kind {
            Backend::Reference => Self::Reference,
            Backend::Cpu | Backend::Opencl => Self::Cpu(Box::new(IntegerCoder::new())),
        }
    }

    fn encode(&mut self, values: &[i32], shape: Shape, out: &mut Vec<u8>) {
        match self {
            Self::Reference => quad::encode(values, shape, out),
            Self::Cpu(coder) => coder.encode(values, shape, out),
        }
    }

    fn decode(&mut self, bytes: &[u8], shape: Shape, values: &mut [i32]) -> Result<(), Damaged> {
        match self {
            Self::Reference => quad::decode(bytes, shape, values),
            Self::Cpu(coder) => coder.decode(bytes, shape, values),
        }
    }
}

/// Returns the coefficients of a block, row by row.
fn load(block: &Block, pyramids: &[Pyramid], squares: &[Vec<i32>]) -> Vec<i32> {
    let channel = block.channel.index();
    rows(block, pyramids[channel].side()).flat_map(|row| &squares[channel][row]).copied().collect()
}

/// Encoder of a lossless stream.
pub(crate) struct LosslessEncoder {
    params: StreamParams,
    layout: BlockLayout,
    transform: Box<dyn Transform>,
    codes: Vec<Vec<u8>>,
    times: EncodeTimes,
}

impl LosslessEncoder {
    /// Creates an encoder for the pictures of a stream, which `transform` transforms.
    pub(crate) fn new(params: &StreamParams, transform: Box<dyn Transform>) -> Self {
        let layout = BlockLayout::new(params);
        let codes = vec![Vec::new(); layout.blocks().len()];
        Self { params: *params, layout, transform, codes, times: EncodeTimes::default() }
    }
}

impl FrameEncoder for LosslessEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        if target != Target::Lossless {
            return Err(EncodeError::WrongTarget { stream: "lossless" });
        }
        check_size(picture, self.params.size, self.params.codec.depth)?;
        let start = Instant::now();
        let planes = Values::I32(rct::planes(picture, self.params.chroma)?);
        let squares = self.transform.forward_planes(&planes)?;
        self.times.transform = start.elapsed();
        let start = Instant::now();
        let (pyramids, backend) = (self.layout.pyramids(), self.transform.backend());
        let squares = squares.squares::<i32>(pyramids)?;
        let blocks = self.codes.par_iter_mut().zip(self.layout.blocks()).with_min_len(BLOCKS_PER_TASK);
        blocks.for_each_init(
            || LosslessCoder::of(backend),
            |coder, (code, block)| {
                code.clear();
                coder.encode(&load(block, pyramids, squares), Shape::from(block), code);
            },
        );
        let header = FrameHeader { step: StepIndex::ONE, fine_blocks: self.codes.len() as u32 };
        let frame = CodedFrame::from_blocks(header, &self.codes);
        self.times.code = start.elapsed();
        Ok(frame)
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        self.transform.backend()
    }
}

/// Decoder of a lossless stream.
pub(crate) struct LosslessDecoder {
    params: StreamParams,
    layout: BlockLayout,
    transform: Box<dyn Transform>,
    /// The coefficients of every block; those of coarse blocks outlive the frame.
    blocks: Vec<Vec<i32>>,
    squares: Values,
    damaged: u64,
    times: DecodeTimes,
}

impl LosslessDecoder {
    /// Creates a decoder for the blocks of `layout`, whose pictures `transform` transforms back. Without the finest
    /// levels too: the 5/3 keeps the range of the samples.
    pub(crate) fn new(params: &StreamParams, layout: BlockLayout, transform: Box<dyn Transform>) -> Self {
        let blocks = layout.blocks().iter().map(|block| vec![0; block.rect.width * block.rect.height]).collect();
        let squares = layout.pyramids().iter().map(|pyramid| vec![0; pyramid.side() * pyramid.side()]).collect();
        let (squares, times) = (Values::I32(squares), DecodeTimes::default());
        Self { params: *params, layout, transform, blocks, squares, damaged: 0, times }
    }

    /// Decodes what has come; returns how many blocks were damaged.
    fn decode_blocks(&mut self, frame: &ReceivedFrame) -> u64 {
        let (coarse, backend) = (self.layout.coarse_blocks(), self.transform.backend());
        let blocks = self.blocks.par_iter_mut().zip(self.layout.blocks()).enumerate().with_min_len(BLOCKS_PER_TASK);
        let damaged = blocks.map_init(
            || (LosslessCoder::of(backend), Vec::new()),
            |(coder, decoded), (index, (values, block))| {
                let state = frame.block(index);
                if let BlockState::Coded(bytes) = state {
                    decoded.resize(values.len(), 0);
                    if coder.decode(bytes, Shape::from(block), decoded).is_ok() {
                        values.copy_from_slice(decoded);
                        return 0;
                    }
                }
                // A damaged block counts as missing.
                if state == BlockState::Zero || index >= coarse {
                    values.fill(0);
                }
                u64::from(matches!(state, BlockState::Coded(_)))
            },
        );
        damaged.sum()
    }
}

impl FrameDecoder for LosslessDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        let start = Instant::now();
        check_decode(frame, out, &self.params, &self.layout)?;
        self.damaged += self.decode_blocks(frame);
        let squares = self.squares.squares_mut::<i32>(self.layout.pyramids())?;
        for (block, values) in self.layout.blocks().iter().zip(&self.blocks) {
            store(values, block, &self.layout, squares);
        }
        self.times.decode = start.elapsed();
        let start = Instant::now();
        let planes = self.transform.inverse(&self.squares)?;
        rct::finish(planes.planes::<i32>(self.layout.pyramids())?, out);
        self.times.inverse = start.elapsed();
        Ok(())
    }

    fn times(&self) -> DecodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        self.transform.backend()
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged
    }
}
