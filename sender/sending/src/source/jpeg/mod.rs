//! JPEG pictures, of cameras and of files, to samples.
//!
//! Reads all that stands around the coded data, because cameras and files leave out, repeat and damage much of it; a picture in
//! normal form goes to the library.

mod entropy;
mod fault;
mod fields;
mod header;
mod marker;
mod normal;
mod planes;
mod range;
mod stream;
mod tables;

use std::io::{self, Read};
use std::thread;

use picture::frame::{FrameSize, PixelFormat};

pub use fault::JpegFault;
pub use stream::MjpegReader;

use header::Field;
use normal::{Found, normalise};
use planes::{Planes, Way};
use tables::Tables;

/// Most bytes behind the last code that are taken for a camera's habit.
const HABIT_BYTES_MAX: usize = 4;
/// Most pixels that a byte of coded data stands for: a block takes a bit at least, of a component with a quarter of the blocks.
const PIXELS_A_BYTE_MAX: usize = 4 * 8 * 64;
/// Pictures in a row with as many bytes behind their last code, after which that is a habit.
const HABIT_PICTURES: u32 = 3;

/// Decodes the pictures of one stream: tables stay for those that lack them. All come as [`picture::frame::ColourSpace::JPEG`].
#[derive(Debug, Default)]
pub struct JpegDecoder {
    tables: Tables,
    planes: Planes,
    normal: Vec<u8>,
    /// The upper or the lower field, while the other is decoded.
    field: Vec<u8>,
    /// A picture that was taken for the other field of the one before, and is none.
    waiting: Option<Vec<u8>>,
    /// The number of bytes behind the last code in the pictures before, and how many had as many.
    tail: (usize, u32),
}

/// A picture, or a field of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    format: PixelFormat,
    size: FrameSize,
    field: Option<Field>,
}

/// A picture of a stream, or its fault.
pub(super) type Next = Result<(PixelFormat, FrameSize), JpegFault>;

impl JpegDecoder {
    /// Decodes the picture in `bytes` into `data`, which is unspecified after an error. Two fields that stand one behind the
    /// other are woven. What stands before and behind is passed over.
    pub fn decode(&mut self, bytes: &[u8], data: &mut Vec<u8>) -> Result<(PixelFormat, FrameSize), JpegFault> {
        let (first, rest) = stream::first(bytes).ok_or(JpegFault::NoPicture)?;
        let part = self.part(first, data)?;
        if part.field.is_some()
            && let Some((second, _)) = stream::first(rest)
            && let Some(whole) = self.other_field(part, second, data)?
        {
            return Ok(whole);
        }
        Ok((part.format, part.size))
    }

    /// Decodes the next picture of a stream into `data`: the fault of one that cannot be used, or none at the end.
    pub(super) fn next<R: Read>(
        &mut self,
        reader: &mut MjpegReader<R>,
        data: &mut Vec<u8>,
    ) -> io::Result<Option<Next>> {
        let waiting = std::mem::take(&mut self.waiting);
        let part = match reader_or(waiting.as_deref(), reader)? {
            Some(picture) => match self.part(picture, data) {
                Ok(part) => part,
                Err(fault) => return Ok(Some(Err(fault))),
            },
            None => return Ok(None),
        };
        let alone = (part.format, part.size);
        if part.field.is_none() {
            return Ok(Some(Ok(alone)));
        }
        let Some(second) = reader.next_picture()? else { return Ok(Some(Ok(alone))) };
        let woven = self.other_field(part, second, data);
        if !matches!(woven, Ok(Some(_))) {
            self.waiting = Some(second.to_vec());
        }
        Ok(Some(Ok(woven.ok().flatten().unwrap_or(alone))))
    }

    /// Weaves `data`, which is one field, with the other one; `None` if `second` is not that.
    fn other_field(
        &mut self,
        part: Part,
        second: &[u8],
        data: &mut Vec<u8>,
    ) -> Result<Option<(PixelFormat, FrameSize)>, JpegFault> {
        let mut other = std::mem::take(&mut self.field);
        let woven = self.part(second, &mut other).map(|second| {
            let (Some(first), Some(field)) = (part.field, second.field) else { return None };
            let fits = (part.format, part.size) == (second.format, second.size) && first != field;
            let whole = fits.then(|| fields::weave(part.format, part.size, (first, data), &other)).flatten();
            whole.map(|size| (part.format, size))
        });
        self.field = other;
        woven
    }

    /// Decodes one picture, or one field, into `data`.
    fn part(&mut self, picture: &[u8], data: &mut Vec<u8>) -> Result<Part, JpegFault> {
        let normal = match normalise(picture, &self.tables, &mut self.normal)? {
            Found::Picture(normal) => normal,
            Found::Tables(tables) => {
                self.tables.update(tables);
                return Err(JpegFault::OnlyTables);
            }
        };
        let size = normal.header.size()?;
        // So that a head alone cannot ask for memory.
        if self.normal.len() < size.pixels() / PIXELS_A_BYTE_MAX {
            return Err(JpegFault::Damaged("they are too few for its size".to_owned()));
        }
        let (jpeg, header, planes) = (&self.normal, &normal.header, &mut self.planes);
        // On a thread of its own, not on the coder's pool: there it would wait for the frame before.
        let (checked, format) = thread::scope(|scope| {
            let check = || entropy::check(jpeg, header);
            let beside = normal
                .is_sequential
                .then(|| thread::Builder::new().name("check".to_owned()).spawn_scoped(scope, check));
            let format = planes.decode(jpeg, Way::of(header), size, data);
            let checked = match beside {
                None => Ok(0),
                Some(Ok(thread)) => thread.join().unwrap_or(Err("they cannot be checked")),
                Some(Err(_)) => check(),
            };
            (checked, format)
        });
        let left = checked.map_err(|why| JpegFault::Damaged(why.to_owned()))?;
        let format = format?;
        self.check_tail(left.saturating_sub(normal.padding))?;
        self.tables.update(normal.tables);
        if normal.header.is_limited {
            range::widen(format, size, data);
        }
        Ok(Part { format, size, field: normal.header.field })
    }

    /// Codes that went wrong end too soon, which leaves bytes; some cameras leave a few behind every picture.
    fn check_tail(&mut self, bytes: usize) -> Result<(), JpegFault> {
        let (before, times) = self.tail;
        self.tail = (bytes, if bytes == before { times.saturating_add(1) } else { 1 });
        if bytes == 0 || (bytes <= HABIT_BYTES_MAX && self.tail.1 >= HABIT_PICTURES) {
            return Ok(());
        }
        Err(JpegFault::Damaged(format!("{bytes} bytes are left behind its last code")))
    }
}

fn reader_or<'a, R: Read>(waiting: Option<&'a [u8]>, reader: &'a mut MjpegReader<R>) -> io::Result<Option<&'a [u8]>> {
    waiting.map_or_else(|| reader.next_picture(), |picture| Ok(Some(picture)))
}
