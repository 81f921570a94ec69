//! A tile of a code-stream: its packets, and its blocks back to samples.

use std::ops::Range;

use kernels::parts::Values;
use rayon::prelude::*;

use super::block::ht;
use super::block::tier1::{self, Style};
use super::error::{Jpeg2000Error, damaged, not_read};
use super::geometry::{Area, BandPlace, BlockPlace, Resolution, resolutions};
use super::image::ImageComponent;
use super::planes;
use super::stream::header::{Sizes, Tile, TileCode};
use super::stream::packet::{self, Broken, ReadBand, ReadBlock};
use super::stream::progression::{self, PrecinctPlace};
use super::transforms::Transforms;

/// Precincts and code-blocks of a tile: each takes some 1.4 kB and 140 bytes.
const PRECINCTS_MAX: u64 = 1 << 17;
const BLOCKS_MAX: u64 = 1 << 21;
/// Code-blocks of all tiles in all of their layers: a packet of one byte can ask each of them.
const VISITS_MAX: u64 = 1 << 26;
/// Bit planes that a coefficient can have here.
const PLANES_MAX: u8 = 30;

/// A tile whose packets are read, as far as they are there.
pub(super) struct ReadTile<'a> {
    sizes: &'a Sizes,
    code: &'a TileCode,
    area: Area,
    shapes: Vec<Vec<Resolution>>,
    places: Vec<PrecinctPlace>,
    bands: Vec<Vec<ReadBand>>,
    /// Packets that there must be, and those that are whole.
    pub(super) packets: u64,
    pub(super) whole_packets: u64,
    /// A packet says what no encoder says.
    pub(super) is_damaged: bool,
}

/// Samples of a tile's components, and blocks that could not be read.
pub(super) struct DecodedTile {
    pub(super) components: Vec<Vec<i32>>,
    pub(super) damaged_blocks: u64,
}

/// A block to decode.
struct Job<'a> {
    component: usize,
    band: &'a BandPlace,
    /// The quantiser's step.
    step: f64,
    planes: u8,
    style: Style,
    block: &'a ReadBlock,
    place: &'a BlockPlace,
}

/// Returns the sentence that says why a tile of such resolutions and so many layers is not read, if it is not. Adds to `visits` what
/// its packets ask.
pub(super) fn too_many<'a>(
    resolutions: impl Iterator<Item = &'a Resolution> + Clone,
    layers: usize,
    visits: &mut u64,
) -> Option<String> {
    let precincts = resolutions.clone().map(Resolution::precinct_count).fold(0, u64::saturating_add);
    let blocks = resolutions.map(Resolution::block_count).fold(0, u64::saturating_add);
    *visits = visits.saturating_add(blocks.saturating_mul(layers as u64));
    if precincts > PRECINCTS_MAX || blocks > BLOCKS_MAX {
        return Some(format!("a tile of it has {precincts} precincts and some {blocks} code-blocks: too many"));
    }
    (*visits > VISITS_MAX).then(|| format!("it has some {visits} code-blocks in all layers: too many"))
}

/// Reads the packets of a tile whose code is `code`; adds to `visits` how often they ask a block.
pub(super) fn read<'a>(
    sizes: &'a Sizes,
    tile: &Tile,
    code: &'a TileCode,
    visits: &mut u64,
) -> Result<ReadTile<'a>, Jpeg2000Error> {
    let area = sizes.tile_area(tile.index);
    if area.is_empty() {
        return Err(damaged(format!("tile {} is outside of the picture", tile.index)));
    }
    let TileCode { order, layers, components, .. } = code;
    let mut shapes: Vec<Vec<Resolution>> = Vec::new();
    for (code, size) in components.iter().zip(&sizes.components) {
        let own = area.sampled(size.step);
        let unit = 1_u64 << code.cuts.levels;
        if !u64::from(own.x0).is_multiple_of(unit) || !u64::from(own.y0).is_multiple_of(unit) {
            let (x, y, levels) = (own.x0, own.y0, code.cuts.levels);
            return Err(not_read(format!("a tile of it begins at {x}, {y}: that is no multiple of 2^{levels}")));
        }
        shapes.push(resolutions(own, &code.cuts));
    }
    if let Some(sentence) = too_many(shapes.iter().flatten(), *layers, visits) {
        return Err(not_read(sentence));
    }
    let listed: Vec<_> = shapes.iter().zip(&sizes.components).map(|(all, size)| (&all[..], size.step)).collect();
    let places = progression::precincts(*order, &listed, (area.x0, area.y0));
    let bands_of = |place: &PrecinctPlace| {
        let resolution = &shapes[place.component][place.resolution];
        resolution.bands.iter().map(|band| ReadBand::new(resolution.grid(band, place.precinct))).collect()
    };
    let mut bands: Vec<Vec<ReadBand>> = places.iter().map(bands_of).collect();
    let (mut at, mut whole_packets, mut is_damaged) = (0, 0, false);
    for (place, layer) in progression::packets(*order, &places, *layers) {
        let style = components[places[place].component].style;
        match packet::read(&mut bands[place], layer, style, &tile.packets[at..]) {
            Ok(length) => at += length,
            Err(broken) => {
                is_damaged = broken == Broken::Damaged;
                break;
            }
        }
        whole_packets += 1;
    }
    let packets = places.len() as u64 * *layers as u64;
    Ok(ReadTile { sizes, code, area, shapes, places, bands, packets, whole_packets, is_damaged })
}

impl ReadTile<'_> {
    /// Returns a component's part of the picture without the `drop_levels` finest levels.
    pub(super) fn area(&self, component: usize, drop_levels: u8) -> Area {
        self.area.sampled(self.sizes.components[component].step).reduced(drop_levels)
    }

    /// Returns the components that are transformed alike, together.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let components = &self.code.components;
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, code) in components.iter().enumerate() {
            let key = |at: usize| (components[at].is_reversible, components[at].cuts.levels);
            match groups.last_mut() {
                Some(group) if key(group.start) == (code.is_reversible, code.cuts.levels) => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// Returns the levels of a group.
    pub(super) fn levels(&self, group: &Range<usize>) -> u8 {
        self.code.components[group.start].cuts.levels
    }

    /// Returns true if a group's transform is that of integers.
    pub(super) fn is_reversible(&self, group: &Range<usize>) -> bool {
        self.code.components[group.start].is_reversible
    }

    /// Decodes the components of a group, without the `drop_levels` finest levels, to samples of these areas. A block of bytes that
    /// no encoder makes counts as one without anything.
    pub(super) fn decode(
        &self,
        group: Range<usize>,
        drop_levels: u8,
        areas: &[Area],
        transforms: &mut Transforms,
    ) -> Result<DecodedTile, Jpeg2000Error> {
        let is_reversible = self.is_reversible(&group);
        let jobs = self.jobs(&group, drop_levels)?;
        let decode = |job: &Job<'_>| {
            let (segments, size) = (&job.block.segments, (job.place.width, job.place.height));
            match job.style.is_high_throughput() {
                true => ht::decode(segments, job.planes, size, job.style.is_causal()).ok(),
                false => Some(tier1::decode(segments, job.planes, size, job.band.band, job.style)),
            }
        };
        let decoded: Vec<Option<Vec<i32>>> = jobs.par_iter().map(decode).collect();
        let damaged_blocks = decoded.iter().filter(|values| values.is_none()).count() as u64;
        let sides: Vec<usize> = (0..group.len()).map(|at| transforms.bands.pitch(at)).collect();
        let squares = || sides.iter().map(|side| side * side);
        let (mut whole, mut rounded): (Vec<Vec<f32>>, Vec<Vec<i32>>) = Default::default();
        match is_reversible {
            true => rounded.extend(squares().map(|count| vec![0; count])),
            false => whole.extend(squares().map(|count| vec![0.0; count])),
        }
        for (job, values) in jobs.iter().zip(&decoded) {
            let Some(values) = values else { continue };
            let own = job.component - group.start;
            // Levels are counted from the finest one that is left.
            let level = job.band.level - drop_levels;
            let Some(corner) = transforms.bands.corner(own, job.band.band, level) else { continue };
            let (side, lie) = (sides[own], Lie::of(job));
            let first = (corner.1 + job.place.x) * side + corner.0 + job.place.y;
            if is_reversible {
                put(&mut rounded[own][first..], side, values, lie, |value| value / 2);
            } else {
                let scale = (job.step * transforms.bands.ratio(own, job.band.band, level) / 2.0) as f32;
                put(&mut whole[own][first..], side, values, lie, |value| value as f32 * scale);
            }
        }
        drop(decoded);
        let squares = if is_reversible { Values::I32(rounded) } else { Values::F32(whole) };
        let component = |(at, area): (usize, &Area)| {
            let size = self.sizes.components[at];
            ImageComponent {
                width: area.width(),
                height: area.height(),
                step: size.step,
                depth: size.depth,
                is_signed: size.is_signed,
                samples: Vec::new(),
            }
        };
        let mut components: Vec<ImageComponent> = group.clone().zip(areas).map(component).collect();
        let mixes = self.code.mixes_colours && group.start == 0;
        match transforms.inverse(squares)? {
            Values::I32(planes) => planes::from_reversible(planes, mixes, &mut components),
            Values::F32(planes) => planes::from_irreversible(planes, mixes, &mut components),
            Values::F64(_) => {}
        }
        Ok(DecodedTile {
            components: components.into_iter().map(|component| component.samples).collect(),
            damaged_blocks,
        })
    }

    /// Returns the blocks of a group that have something.
    fn jobs(&self, group: &Range<usize>, drop_levels: u8) -> Result<Vec<Job<'_>>, Jpeg2000Error> {
        let mut jobs = Vec::new();
        for (place, bands) in self.places.iter().zip(&self.bands) {
            let component = place.component;
            let code = &self.code.components[component];
            let last = usize::from(code.cuts.levels - drop_levels);
            if !group.contains(&component) || place.resolution > last {
                continue;
            }
            for (band, read) in self.shapes[component][place.resolution].bands.iter().zip(bands) {
                let step = code.quantiser.step(band.index, band.band, band.level, code.cuts.levels);
                let step = step.ok_or_else(|| damaged("its quantiser lacks the step of a band"))?;
                let size = step.size(self.sizes.components[component].depth + band.band.gain());
                for (block, place) in read.blocks.iter().zip(&read.grid.blocks) {
                    if block.segments.is_empty() {
                        continue;
                    }
                    let zero_planes = u8::try_from(block.zero_planes).unwrap_or(u8::MAX);
                    let planes = code.quantiser.planes(step).saturating_sub(zero_planes);
                    if planes > PLANES_MAX {
                        return Err(not_read(format!("a block of it has {planes} bit planes, more than {PLANES_MAX}")));
                    }
                    jobs.push(Job { component, band, step: size, planes, style: code.style, block, place });
                }
            }
        }
        Ok(jobs)
    }
}

/// A block's values: rows of so many columns, or columns of so many rows.
#[derive(Clone, Copy)]
enum Lie {
    Rows(usize),
    Columns(usize),
}

impl Lie {
    fn of(job: &Job<'_>) -> Self {
        if job.style.is_high_throughput() { Self::Columns(job.place.height) } else { Self::Rows(job.place.width) }
    }
}

/// Writes a block into a square that lies on its side.
fn put<T>(square: &mut [T], side: usize, values: &[i32], lie: Lie, value: impl Fn(i32) -> T) {
    match lie {
        Lie::Rows(width) => {
            for x in 0..width {
                let column = &mut square[x * side..];
                values[x..].iter().step_by(width).zip(column).for_each(|(&from, to)| *to = value(from));
            }
        }
        Lie::Columns(height) => {
            for (column, values) in square.chunks_mut(side).zip(values.chunks(height)) {
                values.iter().zip(column).for_each(|(&from, to)| *to = value(from));
            }
        }
    }
}
