//! `wavelet encode` of several files, or of folders of them: each becomes a `.duet` file in a folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::args::{CodingArgs, ComputeArgs, TransformArgs};
use crate::progress::say;
use crate::{clip, io};

/// Codes every picture of `inputs`: of one file into the file `output`, else of each into its own file in the folder `output`. What a
/// file became is printed once it is done.
pub(crate) fn encode(
    inputs: &[PathBuf],
    output: &Path,
    coding: &CodingArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    if let ([input], false) = (inputs, output.is_dir())
        && !input.is_dir()
    {
        return clip::encode(input, output, coding, transform, compute);
    }
    clip::check(coding, transform)?;
    ensure!(coding.loss.shown.is_none(), "--shown is one file: encode one clip with it");
    let is_file = output.exists() && !output.is_dir();
    if is_file || output.extension() == Some(OsStr::new("duet")) {
        bail!("{} is one file: name a folder for what becomes of several pictures", output.display());
    }
    let jobs = jobs(inputs, output)?;
    fs::create_dir_all(output).with_context(|| format!("{} cannot be made", output.display()))?;
    let mut failed = 0;
    for (coded, input) in &jobs {
        match clip::encode(input, coded, coding, transform, compute) {
            // Nobody may be reading, which is no failure of ours.
            Ok(report) => drop(write!(std::io::stdout(), "{}: {report}", coded.display())),
            Err(error) => {
                say(format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" "));
                failed += 1;
            }
        }
    }
    ensure!(failed == 0, "{failed} of {} files could not be coded", jobs.len());
    Ok(String::new())
}

/// Returns the files to make in the folder `output`, and of which each. Files in a folder that hold no pictures are left out.
fn jobs(inputs: &[PathBuf], output: &Path) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let mut jobs: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut add = |input: PathBuf| {
        let stem = input.file_stem().with_context(|| format!("{} has no name", input.display()))?;
        let mut name = stem.to_owned();
        name.push(".duet");
        let coded = output.join(name);
        if let Some(other) = jobs.get(&coded).filter(|other| **other != input) {
            bail!("{} and {} would both become {}", other.display(), input.display(), coded.display());
        }
        jobs.insert(coded, input);
        Ok(())
    };
    for input in inputs {
        if !input.is_dir() {
            add(input.clone())?;
            continue;
        }
        let read = || format!("{} cannot be read", input.display());
        let entries =
            fs::read_dir(input).with_context(read)?.collect::<std::io::Result<Vec<_>>>().with_context(read)?;
        let files: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        let (pictures, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| io::is_of_pictures(path));
        ensure!(!pictures.is_empty(), "there is no PNG, JPEG, PPM, PGM or Y4M in {}", input.display());
        let others = others.iter().filter(|path| path.extension() != Some(OsStr::new("duet"))).count();
        if others > 0 {
            say(format_args!("{}: files without pictures are left out: {others}", input.display()));
        }
        pictures.into_iter().try_for_each(&mut add)?;
    }
    Ok(jobs)
}
