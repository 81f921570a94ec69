//! Reads the headers of a code-stream, and finds the packets of its tiles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{ComponentCode, ComponentSize, MIXED, PART_15, SEVERAL_SETS, Sizes, TileCode, marker};
use crate::jpeg2000::block::tier1::Style;
use crate::jpeg2000::error::{Jpeg2000Error, damaged, not_read};
use crate::jpeg2000::geometry::{Area, Cuts};
use crate::jpeg2000::stream::progression::Order;
use crate::jpeg2000::stream::quantise::{BandStep, Quantiser};

type Result<T> = std::result::Result<T, Jpeg2000Error>;

/// Most components that are read here.
const COMPONENTS_MAX: usize = 4;
/// Most bits of a sample that are.
const DEPTH_MAX: u8 = 16;
/// Most tiles.
const TILES_MAX: u64 = 65_535;
/// Most steps of a quantiser: of three bands in each of 32 levels, and of the low one.
const STEPS_MAX: usize = 97;

/// A tile's packets, as far as they are there.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    pub(crate) index: u64,
    /// The code that its own header tells, if it tells any.
    own: Option<Box<Layer>>,
    pub(crate) packets: Vec<u8>,
}

/// A code-stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) sizes: Sizes,
    /// The code of tiles that say nothing of their own.
    pub(crate) code: TileCode,
    main: Layer,
    pub(crate) tiles: Vec<Tile>,
}

impl Stream {
    /// Returns the code of a tile. Only one that says something of its own has another than all: a file's memory is that of its
    /// bytes, not of its tiles times its header.
    pub(crate) fn code(&self, tile: &Tile) -> Result<Cow<'_, TileCode>> {
        match &tile.own {
            None => Ok(Cow::Borrowed(&self.code)),
            Some(own) => code(&self.sizes, &[own, &self.main]).map(Cow::Owned),
        }
    }
}

/// Bytes of a segment.
struct Reader<'a> {
    bytes: &'a [u8],
    /// The marker's name, for errors.
    name: &'static str,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((first, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(damaged(format!("the segment {} is too short", self.name)));
        };
        self.bytes = rest;
        Ok(*first)
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    /// Returns the marker that is next, with its segment; a marker without a segment has an empty one.
    fn marker(&mut self) -> Result<(u16, Reader<'a>)> {
        let marker = self.u16()?;
        if [marker::SOC, marker::SOD, marker::EOC].contains(&marker) {
            return Ok((marker, Reader { bytes: &[], name: name(marker) }));
        }
        if marker < 0xff00 {
            return Err(damaged(format!("there is {marker:04x} where a marker must be")));
        }
        let length = usize::from(self.u16()?);
        match length.checked_sub(2).and_then(|length| self.bytes.split_at_checked(length)) {
            Some((segment, rest)) => {
                self.bytes = rest;
                Ok((marker, Reader { bytes: segment, name: name(marker) }))
            }
            None => {
                Err(damaged(format!("the segment {} is longer than the file, or shorter than itself", name(marker))))
            }
        }
    }
}

fn name(marker: u16) -> &'static str {
    match marker {
        marker::SIZ => "SIZ",
        marker::CAP => "CAP",
        marker::COD => "COD",
        marker::COC => "COC",
        marker::QCD => "QCD",
        marker::QCC => "QCC",
        marker::SOT => "SOT",
        _ => "of a marker",
    }
}

/// Code of components as far as it has been told.
#[derive(Clone, Debug, Default)]
struct Told {
    style: Option<(Cuts, Style, bool)>,
    quantiser: Option<Quantiser>,
}

/// Code that one header tells, the main one or that of a tile.
#[derive(Clone, Debug)]
struct Layer {
    /// Order, layers, and whether colours are mixed.
    common: Option<(Order, usize, bool)>,
    /// Of all components, and of each alone.
    all: Told,
    own: Vec<Told>,
}

/// Reads a code-stream.
pub(crate) fn read(bytes: &[u8]) -> Result<Stream> {
    let mut reader = Reader { bytes, name: "of the code-stream" };
    if reader.marker().map(|(marker, _)| marker) != Ok(marker::SOC) {
        return Err(Jpeg2000Error::Other);
    }
    let (marker::SIZ, mut segment) = reader.marker()? else {
        return Err(damaged("the header does not begin with its sizes, SIZ"));
    };
    let sizes = sizes(&mut segment)?;
    let nothing = || Layer { common: None, all: Told::default(), own: vec![Told::default(); sizes.components.len()] };
    let mut main = nothing();
    let mut tiles: BTreeMap<u64, Tile> = BTreeMap::new();
    loop {
        let before = reader.bytes;
        // Cut in the middle of a header it is not whole, but what came before is.
        let (marker, mut segment) = match reader.marker() {
            Ok(found) => found,
            Err(error) if tiles.is_empty() => return Err(error),
            Err(_) => break,
        };
        match marker {
            marker::SOT => {
                let (index, part, is_cut) = match tile_part(&mut segment, before) {
                    Ok(found) => found,
                    Err(error) if tiles.is_empty() => return Err(error),
                    Err(_) => break,
                };
                if index >= sizes.tiles().0 * sizes.tiles().1 {
                    return Err(damaged(format!("there is a tile {index}, but not that many")));
                }
                let tile = tiles.entry(index).or_insert(Tile { index, own: None, packets: Vec::new() });
                let mut inner = Reader { bytes: &part[TILE_HEAD..], name: "of a tile" };
                loop {
                    match inner.marker() {
                        Ok((marker::SOD, _)) => break tile.packets.extend(inner.bytes),
                        Ok((marker, mut segment)) if is_told(marker) => {
                            tile.own.get_or_insert_with(|| Box::new(nothing())).take(marker, &mut segment)?;
                        }
                        Ok(_) => {}
                        Err(_) if is_cut => break,
                        Err(error) => return Err(error),
                    }
                }
                if is_cut {
                    break;
                }
                reader.bytes = &before[part.len()..];
            }
            marker::EOC => break,
            // Between tiles there is nothing else.
            _ if !tiles.is_empty() => break,
            _ => main.take(marker, &mut segment)?,
        }
    }
    // Without any tile, too, the header must be one.
    let code = code(&sizes, &[&main])?;
    Ok(Stream { sizes, code, main, tiles: tiles.into_values().collect() })
}

/// Bytes of SOT with its marker.
const TILE_HEAD: usize = 12;

/// Returns a tile's number and the bytes of its part, which begins at `bytes`, and whether they are cut.
fn tile_part<'a>(segment: &mut Reader<'_>, bytes: &'a [u8]) -> Result<(u64, &'a [u8], bool)> {
    let head = segment.bytes.len() + 4;
    if head != TILE_HEAD || bytes.len() < TILE_HEAD {
        return Err(damaged(format!("a SOT has {head} bytes, not {TILE_HEAD}")));
    }
    let (index, length) = (segment.u16()?, segment.u32()? as usize);
    if length == 0 {
        // To the end of the code-stream.
        let is_ended = bytes.len() >= TILE_HEAD + 2 && bytes.ends_with(&marker::EOC.to_be_bytes());
        let end = if is_ended { bytes.len() - 2 } else { bytes.len() };
        return Ok((index.into(), &bytes[..end], !is_ended));
    }
    if length < TILE_HEAD + 2 {
        return Err(damaged(format!("a part of tile {index} has {length} bytes")));
    }
    let part = &bytes[..length.min(bytes.len())];
    Ok((index.into(), part, part.len() < length))
}

fn sizes(segment: &mut Reader<'_>) -> Result<Sizes> {
    segment.u16()?;
    let [x1, y1, x0, y0] = [segment.u32()?, segment.u32()?, segment.u32()?, segment.u32()?];
    let [width, height, x, y] = [segment.u32()?, segment.u32()?, segment.u32()?, segment.u32()?];
    let picture = Area { x0, y0, x1, y1 };
    let reaches =
        |start: u32, length: u32, first: u32| start <= first && u64::from(start) + u64::from(length) > first.into();
    if picture.is_empty() || width == 0 || height == 0 || !reaches(x, width, x0) || !reaches(y, height, y0) {
        return Err(damaged("the sizes of the picture and of its tiles do not go together"));
    }
    let count = usize::from(segment.u16()?);
    if !(1..=COMPONENTS_MAX).contains(&count) {
        return Err(not_read(format!("it has {count} components, not 1 to {COMPONENTS_MAX}")));
    }
    let component = |_| {
        let [depth, x, y] = segment.take()?;
        let (is_signed, depth) = (depth & 0x80 != 0, (depth & 0x7f) + 1);
        if x == 0 || y == 0 {
            return Err(damaged("a component has no samples"));
        }
        if depth > DEPTH_MAX {
            return Err(not_read(format!("its samples have {depth} bits, more than {DEPTH_MAX}")));
        }
        Ok(ComponentSize { depth, is_signed, step: (x, y) })
    };
    let sizes =
        Sizes { picture, tile: [x, y, width, height], components: (0..count).map(component).collect::<Result<_>>()? };
    let (columns, rows) = sizes.tiles();
    if columns * rows > TILES_MAX {
        return Err(damaged(format!("{columns} x {rows} tiles are more than there may be")));
    }
    Ok(sizes)
}

/// Returns true if such a segment says something that is of use here, or that is refused.
fn is_told(marker: u16) -> bool {
    use marker::{COC, COD, POC, PPM, PPT, QCC, QCD, RGN};
    [COD, COC, QCD, QCC, RGN, POC, PPM, PPT].contains(&marker)
}

impl Layer {
    /// Takes in a segment.
    fn take(&mut self, marker: u16, segment: &mut Reader<'_>) -> Result<()> {
        match marker {
            marker::CAP => capabilities(segment),
            marker::COD => {
                let [style, order, high, low, mix] = segment.take()?;
                let order =
                    Order::of(order).ok_or_else(|| damaged(format!("there is no progression order {order}")))?;
                let layers = usize::from(u16::from_be_bytes([high, low]));
                if layers == 0 || mix > 1 {
                    return Err(damaged("COD has no layer, or a colour transform that is none of Part 1"));
                }
                self.common = Some((order, layers, mix == 1));
                self.all.style = Some(component_style(segment, style & 1 != 0)?);
                Ok(())
            }
            marker::COC => {
                let component = usize::from(segment.u8()?);
                let has_precincts = segment.u8()? & 1 != 0;
                self.component(component)?.style = Some(component_style(segment, has_precincts)?);
                Ok(())
            }
            marker::QCD => {
                self.all.quantiser = Some(quantiser(segment)?);
                Ok(())
            }
            marker::QCC => {
                let component = usize::from(segment.u8()?);
                self.component(component)?.quantiser = Some(quantiser(segment)?);
                Ok(())
            }
            marker::RGN => Err(not_read("a region of it is coded before the rest (ROI)")),
            marker::POC => Err(not_read("its order of packets changes (POC)")),
            marker::PPM | marker::PPT => Err(not_read("the headers of its packets lie apart from them (PPM, PPT)")),
            // Comments, lengths and what else needs no reader.
            _ => Ok(()),
        }
    }

    fn component(&mut self, index: usize) -> Result<&mut Told> {
        self.own.get_mut(index).ok_or_else(|| damaged(format!("there is no component {index}")))
    }
}

/// Returns the code that follows from `layers`, of which each beats those after it: in it, what is told of a component alone beats
/// what is told of all (ISO/IEC 15444-1, A.6).
fn code(sizes: &Sizes, layers: &[&Layer]) -> Result<TileCode> {
    let common = layers.iter().find_map(|layer| layer.common);
    let (order, layer_count, mixes_colours) = common.ok_or_else(|| damaged("the header has no COD"))?;
    let component = |at: usize| {
        let told = || layers.iter().flat_map(|layer| [&layer.own[at], &layer.all]);
        let style = told().find_map(|told| told.style.clone());
        let (cuts, style, is_reversible) = style.ok_or_else(|| damaged("the header has no COD"))?;
        let quantiser = told().find_map(|told| told.quantiser.clone());
        let quantiser = quantiser.ok_or_else(|| damaged("the header has no QCD"))?;
        Ok(ComponentCode { cuts, style, is_reversible, quantiser })
    };
    let components: Vec<_> = (0..sizes.components.len()).map(component).collect::<Result<_>>()?;
    if mixes_colours {
        let alike = |pair: &[ComponentCode]| {
            pair[0].is_reversible == pair[1].is_reversible && pair[0].cuts.levels == pair[1].cuts.levels
        };
        let sizes = sizes.components.get(..3);
        let same = sizes.is_some_and(|sizes| sizes.windows(2).all(|pair| pair[0].step == pair[1].step));
        if !same || !components[..3].windows(2).all(alike) {
            return Err(damaged("its colours are mixed, but the first three components are not alike"));
        }
    }
    Ok(TileCode { order, layers: layer_count, mixes_colours, components })
}

/// Refuses what Part 15 says of itself and other parts say at all.
fn capabilities(segment: &mut Reader<'_>) -> Result<()> {
    let parts = segment.u32()?;
    if parts & !PART_15 != 0 {
        return Err(not_read(format!("it takes parts of the standard beyond Part 15 (CAP {parts:08x})")));
    }
    let own = if parts == 0 { 0 } else { segment.u16()? };
    if own & MIXED != 0 {
        return Err(not_read("its code-blocks are of Part 1 and of Part 15, mixed"));
    }
    if own & SEVERAL_SETS != 0 {
        return Err(not_read("its code-blocks have more than one set of the passes of Part 15"));
    }
    Ok(())
}

fn component_style(segment: &mut Reader<'_>, has_precincts: bool) -> Result<(Cuts, Style, bool)> {
    let [levels, width, height, style, wavelet] = segment.take()?;
    if levels > 32 {
        return Err(damaged(format!("{levels} levels are more than there may be")));
    }
    let block = ((width & 15) + 2, (height & 15) + 2);
    if block.0 > 10 || block.1 > 10 || block.0 + block.1 > 12 {
        return Err(damaged("its code-blocks are larger than they may be"));
    }
    if wavelet > 1 {
        return Err(not_read(format!("its wavelet has the number {wavelet}, none of Part 1")));
    }
    let style = Style(style);
    if style.is_mixed() {
        return Err(not_read("its code-blocks are of Part 1 and of Part 15, mixed"));
    }
    let precincts = if has_precincts {
        let precinct = |_| segment.u8().map(|byte| (byte & 15, byte >> 4));
        (0..=levels).map(precinct).collect::<Result<_>>()?
    } else {
        Vec::new()
    };
    if precincts.iter().skip(1).any(|&(width, height)| width == 0 || height == 0) {
        return Err(damaged("its precincts are too small"));
    }
    Ok((Cuts { levels, block, precincts }, style, wavelet == 1))
}

fn quantiser(segment: &mut Reader<'_>) -> Result<Quantiser> {
    let kind = segment.u8()?;
    let (guard_bits, mut steps) = (kind >> 5, Vec::new());
    let count = segment.bytes.len() / if kind & 31 == 0 { 1 } else { 2 };
    if count > STEPS_MAX {
        return Err(damaged(format!("a quantiser has {count} steps, more than there may be bands")));
    }
    while !segment.bytes.is_empty() {
        steps.push(match kind & 31 {
            0 => BandStep { exponent: segment.u8()? >> 3, mantissa: 0 },
            1 | 2 => {
                let step = segment.u16()?;
                BandStep { exponent: (step >> 11) as u8, mantissa: step & 0x7ff }
            }
            other => return Err(damaged(format!("there is no quantiser {other}"))),
        });
    }
    Ok(Quantiser { guard_bits, steps, is_derived: kind & 31 == 1 })
}
