//! Writes manual pages and shell completions of `wavelet`: `wavelet_manual FOLDER`.

#[path = "../src/args.rs"]
#[allow(dead_code, reason = "the command line alone is of use here")]
mod args;

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(std::io::Error::other("usage: wavelet_manual FOLDER"));
    };
    let mut command = args::Cli::command();
    clap_mangen::generate_to(command.clone(), &folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "wavelet", &folder)?;
    }
    Ok(())
}
