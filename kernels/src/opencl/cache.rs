//! The file that keeps a device's settings: one per device in the user's cache directory.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use device::in_use::NotUsed;
use device::settings::Tuning;
use serde::{Deserialize, Serialize};

use super::transform::programs::transform_texts;
use crate::DeviceInfo;

/// Bytes of a file at most; more than any file of ours has.
const MAX_FILE_BYTES: u64 = 1 << 16;

/// Errors of keeping settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum NotKept {
    /// No cache directory.
    #[error("there is no cache directory: neither XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Contents of the file: the settings, and the device they were measured with.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    device: String,
    platform: String,
    driver: String,
    compute_units: u32,
    /// Stands for the kernels' text.
    kernels: String,
    settings: Tuning,
}

impl Contents {
    fn new(device: &DeviceInfo, settings: Tuning) -> Self {
        Self {
            device: device.name.clone(),
            platform: device.platform.clone(),
            driver: device.driver.clone(),
            compute_units: device.compute_units,
            kernels: kernels_key(),
            settings,
        }
    }

    /// Returns the names and values of what the settings hold for.
    fn identity(&self) -> [(&'static str, String); 5] {
        [
            ("device", self.device.clone()),
            ("platform", self.platform.clone()),
            ("driver", self.driver.clone()),
            ("compute units", self.compute_units.to_string()),
            ("kernels", self.kernels.clone()),
        ]
    }
}

/// Returns a number that changes with the kernels and with this crate's version. It may also change with the compiler,
/// which only means that a device is tuned again.
fn kernels_key() -> String {
    let mut hasher = DefaultHasher::new();
    (transform_texts(), env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the settings measured for `device`, not yet checked against its limits, and the file that they are from.
pub(crate) fn read(device: &DeviceInfo) -> Result<(PathBuf, Tuning), NotUsed> {
    let path = directory().ok_or(NotUsed::NoPlace)?.join(file_name(device));
    let settings = read_from(&path, device)?;
    Ok((path, settings))
}

fn read_from(path: &Path, device: &DeviceInfo) -> Result<Tuning, NotUsed> {
    let refused = |why: String| NotUsed::Refused { path: path.to_owned(), why };
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(NotUsed::Absent(path.to_owned())),
        Err(error) => return Err(refused(error.to_string())),
    };
    let contents: Contents = toml::from_str(&text).map_err(|error| refused(error.message().to_owned()))?;
    let here = Contents::new(device, contents.settings.clone());
    for ((what, then), (_, now)) in contents.identity().into_iter().zip(here.identity()) {
        if then != now {
            return Err(NotUsed::Stale { path: path.to_owned(), what, then, now });
        }
    }
    Ok(contents.settings)
}

/// Returns the text of a plain file of reasonable size.
fn read_text(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("it is no text file of settings"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns an error if [`write()`] would have no directory to write to: better known before than after measuring.
pub fn prepare() -> Result<(), NotKept> {
    let path = directory().ok_or(NotKept::NoPlace)?;
    fs::create_dir_all(&path).map_err(|source| NotKept::Io { path, source })
}

/// Keeps `settings` for `device`; returns the file. Another process sees the old file or the new one, whole.
pub fn write(device: &DeviceInfo, settings: &Tuning) -> Result<PathBuf, NotKept> {
    let path = directory().ok_or(NotKept::NoPlace)?.join(file_name(device));
    write_to(&path, device, settings).map_err(|source| NotKept::Io { path: path.clone(), source })?;
    Ok(path)
}

fn write_to(path: &Path, device: &DeviceInfo, settings: &Tuning) -> io::Result<()> {
    let text = toml::to_string(&Contents::new(device, settings.clone())).map_err(io::Error::other)?;
    let text = format!("# Written by `wavelet tune`. Without this file the built-in settings are used.\n{text}");
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let unfinished = path.with_extension(format!("toml.{}", std::process::id()));
    let written = File::create(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // Nothing else can be done about what is left of it.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Returns the directory of the XDG rule: `$XDG_CACHE_HOME/duet`, else `~/.cache/duet`; a relative path does not count.
fn directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("duet"))
}

/// Returns a name that tells people whose settings these are; the file itself says it exactly.
fn file_name(device: &DeviceInfo) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = device.name.chars().take(64).map(plain).collect();
    format!("tuning-{}.toml", name.trim_matches('-'))
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
