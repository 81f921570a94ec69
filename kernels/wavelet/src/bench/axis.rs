//! Axes of plots: where a value lies, and where the ticks are.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// A linear or logarithmic axis with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
    logarithmic: bool,
}

impl Axis {
    /// Creates a logarithmic axis, from one power of two to another, for values above 0.
    pub(crate) fn powers_of_two(values: &Range<f64>) -> Self {
        let (first, last) = (values.start.log2().floor() as i32, values.end.log2().ceil() as i32);
        let step = (last - first) / 12 + 1;
        let ticks = (first..=last).step_by(step as usize).map(f64::from).map(f64::exp2).collect();
        let margin = 1.0 + 0.015 * f64::from((last - first).max(1));
        Self { range: f64::from(first).exp2() / margin..f64::from(last).exp2() * margin, ticks, logarithmic: true }
    }

    /// Creates a logarithmic axis, for values above 0, between ticks at 1, 2 and 5 or at powers of ten.
    pub(crate) fn decades(values: &Range<f64>) -> Self {
        let (first, last) = (values.start.log10().floor() as i32, values.end.log10().floor() as i32 + 1);
        let digits: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = (first..=last).flat_map(|exponent| digits.iter().map(move |digit| digit * 10_f64.powi(exponent)));
        let all: Vec<f64> = all.collect();
        let below = all.iter().rposition(|tick| *tick <= values.start).unwrap_or(0);
        let above = all.iter().position(|tick| *tick > values.end).unwrap_or(all.len() - 1);
        Self { range: all[below]..all[above], ticks: all[below..=above].to_vec(), logarithmic: true }
    }

    /// Creates a linear axis, from 0, for values above 0; four to eight ticks at round numbers.
    pub(crate) fn from_zero(values: &Range<f64>) -> Self {
        let end = 1.05 * values.end;
        let magnitude = 10_f64.powf((end / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0].map(|digit| digit * magnitude).into_iter().find(|step| end / step <= 8.0);
        let step = step.unwrap_or(10.0 * magnitude);
        let ticks = (0..=(end / step) as i32).map(|count| f64::from(count) * step).collect();
        Self { range: 0.0..end, ticks, logarithmic: false }
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.logarithmic { value.ln() } else { value }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (start, end) = (self.scaled(self.range.start), self.scaled(self.range.end));
        let share = ((self.scaled(*value) - start) / (end - start)).clamp(0.0, 1.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(Axis::powers_of_two(&(65536.0..300_000.0)).ticks, [65536.0, 131_072.0, 262_144.0, 524_288.0]);
        assert_eq!(Axis::from_zero(&(3.0..2700.0)).ticks, [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]);
        let near =
            |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
        let decades = |values| Axis::decades(&values).ticks;
        assert!(near(&decades(0.3..7.0), &[0.2, 0.5, 1.0, 2.0, 5.0, 10.0]));
        assert!(near(&decades(0.3..7000.0), &[0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0]));
        assert!(near(&decades(1.0..1.0), &[1.0, 2.0]) && near(&decades(3.0..4.0), &[2.0, 5.0]));
    }

    #[test]
    fn values_lie_between_the_ends() {
        let linear = Axis { range: 0.0..10.0, ticks: Vec::new(), logarithmic: false };
        assert_eq!([0.0, 2.5, 10.0, 11.0].map(|value| linear.map(&value, (400, 0))), [400, 300, 0, 0]);
        let logarithmic = Axis { range: 1.0..100.0, logarithmic: true, ..linear };
        assert_eq!([1.0, 10.0, 100.0].map(|value| logarithmic.map(&value, (0, 200))), [0, 100, 200]);
    }
}
