//! Other programs that code the same picture: OpenJPEG's, OpenJPH's, and this one, each from a file to a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use picture::frame::{BitDepth, PixelFormat};

use crate::bench::Subject;
use crate::io::Writer;

/// A kind of program, by what its file's name has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OpenJpeg,
    OpenJph,
    /// This program.
    Own,
}

const KINDS: [(&str, Kind); 3] = [("opj_", Kind::OpenJpeg), ("ojph_", Kind::OpenJph), ("wavelet", Kind::Own)];

/// A folder that goes with its files.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody waits for what cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The programs, and files of one picture for them.
pub(super) struct Rivals<'a> {
    folder: Folder,
    programs: Vec<(&'a Path, Kind)>,
    subject: &'a Subject,
}

/// A program with the options that it is run with.
pub(super) struct Rival<'a> {
    program: &'a Path,
    kind: Kind,
    arguments: Vec<String>,
    coded: PathBuf,
}

/// A run of a program.
pub(super) struct Run {
    /// Its time by its own account, or [`Self::whole`] if it gives none.
    pub(super) own: Duration,
    /// From its start to its end.
    pub(super) whole: Duration,
    pub(super) bytes: usize,
}

/// The quantiser's step of Part 15, whose blocks have no passes to leave out: about a bit per pixel.
pub(super) const HIGH_THROUGHPUT_STEP: f64 = 8.0;

/// Steps of the search for a quantiser's step that takes as many bytes, and powers of two between which it is.
const STEPS: usize = 10;
const STEP_POWERS: (f64, f64) = (-12.0, -1.0);

impl<'a> Rivals<'a> {
    /// Writes the picture in the forms that these programs read.
    pub(super) fn new(programs: &'a [PathBuf], subject: &'a Subject) -> Result<Self> {
        let kind = |path: &'a PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let found = KINDS.into_iter().find(|(part, _)| name.contains(part));
            let (_, kind) = found.with_context(|| {
                format!(
                    "--beside {}: the programs that can be run are opj_compress, ojph_compress and wavelet",
                    path.display()
                )
            })?;
            Ok((path.as_path(), kind))
        };
        let programs = programs.iter().map(kind).collect::<Result<Vec<_>>>()?;
        let folder = Folder(std::env::temp_dir().join(format!("duet-rivals-{}", std::process::id())));
        let rivals = Self { folder, programs, subject };
        if !rivals.programs.is_empty() {
            let cannot = || format!("{} cannot be written", rivals.folder.0.display());
            fs::create_dir_all(&rivals.folder.0).with_context(cannot)?;
            let is_read = matches!(subject.info.format, PixelFormat::Rgb8 | PixelFormat::I420 | PixelFormat::Grey8);
            ensure!(
                is_read && subject.info.depth == BitDepth::Eight,
                "--beside goes with RGB, 4:2:0 and grey of 8 bits"
            );
            match subject.info.format {
                PixelFormat::Rgb8 => rivals.write("in.ppm")?,
                PixelFormat::Grey8 => rivals.write("in.pgm")?,
                _ => {
                    rivals.write("in.y4m")?;
                    fs::write(rivals.folder.0.join("in.yuv"), &subject.data).with_context(cannot)?;
                }
            }
        }
        Ok(rivals)
    }

    fn write(&self, name: &str) -> Result<()> {
        let mut writer = Writer::create(&self.folder.0.join(name), self.subject.info)?;
        writer.write(&self.subject.data)?;
        writer.finish()
    }

    /// Returns the programs that code in this way, with options for the same target; `bytes` are those of a picture with loss.
    pub(super) fn of(&self, is_high_throughput: bool, is_lossless: bool, bytes: usize) -> Result<Vec<Rival<'a>>> {
        let fits = |kind: Kind| match kind {
            Kind::OpenJpeg => !is_high_throughput,
            Kind::OpenJph => is_high_throughput,
            Kind::Own => true,
        };
        let programs = self.programs.iter().filter(|(_, kind)| fits(*kind));
        programs.map(|&(program, kind)| self.rival(program, kind, is_high_throughput, is_lossless, bytes)).collect()
    }

    fn rival(
        &self,
        program: &'a Path,
        kind: Kind,
        is_high_throughput: bool,
        is_lossless: bool,
        bytes: usize,
    ) -> Result<Rival<'a>> {
        let info = &self.subject.info;
        let (width, height) = (info.size.width(), info.size.height());
        let name = match (info.format, kind) {
            (PixelFormat::Rgb8, _) => "in.ppm",
            (PixelFormat::Grey8, _) => "in.pgm",
            (_, Kind::Own) => "in.y4m",
            _ => "in.yuv",
        };
        let coded = self.folder.0.join(if is_high_throughput { "out.j2c" } else { "out.j2k" });
        let [input, output] = [self.folder.0.join(name), coded.clone()].map(|path| path.display().to_string());
        let mut arguments = match kind {
            Kind::Own => vec!["encode".to_owned(), input, output, "--backend".to_owned(), "cpu".to_owned()],
            _ => vec!["-i".to_owned(), input, "-o".to_owned(), output],
        };
        let mut add = |text: String| arguments.extend(text.split(' ').map(str::to_owned));
        match (kind, name) {
            (Kind::OpenJpeg, "in.yuv") => add(format!("-F {width},{height},3,8,u@1x1:2x2:2x2 -mct 0")),
            (Kind::OpenJph, "in.yuv") => add(format!(
                "-dims {{{width},{height}}} -num_comps 3 -signed false,false,false -bit_depth 8,8,8 -downsamp {{1,1}},{{2,2}},{{2,2}}"
            )),
            _ => {}
        }
        // OpenJPEG counts samples as if no component were sub-sampled.
        let count = if info.format == PixelFormat::Grey8 { 1 } else { 3 };
        let ratio = (count * info.size.pixels()) as f64 / bytes.max(1) as f64;
        match (kind, is_lossless) {
            (Kind::OpenJpeg, true) => add("-threads ALL_CPUS".to_owned()),
            (Kind::OpenJpeg, false) => add(format!("-threads ALL_CPUS -I -r {ratio}")),
            (Kind::OpenJph, true) => add("-reversible true".to_owned()),
            (Kind::Own, true) => add("--lossless".to_owned()),
            (Kind::Own, false) if is_high_throughput => add(format!("--step {}", HIGH_THROUGHPUT_STEP)),
            (Kind::Own, false) => add(format!("--bytes-per-frame {bytes}")),
            (Kind::OpenJph, false) => {
                let rival = |power: f64| {
                    let mut arguments = arguments.clone();
                    arguments.extend(["-qstep".to_owned(), power.exp2().to_string()]);
                    Rival { program, kind, arguments, coded: coded.clone() }
                };
                let (mut fine, mut coarse) = STEP_POWERS;
                for _ in 0..STEPS {
                    let middle = (fine + coarse) / 2.0;
                    match rival(middle).run()?.bytes > bytes {
                        true => fine = middle,
                        false => coarse = middle,
                    }
                }
                return Ok(rival(coarse));
            }
        }
        Ok(Rival { program, kind, arguments, coded })
    }
}

impl Rival<'_> {
    /// Returns the program's name.
    pub(super) fn name(&self) -> String {
        self.program.display().to_string()
    }

    /// Runs the program once.
    pub(super) fn run(&self) -> Result<Run> {
        // What is left of a run before would be taken for this one's.
        let _ = fs::remove_file(&self.coded);
        let start = Instant::now();
        let output = Command::new(self.program).args(&self.arguments).output();
        let whole = start.elapsed();
        let output = output.with_context(|| format!("{} cannot be run", self.program.display()))?;
        let bytes = fs::metadata(&self.coded).map(|found| found.len() as usize);
        let Some(bytes) = bytes.ok().filter(|bytes| output.status.success() && *bytes > 0) else {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("{} {} failed: {said}", self.program.display(), self.arguments.join(" "));
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Ok(Run { own: own_time(self.kind, &said).unwrap_or(whole), whole, bytes })
    }
}

/// Returns the time that a program says it took.
fn own_time(kind: Kind, said: &str) -> Option<Duration> {
    let (before, unit) = match kind {
        Kind::OpenJph => ("Elapsed time = ", 1.0),
        Kind::OpenJpeg => ("encode time: ", 1e-3),
        Kind::Own => return None,
    };
    let number = said.split(before).nth(1)?.split_whitespace().next()?;
    number.parse::<f64>().ok().and_then(|value| Duration::try_from_secs_f64(value * unit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_how_long_they_took() {
        let ms = |kind, said| own_time(kind, said).map(|time| time.as_millis());
        assert_eq!(ms(Kind::OpenJph, "Elapsed time = 0.012500\n"), Some(12));
        assert_eq!(ms(Kind::OpenJpeg, "[INFO] tile 1\nencode time: 37 ms \n"), Some(37));
        assert_eq!(ms(Kind::OpenJph, "nothing"), None);
        assert_eq!(ms(Kind::Own, "Elapsed time = 1"), None);
    }
}
