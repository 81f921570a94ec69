//! Files of boxes around a code-stream: JP2 (ISO/IEC 15444-1, annex I).

use super::header::{ComponentSize, Sizes};
use crate::jpeg2000::error::{Jpeg2000Error, damaged, not_read};
use crate::jpeg2000::image::Colour;

/// The beginning of every such file.
const SIGNATURE: [u8; 12] = *b"\0\0\0\x0cjP  \r\n\x87\n";
/// The beginning of a code-stream.
const STREAM: [u8; 2] = [0xff, 0x4f];
/// Bytes of the length and the kind of a box, and of a length that does not fit.
const HEAD: usize = 8;
const LONG: usize = 8;
/// The compression, always the same; the colour space is known; it is no one's property.
const IHDR_END: [u8; 3] = [7, 0, 0];
/// Components of different depths.
const VARIOUS: u8 = 0xff;
/// The kind of such a file, and what it can be read as.
const KIND: [u8; 4] = *b"jp2 ";
/// The same with blocks of Part 15.
const KIND_HIGH_THROUGHPUT: [u8; 4] = *b"jph ";
/// The number of colours that are not read.
const CMYK: u32 = 12;
/// Opacity of the whole picture.
const OPACITY: u16 = 1;

/// Returns the code-stream of a file, and the colours that it says it has.
pub(crate) fn open(bytes: &[u8]) -> Result<(&[u8], Option<Colour>), Jpeg2000Error> {
    if bytes.starts_with(&STREAM) {
        return Ok((bytes, None));
    }
    if !bytes.starts_with(&SIGNATURE) {
        return Err(Jpeg2000Error::Other);
    }
    let (mut colour, mut rest) = (None, &bytes[SIGNATURE.len()..]);
    while let Some((kind, content, after)) = next(rest) {
        match &kind {
            b"jp2h" => colour = header(content)?,
            b"jp2c" => return Ok((content, colour)),
            _ => {}
        }
        rest = after;
    }
    Err(damaged("there is no code-stream in its boxes"))
}

/// Returns the kind of the next box, what is in it as far as it is there, and what follows.
fn next(bytes: &[u8]) -> Option<([u8; 4], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let (start, length) = match u32::from_be_bytes(*length) {
        0 => (HEAD, bytes.len()),
        1 => (HEAD + LONG, usize::try_from(u64::from_be_bytes(*rest.first_chunk::<LONG>()?)).ok()?),
        length => (HEAD, length as usize),
    };
    let end = length.min(bytes.len());
    Some((*kind, bytes.get(start..end)?, &bytes[end..]))
}

fn header(mut boxes: &[u8]) -> Result<Option<Colour>, Jpeg2000Error> {
    let (mut colour, mut is_named, mut rest) = (None, false, boxes);
    // The first one that can be read counts, as it does for other readers.
    while let Some((kind, content, after)) = next(rest) {
        if let (b"colr", [method @ (1 | 2), _, _, space @ ..], false) = (&kind, content, is_named) {
            (colour, is_named) = (Some(named(*method, space)?), true);
        }
        rest = after;
    }
    while let Some((kind, content, after)) = next(boxes) {
        match &kind {
            b"pclr" => return Err(not_read("its samples are numbers of a palette's colours")),
            b"cdef" if !is_in_order(content, colour) => {
                return Err(not_read("its components have another order or meaning than colours and opacity (cdef)"));
            }
            b"cmap" if !is_direct(content) => {
                return Err(not_read("its channels are other components than those of their numbers (cmap)"));
            }
            _ => {}
        }
        boxes = after;
    }
    Ok(colour)
}

/// Place of the colours in the head of a profile.
const PROFILE_SPACE: usize = 16;

/// Returns the colours that a number or a profile says. Those of a profile are taken as if they were sRGB's.
fn named(method: u8, space: &[u8]) -> Result<Colour, Jpeg2000Error> {
    if method == 2 {
        let of = space.get(PROFILE_SPACE..).and_then(|space| space.first_chunk::<4>());
        return match of {
            Some(b"RGB ") => Ok(Colour::Rgb),
            Some(b"GRAY") => Ok(Colour::Grey),
            Some(other) => Err(not_read(format!("it has a profile of {}", other.escape_ascii()))),
            None => Err(damaged("its profile is too short")),
        };
    }
    let number = space.first_chunk().ok_or_else(|| damaged("its colours have no number"))?;
    match u32::from_be_bytes(*number) {
        CMYK => Err(not_read("its colours are CMYK")),
        number => Colour::of(number).ok_or_else(|| not_read(format!("it has the colour space {number}"))),
    }
}

/// Returns true if each channel is what its component is anyway: a colour, or opacity after the colours.
fn is_in_order(content: &[u8], colour: Option<Colour>) -> bool {
    let (count, channels) = (content.first_chunk::<2>(), content.get(2..).unwrap_or_default().as_chunks::<6>());
    let colours = colour.map_or(usize::from(u16::MAX), Colour::components);
    let is_usual = |channel: &[u8; 6]| {
        let [at, kind, of] = [0, 2, 4].map(|from| u16::from_be_bytes([channel[from], channel[from + 1]]));
        match kind {
            0 => usize::from(at) < colours && of == at + 1,
            OPACITY => usize::from(at) == colours || colour.is_none(),
            _ => false,
        }
    };
    count.is_some_and(|count| usize::from(u16::from_be_bytes(*count)) == channels.0.len())
        && channels.0.iter().all(is_usual)
}

/// Returns true if each channel is the component of its number, not of a palette.
fn is_direct(content: &[u8]) -> bool {
    let entries = content.as_chunks::<4>().0.iter();
    entries
        .enumerate()
        .all(|(at, &[high, low, kind, _])| usize::from(u16::from_be_bytes([high, low])) == at && kind == 0)
}

/// Returns the file of a code-stream, in its memory.
pub(crate) fn wrap(
    mut stream: Vec<u8>,
    sizes: &Sizes,
    colour: Colour,
    [across, down]: [u32; 2],
    is_high_throughput: bool,
) -> Vec<u8> {
    let kind = if is_high_throughput { KIND_HIGH_THROUGHPUT } else { KIND };
    let mut out = SIGNATURE.to_vec();
    put(&mut out, b"ftyp", &[&kind[..], &[0; 4], &kind[..]].concat());
    let ComponentSize { depth, is_signed, .. } = sizes.components[0];
    let code = |depth: u8, is_signed: bool| (depth - 1) | u8::from(is_signed) << 7;
    let is_same = sizes.components.iter().all(|other| (other.depth, other.is_signed) == (depth, is_signed));
    let (width, height) = (sizes.picture.width() as u32, sizes.picture.height() as u32);
    let mut head = [height.to_be_bytes(), width.to_be_bytes()].concat();
    head.extend((sizes.components.len() as u16).to_be_bytes());
    head.push(if is_same { code(depth, is_signed) } else { VARIOUS });
    head.extend(IHDR_END);
    let mut boxes = Vec::new();
    put(&mut boxes, b"ihdr", &head);
    if !is_same {
        let depths: Vec<u8> = sizes.components.iter().map(|other| code(other.depth, other.is_signed)).collect();
        put(&mut boxes, b"bpcc", &depths);
    }
    put(&mut boxes, b"colr", &[&[1, 0, 0][..], &colour.number().to_be_bytes()].concat());
    let colours = colour.components();
    if sizes.components.len() > colours {
        // Colours first, each for itself; then opacity, of all of them.
        let channel = |at: usize| match at < colours {
            true => [at as u16, 0, at as u16 + 1],
            false => [at as u16, OPACITY, 0],
        };
        let count = sizes.components.len() as u16;
        let channels = (0..sizes.components.len()).flat_map(channel);
        let definitions: Vec<u8> = [count].into_iter().chain(channels).flat_map(u16::to_be_bytes).collect();
        put(&mut boxes, b"cdef", &definitions);
    }
    // The resolution to show the picture at: numerators and denominators, and powers of ten.
    let ((down, down_power), (across, across_power)) = (decimal(down), decimal(across));
    let numbers = [down, 1, across, 1].map(u16::to_be_bytes).concat();
    let mut resolution = Vec::new();
    put(&mut resolution, b"resd", &[&numbers[..], &[down_power, across_power]].concat());
    put(&mut boxes, b"res ", &resolution);
    put(&mut out, b"jp2h", &boxes);
    begin(&mut out, b"jp2c", stream.len());
    stream.splice(0..0, out);
    stream
}

/// Returns a number as one of 16 bits and a power of ten.
fn decimal(mut number: u32) -> (u16, u8) {
    let mut power = 0;
    loop {
        match u16::try_from(number) {
            Ok(number) => return (number.max(1), power),
            Err(_) => (number, power) = (number.div_ceil(10), power + 1),
        }
    }
}

fn put(out: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    begin(out, kind, content.len());
    out.extend(content);
}

/// Appends what comes before the content of a box.
fn begin(out: &mut Vec<u8>, kind: &[u8; 4], content_len: usize) {
    match u32::try_from(content_len + HEAD) {
        Ok(length) => {
            out.extend(length.to_be_bytes());
            out.extend(kind);
        }
        Err(_) => {
            out.extend(1_u32.to_be_bytes());
            out.extend(kind);
            out.extend(((content_len + HEAD + LONG) as u64).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_is_a_number_of_16_bits_and_a_power_of_ten() {
        assert_eq!([2835, 65_535, 65_536, 0].map(decimal), [(2835, 0), (65_535, 0), (6554, 1), (1, 0)]);
        assert_eq!(decimal(u32::MAX), (42_950, 5));
    }
}
