//! The time between two pictures of a live source, in which frames are decoded again.

use std::time::Duration;

use common::stream::video::prediction::REPLAYS_MAX;
use common::units::Timestamp;

/// An estimate of that time.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    /// Time at which the next picture is expected; none: pictures wait.
    due: Option<Timestamp>,
    /// Time that decoding a frame again took.
    replay: Duration,
}

impl Spare {
    /// Notes that a picture of this time has come, from a source that gives one each `interval`.
    pub(super) fn on_picture(&mut self, capture: Timestamp, interval: Duration) {
        self.due = Some(capture + interval);
        // One that took long for another reason would else be the last.
        self.replay -= self.replay / 16;
    }

    /// Notes that a frame that was decoded again took so long.
    pub(super) fn on_replay(&mut self, took: Duration) {
        self.replay = took;
    }

    /// Returns how many frames can be decoded again before the next picture comes.
    pub(super) fn replays(&self, now: Timestamp) -> usize {
        match self.due {
            Some(due) if !self.replay.is_zero() => {
                (due.since(now).as_nanos() / self.replay.as_nanos()).min(REPLAYS_MAX as u128) as usize
            }
            _ => REPLAYS_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_frames_are_decoded_again_as_there_is_time_for() {
        let (at, ms) = (Timestamp::from_us, Duration::from_millis);
        let mut spare = Spare::default();
        assert_eq!(spare.replays(at(0)), REPLAYS_MAX, "a file waits");
        spare.on_replay(ms(9));
        assert_eq!(spare.replays(at(0)), REPLAYS_MAX);
        spare.on_picture(at(10_000), ms(33));
        assert_eq!([10, 24, 34, 40, 90].map(|ms| spare.replays(at(1_000 * ms))), [3, 2, 1, 0, 0]);
        // Another program had the processor.
        spare.on_replay(ms(1_000));
        let pictures = (1..).find(|&number| {
            spare.on_picture(at(33_000 * number), ms(33));
            spare.replays(at(33_000 * number + 10_000)) > 0
        });
        assert!((30..70).contains(&pictures.unwrap()), "{pictures:?}");
    }
}
