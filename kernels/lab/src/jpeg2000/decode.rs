//! Code-streams to pictures.

use kernels::BackendInfo;

use super::error::{Jpeg2000Error, damaged, not_read};
use super::geometry::Area;
use super::image::{Colour, Image, ImageComponent};
use super::stream::boxes;
use super::stream::header::{self, ComponentSize, TileCode};
use super::tile::{ReadTile, read};
use super::transforms::{Choice, Transforms};

/// Samples of all components that are decoded without being asked: a picture of 16384 x 16384 in grey.
pub const SAMPLES_MAX: u64 = 1 << 28;

/// A picture, and what is missing of it.
#[derive(Debug)]
pub struct Decoded {
    /// The picture.
    pub image: Image,
    /// True if boxes say what its colours are.
    pub has_colour: bool,
    /// True if nothing says whether three components are RGB or Y, Cb and Cr; they are then called RGB.
    pub is_ambiguous: bool,
    /// Says what of the file is not there or not whole, if anything.
    pub missing: Option<String>,
    /// The back end that transformed.
    pub backend: Option<BackendInfo>,
}

/// Decodes a code-stream or a file of boxes without the `drop_levels` finest levels; a picture of more than `samples_max` samples
/// is refused.
pub fn decode(bytes: &[u8], drop_levels: u8, samples_max: u64, choice: Choice<'_>) -> Result<Decoded, Jpeg2000Error> {
    let (stream, told) = boxes::open(bytes)?;
    let stream = header::read(stream)?;
    let sizes = &stream.sizes;
    let (area, count) = (sizes.picture, sizes.components.len());
    if let Some(colours) = told.map(Colour::components).filter(|colours| !(*colours..=colours + 1).contains(&count)) {
        return Err(damaged(format!("its boxes name a space of {colours} colours, and it has {count} components")));
    }
    // Without any tile, too, there must be so many levels.
    let has_fewer = |code: &TileCode| code.components.iter().any(|component| component.cuts.levels < drop_levels);
    let mut has_too_few = has_fewer(&stream.code);
    for tile in &stream.tiles {
        has_too_few |= has_fewer(&*stream.code(tile)?);
    }
    if has_too_few {
        return Err(not_read(format!("it has fewer than {drop_levels} levels to leave out")));
    }
    let areas: Vec<Area> =
        sizes.components.iter().map(|component| area.sampled(component.step).reduced(drop_levels)).collect();
    let samples = || areas.iter().map(|area| area.width() as u64 * area.height() as u64);
    if samples().fold(0, u64::saturating_add) > samples_max || samples().any(|samples| samples == 0) {
        return Err(not_read(format!("it has {} x {} pixels: too many, or none", area.width(), area.height())));
    }
    let component = |(size, area): (&ComponentSize, &Area)| ImageComponent {
        width: area.width(),
        height: area.height(),
        step: size.step,
        depth: size.depth,
        is_signed: size.is_signed,
        // What no tile brings is grey.
        samples: vec![if size.is_signed { 0 } else { 1 << (size.depth - 1) }; area.width() * area.height()],
    };
    let mut components: Vec<ImageComponent> = sizes.components.iter().zip(&areas).map(component).collect();
    let mut missing = Missing {
        tiles: (sizes.tiles().0 * sizes.tiles().1).saturating_sub(stream.tiles.len() as u64),
        ..Missing::default()
    };
    let mut open = Opened { choice, transforms: Vec::new() };
    // The colour transform is for RGB.
    let (mut visits, mut mixes_colours) = (0, stream.code.mixes_colours);
    for tile in &stream.tiles {
        let code = stream.code(tile)?;
        mixes_colours |= code.mixes_colours;
        let tile = read(sizes, tile, &code, &mut visits)?;
        missing.add(&tile);
        for group in tile.groups() {
            let extents: Vec<_> = group.clone().map(|at| tile.area(at, drop_levels)).collect();
            if extents.iter().all(|area| !area.is_empty()) {
                let transforms = open.of(&extents, tile.levels(&group) - drop_levels, tile.is_reversible(&group))?;
                let parts = tile.decode(group.clone(), drop_levels, &extents, transforms)?;
                missing.blocks += parts.damaged_blocks;
                for (at, (part, own)) in group.zip(parts.components.iter().zip(&extents)) {
                    place(&mut components[at], areas[at], *own, part);
                }
            }
        }
    }
    let of_count = if components.len() < 3 { Colour::Grey } else { Colour::Rgb };
    let is_halved = components.iter().any(|component| component.step != components[0].step);
    let usual = if is_halved && components.len() >= 3 { Colour::Ycc } else { of_count };
    let is_ambiguous = told.is_none() && !mixes_colours && !is_halved && components.len() >= 3;
    let whole = area.reduced(drop_levels);
    let colour = told.unwrap_or(usual);
    let image = Image { width: whole.width(), height: whole.height(), colour, components };
    let backend = open.transforms.first().and_then(|(_, transforms)| transforms.backend().cloned());
    Ok(Decoded { image, has_colour: told.is_some(), is_ambiguous, missing: missing.sentence(), backend })
}

/// Extents, levels, and whether it is the reversible one.
type Key = (Vec<(usize, usize)>, u8, bool);

/// Most transforms that are kept: inner tiles, those at the ends, and the corner.
const KEPT: usize = 4;

/// Transforms that tiles have had.
struct Opened<'a> {
    choice: Choice<'a>,
    transforms: Vec<(Key, Transforms)>,
}

impl Opened<'_> {
    fn of(&mut self, areas: &[Area], levels: u8, is_reversible: bool) -> Result<&mut Transforms, Jpeg2000Error> {
        let extents: Vec<_> = areas.iter().map(|area| (area.width(), area.height())).collect();
        let key = (extents, levels, is_reversible);
        let at = match self.transforms.iter().position(|(kept, _)| *kept == key) {
            Some(at) => at,
            None => {
                if self.transforms.len() == KEPT {
                    self.transforms.pop();
                }
                let transforms = Transforms::open(&key.0, levels, is_reversible, self.choice)?;
                self.transforms.push((key, transforms));
                self.transforms.len() - 1
            }
        };
        Ok(&mut self.transforms[at].1)
    }
}

/// Parts that could not be read.
#[derive(Default)]
struct Missing {
    tiles: u64,
    damaged_tiles: u64,
    packets: u64,
    of: u64,
    blocks: u64,
}

impl Missing {
    fn add(&mut self, tile: &ReadTile<'_>) {
        self.damaged_tiles += u64::from(tile.is_damaged);
        self.packets += tile.packets - tile.whole_packets;
        self.of += tile.packets;
    }

    fn sentence(&self) -> Option<String> {
        let Self { tiles, damaged_tiles, packets, of, blocks } = self;
        let mut parts = Vec::new();
        if *tiles > 0 {
            parts.push(format!("tiles that are not there: {tiles}"));
        }
        if *damaged_tiles > 0 {
            parts.push(format!("tiles with bytes that no encoder makes: {damaged_tiles}"));
        }
        if *packets > 0 {
            parts.push(format!("packets that are not whole or not there: {packets} of {of}"));
        }
        if *blocks > 0 {
            parts.push(format!("code-blocks with bytes that no encoder makes: {blocks}"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Copies a tile's samples, of the part `own` of the component's `whole`, to their place.
fn place(component: &mut ImageComponent, whole: Area, own: Area, samples: &[i32]) {
    let (x, y) = ((own.x0 - whole.x0) as usize, (own.y0 - whole.y0) as usize);
    for (row, samples) in samples.chunks_exact(own.width()).enumerate() {
        let start = (y + row) * component.width + x;
        component.samples[start..start + own.width()].copy_from_slice(samples);
    }
}
