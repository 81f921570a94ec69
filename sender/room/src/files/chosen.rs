//! Choices made in the room, written into the file that the daemons read, too. All else in it stays, comments as well.

use std::path::PathBuf;

use common::config::{ConfigFile, Program, SenderConfig, resolve_sender};
use net::failure::Failure;
use net::reach::{Change, LockedFile};
use shell::cli::CommonFlags;
use shell::config::{load, usual_path};
use toml_edit::{DocumentMut, Item, Table, Value};

/// The configuration of both programs, as a call of the room reads it.
pub(crate) struct Configuration {
    pub(crate) file: ConfigFile,
    pub(crate) path: Option<PathBuf>,
    pub(crate) config: SenderConfig,
}

impl Configuration {
    /// Reads the file, and those who are known.
    pub(crate) fn read(flags: &CommonFlags) -> Result<Self, Failure> {
        let (mut file, path) = load(flags.config.as_deref(), Program::Sender)?;
        flags.apply(&mut file)?;
        file.network.mode = None;
        let mut config = resolve_sender(&file).map_err(|error| Failure::in_file(path.as_deref(), &error))?;
        config.shared.file.clone_from(&path);
        Ok(Self { file, path, config })
    }
}

/// Writes `section.key = chosen`.
pub(crate) fn write(flags: &CommonFlags, section: &str, key: &str, chosen: impl Into<Value>) -> Result<(), Failure> {
    let chosen = chosen.into();
    let path = match load(flags.config.as_deref(), Program::Sender)?.1 {
        Some(path) => path,
        None => usual_path()?,
    };
    LockedFile::make(&path)?
        .change(|before| Ok((Change::To(set(before, section, key, chosen.clone())?), ())))
        .map_err(|failure| Failure::usage(format!("{}: {}", path.display(), failure.message)))
}

/// Returns true if the file says anything of `section.key`.
pub(crate) fn is_set(flags: &CommonFlags, section: &str, key: &str) -> bool {
    let path = load(flags.config.as_deref(), Program::Sender).ok().and_then(|(_, path)| path);
    let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let document: Option<DocumentMut> = text.parse().ok();
    document.is_some_and(|document| document.get(section).and_then(|section| section.get(key)).is_some())
}

/// Returns the configuration `before` with `section.key = chosen`.
fn set(before: &str, section: &str, key: &str, chosen: impl Into<Value>) -> Result<String, Failure> {
    let mut document: DocumentMut =
        before.parse().map_err(|error: toml_edit::TomlError| Failure::usage(error.message().replace('\n', ", ")))?;
    let table = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| Failure::usage(format!("`{section}` is no section")))?;
    match table.get_mut(key).and_then(Item::as_value_mut) {
        // Its comment stays behind it.
        Some(old) => {
            let decor = old.decor().clone();
            *old = chosen.into();
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(key, Item::Value(chosen.into()))),
    }
    Ok(document.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_decided_is_not_set() {
        let path = std::env::temp_dir().join(format!("duet-chosen-{}.toml", std::process::id()));
        let flags = CommonFlags { config: Some(path.clone()), ..CommonFlags::default() };
        for (text, wanted) in [("", false), ("[network]\nport = 4820\n", false), ("network.dht = false\n", true)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_set(&flags, "network", "dht"), wanted, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(!is_set(&flags, "network", "dht"));
    }

    #[test]
    fn what_is_chosen_is_written_and_all_else_stays() {
        let before = "# mine\n[video]\nsource = \"camera\" # the good one\nfps = 30\n\n[sound]\n";
        let after = set(before, "video", "source", "camera:index=2").unwrap();
        assert_eq!(after, before.replace("\"camera\"", "\"camera:index=2\""));
        assert_eq!(set(&after, "video", "source", "camera").unwrap(), before);
        assert_eq!(set("", "sound", "card", "none").unwrap(), "[sound]\ncard = \"none\"\n");
        assert_eq!(set("network.dht = false # ?\n", "network", "dht", true).unwrap(), "network.dht = true # ?\n");
        assert!(set("[video\n", "sound", "card", "none").is_err());
        assert!(set("video = 3\n", "video", "source", "none").unwrap_err().message.contains("`video`"));
        // A name that would be TOML.
        let hostile = set("", "sound", "card", "alsa:\"\n[video]\nsource=\"none").unwrap();
        assert!(hostile.parse::<DocumentMut>().unwrap().get("video").is_none());
    }
}
