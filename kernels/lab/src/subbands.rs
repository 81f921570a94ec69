//! Pictures by their subbands: gain, thresholds, and the detail of one on the light of another (Wong, Leung, Heng and Wang, 2007,
//! section VII). Only coefficients change, the same way whatever transformed them.

use std::ops::RangeInclusive;

use kernels::parts::Values;
use picture::pyramid::{Pyramid, Rect};
use picture::weights::Orientation;

/// Subbands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The low band after the last level.
    Low,
    /// Detail of these levels, 1 is the finest; of one direction or of all three.
    Detail(RangeInclusive<usize>, Option<Orientation>),
}

/// A change of a subband.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Each coefficient so many times as large.
    Gain(f64),
    /// Coefficients that are smaller become 0.
    Threshold(f64),
    /// The coefficients of another picture take the place of its own.
    Take,
    /// Of its own coefficient and the other picture's, the one that is larger.
    Larger,
}

/// Changes subbands of the squares of all channels, one change after another. `other` are the squares of another picture of the
/// same shape; without it nothing is taken.
pub fn change(squares: &mut Values, pyramids: &[Pyramid], changes: &[(Part, Change)], other: Option<&Values>) {
    match (squares, other) {
        (Values::F32(own), Some(Values::F32(other))) => all(own, pyramids, changes, Some(other)),
        (Values::F64(own), Some(Values::F64(other))) => all(own, pyramids, changes, Some(other)),
        (Values::I32(own), Some(Values::I32(other))) => all(own, pyramids, changes, Some(other)),
        (Values::F32(own), _) => all(own, pyramids, changes, None),
        (Values::F64(own), _) => all(own, pyramids, changes, None),
        (Values::I32(own), _) => all(own, pyramids, changes, None),
    }
}

/// A number of a square.
trait Coefficient: Copy {
    fn get(self) -> f64;

    fn of(value: f64) -> Self;
}

impl Coefficient for f32 {
    fn get(self) -> f64 {
        self.into()
    }

    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Coefficient for f64 {
    fn get(self) -> f64 {
        self
    }

    fn of(value: f64) -> Self {
        value
    }
}

impl Coefficient for i32 {
    fn get(self) -> f64 {
        self.into()
    }

    fn of(value: f64) -> Self {
        value.round() as Self
    }
}

fn all<T: Coefficient>(
    squares: &mut [Vec<T>],
    pyramids: &[Pyramid],
    changes: &[(Part, Change)],
    other: Option<&Vec<Vec<T>>>,
) {
    for (channel, (square, pyramid)) in squares.iter_mut().zip(pyramids).enumerate() {
        let other = other.and_then(|other| other.get(channel));
        for (part, change) in changes {
            for place in places(part, pyramid) {
                for row in place.y..place.y + place.height {
                    let start = row * pyramid.side() + place.x;
                    let own = &mut square[start..start + place.width];
                    let other = other.map(|other| &other[start..start + place.width]);
                    in_row(own, *change, other);
                }
            }
        }
    }
}

fn in_row<T: Coefficient>(own: &mut [T], change: Change, other: Option<&[T]>) {
    match (change, other) {
        (Change::Gain(gain), _) => own.iter_mut().for_each(|value| *value = T::of(value.get() * gain)),
        (Change::Threshold(least), _) => {
            own.iter_mut().filter(|value| value.get().abs() < least).for_each(|value| *value = T::of(0.0));
        }
        (Change::Take, Some(other)) => own.copy_from_slice(other),
        (Change::Larger, Some(other)) => {
            own.iter_mut().zip(other).filter(|(own, other)| other.get().abs() > own.get().abs()).for_each(
                |(own, other)| {
                    *own = *other;
                },
            );
        }
        (Change::Take | Change::Larger, None) => {}
    }
}

/// Returns where the subbands lie in the square.
fn places(part: &Part, pyramid: &Pyramid) -> Vec<Rect> {
    match part {
        Part::Low => vec![pyramid.band(pyramid.levels(), Orientation::LL)],
        Part::Detail(levels, orientation) => {
            let all = [Orientation::HL, Orientation::LH, Orientation::HH];
            let wanted = |of: &Orientation| orientation.is_none_or(|orientation| orientation == *of);
            let levels = *levels.start().max(&1)..=*levels.end().min(&pyramid.levels());
            levels.flat_map(|level| all.into_iter().filter(wanted).map(move |of| pyramid.band(level, of))).collect()
        }
    }
}
