//! `wavelet bench`: medians over many runs after a warm-up, as a table, as files and as plots.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kernels::{Decoder, Encoder, TransformParams};
use picture::frame::{Chroma, FrameSize};
use picture::params::StreamParams;

use crate::args::{BenchArgs, BenchKind, ComputeArgs, TransformArgs};
use crate::options;
use samples::{Limit, medians};
use subject::Subject;
use table::{Axes, Table};

mod all;
mod axis;
mod canvas;
mod codec;
mod dwt;
mod lossless;
#[cfg(feature = "opencl")]
mod overlap;
mod plot;
mod prediction;
mod rounds;
mod samples;
mod scene;
mod schemes;
pub(crate) mod sizes;
mod subject;
pub(crate) mod table;
#[cfg(feature = "opencl")]
mod transfer;

/// Measures; returns the table, or where all tables are.
pub(crate) fn run(
    kind: BenchKind,
    args: &BenchArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    if kind == BenchKind::All {
        return all::run(args, transform, compute);
    }
    ensure!(args.out.is_none(), "--out is for `bench all`: use --csv, --markdown and --plot");
    // A file that cannot be written is better known before than after the measurement.
    for path in [&args.csv, &args.markdown, &args.plot].into_iter().flatten() {
        write(path, "")?;
    }
    let table = measure(kind, args, transform, compute)?;
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

fn measure(kind: BenchKind, args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let of_stream = || {
        let default = *transform == TransformArgs::default();
        ensure!(default, "options of the transform are for `dwt` and `schemes`; a stream has its own");
        Ok(())
    };
    match kind {
        BenchKind::Dwt => dwt::run(args, transform, compute),
        BenchKind::Schemes => schemes::run(args, transform, compute),
        BenchKind::Codec => of_stream().and_then(|()| codec::run(args, compute)),
        BenchKind::Prediction => of_stream().and_then(|()| prediction::run(args, compute)),
        BenchKind::Lossless => lossless::run(args, transform, compute),
        #[cfg(feature = "opencl")]
        BenchKind::Transfer => of_stream().and_then(|()| transfer::run(args, compute)),
        #[cfg(feature = "opencl")]
        BenchKind::Overlap => of_stream().and_then(|()| overlap::run(args, compute)),
        #[cfg(not(feature = "opencl"))]
        BenchKind::Transfer | BenchKind::Overlap => Err(kernels::OpenError::BuiltWithoutOpenCl.into()),
        BenchKind::All => bail!("this is more than one table"),
    }
}

/// Returns the transform asked for, of a picture of this size and these planes.
fn transform_params(args: &TransformArgs, size: FrameSize, chroma: Chroma) -> Result<TransformParams> {
    Ok(options::transform(args)?.params(size, chroma))
}

/// Returns the transform's description, for the title of a plot.
fn describe(params: &TransformParams) -> String {
    let boundary = format!("{:?}", params.boundary).to_lowercase();
    format!("{} in {}, {boundary}", params.filter, params.element)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Refuses a back end that has no device memory and no queues.
#[cfg(feature = "opencl")]
fn require_opencl(kind: &str, compute: &ComputeArgs) -> Result<()> {
    use crate::args::BackendName;
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

/// Microseconds as text.
fn us(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1e6)
}

/// Gigabytes a second as text.
fn gb_s(bytes: usize, duration: Duration) -> String {
    format!("{:.2}", bytes as f64 / 1e9 / duration.as_secs_f64().max(1e-9))
}
