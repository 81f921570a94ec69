//! NumPy arrays of float32 in three dimensions, C order.
//!
//! Only this one kind of array is read, so that nothing in a file's header can ask for more than the caller expects.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Output;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; NumPy writes 118 bytes for three dimensions.
const HEADER_BYTES_MAX: usize = 4096;

/// Writes `planes`, one after another, each of `shape` (rows, columns).
pub(crate) fn write(path: &Path, planes: &[Vec<f32>], shape: (usize, usize)) -> Result<()> {
    let (channels, (rows, columns)) = (planes.len(), shape);
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({channels}, {rows}, {columns}), }}");
    // The data start at a multiple of 64.
    let fixed = MAGIC.len() + 4;
    let padded = (fixed + header.len() + 1).next_multiple_of(64) - fixed;
    header = format!("{header:<width$}\n", width = padded - 1);
    let mut output = Output::create(path)?;
    output.append(MAGIC)?;
    output.append(&[1, 0])?;
    output.append(&(padded as u16).to_le_bytes())?;
    output.append(header.as_bytes())?;
    for plane in planes {
        for row in plane.chunks(columns) {
            let bytes: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
            output.append(&bytes)?;
        }
    }
    output.finish()
}

/// Reads the planes of the array at `path`, which must be of `shape` (channels, rows, columns).
pub(crate) fn read(path: &Path, shape: (usize, usize, usize)) -> Result<Vec<Vec<f32>>> {
    let name = path.display();
    let mut file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let header = read_header(&mut file).with_context(|| format!("{name} is not a .npy file"))?;
    let fields = fields(&header).with_context(|| format!("{name}: its header cannot be read"))?;
    let (channels, rows, columns) = shape;
    if fields.descr != "<f4" || fields.fortran_order {
        bail!("{name}: the array must be float32 ('<f4') in C order, not '{}'", fields.descr);
    }
    let expected = format!("{channels},{rows},{columns}");
    if fields.shape != expected {
        bail!("{name}: the array's shape is ({}), not ({expected})", fields.shape);
    }
    let mut planes = Vec::with_capacity(channels);
    for _ in 0..channels {
        let mut bytes = vec![0; 4 * rows * columns];
        file.read_exact(&mut bytes).with_context(|| format!("{name} ends in the middle of the array"))?;
        let values = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        planes.push(values.collect());
    }
    Ok(planes)
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

/// The three fields of a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 64, 64), }`.
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
    #![allow(clippy::unwrap_used, reason = "tests")]
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
