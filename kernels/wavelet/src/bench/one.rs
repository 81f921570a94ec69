//! One measurement, by its kind.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::table::Table;
use super::{codec, dwt, effects, jpeg2000, lossless, prediction, schemes};
#[cfg(feature = "opencl")]
use super::{overlap, transfer};
use crate::args::{BenchArgs, BenchKind, ComputeArgs, TransformArgs};

pub(super) fn measure(
    kind: BenchKind,
    args: &BenchArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<Table> {
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
        BenchKind::Effects => of_stream().and_then(|()| effects::run(args)),
        BenchKind::Jpeg2000 => of_stream().and_then(|()| jpeg2000::run(args, compute)),
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

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
