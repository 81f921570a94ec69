//! Places of the elements of the coefficient trees and of their groups: pure integers.
//!
//! An *element* (Ao 2014, section 3.4.1) is 2 x 2 coefficients of a band with their maximum length. Element (x, y) of a
//! band is the child of element (x / 2, y / 2) of the band of the same orientation one level coarser. A *group* is up
//! to [`GROUP_SIDE`] x [`GROUP_SIDE`] elements of a band.

use std::ops::Range;

use picture::pyramid::{Orientation, Pyramid, Rect};

/// Columns and rows of elements of a whole group.
pub(crate) const GROUP_SIDE: usize = 16;

/// The elements of one band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    /// Its coefficients in the square.
    pub(crate) rect: Rect,
    /// Columns of elements: those with coefficients and those with children.
    pub(crate) columns: usize,
    /// Rows of elements.
    pub(crate) rows: usize,
    /// Index of its first element among all of the channel; they follow row by row.
    pub(crate) start: usize,
    /// Position of the band with the parents of its elements; none at the coarsest level.
    pub(crate) parent: Option<usize>,
    /// Position of the band with the children of its elements; none at the finest level and for LL.
    pub(crate) child: Option<usize>,
}

impl Band {
    /// Returns the index of element (x, y) among all of the channel.
    pub(crate) fn element(&self, x: usize, y: usize) -> usize {
        self.start + y * self.columns + x
    }

    /// Columns and rows of the square with the coefficients of element (x, y), which may have none.
    pub(crate) fn coefficients(&self, x: usize, y: usize) -> (Range<usize>, Range<usize>) {
        let range = |at: usize, start: usize, len: usize| start + len.min(2 * at)..start + len.min(2 * at + 2);
        (range(x, self.rect.x, self.rect.width), range(y, self.rect.y, self.rect.height))
    }
}

/// Elements that are coded together, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Position of the band.
    pub(crate) band: usize,
    /// Column and row of the first element in the band.
    pub(crate) x: usize,
    pub(crate) y: usize,
    /// Columns and rows of elements, 1 to [`GROUP_SIDE`].
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Group {
    /// Returns the rows and columns of its elements in the band, row by row.
    pub(crate) fn elements(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (columns, rows) = (self.x..self.x + self.columns, self.y..self.y + self.rows);
        rows.flat_map(move |y| columns.clone().map(move |x| (y, x)))
    }
}

/// Elements at one level of the decomposition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeLevel {
    pub(crate) bands: Range<usize>,
    pub(crate) groups: Range<usize>,
    /// Indices of its elements.
    pub(crate) elements: Range<usize>,
}

/// All elements of a channel, coarse levels first; within a level LL, HL, LH, HH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Side of the square.
    pub(crate) side: usize,
    pub(crate) bands: Vec<Band>,
    pub(crate) groups: Vec<Group>,
    pub(crate) levels: Vec<TreeLevel>,
}

impl Tree {
    /// Returns the trees of a channel with this geometry.
    pub(crate) fn new(pyramid: &Pyramid) -> Self {
        let mut tree = Self { side: pyramid.side(), bands: Vec::new(), groups: Vec::new(), levels: Vec::new() };
        let deepest = pyramid.levels();
        let sizes = [Orientation::HL, Orientation::LH, Orientation::HH].map(|o| (o, element_counts(pyramid, o)));
        for level in (deepest.min(1)..=deepest).rev() {
            let coarsest = level == deepest;
            let mut bands = Vec::new();
            if coarsest {
                let rect = pyramid.band(level, Orientation::LL);
                bands.push((rect, (rect.width.div_ceil(2), rect.height.div_ceil(2)), false));
            }
            if level > 0 {
                bands.extend(sizes.iter().map(|(o, counts)| (pyramid.band(level, *o), counts[level - 1], true)));
            }
            tree.push_level(bands, coarsest, level <= 1);
        }
        tree
    }

    /// Returns the number of elements.
    pub(crate) fn elements(&self) -> usize {
        self.levels.last().map_or(0, |level| level.elements.end)
    }

    /// Appends the next finer level: of each band its coefficients, its columns and rows of elements, and whether it is
    /// a detail band, which has children unless the level is the finest.
    fn push_level(&mut self, bands: Vec<(Rect, (usize, usize), bool)>, coarsest: bool, finest: bool) {
        let (first_band, first_group, first_element) = (self.bands.len(), self.groups.len(), self.elements());
        let mut start = first_element;
        for (rect, (columns, rows), detail) in bands {
            let band = self.bands.len();
            let parent = (!coarsest).then(|| band - 3);
            let child = (detail && !finest).then_some(band + 3);
            self.bands.push(Band { rect, columns, rows, start, parent, child });
            start += columns * rows;
            for y in (0..rows).step_by(GROUP_SIDE) {
                for x in (0..columns).step_by(GROUP_SIDE) {
                    let (columns, rows) = (GROUP_SIDE.min(columns - x), GROUP_SIDE.min(rows - y));
                    self.groups.push(Group { band, x, y, columns, rows });
                }
            }
        }
        let (bands, groups) = (first_band..self.bands.len(), first_group..self.groups.len());
        self.levels.push(TreeLevel { bands, groups, elements: first_element..start });
    }
}

/// Columns and rows of elements of each level's band, finest first: enough for its coefficients and for the parents of
/// all elements one level finer.
fn element_counts(pyramid: &Pyramid, orientation: Orientation) -> Vec<(usize, usize)> {
    let mut finer = (0, 0);
    let count = |level| {
        let rect = pyramid.band(level, orientation);
        let (columns, rows): (usize, usize) = finer;
        finer = (rect.width.div_ceil(2).max(columns.div_ceil(2)), rect.height.div_ceil(2).max(rows.div_ceil(2)));
        finer
    };
    (1..=pyramid.levels()).map(count).collect()
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;
    use picture::params::{CodecParams, Levels, Wavelet};

    use super::*;

    fn tree(width: u32, height: u32, levels: Levels) -> (Pyramid, Tree) {
        let codec = CodecParams { wavelet: Wavelet::Cdf53, levels, ..CodecParams::default() };
        let pyramid = Pyramid::new(FrameSize::new(width, height).unwrap(), &codec);
        let tree = Tree::new(&pyramid);
        (pyramid, tree)
    }

    #[test]
    fn every_coefficient_has_one_element_and_every_element_a_parent() {
        for (width, height) in [(1, 1), (1, 7), (2, 2), (10, 3), (17, 31), (127, 255), (640, 360), (3, 640)] {
            for levels in [Levels::Full, Levels::AtMost(1), Levels::AtMost(3)] {
                let (pyramid, tree) = tree(width, height, levels);
                let mut seen = vec![0; tree.side * tree.side];
                let mut elements = vec![0; tree.elements()];
                for group in &tree.groups {
                    let band = &tree.bands[group.band];
                    for y in group.y..group.y + group.rows {
                        for x in group.x..group.x + group.columns {
                            elements[band.element(x, y)] += 1;
                            let (columns, rows) = band.coefficients(x, y);
                            for row in rows {
                                columns.clone().for_each(|column| seen[row * tree.side + column] += 1);
                            }
                            if let Some(parent) = band.parent.map(|parent| &tree.bands[parent]) {
                                assert!(x / 2 < parent.columns && y / 2 < parent.rows, "{width}x{height} {group:?}");
                                assert!(parent.element(x / 2, y / 2) < band.start);
                            }
                        }
                    }
                }
                assert!(elements.iter().all(|&times| times == 1), "{width}x{height}");
                assert!(seen.iter().all(|&times| times <= 1), "{width}x{height}");
                assert_eq!(seen.iter().sum::<usize>(), pyramid.plane().pixels());
            }
        }
    }

    #[test]
    fn a_level_of_ten_samples_has_parents_beyond_its_coefficients() {
        let (_, tree) = tree(10, 10, Levels::Full);
        let finest = tree.levels.last().unwrap().bands.clone();
        let hl = &tree.bands[finest.start];
        assert_eq!((hl.rect.width, hl.columns), (5, 3));
        let parent = &tree.bands[hl.parent.unwrap()];
        assert_eq!((parent.rect.width, parent.columns, parent.child), (2, 2, Some(finest.start)));
    }
}
