//! Headers of the kernels for prediction: their constants and tables, and the motion of a frame as they read it.

use device::header::layout;
use device::kernel::Program;
use device::queue::{Buffer, Event, Queue};
use device::settings::Tuning;
use device::staged::Staged;
use device::timeline::{DeviceStage, Recorder};
use device::{Device, Result};
use picture::frame::{Channel, FrameSize};
use picture::params::Boundary;

use crate::motion::ACTIVITY_SIDE;
use crate::motion::contexts::{CONTEXTS, EXPONENTS, FLAT, QUARTER, SAME, SPLIT, ZERO};
use crate::motion::dering::{GAINS_STEP, STRENGTHS, SUM_BITS, TAPS};
use crate::motion::field::{BLOCK_CELLS, CELL_WEIGHT, Field, HALF_TAPS, Motion, UNIT, UNIT_CELLS, Unit, VECTOR_MAX};
use crate::motion::overlap::{WEIGHT, rising, rising_cell};
use crate::motion::search;
use crate::opencl::transform::params;

/// Samples around the planes of whole and half samples: the taps of a half one that far outside lie all beyond the end.
pub(crate) const BORDER: usize = HALF_TAPS.len();
/// Times that a group of work-items for a part of one colour is as large as others of the search.
pub(crate) const WIDE: usize = 4;
/// Cells of a unit.
const CELLS: usize = UNIT_CELLS * UNIT_CELLS;

const HALVES: [&str; 2] =
    [include_str!("../../../cl/shared/common.cl"), include_str!("../../../cl/motion/compensate_halves.cl")];
const COMPENSATE: [&str; 3] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/motion/compensate_quarters.cl"),
    include_str!("../../../cl/motion/compensate.cl"),
];
const SEARCH: [&str; 6] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/motion/compensate_quarters.cl"),
    include_str!("../../../cl/motion/search.cl"),
    include_str!("../../../cl/motion/search_alone.cl"),
    include_str!("../../../cl/motion/search_overlap.cl"),
];
const DERING: [&str; 2] = [include_str!("../../../cl/shared/common.cl"), include_str!("../../../cl/motion/dering.cl")];
const RESIDUAL: [&str; 3] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/motion/compensate_residual.cl"),
];

layout! {
    /// The motion of a cell.
    Cell {
        /// Quarters of a sample to the right, in the lower half, and below, in the upper one; or the flat samples of the channels,
        /// a byte each from the lowest on.
        uint motion;
        /// 1 if it is flat.
        uint is_flat;
    }
}

impl From<Cell> for Motion {
    fn from(cell: Cell) -> Self {
        let [x, y] = [cell.motion as u16, (cell.motion >> 16) as u16].map(u16::cast_signed);
        let [luma, cb, cr, _] = cell.motion.to_le_bytes();
        if cell.is_flat > 0 { Self::Flat([luma, cb, cr]) } else { Self::Vector { x, y } }
    }
}

impl From<Motion> for Cell {
    fn from(motion: Motion) -> Self {
        match motion {
            Motion::Vector { x, y } => {
                Self { motion: u32::from(x.cast_unsigned()) | u32::from(y.cast_unsigned()) << 16, is_flat: 0 }
            }
            Motion::Flat([y, cb, cr]) => Self { motion: u32::from_le_bytes([y, cb, cr, 0]), is_flat: 1 },
        }
    }
}

/// Returns the number of cells of a picture with these columns and rows of units.
pub(crate) fn cell_count([columns, rows]: [usize; 2]) -> usize {
    CELLS * columns * rows
}

/// Writes the cells of all units that lie in the picture, unit by unit: those of one that is not quartered are all the same.
pub(crate) fn write_cells(field: &Field, cells: &mut [Cell]) {
    let [columns, _] = field.units();
    for (at, unit) in cells.as_chunks_mut::<CELLS>().0.iter_mut().enumerate() {
        *unit = match field.unit(at % columns, at / columns) {
            Unit::One(motion) => [motion.into(); CELLS],
            Unit::Four(motions) => motions.map(Cell::from),
        };
    }
}

/// The cells of frames on the device.
pub(crate) struct FieldCells(Staged<Cell>);

impl FieldCells {
    /// Makes room for those of pictures of `size`.
    pub(crate) fn new(queue: &Queue, size: FrameSize) -> Result<Self> {
        Staged::new(queue, cell_count(Field::new(size).units())).map(Self)
    }

    /// Returns their memory.
    pub(crate) fn device(&self) -> &Buffer<Cell> {
        &self.0.device
    }

    /// Starts to bring those of `field` to the device on luma's queue; notes the command and returns its event.
    pub(crate) fn upload(&mut self, queue: &Queue, field: &Field, recorder: &mut Recorder) -> Result<Event> {
        let Staged { device, host } = &mut self.0;
        write_cells(field, host.values_mut());
        let event = queue.upload(host, device, device.len())?;
        queue.flush()?;
        recorder.note(Channel::Y, DeviceStage::Upload, event.clone());
        Ok(event)
    }
}

/// Returns the declaration of a table of these numbers.
fn table(name: &str, kind: &str, values: impl IntoIterator<Item = i32>) -> String {
    let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    format!("__constant {kind} {name}[{}] = {{{}}};", values.len(), values.join(", "))
}

/// Returns the kernels for samples at halves, built on first use.
pub(crate) fn halves_program(device: &Device) -> Result<Program> {
    // The boundary means nothing to these kernels and to those below.
    let header = params::header(&device.tuning, Boundary::Symmetric).define("BORDER", BORDER);
    device.build(&header.line(&table("HALF_TAPS", "int", HALF_TAPS)), &HALVES)
}

/// Returns the kernel for predictions in a plane whose units have `side` samples, likewise; `eighths` of a sample are a
/// quarter of one of luma, none in luma itself. With `adds` it adds what was coded besides.
pub(crate) fn compensate_program(device: &Device, side: usize, eighths: usize, adds: bool) -> Result<Program> {
    let header = params::header(&device.tuning, Boundary::Symmetric)
        .define("ADDS", u8::from(adds))
        .define("BORDER", BORDER)
        .define("UNIT_SIDE", side)
        .define("EIGHTHS", eighths)
        .define("CELLS", CELLS)
        .define("WEIGHT", WEIGHT)
        .define("CELL_WEIGHT", CELL_WEIGHT)
        .line(&table("RISING", "uint", (0..side).map(|at| rising(at, side).into())))
        .line(&table("RISING_CELL", "uint", (0..side / 2).map(|at| rising_cell(at, side).into())))
        .layout::<Cell>();
    device.build(&header, &COMPENSATE)
}

/// Returns the kernels of the search for vectors, likewise.
pub(crate) fn search_program(device: &Device) -> Result<Program> {
    let tuning = Tuning { group_size: device.tuning.search_group_size, ..device.tuning.clone() };
    let header = params::header(&tuning, Boundary::Symmetric)
        .define("WIDE_LSIZE", WIDE * tuning.group_size)
        .define("BORDER", BORDER)
        .define("UNIT_SIDE", UNIT)
        .define("UNIT_LOG", UNIT.ilog2())
        .define("UNIT_CELLS", UNIT_CELLS)
        .define("BLOCK_CELLS", BLOCK_CELLS)
        .define("WEIGHT", WEIGHT)
        .define("CELL_WEIGHT", CELL_WEIGHT)
        .define("VECTOR_MAX", VECTOR_MAX)
        .define("CONTEXTS", CONTEXTS)
        .define("EXPONENTS", EXPONENTS)
        .define("SPLIT", SPLIT)
        .define("QUARTER", QUARTER)
        .define("FLAT", FLAT)
        .define("SAME", SAME)
        .define("COMPONENT_ZERO", ZERO)
        .define("PARTS", search::PARTS)
        .define("STEPS", search::STEPS)
        .define("QUIET_BITS", search::QUIET_BITS)
        .define("QUARTER_BITS", search::QUARTER_BITS)
        .define("STRIDE", search::STRIDE)
        .define("NEIGHBOUR_STRIDE", search::NEIGHBOUR_STRIDE)
        .define("CELL_STRIDE", search::CELL_STRIDE)
        .define("COARSE", search::COARSE)
        .define("COARSE_SIDE", search::COARSE_SIDE)
        .define("COARSE_RANGE", search::COARSE_RANGE)
        .line(&table("RISING", "uint", (0..UNIT).map(|at| rising(at, UNIT).into())))
        .line(&table("RISING_CELL", "uint", (0..UNIT / 2).map(|at| rising_cell(at, UNIT).into())))
        .layout::<Cell>();
    device.build(&header, &SEARCH)
}

/// Returns the kernels for what a prediction leaves, likewise.
pub(crate) fn residual_program(device: &Device) -> Result<Program> {
    device.build(&params::header(&device.tuning, Boundary::Symmetric).define("ACTIVITY_SIDE", ACTIVITY_SIDE), &RESIDUAL)
}

/// Returns the kernels of the filter in the loop, likewise.
pub(crate) fn dering_program(device: &Device) -> Result<Program> {
    let taps = TAPS.into_iter().flat_map(|([right, below], weight)| [right, below, weight.into()]);
    let header = params::header(&device.tuning, Boundary::Symmetric)
        .define("TAP_COUNT", TAPS.len())
        .define("STRENGTH_COUNT", STRENGTHS.len())
        .define("SUM_BITS", SUM_BITS)
        .define("GAINS_STEP", GAINS_STEP)
        .line(&table("TAPS", "int", taps))
        .line(&table("STRENGTHS", "int", STRENGTHS.map(i32::from)));
    device.build(&header, &DERING)
}

/// Returns how many eighths of a sample are a quarter of one of luma, in chroma whose units have `side` samples.
pub(crate) fn eighths(channel: usize, side: usize) -> usize {
    match (channel, side) {
        (0, _) => 0,
        (_, UNIT) => 2,
        _ => 1,
    }
}
