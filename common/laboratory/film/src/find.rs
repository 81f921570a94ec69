//! Finds what may be the black frame of a strip: a dark region, connected, with four corners.

use crate::quad::{Point, Quad};

/// Parts of the picture's longer side that are the radius of the square with whose mean a sample is compared.
pub const RADII: [usize; 2] = [12, 40];
/// Least width of a frame, pixels: its line has two.
const WIDTH_MIN: f64 = 48.0;
/// Width of a frame over its height, least and most, as seen from some way to the side.
const SHAPE: (f64, f64) = (1.4, 4.0);
/// Pictures that are wider are halved.
const WIDTH_MAX: usize = 1400;

/// The brightness of a picture, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Luma {
    /// Width, pixels.
    pub width: usize,
    /// Height, pixels.
    pub height: usize,
    /// Samples.
    pub samples: Vec<u8>,
}

impl Luma {
    /// Returns the picture small enough to be searched soon.
    #[must_use]
    pub fn reduced(mut self) -> Self {
        while self.width > WIDTH_MAX {
            let (width, height) = (self.width / 2, self.height / 2);
            let at = |x: usize, y: usize| u32::from(self.samples[y * self.width + x]);
            let mean = |x: usize, y: usize| ((at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1) + 2) / 4) as u8;
            let samples = (0..height).flat_map(|y| (0..width).map(move |x| (2 * x, 2 * y))).map(|(x, y)| mean(x, y));
            self = Self { width, height, samples: samples.collect() };
        }
        self
    }

    /// Returns the sample nearest to a point; none outside the picture.
    pub fn at(&self, (x, y): Point) -> Option<u8> {
        let (x, y) = (x.round(), y.round());
        let is_in = x >= 0.0 && y >= 0.0 && x < self.width as f64 && y < self.height as f64;
        is_in.then(|| self.samples[y as usize * self.width + x as usize])
    }
}

/// Returns the dark regions that have about the shape of a frame. Dark is what is darker than the square of `radius` around it.
pub fn frames(luma: &Luma, radius: usize) -> Vec<Quad> {
    let mut is_dark = darker(luma, radius.max(4));
    let mut found = Vec::new();
    let mut open = Vec::new();
    for start in 0..is_dark.len() {
        if is_dark[start] {
            open.push(start);
            is_dark[start] = false;
            found.extend(frame(luma, &mut is_dark, &mut open));
        }
    }
    found
}

/// Returns for each sample whether it is darker than those around it.
fn darker(luma: &Luma, radius: usize) -> Vec<bool> {
    let (width, height) = (luma.width, luma.height);
    // Sums of all samples above and to the left.
    let mut sums = vec![0u64; (width + 1) * (height + 1)];
    for (y, row) in luma.samples.chunks_exact(width.max(1)).take(height).enumerate() {
        let mut sum = 0;
        for (x, &sample) in row.iter().enumerate() {
            sum += u64::from(sample);
            sums[(y + 1) * (width + 1) + x + 1] = sums[y * (width + 1) + x + 1] + sum;
        }
    }
    let mut dark = Vec::with_capacity(luma.samples.len());
    for y in 0..height {
        let (top, bottom) = (y.saturating_sub(radius), (y + radius + 1).min(height));
        for x in 0..width {
            let (left, right) = (x.saturating_sub(radius), (x + radius + 1).min(width));
            let at = |x: usize, y: usize| sums[y * (width + 1) + x];
            let sum = at(right, bottom) + at(left, top) - at(left, bottom) - at(right, top);
            let area = ((right - left) * (bottom - top)) as u64;
            // A tenth darker, and more than noise is.
            dark.push((10 * u64::from(luma.samples[y * width + x]) + 80) * area < 9 * sum);
        }
    }
    dark
}

/// Takes the region of which `open` has the first sample out of `is_dark`; returns its corners if it may be a frame.
fn frame(luma: &Luma, is_dark: &mut [bool], open: &mut Vec<usize>) -> Option<Quad> {
    let (width, height) = (luma.width, luma.height);
    let mut area = 0;
    // The samples furthest to the top left, top right, bottom right and bottom left.
    let mut corners: [Option<(i64, Point)>; 4] = [None; 4];
    while let Some(at) = open.pop() {
        let (x, y) = (at % width, at / width);
        area += 1;
        let (column, row) = (x as i64, y as i64);
        let far = [-column - row, column - row, column + row, row - column];
        for (corner, far) in corners.iter_mut().zip(far) {
            if corner.is_none_or(|(furthest, _)| far > furthest) {
                *corner = Some((far, (x as f64, y as f64)));
            }
        }
        let around = [
            (x > 0).then(|| at - 1),
            (x + 1 < width).then(|| at + 1),
            (y > 0).then(|| at - width),
            (y + 1 < height).then(|| at + width),
        ];
        for next in around.into_iter().flatten() {
            if std::mem::take(&mut is_dark[next]) {
                open.push(next);
            }
        }
    }
    let [Some(a), Some(b), Some(c), Some(d)] = corners else { return None };
    let quad = Quad { corners: [a.1, b.1, c.1, d.1] };
    let [top, right, bottom, left] = quad.sides();
    let (wide, high) = ((top + bottom) / 2.0, (left + right) / 2.0);
    let is_even = top.max(bottom) < 2.0 * top.min(bottom) && left.max(right) < 2.0 * left.min(right);
    let fits = wide >= WIDTH_MIN && is_even && (SHAPE.0 * high..SHAPE.1 * high).contains(&wide);
    // A frame of one unit covers a quarter of its 24 x 10, and less of what blur has eaten.
    let share = f64::from(area) / (wide * high).max(1.0);
    (fits && (0.08..0.6).contains(&share)).then_some(quad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_and_a_filled_rectangle_is_none() {
        let mut luma = Luma { width: 200, height: 120, samples: vec![220; 200 * 120] };
        let mut fill = |left: usize, top: usize, width: usize, height: usize, value: u8| {
            for y in top..top + height {
                luma.samples[y * 200 + left..][..width].fill(value);
            }
        };
        fill(20, 30, 96, 40, 20);
        fill(24, 34, 88, 32, 220);
        fill(130, 30, 60, 25, 20);
        let wanted = Quad { corners: [(20.0, 30.0), (115.0, 30.0), (115.0, 69.0), (20.0, 69.0)] };
        assert_eq!(frames(&luma, 16), [wanted]);
    }

    #[test]
    fn small_and_even_pictures_have_none() {
        for (width, height) in [(0, 0), (1, 1), (3, 200), (500, 2)] {
            let luma = Luma { width, height, samples: vec![7; width * height] };
            assert_eq!(frames(&luma.reduced(), 5), []);
        }
    }

    #[test]
    fn large_pictures_are_halved() {
        let samples = (0..4).flat_map(|y| (0..1402).map(move |x| (100 * (y / 2) + x % 2 * 2) as u8)).collect();
        let luma = Luma { width: 1402, height: 4, samples }.reduced();
        assert_eq!((luma.width, luma.height), (701, 2));
        assert!(luma.samples[..701].iter().all(|&sample| sample == 1));
        assert!(luma.samples[701..].iter().all(|&sample| sample == 101));
    }
}
