//! The residual that a prediction leaves of a channel, and the state that comes of it, on the device (`cl/motion/compensate_residual.cl`).

use device::Result;
use device::kernel::{Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use device::staged::Staged;

use super::params::residual_program;
use crate::motion::ACTIVITY_SIDE;
use crate::opencl::transform::channel::ChannelPipeline;

/// Kernels between the samples of a channel and what a prediction leaves of them.
pub(crate) struct ChannelResidual {
    /// The samples themselves, in bytes.
    source: Buffer<u8>,
    take: Kernel,
    add: Kernel,
}

impl ChannelResidual {
    /// Creates the kernels for the samples of `pipeline`. `state` is any plane: those meant are set for each frame.
    pub(crate) fn new(pipeline: &ChannelPipeline, state: &Buffer<u8>) -> Result<Self> {
        let program = residual_program(pipeline.queue.device())?;
        let (plane, pitch) = pipeline.transform.samples();
        let (pitch, width) = (("pitch", pitch.into()), ("width", pipeline.width.into()));
        let source = pipeline.queue.buffer(pipeline.width * pipeline.height)?;
        let take = [("plane", plane.arg()), pitch, ("prediction", state.arg()), width, ("source", source.arg())];
        let add = [("residual", plane.arg()), pitch, ("state", state.arg()), width];
        let (take, add) = (kernel(&program, "take_prediction", &take)?, kernel(&program, "add_residual", &add)?);
        Ok(Self { source, take, add })
    }

    /// Returns the samples that a prediction was taken from last, in bytes.
    pub(crate) fn source(&self) -> &Buffer<u8> {
        &self.source
    }

    /// Starts to take a prediction from the samples; returns the kernel's event, if the queue notes it.
    pub(crate) fn take(&self, pipeline: &ChannelPipeline, prediction: &Buffer<u8>) -> Result<Option<Event>> {
        self.take.set("prediction", prediction.arg())?;
        pipeline.launch_rows(&self.take, 0..pipeline.height, &[])
    }

    /// Starts to add what was decoded to a prediction, which so becomes a state; likewise.
    pub(crate) fn add(&self, pipeline: &ChannelPipeline, state: &Buffer<u8>) -> Result<Option<Event>> {
        self.add.set("state", state.arg())?;
        pipeline.launch_rows(&self.add, 0..pipeline.height, &[])
    }
}

/// Kernel that says how near a prediction of luma is.
pub(crate) struct Distances {
    kernel: Kernel,
    /// Two of each row of squares.
    sums: Staged<u32>,
    rows: usize,
}

impl Distances {
    /// Creates the kernel for the samples of `pipeline`; `state` as of [`ChannelResidual::new`].
    pub(crate) fn new(pipeline: &ChannelPipeline, state: &Buffer<u8>) -> Result<Self> {
        let queue = &pipeline.queue;
        let rows = pipeline.height.div_ceil(ACTIVITY_SIDE);
        let sums = Staged::new(queue, 2 * rows)?;
        let (plane, pitch) = pipeline.transform.samples();
        let args = [
            ("plane", plane.arg()),
            ("pitch", pitch.into()),
            ("prediction", state.arg()),
            ("width", pipeline.width.into()),
            ("height", pipeline.height.into()),
            ("sums", sums.device.arg()),
        ];
        let kernel = kernel(&*residual_program(queue.device())?, "distances", &args)?;
        Ok(Self { kernel, sums, rows })
    }

    /// Starts to compare the samples with a prediction.
    pub(crate) fn run(&self, queue: &Queue, prediction: &Buffer<u8>) -> Result<Option<Event>> {
        self.kernel.set("prediction", prediction.arg())?;
        queue.launch_marked(&self.kernel, [1, self.rows], [queue.device().tuning.group_size, 1])
    }

    /// Starts to bring the sums to the host.
    pub(crate) fn fetch(&mut self, queue: &Queue) -> Result<Event> {
        self.sums.download(queue, 2 * self.rows)
    }

    /// Returns the sums of absolute differences from the prediction and from the means of squares, once they are there.
    pub(crate) fn sums(&self) -> [u64; 2] {
        let rows = self.sums.host.values().as_chunks::<2>().0;
        [0, 1].map(|which| rows.iter().map(|sums| u64::from(sums[which])).sum())
    }
}
