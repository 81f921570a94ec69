//! `wavelet bench`: medians over many runs after a warm-up, as a table, as files and as plots.

use std::time::Duration;

use lab::TransformParams;

pub(crate) use run::run;
use samples::{Limit, medians};
use subject::Subject;
use table::{Axes, Table};

mod all;
mod axis;
mod canvas;
mod codec;
mod dwt;
mod effects;
mod jpeg2000;
mod lossless;
mod one;
#[cfg(feature = "opencl")]
mod overlap;
mod plot;
mod prediction;
mod rounds;
mod run;
mod samples;
mod scene;
mod schemes;
pub(crate) mod sizes;
mod subject;
pub(crate) mod table;
#[cfg(feature = "opencl")]
mod transfer;

/// Returns the transform's description, for the title of a plot.
fn describe(params: &TransformParams) -> String {
    let boundary = format!("{:?}", params.boundary).to_lowercase();
    format!("{} in {}, {boundary}", params.filter, params.element)
}

/// Refuses a back end that has no device memory and no queues.
#[cfg(feature = "opencl")]
fn require_opencl(kind: &str, compute: &crate::args::ComputeArgs) -> anyhow::Result<()> {
    use kernels::BackendChoice;
    let possible = matches!(compute.backend, BackendChoice::Auto | BackendChoice::Opencl);
    anyhow::ensure!(possible, "bench {kind} measures an OpenCL device: use --backend opencl");
    Ok(())
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
