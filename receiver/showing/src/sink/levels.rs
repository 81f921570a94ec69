//! Levels of both sides' sound, as bars.

use std::time::Duration;

use common::units::Timestamp;
use sound::level::Level;

use super::text::Canvas;

/// Time for which a peak stays.
const HELD: Duration = Duration::from_millis(1_500);
/// Softest level that a bar shows, decibels.
const FLOOR_DB: f32 = -60.0;
/// Levels from which a bar warns, and from which it is too loud, decibels.
const LOUD_DB: f32 = -12.0;
const TOO_LOUD_DB: f32 = -1.0;
/// Rows of a bar for each hundred of the window.
const ROWS_PERCENT: usize = 1;

/// A level, and the greatest of the last moments.
#[derive(Clone, Copy, Debug)]
struct Bar {
    level: Level,
    peak: Level,
    peaked: Timestamp,
}

impl Bar {
    const EMPTY: Self = Self { level: Level::SILENCE, peak: Level::SILENCE, peaked: Timestamp::from_us(0) };

    fn take(&mut self, level: Level, now: Timestamp) {
        self.level = level;
        // Fewer steps below full scale are louder.
        if level.0 <= self.peak.0 || now.since(self.peaked) >= HELD {
            (self.peak, self.peaked) = (level, now);
        }
    }
}

/// The bars: the own side on the left, the other on the right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    bars: [Bar; 2],
}

impl Levels {
    /// Bars of silence.
    pub(super) fn new() -> Self {
        Self { bars: [Bar::EMPTY; 2] }
    }

    /// Takes what both sides sound like now; the card's callback holds the other's peak, which may be over between two looks.
    pub(super) fn take(&mut self, own: Level, (other, peak): (Level, Level), now: Timestamp) {
        self.bars[0].take(own, now);
        self.bars[1] = Bar { level: other, peak, peaked: now };
    }

    /// Returns the rows that they take of a window of so many.
    pub(super) fn rows(height: usize) -> usize {
        (height * ROWS_PERCENT / 100).max(3)
    }

    /// Draws them on the last rows before row `end`.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, end: usize) {
        let (width, rows) = (canvas.width, Self::rows(canvas.height()));
        let half = width / 2;
        for (bar, begin) in self.bars.iter().zip([0, width - half]) {
            let filled = place(bar.level, half);
            let peak = place(bar.peak, half);
            for row in canvas.pixels.chunks_exact_mut(width.max(1)).take(end).skip(end.saturating_sub(rows)) {
                for (x, pixel) in row[begin..begin + half].iter_mut().enumerate() {
                    let is_lit = x < filled || peak > 0 && (x + 1 == peak || x + 2 == peak);
                    *pixel = if is_lit { colour(x, half) } else { *pixel >> 2 & 0x003f_3f3f };
                }
            }
        }
    }
}

/// Returns the pixels of `width` that a level fills.
fn place(level: Level, width: usize) -> usize {
    let db = level.db().unwrap_or(FLOOR_DB).max(FLOOR_DB);
    (width as f32 * (1.0 - db / FLOOR_DB)).round() as usize
}

fn colour(x: usize, width: usize) -> u32 {
    let db = FLOOR_DB * (1.0 - x as f32 / width.max(1) as f32);
    match db {
        TOO_LOUD_DB.. => 0x00ff_4040,
        LOUD_DB.. => 0x00f0_c040,
        _ => 0x0050_d080,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 600;
    const HEIGHT: usize = 300;

    fn lit(levels: &Levels) -> [usize; 2] {
        let mut pixels = vec![0; WIDTH * HEIGHT];
        levels.draw(&mut Canvas { pixels: &mut pixels, width: WIDTH }, HEIGHT);
        assert!(pixels[..WIDTH * (HEIGHT - 3)].iter().all(|&pixel| pixel == 0), "above them is the picture");
        let row = &pixels[WIDTH * (HEIGHT - 1)..];
        [&row[..WIDTH / 2], &row[WIDTH / 2..]].map(|bar| bar.iter().filter(|&&pixel| pixel > 0).count())
    }

    #[test]
    fn bars_follow_the_levels_and_peaks_stay_for_a_while() {
        let at = |ms: u64| Timestamp::from_us(10_000_000 + 1_000 * ms);
        let mut levels = Levels::new();
        assert_eq!(lit(&levels), [0, 0]);
        let other = |level, peak| (Level::of(level), Level::of(peak));
        levels.take(Level::of(1.0), other(0.1, 0.1), at(0));
        // Full scale, and 20 of 60 decibels below.
        assert_eq!(lit(&levels), [300, 200]);
        levels.take(Level::SILENCE, other(0.01, 0.1), at(100));
        assert_eq!(lit(&levels), [2, 102]);
        levels.take(Level::SILENCE, other(0.01, 0.01), at(1_600));
        assert_eq!(lit(&levels), [0, 100]);
    }
}
