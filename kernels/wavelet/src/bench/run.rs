//! A run of one measurement or of all, and where its tables go.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::all;
use super::one::{measure, write};
use crate::args::{BenchArgs, BenchKind, ComputeArgs, TransformArgs};
use crate::io::Kind;

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
    check_files(args)?;
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

/// Refuses files that cannot be written, which is better known before than after the measurement, and those that would take the place
/// of each other or of a picture. What they hold stays until there is a table.
fn check_files(args: &BenchArgs) -> Result<()> {
    if let Some(plot) = &args.plot {
        Kind::of(plot, &[Kind::Png]).context("--plot draws a PNG")?;
    }
    let mut taken: Vec<_> = args.picture.iter().collect();
    for path in [&args.csv, &args.markdown, &args.plot].into_iter().flatten() {
        ensure!(
            !taken.iter().any(|other| is_same(other, path)),
            "{} is named twice: give each its own",
            path.display()
        );
        writable(path).with_context(|| format!("{} cannot be written", path.display()))?;
        taken.push(path);
    }
    Ok(())
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// Fails if the file at `path` cannot be written; what it has stays.
fn writable(path: &Path) -> std::io::Result<()> {
    match path.exists() {
        true => OpenOptions::new().append(true).open(path).map(drop),
        false => File::create_new(path).and_then(|_| fs::remove_file(path)),
    }
}
