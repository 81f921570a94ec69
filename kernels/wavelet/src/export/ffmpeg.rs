//! ffmpeg and ffprobe: whether they are there, and what they can code.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, anyhow, ensure};

/// Encoders of pictures, the best first, and how each is asked for what nobody tells from the original.
const OF_PICTURES: [(&str, &[&str]); 3] =
    [("libx264", &["-crf", "18"]), ("libopenh264", &["-b:v", "12M"]), ("mpeg4", &["-q:v", "2"])];

/// The encoder of pictures that this ffmpeg has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoders {
    name: &'static str,
    options: &'static [&'static str],
}

impl Encoders {
    /// Asks ffmpeg.
    ///
    /// Errors: there is none, or it codes nothing of use.
    pub(super) fn ask() -> Result<Self> {
        let output = run("ffmpeg", &["-hide_banner", "-v", "error", "-encoders"].map(OsStr::new))?;
        let listed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "ffmpeg does not run: {}", said.trim());
        let has = |name: &str| listed.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
        let found = OF_PICTURES.iter().find(|(name, _)| has(name));
        let (name, options) =
            found.copied().context("this ffmpeg codes neither H.264 nor MPEG-4: install another one")?;
        Ok(Self { name, options })
    }

    /// Returns the arguments that choose it.
    pub(super) fn arguments(self) -> Vec<String> {
        let chosen = ["-c:v", self.name].into_iter().chain(self.options.iter().copied());
        chosen.chain(["-pix_fmt", "yuv420p"]).map(str::to_owned).collect()
    }
}

/// Runs a program to its end.
pub(super) fn run(program: &str, arguments: &[&OsStr]) -> Result<Output> {
    let started = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    started.map_err(|error| cannot_start(program, error))
}

/// Returns the error of a program that cannot be started.
pub(super) fn cannot_start(program: &str, error: std::io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "there is no {program}, which makes films: install it (on Debian: sudo apt-get install ffmpeg)"
        );
    }
    anyhow::Error::from(error).context(format!("{program} cannot be started"))
}
