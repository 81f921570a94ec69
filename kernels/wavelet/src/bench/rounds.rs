//! Rounds of a transform there and back, with every result checked.

use anyhow::{Result, ensure};
use kernels::Element;
use lab::measure::{Measure, PICTURES, Round};

use super::samples::{Limit, repeat};

/// Runs of which the time of a copy is the median.
const COPIES: usize = 11;

/// Measures rounds, changing the picture from one to the next. A result that differs from the first one of the same
/// picture is an error, and so is a plane that does not come back.
pub(crate) fn rounds(measure: &mut dyn Measure, limit: Limit, element: Element) -> Result<Vec<Round>> {
    let mut first = [None; PICTURES];
    let mut pictures = (0..PICTURES).cycle();
    repeat(limit, || {
        let picture = pictures.next().unwrap_or(0);
        let round = measure.round(picture)?;
        let sums = [round.forward.sum, round.inverse.sum];
        let known = *first[picture].get_or_insert(sums);
        ensure!(sums == known, "the same picture gave another result than before: sums {sums:x?}, not {known:x?}");
        let tolerance = tolerance(element);
        ensure!(
            round.error <= tolerance,
            "the transform and its inverse changed a sample by {}: no more than {tolerance} is rounding",
            round.error
        );
        Ok(round)
    })
}

/// Returns the largest rounding error of a transform of 8-bit samples and its inverse.
fn tolerance(element: Element) -> f64 {
    match element {
        Element::F32 => 0.05,
        Element::F64 => 1e-9,
        Element::I32 => 0.0,
    }
}

/// Returns the bytes a second that a copy reads and writes.
pub(crate) fn copy_rate(measure: &mut dyn Measure) -> Result<f64> {
    let (bytes, mut times) = measure.copies(COPIES)?;
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok(bytes as f64 / median.as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernels::{BackendInfo, TransformError};
    use lab::measure::Run;

    use super::*;

    /// Gives the picture as the sum, but for one round.
    struct Device {
        round: usize,
        wrong: Option<usize>,
        error: f64,
    }

    impl Measure for Device {
        fn round(&mut self, picture: usize) -> Result<Round, TransformError> {
            self.round += 1;
            let run = Run { sum: picture as u64, ..Run::default() };
            let inverse = if Some(self.round) == self.wrong { Run { sum: 99, ..run } } else { run };
            Ok(Round { forward: run, inverse, error: self.error })
        }

        fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), TransformError> {
            Ok((3000, (1..=runs as u64).map(Duration::from_micros).collect()))
        }

        fn backend(&self) -> &BackendInfo {
            unreachable!()
        }
    }

    fn measured(wrong: Option<usize>, error: f64, element: Element) -> Result<Vec<Round>> {
        rounds(&mut Device { round: 0, wrong, error }, Limit { runs: 20, time: Duration::MAX }, element)
    }

    #[test]
    fn a_wrong_sum_is_seen() {
        let rounds = measured(None, 0.0, Element::I32).unwrap();
        let sums: Vec<_> = rounds.iter().take(5).map(|round| round.forward.sum).collect();
        assert_eq!((rounds.len(), sums), (20, vec![3, 0, 1, 2, 3]));
        for wrong in [5, 8, 23] {
            let error = measured(Some(wrong), 0.0, Element::I32).unwrap_err().to_string();
            assert!(error.contains("63"), "{error}");
        }
    }

    #[test]
    fn a_plane_that_does_not_come_back_is_seen() {
        for (element, good, bad) in [
            (Element::F32, 1e-3, 1.0),
            (Element::F64, 1e-12, 1e-6),
            (Element::I32, 0.0, 1.0),
            (Element::F32, 0.0, f64::NAN),
        ] {
            assert!(
                measured(None, good, element).is_ok() && measured(None, bad, element).is_err(),
                "{element:?} {bad}"
            );
        }
    }

    #[test]
    fn the_rate_of_copies_is_their_median() {
        let rate = copy_rate(&mut Device { round: 0, wrong: None, error: 0.0 }).unwrap();
        assert!((rate / (3000.0 / 6e-6) - 1.0).abs() < 1e-9, "{rate}");
    }
}
