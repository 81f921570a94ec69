//! Every measurement, each into a comma-separated file, a Markdown table and a plot, and all of them on one page.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use kernels::BackendChoice;
use lab::{CDF53, CDF97, DD137};
use picture::params::Levels;

use super::one::{measure, write};
use super::table::Table;
use crate::args::{BenchArgs, BenchKind, ComputeArgs, TransformArgs};

/// Folder of the files unless another is named.
const FOLDER: &str = "bench-results";
/// Sizes and levels of Eskildsen et al. (2012), table 6.1: as often as those sizes can be halved without padding.
const FEW_LEVELS: [(&str, u8); 5] =
    [("852x480", 2), ("1280x720", 4), ("1920x1080", 3), ("3840x2160", 4), ("4520x2540", 2)];

/// Measures everything; returns where the files are.
pub(crate) fn run(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<String> {
    ensure!(
        args.csv.is_none() && args.markdown.is_none() && args.plot.is_none(),
        "`bench all` writes all its files into the folder --out"
    );
    let folder = args.out.as_deref().unwrap_or(Path::new(FOLDER));
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let page_path = folder.join("results.md");
    let (mut page, mut failures) = (String::new(), Vec::new());
    for (name, table) in &parts(args, transform, compute) {
        let start = Instant::now();
        let result = table().and_then(|table| save(&table, folder, name));
        let outcome = match result {
            Ok(section) => {
                page += &section;
                write(&page_path, &page)?;
                format!("{:.0} s", start.elapsed().as_secs_f64())
            }
            Err(error) => {
                failures.push(format!("{name}: {error:#}"));
                "failed".to_owned()
            }
        };
        // Progress for people; nobody may be reading.
        let _ = writeln!(std::io::stderr(), "{name}: {outcome}");
    }
    if !failures.is_empty() {
        bail!("not everything could be measured: {}", failures.join("; "));
    }
    Ok(format!("{}\n", page_path.display()))
}

type Part<'a> = (&'static str, Box<dyn Fn() -> Result<Table> + 'a>);

/// Names of files, and what makes their tables.
fn parts<'a>(args: &'a BenchArgs, transform: &'a TransformArgs, compute: &'a ComputeArgs) -> Vec<Part<'a>> {
    let part = |name, kind, sizes: &'static str, transform: TransformArgs| -> Part<'a> {
        let table = move || measure(kind, &sized(args, sizes), &transform, compute);
        (name, Box::new(table))
    };
    let of = |wavelet| TransformArgs { wavelet: Some(wavelet), ..transform.clone() };
    let mut parts = vec![
        part("dwt-hd", BenchKind::Dwt, "hd", transform.clone()),
        part("dwt-square", BenchKind::Dwt, "square", transform.clone()),
        part("codec", BenchKind::Codec, "hd", TransformArgs::default()),
        part("prediction", BenchKind::Prediction, "hd", TransformArgs::default()),
        part("effects", BenchKind::Effects, "hd", TransformArgs::default()),
    ];
    if args.sizes.is_empty() {
        parts.push(("dwt-few-levels", Box::new(|| few_levels(args, transform, compute))));
    }
    if matches!(compute.backend, BackendChoice::Auto | BackendChoice::Opencl) {
        parts.extend([
            part("schemes-cdf97", BenchKind::Schemes, "square", of(CDF97)),
            part("schemes-cdf53", BenchKind::Schemes, "square", of(CDF53)),
            part("schemes-dd137", BenchKind::Schemes, "square", of(DD137)),
            part("transfer", BenchKind::Transfer, "hd", TransformArgs::default()),
            part("overlap", BenchKind::Overlap, "hd", TransformArgs::default()),
        ]);
    }
    parts
}

/// Measures the transform of each size of [`FEW_LEVELS`] to its depth.
fn few_levels(args: &BenchArgs, transform: &TransformArgs, compute: &ComputeArgs) -> Result<Table> {
    let tables = FEW_LEVELS.iter().map(|&(size, levels)| {
        let transform = TransformArgs { levels: Some(Levels::AtMost(levels)), ..transform.clone() };
        measure(BenchKind::Dwt, &sized(args, size), &transform, compute)
    });
    tables.reduce(|all, next| Ok(all?.followed_by(next?))).context("no size")?
}

/// Returns the sizes asked for, or else these.
fn sized(args: &BenchArgs, sizes: &str) -> BenchArgs {
    let sizes = if args.sizes.is_empty() { vec![sizes.to_owned()] } else { args.sizes.clone() };
    BenchArgs { sizes, ..args.clone() }
}

/// Writes the files of one measurement; returns its section of the page.
fn save(table: &Table, folder: &Path, name: &str) -> Result<String> {
    let plot = format!("{name}.png");
    write(&folder.join(format!("{name}.csv")), &table.csv())?;
    table.figure()?.save(&folder.join(&plot))?;
    Ok(format!("## {name}\n\n{}\n![{name}]({plot})\n\n", table.markdown()))
}
