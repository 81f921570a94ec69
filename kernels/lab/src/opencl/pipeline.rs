//! Frames in flight: several sets of queues, pinned staging and device memory take turns, so that the upload of one
//! frame, the kernels of another and the download of a third run at the same time.

use std::sync::Arc;

use device::open_within;
use device::timeline::Timeline;
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::PicturePlace;
use kernels::parts::opencl::find;
use kernels::parts::reference::check_picture;
use kernels::{CodecError, DeviceError, PictureError, PictureRef};
use picture::frame::PixelFormat;

use super::flow::PipelineParams;
use super::lane::Lane;

/// An asynchronous transform on an OpenCL device: fill a buffer, [`Self::submit`] it, fill the next one, and
/// [`Self::collect`] the results in the order of the frames.
pub struct OpenClPipeline {
    params: PipelineParams,
    lanes: Vec<Lane>,
    /// The lane of the next frame.
    next: usize,
    /// Frames submitted and not yet collected.
    pending: usize,
    device: String,
}

/// Errors after which a pipeline cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PipelineError {
    /// A frame was submitted while as many as the pipeline holds were still to be collected.
    #[error("the pipeline is full: {depth} frames are in flight, collect one first")]
    Full { depth: usize },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A picture that does not fit.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

impl CodecError for PipelineError {
    fn is_of_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }
}

impl OpenClPipeline {
    /// Opens a pipeline on the device whose name contains `device`, or on the best one.
    ///
    /// Errors: no such device, or more memory than it has, found before any is allocated.
    pub fn open(params: &PipelineParams, device: Option<&str>) -> Result<Self, OpenError> {
        Self::on(&find(device)?, params)
    }

    /// Opens the same on this device with its settings.
    pub(crate) fn on(device: &Arc<Device>, params: &PipelineParams) -> Result<Self, OpenError> {
        let params = PipelineParams { depth: params.depth.max(1), stripes: params.stripes.max(1), ..*params };
        let lanes = open_within(device, |device| {
            (0..params.depth).map(|_| Lane::new(device, &params)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(Self { params, lanes, next: 0, pending: 0, device: device.info.name.clone() })
    }

    /// Returns the device's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns pinned memory for the bytes of the next picture, to be filled before [`Self::submit`]. It still holds
    /// the picture of [`PipelineParams::depth`] frames ago. Empty if no pictures go in.
    ///
    /// Errors: [`PipelineError::Full`].
    pub fn picture_buffer(&mut self) -> Result<&mut [u8], PipelineError> {
        let format = self.params.flow.picture();
        let bytes = format.map_or(0, |format| format.bytes(self.params.stream.size));
        Ok(&mut self.free_lane()?.picture()[..bytes])
    }

    /// Returns pinned memory for the next plane or square of `channel`, and the number of values from row to row, to be
    /// filled before [`Self::submit`]. Empty if pictures go in or there is no such channel.
    ///
    /// Errors: [`PipelineError::Full`].
    pub fn values_buffer(&mut self, channel: usize) -> Result<(&mut [f32], usize), PipelineError> {
        Ok(self.free_lane()?.input(channel))
    }

    /// Starts a frame with what was written to the buffers.
    ///
    /// Errors: [`PipelineError::Full`]; [`DeviceError::Failed`], after which nothing of this frame is in flight.
    pub fn submit(&mut self) -> Result<(), PipelineError> {
        self.start(self.params.flow.picture().map(PicturePlace::Staged))
    }

    /// Starts a frame with a picture from any memory, which is copied to pinned memory first.
    ///
    /// Errors: as [`Self::submit`]; a picture of another size or format than the pipeline's.
    pub fn submit_picture(&mut self, picture: PictureRef<'_>) -> Result<(), PipelineError> {
        check_picture(picture, self.params.stream.size)?;
        match self.params.flow.picture() {
            Some(wanted) if wanted == picture.format() => self.start(Some(PicturePlace::Host(picture))),
            wanted => {
                let wanted = wanted.unwrap_or(PixelFormat::Grey8);
                Err(PictureError::Format { wanted, given: picture.format() }.into())
            }
        }
    }

    fn start(&mut self, origin: Option<PicturePlace<'_>>) -> Result<(), PipelineError> {
        let (index, overlap) = (self.next, self.params.overlap);
        let lane = self.free_lane()?;
        let result = lane.start(origin, overlap);
        if result.is_err() {
            // A failed frame may not go on using the staging memory.
            lane.settle();
        }
        result?;
        self.next = (index + 1) % self.lanes.len();
        self.pending += 1;
        Ok(())
    }

    fn free_lane(&mut self) -> Result<&mut Lane, PipelineError> {
        let depth = self.lanes.len();
        if self.pending == depth {
            return Err(PipelineError::Full { depth });
        }
        Ok(&mut self.lanes[self.next])
    }

    /// Waits for the oldest frame; `None` if none is in flight.
    pub fn collect(&mut self) -> Result<Option<Collected<'_>>, PipelineError> {
        if self.pending == 0 {
            return Ok(None);
        }
        let oldest = (self.next + self.lanes.len() - self.pending) % self.lanes.len();
        self.pending -= 1;
        let lane = &self.lanes[oldest];
        lane.finish().inspect_err(|_| lane.settle())?;
        Ok(Some(Collected { lane }))
    }
}

/// The results of one frame.
pub struct Collected<'a> {
    lane: &'a Lane,
}

impl Collected<'_> {
    /// Returns the square or plane of `channel` in pinned host memory, and the number of values from row to row. Empty
    /// if the results stay on the device or there is no such channel.
    pub fn values(&self, channel: usize) -> (&[f32], usize) {
        self.lane.output(channel)
    }

    /// Copies of the quantised squares of all channels, row by row without gaps. Empty unless the flow quantises.
    pub fn quantised(&self) -> Result<Vec<Vec<i32>>> {
        self.lane.quantised()
    }

    /// Returns the device's commands for this frame; empty if the pipeline is not timed.
    pub fn timeline(&self) -> Result<Timeline> {
        self.lane.timeline()
    }
}
