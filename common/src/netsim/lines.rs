//! Lines whose rate changes all the time, as those of radios do.

use std::time::Duration;

use super::{NetConditions, Random, Scenario};
use crate::units::Bitrate;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns a line whose rate jumps to another one of 20, 6, 12, 3 Mbit/s every 0.5 to 2 s.
pub fn steps(seed: u64, length: Duration, path: NetConditions, queue: Duration) -> Scenario {
    let mut random = Random::new(seed);
    let (mut at, mut lines) = (Duration::ZERO, vec![]);
    while at < length {
        let rate = [20, 6, 12, 3][lines.len() % 4];
        lines.push((at, path.limited(Bitrate::from_bps(1_000_000 * rate), queue)));
        at += ms(500 + random.below(1_500));
    }
    Scenario::table(&lines).with_seed(seed)
}

/// Returns a line as of a mobile network: every 20 ms another rate, which wanders between 0.3 and 15 Mbit/s and fades
/// to nothing for up to a quarter of a second now and then.
pub fn mobile(seed: u64, length: Duration, path: NetConditions, queue: Duration) -> Scenario {
    let mut random = Random::new(seed);
    let mut gauss = move || (0..6).map(|_| random.unit()).sum::<f64>() * 2.0_f64.sqrt() - 3.0 * 2.0_f64.sqrt();
    let mut random = Random::new(!seed);
    let (mut slow, mut fade, mut lines) = (0.0, 0, vec![]);
    for step in 0..(length.as_millis() / 20) as u64 {
        slow += 0.02 * gauss() - 0.01 * slow;
        if fade == 0 && random.chance(0.004) {
            fade = 2 + random.below(10);
        }
        fade = fade.saturating_sub(1);
        let rate = if fade > 0 { 1.0 } else { (6e6 * (3.0 * slow + 0.25 * gauss()).exp()).clamp(3e5, 1.5e7) };
        lines.push((ms(20 * step), path.limited(Bitrate::from_bps(rate as u64), queue)));
    }
    Scenario::table(&lines).with_seed(seed)
}

/// Returns a line from a recording in mahimahi's format: each line a millisecond in which 1500 bytes may pass.
pub fn recorded(text: &str, path: NetConditions, queue: Duration) -> Scenario {
    let times: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let bins = times.last().map_or(0, |last| last / 10 + 1);
    let mut counts = vec![0_u64; bins as usize];
    times.iter().for_each(|at| counts[(at / 10) as usize] += 1);
    let line = |(bin, count): (u64, u64)| {
        let rate = Bitrate::from_bps((count * 1_500 * 8 * 100).max(1));
        (ms(10 * bin), path.limited(rate, queue))
    };
    let lines: Vec<_> = (0..).zip(counts).map(line).collect();
    Scenario::table(&lines).repeated_every(ms(10 * bins))
}

/// Returns the bits a second that a line takes on average between two times, if something is always there: of each
/// tenth of a second at most `most`.
pub fn capacity(line: &Scenario, most: f64, from: Duration, to: Duration) -> f64 {
    let slice = ms(5);
    let count = (to - from).as_millis() as u32 / 5;
    let rate = |n| line.at(from + slice * n).bottleneck.map_or(most, |line| line.rate.as_bps() as f64);
    let tenths = (0..count / 20).map(|tenth| (0..20).map(|n| rate(20 * tenth + n)).sum::<f64>() / 20.0);
    tenths.map(|rate| rate.min(most)).sum::<f64>() / f64::from(count / 20)
}
