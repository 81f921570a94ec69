//! The blocks of a picture, precinct by precinct.

use std::ops::Range;

use super::bands::{Bands, Norms};
use super::geometry::{BandPlace, Resolution};
use super::job::{Job, Scale};
use super::stream::header::{ComponentCode, Sizes, TileCode};
use super::stream::progression::{self, PrecinctPlace};

/// The blocks of a precinct: for each band the columns of its grid and its jobs.
pub(super) struct Precinct {
    pub(super) bands: Vec<(usize, Range<usize>)>,
}

/// All blocks of a picture.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    pub(super) places: Vec<PrecinctPlace>,
    pub(super) precincts: Vec<Precinct>,
}

/// Lengths of the rows that a colour transform back gives an error in each of the first three components.
const REVERSIBLE_COLOURS: [f64; 3] = [1.732, 0.8292, 0.8292];
const IRREVERSIBLE_COLOURS: [f64; 3] = [1.732, 1.805, 1.573];

impl Plan {
    /// Returns the blocks of components of these resolutions.
    pub(super) fn new(sizes: &Sizes, code: &TileCode, resolutions: &[Vec<Resolution>], bands: &Bands) -> Self {
        let shapes: Vec<_> =
            resolutions.iter().zip(&sizes.components).map(|(all, component)| (&all[..], component.step)).collect();
        let places = progression::precincts(code.order, &shapes, (0, 0));
        let mut plan = Self::default();
        let norms = Norms::new(bands.is_reversible);
        let colours = match (code.mixes_colours, bands.is_reversible) {
            (false, _) => [1.0; 3],
            (true, true) => REVERSIBLE_COLOURS,
            (true, false) => IRREVERSIBLE_COLOURS,
        };
        for place in &places {
            let component = place.component;
            let resolution = &resolutions[component][place.resolution];
            let (colour, pitch) = (colours.get(component).copied().unwrap_or(1.0), bands.pitch(component));
            let mut own = Vec::new();
            for band in &resolution.bands {
                let ratio = bands.ratio(component, band.band, band.level);
                let length = ratio * norms.of(band.band, band.level, bands.is_reversible) * colour;
                let step = step(&code.components[component], sizes.components[component].depth, band);
                let scale = Scale { ratio, length, step };
                let grid = resolution.grid(band, place.precinct);
                let first = plan.jobs.len();
                // A band without coefficients has no blocks. Bands lie on their side.
                let corner = bands.corner(component, band.band, band.level).unwrap_or_default();
                plan.jobs.extend(grid.blocks.iter().map(|&place| Job {
                    component,
                    band: *band,
                    place,
                    corner: (corner.0 + place.y, corner.1 + place.x),
                    pitch,
                    scale,
                }));
                own.push((grid.columns, first..plan.jobs.len()));
            }
            plan.precincts.push(Precinct { bands: own });
        }
        Self { places, ..plan }
    }
}

/// Returns the quantiser's step in a band of a component whose samples have `depth` bits.
pub(super) fn step(code: &ComponentCode, depth: u8, band: &BandPlace) -> f64 {
    let ComponentCode { quantiser, is_reversible, cuts, .. } = code;
    match (is_reversible, quantiser.step(band.index, band.band, band.level, cuts.levels)) {
        (false, Some(step)) => step.size(depth + band.band.gain()),
        _ => 1.0,
    }
}
