//! Manual pages and shell completions, written by the programs that they describe: `PROGRAM --write-manual FOLDER`.
//!
//! A program of its own for them would have to be compiled with all of theirs; `make build` asks those that are there.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;

/// The flag, which no help lists: it is for whoever makes a package.
const FLAG: &str = "--write-manual";

/// Returns the folder for the pages if the program was asked for them and for nothing else.
pub fn asked() -> Option<PathBuf> {
    folder_in(std::env::args_os().skip(1))
}

fn folder_in(mut arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let (flag, folder, more) = (arguments.next()?, arguments.next()?, arguments.next());
    (flag == FLAG && more.is_none()).then(|| folder.into())
}

/// Writes a manual page for `command` and each of its commands, and completions for three shells, into `folder`, which is made
/// if it is not there.
///
/// Errors: those of the files, with the folder's name.
pub fn write(command: Command, folder: &Path) -> io::Result<()> {
    let name = command.get_name().to_owned();
    let completed = |shell| clap_complete::generate_to(shell, &mut command.clone(), &name, folder).map(drop);
    std::fs::create_dir_all(folder)
        .and_then(|()| [Shell::Bash, Shell::Zsh, Shell::Fish].into_iter().try_for_each(completed))
        .and_then(|()| clap_mangen::generate_to(command.clone(), folder))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
}

#[allow(clippy::unwrap_used, reason = "tests")]
#[cfg(test)]
mod tests {
    use super::*;

    fn folder_of(arguments: &[&str]) -> Option<PathBuf> {
        folder_in(arguments.iter().map(OsString::from))
    }

    #[test]
    fn only_the_flag_alone_asks_for_pages() {
        assert_eq!(folder_of(&[FLAG, "pages"]), Some("pages".into()));
        for other in [&[][..], &[FLAG], &["pages", FLAG], &[FLAG, "pages", "more"], &["--to", "pages"]] {
            assert_eq!(folder_of(other), None, "{other:?}");
        }
    }

    #[test]
    fn each_command_has_a_page_and_each_shell_its_completions() {
        let folder = std::env::temp_dir().join(format!("duet-manual-{}", std::process::id()));
        let command =
            Command::new("play").subcommand(Command::new("loud")).subcommand(Command::new("inside").hide(true));
        write(command.clone(), &folder.join("new")).unwrap();
        let files = std::fs::read_dir(folder.join("new")).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["_play", "play-loud.1", "play.1", "play.bash", "play.fish"]);
        let page = std::fs::read_to_string(folder.join("new/play-loud.1")).unwrap();
        assert!(page.contains("play\\-loud"), "{page}");
        let file = folder.join("new/play.1");
        let error = write(command, &file).unwrap_err().to_string();
        assert!(error.contains("play.1"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
