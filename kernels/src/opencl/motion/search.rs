//! The search for vectors on the device (`cl/motion/search.cl`): its own for units alone, and for what comes of their overlap the
//! processor's, to the bit.

use device::Result;
use device::kernel::{Arg, Kernel, NamedArg, kernel};
use device::queue::{Buffer, Event, Mem, Queue, wait};
use device::staged::Staged;
use picture::frame::{Chroma, FrameSize};

use super::params::{Cell, WIDE, search_program};
use crate::motion::contexts::{CONTEXTS, EXPONENTS};
use crate::motion::field::{BLOCK_CELLS, Field, Motion, UNIT};
use crate::motion::overlap::one;
use crate::motion::predictor::plane_size;
use crate::motion::search::{COARSE, Wanted};
use crate::opencl::transform::channel::ChannelPipeline;

/// Costs that there are.
const COSTS: usize = 2 * CONTEXTS + 2 * EXPONENTS;

/// Kernels and memory of the search in pictures of one size.
pub(super) struct DeviceSearch {
    size: FrameSize,
    /// Units in the picture, and blocks.
    units: [usize; 2],
    blocks: [usize; 2],
    /// Vectors of the last frame's units.
    last: Staged<u32>,
    /// Those found, one after the other.
    found: [Buffer<u32>; 3],
    costs: Staged<u32>,
    cells: Staged<Cell>,
    marks: Staged<u8>,
    bytes: Kernel,
    /// Of the picture and of the reference.
    means: [Kernel; 2],
    coarse: Kernel,
    first: Kernel,
    again: Kernel,
    field: Kernel,
    sums: Kernel,
    join: Kernel,
    overlapped: Kernel,
    quarter: Kernel,
    /// Of each channel.
    flats: Vec<Kernel>,
    /// Memory that only kernels use: they do not keep it themselves.
    _between: [Mem; 5],
}

impl DeviceSearch {
    /// Makes one for pictures whose samples are those of `pipelines`. `source` is room for their luma's bytes, `halves` the planes of
    /// the reference at halves; `state` is any plane.
    pub(super) fn new(
        pipelines: &[ChannelPipeline],
        (chroma, size): (Chroma, FrameSize),
        [source, halves, state]: [&Buffer<u8>; 3],
    ) -> Result<Self> {
        let queue = &pipelines[0].queue;
        let program = search_program(queue.device())?;
        let field = Field::new(size);
        let (units, layout) = (field.units(), *field.layout());
        let (blocks, count) = ([layout.columns(), layout.rows()], units[0] * units[1]);
        let squares = size.width().div_ceil(COARSE) * size.height().div_ceil(COARSE);
        let own_means: Buffer<u8> = queue.buffer(squares)?;
        let means: Buffer<u8> = queue.buffer(squares)?;
        let (coarse, flats): (Buffer<u32>, Buffer<u8>) = (queue.buffer(count)?, queue.buffer(3 * count)?);
        let found = [queue.buffer(count)?, queue.buffer(count)?, queue.buffer(count)?];
        let [width, height] = blocks.map(|blocks| UNIT * (2 * blocks + 1));
        let sums: Buffer<u16> = queue.buffer(width * height)?;
        // Lambda, in two words, behind the costs.
        let costs: Staged<u32> = Staged::new(queue, COSTS + 2)?;
        let cells: Staged<Cell> = Staged::new(queue, BLOCK_CELLS * BLOCK_CELLS * blocks[0] * blocks[1])?;
        let marks: Staged<u8> = Staged::new(queue, 5 * blocks[0] * blocks[1])?;
        let last: Staged<u32> = Staged::new(queue, count)?;

        let sizes: [NamedArg<'_>; 2] = [("width", size.width().into()), ("height", size.height().into())];
        let slice_rows = [("slice_rows", layout.rows_of(0).len().into())];
        let pictures = [("halves", halves.arg()), ("source", source.arg())];
        let parts = [("cells", cells.device.arg()), ("marks", marks.device.arg())];
        let costs_of = [("costs", costs.device.arg())];
        let colour = [("colour", Arg::Int(0))];
        let sums_of = [("sums", sums.arg())];
        let make = |name: &str, args: &[&[NamedArg<'_>]]| kernel(&program, name, &args.concat());

        let plane = |pipeline: &ChannelPipeline| {
            let (plane, pitch) = pipeline.transform.samples();
            (plane.handle(), pitch)
        };
        let (luma, pitch) = plane(&pipelines[0]);
        let of_luma = [("plane", Arg::Memory(&luma)), ("pitch", pitch.into())];
        let bytes = make("search_bytes", &[&of_luma, &sizes[..1], &[("source", source.arg())]])?;
        let means_of = |from: &Buffer<u8>, to: &Buffer<u8>| {
            make("search_means", &[&[("source", from.arg())], &sizes, &[("means", to.arg())]])
        };
        let flat = |(channel, pipeline): (usize, &ChannelPipeline)| {
            let ((plane, pitch), (size, side)) = (plane(pipeline), plane_size(chroma, size, channel));
            let of_plane = [("plane", Arg::Memory(&plane)), ("pitch", pitch.into())];
            let sizes = [("width", size.width().into()), ("height", size.height().into()), ("side", side.into())];
            make("search_flat", &[&of_plane, &sizes, &[("flats", flats.arg()), ("channel", channel.into())]])
        };
        let of_vectors = [("vectors", last.device.arg())];
        let last_of = [of_vectors[0], ("has_last", Arg::Int(0)), ("coarse", coarse.arg()), ("has_coarse", Arg::Int(0))];
        let found_of = [("found", found[0].arg())];
        let earlier_of = [("earlier", found[0].arg()), ("has_earlier", Arg::Int(0))];
        let common: [&[NamedArg<'_>]; 6] = [&pictures, &sizes, &parts, &slice_rows, &costs_of, &sums_of];
        let more = [("flats", flats.arg()), ("channels", pipelines.len().into())];
        let coarse_of = [("means", own_means.arg()), ("reference", means.arg())];
        Ok(Self {
            bytes,
            means: [means_of(source, &own_means)?, means_of(state, &means)?],
            coarse: make("search_coarse", &[&coarse_of, &sizes, &[("coarse", coarse.arg())]])?,
            first: make("search_first", &[&pictures, &sizes, &costs_of, &last_of, &found_of])?,
            again: make(
                "search_again",
                &[&pictures, &sizes, &slice_rows, &costs_of, &of_vectors, &earlier_of, &found_of],
            )?,
            field: make("search_field", &[&of_vectors, &sizes, &parts])?,
            sums: make("search_sums", &[&pictures[..1], &sizes, &parts, &slice_rows, &sums_of])?,
            join: make("search_join", &[&common[..], &[&colour]].concat())?,
            overlapped: make("search_overlapped", &[&common[..], &[&more, &colour]].concat())?,
            quarter: make("search_quarter", &[&common[..], &[&colour]].concat())?,
            _between: [own_means.handle(), means.handle(), coarse.handle(), flats.handle(), sums.handle()],
            flats: pipelines.iter().enumerate().map(flat).collect::<Result<_>>()?,
            size,
            units,
            blocks,
            last,
            found,
            costs,
            cells,
            marks,
        })
    }

    /// Looks for vectors of the picture that `pipelines` have in `state`, to which the planes at halves belong.
    pub(super) fn run(
        &mut self,
        pipelines: &[ChannelPipeline],
        wanted: &Wanted<'_>,
        state: &Buffer<u8>,
    ) -> Result<Field> {
        let queue = &pipelines[0].queue;
        self.alone(queue, wanted, state)?;
        if wanted.rounds > 0 {
            let flats: Vec<_> = pipelines
                .iter()
                .enumerate()
                .map(|(channel, pipeline)| self.flat(channel, pipeline))
                .collect::<Result<_>>()?;
            queue.wait_for(&flats)?;
        }
        self.refine(queue, wanted.rounds)?;
        self.fetch(queue)
    }

    fn launch(&self, queue: &Queue, kernel: &Kernel, groups: [usize; 2]) -> Result<()> {
        self.launch_wide(queue, kernel, groups, 1)
    }

    /// Launches groups that are `wide` times as large as others.
    fn launch_wide(&self, queue: &Queue, kernel: &Kernel, groups: [usize; 2], wide: usize) -> Result<()> {
        if groups.contains(&0) {
            return Ok(());
        }
        queue.launch_marked(kernel, groups, [wide * queue.device().tuning.search_group_size, 1]).map(|_| ())
    }

    /// Launches a kernel for the parts of each colour, which a picture has so many of across and down.
    fn launch_colours(&self, queue: &Queue, kernel: &Kernel, parts: [usize; 2]) -> Result<()> {
        for colour in 0..4 {
            kernel.set("colour", colour.into())?;
            let first = [colour % 2, colour / 2];
            let groups = [0, 1].map(|axis| parts[axis].saturating_sub(first[axis]).div_ceil(2));
            self.launch_wide(queue, kernel, groups, WIDE)?;
        }
        Ok(())
    }

    /// Finds a vector of each unit alone.
    fn alone(&mut self, queue: &Queue, wanted: &Wanted<'_>, state: &Buffer<u8>) -> Result<()> {
        let costs = [&wanted.costs[..], &[wanted.lambda as u32, (wanted.lambda >> 32) as u32]].concat();
        self.costs.upload(queue, &costs)?;
        if let Some(last) = wanted.last {
            let [columns, _] = self.units;
            for (at, to) in self.last.host.values_mut().iter_mut().enumerate() {
                let [x, y] = one(last.unit(at % columns, at / columns)).components();
                *to = Cell::from(Motion::vector(x, y)).motion;
            }
            queue.upload(&self.last.host, &self.last.device, self.last.device.len())?;
        }
        self.launch(queue, &self.bytes, [1, self.size.height()])?;
        if wanted.looks_everywhere {
            self.means[1].set("source", state.arg())?;
            for means in &self.means {
                self.launch(queue, means, self.units)?;
            }
            self.launch(queue, &self.coarse, self.units)?;
        }
        self.first.set("has_coarse", usize::from(wanted.looks_everywhere).into())?;
        self.first.set("has_last", usize::from(wanted.last.is_some()).into())?;
        self.launch(queue, &self.first, self.units)?;
        for pass in 0..wanted.passes {
            self.again.set("has_earlier", usize::from(pass > 0).into())?;
            // Each in turn is read, was read before, and is written.
            for (name, at) in [("earlier", pass + 2), ("vectors", pass), ("found", pass + 1)] {
                self.again.set(name, self.found[at % 3].arg())?;
            }
            self.launch(queue, &self.again, self.units)?;
        }
        self.field.set("vectors", self.found[wanted.passes % 3].arg())?;
        self.launch(queue, &self.field, self.blocks.map(|blocks| 2 * blocks))
    }

    /// Computes the mean samples of a channel's units; returns an event after that.
    fn flat(&self, channel: usize, pipeline: &ChannelPipeline) -> Result<Event> {
        self.launch(&pipeline.queue, &self.flats[channel], self.units)?;
        let there = pipeline.queue.marker()?;
        pipeline.queue.flush()?;
        Ok(there)
    }

    /// Joins, moves and quarters units.
    fn refine(&self, queue: &Queue, rounds: usize) -> Result<()> {
        self.launch(queue, &self.sums, self.blocks.map(|blocks| 2 * blocks + 1))?;
        self.launch_colours(queue, &self.join, self.blocks)?;
        for _ in 0..rounds {
            self.launch_colours(queue, &self.overlapped, self.units)?;
        }
        if rounds > 0 {
            self.launch_colours(queue, &self.quarter, self.units)?;
        }
        Ok(())
    }

    /// Brings what was found to the host.
    fn fetch(&mut self, queue: &Queue) -> Result<Field> {
        let (cells, marks) = (self.cells.device.len(), self.marks.device.len());
        let there = [self.cells.download(queue, cells)?, self.marks.download(queue, marks)?];
        queue.flush()?;
        wait(&there)?;
        let marks: Vec<bool> = self.marks.host.values().iter().map(|&mark| mark > 0).collect();
        let (whole, quartered) = marks.split_at(self.blocks[0] * self.blocks[1]);
        let cells = self.cells.host.values().iter().map(|&cell| cell.into()).collect();
        Ok(Field::of(self.size, [whole.to_vec(), quartered.to_vec()], cells))
    }
}
