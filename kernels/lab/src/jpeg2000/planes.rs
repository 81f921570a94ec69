//! Planes to samples, with the colour transforms (ISO/IEC 15444-1, annex G). Planes lie on their side, a column of the picture in
//! each row: the standard joins rows first, our transform columns.

use rayon::prelude::*;

use super::image::ImageComponent;

/// Weights of red, green and blue in Y.
pub(super) const KR: f32 = 0.299;
pub(super) const KG: f32 = 0.587;
pub(super) const KB: f32 = 0.114;

/// Columns that are turned together.
const TILE: usize = 32;

/// Returns the columns of `width` x `height` values as rows.
pub(super) fn turned<T: Copy + Default + Send + Sync>(values: &[T], width: usize, height: usize) -> Vec<T> {
    let mut out = vec![T::default(); values.len()];
    out.par_chunks_mut(TILE * height).enumerate().for_each(|(tile, out)| {
        let first = tile * TILE;
        for (y, row) in values.chunks_exact(width).enumerate() {
            let columns = &row[first..(first + TILE).min(width)];
            columns.iter().enumerate().for_each(|(x, value)| out[x * height + y] = *value);
        }
    });
    out
}

/// Differences from Y over those of Cb and Cr.
pub(super) const PER_BLUE: f32 = 0.5 / (1.0 - KB);
pub(super) const PER_RED: f32 = 0.5 / (1.0 - KR);

/// Puts planes of integers back into the components.
pub(super) fn from_reversible(mut planes: Vec<Vec<i32>>, mixes: bool, components: &mut [ImageComponent]) {
    if let (true, [y, u, v, ..]) = (mixes, &mut planes[..]) {
        (y, u, v).into_par_iter().for_each(|(y, u, v)| {
            // What is damaged wraps around.
            let g = y.wrapping_sub(u.wrapping_add(*v) >> 2);
            (*y, *u, *v) = (v.wrapping_add(g), g, u.wrapping_add(g));
        });
    }
    components.iter_mut().zip(planes).for_each(|(component, plane)| finish(component, &plane, |value| value));
}

/// Puts planes back into the components.
pub(super) fn from_irreversible(mut planes: Vec<Vec<f32>>, mixes: bool, components: &mut [ImageComponent]) {
    if let (true, [y, cb, cr, ..]) = (mixes, &mut planes[..]) {
        (y, cb, cr).into_par_iter().for_each(|(y, cb, cr)| {
            let (r, b) = (*y + 2.0 * (1.0 - KR) * *cr, *y + 2.0 * (1.0 - KB) * *cb);
            (*y, *cb, *cr) = (r, (*y - KR * r - KB * b) / KG, b);
        });
    }
    components
        .iter_mut()
        .zip(planes)
        .for_each(|(component, plane)| finish(component, &plane, |value| value.round() as i32));
}

/// Turns a plane and clips it to what samples may be.
fn finish<T: Copy + Default + Send + Sync>(
    component: &mut ImageComponent,
    plane: &[T],
    whole: impl Fn(T) -> i32 + Sync,
) {
    let (middle, depth) = (component.shape().middle(), component.depth);
    let least = if component.is_signed { -(1 << (depth - 1)) } else { 0 };
    let most = least + (1 << depth) - 1;
    let turned = turned(plane, component.height, component.width);
    let sample = |value: T| whole(value).saturating_add(middle).clamp(least, most);
    component.samples = turned.into_par_iter().map(sample).collect();
}
