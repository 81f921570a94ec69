//! Places of all subbands and blocks of coefficients: pure integers.
//!
//! A plane of w x h is decomposed in a square of side N = 2^L in Mallat layout: the low band LL top left,
//! HL (horizontal detail) to its right, LH below it, HH diagonally. The square is tiled by blocks of
//! [`BLOCK_SIDE`]; since bands of side 32 and more start at multiples of 32, a block lies in one band,
//! except the *root* block at the origin, which holds all smaller bands.

use crate::frame::{Channel, Chroma, FrameSize};
use crate::params::{Boundary, CodecParams, Levels, Padding, StreamParams, Wavelet};
pub use crate::weights::Orientation;

/// Side of a block of coefficients.
pub const BLOCK_SIDE: usize = 32;

/// A rectangle of a plane, or of coefficients in a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Column of the first coefficient.
    pub x: usize,
    /// Row of the first coefficient.
    pub y: usize,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Geometry of the decomposition of one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pyramid {
    plane: FrameSize,
    side: usize,
    /// `extents[l]` is the width and height of the low band after `l` levels that can be non-zero; `[0]` is the plane.
    extents: Vec<(usize, usize)>,
    /// Lengths of the high half of a row and of a column at level `l >= 1`.
    detail_extents: Vec<(usize, usize)>,
    padding: Padding,
}

/// Number of samples left of sample 2n at which the analysis filters of low and high coefficient n begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterReach {
    /// Samples for the low-pass filter.
    pub low: usize,
    /// Samples for the high-pass filter, whose middle is at 2n + 1.
    pub high: usize,
}

impl FilterReach {
    /// Cohen-Daubechies-Feauveau 9/7: low coefficients read samples 2n-4 to 2n+4, high ones 2n-2 to 2n+4.
    pub const CDF97: Self = Self { low: 4, high: 2 };
    /// Cohen-Daubechies-Feauveau 5/3: low coefficients read samples 2n-2 to 2n+2, high ones 2n to 2n+2.
    pub const CDF53: Self = Self { low: 2, high: 0 };
}

impl Pyramid {
    /// Returns the geometry for a plane of `plane` under `codec`.
    pub fn new(plane: FrameSize, codec: &CodecParams) -> Self {
        let reach = match codec.wavelet {
            Wavelet::Cdf97 => FilterReach::CDF97,
            Wavelet::Cdf53 => FilterReach::CDF53,
        };
        Self::with_reach(plane, codec.levels, codec.boundary, codec.padding, Some(reach))
    }

    /// Returns the geometry for a plane of `plane` under filters that are symmetric about 2n and 2n + 1 and reach that
    /// far; `None` stands for any other filters, of which nothing is assumed.
    pub fn with_reach(
        plane: FrameSize,
        levels: Levels,
        boundary: Boundary,
        padding: Padding,
        reach: Option<FilterReach>,
    ) -> Self {
        let side = plane.width().max(plane.height()).next_power_of_two();
        let full = side.trailing_zeros() as usize;
        let levels = match levels {
            Levels::Full => full,
            Levels::AtMost(levels) => full.min(usize::from(levels)),
        };
        let mut extents = vec![(plane.width(), plane.height())];
        let mut detail_extents = vec![(0, 0)];
        for level in 1..=levels {
            let half = side >> level;
            let (w, h) = extents[level - 1];
            let split = |extent| split_extent(extent, half, padding, boundary, reach);
            let ((low_w, high_w), (low_h, high_h)) = (split(w), split(h));
            extents.push((low_w, low_h));
            detail_extents.push((high_w, high_h));
        }
        Self { plane, side, extents, detail_extents, padding }
    }

    /// Returns the size of the plane.
    pub fn plane(&self) -> FrameSize {
        self.plane
    }

    /// Returns side N of the square, a power of two.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Returns the number of levels.
    pub fn levels(&self) -> usize {
        self.extents.len() - 1
    }

    /// Returns the length of the rows and columns that level `level` (1 = finest) transforms, as (width, height).
    ///
    /// With smooth padding these are the ends at which the boundary extension applies; with zero padding
    /// the boundary is that of the square.
    pub fn transform_extent(&self, level: usize) -> (usize, usize) {
        match self.padding {
            Padding::Smooth => self.extents[level - 1],
            Padding::Zero => (self.side >> (level - 1), self.side >> (level - 1)),
        }
    }

    /// Returns the geometry of the low band after the `dropped` finest levels, at most all, as if it were the plane.
    fn without_finest(&self, dropped: usize) -> Self {
        let plane = self.plane.halved_times(dropped);
        let mut extents = self.extents[dropped..].to_vec();
        // What zero padding spills over the low band's end belongs to no sample.
        extents[0] = (plane.width(), plane.height());
        let detail_extents = self.detail_extents[dropped..].to_vec();
        Self { plane, side: self.side >> dropped, extents, detail_extents, padding: self.padding }
    }

    /// Returns the part of a subband that can be non-zero. `level` is 1 (finest) to [`Self::levels`]; LL exists only at
    /// the last level (at level 0 of a plane that is not decomposed at all it is the plane).
    pub fn band(&self, level: usize, orientation: Orientation) -> Rect {
        let half = self.side >> level;
        let (low_w, low_h) = self.extents[level];
        let (high_w, high_h) = self.detail_extents[level];
        match orientation {
            Orientation::LL => Rect { x: 0, y: 0, width: low_w, height: low_h },
            Orientation::HL => Rect { x: half, y: 0, width: high_w, height: low_h },
            Orientation::LH => Rect { x: 0, y: half, width: low_w, height: high_h },
            Orientation::HH => Rect { x: half, y: half, width: high_w, height: high_h },
        }
    }
}

/// Coefficients of the squares of all channels of pictures of `size`: what a decoder sets memory aside for, up to a
/// small factor, and goes over for every frame, however little of them the picture fills.
pub fn squares(size: FrameSize, chroma: Chroma) -> u64 {
    let planes = chroma.channels().iter().map(|&channel| chroma.plane_size(size, channel));
    planes.map(|plane| (plane.width().max(plane.height()).next_power_of_two() as u64).pow(2)).sum()
}

/// Counts of possibly non-zero (low, high) coefficients of a row of which the first `extent` samples can be.
fn split_extent(
    extent: usize,
    half: usize,
    padding: Padding,
    boundary: Boundary,
    reach: Option<FilterReach>,
) -> (usize, usize) {
    match (padding, boundary, reach) {
        (Padding::Smooth, ..) => (extent.div_ceil(2), extent / 2),
        // The mirror image of zeros is zeros.
        (Padding::Zero, Boundary::Symmetric | Boundary::Zero, Some(reach)) => {
            (half.min((extent + reach.low).div_ceil(2)), half.min((extent + reach.high).div_ceil(2)))
        }
        (Padding::Zero, ..) => (half, half),
    }
}

/// One block of coefficients of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Colour channel.
    pub channel: Channel,
    /// Decomposition level of the whole frame, 1 = finest; the deepest level for the root block.
    pub level: usize,
    /// Band; `LL` for the root block and for blocks of a low band.
    pub orientation: Orientation,
    /// Place in the channel's square; width and height are at most [`BLOCK_SIDE`] and cut to the coefficients that can
    /// be non-zero.
    pub rect: Rect,
    /// Excess of its step index over the frame's: see [`crate::weights`].
    pub coarser: u8,
}

/// Every block of a frame in coding order: coarse bands first, so that a prefix is a softer picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    pyramids: Vec<Pyramid>,
    blocks: Vec<Block>,
    coarse: usize,
    finest: usize,
    dropped: usize,
    frame_blocks: usize,
    size: FrameSize,
}

/// More levels dropped than the transform has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{asked} levels cannot be dropped: a picture of this size and depth has {largest}")]
pub struct TooManyLevels {
    /// Levels that were to be dropped.
    pub asked: usize,
    /// Levels of the plane that has the fewest.
    pub largest: usize,
}

impl BlockLayout {
    /// Returns the layout of the frames of a stream.
    pub fn new(params: &StreamParams) -> Self {
        Self::for_planes(params.size, params.chroma, &params.codec)
    }

    /// Returns the layout for pictures of `size` and `chroma` under `codec`.
    pub fn for_planes(size: FrameSize, chroma: Chroma, codec: &CodecParams) -> Self {
        let channels = chroma.channels();
        let pyramids: Vec<_> = channels.iter().map(|&c| Pyramid::new(chroma.plane_size(size, c), codec)).collect();
        let mut blocks = Vec::new();
        for (&channel, pyramid) in channels.iter().zip(&pyramids) {
            let root = Rect { x: 0, y: 0, width: pyramid.side.min(BLOCK_SIDE), height: pyramid.side.min(BLOCK_SIDE) };
            blocks.push(Block {
                channel,
                level: pyramid.levels(),
                orientation: Orientation::LL,
                rect: root,
                coarser: 0,
            });
        }
        for &channel in channels {
            let pyramid = &pyramids[channel.index()];
            push_band(&mut blocks, pyramid, channel, pyramid.levels(), Orientation::LL, 0);
        }
        let coarse = blocks.len();
        let mut finest = coarse;
        // Band side 32, 64, ..: the same frequencies of all channels together.
        let widest = pyramids.iter().map(|p| p.side / 2).max().unwrap_or(0);
        let mut side = BLOCK_SIDE;
        while side <= widest {
            finest = blocks.len();
            for (&channel, pyramid) in channels.iter().zip(&pyramids) {
                let level = (pyramid.side / side).trailing_zeros() as usize;
                if pyramid.side >= 2 * side && level <= pyramid.levels() {
                    for orientation in [Orientation::HL, Orientation::LH, Orientation::HH] {
                        let octave = level + usize::from(pyramid.plane() != size);
                        let coarser = codec.weights.coarser(octave, orientation, channel != Channel::Y);
                        push_band(&mut blocks, pyramid, channel, level, orientation, coarser);
                    }
                }
            }
            side *= 2;
        }
        let frame_blocks = blocks.len();
        Self { pyramids, blocks, coarse, finest, dropped: 0, frame_blocks, size }
    }

    /// Returns what is left of a frame's layout without the `dropped` finest levels of each plane: the blocks that a
    /// picture of 1/2^`dropped` of the width and height is made of.
    ///
    /// They are the frame's first ones and lie where they lay; only the root block may reach beyond the smaller square,
    /// with what belongs to finer bands. Errors if a plane has fewer levels.
    pub fn without_finest(&self, dropped: usize) -> Result<Self, TooManyLevels> {
        let largest = self.pyramids.iter().map(Pyramid::levels).min().unwrap_or(0);
        if dropped > largest {
            return Err(TooManyLevels { asked: self.dropped + dropped, largest: self.dropped + largest });
        }
        let total = self.dropped + dropped;
        // Bands come from coarse to fine and luma, which has the most levels, is the first channel.
        let stays = |block: &&Block| block.orientation == Orientation::LL || block.level > total;
        let blocks: Vec<_> = self.blocks.iter().take_while(stays).copied().collect();
        Ok(Self {
            pyramids: self.pyramids.iter().map(|pyramid| pyramid.without_finest(dropped)).collect(),
            finest: self.finest.min(blocks.len()),
            blocks,
            coarse: self.coarse,
            dropped: total,
            frame_blocks: self.frame_blocks,
            size: self.size.halved_times(dropped),
        })
    }

    /// Returns the number of finest levels that [`Self::without_finest`] has left out.
    pub fn dropped_levels(&self) -> usize {
        self.dropped
    }

    /// Returns the number of blocks of a whole frame, of which [`Self::blocks`] are the first.
    pub fn frame_blocks(&self) -> usize {
        self.frame_blocks
    }

    /// Returns the size of the picture that the blocks make.
    pub fn picture_size(&self) -> FrameSize {
        self.size
    }

    /// Returns the geometry of each channel, in channel order.
    pub fn pyramids(&self) -> &[Pyramid] {
        &self.pyramids
    }

    /// Returns all blocks in coding order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the number of leading blocks that are coarse: the root blocks and the rest of the low bands. A missing
    /// coarse block is replaced by the last frame's; a missing later block is zero.
    pub fn coarse_blocks(&self) -> usize {
        self.coarse
    }

    /// Returns the index of the first block of the finest bands, those of the highest frequencies of all; if there are
    /// no detail bands, the number of blocks.
    pub fn finest_start(&self) -> usize {
        self.finest
    }
}

/// Appends the blocks of a band except the root block, row by row.
fn push_band(
    blocks: &mut Vec<Block>,
    pyramid: &Pyramid,
    channel: Channel,
    level: usize,
    orientation: Orientation,
    coarser: u8,
) {
    let band = pyramid.band(level, orientation);
    for y in (band.y..band.y + band.height).step_by(BLOCK_SIDE) {
        for x in (band.x..band.x + band.width).step_by(BLOCK_SIDE) {
            let inside_root = x < BLOCK_SIDE && y < BLOCK_SIDE;
            if !inside_root {
                let width = BLOCK_SIDE.min(band.x + band.width - x);
                let height = BLOCK_SIDE.min(band.y + band.height - y);
                blocks.push(Block { channel, level, orientation, rect: Rect { x, y, width, height }, coarser });
            }
        }
    }
}
