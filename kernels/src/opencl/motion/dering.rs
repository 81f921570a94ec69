//! The filter in the loop of one channel on the device (`cl/motion/dering.cl`).

use device::Result;
use device::kernel::{Kernel, kernel};
use device::queue::{Buffer, Event, Queue};
use device::staged::Staged;
use picture::frame::{Chroma, FrameSize};
use picture::vectors::{VECTOR_BLOCK, VectorLayout};

use super::params::dering_program;
use crate::motion::dering::{Dering, Gains, STRENGTHS};
use crate::motion::field::UNIT;
use crate::motion::predictor::plane_size;

/// Kernel that filters one channel, with the strengths of a frame.
pub(crate) struct ChannelDering {
    kernel: Kernel,
    strengths: Staged<u8>,
    squares: Squares,
}

/// Kernel that says what filtering luma gains.
pub(crate) struct ChannelGains {
    kernel: Kernel,
    gains: Staged<i32>,
    squares: Squares,
}

/// The squares of a plane.
struct Squares {
    size: FrameSize,
    side: usize,
    columns: usize,
    rows: usize,
}

impl Squares {
    fn of((chroma, size, channel): (Chroma, FrameSize, usize)) -> Self {
        let layout = VectorLayout::new(size);
        let (size, unit) = plane_size(chroma, size, channel);
        Self { size, side: VECTOR_BLOCK * unit / UNIT, columns: layout.columns(), rows: layout.rows() }
    }

    fn launch(&self, queue: &Queue, kernel: &Kernel) -> Result<Option<Event>> {
        queue.launch_marked(kernel, [self.columns, self.rows], [queue.device().tuning.group_size, 1])
    }
}

impl ChannelDering {
    /// Creates the kernel for a channel of pictures of a size; `state` is any plane: those meant are set for each frame.
    pub(crate) fn new(queue: &Queue, plane: (Chroma, FrameSize, usize), state: &Buffer<u8>) -> Result<Self> {
        let squares = Squares::of(plane);
        let strengths = Staged::new(queue, squares.columns * squares.rows)?;
        let args = [
            ("from", state.arg()),
            ("to", state.arg()),
            ("width", squares.size.width().into()),
            ("height", squares.size.height().into()),
            ("strengths", strengths.device.arg()),
            ("columns", squares.columns.into()),
            ("side", squares.side.into()),
        ];
        let kernel = kernel(&*dering_program(queue.device())?, "dering", &args)?;
        Ok(Self { kernel, strengths, squares })
    }

    /// Starts to make the plane `to` of `from`, another one; returns the kernel's event, if the queue notes it.
    pub(crate) fn run(
        &mut self,
        queue: &Queue,
        dering: &Dering,
        from: &Buffer<u8>,
        to: &Buffer<u8>,
    ) -> Result<Option<Event>> {
        self.strengths.upload(queue, dering.strengths())?;
        self.kernel.set("from", from.arg())?;
        self.kernel.set("to", to.arg())?;
        self.squares.launch(queue, &self.kernel)
    }
}

impl ChannelGains {
    /// Creates the kernel for luma of pictures of a size; `source` is what the plane should be, `state` any plane.
    pub(crate) fn new(queue: &Queue, size: FrameSize, source: &Buffer<u8>, state: &Buffer<u8>) -> Result<Self> {
        let squares = Squares::of((Chroma::Grey, size, 0));
        let gains = Staged::new(queue, STRENGTHS.len() * squares.columns * squares.rows)?;
        let args = [
            ("from", state.arg()),
            ("source", source.arg()),
            ("width", squares.size.width().into()),
            ("height", squares.size.height().into()),
            ("gains", gains.device.arg()),
            ("columns", squares.columns.into()),
            ("side", squares.side.into()),
        ];
        let kernel = kernel(&*dering_program(queue.device())?, "dering_gains", &args)?;
        Ok(Self { kernel, gains, squares })
    }

    /// Starts to compare a plane that is not filtered with its source.
    pub(crate) fn run(&mut self, queue: &Queue, from: &Buffer<u8>) -> Result<Option<Event>> {
        self.kernel.set("from", from.arg())?;
        self.squares.launch(queue, &self.kernel)
    }

    /// Starts to bring the gains to the host.
    pub(crate) fn fetch(&mut self, queue: &Queue) -> Result<Event> {
        let count = self.gains.device.len();
        self.gains.download(queue, count)
    }

    /// Returns the gains of each square, row by row, once they are there.
    pub(crate) fn there(&self) -> Vec<Gains> {
        self.gains.host.values().as_chunks().0.to_vec()
    }
}
