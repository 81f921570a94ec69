//! The header of a code-stream: sizes, code and quantisation (ISO/IEC 15444-1, annex A).

mod read;
mod write;

pub(crate) use self::read::{Tile, read};
pub(crate) use self::write::write;
use super::progression::Order;
use super::quantise::Quantiser;
use crate::jpeg2000::block::tier1::Style;
use crate::jpeg2000::geometry::{Area, Cuts};

/// Markers.
mod marker {
    pub(crate) const SOC: u16 = 0xff4f;
    pub(crate) const CAP: u16 = 0xff50;
    pub(crate) const SIZ: u16 = 0xff51;
    pub(crate) const COD: u16 = 0xff52;
    pub(crate) const COC: u16 = 0xff53;
    pub(crate) const QCD: u16 = 0xff5c;
    pub(crate) const QCC: u16 = 0xff5d;
    pub(crate) const RGN: u16 = 0xff5e;
    pub(crate) const POC: u16 = 0xff5f;
    pub(crate) const PPM: u16 = 0xff60;
    pub(crate) const PPT: u16 = 0xff61;
    pub(crate) const COM: u16 = 0xff64;
    pub(crate) const SOT: u16 = 0xff90;
    pub(crate) const SOD: u16 = 0xff93;
    pub(crate) const EOC: u16 = 0xffd9;
}

/// A component as the header says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComponentSize {
    /// Bits of a sample, 1 to 38.
    pub(crate) depth: u8,
    pub(crate) is_signed: bool,
    /// Pixels of the picture to one sample, along rows and columns.
    pub(crate) step: (u8, u8),
}

/// Sizes of the picture, its tiles and components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The picture on the grid that all components share.
    pub(crate) picture: Area,
    /// Corner, width and height of the first tile.
    pub(crate) tile: [u32; 4],
    pub(crate) components: Vec<ComponentSize>,
}

impl Sizes {
    /// Returns how many tiles there are in a row and in a column.
    pub(crate) fn tiles(&self) -> (u64, u64) {
        let [x, y, width, height] = self.tile.map(u64::from);
        let count = |end: u32, start: u64, length: u64| u64::from(end).saturating_sub(start).div_ceil(length);
        (count(self.picture.x1, x, width), count(self.picture.y1, y, height))
    }

    /// Returns a tile's part of the picture.
    pub(crate) fn tile_area(&self, index: u64) -> Area {
        let [x, y, width, height] = self.tile.map(u64::from);
        let (column, row) = (index % self.tiles().0.max(1), index / self.tiles().0.max(1));
        let clamp = |at: u64, start: u32, end: u32| at.clamp(start.into(), end.into()) as u32;
        let Area { x0, y0, x1, y1 } = self.picture;
        Area {
            x0: clamp(x + column * width, x0, x1),
            y0: clamp(y + row * height, y0, y1),
            x1: clamp(x + (column + 1) * width, x0, x1),
            y1: clamp(y + (row + 1) * height, y0, y1),
        }
    }
}

/// The code of a component.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComponentCode {
    pub(crate) cuts: Cuts,
    pub(crate) style: Style,
    /// The 5/3 in integers, not the 9/7.
    pub(crate) is_reversible: bool,
    pub(crate) quantiser: Quantiser,
}

/// The code of a tile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TileCode {
    pub(crate) order: Order,
    pub(crate) layers: usize,
    /// The first three components are a colour transform's.
    pub(crate) mixes_colours: bool,
    pub(crate) components: Vec<ComponentCode>,
}

/// Bit of the sizes' segment that says that there are capabilities, and of these the one of Part 15.
const HAS_CAPABILITIES: u16 = 1 << 14;
const PART_15: u32 = 1 << 17;
/// Bits of what Part 15 says of itself: not all blocks are of it, a block has more than one set of passes, and the transform is
/// not reversible. Below are the bits of the largest magnitude.
const MIXED: u16 = 0b11 << 14;
const SEVERAL_SETS: u16 = 1 << 13;
const IRREVERSIBLE: u16 = 1 << 5;
