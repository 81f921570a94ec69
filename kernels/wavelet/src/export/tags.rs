//! Notes in a file of sound on its recording, as ffprobe reads them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::ffmpeg::run;

/// Rate of all recordings, Hz.
const RATE_HZ: f64 = 48_000.0;

/// Notes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    /// Time of the day at which the first sample was here, seconds.
    pub(super) begun_s: Option<f64>,
    /// The times of the pictures are stretched so much.
    pub(super) stretch: f64,
}

impl Default for Tags {
    fn default() -> Self {
        Self { begun_s: None, stretch: 1.0 }
    }
}

#[derive(Deserialize)]
struct Probed {
    format: Format,
}

#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    tags: Words,
}

#[derive(Default, Deserialize)]
struct Words {
    comment: Option<String>,
    time_reference: Option<String>,
}

/// Returns what the file `sound` says.
///
/// Errors: it is no sound, or there is no ffprobe.
pub(super) fn of(sound: &Path) -> Result<Tags> {
    let name = sound.display();
    let path = sound.as_os_str();
    let output = run(
        "ffprobe",
        &[&["-v", "error", "-show_entries", "format_tags", "-of", "json", "-i"].map(AsRef::as_ref)[..], &[path]]
            .concat(),
    )?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} cannot be read: {}", said.trim());
    let Probed { format: Format { tags } } =
        serde_json::from_slice(&output.stdout).with_context(|| name.to_string())?;
    // A file of other origin says other things.
    let stretch =
        tags.comment.and_then(|comment| comment.trim().parse().ok()).filter(|it: &f64| (0.9..1.1).contains(it));
    let begun_s =
        tags.time_reference.and_then(|samples| samples.parse::<u64>().ok()).map(|samples| samples as f64 / RATE_HZ);
    Ok(Tags { begun_s, stretch: stretch.unwrap_or(1.0) })
}
