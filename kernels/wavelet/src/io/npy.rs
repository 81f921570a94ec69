//! NumPy arrays of float32, float64 or int32 in three dimensions, C order.
//!
//! Only arrays of the shape that the caller expects are read, so that nothing in a file's header can ask for more memory
//! than that. NumPy computes in float64 and int64, so arrays of those are read for any element.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use kernels::Element;
use lab::Values;

use super::Output;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; NumPy writes 118 bytes for three dimensions.
const HEADER_BYTES_MAX: usize = 4096;
/// Most channels of an array whose shape is its own.
const CHANNELS_MAX: usize = 1024;
/// Values that are read at once.
const CHUNK_VALUES: usize = 1 << 16;

/// A number as a file has it, low byte first.
trait Stored: Copy {
    /// Bytes of one value.
    const BYTES: usize;

    /// Appends the value to `bytes`.
    fn put(self, bytes: &mut Vec<u8>);

    /// Returns the value of [`Self::BYTES`] bytes.
    fn get(bytes: &[u8]) -> Option<Self>;

    /// The value as a number; of int64 the nearest.
    fn number(self) -> f64;
}

/// An element that numbers of a file become.
trait Wanted: Sized {
    /// The number, or the nearest to it; `None` if there is none as near as a rounding.
    fn of(number: f64) -> Option<Self>;
}

impl Wanted for f32 {
    fn of(number: f64) -> Option<Self> {
        Some(number as Self)
    }
}

impl Wanted for f64 {
    fn of(number: f64) -> Option<Self> {
        Some(number)
    }
}

impl Wanted for i32 {
    fn of(number: f64) -> Option<Self> {
        let whole = number as Self;
        (f64::from(whole) == number).then_some(whole)
    }
}

macro_rules! stored {
    ($number:ident) => {
        impl Stored for $number {
            const BYTES: usize = size_of::<Self>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }

            fn number(self) -> f64 {
                self as f64
            }
        }
    };
}

stored!(f32);
stored!(f64);
stored!(i32);
stored!(i64);

/// Returns NumPy's name of an element, and one for people.
fn names(element: Element) -> (&'static str, &'static str) {
    match element {
        Element::F32 => ("<f4", "float32"),
        Element::F64 => ("<f8", "float64"),
        Element::I32 => ("<i4", "int32"),
    }
}

/// Writes all channels, one after another, each of `shape` (rows, columns).
pub(crate) fn write(path: &Path, values: &Values, shape: (usize, usize)) -> Result<()> {
    match values {
        Values::F32(channels) => write_channels(path, Element::F32, channels, shape),
        Values::F64(channels) => write_channels(path, Element::F64, channels, shape),
        Values::I32(channels) => write_channels(path, Element::I32, channels, shape),
    }
}

fn write_channels<T: Stored>(
    path: &Path,
    element: Element,
    channels: &[Vec<T>],
    (rows, columns): (usize, usize),
) -> Result<()> {
    let (descr, _) = names(element);
    let count = channels.len();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count}, {rows}, {columns}), }}");
    // The data start at a multiple of 64.
    let fixed = MAGIC.len() + 4;
    let padded = (fixed + header.len() + 1).next_multiple_of(64) - fixed;
    header = format!("{header:<width$}\n", width = padded - 1);
    let mut output = Output::create(path)?;
    output.append(MAGIC)?;
    output.append(&[1, 0])?;
    output.append(&(padded as u16).to_le_bytes())?;
    output.append(header.as_bytes())?;
    let mut bytes = Vec::with_capacity(T::BYTES * columns);
    for row in channels.iter().flat_map(|channel| channel.chunks(columns)) {
        bytes.clear();
        row.iter().for_each(|value| value.put(&mut bytes));
        output.append(&bytes)?;
    }
    output.finish()?;
    Ok(())
}

/// Returns the shape (channels, rows, columns) of the array at `path`.
pub(crate) fn shape(path: &Path) -> Result<(usize, usize, usize)> {
    let name = path.display();
    let mut file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let header = read_header(&mut file).with_context(|| format!("{name} is not a .npy file"))?;
    let fields = fields(&header).with_context(|| format!("{name}: its header cannot be read"))?;
    let lengths: Vec<usize> = fields.shape.split(',').map_while(|length| length.parse().ok()).collect();
    match lengths[..] {
        [channels, rows, columns] if (1..=CHANNELS_MAX).contains(&channels) => Ok((channels, rows, columns)),
        _ => bail!("{name}: the array's shape is ({}), not (channels, height, width)", fields.shape),
    }
}

/// Reads the array at `path`, which must be of `shape` (channels, rows, columns), as `element`.
pub(crate) fn read(path: &Path, element: Element, shape: (usize, usize, usize)) -> Result<Values> {
    let name = path.display();
    let mut file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let header = read_header(&mut file).with_context(|| format!("{name} is not a .npy file"))?;
    let fields = fields(&header).with_context(|| format!("{name}: its header cannot be read"))?;
    let (channels, rows, columns) = shape;
    let (descr, element_name) = names(element);
    let given = fields.descr;
    if !["<f4", "<f8", "<i4", "<i8"].contains(&given.as_str()) || fields.fortran_order {
        let order = if fields.fortran_order { "Fortran" } else { "C" };
        bail!(
            "{name}: the array must be {element_name} ('{descr}'), float64 or int64 in C order, not '{given}' in {order} order"
        );
    }
    let expected = format!("{channels},{rows},{columns}");
    if fields.shape != expected {
        bail!("{name}: the array's shape is ({}), not ({expected})", fields.shape);
    }
    let mut read = ChannelReader { file, path, channels, values: rows * columns };
    Ok(match element {
        Element::F32 => Values::F32(read.all(&given)?),
        Element::F64 => Values::F64(read.all(&given)?),
        Element::I32 => Values::I32(read.all(&given)?),
    })
}

/// The data of an array, still to be read.
struct ChannelReader<'a> {
    file: File,
    path: &'a Path,
    channels: usize,
    /// Of one channel.
    values: usize,
}

impl ChannelReader<'_> {
    /// The channels of numbers that NumPy calls `descr`.
    fn all<W: Wanted>(&mut self, descr: &str) -> Result<Vec<Vec<W>>> {
        let one = match descr {
            "<f4" => Self::one::<f32, W>,
            "<f8" => Self::one::<f64, W>,
            "<i4" => Self::one::<i32, W>,
            _ => Self::one::<i64, W>,
        };
        (0..self.channels).map(|_| one(self)).collect()
    }

    fn one<T: Stored, W: Wanted>(&mut self) -> Result<Vec<W>> {
        let name = self.path.display();
        // Memory is taken as bytes come, not for what the side file says.
        let mut values = Vec::new();
        let mut buffer = vec![0; T::BYTES * CHUNK_VALUES];
        while values.len() < self.values {
            let chunk = &mut buffer[..T::BYTES * CHUNK_VALUES.min(self.values - values.len())];
            self.file.read_exact(chunk).with_context(|| format!("{name} ends in the middle of the array"))?;
            for number in chunk.chunks_exact(T::BYTES).filter_map(T::get).map(T::number) {
                let value = W::of(number).with_context(|| {
                    format!("{name}: {number} is no coefficient of this wavelet, which has whole numbers of 32 bits")
                })?;
                values.push(value);
            }
        }
        Ok(values)
    }
}

struct Fields {
    descr: String,
    fortran_order: bool,
    /// Without spaces or a trailing comma.
    shape: String,
}

fn read_header(file: &mut impl Read) -> Result<String> {
    let mut start = [0; 8];
    file.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        bail!("it does not begin as one");
    }
    let mut length = [0; 4];
    let size = if start[6] == 1 { 2 } else { 4 };
    file.read_exact(&mut length[..size])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > HEADER_BYTES_MAX {
        bail!("a header of {length} bytes is too long");
    }
    let mut header = vec![0; length];
    file.read_exact(&mut header)?;
    Ok(String::from_utf8(header)?)
}

/// Returns the three fields of a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 64, 64), }`.
fn fields(header: &str) -> Option<Fields> {
    let text: String = header.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '"' { '\'' } else { c }).collect();
    let after = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, rest)| rest);
    let descr = after("descr")?.strip_prefix('\'')?.split_once('\'')?.0.to_owned();
    let fortran_order = after("fortran_order")?.starts_with("True");
    let shape = after("shape")?.strip_prefix('(')?.split_once(')')?.0.trim_end_matches(',').to_owned();
    Some(Fields { descr, fortran_order, shape })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let read = fields("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 64, 64), }   \n").unwrap();
        assert_eq!((read.descr.as_str(), read.fortran_order, read.shape.as_str()), ("<f4", false, "3,64,64"));
        let read = fields("{\"shape\":(7,),\"fortran_order\":True,\"descr\":\"<i8\"}").unwrap();
        assert_eq!((read.descr.as_str(), read.fortran_order, read.shape.as_str()), ("<i8", true, "7"));
        for wrong in ["", "{}", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}"] {
            assert!(fields(wrong).is_none(), "{wrong}");
        }
    }
}
