//! Squares of samples, row by row in vectors: predictions, their weighted sums, and how far a source is from them.
//!
//! Bodies are written so that they compile to vectors: rows of a length that the compiler knows, a row of bytes finished before
//! it is compared. (x86: `vpavgb` and `vpsadbw`.)

use crate::cpu::simd::multiversion;

/// Samples whose mean a prediction is, each from the first one on, with the samples from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Taps<'a> {
    /// Of one sample.
    One([&'a [u8]; 1], usize),
    /// Of two.
    Two([&'a [u8]; 2], usize),
    /// Of four.
    Four([&'a [u8]; 4], usize),
}

/// The mean of two samples, rounded up.
#[inline(always)]
fn mean(a: u8, b: u8) -> u8 {
    (u16::from(a).wrapping_add(u16::from(b)).wrapping_add(1) >> 1) as u8
}

/// The mean of four samples, half a step rounded up: that of the means of two, without what these round up too much.
#[inline(always)]
fn mean_of_four([a, b, c, d]: [u8; 4]) -> u8 {
    let (upper, lower) = (mean(a, b), mean(c, d));
    mean(upper, lower).wrapping_sub(((a ^ b) | (c ^ d)) & (upper ^ lower) & 1)
}

#[inline(always)]
fn mean_of<const N: usize>(taps: [u8; N]) -> u8 {
    match N {
        1 => taps[0],
        // As that of four: the shorter form is not compared in bytes.
        2 => mean_of_four([taps[0], taps[1], taps[0], taps[1]]),
        _ => mean_of_four([taps[0], taps[1], taps[2], taps[N - 1]]),
    }
}

/// `W` samples of row `y` of a plane, which has them.
#[inline(always)]
fn row<T, const W: usize>(plane: &[T], pitch: usize, y: usize) -> Option<&[T; W]> {
    plane.get(y.wrapping_mul(pitch)..)?.first_chunk()
}

/// Row `y` of a prediction.
#[inline(always)]
fn predicted_row<const W: usize, const N: usize>(taps: [&[u8]; N], pitch: usize, y: usize) -> Option<[u8; W]> {
    let mut rows = [&[0; W]; N];
    for (row_of, tap) in rows.iter_mut().zip(taps) {
        *row_of = row(tap, pitch, y)?;
    }
    let mut samples = [0; W];
    for (x, sample) in samples.iter_mut().enumerate() {
        let mut taps = [0; N];
        for (tap, row) in taps.iter_mut().zip(rows) {
            *tap = row[x];
        }
        *sample = mean_of(taps);
    }
    Some(samples)
}

/// Sum of absolute differences of two rows.
#[inline(always)]
fn difference_of_rows<const W: usize>(a: &[u8; W], b: &[u8; W]) -> u32 {
    a.iter().zip(b).map(|(&a, &b)| u32::from(a.abs_diff(b))).fold(0, u32::wrapping_add)
}

/// Rows after which a sum that has become too large is looked at.
const LOOK_ROWS: usize = 8;

multiversion! {
    /// Sum of absolute differences of a source from a prediction, of 16 x 16 samples; of one above `most` any that is.
    pub(crate) fn difference_16(source: &[u8], pitch: usize, taps: Taps<'_>, most: u32) -> u32 = difference::<16, 1>;
}

multiversion! {
    /// The same of 32 x 32 samples.
    pub(crate) fn difference_32(source: &[u8], pitch: usize, taps: Taps<'_>, most: u32) -> u32 = difference::<32, 1>;
}

multiversion! {
    /// The same of every other row of 32 x 32 samples.
    pub(crate) fn difference_of_half_32(source: &[u8], pitch: usize, taps: Taps<'_>, most: u32) -> u32 = difference::<32, 2>;
}

#[inline(always)]
fn difference<const W: usize, const STEP: usize>(source: &[u8], pitch: usize, taps: Taps<'_>, most: u32) -> u32 {
    match taps {
        Taps::One(taps, tap_pitch) => difference_from::<W, STEP, 1>(source, pitch, taps, tap_pitch, most),
        Taps::Two(taps, tap_pitch) => difference_from::<W, STEP, 2>(source, pitch, taps, tap_pitch, most),
        Taps::Four(taps, tap_pitch) => difference_from::<W, STEP, 4>(source, pitch, taps, tap_pitch, most),
    }
}

#[inline(always)]
fn difference_from<const W: usize, const STEP: usize, const N: usize>(
    source: &[u8],
    pitch: usize,
    taps: [&[u8]; N],
    tap_pitch: usize,
    most: u32,
) -> u32 {
    let mut total = 0_u32;
    for at in 0..W / STEP {
        if at % LOOK_ROWS == 0 && total > most {
            return total;
        }
        let y = STEP * at;
        let (Some(own), Some(predicted)) = (row(source, pitch, y), predicted_row::<W, N>(taps, tap_pitch, y)) else {
            return total;
        };
        total = total.wrapping_add(difference_of_rows(own, &predicted));
    }
    total
}

multiversion! {
    /// A prediction of 16 samples in each of `rows` rows; `out` has rows `out_pitch` apart.
    pub(crate) fn predict_16(out: &mut [u8], out_pitch: usize, rows: usize, taps: Taps<'_>) = predict::<16>;
}

multiversion! {
    /// The same of 32 samples.
    pub(crate) fn predict_32(out: &mut [u8], out_pitch: usize, rows: usize, taps: Taps<'_>) = predict::<32>;
}

multiversion! {
    /// The same of 48 samples.
    pub(crate) fn predict_48(out: &mut [u8], out_pitch: usize, rows: usize, taps: Taps<'_>) = predict::<48>;
}

#[inline(always)]
fn predict<const W: usize>(out: &mut [u8], out_pitch: usize, rows: usize, taps: Taps<'_>) {
    match taps {
        Taps::One(taps, pitch) => predict_from::<W, 1>(out, out_pitch, rows, taps, pitch),
        Taps::Two(taps, pitch) => predict_from::<W, 2>(out, out_pitch, rows, taps, pitch),
        Taps::Four(taps, pitch) => predict_from::<W, 4>(out, out_pitch, rows, taps, pitch),
    }
}

#[inline(always)]
fn predict_from<const W: usize, const N: usize>(
    out: &mut [u8],
    out_pitch: usize,
    rows: usize,
    taps: [&[u8]; N],
    pitch: usize,
) {
    for y in 0..rows {
        let to = out.get_mut(y.wrapping_mul(out_pitch)..).and_then(|rest| rest.first_chunk_mut::<W>());
        if let (Some(to), Some(predicted)) = (to, predicted_row::<W, N>(taps, pitch, y)) {
            *to = predicted;
        }
    }
}

multiversion! {
    /// Samples between samples, `part` eighths to the right and below: 8 in each of `rows` rows; `out` has rows `out_pitch` apart.
    pub(crate) fn eighths_8(out: &mut [u8], out_pitch: usize, rows: usize, from: &[u8], pitch: usize, part: [u16; 2]) = eighths::<8>;
}

multiversion! {
    /// The same of 16 samples.
    pub(crate) fn eighths_16(out: &mut [u8], out_pitch: usize, rows: usize, from: &[u8], pitch: usize, part: [u16; 2]) = eighths::<16>;
}

multiversion! {
    /// The same of 32 samples.
    pub(crate) fn eighths_32(out: &mut [u8], out_pitch: usize, rows: usize, from: &[u8], pitch: usize, part: [u16; 2]) = eighths::<32>;
}

#[inline(always)]
fn eighths<const W: usize>(out: &mut [u8], out_pitch: usize, rows: usize, from: &[u8], pitch: usize, part: [u16; 2]) {
    let [fx, fy] = part;
    // At most 64 times 255.
    let (a, b, c, d) = ((8 - fx) * (8 - fy), fx * (8 - fy), (8 - fx) * fy, fx * fy);
    for y in 0..rows {
        let to = out.get_mut(y.wrapping_mul(out_pitch)..).and_then(|rest| rest.first_chunk_mut::<W>());
        let (upper, lower) = (row::<_, W>(from, pitch, y), row::<_, W>(from, pitch, y + 1));
        let (Some(to), Some(upper), Some(lower)) = (to, upper, lower) else { return };
        if part == [0, 0] {
            *to = *upper;
            continue;
        }
        let (right, low_right) = (
            from.get(y.wrapping_mul(pitch).wrapping_add(1)..),
            from.get((y + 1).wrapping_mul(pitch).wrapping_add(1)..),
        );
        let (Some(right), Some(low_right)) =
            (right.and_then(|rest| rest.first_chunk::<W>()), low_right.and_then(|rest| rest.first_chunk::<W>()))
        else {
            return;
        };
        for x in 0..W {
            let upper = a.wrapping_mul(upper[x].into()).wrapping_add(b.wrapping_mul(right[x].into()));
            let lower = c.wrapping_mul(lower[x].into()).wrapping_add(d.wrapping_mul(low_right[x].into()));
            to[x] = (upper.wrapping_add(lower).wrapping_add(32) >> 6) as u8;
        }
    }
}

/// Weights of the samples of a square, across and down.
pub(crate) type WindowWeights<'a, const W: usize> = [&'a [u16; W]; 2];

multiversion! {
    /// Adds a weighted square of 8 x 8 samples to sums, rows `pitch` apart.
    pub(crate) fn add_8(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, 8>, samples: &[u8]) = add::<8>;
}

multiversion! {
    /// The same of 16 x 16 samples.
    pub(crate) fn add_16(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, 16>, samples: &[u8]) = add::<16>;
}

multiversion! {
    /// The same of a window.
    pub(crate) fn add_32(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, 32>, samples: &[u8]) = add::<32>;
}

multiversion! {
    /// The same of a square of 48 samples.
    pub(crate) fn add_48(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, 48>, samples: &[u8]) = add::<48>;
}

#[inline(always)]
fn add<const W: usize>(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, W>, samples: &[u8]) {
    change::<W>(sums, pitch, weights, samples, u16::wrapping_add);
}

multiversion! {
    /// Takes a window away that was added.
    pub(crate) fn subtract_32(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, 32>, samples: &[u8]) = subtract::<32>;
}

#[inline(always)]
fn subtract<const W: usize>(sums: &mut [u16], pitch: usize, weights: WindowWeights<'_, W>, samples: &[u8]) {
    change::<W>(sums, pitch, weights, samples, u16::wrapping_sub);
}

#[inline(always)]
fn change<const W: usize>(
    sums: &mut [u16],
    pitch: usize,
    [across, down]: WindowWeights<'_, W>,
    samples: &[u8],
    change: impl Fn(u16, u16) -> u16,
) {
    for (y, &down) in down.iter().enumerate() {
        let sums = sums.get_mut(y.wrapping_mul(pitch)..).and_then(|rest| rest.first_chunk_mut::<W>());
        let (Some(sums), Some(samples)) = (sums, row::<_, W>(samples, W, y)) else { return };
        for x in 0..W {
            sums[x] = change(sums[x], across[x].wrapping_mul(down).wrapping_mul(samples[x].into()));
        }
    }
}

#[inline(always)]
fn rounded(sum: u16) -> u8 {
    (sum.wrapping_add(128) >> 8) as u8
}

multiversion! {
    /// Sum of absolute differences of a source from what sums and one more window predict, of 32 x 32 samples.
    pub(crate) fn difference_with_32(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize, weights: WindowWeights<'_, 32>, samples: &[u8]) -> u32 = difference_with::<32>;
}

multiversion! {
    /// The same of 48 x 48 samples.
    pub(crate) fn difference_with_48(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize, weights: WindowWeights<'_, 48>, samples: &[u8]) -> u32 = difference_with::<48>;
}

#[inline(always)]
fn difference_with<const W: usize>(
    source: &[u8],
    source_pitch: usize,
    sums: &[u16],
    pitch: usize,
    [across, down]: WindowWeights<'_, W>,
    samples: &[u8],
) -> u32 {
    let mut total = 0_u32;
    for (y, &down) in down.iter().enumerate() {
        let rows = (row::<_, W>(source, source_pitch, y), row::<_, W>(sums, pitch, y), row::<_, W>(samples, W, y));
        let (Some(own), Some(sums), Some(samples)) = rows else { return total };
        let mut with = [0; W];
        for x in 0..W {
            with[x] = rounded(sums[x].wrapping_add(across[x].wrapping_mul(down).wrapping_mul(samples[x].into())));
        }
        total = total.wrapping_add(difference_of_rows(own, &with));
    }
    total
}

multiversion! {
    /// Sum of absolute differences of a source from sums, of 32 x 32 samples.
    pub(crate) fn difference_of_sums_32(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize) -> u32 = difference_of_sums::<32>;
}

multiversion! {
    /// The same of 48 x 48 samples.
    pub(crate) fn difference_of_sums_48(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize) -> u32 = difference_of_sums::<48>;
}

#[inline(always)]
fn difference_of_sums<const W: usize>(source: &[u8], source_pitch: usize, sums: &[u16], pitch: usize) -> u32 {
    let mut total = 0_u32;
    for y in 0..W {
        let (Some(own), Some(sums)) = (row::<_, W>(source, source_pitch, y), row::<_, W>(sums, pitch, y)) else {
            return total;
        };
        let mut samples = [0; W];
        for x in 0..W {
            samples[x] = rounded(sums[x]);
        }
        total = total.wrapping_add(difference_of_rows(own, &samples));
    }
    total
}

multiversion! {
    /// Sums of absolute differences of rows of squares of 8 x 8 samples, at most 8 rows `width` apart: from a prediction, and from the
    /// square's mean.
    pub(crate) fn differences_from_means(own: &[u8], predicted: &[u8], width: usize) -> [u32; 2] = differences_from_means_body;
}

#[inline(always)]
fn differences_from_means_body(own: &[u8], predicted: &[u8], width: usize) -> [u32; 2] {
    let (mut difference, mut activity) = (0_u32, 0_u32);
    let rows = own.len() / width.max(1);
    for left in (0..width / 8).map(|square| 8 * square) {
        let mut sums = [0_u16; 8];
        for y in 0..rows {
            let at = y.wrapping_mul(width).wrapping_add(left);
            let (Some(own), Some(predicted)) = (row::<_, 8>(own, at, 1), row::<_, 8>(predicted, at, 1)) else { break };
            for x in 0..8 {
                sums[x] = sums[x].wrapping_add(own[x].into());
            }
            difference = difference.wrapping_add(difference_of_rows(own, predicted));
        }
        let sum = sums.iter().fold(0_u16, |sum, &one| sum.wrapping_add(one));
        let mean = [(sum as usize).checked_div(8 * rows).unwrap_or(0) as u8; 8];
        for y in 0..rows {
            let at = y.wrapping_mul(width).wrapping_add(left);
            let Some(own) = row::<_, 8>(own, at, 1) else { break };
            activity = activity.wrapping_add(difference_of_rows(own, &mean));
        }
    }
    [difference, activity]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Simd;

    fn noise<T>(count: usize, seed: u32, of: impl Fn(u32) -> T) -> Vec<T> {
        (0..count as u32).map(|at| of((at + seed).wrapping_mul(2_654_435_761) >> 9)).collect()
    }

    /// Whatever they are compiled for, sums are those of plain arithmetic.
    #[test]
    fn squares_are_compared_as_they_are_written() {
        let (pitch, bytes) = (50, |seed| noise(50 * 50, seed, |value| value as u8));
        let (source, planes) = (bytes(1), [2, 3, 4, 5].map(bytes));
        let sums = noise(50 * 50, 6, |value| (value % 20_000) as u16);
        let weights: [u16; 32] = std::array::from_fn(|at| at as u16 % 16);
        let weights = [&weights, &weights];
        let each = [&planes[0][..], &planes[1][..], &planes[2][..], &planes[3][..]];
        let both = [each[0], each[1]];
        for (taps, count) in
            [(Taps::One([each[0]], pitch), 1), (Taps::Two(both, pitch), 2), (Taps::Four(each, pitch), 4)]
        {
            let mean = |at: usize| {
                let sum: u32 = each[..count].iter().map(|plane| u32::from(plane[at])).sum();
                ((sum + count as u32 / 2) / count as u32) as u8
            };
            let places = |side: usize| (0..side).flat_map(move |y| (0..side).map(move |x| (x, y, y * pitch + x)));
            let plain = |side| places(side).map(|(.., at)| u32::from(source[at].abs_diff(mean(at)))).sum::<u32>();
            let half = places(32).filter(|(_, y, _)| y % 2 == 0);
            let half = half.map(|(.., at)| u32::from(source[at].abs_diff(mean(at)))).sum::<u32>();
            let with = places(32).map(|(x, y, at)| {
                let sum = u32::from(sums[at]) + u32::from(weights[0][x] * weights[1][y]) * u32::from(mean(at));
                u32::from(source[at].abs_diff(((sum + 128) >> 8) as u8))
            });
            let with = with.sum::<u32>();
            for simd in [Simd::Baseline, Simd::detect()] {
                simd.force(|| {
                    assert_eq!(difference_16(&source, pitch, taps, u32::MAX), plain(16), "{simd:?}");
                    assert_eq!(difference_32(&source, pitch, taps, u32::MAX), plain(32), "{simd:?}");
                    assert_eq!(difference_of_half_32(&source, pitch, taps, u32::MAX), half, "{simd:?}");
                    let most = plain(32) / 2;
                    assert!((most + 1..=plain(32)).contains(&difference_32(&source, pitch, taps, most)), "{simd:?}");
                    let mut window = [0; 32 * 32];
                    predict_32(&mut window, 32, 32, taps);
                    assert!(places(32).all(|(x, y, at)| window[32 * y + x] == mean(at)), "{simd:?}");
                    assert_eq!(difference_with_32(&source, pitch, &sums, pitch, weights, &window), with, "{simd:?}");
                    let mut more = sums.clone();
                    add_32(&mut more, pitch, weights, &window);
                    assert_eq!(difference_of_sums_32(&source, pitch, &more, pitch), with, "{simd:?}");
                    subtract_32(&mut more, pitch, weights, &window);
                    assert!(more == sums, "{simd:?}");
                });
            }
        }
    }
}
