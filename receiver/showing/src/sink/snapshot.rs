//! A picture kept as a file, written on a thread of its own.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};

/// Saves `pixels` (0x00RRGGBB, `width` a row) as a PNG file beside the user's other pictures, and tells `done` in a
/// sentence how that went.
pub(super) fn save(pixels: Vec<u32>, width: usize, done: Sender<String>) {
    let failed = done.clone();
    let write = move || {
        let said = match create(&folder()) {
            Ok((file, path)) => match encode(file, &pixels, width) {
                Ok(()) => format!("Saved {}", path.display()),
                Err(error) => format!("Cannot save {}: {error}", path.display()),
            },
            Err(error) => format!("Cannot save the picture in {}: {error}", folder().display()),
        };
        // The window may have gone.
        let _ = done.send(said);
    };
    if let Err(error) = thread::Builder::new().name("snapshot".to_owned()).spawn(write) {
        let _ = failed.send(format!("Cannot save the picture: {error}"));
    }
}

/// Returns the user's folder of pictures, else the home folder, else the one that the program was started in.
fn folder() -> PathBuf {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let pictures = home.join("Pictures");
    if pictures.is_dir() { pictures } else { home }
}

/// Returns the first `duet-N.png` that is not there yet.
fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    for number in 1..=9999 {
        let path = folder.join(format!("duet-{number}.png"));
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((file?, path)),
        }
    }
    Err(io::Error::other("duet-1.png to duet-9999.png are all there"))
}

fn encode(file: File, pixels: &[u32], width: usize) -> Result<(), image::ImageError> {
    let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_be_bytes().into_iter().skip(1)).collect();
    let height = pixels.len() / width.max(1);
    let encoder = PngEncoder::new(BufWriter::new(file));
    encoder.write_image(&bytes, width as u32, height as u32, ExtendedColorType::Rgb8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_takes_no_other_ones_place_and_has_the_colours() {
        let folder = std::env::temp_dir().join(format!("duet-snapshot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (_, first) = create(&folder).unwrap();
        let (file, second) = create(&folder).unwrap();
        assert_ne!(first, second);
        encode(file, &[0x0011_2233, 0x00ff_0080], 2).unwrap();
        let read = image::open(&second).unwrap().to_rgb8();
        assert_eq!((read.dimensions(), read.as_raw().as_slice()), ((2, 1), &[0x11, 0x22, 0x33, 0xff, 0, 0x80][..]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
