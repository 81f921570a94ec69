//! Samples to planes centred at 0 and back, with the colour transforms (ISO/IEC 15444-1, annex G). Planes lie on their
//! side, a column of the picture in each row: the standard splits columns first, our transform rows.

use kernels::parts::Values;
use rayon::prelude::*;

use super::image::ImageComponent;
use super::memory::zeros;

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

/// Value that is taken from unsigned samples.
pub(super) fn middle(component: &ImageComponent) -> i32 {
    if component.is_signed { 0 } else { 1 << (component.depth - 1) }
}

/// The planes of a picture, by the transforms that take them.
pub(super) struct Planes {
    parts: Vec<Values>,
}

impl Planes {
    /// Returns planes of these columns and rows, so many together.
    pub(super) fn new(extents: &[(usize, usize)], counts: &[usize], is_reversible: bool) -> Self {
        let (mut parts, mut rest) = (Vec::new(), extents);
        for &count in counts {
            let (own, others) = rest.split_at(count);
            let lengths = own.iter().map(|(width, height)| width * height);
            parts.push(match is_reversible {
                true => Values::I32(lengths.map(zeros).collect()),
                false => Values::F32(lengths.map(zeros).collect()),
            });
            rest = others;
        }
        Self { parts }
    }

    /// Returns them.
    pub(super) fn parts(&self) -> &[Values] {
        &self.parts
    }

    /// Makes them of a picture's components, of which the first three, if `mixes`, become Y, Cb and Cr or Y, U and V.
    pub(super) fn fill(&mut self, components: &[ImageComponent], mixes: bool) {
        let mut rest = components;
        for (at, part) in self.parts.iter_mut().enumerate() {
            let mixes = mixes && at == 0;
            let count = match part {
                Values::I32(planes) => {
                    match (mixes, rest, &mut planes[..]) {
                        (true, [r, g, b, ..], [y, u, v]) => turn_mixed([r, g, b], [y, u, v], reversible),
                        _ => rest.iter().zip(&mut *planes).for_each(|(from, to)| turn_centred(from, to, |value| value)),
                    }
                    planes.len()
                }
                Values::F32(planes) => {
                    match (mixes, rest, &mut planes[..]) {
                        (true, [r, g, b, ..], [y, u, v]) => turn_mixed([r, g, b], [y, u, v], irreversible),
                        _ => {
                            rest.iter().zip(&mut *planes).for_each(|(from, to)| turn_centred(from, to, |it| it as f32))
                        }
                    }
                    planes.len()
                }
                Values::F64(_) => 0,
            };
            rest = &rest[count..];
        }
    }
}

fn reversible([r, g, b]: [i32; 3]) -> [i32; 3] {
    [(r + 2 * g + b) >> 2, b - g, r - g]
}

/// Differences from Y over those of Cb and Cr.
pub(super) const PER_BLUE: f32 = 0.5 / (1.0 - KB);
pub(super) const PER_RED: f32 = 0.5 / (1.0 - KR);

fn irreversible([r, g, b]: [i32; 3]) -> [f32; 3] {
    let [r, g, b] = [r, g, b].map(|value| value as f32);
    let y = KR * r + KG * g + KB * b;
    [y, (b - y) * PER_BLUE, (r - y) * PER_RED]
}

/// Rows that are turned together: of each column as much as fills a cache line.
const LINE: usize = 16;

/// Turns a part of a plane, the columns from `first` on, of which `out` has as many as it holds: `row` puts the values of a row,
/// which is its number, from that column on into what it is given.
fn turn<T: Copy + Default>(out: &mut [T], height: usize, mut row: impl FnMut(usize, &mut [T])) {
    let width = out.len() / height;
    let mut lines = [[T::default(); TILE]; LINE];
    for top in (0..height).step_by(LINE) {
        let rows = LINE.min(height - top);
        lines.iter_mut().enumerate().take(rows).for_each(|(y, line)| row(top + y, &mut line[..width]));
        for (x, column) in out.chunks_exact_mut(height).enumerate() {
            column[top..top + rows].iter_mut().zip(&lines).for_each(|(to, line)| *to = line[x]);
        }
    }
}

fn turn_centred<T: Copy + Default + Send>(
    component: &ImageComponent,
    plane: &mut [T],
    convert: impl Fn(i32) -> T + Sync,
) {
    let ImageComponent { width, height, samples, .. } = component;
    let (width, height, middle) = (*width, *height, middle(component));
    plane.par_chunks_mut(TILE * height).enumerate().for_each(|(tile, out)| {
        turn(out, height, |y, line| {
            let start = y * width + tile * TILE;
            let from = &samples[start..start + line.len()];
            line.iter_mut().zip(from).for_each(|(to, value)| *to = convert(value - middle));
        });
    });
}

/// Three components of one shape.
fn turn_mixed<T: Copy + Default + Send>(
    from: [&ImageComponent; 3],
    to: [&mut Vec<T>; 3],
    convert: impl Fn([i32; 3]) -> [T; 3] + Sync,
) {
    let (width, height, middle) = (from[0].width, from[0].height, middle(from[0]));
    let [a, b, c] = to.map(|plane| plane.par_chunks_mut(TILE * height));
    (a, b, c).into_par_iter().enumerate().for_each(|(tile, (a, b, c))| {
        for (own, out) in [a, b, c].into_iter().enumerate() {
            turn(out, height, |y, line| {
                let start = y * width + tile * TILE;
                let [r, g, b] = from.map(|component| &component.samples[start..start + line.len()]);
                for (((to, r), g), b) in line.iter_mut().zip(r).zip(g).zip(b) {
                    *to = convert([r - middle, g - middle, b - middle])[own];
                }
            });
        }
    });
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
