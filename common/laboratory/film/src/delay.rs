//! From the strips of all pictures of a film to one delay.

use sending::source::strip::CYCLE_MS;

use crate::quad::Point;

/// Pictures of a film that must show both strips.
pub const PICTURES_MIN: usize = 20;
/// A difference that is further from the median is misread, milliseconds.
const MISREAD_MS: f64 = 150.0;
/// Error of a strip that is read, milliseconds, on the average of a film.
const READING_MS: f64 = 1.0;
/// Neighbouring pictures of a film are much alike: so many count as one.
const ALIKE: f64 = 4.0;
/// Time that most telephones take from the first to the last row of a picture, milliseconds (rolling shutter).
const SHUTTER_MS: f64 = 20.0;

/// A strip in a picture of a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Its time, milliseconds within its cycle.
    pub time_ms: f64,
    /// Its middle.
    pub centre: Point,
    /// Its frame's width, pixels.
    pub width: f64,
}

/// Places of the late strip, seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To the left of it.
    Left,
    /// To the right.
    Right,
    /// Above it.
    Upper,
    /// Below.
    Lower,
}

/// A delay read from a film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Age of the picture at the late strip, seen from the other: the mean over the film, milliseconds.
    pub ms: f64,
    /// Bound of its error, milliseconds.
    pub error_ms: f64,
    /// The part of that error that comes of one strip being higher in the film than the other, milliseconds.
    pub shutter_ms: f64,
    /// The strip that is late.
    pub late: Place,
    /// Pictures that showed both strips.
    pub pictures: usize,
}

/// Reasons for which a film has no delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDelay {
    /// No strip was found.
    #[error(
        "no strip is seen in it: show one with `latency-film --show`, and film both screens near, sharp and straight, with the white \
         around each strip"
    )]
    NoStrip,
    /// Only one was.
    #[error(
        "only one strip is seen in it, in {0} pictures: film both screens at once, so near that each strip is a tenth as wide as the \
         picture or wider"
    )]
    OneStrip(usize),
    /// Both were, but seldom.
    #[error(
        "both strips are seen in only {0} pictures, and {PICTURES_MIN} are needed: film for ten seconds, with a quiet hand"
    )]
    TooFew(usize),
    /// The times that were read do not agree.
    #[error("the strips are read differently in each picture: film them larger, sharper and without reflections")]
    Restless,
}

/// Returns the delay between the two largest strips of a film. `pictures` has what each picture shows, larger strips first;
/// `height` is theirs, pixels.
///
/// Errors: see [`NoDelay`].
pub fn delay(pictures: &[Vec<Seen>], height: usize) -> Result<Delay, NoDelay> {
    let pairs: Vec<_> = pictures
        .iter()
        .filter_map(|strips| match strips.as_slice() {
            [a, b, ..] => Some((*a, *b)),
            _ => None,
        })
        .collect();
    let singles = pictures.iter().filter(|strips| strips.len() == 1).count();
    let apart = |at: fn(&Seen) -> f64| pairs.iter().map(|(a, b)| (at(a) - at(b)).abs()).sum::<f64>();
    let is_beside = apart(|strip| strip.centre.0) >= apart(|strip| strip.centre.1);
    let place = |strip: &Seen| if is_beside { strip.centre.0 } else { strip.centre.1 };
    // How much newer the left, or upper, one of each pair is.
    let mut newer: Vec<_> = pairs
        .iter()
        .map(|(a, b)| if place(a) <= place(b) { (a, b) } else { (b, a) })
        .map(|(first, second)| around(first.time_ms - second.time_ms))
        .collect();
    newer.sort_by(f64::total_cmp);
    match (newer.len(), singles) {
        (0, 0) => return Err(NoDelay::NoStrip),
        (0, singles) => return Err(NoDelay::OneStrip(singles)),
        (few @ ..PICTURES_MIN, _) => return Err(NoDelay::TooFew(few)),
        _ => {}
    }
    let median = newer[newer.len() / 2];
    let read: Vec<_> = newer.iter().filter(|&&ms| (ms - median).abs() <= MISREAD_MS).collect();
    if 4 * read.len() < 3 * newer.len() || read.len() < PICTURES_MIN {
        return Err(NoDelay::Restless);
    }
    let count = read.len() as f64;
    let mean = read.iter().copied().sum::<f64>() / count;
    let spread = (read.iter().map(|&&ms| (ms - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    let rows = pairs.iter().map(|(a, b)| (a.centre.1 - b.centre.1).abs()).sum::<f64>() / pairs.len() as f64;
    let shutter_ms = SHUTTER_MS * rows / height.max(1) as f64;
    Ok(Delay {
        ms: mean.abs(),
        error_ms: READING_MS + 2.0 * spread / (count / ALIKE).sqrt() + shutter_ms,
        shutter_ms,
        late: match (is_beside, mean >= 0.0) {
            (true, true) => Place::Right,
            (true, false) => Place::Left,
            (false, true) => Place::Lower,
            (false, false) => Place::Upper,
        },
        pictures: read.len(),
    })
}

/// Returns a difference of two times of the cycle, within half of it either way.
fn around(ms: f64) -> f64 {
    let cycle = CYCLE_MS as f64;
    (ms + cycle / 2.0).rem_euclid(cycle) - cycle / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(time_ms: f64, x: f64, y: f64) -> Seen {
        Seen { time_ms: time_ms.rem_euclid(CYCLE_MS as f64), centre: (x, y), width: 100.0 }
    }

    /// Returns a film of so many pictures, 33 ms apart, in which the second strip is late by so much.
    fn film(pictures: usize, late_ms: f64, (x, y): Point) -> Vec<Vec<Seen>> {
        let picture = |number: usize| {
            let now = 32_000.0 + 33.0 * number as f64;
            let mut strips = vec![strip(now, 100.0, 100.0), strip(now - late_ms - (number % 3) as f64, x, y)];
            strips.rotate_left(number % 2);
            strips
        };
        (0..pictures).map(picture).collect()
    }

    #[test]
    fn the_mean_difference_is_the_delay_also_across_the_cycle() {
        let found = delay(&film(60, 79.0, (400.0, 100.0)), 360).unwrap();
        assert!((found.ms - 80.0).abs() < 0.1 && found.late == Place::Right && found.pictures == 60, "{found:?}");
        assert!(found.error_ms < 2.0 && found.shutter_ms == 0.0, "{found:?}");
        let found = delay(&film(60, 79.0, (0.0, 100.0)), 360).unwrap();
        assert_eq!((found.ms.round(), found.late), (80.0, Place::Left));
        let found = delay(&film(60, 79.0, (110.0, 280.0)), 360).unwrap();
        assert_eq!((found.ms.round(), found.late, found.shutter_ms.round()), (80.0, Place::Lower, 10.0));
        assert!(found.error_ms > 10.0);
    }

    #[test]
    fn what_is_misread_now_and_then_changes_nothing() {
        let mut pictures = film(60, 79.0, (400.0, 100.0));
        pictures.iter_mut().step_by(9).for_each(|strips| strips[0].time_ms += 5_000.0);
        assert_eq!(delay(&pictures, 360).unwrap().ms.round(), 80.0);
        pictures.iter_mut().enumerate().for_each(|(at, strips)| strips[0].time_ms += 400.0 * at as f64);
        assert_eq!(delay(&pictures, 360), Err(NoDelay::Restless));
    }

    #[test]
    fn a_film_without_two_strips_gets_a_sentence() {
        assert_eq!(delay(&[], 360), Err(NoDelay::NoStrip));
        assert_eq!(delay(&vec![Vec::new(); 30], 360), Err(NoDelay::NoStrip));
        assert_eq!(delay(&vec![vec![strip(5.0, 1.0, 1.0)]; 30], 360), Err(NoDelay::OneStrip(30)));
        assert_eq!(delay(&film(PICTURES_MIN - 1, 50.0, (400.0, 1.0)), 360), Err(NoDelay::TooFew(PICTURES_MIN - 1)));
    }
}
