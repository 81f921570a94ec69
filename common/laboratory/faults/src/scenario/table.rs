//! The table at the end, in Markdown.

use std::fmt;

use common::units::SOUND_METRES_PER_MS;

use crate::bars::Bars;
use crate::logs::percentile;
use crate::machine::stalls::Stalls;
use crate::scenario::case::Case;
use crate::scenario::measured::Measured;

/// The table's head. Whole: pictures without a missing block; coarse: without a missing coarse one. Machine late: the
/// longest stall of the machine itself, and the number of its stalls a minute.
pub(crate) const HEAD: &str = "\
| scenario | | controller | seed | gap max, ms | gap p99 | presented | whole | coarse | latency p50/p95/p99, ms | Mbit/s | \
PSNR-Y mean/least, dB | network CPU sender/receiver, % of a core | growth sender/receiver, MB | machine late, ms (times a minute) | verdict |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// A line of it.
pub(crate) struct Row<'a> {
    pub(crate) case: &'a Case,
    pub(crate) controller: &'a str,
    pub(crate) seed: u64,
    pub(crate) measured: &'a Measured,
    pub(crate) bars: &'a Bars,
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, controller, seed, measured, bars } = self;
        let gaps = measured.gaps(0.0, measured.length);
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        let [p50, p95, p99] = measured.latency();
        let growth = measured.growth.map(|bytes| bytes as f64 / 1e6);
        let psnr: Vec<f64> = measured.psnr.iter().map(|sample| sample.1).collect();
        let psnr = match psnr.as_slice() {
            [] => "-".to_owned(),
            all => format!("{:.1}/{:.1}", Measured::mean(all, 0), all.iter().copied().fold(f64::INFINITY, f64::min)),
        };
        let late = match &measured.stalls {
            None => "-".to_owned(),
            Some(Stalls { late }) => {
                let often = late.len() as f64 / (measured.length / 60e3);
                format!("{:.0} ({often:.0})", late.iter().map(|(_, late)| *late).fold(0.0, f64::max))
            }
        };
        let [sender_cpu, receiver_cpu] = measured.network_cpu.map(|share| 100.0 * share);
        let notes: String = measured.notes.iter().map(|note| format!(" ({note})")).collect();
        write!(
            f,
            "| {} | {} | {controller} | {seed} | {:.0} | {:.0} | {} | {} | {} | {p50:.0}/{p95:.0}/{p99:.0} | {:.1} | \
             {psnr} | {sender_cpu:.0}/{receiver_cpu:.0} | {:.1}/{:.1} | {late} | {}{notes} |",
            case.name,
            case.title,
            measured.gap_max(),
            percentile(&gaps, 0.99),
            percent(measured.presented()),
            percent(measured.share(|picture| picture.missing_blocks == 0)),
            percent(measured.share(|picture| picture.missing_coarse == 0)),
            measured.rate(0, measured.rates.len()) / 1e6,
            growth[0],
            growth[1],
            bars.verdict("held")
        )
    }
}

/// Returns what latencies (p50, p95 and p99, milliseconds) on one machine mean for a musician; none without any.
pub(crate) fn in_words([half, most, _]: [f64; 3]) -> Option<String> {
    let metres = half * SOUND_METRES_PER_MS;
    half.is_finite().then(|| {
        format!(
            "In words: on this computer, which does the work of both, half of the pictures are on the screen at most \
             {half:.0} ms after they were taken, 95 of 100 at most {most:.0} ms. You hear each other as late at a distance \
             of {metres:.0} m. In a call comes to this what the line takes, the camera to make a picture, and the screen \
             to light up."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_told_in_words() {
        let words = in_words([14.6, 20.4, 33.0]).unwrap();
        for wanted in ["at most 15 ms after they were taken", "95 of 100 at most 20 ms", "a distance of 5 m"] {
            assert!(words.contains(wanted), "{words}");
        }
        assert_eq!(in_words([f64::NAN; 3]), None, "no picture, no words");
    }
}
