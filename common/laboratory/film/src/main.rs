//! `latency-film`: the delay between two screens, read from a film of both.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use common::units::SOUND_METRES_PER_MS;
use film::cli::Cli;
use film::delay::{Delay, Place, delay};
use film::film::Film;
use net::failure::Failure;
use shell::exit::report;
use shell::signals;

fn main() -> ExitCode {
    let parsed = signals::take_over().and_then(|()| shell::cli::parse::<Cli>());
    report("latency-film", parsed.and_then(|cli| cli.file.map_or_else(film::page::show, |file| measure(&file))))
}

fn measure(path: &Path) -> Result<(), Failure> {
    let mut film = Film::open(path)?;
    let (mut pictures, mut height) = (Vec::new(), 0);
    while let Some(luma) = film.read()? {
        height = luma.height;
        pictures.push(film::strips(&luma));
    }
    let found = delay(&pictures, height).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
    print!("{}", words(&found, pictures.len()));
    Ok(())
}

/// Returns the result for a musician.
fn words(found: &Delay, pictures: usize) -> String {
    let late = match found.late {
        Place::Left => "left",
        Place::Right => "right",
        Place::Upper => "upper",
        Place::Lower => "lower",
    };
    let mut text = format!(
        "The {late} screen is {:.0} ms behind the other, give or take {:.0} ms.\n\
         You see each other as late as you would hear each other at a distance of {:.0} m.\n\
         Both strips were read in {} of {pictures} pictures of the film.\n",
        found.ms,
        found.error_ms.ceil(),
        found.ms * SOUND_METRES_PER_MS,
        found.pictures,
    );
    if found.shutter_ms > 2.0 {
        text += "One strip is higher in the film than the other, and a telephone takes its rows one after the other: side by side they \
                 are read better.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_told_in_words() {
        let found = Delay { ms: 86.6, error_ms: 2.2, shutter_ms: 0.4, late: Place::Right, pictures: 290 };
        let text = words(&found, 300);
        assert!(text.starts_with("The right screen is 87 ms behind the other, give or take 3 ms.\n"), "{text}");
        assert!(
            text.contains("at a distance of 30 m") && text.contains("290 of 300") && !text.contains("higher"),
            "{text}"
        );
        assert!(words(&Delay { shutter_ms: 5.0, ..found }, 300).contains("side by side"));
    }
}
