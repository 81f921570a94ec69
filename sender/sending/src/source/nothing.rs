//! No picture: for a call with sound only.

use std::sync::Arc;

use net::failure::Failure;
use picture::frame::{ColourSpace, FrameRate, FrameSize, Raster};

use super::health::Health;
use super::{FrameSource, SourceFrame, SourceInfo};

/// A source that never gives a picture and does not end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

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
        // As a camera may, it holds its thread for ever.
        loop {
            std::thread::park();
        }
    }

    fn share(&mut self, health: Arc<Health>) {
        health.set_withheld(true);
    }
}
