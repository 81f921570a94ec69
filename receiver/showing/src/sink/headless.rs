//! A sink that shows nothing.

use common::units::FrameId;
use kernels::Picture;
use picture::params::StreamParams;

use super::{Sink, SinkError};

/// Receives, decodes, counts and measures everything, and shows nothing.
#[derive(Debug)]
pub struct Headless;

impl Sink for Headless {
    fn start(&mut self, _params: &StreamParams) -> Result<(), SinkError> {
        Ok(())
    }

    fn show(&mut self, _id: FrameId, _picture: &Picture) -> Result<(), SinkError> {
        Ok(())
    }
}
