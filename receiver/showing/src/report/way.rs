//! The way of a picture from the camera to the display, in parts.

use std::time::Duration;

use common::units::Timestamp;

use crate::handover::Passed;

/// Parts of the way from capture to present, added up over pictures.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pictures: u32,
    /// Times from capture to the last datagram at the sender's socket, from there to here, and so on to the display.
    parts: [Duration; 5],
}

/// The parts of a [`Way`] in words.
pub(super) const PARTS: [&str; 5] =
    ["camera and computer there", "line", "wait for missing parts", "decoder here", "display"];

impl Way {
    /// Adds the way of a picture, with the sender's clock less ours.
    pub(super) fn add(&mut self, passed: &Passed, offset_us: i64, presented: Timestamp) {
        let points = [
            to_own(passed.capture, offset_us),
            to_own(passed.sent, offset_us),
            passed.received,
            passed.released,
            passed.decoded,
            presented,
        ];
        self.pictures += 1;
        for (sum, pair) in self.parts.iter_mut().zip(points.windows(2)) {
            *sum += pair[1].since(pair[0]);
        }
    }

    /// Returns the mean of each part, milliseconds; none without a picture.
    pub(super) fn means_ms(&self) -> Option<[f64; 5]> {
        let pictures = f64::from(self.pictures);
        (self.pictures > 0).then(|| self.parts.map(|part| part.as_secs_f64() * 1e3 / pictures))
    }
}

/// Returns a time on the sender's clock as one on ours.
pub(crate) fn to_own(sender: Timestamp, offset_us: i64) -> Timestamp {
    Timestamp::from_us(sender.as_us().saturating_add_signed(offset_us.saturating_neg()))
}
