//! The transform by itself: float planes in the host's memory to coefficients there, and back.
//!
//! Sizes, columns and method are those of Eskildsen et al. (2012), chapter 6.

use std::time::Duration;

use anyhow::Result;
use lab::measure::{self, Round, Run};
use picture::frame::Chroma;
use picture::pyramid::{Orientation, Pyramid};

use super::rounds::{copy_rate, rounds};
use super::samples::Samples;
use super::sizes::sizes;
use super::{Axes, Limit, Table, describe, ms, scene};
use crate::args::{BenchArgs, ComputeArgs, TransformArgs};
use crate::options;

const COLUMNS: [&str; 19] = [
    "backend",
    "device",
    "direction",
    "size",
    "side",
    "levels",
    "htod_ms",
    "calc_ms",
    "dtoh_ms",
    "total_ms",
    "calc_mean_ms",
    "calc_p95_ms",
    "total_mean_ms",
    "total_p95_ms",
    "frames_s",
    "gb_s",
    "copy_gb_s",
    "share",
    "runs",
];

pub(crate) fn run(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let mut table = Table::new(&COLUMNS);
    table.note("three channels of full size; medians but where another word is; calc by the device's clock");
    table.note("htod, dtoh: between pinned memory and the device; total: by the host's clock, nothing overlaps");
    table.note("plain: calc again, commands not timed, by the host's clock from the first launch to the end");
    table.note("gb_s: each level's samples read once and its coefficients written once, over calc");
    table.note("share: of copy_gb_s, which a copy of one plane reads and writes on the device");
    for size in sizes(&args.sizes, "1920x1080")? {
        let params = options::transform(transform)?.params(size, Chroma::C444);
        let backend = compute.backend;
        let mut measure = measure::open(&params, backend, compute.device.as_deref(), &scene::sample)?;
        let rounds = rounds(&mut *measure, Limit::of(args), params.element)?;
        let copy = copy_rate(&mut *measure)?;
        let pyramids = params.pyramids();
        let bytes: usize = pyramids.iter().map(values_moved).sum::<usize>() * params.element.bytes();
        let info = measure.backend();
        let on_host = !info.is_device();
        let (side, levels) = pyramids.first().map_or((0, 0), |pyramid| (pyramid.side(), pyramid.levels()));
        table.plot(Axes {
            title: format!("{}: {}", describe(&params), info.device),
            values: &["htod_ms", "calc_ms", "dtoh_ms", "total_ms"],
            by: &["direction"],
            quantity: "time of three channels, ms",
            dashed: |name| name.strip_prefix("inverse ").map(|part| format!("forward {part}")),
            ..Axes::TIMES
        });
        for (direction, forward) in [("forward", true), ("inverse", false)] {
            let of = |round: &Round| if forward { round.forward } else { round.inverse };
            let part = |part: fn(Run) -> Duration| rounds.iter().map(|round| part(of(round))).collect::<Samples>();
            let [calc, total] = [part(|run| run.transform), part(|run| run.total)];
            let copied = |samples: Samples| if on_host { "-".to_owned() } else { ms(samples.median()) };
            let rate = bytes as f64 / calc.median().as_secs_f64().max(1e-9);
            table.push(vec![
                info.kind.to_string(),
                info.device.clone(),
                direction.to_owned(),
                size.to_string(),
                side.to_string(),
                levels.to_string(),
                copied(part(|run| run.upload)),
                ms(calc.median()),
                copied(part(|run| run.download)),
                ms(total.median()),
                ms(calc.mean()),
                ms(calc.p95()),
                ms(total.mean()),
                ms(total.p95()),
                format!("{:.1}", 1.0 / total.median().as_secs_f64().max(1e-9)),
                format!("{:.2}", rate / 1e9),
                format!("{:.2}", copy / 1e9),
                format!("{:.2}", rate / copy.max(1e-9)),
                total.runs().to_string(),
            ]);
        }
    }
    Ok(table)
}

/// Returns the least that a transform of one plane reads and writes: at each level all samples and all coefficients
/// that can be non-zero.
pub(crate) fn values_moved(pyramid: &Pyramid) -> usize {
    let count = |level, orientation| {
        let band = pyramid.band(level, orientation);
        band.width * band.height
    };
    let of_level = |level: usize| {
        let samples = if level == 1 { pyramid.plane().pixels() } else { count(level - 1, Orientation::LL) };
        let [ll, hl, lh, hh] =
            [Orientation::LL, Orientation::HL, Orientation::LH, Orientation::HH].map(|band| count(level, band));
        samples + ll + hl + lh + hh
    };
    (1..=pyramid.levels()).map(of_level).sum()
}

#[cfg(test)]
mod tests {
    use picture::frame::FrameSize;
    use picture::params::{CodecParams, Levels, Padding};

    use super::*;

    #[test]
    fn every_level_moves_its_samples_and_coefficients() {
        let moved = |width, height, levels, padding| {
            let codec = CodecParams { levels, padding, ..CodecParams::default() };
            values_moved(&Pyramid::new(FrameSize::new(width, height).unwrap(), &codec))
        };
        assert_eq!(moved(8, 8, Levels::AtMost(1), Padding::Smooth), 2 * 64);
        assert_eq!(moved(8, 8, Levels::Full, Padding::Zero), 2 * (64 + 16 + 4));
        // 5 x 3 has a low band of 3 x 2, which has one of 2 x 1, which has one of 1 x 1.
        assert_eq!(moved(5, 3, Levels::Full, Padding::Smooth), 2 * (15 + 6 + 2));
        assert_eq!(moved(1, 1, Levels::Full, Padding::Smooth), 0);
        let (sparse, dense) =
            (moved(1920, 1080, Levels::Full, Padding::Zero), moved(2048, 2048, Levels::Full, Padding::Zero));
        assert!(sparse < dense * 6 / 10, "{sparse} {dense}");
    }
}
