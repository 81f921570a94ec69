//! The delay between two screens, read from a film in which the strip charts of both are seen ([`sending::source::strip`]).
//!
//! Each picture of the film is searched for strips ([`find`]), each strip read ([`read`]), and the differences of all pictures
//! are one delay ([`delay`]).

#![forbid(unsafe_code)]

pub mod cli;
pub mod delay;
pub mod film;
pub mod find;
pub mod page;
pub mod quad;
pub mod read;

use delay::Seen;
use find::Luma;

/// Returns the strips that a picture shows, larger ones first.
pub fn strips(luma: &Luma) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for radius in find::RADII {
        for quad in find::frames(luma, luma.width.max(luma.height) / radius) {
            let Some(strip) = read::strip(luma, &quad) else { continue };
            let is_known = |known: &Seen| {
                let (dx, dy) = (known.centre.0 - strip.centre.0, known.centre.1 - strip.centre.1);
                dx.hypot(dy) < known.width / 4.0
            };
            if !seen.iter().any(is_known) {
                seen.push(strip);
            }
        }
    }
    seen.sort_by(|a, b| b.width.total_cmp(&a.width));
    seen
}
