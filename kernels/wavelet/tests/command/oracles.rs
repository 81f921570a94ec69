//! Coefficients of every wavelet and precision against formulas that share nothing with the crate. The reference is
//! held to them here; the other back ends are held to the reference.

use crate::support::{BOUNDARIES, Folder, golden, pgm, read_npy_of, samples, succeed};

/// A row continued beyond its ends by position; periodic rows must be of even length.
struct Extended<'a> {
    row: &'a [f64],
    boundary: &'a str,
}

impl Extended<'_> {
    fn at(&self, position: isize) -> f64 {
        let length = self.row.len() as isize;
        match self.boundary {
            _ if (0..length).contains(&position) => self.row[position as usize],
            "symmetric" => self.at(if position < 0 { -position } else { 2 * (length - 1) - position }),
            "periodic" => self.at(position.rem_euclid(length)),
            _ => 0.0,
        }
    }

    /// Returns high coefficient n by `predicted` from position 2n + 1, beyond the ends too, where it may be zero.
    fn high(&self, n: isize, predicted: impl Fn(isize) -> f64) -> f64 {
        let inside = (0..self.row.len() as isize / 2).contains(&n);
        if inside || self.boundary != "zero" { predicted(2 * n + 1) } else { 0.0 }
    }
}

/// A way to split a row of at least two samples into low and high coefficients.
type Split = fn(&Extended<'_>) -> (Vec<f64>, Vec<f64>);

/// Returns low and high coefficients from functions of their index.
fn halves(row: &[f64], low: impl Fn(isize) -> f64, high: impl Fn(isize) -> f64) -> (Vec<f64>, Vec<f64>) {
    let count = row.len() as isize;
    ((0..(count + 1) / 2).map(low).collect(), (0..count / 2).map(high).collect())
}

/// Splits by Le Gall 5/3 with rounding: ISO/IEC 15444-1, equations F-9 and F-10.
fn reversible_53(x: &Extended<'_>) -> (Vec<f64>, Vec<f64>) {
    let predicted = |p: isize| x.at(p) - ((x.at(p - 1) + x.at(p + 1)) / 2.0).floor();
    let high = |n| x.high(n, predicted);
    halves(x.row, |n| x.at(2 * n) + ((high(n - 1) + high(n) + 2.0) / 4.0).floor(), high)
}

/// Splits by the 13-tap and 7-tap filters that follow from the interpolating filter (-1, 9, 9, -1) / 16 of Deslauriers
/// and Dubuc: ISO/IEC 15444-2 has them with a DC gain of 1, here it is sqrt(2).
fn filters_137(x: &Extended<'_>) -> (Vec<f64>, Vec<f64>) {
    const LOW: [f64; 13] = [-1., 0., 18., -16., -63., 144., 348., 144., -63., -16., 18., 0., -1.];
    const HIGH: [f64; 7] = [1., 0., -9., 16., -9., 0., 1.];
    let filtered = |taps: &[f64], first: isize| -> f64 {
        taps.iter().zip(first..).map(|(tap, position)| tap * x.at(position)).sum()
    };
    let root = 2.0_f64.sqrt();
    halves(x.row, |n| filtered(&LOW, 2 * n - 6) / 512.0 * root, |n| filtered(&HIGH, 2 * n - 2) / 16.0 / root)
}

/// Splits likewise in two steps, each of which takes zero for what is beyond the ends.
fn steps_137(x: &Extended<'_>) -> (Vec<f64>, Vec<f64>) {
    let predicted = |p: isize| x.at(p) - (9.0 * (x.at(p - 1) + x.at(p + 1)) - x.at(p - 3) - x.at(p + 3)) / 16.0;
    let high = |n| x.high(n, predicted);
    let low = |n| x.at(2 * n) + (9.0 * (high(n - 1) + high(n)) - high(n - 2) - high(n + 1)) / 32.0;
    let root = 2.0_f64.sqrt();
    halves(x.row, |n| low(n) * root, |n| high(n) / root)
}

/// Decomposes a plane in Mallat layout: rows, then columns.
fn decompose(plane: &[f64], (width, height): (usize, usize), levels: usize, boundary: &str, split: Split) -> Vec<f64> {
    let side = width.max(height).next_power_of_two();
    let mut square = vec![0.0; side * side];
    for (to, from) in square.chunks_mut(side).zip(plane.chunks(width)) {
        to[..width].copy_from_slice(from);
    }
    let split = |row: Vec<f64>| match row.len() {
        1 => (row, Vec::new()),
        _ => split(&Extended { row: &row, boundary }),
    };
    let (mut width, mut height) = (width, height);
    for level in 1..=levels.min(side.ilog2() as usize) {
        let half = side >> level;
        let mut place = |positions: Vec<usize>, count: usize| {
            let (low, high) = split(positions[..count].iter().map(|&at| square[at]).collect());
            positions.iter().for_each(|&at| square[at] = 0.0);
            low.iter().zip(&positions).for_each(|(&value, &at)| square[at] = value);
            high.iter().zip(&positions[half..]).for_each(|(&value, &at)| square[at] = value);
        };
        (0..height).for_each(|y| place((0..2 * half).map(|x| y * side + x).collect(), width));
        (0..2 * half).for_each(|x| place((0..2 * half).map(|y| y * side + x).collect(), height));
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
    }
    square
}

/// Returns the largest difference of `wavelet forward` and `split` on a grey picture, and the largest value.
fn difference(
    folder: &Folder,
    case: &Case,
    boundary: &str,
    element: &str,
    options: &[&str],
    split: Split,
) -> (f64, f64) {
    let array = folder.path("a.npy");
    let levels = case.levels.map(|levels| levels.to_string());
    let levels = ["--levels", levels.as_deref().unwrap_or("full")];
    succeed(
        &[&["forward", &case.picture, &array, "--boundary", boundary, "--backend", "reference"], &levels[..], options]
            .concat(),
    );
    let ours = read_npy_of(element, &array).1;
    let plane = samples(&case.picture, case.size.0 * case.size.1);
    let plane: Vec<f64> = plane.into_iter().map(|sample| f64::from(sample) - 128.0).collect();
    let theirs = decompose(&plane, case.size, case.levels.unwrap_or(usize::MAX), boundary, split);
    assert_eq!(ours.len(), theirs.len());
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, value| most.max(value.abs()));
    (largest(&mut ours.iter().zip(&theirs).map(|(a, b)| a - b)), largest(&mut theirs.iter().copied()))
}

/// A grey picture and how far it is decomposed, `None` to the end.
#[derive(Debug)]
struct Case {
    picture: String,
    size: (usize, usize),
    levels: Option<usize>,
}

/// Cases in which what lies beyond an end is known by position: periodic rows must be of even length at all levels.
fn cases(folder: &Folder, boundary: &str) -> Vec<Case> {
    let even = [((1, 1), None), ((2, 2), None), ((1, 8), Some(3)), ((24, 16), Some(3))];
    let odd = [((1, 7), None), ((2, 3), None), ((3, 5), None), ((17, 31), None), ((40, 9), Some(2))];
    let camera = |name: &str, size| Case { picture: golden(name), size, levels: None };
    let mut cases = vec![camera("camera_64x64.pgm", (64, 64))];
    if boundary != "periodic" {
        cases.push(camera("camera_37x21.pgm", (37, 21)));
    }
    let sizes = even.into_iter().chain(odd.into_iter().filter(|_| boundary != "periodic"));
    cases.extend(sizes.map(|(size, levels)| {
        let picture = folder.file(&format!("{}x{}.pgm", size.0, size.1), &pgm(size.0, size.1));
        Case { picture, size, levels }
    }));
    cases
}

#[test]
fn double_precision_agrees_with_pywavelets() {
    let folder = Folder::new("double");
    for name in ["camera_64x64", "camera_37x21"] {
        for padding in ["smooth", "zero"] {
            let (input, output) = (golden(&format!("{name}.pgm")), folder.path("a.npy"));
            let options = ["--padding", padding, "--precision", "f64", "--backend", "reference"];
            succeed(&[&["forward", &input, &output], &options[..]].concat());
            let (shape, ours) = read_npy_of("<f8", &output);
            let (their_shape, theirs) = read_npy_of("<f8", &golden(&format!("{name}.{padding}.npy")));
            assert_eq!(shape, their_shape);
            let peak = theirs.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let error = ours.iter().zip(&theirs).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(error < 1e-11 * peak, "{name} {padding}: {error:e} of {peak}");
        }
    }
}

#[test]
fn the_reversible_wavelet_is_its_formula() {
    let folder = Folder::new("reversible");
    for boundary in BOUNDARIES {
        for case in cases(&folder, boundary) {
            let (error, _) = difference(&folder, &case, boundary, "<i4", &["--wavelet", "cdf53"], reversible_53);
            assert!(error == 0.0, "{boundary} {case:?}: {error}");
        }
    }
}

#[test]
fn deslauriers_dubuc_is_its_filters() {
    let folder = Folder::new("dubuc");
    for (precision, element, tolerance) in [("f32", "<f4", 2e-6), ("f64", "<f8", 1e-13)] {
        let options = ["--wavelet", "dd137", "--precision", precision];
        for boundary in BOUNDARIES {
            let split: Split = if boundary == "zero" { steps_137 } else { filters_137 };
            for case in cases(&folder, boundary) {
                let (error, peak) = difference(&folder, &case, boundary, element, &options, split);
                assert!(error <= tolerance * peak, "{options:?} {boundary} {case:?}: {error:e} of {peak}");
            }
        }
    }
}

#[test]
fn the_two_ways_to_write_deslauriers_dubuc_agree() {
    let row = [9.0, -3.0, 4.0, 4.0, 100.0, -20.0, 7.0, 8.0];
    for boundary in ["symmetric", "periodic"] {
        let x = Extended { row: &row, boundary };
        let ((low, high), (low_too, high_too)) = (filters_137(&x), steps_137(&x));
        let differences = low.iter().zip(&low_too).chain(high.iter().zip(&high_too)).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) < 1e-12, "{boundary}");
    }
}
