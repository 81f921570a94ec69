//! Names of recordings.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::outlet;

/// Names tried for one file.
const TRIES: u32 = 9999;
const DAY_MS: u64 = 86_400_000;

/// Makes the next file of a recording at `path`, and nothing that is there is replaced: in a folder a file named by the
/// time in UTC, milliseconds since 1970, and by `what`; else the file, or one with a number behind its name. A pipe or a
/// device is opened.
pub(super) fn create(path: &Path, what: &str, unix_ms: u64) -> io::Result<(File, PathBuf)> {
    if is_folder(path) {
        std::fs::create_dir_all(path)?;
        return create_new(&path.join(format!("duet-{}-{what}.duet", time(unix_ms))));
    }
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Ok((outlet::create(path)?, path.to_owned())),
        _ => create_new(path),
    }
}

/// Returns true if recordings at `path` are files in a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

fn create_new(path: &Path) -> io::Result<(File, PathBuf)> {
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
            file => return Ok((file?, path)),
        }
    }
    Err(io::Error::other(format!("{TRIES} files with such names are there")))
}

/// Returns a time as `2026-11-23-054210Z`.
fn time(unix_ms: u64) -> String {
    let (days, seconds) = (unix_ms / DAY_MS, unix_ms % DAY_MS / 1000);
    // Years begin with March here, so that the leap day is the last one; 0000-03-01 is 719468 days before 1970.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + late;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}-{hour:02}{minute:02}{second:02}Z")
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
            assert_eq!(time(unix * 1000), wanted);
        }
    }

    #[test]
    fn nothing_is_replaced() {
        let folder = std::env::temp_dir().join(format!("duet-record-name-{}", std::process::id()));
        let name = |path: &Path| create(path, "sent", 0).unwrap().1.strip_prefix(&folder).unwrap().to_owned();
        let inner = folder.join("new/");
        assert_eq!(name(&inner), Path::new("new/duet-1970-01-01-000000Z-sent.duet"));
        assert_eq!(name(&inner), Path::new("new/duet-1970-01-01-000000Z-sent-2.duet"));
        let file = folder.join("call.duet");
        assert_eq!([name(&file), name(&file)], ["call.duet", "call-2.duet"].map(PathBuf::from));
        assert_eq!(create(Path::new("/dev/null"), "sent", 0).unwrap().1, Path::new("/dev/null"));
        assert!(create(&folder.join("call.duet/x"), "sent", 0).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
