//! How near a prediction is: whether coding a frame alone is worth trying.

use crate::cpu::motion::square::differences_from_means;

/// Side of the squares whose flatness decides.
pub(crate) const ACTIVITY_SIDE: usize = 8;

/// Returns the sums of absolute differences of the luma of samples, `pixels` in rows of `width`: from a prediction, and from the means
/// of squares.
pub(crate) fn distances(own: &[u8], predicted: &[u8], width: usize, pixels: usize) -> [u64; 2] {
    let rows = ACTIVITY_SIDE * width;
    let both = own[..pixels].chunks(rows).zip(predicted[..pixels].chunks(rows));
    both.fold([0; 2], |sums: [u64; 2], (own, predicted)| {
        let more = differences_from_means(own, predicted, width);
        [0, 1].map(|at| sums[at] + u64::from(more[at]))
    })
}
