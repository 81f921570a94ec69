//! Finds the counted noise in what is heard: which samples are those sent, and how much later they come.

use super::counted::{WRAP, is_same, number, sample};
use super::heard::{Kind, Runs};

/// Longest delay that is looked for, samples: four seconds.
const DELAY_MAX: u64 = 192_000;
/// Samples of one delay in a row that make it the delay.
const SURE: u32 = 8;
/// Samples that are judged together as like those sent or not.
const CHUNK: u32 = 16;
/// Fewest samples that can be judged.
const CHUNK_MIN: u32 = 4;
/// Energy of the error by that of the sound up to which samples are like those sent: 6 dB. What a program makes up for a noise
/// has more.
const LIKE_MAX: f32 = 0.25;

/// Follows the noise in what is heard.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    runs: Runs,
    delay: Option<u32>,
    /// A delay seen in the last samples, and in how many.
    candidate: Option<(u32, u32)>,
    /// Bad samples since the last good one or judgement: count, energy of their error, and of what should be heard.
    chunk: (u32, f32, f32),
    /// Good samples that are equal to those sent in every bit.
    exact: u64,
}

impl Finder {
    /// Takes the sample heard while that of number `at` is played.
    pub(crate) fn take(&mut self, at: u64, heard: [f32; 2]) {
        if let Some(delay) = self.delay {
            let sent = sample(at.wrapping_sub(delay.into()));
            if is_same(heard, sent) {
                self.judge(delay);
                self.exact += u64::from(heard == sent);
                self.candidate = None;
                self.runs.push(at, 1, Kind::Same(delay));
                return;
            }
        }
        if heard == [0.0; 2] {
            self.candidate = None;
            self.forget_chunk();
            self.runs.push(at, 1, Kind::Silent);
            return;
        }
        self.runs.push(at, 1, Kind::Other);
        self.look_for_another(at, heard);
        if let Some(delay) = self.delay {
            let sent = sample(at.wrapping_sub(delay.into()));
            let errors = [heard[0] - sent[0], heard[1] - sent[1]];
            let energy = |values: [f32; 2]| values[0] * values[0] + values[1] * values[1];
            let (count, error, sound) = self.chunk;
            self.chunk = (count + 1, error + energy(errors), sound + energy(sent));
            if self.chunk.0 == CHUNK {
                self.judge(delay);
            }
        }
    }

    /// Returns what was heard, and how many samples are equal to those sent in every bit.
    pub(crate) fn end(self) -> (Runs, u64) {
        (self.runs, self.exact)
    }

    fn look_for_another(&mut self, at: u64, heard: [f32; 2]) {
        let delay = number(heard).map(|number| at.wrapping_sub(number.into()) % WRAP);
        let Some(delay) = delay.filter(|&delay| delay < DELAY_MAX).map(|delay| delay as u32) else {
            self.candidate = None;
            return;
        };
        let seen = self.candidate.filter(|candidate| candidate.0 == delay).map_or(0, |candidate| candidate.1) + 1;
        self.candidate = Some((delay, seen));
        if seen == SURE {
            self.delay = Some(delay);
            self.forget_chunk();
            self.runs.retag(SURE.into(), Kind::Same(delay));
        }
    }

    fn judge(&mut self, delay: u32) {
        let (count, error, sound) = self.chunk;
        if count >= CHUNK_MIN && error < LIKE_MAX * sound {
            self.runs.retag(count.into(), Kind::Like(delay));
        }
        self.forget_chunk();
    }

    fn forget_chunk(&mut self) {
        self.chunk = (0, 0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::heard::Run;
    use super::*;

    /// Returns what is found if `change` makes what is heard out of the noise 300 samples ago.
    fn found(change: impl Fn(u64, [f32; 2]) -> [f32; 2]) -> (Vec<Run>, u64) {
        let mut finder = Finder::default();
        for at in 1_000..5_000 {
            finder.take(at, change(at, sample(at - 300)));
        }
        let (runs, exact) = finder.end();
        (runs.0, exact)
    }

    fn run(start: u64, length: u64, kind: Kind) -> Run {
        Run { start, length, kind }
    }

    #[test]
    fn a_delay_is_exact_and_so_is_a_change_of_it() {
        assert_eq!(found(|_, sent| sent), (vec![run(1_000, 4_000, Kind::Same(300))], 3_992));
        let (runs, _) = found(|at, sent| if at < 2_000 { sent } else { sample(at - 364) });
        assert_eq!(runs, [run(1_000, 1_000, Kind::Same(300)), run(2_000, 3_000, Kind::Same(364))]);
    }

    #[test]
    fn rounding_is_no_dropout_but_not_bit_exact() {
        let (runs, exact) = found(|_, [left, right]| [left + 1.0 / 32_768.0, right]);
        assert_eq!((runs, exact), (vec![run(1_000, 4_000, Kind::Same(300))], 0));
    }

    #[test]
    fn silence_is_told_from_sound_made_up_and_both_from_coarse_copies() {
        let change = |at: u64, [left, right]: [f32; 2]| match at {
            2_000..2_064 => [0.0; 2],
            3_000..3_064 => sample(at - 364).map(|value| 0.7 * value),
            // As a coder of four bits has it.
            4_000..4_064 => [left + 0.02, right - 0.02],
            _ => [left, right],
        };
        let same = |start, length| run(start, length, Kind::Same(300));
        let expected = [
            same(1_000, 1_000),
            run(2_000, 64, Kind::Silent),
            same(2_064, 936),
            run(3_000, 64, Kind::Other),
            same(3_064, 936),
            run(4_000, 64, Kind::Like(300)),
            same(4_064, 936),
        ];
        assert_eq!(found(change), (expected.to_vec(), 3_800));
    }

    #[test]
    fn a_foreign_noise_is_never_found() {
        let (runs, exact) = found(|at, _| sample(at + 9_000_000));
        assert_eq!((runs, exact), (vec![run(1_000, 4_000, Kind::Other)], 0));
    }
}
