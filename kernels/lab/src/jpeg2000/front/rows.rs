//! Rows of what is transformed, made of turned samples: centred at 0, and mixed by the colour transforms (ISO/IEC 15444-1, annex G).

use crate::jpeg2000::image::Shape;
use crate::jpeg2000::memory::Pages;
use crate::jpeg2000::planes::{KB, KG, KR, PER_BLUE, PER_RED};
use kernels::parts::cpu::fast;

/// A number that samples become.
pub(super) trait Mixed: Copy {
    fn of(sample: i32) -> Self;

    /// Returns Y, Cb and Cr, or Y, U and V, of red, green and blue.
    fn mixed(colours: [i32; 3]) -> [Self; 3];
}

impl Mixed for i32 {
    #[inline(always)]
    fn of(sample: i32) -> Self {
        sample
    }

    #[inline(always)]
    fn mixed([r, g, b]: [i32; 3]) -> [Self; 3] {
        // As samples have 16 bits nothing wraps; a check of each would keep the loop from vectors.
        let sum = r.wrapping_add(g.wrapping_mul(2)).wrapping_add(b);
        [sum >> 2, b.wrapping_sub(g), r.wrapping_sub(g)]
    }
}

impl Mixed for f32 {
    #[inline(always)]
    fn of(sample: i32) -> Self {
        sample as Self
    }

    #[inline(always)]
    fn mixed(colours: [i32; 3]) -> [Self; 3] {
        let [r, g, b] = colours.map(|value| value as Self);
        let y = KR * r + KG * g + KB * b;
        [y, (b - y) * PER_BLUE, (r - y) * PER_RED]
    }
}

/// Puts the row `y` of a component into `to`.
pub(super) fn row<S: Copy + Into<i32>, T: Mixed>(
    planes: &[Pages<S>],
    shape: &Shape,
    (component, mixes): (usize, bool),
    y: usize,
    to: &mut [T],
) {
    let middle = 1 << (shape.depth - 1);
    let own = |at: usize| &planes[at][y * to.len()..][..to.len()];
    if !mixes {
        let from = own(component);
        return fast(
            #[inline(always)]
            || to.iter_mut().zip(from).for_each(|(to, &value)| *to = T::of(value.into().wrapping_sub(middle))),
        );
    }
    let [r, g, b] = [own(0), own(1), own(2)];
    // A loop of its own for each, so that no vector of it asks which one it is.
    fast(
        #[inline(always)]
        || match component {
            0 => mix::<S, T, 0>([r, g, b], middle, to),
            1 => mix::<S, T, 1>([r, g, b], middle, to),
            _ => mix::<S, T, 2>([r, g, b], middle, to),
        },
    );
}

#[inline(always)]
fn mix<S: Copy + Into<i32>, T: Mixed, const COMPONENT: usize>([r, g, b]: [&[S]; 3], middle: i32, to: &mut [T]) {
    for (((to, &r), &g), &b) in to.iter_mut().zip(r).zip(g).zip(b) {
        *to = T::mixed([r.into(), g.into(), b.into()].map(|value| value.wrapping_sub(middle)))[COMPONENT];
    }
}
