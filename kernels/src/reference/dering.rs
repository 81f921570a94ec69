//! The filter in the loop: samples move towards their neighbours, but not towards those that differ much.

use picture::frame::Chroma;
use picture::vectors::VECTOR_BLOCK;

use super::compensate::EndlessPlane;
use crate::Picture;
use crate::motion::dering::{Dering, SUM_BITS, TAPS};
use crate::motion::field::UNIT;
use crate::motion::predictor::{plane_size, planes};

/// Returns twice the difference `d` of a neighbour, or what it lacks of `strength` if that is less.
fn constrained(d: i32, strength: i32) -> i32 {
    d.signum() * (2 * d.abs()).min((strength - d.abs()).max(0))
}

/// Returns sample (x, y), filtered with this strength.
fn filtered(plane: EndlessPlane<'_>, strength: u8, x: usize, y: usize) -> u8 {
    let (x, y) = (x as i32, y as i32);
    let own = i32::from(plane.at(x, y));
    let tap = |([right, below], weight): ([i32; 2], u8)| {
        i32::from(weight) * constrained(i32::from(plane.at(x + right, y + below)) - own, strength.into())
    };
    let sum: i32 = TAPS.into_iter().map(tap).sum();
    // Halves go away from zero, so that no level is preferred.
    (own + ((sum + (1 << (SUM_BITS - 1)) - i32::from(sum < 0)) >> SUM_BITS)) as u8
}

/// Filters the squares of a picture of sampling `chroma`.
pub(crate) fn dering(picture: &mut Picture, chroma: Chroma, dering: &Dering) {
    let (picture_size, mut out) = (picture.size(), Vec::with_capacity(picture.data().len()));
    for (channel, samples) in planes(chroma, picture_size, picture.data()).into_iter().enumerate() {
        let (size, unit) = plane_size(chroma, picture_size, channel);
        let (plane, side) = (EndlessPlane { samples, size }, VECTOR_BLOCK * unit / UNIT);
        for (x, y) in (0..size.height()).flat_map(|y| (0..size.width()).map(move |x| (x, y))) {
            out.push(match dering.at(x / side, y / side) {
                0 => plane.at(x as i32, y as i32),
                strength => filtered(plane, strength, x, y),
            });
        }
    }
    picture.data_mut().copy_from_slice(&out);
}
