//! A file that several programs change: each reads it, changes it and puts the new one in its place while it has locked the
//! folder, so that no change is lost and nothing comes back that another has taken out.
//!
//! The lock is `flock`'s, as the command of that name takes it. Editors take none; so the file is looked at once more before
//! it is replaced, and a change from elsewhere is read first.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::proof::random;
use crate::failure::Failure;

/// From one try to lock the folder to the next, and tries. In this crate's own tests only a hang takes too long.
const LOCK_AGAIN: Duration = Duration::from_millis(20);
const LOCK_TRIES: u32 = if cfg!(test) { 10_000 } else { 250 };
/// Times that the file may change under a change.
const TRIES: u32 = 20;

/// A file in a folder that is locked as long as this lives.
#[derive(Debug)]
pub struct LockedFile {
    path: PathBuf,
    _folder: File,
}

/// Outcome of a change.
#[derive(Debug)]
pub enum Change {
    /// The file stays as it is.
    Nothing,
    /// The file is replaced by one that holds this.
    To(String),
}

impl LockedFile {
    /// Locks the folder of `path`, which is made if there is none.
    pub fn make(path: &Path) -> Result<Self, Failure> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(|error| failed(path, "written", &error))?;
        }
        Self::lock(path)
    }

    /// Locks the folder of `path`; none: there is no such file.
    pub fn of(path: &Path) -> Result<Option<Self>, Failure> {
        if path.exists() { Self::lock(path).map(Some) } else { Ok(None) }
    }

    fn lock(path: &Path) -> Result<Self, Failure> {
        // A link stays one, and the lock is where the file is.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let locked = |error: &io::Error| failed(&path, "locked", error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = File::open(folder).map_err(|error| locked(&error))?;
        for _ in 0..LOCK_TRIES {
            match folder.try_lock() {
                Ok(()) => return Ok(Self { path, _folder: folder }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_AGAIN),
                Err(TryLockError::Error(error)) => return Err(locked(&error)),
            }
        }
        Err(locked(&io::Error::other("another program holds the lock of its folder")))
    }

    /// Changes the file as `change` says from its text, which is empty if there is none. Where another program that takes no
    /// lock changes it meanwhile, `change` is asked again.
    pub fn change<T>(&self, change: impl Fn(&str) -> Result<(Change, T), Failure>) -> Result<T, Failure> {
        for _ in 0..TRIES {
            let before = self.read()?;
            let (change, outcome) = change(before.as_deref().unwrap_or_default())?;
            let Change::To(text) = change else { return Ok(outcome) };
            let beside = self.write_beside(&text)?;
            // The last moment at which somebody else's change can be seen.
            let replaced = match self.read() {
                Ok(now) if now == before => fs::rename(&beside, &self.path)
                    .map(|()| true)
                    .map_err(|error| failed(&self.path, "written", &error)),
                Ok(_) => Ok(false),
                Err(failure) => Err(failure),
            };
            if !matches!(replaced, Ok(true)) {
                let _ = fs::remove_file(&beside);
            }
            if replaced? {
                return Ok(outcome);
            }
        }
        Err(failed(&self.path, "written", &io::Error::other("another program changes it all the time")))
    }

    fn read(&self) -> Result<Option<String>, Failure> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&self.path, "read", &error)),
        }
    }

    /// Writes `text` to a new file beside this one, with the same rights; where there is none, for its owner only.
    fn write_beside(&self, text: &str) -> Result<PathBuf, Failure> {
        let written = |error: io::Error| failed(&self.path, "written", &error);
        let mode = fs::metadata(&self.path).map_or(0o600, |known| known.permissions().mode() & 0o777);
        let mut beside = self.path.clone().into_os_string();
        // Nobody can have put a file or a link there.
        beside.push(format!(".{:016x}.new", u64::from_le_bytes(random()?)));
        let beside = PathBuf::from(beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside).map_err(written)?;
        let filled = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        filled.map(|()| beside.clone()).map_err(|error| {
            let _ = fs::remove_file(&beside);
            written(error)
        })
    }
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("{} cannot be {what}: {error}", path.display()))
}
