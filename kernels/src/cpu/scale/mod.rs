//! Pictures at the size of a window: bilinear where they grow, the average of what falls on a pixel where they shrink.
//!
//! Each thread goes from row to row: it converts a row of a decoded picture, scales it across and blends it with its
//! neighbour while both are in the processor's cache, so that only the pixels of the window go through memory.

mod original;
mod rows;

use std::sync::{Mutex, PoisonError};

pub use self::original::Original;
use self::original::RowMade;
use self::rows::{Columns, HALF, blend, double, gather, narrow, widen};
pub(super) use self::rows::{Covered, ONE};

/// Rows that a thread makes at a time.
const BAND: usize = 45;

/// Scales pictures of one size to another. All memory is set aside when it is made.
#[derive(Debug)]
pub struct Scaler {
    from: (usize, usize),
    to: (usize, usize),
    way: Way,
    desks: Vec<Desk>,
}

/// Conversion from one size to the other.
#[derive(Debug)]
enum Way {
    Copy,
    /// For each column and row the first of two neighbours, and the second one's weight.
    Bilinear {
        columns: Columns,
        rows: Vec<(usize, u32)>,
    },
    /// For each column and row the first of those that fall on it, and their weights.
    Average {
        columns: Vec<Covered>,
        rows: Vec<Covered>,
    },
}

/// Memory that one thread works with.
#[derive(Debug)]
struct Desk {
    /// Bilinear: two rows of the picture at full width, and which they are. Average: sums of two channels each.
    rows: [Vec<u32>; 2],
    held: [Option<usize>; 2],
    /// A row of the picture at its own width.
    made: RowMade,
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
            Way::Bilinear { columns: Columns { first: first.iter().map(|&at| at as u32).collect(), weights }, rows }
        } else {
            let covered = |from: usize, to: usize| (0..to).map(|at| covered(at, from, to)).collect();
            Way::Average { columns: covered(from.0, to.0), rows: covered(from.1, to.1) }
        };
        let width = match way {
            Way::Copy => 0,
            Way::Bilinear { .. } => to.0,
            Way::Average { .. } => from.0,
        };
        let desk = || Desk { rows: [vec![0; width], vec![0; width]], held: [None; 2], made: RowMade::new(from.0) };
        // One processor is left to who shows the picture: a display server copies some rows while the next are made, and a thread
        // that waits behind it for a processor would be waited for.
        let threads = rayon::current_num_threads().saturating_sub(1).clamp(1, to.1.div_ceil(BAND).max(1));
        Self { from, to, way, desks: (0..threads).map(|_| desk()).collect() }
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
        self.scale_rows(Original::Pixels(picture), &mut out[top * pitch..][..height * pitch], pitch, left, 0);
    }

    /// Writes the rows of `picture` at its new size from `first` on into `out`, as many as that has; they are `pitch` apart and
    /// begin at column `left`.
    ///
    /// # Panics
    ///
    /// If `picture` has another size or does not fit there.
    pub fn scale_rows(&mut self, picture: Original<'_>, out: &mut [u32], pitch: usize, left: usize, first: usize) {
        let Self { from, to, way, desks } = self;
        let way = &*way;
        assert!(picture.has_size(*from), "a picture of another size");
        assert!(left + to.0 <= pitch && first * pitch + out.len() <= to.1 * pitch, "no room for the scaled picture");
        if to.0 == 0 || to.1 == 0 || from.0 == 0 || from.1 == 0 {
            return;
        }
        let bands = Mutex::new(out.chunks_mut(BAND * pitch).enumerate());
        let next = || bands.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = |desk: &mut Desk| {
            desk.held = [None; 2];
            desk.made.forget();
            while let Some((number, band)) = next() {
                for (at, out) in band.chunks_exact_mut(pitch).enumerate() {
                    let (y, out) = (first + number * BAND + at, &mut out[left..][..to.0]);
                    match way {
                        Way::Copy => picture.write_row(y, out),
                        Way::Bilinear { columns, rows } => desk.bilinear(&picture, columns, rows[y], out),
                        Way::Average { columns, rows } => desk.average(&picture, columns, &rows[y], out),
                    }
                }
            }
        };
        let (work, [own, others @ ..]) = (&work, desks.as_mut_slice()) else { return };
        rayon::in_place_scope(|scope| {
            for desk in others {
                scope.spawn(move |_| work(desk));
            }
            work(own);
        });
    }
}

impl Desk {
    fn bilinear(&mut self, picture: &Original<'_>, columns: &Columns, (row, weight): (usize, u32), out: &mut [u32]) {
        let Self { rows, held, made } = self;
        // At the last row the second neighbour has no weight.
        let second = if weight == 0 { row } else { row + 1 };
        for row in [row, second] {
            let place = row % 2;
            if held[place] != Some(row) {
                held[place] = Some(row);
                let (row, wide) = (picture.row(row, made), &mut rows[place]);
                if wide.len() == 2 * row.len() { double(row, wide) } else { widen(row, columns, wide) }
            }
        }
        blend(&rows[row % 2], &rows[second % 2], weight, out);
    }

    fn average(&mut self, picture: &Original<'_>, columns: &[Covered], rows: &Covered, out: &mut [u32]) {
        let Self { rows: [low, high], made, .. } = self;
        low.fill(HALF);
        high.fill(HALF);
        for (at, &weight) in rows.weights.iter().enumerate() {
            gather(picture.row(rows.first + at, made), weight, low, high);
        }
        narrow(low, high, columns, out);
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
pub(super) fn covered(at: usize, from: usize, to: usize) -> Covered {
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
    use picture::frame::{Chroma, ColourSpace, FrameSize};

    use super::*;
    use crate::{Converter, Picture};

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
                let part = &mut parts[first * to.0..end * to.0];
                scaler.scale_rows(Original::Pixels(&original), part, to.0, 0, first);
            }
            assert!(parts == whole, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn planes_scaled_at_once_are_pixels_scaled() {
        let converter = Converter::new(ColourSpace::BT709_LIMITED);
        let sizes = [
            ((64, 50), (128, 100)),
            ((33, 17), (50, 61)),
            ((64, 50), (30, 20)),
            ((31, 99), (31, 99)),
            ((5, 1), (10, 2)),
        ];
        for (from, to) in sizes {
            let size = FrameSize::new(from.0 as u32, from.1 as u32).unwrap();
            // One for all: nothing of a picture may be left for the next.
            let mut scaler = Scaler::new(from, to);
            for chroma in [Chroma::Grey, Chroma::C420, Chroma::C444] {
                let mut planes = Picture::for_stream(chroma, size);
                let samples = (1u32..).zip(planes.data_mut());
                samples.for_each(|(at, sample)| *sample = (at.wrapping_mul(0x9e37_79b1) >> 24) as u8);
                let mut pixels = vec![];
                converter.convert(&planes, &mut pixels);
                for mirrored in [false, true] {
                    let mut out = vec![7; to.0 * to.1];
                    let original = Original::Planes { picture: &planes, converter: &converter, mirrored };
                    scaler.scale_rows(original, &mut out, to.0, 0, 0);
                    assert!(out == scaled(&pixels, from, to), "{from:?} to {to:?}, {chroma:?}, mirrored: {mirrored}");
                    pixels.chunks_mut(from.0).for_each(<[u32]>::reverse);
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_makes_the_same_picture() {
        for (from, to) in [((64, 50), (131, 230)), ((64, 500), (30, 200))] {
            let original = picture(from);
            let made = [1, 2, 3, 8].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| scaled(&original, from, to))
            });
            assert!(made.iter().all(|one| *one == made[0]), "{from:?} to {to:?}");
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
}
