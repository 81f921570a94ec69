//! Plain Rust, one function per stage: the specification that the other back ends are held to.

pub(crate) mod colour;
pub(crate) mod compensate;
pub(crate) mod dering;
pub(crate) mod dwt;
pub(crate) mod effects;
pub(crate) mod quad;
pub(crate) mod quantise;
pub(crate) mod rans;
#[cfg(feature = "lossless")]
pub(crate) mod rct;
pub(crate) mod transform;

use std::ops::Range;
use std::time::Instant;

use picture::coded::{BlockState, CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{BitDepth, FrameSize};
use picture::params::StreamParams;
use picture::pyramid::{Block, BlockLayout};

use crate::lifting::CDF97;
use crate::motion::predictor::{AloneEncoder, ResidualDecoder, ResidualEncoder};
use crate::rate::{BlockCoder, RateControl};
use crate::sample::Sample;
use crate::{
    Backend, BackendInfo, DecodeError, DecodeTimes, DeviceError, EncodeError, EncodeTimes, FrameDecoder, FrameEncoder,
    Picture, PictureError, PictureRef, Target,
};
use quad::Shape;
use quantise::{DeadZone, Quantiser};

/// Returns the description of the back end, chosen for `reason`.
pub fn backend(reason: String) -> BackendInfo {
    BackendInfo { kind: Backend::Reference, device: "one thread".to_owned(), reason }
}

/// Encoder of the reference back end.
#[derive(Debug)]
pub(crate) struct ReferenceEncoder {
    params: StreamParams,
    rate: RateControl,
    blocks: Blocks,
    times: EncodeTimes,
    backend: BackendInfo,
}

impl ReferenceEncoder {
    /// Creates an encoder for the pictures of a stream; `reason` says why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, reason: String) -> Self {
        let layout = BlockLayout::new(params);
        let count = layout.blocks().len();
        let (squares, codes) = (Vec::new(), vec![Vec::new(); count]);
        let blocks = Blocks { layout, squares, codes, dead_zone: DeadZone::OF_PICTURES };
        let times = EncodeTimes::default();
        Self { params: *params, rate: RateControl::new(count, 64), blocks, times, backend: backend(reason) }
    }
}

impl ReferenceEncoder {
    /// Transforms planes of samples, from -128 to 127 each or a residual of that.
    fn transform(&mut self, dead_zone: DeadZone, planes: impl FnOnce() -> Vec<Vec<f32>>) {
        let start = Instant::now();
        self.blocks.dead_zone = dead_zone;
        self.blocks.squares = forward(&planes(), &self.params, &self.blocks.layout);
        self.times.transform = start.elapsed();
    }

    /// Codes what was transformed last.
    fn code(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        let start = Instant::now();
        let header = self.rate.code(&mut self.blocks, target)?;
        let frame = CodedFrame::from_blocks(header, &self.blocks.codes);
        self.times.code = start.elapsed();
        Ok(frame)
    }
}

impl FrameEncoder for ReferenceEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, target: Target) -> Result<CodedFrame, EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        self.transform(DeadZone::OF_PICTURES, || colour::planes(picture, chroma));
        self.code(target)
    }

    fn times(&self) -> EncodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

impl ResidualEncoder for ReferenceEncoder {
    fn take_residual(&mut self, picture: PictureRef<'_>, prediction: &Picture) -> Result<(), EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        self.transform(DeadZone::OF_RESIDUALS, || {
            let mut planes = colour::planes(picture, chroma);
            for (sample, &predicted) in planes.iter_mut().flatten().zip(prediction.data()) {
                *sample -= f32::from(predicted) - 128.0;
            }
            planes
        });
        Ok(())
    }

    fn code_residual(&mut self, target: Target) -> Result<CodedFrame, EncodeError> {
        self.code(target)
    }
}

impl AloneEncoder for ReferenceEncoder {
    fn fits(&mut self, picture: PictureRef<'_>, step: StepIndex, bytes: usize) -> Result<bool, EncodeError> {
        check_picture(picture, self.params.size)?;
        let chroma = self.params.chroma;
        self.transform(DeadZone::OF_PICTURES, || colour::planes(picture, chroma));
        Ok(self.rate.fits(&mut self.blocks, step, bytes)?)
    }
}

/// The coefficients of a frame and the code of its blocks.
#[derive(Debug)]
struct Blocks {
    layout: BlockLayout,
    squares: Vec<Vec<f32>>,
    codes: Vec<Vec<u8>>,
    dead_zone: DeadZone,
}

impl BlockCoder for Blocks {
    fn block_count(&self) -> usize {
        self.codes.len()
    }

    fn code(&mut self, range: Range<usize>, step: StepIndex, lengths: &mut [u32]) -> Result<(), DeviceError> {
        for (index, length) in range.zip(lengths) {
            let block = &self.layout.blocks()[index];
            let quantiser = Quantiser::new(step.coarser_by(block.coarser)).with_dead_zone(self.dead_zone);
            let side = self.layout.pyramids()[block.channel.index()].side();
            let square = &self.squares[block.channel.index()];
            let coefficients: Vec<f32> = rows(block, side).flat_map(|row| &square[row]).copied().collect();
            let quantised = quantiser.quantise_block(&coefficients, Shape::from(block));
            self.codes[index].clear();
            quad::encode(&quantised, Shape::from(block), &mut self.codes[index]);
            *length = self.codes[index].len() as u32;
        }
        Ok(())
    }
}

/// Returns the places of a block's rows in its square.
pub(crate) fn rows(block: &Block, side: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let rect = block.rect;
    (rect.y..rect.y + rect.height).map(move |y| y * side + rect.x..y * side + rect.x + rect.width)
}

/// Copies a block's coefficients to where they lie in the squares, without those beyond.
pub(crate) fn store<T: Copy>(values: &[T], block: &Block, layout: &BlockLayout, squares: &mut [Vec<T>]) {
    let (rect, channel) = (block.rect, block.channel.index());
    let side = layout.pyramids()[channel].side();
    let width = rect.width.min(side - rect.x);
    let below = squares[channel].chunks_exact_mut(side).skip(rect.y);
    for (row, values) in below.zip(values.chunks_exact(rect.width)) {
        row[rect.x..rect.x + width].copy_from_slice(&values[..width]);
    }
}

/// Decoder of the reference back end.
#[derive(Debug)]
pub(crate) struct ReferenceDecoder {
    params: StreamParams,
    layout: BlockLayout,
    squares: Vec<Vec<f32>>,
    damaged: u64,
    times: DecodeTimes,
    backend: BackendInfo,
}

impl ReferenceDecoder {
    /// Creates a decoder for the blocks of `layout`, the stream's or what is left of it without the finest levels;
    /// `reason` says why this back end was chosen.
    pub(crate) fn new(params: &StreamParams, layout: BlockLayout, reason: String) -> Self {
        let squares = layout.pyramids().iter().map(|pyramid| vec![0.0; pyramid.side() * pyramid.side()]).collect();
        let times = DecodeTimes::default();
        Self { params: *params, layout, squares, damaged: 0, times, backend: backend(reason) }
    }
}

impl FrameDecoder for ReferenceDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), DecodeError> {
        let start = Instant::now();
        check_decode(frame, out, &self.params, &self.layout)?;
        self.decode_blocks(frame, self.layout.coarse_blocks());
        self.times.decode = start.elapsed();
        let start = Instant::now();
        colour::finish(&inverse(&self.squares, &self.params, &self.layout), out);
        self.times.inverse = start.elapsed();
        Ok(())
    }

    fn times(&self) -> DecodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged
    }
}

impl ResidualDecoder for ReferenceDecoder {
    fn add_residual(&mut self, frame: &ReceivedFrame, picture: &mut Picture) -> Result<(), DecodeError> {
        check_decode(frame, picture, &self.params, &self.layout)?;
        let start = Instant::now();
        self.decode_blocks(frame, 0);
        self.times.decode = start.elapsed();
        let start = Instant::now();
        let planes = inverse(&self.squares, &self.params, &self.layout);
        for (sample, residual) in picture.data_mut().iter_mut().zip(planes.into_iter().flatten()) {
            *sample = (residual + f32::from(*sample) + 0.5).floor().clamp(0.0, 255.0) as u8;
        }
        self.times.inverse = start.elapsed();
        Ok(())
    }
}

impl ReferenceDecoder {
    /// Decodes the blocks into the squares. Of those missing or damaged the first `kept` stay as they were, others
    /// become zero.
    fn decode_blocks(&mut self, frame: &ReceivedFrame, kept: usize) {
        for (index, block) in self.layout.blocks().iter().enumerate() {
            let shape = Shape::from(block);
            let mut quantised = vec![0; shape.width * shape.height];
            let known = match frame.block(index) {
                BlockState::Missing => false,
                BlockState::Zero => true,
                BlockState::Coded(bytes) => {
                    let whole = quad::decode(bytes, shape, &mut quantised).is_ok();
                    self.damaged += u64::from(!whole);
                    whole
                }
            };
            if !known {
                if index < kept {
                    continue;
                }
                quantised.fill(0);
            }
            let quantiser = Quantiser::new(frame.header.step_of(index).coarser_by(block.coarser))
                .without_levels(self.layout.dropped_levels());
            let coefficients: Vec<_> = quantised.iter().map(|&value| quantiser.dequantise(value)).collect();
            store(&coefficients, block, &self.layout, &mut self.squares);
        }
    }
}

/// Returns the forward transform of the planes of a stream.
fn forward(planes: &[Vec<f32>], params: &StreamParams, layout: &BlockLayout) -> Vec<Vec<f32>> {
    let (steps, boundary) = (f32::steps(&CDF97), params.codec.boundary);
    let channels = planes.iter().zip(layout.pyramids());
    channels.map(|(plane, pyramid)| dwt::forward(plane, pyramid, &steps, boundary)).collect()
}

/// Returns the inverse transform of a picture of a stream.
fn inverse(squares: &[Vec<f32>], params: &StreamParams, layout: &BlockLayout) -> Vec<Vec<f32>> {
    let (steps, boundary) = (f32::steps(&CDF97), params.codec.boundary);
    let channels = squares.iter().zip(layout.pyramids());
    channels.map(|(square, pyramid)| dwt::inverse(square, pyramid, &steps, boundary)).collect()
}

/// Returns [`PictureError::Size`] or [`PictureError::Depth`] unless the picture has the stream's size and 8 bits a
/// sample.
pub fn check_picture(picture: PictureRef<'_>, size: FrameSize) -> Result<(), PictureError> {
    check_size(picture, size, BitDepth::Eight)
}

/// Checks as [`check_picture`] does, for samples of `depth`.
pub fn check_size(picture: PictureRef<'_>, size: FrameSize, depth: BitDepth) -> Result<(), PictureError> {
    if picture.size() != size {
        return Err(PictureError::Size { wanted: size, given: picture.size() });
    }
    if picture.depth() != depth {
        return Err(PictureError::Depth { wanted: depth, given: picture.depth() });
    }
    Ok(())
}

/// Returns an error unless pictures of `size` of a stream decode to such ones.
pub fn check_target(out: &Picture, size: FrameSize, stream: &StreamParams) -> Result<(), PictureError> {
    check_size(out.as_ref(), size, stream.codec.depth)?;
    let wanted = stream.chroma.picture_format();
    if out.format() != wanted {
        return Err(PictureError::Format { wanted, given: out.format() });
    }
    Ok(())
}

/// Returns an error unless the frame and the picture fit the stream.
pub(crate) fn check_decode(
    frame: &ReceivedFrame,
    out: &Picture,
    stream: &StreamParams,
    layout: &BlockLayout,
) -> Result<(), DecodeError> {
    check_target(out, layout.picture_size(), stream)?;
    let (wanted, given) = (layout.frame_blocks(), frame.block_count());
    if wanted != given {
        return Err(DecodeError::BlockCount { wanted, given });
    }
    Ok(())
}
