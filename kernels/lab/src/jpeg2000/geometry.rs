//! Places of everything: components, resolutions, bands, precincts and code-blocks (ISO/IEC 15444-1, annex B).

/// A part of a plane, the ends left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x0: u32,
    pub(super) y0: u32,
    pub(super) x1: u32,
    pub(super) y1: u32,
}

impl Area {
    pub(super) fn width(&self) -> usize {
        (self.x1 - self.x0) as usize
    }

    pub(super) fn height(&self) -> usize {
        (self.y1 - self.y0) as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.x0 >= self.x1 || self.y0 >= self.y1
    }

    fn map(self, x: impl Fn(u32) -> u32, y: impl Fn(u32) -> u32) -> Self {
        Self { x0: x(self.x0), y0: y(self.y0), x1: x(self.x1), y1: y(self.y1) }
    }

    /// Returns what both have; one of no width or height if there is nothing.
    fn common(self, other: Self) -> Self {
        let (x0, y0) = (self.x0.max(other.x0), self.y0.max(other.y0));
        Self { x0, y0, x1: self.x1.min(other.x1).max(x0), y1: self.y1.min(other.y1).max(y0) }
    }

    /// Returns the samples of a component that is sub-sampled by `step`.
    pub(super) fn sampled(self, step: (u8, u8)) -> Self {
        self.map(|x| x.div_ceil(step.0.into()), |y| y.div_ceil(step.1.into()))
    }

    /// Returns the low band after `levels`.
    pub(super) fn reduced(self, levels: u8) -> Self {
        let part = |at: u32| u64::from(at).div_ceil(1 << levels) as u32;
        self.map(part, part)
    }
}

/// Kind of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subband {
    /// Low both ways.
    Low,
    /// High along rows.
    Horizontal,
    /// High along columns.
    Vertical,
    /// High both ways.
    Diagonal,
}

impl Subband {
    /// The bands of a level but the low one, in the order of the code-stream.
    const DETAIL: [Self; 3] = [Self::Horizontal, Self::Vertical, Self::Diagonal];

    /// Returns whether it is high along rows and along columns.
    pub(super) const fn is_high(self) -> (bool, bool) {
        (matches!(self, Self::Horizontal | Self::Diagonal), matches!(self, Self::Vertical | Self::Diagonal))
    }

    /// Returns the bits that it has more than a sample.
    pub(super) const fn gain(self) -> u8 {
        let (x, y) = self.is_high();
        x as u8 + y as u8
    }
}

/// A band of a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct BandPlace {
    pub(super) band: Subband,
    /// Levels down to it.
    pub(super) level: u8,
    pub(super) area: Area,
    /// Its number among all bands of the component.
    pub(super) index: usize,
}

/// A code-block in its band, from the band's corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The blocks of a band in a precinct, row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) blocks: Vec<BlockPlace>,
}

/// A resolution of a component.
#[derive(Clone, Debug)]
pub(super) struct Resolution {
    pub(super) area: Area,
    /// Exponents of a precinct's width and height.
    precinct: (u8, u8),
    /// Exponents of a code-block's.
    block: (u8, u8),
    /// Precincts in a row and in a column.
    pub(super) precincts: (usize, usize),
    pub(super) bands: Vec<BandPlace>,
}

/// Exponents that a component is cut by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    pub(super) levels: u8,
    pub(super) block: (u8, u8),
    /// Of each resolution; the largest if there is none.
    pub(super) precincts: Vec<(u8, u8)>,
}

/// The exponent of precincts that hold everything.
pub(super) const WHOLE: u8 = 15;

/// Returns the resolutions of a component's `area`, the smallest first.
pub(super) fn resolutions(area: Area, cuts: &Cuts) -> Vec<Resolution> {
    let resolution = |r: u8| {
        let level = cuts.levels - r + u8::from(r > 0);
        let kinds: &[Subband] = if r == 0 { &[Subband::Low] } else { &Subband::DETAIL };
        let place = |(at, &band): (usize, &Subband)| {
            let (x, y) = band.is_high();
            let part = |at: u32, is_high: bool| {
                let middle = if is_high { 1_u64 << (level - 1) } else { 0 };
                u64::from(at).saturating_sub(middle).div_ceil(1 << level) as u32
            };
            let index = if r == 0 { 0 } else { 3 * usize::from(r) - 2 + at };
            BandPlace { band, level, area: area.map(|at| part(at, x), |at| part(at, y)), index }
        };
        let own = area.reduced(cuts.levels - r);
        let precinct = cuts.precincts.get(usize::from(r)).copied().unwrap_or((WHOLE, WHOLE));
        let count = |start: u32, end: u32, exponent: u8| match start < end {
            true => (u64::from(end).div_ceil(1 << exponent) - u64::from(start >> exponent)) as usize,
            false => 0,
        };
        let precincts = match own.is_empty() {
            true => (0, 0),
            false => (count(own.x0, own.x1, precinct.0), count(own.y0, own.y1, precinct.1)),
        };
        // A band of a higher resolution has half of it each way.
        let inner = |exponent: u8| exponent.saturating_sub(u8::from(r > 0));
        let block = (cuts.block.0.min(inner(precinct.0)), cuts.block.1.min(inner(precinct.1)));
        Resolution { area: own, precinct, block, precincts, bands: kinds.iter().enumerate().map(place).collect() }
    };
    (0..=cuts.levels).map(resolution).collect()
}

impl Resolution {
    /// Returns the number of its precincts.
    pub(super) fn precinct_count(&self) -> u64 {
        (self.precincts.0 as u64).saturating_mul(self.precincts.1 as u64)
    }

    /// Returns at least as many blocks as it has.
    pub(super) fn block_count(&self) -> u64 {
        let side =
            |length: usize, exponent: u8, precincts: usize| (length as u64 >> exponent) + 2 * precincts as u64 + 1;
        let (columns, rows) = self.precincts;
        let of = |band: &BandPlace| {
            let columns = side(band.area.width(), self.block.0, columns);
            columns.saturating_mul(side(band.area.height(), self.block.1, rows))
        };
        if self.precinct_count() == 0 { 0 } else { self.bands.iter().map(of).fold(0, u64::saturating_add) }
    }

    /// Returns the corner of a precinct's place in this resolution.
    fn corner(&self, precinct: usize) -> (u64, u64) {
        let (column, row) = (precinct % self.precincts.0.max(1), precinct / self.precincts.0.max(1));
        let at = |start: u32, exponent: u8, index: usize| (u64::from(start >> exponent) + index as u64) << exponent;
        (at(self.area.x0, self.precinct.0, column), at(self.area.y0, self.precinct.1, row))
    }

    /// Returns where a precinct begins in the picture, `(y, x)`, of a component with `step` of a tile whose corner is `tile`;
    /// `above` is the number of levels from here to the whole picture.
    pub(super) fn position(&self, precinct: usize, above: u8, step: (u8, u8), tile: (u32, u32)) -> (u64, u64) {
        let (x, y) = self.corner(precinct);
        let place = |at: u64, start: u32, step: u8, tile: u32| match at < u64::from(start) {
            true => u64::from(tile),
            false => ((at * u64::from(step)) << above).max(tile.into()),
        };
        (place(y, self.area.y0, step.1, tile.1), place(x, self.area.x0, step.0, tile.0))
    }

    /// Returns the blocks of `band` in a precinct.
    pub(super) fn grid(&self, band: &BandPlace, precinct: usize) -> Grid {
        let (x, y) = self.corner(precinct);
        let shift = u8::from(band.band != Subband::Low);
        let part = |at: u64| (at >> shift).min(u32::MAX.into()) as u32;
        let (width, height) = (1_u64 << self.precinct.0, 1_u64 << self.precinct.1);
        let own = Area { x0: part(x), y0: part(y), x1: part(x + width), y1: part(y + height) }.common(band.area);
        if own.is_empty() {
            return Grid::default();
        }
        let cells = |start: u32, end: u32, exponent: u8| start >> exponent..=(end - 1) >> exponent;
        let (columns, rows) = (cells(own.x0, own.x1, self.block.0), cells(own.y0, own.y1, self.block.1));
        let place = |column: u32, row: u32| {
            let end = |cell: u32, exponent: u8| ((u64::from(cell) + 1) << exponent).min(u32::MAX.into()) as u32;
            let (x0, y0) = (column << self.block.0, row << self.block.1);
            let cell = Area { x0, y0, x1: end(column, self.block.0), y1: end(row, self.block.1) }.common(own);
            BlockPlace {
                x: (cell.x0 - band.area.x0) as usize,
                y: (cell.y0 - band.area.y0) as usize,
                width: cell.width(),
                height: cell.height(),
            }
        };
        let (wide, high) = (columns.clone().count(), rows.clone().count());
        let blocks = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
        Grid { columns: wide, rows: high, blocks: blocks.map(|(column, row)| place(column, row)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_precincts_cover_every_coefficient_once() {
        for (area, precincts) in [
            (Area { x0: 0, y0: 0, x1: 133, y1: 71 }, vec![]),
            (Area { x0: 0, y0: 0, x1: 1, y1: 1 }, vec![]),
            (Area { x0: 17, y0: 5, x1: 200, y1: 99 }, vec![(4, 5), (5, 5), (6, 4), (3, 7)]),
        ] {
            let cuts = Cuts { levels: 3, block: (4, 3), precincts };
            let mut coefficients = 0;
            for resolution in resolutions(area, &cuts) {
                for band in &resolution.bands {
                    let mut covered = vec![0; band.area.width() * band.area.height()];
                    for precinct in 0..resolution.precinct_count() as usize {
                        for block in resolution.grid(band, precinct).blocks {
                            for y in block.y..block.y + block.height {
                                let row = &mut covered[y * band.area.width()..];
                                row[block.x..block.x + block.width].iter_mut().for_each(|times| *times += 1);
                            }
                        }
                    }
                    assert!(covered.iter().all(|&times| times == 1));
                    coefficients += covered.len();
                }
            }
            assert_eq!(coefficients, area.width() * area.height());
        }
    }
}
