//! Samples to planes centred at 0 and back, with the colour transforms (ISO/IEC 15444-1, annex G). Planes lie on their
//! side, a column of the picture in each row: the standard splits columns first, our transform rows.

use rayon::prelude::*;

use super::image::ImageComponent;

/// Weights of red, green and blue in Y.
const KR: f32 = 0.299;
const KG: f32 = 0.587;
const KB: f32 = 0.114;

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

/// Value that is taken from unsigned samples.
fn middle(component: &ImageComponent) -> i32 {
    if component.is_signed { 0 } else { 1 << (component.depth - 1) }
}

/// Returns the planes of a picture's components in integers; of the first three, if `mixes`, Y, U and V.
pub(super) fn reversible(components: &[ImageComponent], mixes: bool) -> Vec<Vec<i32>> {
    let centred = |component: &ImageComponent| -> Vec<i32> {
        let middle = middle(component);
        let samples: Vec<i32> = component.samples.par_iter().map(|sample| sample - middle).collect();
        turned(&samples, component.width, component.height)
    };
    let mut planes: Vec<Vec<i32>> = components.iter().map(centred).collect();
    if let (true, [r, g, b, ..]) = (mixes, &mut planes[..]) {
        (r, g, b).into_par_iter().for_each(|(r, g, b)| {
            (*r, *g, *b) = ((*r + 2 * *g + *b) >> 2, *b - *g, *r - *g);
        });
    }
    planes
}

/// Returns the planes of a picture's components; of the first three, if `mixes`, Y, Cb and Cr.
pub(super) fn irreversible(components: &[ImageComponent], mixes: bool) -> Vec<Vec<f32>> {
    let centred = |component: &ImageComponent| -> Vec<f32> {
        let middle = middle(component);
        let samples: Vec<f32> = component.samples.par_iter().map(|sample| (sample - middle) as f32).collect();
        turned(&samples, component.width, component.height)
    };
    let mut planes: Vec<Vec<f32>> = components.iter().map(centred).collect();
    if let (true, [r, g, b, ..]) = (mixes, &mut planes[..]) {
        (r, g, b).into_par_iter().for_each(|(r, g, b)| {
            let y = KR * *r + KG * *g + KB * *b;
            (*r, *g, *b) = (y, (*b - y) / (2.0 * (1.0 - KB)), (*r - y) / (2.0 * (1.0 - KR)));
        });
    }
    planes
}

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
    let (middle, depth) = (middle(component), component.depth);
    let least = if component.is_signed { -(1 << (depth - 1)) } else { 0 };
    let most = least + (1 << depth) - 1;
    let turned = turned(plane, component.height, component.width);
    let sample = |value: T| whole(value).saturating_add(middle).clamp(least, most);
    component.samples = turned.into_par_iter().map(sample).collect();
}
