//! The orders that ffmpeg gets, and the pictures that go to it.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use picture::frame::Matrix;

use super::cancelled::Cancelled;
use super::ffmpeg::{Encoders, cannot_start};
use super::made::Made;
use super::side::Side;
use crate::args::ComputeArgs;
use crate::decode::{self, Wanted};
use crate::fault::Damaged;
use crate::io::{Kind, Writer};

/// Time between two looks at whether ffmpeg has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of what ffmpeg has said last that are kept.
const WORDS_MAX: usize = 2_000;

/// The arguments of ffmpeg behind its inputs.
pub(super) struct Film {
    arguments: Vec<String>,
}

impl Film {
    /// Decides what becomes of `sides`, which begin at so many seconds.
    pub(super) fn new(sides: &[Side], begins_s: &[f64], kind: Kind, encoders: Encoders) -> Self {
        let mut filters = pictures(sides, begins_s);
        let mut tracks = vec!["-map".to_owned(), "[pictures]".to_owned()];
        let sounds: Vec<_> = (0..sides.len()).filter(|side| sides[*side].sound.is_some()).collect();
        let is_lossless = kind == Kind::Mkv;
        for (place, side) in sounds.iter().enumerate() {
            let (input, delay_ms) = (sides.len() + place, (begins_s[*side] * 1e3).round());
            filters.push(format!("[{input}:a]adelay=delays={delay_ms}:all=1[sound{place}]"));
        }
        match (sounds.len(), is_lossless) {
            (0, _) => {}
            (1, _) => tracks.extend(["-map", "[sound0]"].map(str::to_owned)),
            (_, false) => {
                filters.push("[sound0][sound1]amix=inputs=2:duration=longest[both]".to_owned());
                tracks.extend(["-map", "[both]"].map(str::to_owned));
            }
            (_, true) => {
                filters.push("[sound0]asplit[alone0][with0]".to_owned());
                filters.push("[sound1]asplit[alone1][with1]".to_owned());
                filters.push("[with0][with1]amix=inputs=2:duration=longest[both]".to_owned());
                tracks.extend(["-map", "[both]", "-map", "[alone0]", "-map", "[alone1]"].map(str::to_owned));
            }
        }
        let colours = match sides[0].params.colour.matrix {
            Matrix::Bt601 => "smpte170m",
            Matrix::Bt709 => "bt709",
        };
        let mut arguments = vec!["-filter_complex".to_owned(), filters.join(";")];
        arguments.extend(tracks);
        arguments.extend(encoders.arguments());
        arguments
            .extend(["-colorspace", colours, "-color_primaries", colours, "-color_trc", colours].map(str::to_owned));
        arguments.extend(match is_lossless {
            true => ["-c:a", "flac", "-f", "matroska"].map(str::to_owned).to_vec(),
            false => {
                ["-c:a", "aac", "-b:a", "256k", "-movflags", "+faststart", "-f", "mp4"].map(str::to_owned).to_vec()
            }
        });
        Self { arguments }
    }

    /// Makes the film; says what became of it.
    pub(super) fn make(
        &self,
        sides: &[Side],
        made: &Made,
        cancelled: &Cancelled,
        fills_pauses: bool,
        compute: &ComputeArgs,
    ) -> Result<String> {
        let listeners = (0..sides.len()).map(|side| made.listen(side)).collect::<Result<Vec<_>>>()?;
        let mut ffmpeg = self.start(sides, made)?;
        let said = ffmpeg.stderr.take();
        let (has_ended, has_failed) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let words = scope.spawn(|| said.map(last_words).unwrap_or_default());
            let decoded: Vec<_> = (sides.iter().zip(&listeners))
                .map(|(side, listener)| {
                    let wanted = Wanted { is_still: false, drop_levels: 0, fills_pauses };
                    let (has_ended, has_failed) = (&has_ended, &has_failed);
                    scope.spawn(move || {
                        let decoded = decode::pictures(&side.pictures, &wanted, compute, |info| {
                            Writer::to(accepted(listener, has_ended)?, &side.pictures, info)
                        });
                        // ffmpeg would wait for ever where nobody has taken its connection.
                        has_failed
                            .fetch_or(decoded.as_ref().is_err_and(|error| !error.is::<Damaged>()), Ordering::Relaxed);
                        decoded
                    })
                })
                .collect();
            let ended = loop {
                match ffmpeg.try_wait() {
                    Ok(None) if cancelled.is_asked() || has_failed.load(Ordering::Relaxed) => {
                        let _ = ffmpeg.kill();
                    }
                    Ok(None) => {}
                    Ok(Some(status)) => break Ok(status),
                    Err(error) => break Err(error),
                }
                thread::sleep(LOOK);
            };
            has_ended.store(true, Ordering::Relaxed);
            let decoded =
                decoded.into_iter().map(|side| side.join().unwrap_or_else(|_| Err(anyhow!("a thread has ended"))));
            let decoded: Vec<_> = decoded.collect();
            let words = words.join().unwrap_or_default();
            outcome(ended?.success(), decoded, &words)
        })
    }

    fn start(&self, sides: &[Side], made: &Made) -> Result<Child> {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-hide_banner", "-v", "error", "-nostats", "-y"]);
        for (number, side) in sides.iter().enumerate() {
            let (stretch, socket) = (side.tags.stretch.to_string(), made.socket(number));
            ffmpeg.args(["-itsscale", &stretch, "-f", "yuv4mpegpipe", "-i"]).arg(format!("unix:{}", socket.display()));
        }
        for sound in sides.iter().filter_map(|side| side.sound.as_ref()) {
            ffmpeg.arg("-i").arg(sound);
        }
        ffmpeg.args(&self.arguments).arg(made.part());
        // A signal of the terminal comes here alone.
        let ffmpeg = ffmpeg.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        ffmpeg.spawn().map_err(|error| cannot_start("ffmpeg", error))
    }
}

/// Returns the filters that make the pictures of the film of those of `sides`: the left one is the first.
fn pictures(sides: &[Side], begins_s: &[f64]) -> Vec<String> {
    let [first, second] = sides else { return vec!["[0:v]null[pictures]".to_owned()] };
    let faster = [first, second].map(|side| side.params.frame_rate);
    let faster = if faster[0].as_f64() < faster[1].as_f64() { faster[1] } else { faster[0] };
    // Coders of 4:2:0 need even sizes.
    let height = first.params.size.height().max(second.params.size.height()).next_multiple_of(2);
    let mut filters: Vec<_> = (begins_s.iter().enumerate())
        .map(|(side, begin_s)| {
            let rate = format!("fps={}/{}", faster.numerator(), faster.denominator());
            let size = format!("scale=-2:{height}:out_range=tv,setsar=1");
            format!("[{side}:v]{rate},{size},tpad=start_duration={begin_s}:color=black[side{side}]")
        })
        .collect();
    filters.push("[side0][side1]hstack=inputs=2[pictures]".to_owned());
    filters
}

/// Returns ffmpeg's end of the connection as a file.
fn accepted(listener: &UnixListener, has_ended: &AtomicBool) -> Result<File> {
    while !has_ended.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(File::from(OwnedFd::from(stream)));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(LOOK),
            Err(error) => return Err(error).context("ffmpeg cannot be heard"),
        }
    }
    Err(io::Error::from(ErrorKind::BrokenPipe).into())
}

/// Reads to the end and returns what came last.
fn last_words(mut said: impl Read) -> String {
    let (mut words, mut part) = (Vec::new(), [0; 4_096]);
    while let Ok(read @ 1..) = said.read(&mut part) {
        words.extend_from_slice(&part[..read]);
        words.drain(..words.len().saturating_sub(WORDS_MAX));
    }
    String::from_utf8_lossy(&words).trim().to_owned()
}

/// Returns what is to be said: whose fault it was, or what was done.
fn outcome(has_film: bool, decoded: Vec<Result<String>>, words: &str) -> Result<String> {
    let is_of_ffmpeg = |error: &anyhow::Error| {
        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        error.chain().any(|cause| cause.downcast_ref().is_some_and(|error: &io::Error| kinds.contains(&error.kind())))
    };
    let (mut reports, mut damaged) = (String::new(), None);
    for side in decoded {
        match side {
            Ok(report) => reports += &report,
            Err(error) if error.is::<Damaged>() => damaged = Some(error),
            Err(error) if is_of_ffmpeg(&error) => {}
            Err(error) => return Err(error),
        }
    }
    ensure!(has_film, "ffmpeg could not make the film: {words}");
    damaged.map_or(Ok(reports), Err)
}
