//! Writes manual pages and shell completions of `sender` and `receiver`: `manual FOLDER`.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(std::io::Error::other("usage: manual FOLDER"));
    };
    let of: [(&str, Command); 2] =
        [("sender", sender::cli::Cli::command()), ("receiver", receiver::cli::Cli::command())];
    for (name, command) in of {
        clap_mangen::generate_to(command.clone(), &folder)?;
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut command.clone(), name, &folder)?;
        }
    }
    Ok(())
}
