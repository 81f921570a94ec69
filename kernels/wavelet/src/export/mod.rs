//! `wavelet export`: one film of a recording, or of both sides of a call, by ffmpeg, or each picture as a file. The pictures are decoded
//! here and go to ffmpeg through sockets; the sound is in the files beside them.

mod cancelled;
mod ffmpeg;
mod film;
mod made;
mod numbered;
mod side;
mod tags;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use self::cancelled::Cancelled;
use self::ffmpeg::Encoders;
use self::film::Film;
use self::made::Made;
use self::numbered::Numbered;
use self::side::Side;
use crate::args::ComputeArgs;
use crate::io::Kind;
use crate::progress::say;

/// Greatest time between the beginnings of two sides of one call, seconds.
const APART_MAX_S: f64 = 3_600.0;
const DAY_S: f64 = 86_400.0;

/// Makes the film `output` of one or two recordings, or, if it has a place for a number, a file of each picture; `fills_pauses`: however long they are.
pub(crate) fn export(inputs: &[PathBuf], output: &Path, fills_pauses: bool, compute: &ComputeArgs) -> Result<String> {
    if let Some(names) = Numbered::of(output)? {
        let [input] = inputs else {
            bail!("pictures of two recordings would have the same names: export one after the other")
        };
        return names.write(input, fills_pauses, compute);
    }
    let kind = Kind::of(output, &[Kind::Mkv, Kind::Mp4])?;
    for (number, input) in inputs.iter().enumerate() {
        ensure!(!inputs[..number].contains(input), "{} is given twice: name the two sides of a call", input.display());
    }
    let encoders = Encoders::ask()?;
    let sides = inputs.iter().map(|input| Side::open(input)).collect::<Result<Vec<_>>>()?;
    let begins_s = begins(&sides)?;
    let film = Film::new(&sides, &begins_s, kind, encoders);
    let cancelled = Cancelled::take_over()?;
    let made = Made::begin(output)?;
    let done = film.make(&sides, &made, &cancelled, fills_pauses, compute);
    if cancelled.is_asked() {
        drop(made);
        cancelled.end();
        return done;
    }
    // A damaged recording is a film of what is whole.
    if done.is_ok() || done.as_ref().is_err_and(|error| error.is::<crate::fault::Damaged>()) {
        made.keep().with_context(|| format!("{} cannot be written", output.display()))?;
    }
    done
}

/// Returns when each side begins in the film, seconds.
fn begins(sides: &[Side]) -> Result<Vec<f64>> {
    let [first, second] = sides else { return Ok(vec![0.0; sides.len()]) };
    let names = [first, second].map(|side| side.pictures.display());
    let (Some(one), Some(other)) = (first.tags.begun_s, second.tags.begun_s) else {
        say("a side has no sound that says when it begins: the two begin together");
        return Ok(vec![0.0; 2]);
    };
    // A call may go on beyond midnight.
    let later = (other - one + DAY_S / 2.0).rem_euclid(DAY_S) - DAY_S / 2.0;
    ensure!(
        later.abs() <= APART_MAX_S,
        "{} and {} begin {:.1} hours apart: name the two sides of one call",
        names[0],
        names[1],
        later.abs() / 3_600.0
    );
    Ok(vec![(-later).max(0.0), later.max(0.0)])
}
