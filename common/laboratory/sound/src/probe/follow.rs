//! Follows a known sound in what is heard, though it was coded, resampled or made louder.
//!
//! A block is good if the sound sent, at the delay so far or half a sample beside it, makes up for all but 6 dB of it.

use super::heard::{Kind, Runs};

/// Samples that are judged together.
const BLOCK: usize = 64;
/// Samples by which a delay is found anew near the one before, and reach of that search.
const NEAR: (usize, u64) = (256, 1_024);
/// Samples by which it is found anywhere in the sound, which is repeated.
const FAR: usize = 2_048;
/// Share of the energy that the sound sent may leave unexplained.
const REST_MAX: f64 = 0.25;
/// Energy of a sample below which there is silence.
const SILENCE: f64 = 1e-9;
/// Bad blocks after which the delay is looked for everywhere, as often as there are so many more.
const PATIENCE: u32 = 64;
/// Error up to which a sample of 16 bits is the one sent.
const EXACT: f32 = 0.75 / 32_768.0;

/// Follows a sound in what is heard.
#[derive(Debug)]
pub(crate) struct Follower {
    table: Vec<[f32; 2]>,
    /// The newest samples heard, and the number of the first of them.
    recent: Vec<[f32; 2]>,
    first: u64,
    delay: Option<u64>,
    bad: u32,
    runs: Runs,
    /// Energy of the sound in good blocks, and of what it leaves unexplained.
    energy: [f64; 2],
    exact: u64,
}

/// The sound at a delay, a part of it a sample later, as it explains a block.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Part of the delay beyond whole samples.
    part: f64,
    /// Energy of the block, and what is left of it.
    energy: f64,
    rest: f64,
}

impl Follower {
    /// Creates a follower of this sound.
    pub(crate) fn new(table: Vec<[f32; 2]>) -> Self {
        Self {
            table,
            recent: Vec::new(),
            first: 0,
            delay: None,
            bad: PATIENCE - 1,
            runs: Runs::default(),
            energy: [0.0; 2],
            exact: 0,
        }
    }

    /// Takes the sample heard while that of number `at` is played.
    pub(crate) fn take(&mut self, at: u64, heard: [f32; 2]) {
        if self.recent.is_empty() {
            self.first = at;
        }
        self.recent.push(heard);
        if self.recent.len().is_multiple_of(BLOCK) {
            self.judge();
        }
        if self.recent.len() >= 2 * FAR {
            self.recent.drain(..FAR);
            self.first += FAR as u64;
        }
    }

    /// Returns what was heard, samples that are equal to those sent, and the signal by the noise in good blocks, dB.
    pub(crate) fn end(self) -> (Runs, u64, f64) {
        (self.runs, self.exact, 10.0 * (self.energy[0] / self.energy[1].max(1e-30)).log10())
    }

    fn judge(&mut self) {
        let start = self.first + (self.recent.len() - BLOCK) as u64;
        let push = |follower: &mut Self, kind| follower.runs.push(start, BLOCK as u64, kind);
        let heard =
            self.recent[self.recent.len() - BLOCK..].iter().map(|heard| f64::from(heard[0]).powi(2)).sum::<f64>();
        let is_silent = heard < SILENCE * BLOCK as f64;
        if let Some(delay) = self.delay {
            let sent: f64 = (0..BLOCK as u64).map(|at| f64::from(self.sent(start + at, delay)[0]).powi(2)).sum();
            let fit = self.fit(BLOCK, delay);
            // Where nothing was sent, nothing is to be heard.
            if fit.rest < REST_MAX * fit.energy || (is_silent && sent < SILENCE * BLOCK as f64) {
                self.bad = 0;
                self.energy = [self.energy[0] + fit.energy, self.energy[1] + fit.rest];
                let newest = self.recent[self.recent.len() - BLOCK..].iter().zip(start..);
                let is_exact = |(heard, at): (&[f32; 2], u64)| {
                    heard.iter().zip(self.sent(at, delay)).all(|(heard, sent)| (heard - sent).abs() < EXACT)
                };
                self.exact += newest.filter(|&pair| is_exact(pair)).count() as u64;
                push(self, Kind::Same(delay as u32));
                self.delay = Some(match fit.part {
                    part if part > 1.0 => delay + 1,
                    part if part < 0.0 => delay.saturating_sub(1),
                    _ => delay,
                });
                return;
            }
        }
        if is_silent {
            push(self, Kind::Silent);
            return;
        }
        push(self, Kind::Other);
        self.bad += 1;
        let found = match self.delay {
            Some(delay) => self.search(NEAR.0, delay.saturating_sub(NEAR.1), delay + NEAR.1),
            None => None,
        };
        let all = self.table.len() as u64 - 1;
        let everywhere = || self.bad.is_multiple_of(PATIENCE).then(|| self.search(FAR, 0, all)).flatten();
        if let Some(delay) = found.or_else(everywhere) {
            self.delay = Some(delay);
            self.bad = 0;
        }
    }

    /// Returns the delay between these at which the sound explains the last `length` samples, if there is one.
    fn search(&self, length: usize, least: u64, most: u64) -> Option<u64> {
        let start = self.recent.len().checked_sub(length)?;
        let first = self.first + start as u64;
        let newest: Vec<f32> = self.recent[start..].iter().map(|heard| heard[0]).collect();
        // The same stretch of the table serves all delays.
        let sent: Vec<f32> = (0..length as u64 + most - least).map(|at| self.sent(first + at, most)[0]).collect();
        let likeness = |delay: u64| {
            let sent = &sent[(most - delay) as usize..][..length];
            newest.iter().zip(sent).map(|(heard, sent)| heard * sent).sum::<f32>().abs()
        };
        let best =
            (least..=most).map(|delay| (likeness(delay), delay)).max_by(|one, other| one.0.total_cmp(&other.0))?.1;
        let fit = self.fit(length, best);
        (fit.rest < REST_MAX * fit.energy).then_some(best)
    }

    /// Explains the last `length` samples by the sound at a delay and one sample more.
    fn fit(&self, length: usize, delay: u64) -> Fit {
        let start = self.recent.len() - length;
        let mut sums = [0.0; 6];
        for (at, heard) in self.recent[start..].iter().enumerate() {
            let number = self.first + (start + at) as u64;
            let [heard, one, other] =
                [heard[0], self.sent(number, delay)[0], self.sent(number, delay + 1)[0]].map(f64::from);
            let products = [heard * heard, one * one, other * other, one * other, heard * one, heard * other];
            sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
        }
        let [energy, one, other, both, with_one, with_other] = sums;
        let ridge = 1e-9 * (one + other);
        let (one, other) = (one + ridge, other + ridge);
        let determinant = one * other - both * both;
        if determinant <= 0.0 {
            return Fit { part: 0.5, energy, rest: energy };
        }
        let first = (with_one * other - with_other * both) / determinant;
        let second = (with_other * one - with_one * both) / determinant;
        let rest = (energy - first * with_one - second * with_other).max(0.0);
        Fit { part: second / (first + second), energy, rest }
    }

    /// Returns the sample sent so many before that of number `at`.
    fn sent(&self, at: u64, delay: u64) -> [f32; 2] {
        let length = self.table.len() as u64;
        self.table[((at % length + length - delay % length) % length) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::signal::Signal;
    use super::*;

    /// Returns what is found if `heard` tells each sample, out of the smooth noise.
    fn found(heard: impl Fn(u64, &dyn Fn(u64) -> [f32; 2]) -> [f32; 2]) -> (Runs, u64, f64) {
        let signal = Signal::parse("smooth").unwrap();
        let Signal::Table(table) = &signal else { panic!("a table") };
        let mut follower = Follower::new(table.clone());
        (0..40_000).for_each(|at| follower.take(at, heard(at, &|number| signal.sample(number))));
        follower.end()
    }

    #[test]
    fn the_delay_of_a_sound_is_found_and_its_gaps_are_too() {
        let (runs, exact, snr) = found(|at, sent| match at {
            ..1_000 | 20_032..20_096 => [0.0; 2],
            // Another part of the sound.
            30_016..30_144 => sent(at + 50_000),
            _ => sent(at - 777),
        });
        let figures = runs.from(8_000).figures(16);
        assert_eq!((figures.p50, figures.least, figures.most), (777.0, 777.0, 777.0));
        let bad = figures.bad * 32_000.0;
        assert!((192.0..=448.0).contains(&bad), "{bad}");
        assert_eq!(figures.dropouts, 2.0 * 60.0 * 48_000.0 / 32_000.0);
        assert!(exact > 28_000 && snr > 80.0, "{exact} {snr}");
    }

    #[test]
    fn half_a_sample_another_loudness_and_noise_hide_nothing() {
        let mut random = common::netsim::Random::new(1);
        let noise: Vec<f32> = (0..40_000).map(|_| 0.01 * random.normal() as f32).collect();
        let (runs, exact, snr) = found(|at, sent| {
            let [one, other] = [sent(at + 100_000)[0], sent(at + 100_001)[0]];
            [-0.35 * (one + other) + noise[at as usize]; 2]
        });
        // 131072 less the step forward.
        let figures = runs.from(8_000).figures(16);
        assert!((figures.p50 - 31_071.5).abs() <= 1.0 && figures.bad == 0.0, "{figures:?}");
        assert!(exact < 1_000 && (14.0..20.0).contains(&snr), "{exact} {snr}");
    }
}
