//! Pictures at the size of a window: bilinear where they grow, the average of what falls on a pixel where they shrink.
//!
//! Pixels are 0x00RRGGBB. Weights have 8 bits, and two channels share a multiplication.

use rayon::prelude::*;

use super::simd::multiversion;

/// Weights are parts of this.
const ONE: u32 = 256;
/// Red and blue, or what is left of alpha and green after a shift by 8 bits.
const PAIR: u32 = 0x00ff_00ff;
/// Half a unit in both channels of a pair of sums.
const HALF: u32 = 0x0080_0080;
/// Rows that one thread makes at a time.
const BAND: usize = 45;

/// Scales pictures of one size to another. All memory is set aside when it is made.
#[derive(Debug)]
pub struct Scaler {
    from: (usize, usize),
    to: (usize, usize),
    way: Way,
    bands: Vec<Band>,
}

/// Conversion from one size to the other.
#[derive(Debug)]
enum Way {
    Copy,
    /// For each column and row the first of two neighbours, and the second one's weight.
    Bilinear {
        columns: Neighbours,
        rows: Vec<(usize, u32)>,
    },
    /// For each column and row the first of those that fall on it, and their weights.
    Average {
        columns: Vec<Covered>,
        rows: Vec<Covered>,
    },
}

#[derive(Debug, Default)]
struct Neighbours {
    first: Vec<u32>,
    weights: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Covered {
    first: usize,
    weights: Vec<u32>,
}

/// Rows that a thread works with.
#[derive(Debug, Default)]
struct Band {
    /// Bilinear: two rows of the picture at full width, and which they are. Average: sums of two channels each.
    rows: [Vec<u32>; 2],
    held: [Option<usize>; 2],
}

impl Scaler {
    /// Creates a scaler of pictures of `from` to `to`, both width and height in pixels.
    pub fn new(from: (usize, usize), to: (usize, usize)) -> Self {
        let way = if from == to {
            Way::Copy
        } else if to.0 >= from.0 && to.1 >= from.1 {
            let rows = (0..to.1).map(|row| neighbours(row, from.1, to.1)).collect();
            let (first, weights) = (0..to.0).map(|column| neighbours(column, from.0, to.0)).unzip();
            let first: Vec<usize> = first;
            Way::Bilinear { columns: Neighbours { first: first.iter().map(|&at| at as u32).collect(), weights }, rows }
        } else {
            let covered = |from: usize, to: usize| (0..to).map(|at| covered(at, from, to)).collect();
            Way::Average { columns: covered(from.0, to.0), rows: covered(from.1, to.1) }
        };
        let width = match way {
            Way::Copy => 0,
            Way::Bilinear { .. } => to.0,
            Way::Average { .. } => from.0,
        };
        let band = || Band { rows: [vec![0; width], vec![0; width]], held: [None; 2] };
        let bands = (0..to.1.div_ceil(BAND)).map(|_| band()).collect();
        Self { from, to, way, bands }
    }

    /// Returns the sizes that it was made for.
    pub fn sizes(&self) -> ((usize, usize), (usize, usize)) {
        (self.from, self.to)
    }

    /// Writes `picture` at its new size into `out`, whose rows are `pitch` apart, with its upper left corner at column
    /// `left` and row `top`. What lies around it stays as it is.
    ///
    /// # Panics
    ///
    /// If `picture` has another size or does not fit there.
    pub fn scale(&mut self, picture: &[u32], out: &mut [u32], pitch: usize, (left, top): (usize, usize)) {
        let height = self.to.1;
        assert!((top + height) * pitch <= out.len(), "no room for the scaled picture");
        self.scale_rows(picture, &mut out[top * pitch..][..height * pitch], pitch, left, 0);
    }

    /// Writes the rows of `picture` at its new size from `first` on into `out`, as many as that has; they are `pitch` apart and
    /// begin at column `left`.
    ///
    /// # Panics
    ///
    /// If `picture` has another size or does not fit there.
    pub fn scale_rows(&mut self, picture: &[u32], out: &mut [u32], pitch: usize, left: usize, first: usize) {
        let Self { from, to, way, bands } = self;
        let way = &*way;
        assert!(picture.len() == from.0 * from.1, "a picture of another size");
        assert!(left + to.0 <= pitch && first * pitch + out.len() <= to.1 * pitch, "no room for the scaled picture");
        if to.0 == 0 || to.1 == 0 || picture.is_empty() {
            return;
        }
        let rows = out.par_chunks_mut(BAND * pitch);
        rows.zip(bands.par_iter_mut()).enumerate().for_each(|(number, (out, band))| {
            band.held = [None; 2];
            for (at, out) in out.chunks_exact_mut(pitch).enumerate() {
                let (y, out) = (first + number * BAND + at, &mut out[left..][..to.0]);
                match way {
                    Way::Copy => out.copy_from_slice(&picture[y * from.0..][..from.0]),
                    Way::Bilinear { columns, rows } => band.bilinear(picture, from.0, columns, rows[y], out),
                    Way::Average { columns, rows } => band.average(picture, from.0, columns, &rows[y], out),
                }
            }
        });
    }
}

impl Band {
    fn bilinear(
        &mut self,
        picture: &[u32],
        width: usize,
        columns: &Neighbours,
        (row, weight): (usize, u32),
        out: &mut [u32],
    ) {
        // At the last row the second neighbour has no weight.
        let second = if weight == 0 { row } else { row + 1 };
        for row in [row, second] {
            let place = row % 2;
            if self.held[place] != Some(row) {
                self.held[place] = Some(row);
                let (row, wide) = (&picture[row * width..][..width], &mut self.rows[place]);
                if wide.len() == 2 * width { double(row, wide) } else { widen(row, columns, wide) }
            }
        }
        blend(&self.rows[row % 2], &self.rows[second % 2], weight, out);
    }

    fn average(&mut self, picture: &[u32], width: usize, columns: &[Covered], rows: &Covered, out: &mut [u32]) {
        let [low, high] = &mut self.rows;
        low.fill(HALF);
        high.fill(HALF);
        for (at, &weight) in rows.weights.iter().enumerate() {
            gather(&picture[(rows.first + at) * width..][..width], weight, low, high);
        }
        narrow(low, high, columns, out);
    }
}

multiversion! {
    /// Returns a row of the picture at the new width.
    fn widen(row: &[u32], columns: &Neighbours, out: &mut [u32]) = widen_body;
}

#[inline(always)]
fn widen_body(row: &[u32], columns: &Neighbours, out: &mut [u32]) {
    // Fetched one by one, blended many at once.
    const AT_ONCE: usize = 64;
    let (mut left, mut right) = ([0; AT_ONCE], [0; AT_ONCE]);
    let last = row.len() - 1;
    let columns = columns.first.chunks(AT_ONCE).zip(columns.weights.chunks(AT_ONCE));
    for ((first, weights), out) in columns.zip(out.chunks_mut(AT_ONCE)) {
        for ((left, right), &first) in left.iter_mut().zip(&mut right).zip(first) {
            let first = first as usize;
            (*left, *right) = (row[first.min(last)], row[(first + 1).min(last)]);
        }
        for (((out, &left), &right), &weight) in out.iter_mut().zip(&left).zip(&right).zip(weights) {
            *out = mixed(left, right, weight);
        }
    }
}

multiversion! {
    /// Returns what [`widen`] does where the new width is twice the old one, without fetching pixels one by one.
    fn double(row: &[u32], out: &mut [u32]) = double_body;
}

#[inline(always)]
fn double_body(row: &[u32], out: &mut [u32]) {
    let [first, out @ .., last] = out else { return };
    (*first, *last) = (row[0], row[row.len() - 1]);
    for (pair, (&left, &right)) in out.as_chunks_mut::<2>().0.iter_mut().zip(row.iter().zip(&row[1..])) {
        *pair = [mixed(left, right, ONE / 4), mixed(left, right, ONE - ONE / 4)];
    }
}

multiversion! {
    /// Blends two rows; `weight`: of the second.
    fn blend(first: &[u32], second: &[u32], weight: u32, out: &mut [u32]) = blend_body;
}

#[inline(always)]
fn blend_body(first: &[u32], second: &[u32], weight: u32, out: &mut [u32]) {
    for ((out, &first), &second) in out.iter_mut().zip(first).zip(second) {
        *out = mixed(first, second, weight);
    }
}

/// Returns the weighted mean of `a` and `b`, of which `b` has `weight` of [`ONE`].
#[inline(always)]
fn mixed(a: u32, b: u32, weight: u32) -> u32 {
    // Both channels of a pair in one multiplication: a borrow of the lower one is paid back by the sum.
    let pair = |a: u32, b: u32| (a << 8).wrapping_add(b.wrapping_sub(a).wrapping_mul(weight)).wrapping_add(HALF) >> 8;
    pair(a & PAIR, b & PAIR) & PAIR | (pair(a >> 8 & PAIR, b >> 8 & PAIR) & PAIR) << 8
}

multiversion! {
    /// Adds `weight` of a row to the sums of its channels: red and blue, and green.
    fn gather(row: &[u32], weight: u32, low: &mut [u32], high: &mut [u32]) = gather_body;
}

#[inline(always)]
fn gather_body(row: &[u32], weight: u32, low: &mut [u32], high: &mut [u32]) {
    for ((&pixel, low), high) in row.iter().zip(low).zip(high) {
        *low = low.wrapping_add((pixel & PAIR).wrapping_mul(weight));
        *high = high.wrapping_add((pixel >> 8 & PAIR).wrapping_mul(weight));
    }
}

/// Averages the columns of rows that have been added up.
fn narrow(low: &[u32], high: &[u32], columns: &[Covered], out: &mut [u32]) {
    for (out, covered) in out.iter_mut().zip(columns) {
        let (mut red_blue, mut green) = (HALF, HALF);
        let sums = low[covered.first..].iter().zip(&high[covered.first..]);
        for ((&low, &high), &weight) in sums.zip(&covered.weights) {
            red_blue = red_blue.wrapping_add((low >> 8 & PAIR).wrapping_mul(weight));
            green = green.wrapping_add((high >> 8 & PAIR).wrapping_mul(weight));
        }
        *out = red_blue >> 8 & PAIR | green & 0x0000_ff00;
    }
}

/// Returns the neighbours in `from` of the middle of `at` of `to`: the first one, and the weight of the second.
fn neighbours(at: usize, from: usize, to: usize) -> (usize, u32) {
    let one = ONE as usize;
    let last = (from - 1) * one;
    let place = ((2 * at + 1) * from * one / (2 * to)).saturating_sub(one / 2).min(last);
    (place / one, (place % one) as u32)
}

/// Returns the items of `from` that fall on `at` of `to`, with their weights, which add up to [`ONE`].
fn covered(at: usize, from: usize, to: usize) -> Covered {
    let (begin, end) = (at * from, (at + 1) * from);
    let (first, last) = (begin / to, (end - 1) / to);
    // The share of everything up to the end of `one`, so that nothing is lost by rounding.
    let share = |one: usize| (((one + 1) * to).clamp(begin, end) - begin) * ONE as usize / from;
    let shares = (first..=last).map(share);
    let mut before = 0;
    let weights = shares.map(|share| (share - std::mem::replace(&mut before, share)) as u32).collect();
    Covered { first, weights }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Simd;

    /// Returns a picture in which every pixel and channel differs from its neighbours.
    fn picture((width, height): (usize, usize)) -> Vec<u32> {
        (0..(width * height) as u32).map(|at| at.wrapping_mul(0x9e37_79b1) >> 8).collect()
    }

    fn scaled(picture: &[u32], from: (usize, usize), to: (usize, usize)) -> Vec<u32> {
        let mut out = vec![7; to.0 * to.1];
        Scaler::new(from, to).scale(picture, &mut out, to.0, (0, 0));
        out
    }

    fn channel(pixel: u32, number: usize) -> f64 {
        f64::from(pixel.to_be_bytes()[number + 1])
    }

    /// Returns the weight of each of `from` for `at` of `to`.
    fn exact_weights(at: usize, from: usize, to: usize, averages: bool) -> Vec<f64> {
        let middle = (at as f64 + 0.5) * from as f64 / to as f64 - 0.5;
        let (begin, end) = ((at * from) as f64 / to as f64, ((at + 1) * from) as f64 / to as f64);
        (0..from)
            .map(|one| match averages {
                true => (end.min(one as f64 + 1.0) - begin.max(one as f64)).max(0.0) / (end - begin),
                false => (1.0 - (middle.clamp(0.0, from as f64 - 1.0) - one as f64).abs()).max(0.0),
            })
            .collect()
    }

    #[test]
    fn every_pixel_is_within_rounding_of_the_formula() {
        let sizes = [(1, 1), (2, 3), (17, 31), (64, 5), (7, 200)];
        for from in sizes {
            for to in sizes {
                let (original, averages) = (picture(from), to.0 < from.0 || to.1 < from.1);
                let out = scaled(&original, from, to);
                for y in 0..to.1 {
                    let rows = exact_weights(y, from.1, to.1, averages);
                    for x in 0..to.0 {
                        let columns = exact_weights(x, from.0, to.0, averages);
                        for number in 0..3 {
                            let mut wanted = 0.0;
                            for (row, weight) in rows.iter().enumerate() {
                                for (column, of_column) in columns.iter().enumerate() {
                                    wanted += weight * of_column * channel(original[row * from.0 + column], number);
                                }
                            }
                            let got = channel(out[y * to.0 + x], number);
                            assert!((got - wanted).abs() <= 4.0, "{from:?} to {to:?} at {x}, {y}: {got}, not {wanted}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rows_made_in_parts_are_those_made_at_once() {
        for (from, to) in [((64, 50), (131, 230)), ((64, 50), (30, 20)), ((31, 200), (31, 200))] {
            let original = picture(from);
            let (whole, mut parts) = (scaled(&original, from, to), vec![0; to.0 * to.1]);
            let mut scaler = Scaler::new(from, to);
            for first in (0..to.1).step_by(37).rev() {
                let end = (first + 37).min(to.1);
                scaler.scale_rows(&original, &mut parts[first * to.0..end * to.0], to.0, 0, first);
            }
            assert!(parts == whole, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn one_colour_stays_that_colour() {
        for colour in [0, 0x00ff_ffff, 0x0001_fe80] {
            for (from, to) in [((1280, 720), (2560, 1440)), ((1280, 720), (641, 359)), ((3, 5), (200, 201))] {
                let out = scaled(&vec![colour; from.0 * from.1], from, to);
                assert!(out.iter().all(|&pixel| pixel == colour), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn the_same_size_is_the_same_picture_and_its_surroundings_stay() {
        let original = picture((5, 4));
        let mut out = vec![9; 8 * 7];
        Scaler::new((5, 4), (5, 4)).scale(&original, &mut out, 8, (2, 1));
        for (at, &pixel) in out.iter().enumerate() {
            let (x, y) = (at % 8, at / 8);
            let inside = (2..7).contains(&x) && (1..5).contains(&y);
            assert_eq!(pixel, if inside { original[(y - 1) * 5 + x - 2] } else { 9 });
        }
    }

    #[test]
    fn twice_the_width_is_the_general_case() {
        for width in [1, 2, 3, 31, 200] {
            let row = picture((width, 1));
            let Way::Bilinear { columns, .. } = Scaler::new((width, 1), (2 * width, 2)).way else {
                unreachable!("it grows")
            };
            let (mut general, mut doubled) = (vec![1; 2 * width], vec![2; 2 * width]);
            widen(&row, &columns, &mut general);
            double(&row, &mut doubled);
            assert!(general == doubled, "{width} pixels");
        }
    }

    #[test]
    fn every_instruction_set_makes_the_same_rows() {
        let (from, to) = ((101, 3), (333, 3));
        let original = picture(from);
        let Way::Bilinear { columns, .. } = Scaler::new(from, to).way else { unreachable!("it grows") };
        let make = || {
            let (mut wide, mut twice, mut mixed) = (vec![0; to.0], vec![0; 2 * from.0], vec![0; from.0]);
            widen(&original[..from.0], &columns, &mut wide);
            double(&original[..from.0], &mut twice);
            blend(&original[..from.0], &original[from.0..2 * from.0], 77, &mut mixed);
            let (mut low, mut high) = (vec![HALF; from.0], vec![HALF; from.0]);
            gather(&original[..from.0], 200, &mut low, &mut high);
            (wide, twice, mixed, low, high)
        };
        assert_eq!(Simd::Baseline.force(make), make());
    }
}
