//! Names of recordings.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::whole::Whole;
use crate::outlet;

/// Names tried for one file.
const TRIES: u32 = 9999;
/// Ending of a recording's pictures.
pub(super) const DUET: &str = "duet";
const DAY_MS: u64 = 86_400_000;

/// Makes the next file of a recording at `path`, and nothing that is there is replaced: in a folder a file named by the
/// time in UTC, milliseconds since 1970, and by `what`; else the file, or one with a number behind its name, with this ending unless it is of
/// pictures. A pipe or a device is opened.
pub(super) fn create(path: &Path, what: &str, ending: &str, unix_ms: u64) -> io::Result<(Whole, PathBuf)> {
    if is_folder(path) {
        std::fs::create_dir_all(path)?;
        return create_new(&path.join(format!("duet-{}-{what}.{ending}", UtcTime::new(unix_ms).file_name())));
    }
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Ok((Whole::new(outlet::create(path)?), path.to_owned())),
        _ if ending == DUET => create_new(path),
        _ => create_new(&path.with_extension(ending)),
    }
}

/// Returns true if recordings at `path` are files in a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// Makes a file at `path`, or one with a number behind its name.
pub(super) fn create_new(path: &Path) -> io::Result<(Whole, PathBuf)> {
    let stem = path.file_stem().unwrap_or_default();
    for number in 1..=TRIES {
        let mut name = stem.to_owned();
        if number > 1 {
            name.push(format!("-{number}"));
        }
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        let path = path.with_file_name(name);
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((Whole::new(file?), path)),
        }
    }
    Err(io::Error::other(format!("{TRIES} files with such names are there")))
}

/// A time, of which the parts are those of UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct UtcTime {
    unix_ms: u64,
}

impl UtcTime {
    /// Takes milliseconds since 1970.
    pub(super) const fn new(unix_ms: u64) -> Self {
        Self { unix_ms }
    }

    /// Returns the date as `2026-11-23`.
    pub(super) fn date(self) -> String {
        // Years begin with March here, so that the leap day is the last one; 0000-03-01 is 719468 days before 1970.
        let days = self.unix_ms / DAY_MS + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = 400 * era + year + late;
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Returns the time of the day as `05:42:10`.
    pub(super) fn clock(self) -> String {
        let seconds = self.ms_of_day() / 1000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    /// Returns the milliseconds since midnight.
    pub(super) const fn ms_of_day(self) -> u64 {
        self.unix_ms % DAY_MS
    }

    /// Returns it as `2026-11-23-054210Z`.
    fn file_name(self) -> String {
        format!("{}-{}Z", self.date(), self.clock().replace(':', ""))
    }
}

/// Returns the error with the name of the file that it is about.
pub(super) fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (unix, wanted) in [
            (0, "1970-01-01-000000Z"),
            (951_782_399, "2000-02-28-235959Z"),
            (951_782_400, "2000-02-29-000000Z"),
            (951_868_800, "2000-03-01-000000Z"),
            (1_795_412_565, "2026-11-23-054245Z"),
            (4_107_542_399, "2100-02-28-235959Z"),
            (4_107_542_400, "2100-03-01-000000Z"),
        ] {
            assert_eq!(UtcTime::new(unix * 1000).file_name(), wanted);
        }
    }

    #[test]
    fn nothing_is_replaced() {
        let folder = std::env::temp_dir().join(format!("duet-record-name-{}", std::process::id()));
        let name = |path: &Path| create(path, "sent", DUET, 0).unwrap().1.strip_prefix(&folder).unwrap().to_owned();
        let inner = folder.join("new/");
        assert_eq!(name(&inner), Path::new("new/duet-1970-01-01-000000Z-sent.duet"));
        assert_eq!(name(&inner), Path::new("new/duet-1970-01-01-000000Z-sent-2.duet"));
        let file = folder.join("call.duet");
        assert_eq!([name(&file), name(&file)], ["call.duet", "call-2.duet"].map(PathBuf::from));
        let sound = || create(&file, "sent", "wav", 0).unwrap().1.strip_prefix(&folder).unwrap().to_owned();
        assert_eq!([sound(), sound()], ["call.wav", "call-2.wav"].map(PathBuf::from));
        assert_eq!(create(Path::new("/dev/null"), "sent", DUET, 0).unwrap().1, Path::new("/dev/null"));
        assert!(create(&folder.join("call.duet/x"), "sent", DUET, 0).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
