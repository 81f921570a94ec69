//! Writes the manual page and shell completions of `latency-film`: `film_manual FOLDER`.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;
use film::cli::Cli;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(std::io::Error::other("usage: film_manual FOLDER"));
    };
    clap_mangen::generate_to(Cli::command(), &folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "latency-film", &folder)?;
    }
    Ok(())
}
