//! Bars that Duet's sound must hold on each line.

use crate::measure::Figures;

/// Bars of a line: at most so much. Those of delay are for 64, 128 and 256 samples, ms.
struct Bar {
    line: &'static str,
    p50: Option<[f64; 3]>,
    p99: Option<[f64; 3]>,
    most: Option<f64>,
    /// A minute.
    dropouts: Option<f64>,
    mbit: Option<f64>,
}

const NONE: Bar = Bar { line: "", p50: None, p99: None, most: None, dropouts: None, mbit: None };

const ALL: [Bar; 5] = [
    Bar { line: "quiet", p50: Some([3.0, 4.5, 8.0]), p99: Some([4.0, 6.0, 11.0]), ..NONE },
    Bar { line: "loss1", p50: Some([5.0, 9.5, 18.0]), dropouts: Some(1.0), mbit: Some(3.0), ..NONE },
    Bar { line: "loss5", dropouts: Some(6.0), ..NONE },
    Bar { line: "jitter", p50: Some([20.0; 3]), dropouts: Some(10.0), ..NONE },
    Bar { line: "pauses", most: Some(30.0), dropouts: Some(65.0), ..NONE },
];

/// Most that a call's sound may take, of a core.
const PROCESSOR: f64 = 0.15;

/// Returns the bars that Duet's sound on a line has not held, each as figure and limit.
pub(crate) fn missed(line: &str, period: u32, figures: &Figures) -> Vec<String> {
    let Some(bar) = ALL.iter().find(|bar| bar.line == line) else { return Vec::new() };
    let of_period = |limits: Option<[f64; 3]>| {
        let place = [64, 128, 256].iter().position(|&known| known == period)?;
        limits.map(|limits| limits[place])
    };
    let added = |samples: f64| (samples - figures.wire) / 48.0;
    let heard = &figures.heard;
    let checks = [
        ("p50", added(heard.p50), of_period(bar.p50)),
        ("p99", added(heard.p99), of_period(bar.p99)),
        ("most", added(heard.most), bar.most),
        ("dropouts", heard.dropouts, bar.dropouts),
        ("Mbit/s", figures.rate / 1e6, bar.mbit),
        ("processor", figures.processor.into_iter().fold(0.0, f64::max), Some(PROCESSOR)),
    ];
    let is_missed = |(name, figure, limit): (&str, f64, Option<f64>)| {
        // What was not measured is not held.
        limit.filter(|&limit| figure.is_nan() || figure > limit).map(|limit| format!("{name} {figure:.2} > {limit}"))
    };
    checks.into_iter().filter_map(is_missed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Runs;

    #[test]
    fn bars_are_those_of_the_line_and_the_period() {
        let runs =
            Runs::from_json(&serde_json::json!([[0, 2_880_000, "same", 1_440], [2_880_000, 64, "silent", null]]));
        let mut figures = Figures {
            heard: runs.figures(0),
            wire: 1_200.0,
            exact: 1.0,
            snr_db: None,
            rate: 2.8e6,
            processor: [0.1, 0.1],
            xruns: 0,
            late: [0; 3],
            load: 0.0,
        };
        assert_eq!(missed("quiet", 64, &figures), ["p50 5.00 > 3", "p99 5.00 > 4"]);
        assert_eq!(missed("quiet", 256, &figures), [""; 0]);
        assert_eq!(missed("loss1", 64, &figures), [""; 0]);
        figures.rate = 3.2e6;
        figures.processor = [0.1, 0.2];
        assert_eq!(missed("loss1", 64, &figures), ["Mbit/s 3.20 > 3", "processor 0.20 > 0.15"]);
        figures.heard.dropouts = f64::NAN;
        assert_eq!(missed("pauses", 64, &figures), ["dropouts NaN > 65", "processor 0.20 > 0.15"]);
        assert_eq!(missed("loopback", 64, &figures), [""; 0]);
    }
}
