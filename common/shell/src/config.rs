//! The configuration file of both programs: where it is, and what to write instead of what is of before.

use std::path::{Path, PathBuf};

use common::config::{ConfigFile, Program, read};
use net::failure::Failure;

use crate::log;

/// Name of the file.
const NAME: &str = "duet.toml";

/// Reads the file that is `named`, or the one in the folder that is named, or else the one among the user's configurations, if there
/// is one; returns its path, too. What is of before is read, and a line on standard error says what to write now.
pub fn load(named: Option<&Path>, program: Program) -> Result<(ConfigFile, Option<PathBuf>), Failure> {
    let old_name = if program == Program::Sender { "sender.toml" } else { "receiver.toml" };
    let folder = match named {
        Some(named) => named.is_dir().then(|| named.to_owned()),
        None => usual_folder(),
    };
    let old = folder.as_ref().map(|folder| folder.join(old_name)).filter(|path| path.exists());
    let new = folder.map(|folder| folder.join(NAME)).filter(|path| named.is_some() && old.is_none() || path.exists());
    let path = new.clone().or(old.clone()).or(named.map(Path::to_owned));
    let text = path.as_ref().map_or(Ok(String::new()), std::fs::read_to_string).map_err(|error| {
        let path = path.as_deref().unwrap_or(Path::new(NAME));
        Failure::usage(format!("cannot read the configuration {}: {error}", path.display()))
    })?;
    let (file, mut said) = read(&text, program).map_err(|error| Failure::in_file(path.as_deref(), &error))?;
    match (new, old) {
        (Some(_), Some(old)) => said.push(format!("{} beside it is not read any more", old.display())),
        (None, Some(_)) => said.push(format!("put what it says into {NAME} there, which both programs read")),
        _ => {}
    }
    if let (Some(path), false) = (&path, said.is_empty()) {
        let program = old_name.trim_end_matches(".toml");
        log::last_words(&format!("{program}: {}: {}", path.display(), said.join("; ")));
    }
    Ok((file, path))
}

/// Returns the file of both programs that is made where there is none.
pub fn usual_path() -> Result<PathBuf, Failure> {
    let folder = usual_folder().ok_or_else(|| Failure::usage("neither HOME nor XDG_CONFIG_HOME is set"))?;
    Ok(folder.join(NAME))
}

/// Returns the folder for this program among the user's configurations.
fn usual_folder() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let configurations = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configurations.join("duet"))
}
