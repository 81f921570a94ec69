//! The resolution that a picture says it has.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The beginning of every PNG.
const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// Longest chunk that is looked into.
const CHUNK_MAX: u64 = 1 << 24;
/// The unit of a metre.
const METRE: u8 = 1;

/// Returns the pixels to a metre, along rows and columns, that a PNG says in its chunk pHYs.
pub(super) fn of_png(path: &Path) -> Option<[u32; 2]> {
    of(&mut BufReader::new(File::open(path).ok()?))
}

fn of(file: &mut impl Read) -> Option<[u32; 2]> {
    let mut signature = [0; 8];
    file.read_exact(&mut signature).ok().filter(|()| signature == SIGNATURE)?;
    loop {
        let mut head = [0; 8];
        file.read_exact(&mut head).ok()?;
        let (length, kind) = head.split_first_chunk::<4>()?;
        let length = u64::from(u32::from_be_bytes(*length));
        if kind == b"pHYs" {
            let mut content = [0; 9];
            file.read_exact(&mut content).ok()?;
            let [x @ .., _, _, _, _, _] = content;
            let [_, _, _, _, y @ .., unit] = content;
            let found = [x, y].map(u32::from_be_bytes);
            return (unit == METRE && !found.contains(&0)).then_some(found);
        }
        // What comes after the picture's data says nothing of it.
        if kind == b"IDAT" || length > CHUNK_MAX {
            return None;
        }
        // The chunk and its checksum.
        std::io::copy(&mut file.take(length + 4), &mut std::io::sink()).ok()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_says_its_pixels_to_a_metre() {
        let chunk = |kind: &[u8; 4], content: &[u8]| {
            [&(content.len() as u32).to_be_bytes()[..], kind, content, &[0; 4]].concat()
        };
        let head = [&SIGNATURE[..], &chunk(b"IHDR", &[0; 13])].concat();
        let size = [&11_811_u32.to_be_bytes()[..], &5906_u32.to_be_bytes(), &[METRE]].concat();
        let file = [&head[..], &chunk(b"gAMA", &[0; 4]), &chunk(b"pHYs", &size), &chunk(b"IDAT", &[])].concat();
        assert_eq!(of(&mut &file[..]), Some([11_811, 5906]));
        assert_eq!(of(&mut &file[..60]), None, "cut");
        assert_eq!(of(&mut &[&head[..], &chunk(b"IDAT", &[]), &chunk(b"pHYs", &size)].concat()[..]), None);
        let unknown = [&size[..8], &[0]].concat();
        assert_eq!(of(&mut &[&head[..], &chunk(b"pHYs", &unknown)].concat()[..]), None);
    }
}
