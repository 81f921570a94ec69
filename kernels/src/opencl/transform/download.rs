//! The way of decoded coefficients to samples on the host.

use device::Result;
use device::queue::{Buffer, Event, Pinned};
use device::timeline::{DeviceStage, Recorder};

use super::channel::ChannelPipeline;
use super::ends::Last;
use super::source;

/// The way of decoded coefficients to samples on the host.
pub(crate) struct Downloader {
    bytes: Buffer<u8>,
    staging: Pinned<u8>,
    last: Last,
}

impl Downloader {
    /// Creates the kernels for the coefficients of `pipeline`.
    pub(crate) fn new(pipeline: &ChannelPipeline) -> Result<Self> {
        let len = pipeline.width * pipeline.height;
        let (bytes, staging) = (pipeline.queue.buffer(len)?, pipeline.queue.pinned(len)?);
        let last = Last::new(pipeline, &source::to_bytes(&bytes, pipeline.width))?;
        Ok(Self { bytes, staging, last })
    }

    /// Transforms the bands back, rounds and brings the samples to the host; notes the commands and returns the last
    /// one's event.
    pub(crate) fn run(&mut self, pipeline: &ChannelPipeline, recorder: &mut Recorder) -> Result<Event> {
        self.last.run(pipeline, recorder)?;
        let len = pipeline.width * pipeline.height;
        let event = pipeline.queue.download(&self.bytes, &mut self.staging, len)?;
        pipeline.end(DeviceStage::Transform, &event, recorder);
        recorder.note(pipeline.channel, DeviceStage::Download, event.clone());
        pipeline.queue.flush()?;
        Ok(event)
    }

    /// Returns the samples, row by row, once the event of [`Self::run`] has happened.
    pub(crate) fn samples(&self) -> &[u8] {
        self.staging.values()
    }
}
