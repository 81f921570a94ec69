//! The data of a pipeline's run, and the order of its steps.

use picture::coded::StepIndex;
use picture::frame::PixelFormat;
use picture::params::StreamParams;

/// The input and the output of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Pictures to f32 coefficients that stay on the device.
    PictureToDevice(PixelFormat),
    /// Pictures to quantised coefficients that stay on the device.
    PictureToQuantised(PixelFormat, StepIndex),
    /// Pictures to f32 coefficients in host memory.
    PictureToHost(PixelFormat),
    /// Planes of f32 samples to f32 coefficients in host memory.
    PlanesToHost,
    /// f32 coefficients in host memory to planes of f32 samples there.
    HostToPlanes,
}

impl Flow {
    /// Returns the format of the pictures that go in, if pictures do.
    pub(crate) fn picture(self) -> Option<PixelFormat> {
        match self {
            Self::PictureToDevice(format) | Self::PictureToQuantised(format, _) | Self::PictureToHost(format) => {
                Some(format)
            }
            Self::PlanesToHost | Self::HostToPlanes => None,
        }
    }
}

/// Settings of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineParams {
    /// Geometry and transform.
    pub stream: StreamParams,
    /// Input and output.
    pub flow: Flow,
    /// Most frames in flight: 2 overlaps neighbouring frames.
    pub depth: usize,
    /// In how many horizontal stripes a picture travels; the first kernels of one run while the next is copied.
    pub stripes: usize,
    /// True if the channels of a frame may overlap.
    pub overlap: bool,
    /// True if [`super::pipeline::Collected::timeline`] knows every command. Without, launches cost less.
    pub timed: bool,
}
