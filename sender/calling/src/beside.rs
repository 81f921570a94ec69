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

/// The recording of what is received: in the same folder as that of what is sent, or a file beside it.
fn recording(path: &str) -> PathBuf {
    if path.is_empty() || path == "-" || is_folder(Path::new(path)) { PathBuf::from(path) } else { beside(path) }
}

/// The file of what is received beside that of what is sent.
fn beside(file: &str) -> PathBuf {
    let path = Path::new(file);
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-received");
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
    use super::*;

    #[test]
    fn what_is_received_is_counted_in_a_file_beside() {
        for (sent, received) in [("call.jsonl", "call-received.jsonl"), ("/tmp/a.b/call", "/tmp/a.b/call-received")] {
            assert_eq!(beside(sent), Path::new(received));
        }
    }
}
