//! Text that the window writes on the picture.

use std::ops::Range;
use std::time::Duration;

use common::units::Timestamp;

use super::face::Said;
use super::levels::Levels;
use super::text::{Canvas, Letters};
use crate::report::Status;

/// Time for which a message stays.
const MESSAGE: Duration = Duration::from_secs(3);
/// The lines at the bottom take at most so large a part of the height, or have the smallest letters.
const STRIP_SHARE: usize = 5;
/// The keys, as `H` lists them.
pub(super) const KEYS: [&str; 10] = [
    "H    this list",
    "I    the line at the bottom",
    "D    figures: where the time goes",
    "F    full screen",
    "W    a second window with the picture; Esc in it closes it",
    "T    on top of other windows",
    "M    mirror the picture",
    "L    wait longer for missing parts",
    "S    save the picture as a file",
    "Esc  end; press it twice",
];
/// The keys of a call in both directions.
pub(super) const CALL_KEYS: [&str; 4] = [
    "V    what the other side sees of you",
    "E    effects on your picture, off and on",
    "Z    send smaller pictures",
    "Up, Down   send at a higher or lower rate at most",
];

/// The keys of a call with sound.
pub(super) const SOUND_KEYS: [&str; 6] = [
    "Space  your microphone off and on",
    "Left, Right  the other side softer or louder",
    "C    a click that both of you hear, on and off",
    "B    a bar counted in for both of you",
    "A    a tone of 440 Hz for both of you, on and off",
    "P    hear yourself as late as the other side",
];

/// The keys of a band.
pub(super) const BAND_KEYS: [&str; 2] = [
    "1, 2, 3  one large, alone with its sound, all; its volume is that of Left, Right",
    "Tab  the next one; a click does the same",
];

/// The texts, and which of them are shown.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    pub(super) line_shown: bool,
    details_shown: bool,
    keys_shown: bool,
    /// True if this machine sends as well.
    pub(super) sends: bool,
    /// True if there are several others.
    pub(super) is_of_band: bool,
    /// The levels of both sides, where there is sound.
    pub(super) levels: Option<Levels>,
    status: Status,
    /// Sentence to show while no picture comes.
    notice: Option<String>,
    message: Option<(String, Timestamp)>,
    /// Sentence about something that this machine lacks, as long as it does.
    alert: Option<String>,
    /// The last way that packets have come.
    path: Option<&'static str>,
}

impl Overlay {
    /// Nothing but the line, if that is wanted.
    pub(super) fn new(line_shown: bool) -> Self {
        Self { line_shown, ..Self::default() }
    }

    /// Shows the list of keys in place of the figures, or no longer.
    pub(super) fn toggle_keys(&mut self) {
        (self.keys_shown, self.details_shown) = (!self.keys_shown, false);
    }

    /// Shows the figures in place of the list of keys, or no longer: a small window has room for one of them.
    pub(super) fn toggle_details(&mut self) {
        (self.keys_shown, self.details_shown) = (false, !self.details_shown);
    }

    /// Takes what is known of the stream, and says for a moment when its packets come another way than before.
    pub(super) fn set_status(&mut self, status: &Status, now: Timestamp) {
        if let (Some(before), Some(path)) = (self.path, status.path)
            && before != path
        {
            self.say(format!("The connection has changed: packets now come {path}"), now);
        }
        self.path = status.path.or(self.path);
        self.status.clone_from(status);
    }

    /// Says `notice` over a dimmed picture; none: the picture is alive. True if that is new.
    pub(super) fn set_notice(&mut self, notice: Option<&str>) -> bool {
        let is_new = self.notice.as_deref() != notice;
        if is_new {
            self.notice = notice.map(str::to_owned);
        }
        is_new
    }

    /// Says `alert` until it is taken back; true if that is new.
    pub(super) fn set_alert(&mut self, alert: Option<String>) -> bool {
        let is_new = self.alert != alert;
        self.alert = alert;
        is_new
    }

    /// Says `text` for a moment.
    pub(super) fn say(&mut self, text: impl Into<String>, now: Timestamp) {
        self.message = Some((text.into(), now + MESSAGE));
    }

    /// Forgets the message when its time is over; true if it did.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        self.message.take_if(|(_, until)| *until <= now).is_some()
    }

    /// Returns true while the picture is dimmed, since none comes.
    pub(super) fn is_dim(&self) -> bool {
        self.notice.is_some()
    }

    /// Returns the texts, for a face that shows them its way.
    pub(super) fn said(&self) -> Said {
        Said {
            line: self.status.line.clone(),
            details: self.status.details.clone(),
            notice: self.notice.clone(),
            alert: self.alert.clone(),
            message: self.message.as_ref().map(|(text, _)| text.clone()),
            sends: self.sends,
            ..Said::default()
        }
    }

    /// Returns the rows of a canvas of that size on which something may be shown.
    pub(super) fn rows(&self, size: (usize, usize)) -> Range<usize> {
        if self.notice.is_some() || self.keys_shown || self.details_shown {
            return 0..size.1;
        }
        let (lines, letters) = self.strip(size);
        let bars = self.levels.map_or(0, |_| Levels::rows(size.1));
        top(lines.len(), letters, size.1).saturating_sub(bars)..size.1
    }

    /// Returns the lines at the bottom of a canvas of that size, and their letters: they always fit.
    fn strip(&self, (width, height): (usize, usize)) -> (Vec<String>, Letters) {
        let said = match (&self.message, &self.notice) {
            (Some((message, _)), _) => message.as_str(),
            // The figures of a stream that stands still are no news.
            (None, Some(_)) => "H lists the keys",
            (None, None) if self.line_shown => &self.status.line,
            (None, None) => "",
        };
        let said = self.alert.iter().flat_map(|alert| alert.lines()).chain(said.lines());
        let in_lines = |letters: Letters| said.clone().flat_map(|line| letters.wrap(line, width)).collect::<Vec<_>>();
        let letters = Letters::for_height(height);
        let lines = in_lines(letters);
        if lines.len() * letters.line() <= height / STRIP_SHARE {
            return (lines, letters);
        }
        let small = Letters::for_height(0);
        (in_lines(small), small)
    }

    /// Draws everything that is shown.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        let (width, height) = (canvas.width, canvas.height());
        let letters = Letters::for_height(height);
        if self.notice.is_some() {
            canvas.dim();
        }
        let mut page: Vec<String> = Vec::new();
        if self.keys_shown {
            page.extend(KEYS.map(str::to_owned));
            if self.sends {
                page.extend(CALL_KEYS.map(str::to_owned));
            }
            if self.levels.is_some() {
                page.extend(SOUND_KEYS.map(str::to_owned));
            }
            if self.is_of_band {
                page.extend(BAND_KEYS.map(str::to_owned));
            }
        } else if self.details_shown {
            page.extend(self.status.details.iter().flat_map(|line| letters.wrap(line, width)));
        }
        if !page.is_empty() {
            canvas.write(&page, letters, 0, false);
        }
        if let Some(notice) = &self.notice {
            canvas.write_notice(notice);
        }
        let (lines, letters) = self.strip((width, height));
        let top = top(lines.len(), letters, height);
        canvas.write(&lines, letters, top, false);
        if let Some(levels) = &self.levels {
            levels.draw(canvas, top);
        }
    }
}

/// Returns the first row of `lines` lines at the bottom.
fn top(lines: usize, letters: Letters, height: usize) -> usize {
    let margin = if lines == 0 { 0 } else { letters.line() / 2 };
    height.saturating_sub(lines * letters.line() + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 640;
    const HEIGHT: usize = 360;
    const GREY: u32 = 0x0080_8080;

    const START: Timestamp = Timestamp::from_us(1_000_000);

    #[test]
    fn another_way_is_told_for_a_moment() {
        let mut overlay = Overlay::new(false);
        let on = |path| Status { path, ..Status::default() };
        for path in [Some("through the routers"), None, Some("through the routers")] {
            overlay.set_status(&on(path), START);
            assert!(overlay.message.is_none());
        }
        overlay.set_status(&on(Some("directly")), START);
        assert!(overlay.message.as_ref().is_some_and(|(text, _)| text.ends_with("packets now come directly")));
    }

    fn drawn(overlay: &Overlay) -> Vec<u32> {
        let mut pixels = vec![GREY; WIDTH * HEIGHT];
        overlay.draw(&mut Canvas { pixels: &mut pixels, width: WIDTH });
        pixels
    }

    fn white(pixels: &[u32]) -> usize {
        pixels.iter().filter(|&&pixel| pixel > 0x00e0_e0e0).count()
    }

    #[test]
    fn a_notice_dims_the_picture_and_stands_in_its_middle_until_it_is_taken_back() {
        let mut overlay = Overlay::new(true);
        overlay.set_status(&Status { line: "Picture 43 ms behind, line good".to_owned(), ..Status::default() }, START);
        let before = drawn(&overlay);
        assert!(before[..WIDTH * 300].iter().all(|&pixel| pixel == GREY), "the picture is as it was");

        assert!(overlay.set_notice(Some("Clara has been missing for 3 s; calling again")));
        assert!(!overlay.set_notice(Some("Clara has been missing for 3 s; calling again")));
        let pixels = drawn(&overlay);
        assert!(pixels[..WIDTH * 130].iter().all(|&pixel| pixel == 0x0020_2020), "dimmed");
        assert!(white(&pixels[WIDTH * 150..WIDTH * 210]) > 200, "a text in the middle");
        assert!(overlay.set_notice(Some("Clara has been missing for 4 s; calling again")));
        assert!(drawn(&overlay) != pixels, "the seconds count");

        assert!(overlay.set_notice(None));
        assert!(drawn(&overlay) == before);
    }

    #[test]
    fn a_notice_stands_above_a_page_that_reaches_it() {
        let mut overlay = Overlay::new(false);
        overlay.set_notice(Some("Clara left 4 s ago; calling again"));
        let alone = drawn(&overlay);
        let strip = WIDTH * 170..WIDTH * 190;
        assert!(white(&alone[strip.clone()]) > 200);
        overlay.set_status(&Status { details: vec!["line    12.0 ms".to_owned(); 30], ..Status::default() }, START);
        overlay.toggle_details();
        let with_page = drawn(&overlay);
        assert!(with_page[..WIDTH * 100] != alone[..WIDTH * 100], "the page");
        assert!(white(&with_page[strip.clone()]) > 200, "no letter of the notice is covered");
        let is_letter = |pixel: u32| pixel > 0x00e0_e0e0;
        assert!(alone[strip.clone()].iter().zip(&with_page[strip]).all(|(&a, &b)| !is_letter(a) || is_letter(b)));
    }

    #[test]
    fn a_message_takes_the_place_of_the_line_for_a_moment() {
        let mut overlay = Overlay::new(false);
        assert_eq!(white(&drawn(&overlay)), 0);
        let at = Timestamp::from_us(5_000_000);
        overlay.say("Press Esc again to end", at);
        assert!(white(&drawn(&overlay)[WIDTH * 330..]) > 100);
        let free = overlay.rows((WIDTH, HEIGHT)).start;
        assert!(free > 300 && drawn(&overlay)[..WIDTH * free].iter().all(|&pixel| pixel == GREY));
        assert!(!overlay.expire(at + Duration::from_secs(2)));
        assert!(overlay.expire(at + MESSAGE));
        assert_eq!(white(&drawn(&overlay)), 0);
    }

    #[test]
    fn lines_at_the_bottom_fit_whatever_they_say() {
        let mut overlay = Overlay::new(true);
        let line = "This computer is too slow: it sends 15 of 30 pictures a second\nPicture 172 ms behind, held up 151 ms by \
                    this computer, line poor: 12 % of pictures damaged";
        overlay.set_status(&Status { line: line.to_owned(), ..Status::default() }, START);
        overlay.set_alert(Some("Your camera is missing: this computer looks for it".to_owned()));
        let all = format!("Your camera is missing: this computer looks for it {}", line.replace('\n', " "));
        for size in [(640, 360), (1280, 720), (1920, 1080), (854, 480), (320, 180)] {
            let (lines, letters) = overlay.strip(size);
            assert_eq!(lines.join(" "), all, "{size:?}");
            assert!(lines.iter().all(|line| letters.wrap(line, size.0).len() == 1), "{size:?}: {lines:?}");
            let rows = overlay.rows(size);
            assert_eq!(rows.end, size.1);
            assert!(rows.len() >= lines.len() * letters.line(), "{size:?}: {lines:?} in {rows:?}");
            assert!(size.0 < 640 || rows.start > size.1 / 2, "{size:?}: {rows:?}");
        }
        // What this machine lacks is said while nobody is there, too.
        overlay.set_notice(Some("Looking for clara, 13 s"));
        overlay.line_shown = false;
        let lines = overlay.strip((1280, 720)).0;
        assert_eq!(lines, ["Your camera is missing: this computer looks for it", "H lists the keys"]);
        overlay.set_notice(None);
        overlay.set_alert(None);
        assert_eq!(overlay.rows((1280, 720)), 720..720);
    }

    #[test]
    fn pages_of_keys_and_figures_stand_at_the_top() {
        let mut overlay = Overlay::new(false);
        overlay.set_status(&Status { details: vec!["line    12.0 ms".to_owned(); 3], ..Status::default() }, START);
        overlay.toggle_details();
        let details = white(&drawn(&overlay));
        overlay.toggle_keys();
        let pixels = drawn(&overlay);
        assert!(details > 100 && white(&pixels) > details + 500);
        overlay.toggle_details();
        assert_eq!(white(&drawn(&overlay)), details, "one takes the place of the other");
        assert!(pixels[WIDTH * 300..].iter().all(|&pixel| pixel == GREY));
    }
}
