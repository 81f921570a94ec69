//! Options that all measurements have.

use faults::machine::priority::has_real_time;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

/// Programs to measure, and where the files go.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// JackTrip's program; may be repeated
    #[arg(long, default_value = "jacktrip")]
    pub(crate) jacktrip: Vec<PathBuf>,
    /// Folder of Duet's programs, if not this program's; may be repeated
    #[arg(long)]
    duet: Vec<PathBuf>,
    /// Decides the fate of every packet
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Time that counts, seconds a case
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) seconds: u64,
    /// Folder of all files
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Common {
    /// Returns the folders of Duet's programs.
    pub(crate) fn duets(&self) -> Result<Vec<PathBuf>> {
        if !self.duet.is_empty() {
            return Ok(self.duet.clone());
        }
        Ok(vec![faults::daemons::programs(None)?])
    }

    /// Makes the folder of all files.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let default = || std::env::temp_dir().join(format!("duet-rival-sound-{}", std::process::id()));
        let folder = std::path::absolute(self.out.clone().unwrap_or_else(default))?;
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }
}

/// Prints the conditions of all measurements.
pub(crate) fn preface(seed: u64, seconds: u64) {
    println!("seed {seed}, {seconds} s each, JACK without a card");
    if !has_real_time() {
        println!("without real-time priority, which this user may not have: dropouts are the machine's, too");
    }
}
