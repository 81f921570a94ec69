//! Prediction of one channel on the device.

use device::Result;
use device::kernel::{Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use picture::frame::{Chroma, FrameSize};

use super::params::{BORDER, Cell, eighths};
use super::params::{compensate_program, halves_program};
use crate::motion::predictor::plane_size;

/// Kernels that predict one channel, and what they make of a state.
pub(crate) struct ChannelPrediction {
    /// Of luma only.
    halves: Option<Halves>,
    compensate: Kernel,
    groups: [usize; 2],
}

/// Planes of whole and half samples of a state.
struct Halves {
    planes: Buffer<u8>,
    below: Kernel,
    right: Kernel,
    rows: usize,
}

impl ChannelPrediction {
    /// Creates the kernels for a channel of pictures of `size`, of `units` columns and rows; `cells` are their motion, and
    /// `residual`, with its pitch, is what was coded besides: without it they make the prediction alone. `state` is any plane: those
    /// meant are set for each frame.
    pub(crate) fn new(
        queue: &Queue,
        (chroma, size, channel): (Chroma, FrameSize, usize),
        units: [usize; 2],
        cells: &Buffer<Cell>,
        residual: Option<(&Buffer<f32>, usize)>,
        state: &Buffer<u8>,
    ) -> Result<Self> {
        let (plane, side) = plane_size(chroma, size, channel);
        let program = compensate_program(queue.device(), side, eighths(channel, side), residual.is_some())?;
        let sizes = [("width", plane.width().into()), ("height", plane.height().into())];
        let halves = (channel == 0).then(|| Halves::new(queue, plane, state)).transpose()?;
        let from = halves.as_ref().map_or(state, |halves| &halves.planes);
        let motion = [
            ("from", from.arg()),
            ("cells", cells.arg()),
            ("columns", units[0].into()),
            ("rows", units[1].into()),
            ("channel", channel.into()),
        ];
        let residual = residual.map(|(plane, pitch)| [("residual", plane.arg()), ("residual_pitch", pitch.into())]);
        let residual = residual.as_ref().map_or(&[][..], |args| args);
        let args = [&motion[..], residual, &[("out", state.arg())], &sizes].concat();
        let compensate = kernel(&program, "compensate", &args)?;
        Ok(Self { halves, compensate, groups: units.map(|units| units + 1) })
    }

    /// Returns the planes of whole and half samples of luma that predictions are made from.
    pub(crate) fn halves(&self) -> Option<&Buffer<u8>> {
        self.halves.as_ref().map(|halves| &halves.planes)
    }

    /// Predicts from `state` from now on, a plane of the same size as what is made; returns the events of the kernels, if the queue
    /// notes them.
    pub(crate) fn refer(&self, queue: &Queue, state: &Buffer<u8>) -> Result<Vec<Event>> {
        let group_size = [queue.device().tuning.group_size, 1];
        let mut events = Vec::new();
        if let Some(halves) = &self.halves {
            halves.below.set("from", state.arg())?;
            events.extend(queue.launch_marked(&halves.below, [1, halves.rows], group_size)?);
            events.extend(queue.launch_marked(&halves.right, [1, 2 * halves.rows], group_size)?);
        } else {
            self.compensate.set("from", state.arg())?;
        }
        Ok(events)
    }

    /// Starts to make the plane `out`, another one than that referred to; returns the kernel's event, likewise.
    pub(crate) fn run(&self, queue: &Queue, out: &Buffer<u8>) -> Result<Option<Event>> {
        self.compensate.set("out", out.arg())?;
        queue.launch_marked(&self.compensate, self.groups, [queue.device().tuning.group_size, 1])
    }
}

impl Halves {
    fn new(queue: &Queue, size: FrameSize, state: &Buffer<u8>) -> Result<Self> {
        let program = halves_program(queue.device())?;
        let planes = queue.buffer(4 * (size.width() + 2 * BORDER) * (size.height() + 2 * BORDER))?;
        let sizes = [("width", size.width().into()), ("height", size.height().into())];
        let below = [&[("from", state.arg())], &sizes[..], &[("halves", planes.arg())]].concat();
        let right = [&[("halves", planes.arg())], &sizes[..]].concat();
        let (below, right) = (kernel(&program, "halves_below", &below)?, kernel(&program, "halves_right", &right)?);
        Ok(Self { planes, below, right, rows: size.height() + 2 * BORDER })
    }
}
