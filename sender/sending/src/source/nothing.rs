//! No picture: for a call with sound only.

use std::sync::Arc;
use std::time::Duration;

use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, Raster};

use super::health::Health;
use super::{FrameSource, SourceFrame, SourceInfo};

/// One of its waits.
const LONG: Duration = Duration::from_secs(3600);

/// A source that never gives a picture.
#[derive(Debug, Default)]
pub(super) struct Nothing(Arc<Health>);

impl FrameSource for Nothing {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            size: FrameSize::USUAL,
            frame_rate: FrameRate::USUAL,
            colour: ColourSpace::JPEG,
            raster: Raster::default(),
            is_live: true,
            is_there: false,
        }
    }

    fn next(&mut self, _: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        // As a camera may, it holds its thread.
        while !self.0.ends_within(LONG) {}
        Ok(None)
    }

    fn share(&mut self, health: Arc<Health>) {
        health.set_withheld(true);
        self.0 = health;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_its_thread_until_it_is_ended() {
        let health = Arc::<Health>::default();
        let mut source = Nothing::default();
        source.share(Arc::clone(&health));
        let thread = std::thread::spawn(move || source.next(Vec::new()).map(|picture| picture.is_some()));
        assert!(!health.ends_within(Duration::ZERO) && health.is_withheld());
        health.end();
        assert_eq!(thread.join().unwrap(), Ok(false));
    }
}
