//! The receiving half's configuration of a call, whose connection is the sender's.

use std::path::{Path, PathBuf};

use common::config::{ConfigFile, SenderConfig};
use net::failure::Failure;
use shell::cli::CommonFlags;
use shell::record::is_folder;
use showing::Resolved;

/// The receiver's part of the sender's configuration `file`, which is from `path` if it is a file's. What is received
/// has statistics in a file of its own, beside those of what is sent.
pub fn of_one_file(file: &ConfigFile, sinks: &[String], path: Option<&Path>) -> Result<Resolved, Failure> {
    let mut receiving = file.clone();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    receiving.stats.file = match file.stats.file.as_str() {
        "" | "-" => String::new(),
        file => text(beside(file)),
    };
    receiving.record.path = text(recording(&file.record.path));
    // The page is that of what is sent.
    receiving.expert.metrics = None;
    Resolved::of_file(receiving, sinks, path)
}

/// Returns the part of a band's configuration for the `place`th member whom `file` calls: statistics, recordings and the log of
/// pictures are in files of their own, which have its name; a page of statistics has the first one alone.
pub fn of_member(file: &ConfigFile, place: usize) -> ConfigFile {
    let mut own = file.clone();
    let name = file.peers.first().and_then(|peer| peer.name.as_deref()).unwrap_or_default();
    let with_name = |path: &str| match path {
        "" | "-" => path.to_owned(),
        path if is_folder(Path::new(path)) => path.to_owned(),
        path => of_name(Path::new(path), name).to_string_lossy().into_owned(),
    };
    own.stats.file = with_name(&file.stats.file);
    own.record.path = with_name(&file.record.path);
    own.expert.pictures = with_name(&file.expert.pictures);
    if place > 0 {
        own.expert.metrics = None;
    }
    own
}

/// The recording of what is received: in the same folder as that of what is sent, or a file beside it.
fn recording(path: &str) -> PathBuf {
    if path.is_empty() || path == "-" || is_folder(Path::new(path)) { PathBuf::from(path) } else { beside(path) }
}

/// The file of what is received beside that of what is sent.
fn beside(file: &str) -> PathBuf {
    ending_in(Path::new(file), "received")
}

/// The file of a member of this name beside `path`; `-` is standard output, whoever writes there.
pub(crate) fn of_name(path: &Path, name: &str) -> PathBuf {
    let letters = name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' });
    if path.starts_with("/dev") { path.to_owned() } else { ending_in(path, &letters.collect::<String>()) }
}

/// The file beside `file` whose name ends in this word.
fn ending_in(path: &Path, word: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(word);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The receiver's configuration in the file `path`, with the connection of `config`.
pub fn of_other_file(
    path: &Path,
    sinks: &[String],
    flags: &CommonFlags,
    config: &SenderConfig,
) -> Result<Resolved, Failure> {
    let common = CommonFlags {
        config: Some(path.to_owned()),
        backend: flags.backend.clone(),
        device: flags.device.clone(),
        record: flags.record.as_ref().map(|path| recording(&path.to_string_lossy())),
        ..CommonFlags::default()
    };
    let mut resolved = Resolved::read(&common, sinks, false)?;
    resolved.config.shared.mode = config.shared.mode.clone();
    resolved.config.shared.peers.clone_from(&config.shared.peers);
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use common::config::{PeerSection, parse_sender};

    use super::*;

    #[test]
    fn each_member_has_statistics_and_recordings_of_its_own() {
        let mut file = parse_sender(
            "[stats]\nfile = \"call.jsonl\"\n[record]\npath = \"call.duet\"\n[expert]\npictures = \"shown\"",
        )
        .unwrap();
        file.peers = vec![PeerSection { name: Some("cl ara".to_owned()), ..PeerSection::default() }];
        let member = of_member(&file, 1);
        assert_eq!((&*member.stats.file, &*member.record.path), ("call-cl_ara.jsonl", "call-cl_ara.duet"));
        assert_eq!(member.expert.pictures, "shown-cl_ara");
        file.stats.file = "-".to_owned();
        assert_eq!(of_member(&file, 0).stats.file, "-");
    }

    #[test]
    fn what_is_received_is_counted_in_a_file_beside() {
        for (sent, received) in [("call.jsonl", "call-received.jsonl"), ("/tmp/a.b/call", "/tmp/a.b/call-received")] {
            assert_eq!(beside(sent), Path::new(received));
        }
    }
}
