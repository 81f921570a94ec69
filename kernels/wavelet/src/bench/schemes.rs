//! One level of one plane by each scheme: the comparison of Barina, Kula and Zemcik, section 6.

use std::time::Duration;

use anyhow::{Context, Result};
use kernels::BackendInfo;
use lab::OpenError;
use lab::Scheme;
use lab::TransformParams;
use lab::measure::{self, Round, Run};
use picture::frame::Chroma;
use picture::params::Levels;

use super::dwt::values_moved;
use super::rounds::{copy_rate, rounds};
use super::samples::Samples;
use super::sizes::sizes;
use super::{Axes, Limit, Table, describe, gb_s, scene, us};
use crate::args::{BenchArgs, ComputeArgs, TransformArgs};
use crate::options;

/// Name of the device's copy among the schemes.
const COPY: &str = "device copy";

pub(crate) fn run(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let backend = compute.backend;
    let mut table = Table::new(&[
        "backend",
        "device",
        "wavelet",
        "scheme",
        "size",
        "forward_us",
        "inverse_us",
        "forward_gb_s",
        "inverse_gb_s",
        "forward_share",
        "inverse_share",
        "runs",
    ]);
    table.note("one level of one plane; medians, by the device's clock; all samples read and all coefficients written");
    table.note(format!("share: of what `{COPY}` reads and writes"));
    for size in sizes(&args.sizes, "square")? {
        let given = options::transform(transform)?.params(size, Chroma::Grey);
        let params = TransformParams { levels: transform.levels.unwrap_or(Levels::AtMost(1)), ..given };
        let bytes = params.pyramids().iter().map(values_moved).sum::<usize>() * params.element.bytes();
        let mut copied = None;
        for (scheme, name) in Scheme::NAMES {
            if params.scheme.is_some_and(|only| only != scheme) {
                continue;
            }
            let params = TransformParams { scheme: Some(scheme), ..params.clone() };
            let mut measure = match measure::open(&params, backend, compute.device.as_deref(), &scene::sample) {
                Ok(measure) => measure,
                Err(error @ (OpenError::NotOnThisBackend { .. } | OpenError::SchemeNotFor { .. })) => {
                    table.note(format!("{name} left out: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let rounds = rounds(&mut *measure, Limit::of(args), params.element)?;
            let copy = copy_rate(&mut *measure)?;
            let info = measure.backend();
            let median =
                |run: fn(&Round) -> &Run| rounds.iter().map(|round| run(round).transform).collect::<Samples>().median();
            let times = [median(|round| &round.forward), median(|round| &round.inverse)];
            table.plot(axes(&params, &info.device));
            table.push(row(info, &params, name, times, bytes, copy, &rounds.len().to_string()));
            copied.get_or_insert_with(|| {
                let time = Duration::from_secs_f64(bytes as f64 / copy.max(1e-9));
                row(info, &params, COPY, [time; 2], bytes, copy, "-")
            });
        }
        table.push(copied.context("there is no scheme to measure")?);
    }
    Ok(table)
}

fn row(
    info: &BackendInfo,
    params: &TransformParams,
    scheme: &str,
    [forward, inverse]: [Duration; 2],
    bytes: usize,
    copy: f64,
    runs: &str,
) -> Vec<String> {
    let rate = |time: Duration| bytes as f64 / time.as_secs_f64().max(1e-9);
    let share = |time| format!("{:.2}", rate(time) / copy.max(1e-9));
    vec![
        info.kind.to_string(),
        info.device.clone(),
        params.filter.to_string(),
        scheme.to_owned(),
        params.size.to_string(),
        us(forward),
        us(inverse),
        gb_s(bytes, forward),
        gb_s(bytes, inverse),
        share(forward),
        share(inverse),
        runs.to_owned(),
    ]
}

fn axes(params: &TransformParams, device: &str) -> Axes {
    Axes {
        title: format!("One level of {}, forward: {device}", describe(params)),
        values: &["forward_gb_s"],
        by: &["scheme"],
        quantity: "read and written, GB/s",
        logarithmic: true,
        dashed: |name| name.strip_suffix('*').map(str::to_owned),
    }
}
