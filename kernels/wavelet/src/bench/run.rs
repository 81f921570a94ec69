//! A run of one measurement or of all, and where its tables go.

use anyhow::{Result, ensure};

use super::all;
use super::one::{measure, write};
use crate::args::{BenchArgs, BenchKind, ComputeArgs, TransformArgs};

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
