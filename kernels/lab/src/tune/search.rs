//! Coordinate descent over the settings: one after another takes its best value, twice round.

use device::settings::{SETTINGS, Tuning};
use kernels::DeviceKind;
use kernels::OpenError;

/// A candidate must take at most this share of the best one's time: less is noise.
const WORTH: f64 = 0.97;
/// The second round sees the first one's choices.
const ROUNDS: usize = 2;

/// Result of trying a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Its time in units of the default's.
    Cost(f64),
    /// The device does not run it, or its result differs.
    Unfit,
    /// It was not tried, since there is too little time left.
    NoTime,
}

/// Result of the search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    /// The best settings seen.
    pub(super) tuning: Tuning,
    /// Candidates measured.
    pub(super) tried: usize,
    /// Candidates that the device does not run, or not with the same result.
    pub(super) unfit: usize,
    /// True if there was time for all of them.
    pub(super) complete: bool,
}

/// Looks for better settings than `default`, whose cost is 1. `judge` gets a candidate, its setting's name and value,
/// and how far the search is in its round: candidate i of n.
pub(super) fn search(
    kind: DeviceKind,
    default: &Tuning,
    mut judge: impl FnMut(&Tuning, &str, (usize, usize)) -> Result<Verdict, OpenError>,
) -> Result<Best, OpenError> {
    let mut found = Best { tuning: default.clone(), tried: 0, unfit: 0, complete: true };
    let mut best = 1.0;
    let mut seen = vec![default.clone()];
    for _ in 0..ROUNDS {
        let round: usize = SETTINGS.iter().map(|setting| setting.candidates(kind, &found.tuning).len()).sum();
        let (before, mut position) = (found.tuning.clone(), 0);
        for setting in SETTINGS {
            for candidate in setting.candidates(kind, &found.tuning) {
                position += 1;
                if seen.contains(&candidate) {
                    continue;
                }
                let what = format!("{} {}", setting.name, setting.value(&candidate));
                match judge(&candidate, &what, (position, round))? {
                    Verdict::Cost(cost) => {
                        found.tried += 1;
                        if cost < best * WORTH {
                            (best, found.tuning) = (cost, candidate.clone());
                        }
                    }
                    Verdict::Unfit => found.unfit += 1,
                    Verdict::NoTime => found.complete = false,
                }
                seen.push(candidate);
            }
        }
        if found.tuning == before {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu() -> Tuning {
        Tuning::default_for(DeviceKind::Cpu)
    }

    /// Returns the distance from the wanted settings in octaves, so that more than one has to change.
    fn cost(tuning: &Tuning, wanted: &Tuning) -> f64 {
        let octaves = |a: usize, b: usize| (a as f64 / b as f64).log2().abs();
        octaves(tuning.strip, wanted.strip)
            + octaves(tuning.groups_per_unit, wanted.groups_per_unit)
            + octaves(tuning.min_segment, wanted.min_segment)
    }

    #[test]
    fn it_descends_to_the_best_of_every_setting() {
        let wanted = Tuning { strip: 256, groups_per_unit: 16, min_segment: 12, ..cpu() };
        let mut judged = Vec::new();
        let found = search(DeviceKind::Cpu, &cpu(), |tuning, _, (position, of)| {
            assert!(position <= of);
            judged.push(tuning.clone());
            Ok(Verdict::Cost(cost(tuning, &wanted) / cost(&cpu(), &wanted)))
        })
        .unwrap();
        assert_eq!(found.tuning, wanted);
        assert!(found.complete && found.tried == judged.len());
        assert!((0..judged.len()).all(|at| !judged[..at].contains(&judged[at])), "one was measured twice");
    }

    #[test]
    fn the_second_round_sees_the_first_ones_choices() {
        // A long segment is faster only with a narrow strip, which is tuned later.
        let judge = |tuning: &Tuning| match (tuning.min_segment, tuning.strip) {
            (96, 256) => 0.5,
            (24, 256) => 0.8,
            _ => 1.0,
        };
        let found = search(DeviceKind::Cpu, &cpu(), |tuning, _, _| Ok(Verdict::Cost(judge(tuning)))).unwrap();
        assert_eq!((found.tuning.min_segment, found.tuning.strip), (96, 256));
    }

    #[test]
    fn the_default_stays_where_nothing_is_clearly_better() {
        let found = search(DeviceKind::Cpu, &cpu(), |_, _, _| Ok(Verdict::Cost(0.98))).unwrap();
        assert_eq!(found.tuning, cpu());
        let found = search(DeviceKind::Cpu, &cpu(), |_, _, _| Ok(Verdict::Unfit)).unwrap();
        assert_eq!((found.tuning, found.tried), (cpu(), 0));
        assert!(found.unfit > 0 && found.complete);
    }

    #[test]
    fn what_there_is_no_time_for_is_left_out() {
        // Strips are too costly to try.
        let found = search(DeviceKind::Cpu, &cpu(), |tuning, what, _| match tuning.strip {
            1024 => Ok(Verdict::Cost(if what == "min_segment 12" { 0.5 } else { 1.0 })),
            _ => Ok(Verdict::NoTime),
        })
        .unwrap();
        assert!(!found.complete && found.tried > 1);
        assert_eq!(found.tuning, Tuning { min_segment: 12, ..cpu() });
    }

    #[test]
    fn a_failure_that_is_not_the_candidates_ends_the_search() {
        let result = search(DeviceKind::Cpu, &cpu(), |_, _, _| Err(OpenError::NotFound(kernels::NotFound::Platform)));
        assert_eq!(result, Err(OpenError::NotFound(kernels::NotFound::Platform)));
    }
}
