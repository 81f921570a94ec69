//! Tag trees: numbers of a grid, told as far as they are asked for (ISO/IEC 15444-1, annex B.10.2).

use super::bits::{Ended, StuffedReader, StuffedWriter};

#[derive(Clone, Copy, Debug)]
struct Node {
    value: u32,
    /// It is known to be at least this.
    low: u32,
    is_told: bool,
}

/// A quad tree whose nodes are the least of the numbers below them.
#[derive(Clone, Debug)]
pub(crate) struct TagTree {
    /// Width of each level and its first node, from the leaves to the root.
    levels: Vec<(usize, usize)>,
    nodes: Vec<Node>,
}

impl TagTree {
    /// Returns a tree of unknown numbers.
    pub(crate) fn unknown(width: usize, height: usize) -> Self {
        let (mut levels, mut count, mut size) = (Vec::new(), 0, (width, height));
        loop {
            levels.push((size.0, count));
            count += size.0 * size.1;
            if size.0 * size.1 <= 1 {
                break;
            }
            size = (size.0.div_ceil(2), size.1.div_ceil(2));
        }
        Self { levels, nodes: vec![Node { value: u32::MAX, low: 0, is_told: false }; count] }
    }

    /// Returns the tree of a grid's numbers, row by row.
    pub(crate) fn of(width: usize, height: usize, values: &[u32]) -> Self {
        let mut tree = Self::unknown(width, height);
        for (leaf, &value) in values.iter().enumerate() {
            for at in path(&tree.levels, leaf) {
                tree.nodes[at].value = tree.nodes[at].value.min(value);
            }
        }
        tree
    }

    /// Tells whether a leaf's number is below `threshold`.
    pub(crate) fn write(&mut self, leaf: usize, threshold: u32, bits: &mut StuffedWriter) {
        let mut low = 0;
        for at in path(&self.levels, leaf) {
            let node = &mut self.nodes[at];
            low = node.low.max(low);
            while low < threshold {
                if low >= node.value {
                    if !node.is_told {
                        bits.bit(true);
                        node.is_told = true;
                    }
                    break;
                }
                bits.bit(false);
                low += 1;
            }
            node.low = low;
        }
    }

    /// Reads whether a leaf's number is below `threshold`.
    pub(crate) fn read(&mut self, leaf: usize, threshold: u32, bits: &mut StuffedReader<'_>) -> Result<bool, Ended> {
        let (mut low, mut value) = (0, 0);
        for at in path(&self.levels, leaf) {
            let node = &mut self.nodes[at];
            low = node.low.max(low);
            while low < threshold && low < node.value {
                if bits.bit()? {
                    node.value = low;
                } else {
                    low += 1;
                }
            }
            node.low = low;
            value = node.value;
        }
        Ok(value < threshold)
    }

    /// Returns true if no leaf's number is below `threshold`, as far as is known.
    pub(crate) fn has_none_below(&self, threshold: u32) -> bool {
        self.nodes.last().is_none_or(|root| root.low >= threshold)
    }
}

/// Returns the nodes from the root to a leaf.
fn path(levels: &[(usize, usize)], leaf: usize) -> impl Iterator<Item = usize> {
    let width = levels[0].0.max(1);
    let (x, y) = (leaf % width, leaf / width);
    levels.iter().enumerate().rev().map(move |(level, (width, first))| first + (y >> level) * width + (x >> level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_the_order_they_are_asked_for() {
        for (width, height) in [(1, 1), (3, 2), (6, 3), (16, 17)] {
            let values: Vec<u32> = (0..width * height).map(|at| (at * at * 7 % 11) as u32).collect();
            let (mut known, mut unknown) = (TagTree::of(width, height, &values), TagTree::unknown(width, height));
            let mut bits = StuffedWriter::default();
            let asked = || (1..12).flat_map(|threshold| (0..values.len()).map(move |leaf| (leaf, threshold)));
            asked().for_each(|(leaf, threshold)| known.write(leaf, threshold, &mut bits));
            let bytes = bits.finish();
            let mut bits = StuffedReader::new(&bytes);
            for (leaf, threshold) in asked() {
                assert_eq!(unknown.read(leaf, threshold, &mut bits), Ok(values[leaf] < threshold));
            }
            assert_eq!(bits.finish(), Ok(bytes.len()));
        }
    }
}
