//! `wavelet bench`: medians over many runs after a warm-up, as a table, as files and as plots.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use common::params::StreamParams;
use kernels::{Decoder, Encoder};

use crate::args::{BackendName, BenchArgs, BenchKind, ComputeArgs};
use crate::options;
use samples::{Limit, medians};
use subject::Subject;
use table::{Axes, Table};

mod axis;
mod canvas;
mod codec;
mod dwt;
mod overlap;
mod plot;
mod samples;
mod scene;
mod sizes;
mod subject;
mod table;
mod transfer;

/// Measures and returns the table.
pub(crate) fn run(kind: BenchKind, args: &BenchArgs, compute: &ComputeArgs) -> Result<String> {
    // A file that cannot be written is better known before than after the measurement.
    for path in [&args.csv, &args.markdown, &args.plot].into_iter().flatten() {
        write(path, "")?;
    }
    let table = match kind {
        BenchKind::Dwt => dwt::run(args, compute)?,
        BenchKind::Codec => codec::run(args, compute)?,
        BenchKind::Transfer => transfer::run(args, compute)?,
        BenchKind::Overlap => overlap::run(args, compute)?,
    };
    if let Some(path) = &args.csv {
        write(path, &table.csv())?;
    }
    if let Some(path) = &args.markdown {
        write(path, &table.markdown())?;
    }
    if let Some(path) = &args.plot {
        table.figure()?.save(path)?;
    }
    Ok(table.text())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Refuses a back end that has no device memory and no queues.
fn require_opencl(kind: &str, compute: &ComputeArgs) -> Result<()> {
    let possible = matches!(compute.backend, BackendName::Auto | BackendName::Opencl);
    ensure!(possible, "bench {kind} measures an OpenCL device: use --backend opencl");
    Ok(())
}

fn open_encoder(params: &StreamParams, compute: &ComputeArgs) -> Result<Box<dyn Encoder>> {
    Ok(kernels::open_encoder(params, options::backend(compute.backend), compute.device.as_deref())?)
}

fn open_decoder(params: &StreamParams, compute: &ComputeArgs) -> Result<Box<dyn Decoder>> {
    Ok(kernels::open_decoder(params, options::backend(compute.backend), compute.device.as_deref())?)
}

/// Milliseconds as text.
fn ms(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64() * 1e3)
}

/// Gigabytes a second as text.
fn gb_s(bytes: usize, duration: Duration) -> String {
    format!("{:.2}", bytes as f64 / 1e9 / duration.as_secs_f64().max(1e-9))
}
