//! A coefficient's knowledge of its neighbours, and the contexts that follow from it (tables D.1 to D.4).

use crate::jpeg2000::geometry::Subband;

const N: u16 = 1;
const S: u16 = 1 << 1;
const W: u16 = 1 << 2;
const E: u16 = 1 << 3;
const NW: u16 = 1 << 4;
const NE: u16 = 1 << 5;
const SW: u16 = 1 << 6;
const SE: u16 = 1 << 7;
/// Significant neighbours.
pub(super) const NEIGHBOURS: u16 = 0xff;
/// The places of the signs of N, S, W, E.
const SIGNS: u32 = 8;
pub(super) const SIGNIFICANT: u16 = 1 << 12;
/// Coded in this plane's first pass.
pub(super) const VISITED: u16 = 1 << 13;
pub(super) const REFINED: u16 = 1 << 14;
/// All that a neighbour below tells.
const BELOW: u16 = S | SW | SE | S << SIGNS;

/// The flags of a block's coefficients, with a border of one.
pub(super) struct Flags {
    pub(super) stride: usize,
    flags: Vec<u16>,
}

impl Flags {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { stride: width + 2, flags: vec![0; (width + 2) * (height + 2)] }
    }

    /// Returns the place of a coefficient.
    pub(super) fn place(&self, x: usize, y: usize) -> usize {
        (y + 1) * self.stride + x + 1
    }

    pub(super) fn get(&self, place: usize) -> u16 {
        self.flags[place]
    }

    /// Returns the same as if the rows below were not there.
    pub(super) fn get_causal(&self, place: usize) -> u16 {
        self.flags[place] & !BELOW
    }

    pub(super) fn set(&mut self, place: usize, flag: u16) {
        self.flags[place] |= flag;
    }

    pub(super) fn clear(&mut self, place: usize, flag: u16) {
        self.flags[place] &= !flag;
    }

    /// Makes a coefficient significant, which its neighbours note.
    pub(super) fn set_significant(&mut self, place: usize, is_negative: bool) {
        let (stride, sign) = (self.stride, u16::from(is_negative) << SIGNS);
        let [above, own, below] = [place - stride, place, place + stride].map(|at| at - 1);
        let mut row = |at: usize, flags: [u16; 3]| {
            self.flags[at..at + 3].iter_mut().zip(flags).for_each(|(here, flag)| *here |= flag);
        };
        row(above, [SE, S | (sign * S), SW]);
        row(own, [E | (sign * E), SIGNIFICANT, W | (sign * W)]);
        row(below, [NE, N | (sign * N), NW]);
    }
}

type Table = [u8; 256];

static LOW_OR_VERTICAL: Table = significance(false, false);
static HORIZONTAL: Table = significance(true, false);
static DIAGONAL: Table = significance(false, true);

/// Returns the contexts of significance in a band, by the significant neighbours.
pub(super) fn significance_of(band: Subband) -> &'static Table {
    match band {
        Subband::Low | Subband::Vertical => &LOW_OR_VERTICAL,
        Subband::Horizontal => &HORIZONTAL,
        Subband::Diagonal => &DIAGONAL,
    }
}

const fn count(flags: u16, of: u16) -> u32 {
    (flags & of).count_ones()
}

const fn significance(exchanged: bool, diagonal: bool) -> Table {
    let mut table = [0; 256];
    let mut flags = 0;
    while flags < 256 {
        let at = flags as u16;
        let (mut h, mut v, d) = (count(at, W | E), count(at, N | S), count(at, NW | NE | SW | SE));
        if exchanged {
            (h, v) = (v, h);
        }
        table[flags] = if diagonal {
            match (d, h + v) {
                (3.., _) => 8,
                (2, 1..) => 7,
                (2, 0) => 6,
                (1, 2..) => 5,
                (1, 1) => 4,
                (1, 0) => 3,
                (_, 2..) => 2,
                (_, more) => more as u8,
            }
        } else {
            match (h, v, d) {
                (2, ..) => 8,
                (1, 1.., _) => 7,
                (1, 0, 1..) => 6,
                (1, ..) => 5,
                (_, 2, _) => 4,
                (_, 1, _) => 3,
                (_, _, 2..) => 2,
                (_, _, more) => more as u8,
            }
        };
        flags += 1;
    }
    table
}

/// Context of a sign, and whether the decision is the opposite of it.
static SIGN: [(u8, bool); 256] = signs();

const fn signs() -> [(u8, bool); 256] {
    let mut table = [(0, false); 256];
    let mut at = 0;
    while at < 256 {
        let (there, negative) = (at as u16 & 15, at as u16 >> 4);
        let h = one(there, negative, W) + one(there, negative, E);
        let v = one(there, negative, N) + one(there, negative, S);
        let (h, v) = (clamp(h), clamp(v));
        table[at] = match (h, v) {
            (1, 1) => (13, false),
            (1, 0) => (12, false),
            (1, _) => (11, false),
            (0, 1) => (10, false),
            (0, 0) => (9, false),
            (0, _) => (10, true),
            (_, 1) => (11, true),
            (_, 0) => (12, true),
            (_, _) => (13, true),
        };
        at += 1;
    }
    table
}

const fn one(there: u16, negative: u16, of: u16) -> i32 {
    match (there & of != 0, negative & of != 0) {
        (false, _) => 0,
        (true, false) => 1,
        (true, true) => -1,
    }
}

const fn clamp(sum: i32) -> i32 {
    if sum > 1 {
        1
    } else if sum < -1 {
        -1
    } else {
        sum
    }
}

pub(super) fn sign_of(flags: u16) -> (u8, bool) {
    SIGN[usize::from(flags & 15 | (flags >> 4) & 0xf0)]
}

/// Returns the context of a refinement.
pub(super) fn refinement_of(flags: u16) -> u8 {
    match (flags & REFINED != 0, flags & NEIGHBOURS != 0) {
        (true, _) => 16,
        (false, true) => 15,
        (false, false) => 14,
    }
}
