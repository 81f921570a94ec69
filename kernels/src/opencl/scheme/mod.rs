//! Barina's schemes: kernels generated from lifting steps, for any wavelet, element and boundary (`cl/scheme.cl`).
//!
//! A scheme is a list of [`step::Step`]s: polyphase matrices of [`laurent`] polynomials, multiplied from the published
//! ones in [`matrix`], or [`lift`]ing steps that round. [`code`] turns a step into statements, [`emit`] adds local memory
//! and barriers.

mod code;
mod emit;
mod laurent;
mod lift;
mod matrix;
mod step;

use std::fmt::Write;

use self::emit::{Function, Reach};
use self::lift::Direction;
use super::device::Device;
use super::level::{Launch, Level, LevelKernels, LevelSize};
use super::params;
use super::queue::{Program, kernel};
use crate::Error;
use crate::wavelet::{Element, Scheme, Wavelet};
use common::params::Boundary;

/// After [`params::wavelet_text`] and the tile's sizes, before the generated functions.
const KERNELS: [&str; 4] = [
    include_str!("../../../cl/common.cl"),
    include_str!("../../../cl/boundary.cl"),
    include_str!("../../../cl/integer.cl"),
    include_str!("../../../cl/scheme.cl"),
];

/// A generated scheme in tiles.
pub(super) struct Tiles {
    program: Program,
    boundary: Boundary,
    tile: [usize; 2],
    forward: Reach,
    inverse: Reach,
}

impl Tiles {
    /// Builds the kernels of `scheme`; [`Error::SchemeNotFor`] if it is not generated.
    pub(super) fn new(
        device: &Device,
        scheme: Scheme,
        wavelet: Wavelet,
        element: Element,
        boundary: Boundary,
    ) -> Result<Self, Error> {
        let lifting = wavelet.lifting();
        let function = |name, direction| {
            let steps = step::steps(scheme, &lifting, boundary, direction)?;
            Some(emit::function(name, &steps, element, boundary))
        };
        let functions =
            function("forward_steps", Direction::Forward).zip(function("inverse_steps", Direction::Inverse));
        let Some((forward, inverse)) = functions else {
            let (filter, instead) = (wavelet.to_string(), Scheme::Separable);
            return Err(Error::SchemeNotFor { scheme, filter, element, instead });
        };
        let tile = device.tuning.tile;
        let mut text = params::wavelet_text(&lifting, element, boundary, device.tuning.group_size);
        text += &tile_text(tile, &forward, &inverse);
        let functions = [forward.text.as_str(), inverse.text.as_str()];
        let program = device.build(&[&[text.as_str()], &KERNELS[..], &functions].concat(), "")?;
        Ok(Self { program, boundary, tile, forward: forward.reach, inverse: inverse.reach })
    }

    /// Groups that write `w` x `h` quadruples.
    fn groups(&self, reach: Reach, w: usize, h: usize) -> [usize; 2] {
        let [tile_w, tile_h] = self.tile;
        [w.div_ceil(tile_w - reach.left - reach.right), h.div_ceil(tile_h - reach.up - reach.down)]
    }
}

/// The sizes that `cl/scheme.cl` asks for.
fn tile_text([tile_w, tile_h]: [usize; 2], forward: &Function, inverse: &Function) -> String {
    let mut text = String::new();
    let mut define = |name: &str, value: usize| {
        let _ = writeln!(text, "#define {name} {value}");
    };
    define("TILE_W", tile_w);
    define("TILE_H", tile_h);
    let furthest = forward.step_reach.max(inverse.step_reach);
    define("MARGIN", furthest.up.max(furthest.down) * tile_w + furthest.left.max(furthest.right));
    for (direction, function) in [("FORWARD", forward), ("INVERSE", inverse)] {
        define(&format!("{direction}_SLOTS"), function.slots);
        define(&format!("{direction}_LEFT"), function.reach.left);
        define(&format!("{direction}_RIGHT"), function.reach.right);
        define(&format!("{direction}_UP"), function.reach.up);
        define(&format!("{direction}_DOWN"), function.reach.down);
    }
    text
}

impl<T> LevelKernels<T> for Tiles {
    fn takes(&self, size: &LevelSize) -> bool {
        size.w > 1 && size.h > 1 && !size.is_odd_ring(self.boundary)
    }

    fn forward(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let kernel = kernel(
            &self.program,
            "scheme_forward",
            &[
                level.fine.buffer.arg(),
                level.fine.pitch.into(),
                size.in_w.into(),
                size.in_h.into(),
                size.w.into(),
                size.h.into(),
                level.coarse.buffer.arg(),
                level.coarse.pitch.into(),
                size.low_w.into(),
                size.low_h.into(),
                level.bands.buffer.arg(),
                level.bands.pitch.into(),
                size.half_side.into(),
                size.high_w.into(),
                size.high_h.into(),
            ],
        )?;
        let groups = self.groups(self.forward, size.low_w, size.low_h);
        Ok(vec![Launch::new(kernel, groups, self.tile)])
    }

    fn inverse(&self, level: &Level<'_, T>) -> Result<Vec<Launch>, Error> {
        let size = &level.size;
        let kernel = kernel(
            &self.program,
            "scheme_inverse",
            &[
                level.coarse.buffer.arg(),
                level.coarse.pitch.into(),
                size.low_w.into(),
                size.low_h.into(),
                level.bands.buffer.arg(),
                level.bands.pitch.into(),
                size.half_side.into(),
                size.w.into(),
                size.h.into(),
                level.fine.buffer.arg(),
                level.fine.pitch.into(),
                size.in_w.into(),
                size.in_h.into(),
            ],
        )?;
        let groups = self.groups(self.inverse, size.in_w.div_ceil(2), size.in_h.div_ceil(2));
        Ok(vec![Launch::new(kernel, groups, self.tile)])
    }
}
