//! Quantised coefficients of a channel, on the device.

use device::Result;
use device::kernel::{Arg, Kernel, kernel};
use device::queue::{Buffer, Event};
use kernels::parts::opencl as params;
use kernels::parts::opencl::ChannelPipeline;
use kernels::parts::reference::Quantiser;
use picture::coded::StepIndex;
use picture::params::StreamParams;

/// A square of quantised coefficients and the kernel that makes it (`cl/quantise.cl`).
pub(crate) struct QuantisedSquare {
    kernel: Kernel,
    square: Buffer<i32>,
    side: usize,
}

impl QuantisedSquare {
    /// Creates the kernel for the `side` x `side` coefficients of `pipeline` at this step.
    pub(crate) fn new(pipeline: &ChannelPipeline, stream: &StreamParams, side: usize, step: StepIndex) -> Result<Self> {
        let (queue, bands) = (&pipeline.queue, &pipeline.transform.bands);
        let device = queue.device();
        let text = [include_str!("../../../cl/shared/common.cl"), include_str!("../../cl/quantise.cl")];
        let program = device.build(
            &params::header(&device.tuning, stream.codec.boundary).and(&params::block_header(&device.tuning)),
            &text,
        )?;
        let square = queue.buffer(side * side)?;
        let inverse = Arg::Float(Quantiser::new(step).inverse);
        let args = [
            ("in", bands.arg()),
            ("in_pitch", pipeline.transform.band_pitch.into()),
            ("out", square.arg()),
            ("side", side.into()),
            ("inverse", inverse),
        ];
        Ok(Self { kernel: kernel(&program, "quantise_square", &args)?, square, side })
    }

    /// Quantises what the transform left.
    pub(crate) fn run(&self, pipeline: &ChannelPipeline) -> Result<Option<Event>> {
        let group_size = [pipeline.queue.device().tuning.group_size, 1];
        pipeline.queue.launch(&self.kernel, [1, self.side], group_size)
    }

    /// Returns the square, row by row, brought to the host; waits.
    pub(crate) fn values(&self, pipeline: &ChannelPipeline) -> Result<Vec<i32>> {
        let mut host = pipeline.queue.pinned(self.square.len())?;
        pipeline.queue.download(&self.square, &mut host, self.square.len())?;
        pipeline.queue.finish()?;
        Ok(host.values().to_vec())
    }
}
