//! Barina's schemes: kernels generated from lifting steps, for any wavelet, element and boundary
//! (`cl/scheme.cl`).
//!
//! A scheme is a list of [`step::Step`]s: polyphase matrices of [`laurent`] polynomials, multiplied from the published
//! ones in [`matrix`], or [`lift`]ing steps that round. [`code`] turns a step into statements, [`emit`] adds local
//! memory and barriers.

mod code;
mod emit;
mod laurent;
mod lift;
mod matrix;
mod step;

use device::header::Header;
use device::kernel::{NamedArg, Program, kernel};
use device::{Device, Result};
use kernels::Element;
use kernels::parts::Lifting;
use kernels::parts::opencl as params;
use kernels::parts::opencl::{Launch, Level, LevelKernels, LevelSize, RowsLaunch, Samples};
use picture::params::Boundary;

use self::emit::{Function, Margin};
use crate::OpenError;
use crate::opencl::address::Direction;
use crate::scheme::Scheme;

/// Texts of the kernels, before the generated functions.
const KERNELS: [&str; 6] = [
    include_str!("../../../../cl/shared/common.cl"),
    include_str!("../../../../cl/shared/boundary.cl"),
    include_str!("../../../../cl/shared/integer.cl"),
    include_str!("../../../../cl/transform/colour.cl"),
    include_str!("../../../../cl/shared/source.cl"),
    include_str!("../../../cl/scheme.cl"),
];

/// A generated scheme in tiles.
pub(crate) struct Tiles {
    header: Header,
    /// The generated functions.
    functions: String,
    program: Program,
    boundary: Boundary,
    tile: [usize; 2],
    forward: Margin,
    inverse: Margin,
}

impl Tiles {
    /// Builds the kernels of `scheme`; [`OpenError::SchemeNotFor`] if it is not generated.
    pub(crate) fn new(
        device: &Device,
        scheme: Scheme,
        lifting: &Lifting,
        element: Element,
        boundary: Boundary,
    ) -> Result<Self, OpenError> {
        let function = |name, direction| {
            let steps = step::steps(scheme, lifting, boundary, direction)?;
            Some(emit::function(name, &steps, element, boundary))
        };
        let functions =
            function("forward_steps", Direction::Forward).zip(function("inverse_steps", Direction::Inverse));
        let Some((forward, inverse)) = functions else {
            let (filter, instead) = (lifting.to_string(), Scheme::Separable);
            return Err(OpenError::SchemeNotFor { scheme, filter, element, instead });
        };
        let tile = fitting(device, element, &forward, &inverse);
        let header = params::wavelet_header(lifting, element, boundary, device.tuning.group_size);
        let header = header.and(&tile_header(tile, &forward, &inverse)).define("T", "real");
        let functions = forward.text + &inverse.text;
        let program = build(device, &header, &params::planes(), &functions)?;
        Ok(Self { header, functions, program, boundary, tile, forward: forward.reach, inverse: inverse.reach })
    }

    /// Groups that write `w` x `h` quadruples.
    fn groups(&self, reach: Margin, w: usize, h: usize) -> [usize; 2] {
        let [tile_w, tile_h] = self.tile;
        [w.div_ceil(tile_w - reach.left - reach.right), h.div_ceil(tile_h - reach.up - reach.down)]
    }

    fn split(&self, program: &Program, args: &[NamedArg<'_>], size: &LevelSize) -> Result<RowsLaunch> {
        let groups = self.groups(self.forward, size.low_w, size.low_h);
        let launch = Launch::new(kernel(program, "scheme_forward", args)?, groups, self.tile);
        let rows = self.tile[1] - self.forward.up - self.forward.down;
        Ok(RowsLaunch { launch, rows: 2 * rows, reach: 2 * self.forward.down })
    }

    fn merge<T>(&self, program: &Program, level: &Level<'_, T>, to: &[NamedArg<'_>]) -> Result<Launch> {
        let size = &level.size;
        let (extent, out) =
            ([("w", size.w.into()), ("h", size.h.into())], [("out_w", size.in_w.into()), ("out_h", size.in_h.into())]);
        let args = [&level.coefficient_args()[..], &extent, to, &out].concat();
        let groups = self.groups(self.inverse, size.in_w.div_ceil(2), size.in_h.div_ceil(2));
        Ok(Launch::new(kernel(program, "scheme_inverse", &args)?, groups, self.tile))
    }
}

/// Builds it for these samples of `cl/shared/source.cl`.
fn build(device: &Device, header: &Header, samples: &Header, functions: &str) -> Result<Program> {
    device.build(&header.clone().and(samples), &[&KERNELS[..], &[functions]].concat())
}

/// Returns the device's tile, halved in height until its work-items and its local memory are there.
fn fitting(device: &Device, element: Element, forward: &Function, inverse: &Function) -> [usize; 2] {
    let (items, bytes) = (device.max_group_size, device.local_memory_bytes());
    let slots = forward.slots.max(inverse.slots);
    let reach = forward.reach.max(inverse.reach);
    let [tile_w, mut tile_h] = device.tuning.tile;
    let fits = |tile_h: usize| {
        let cells = slots * (tile_w * tile_h + 2 * margin(tile_w, forward, inverse));
        tile_w * tile_h <= items && cells * element.bytes() <= bytes
    };
    while !fits(tile_h) && tile_h / 2 > reach.up + reach.down {
        tile_h /= 2;
    }
    [tile_w, tile_h]
}

/// Cells before and after a slot, into which reads beyond the tile fall.
fn margin(tile_w: usize, forward: &Function, inverse: &Function) -> usize {
    let furthest = forward.step_reach.max(inverse.step_reach);
    furthest.up.max(furthest.down) * tile_w + furthest.left.max(furthest.right)
}

/// Returns the sizes that `cl/scheme.cl` asks for.
fn tile_header([tile_w, tile_h]: [usize; 2], forward: &Function, inverse: &Function) -> Header {
    let header = Header::default().define("TILE_W", tile_w).define("TILE_H", tile_h);
    let header = header.define("MARGIN", margin(tile_w, forward, inverse));
    [("FORWARD", forward), ("INVERSE", inverse)].into_iter().fold(header, |header, (direction, function)| {
        header
            .define(&format!("{direction}_SLOTS"), function.slots)
            .define(&format!("{direction}_LEFT"), function.reach.left)
            .define(&format!("{direction}_RIGHT"), function.reach.right)
            .define(&format!("{direction}_UP"), function.reach.up)
            .define(&format!("{direction}_DOWN"), function.reach.down)
    })
}

impl<T> LevelKernels<T> for Tiles {
    fn takes(&self, size: &LevelSize) -> bool {
        size.w > 1 && size.h > 1 && !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        Ok(vec![self.split(&self.program, &level.forward_args(), &level.size)?.launch])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>> {
        let to = [("out", level.fine.buffer.arg()), ("out_pitch", level.fine.pitch.into())];
        Ok(vec![self.merge(&self.program, level, &to)?])
    }

    fn forward_from(&self, device: &Device, level: &Level<'_, T>, from: &Samples<'_>) -> Result<Option<RowsLaunch>> {
        let program = build(device, &self.header, &from.header, &self.functions)?;
        self.split(&program, &level.forward_args_from(&from.args), &level.size).map(Some)
    }

    fn inverse_to(&self, device: &Device, level: &Level<'_, T>, to: &Samples<'_>) -> Result<Option<Launch>> {
        let program = build(device, &self.header, &to.header, &self.functions)?;
        self.merge(&program, level, &to.args).map(Some)
    }
}
