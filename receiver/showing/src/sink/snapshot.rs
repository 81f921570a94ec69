//! A picture kept as a file, written on a thread of its own.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;

use common::config::SnapshotFile;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use kernels::BackendChoice;
use lab::jpeg2000::{self, Colour, Options, Source, Target};

/// Saves `pixels` (0x00RRGGBB, `width` a row) as a file of this kind beside the user's other pictures, and tells `done` in a
/// sentence how that went.
pub(super) fn save(pixels: Vec<u32>, width: usize, kind: SnapshotFile, done: Sender<String>) {
    let failed = done.clone();
    let write = move || {
        let said = match create(&folder(), kind) {
            Ok((file, path)) => match encode(file, &pixels, width, kind) {
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

/// Returns the first `duet-N.png` or `duet-N.jph` that is not there yet.
fn create(folder: &Path, kind: SnapshotFile) -> io::Result<(File, PathBuf)> {
    let ending = match kind {
        SnapshotFile::Png => "png",
        SnapshotFile::Jph => "jph",
    };
    for number in 1..=9999 {
        let path = folder.join(format!("duet-{number}.{ending}"));
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((file?, path)),
        }
    }
    Err(io::Error::other(format!("duet-1.{ending} to duet-9999.{ending} are all there")))
}

fn encode(mut file: File, pixels: &[u32], width: usize, kind: SnapshotFile) -> Result<(), Box<dyn Error>> {
    let height = pixels.len() / width.max(1);
    let bytes: Vec<u8> = pixels.iter().flat_map(|pixel| pixel.to_be_bytes().into_iter().skip(1)).collect();
    match kind {
        SnapshotFile::Png => {
            let encoder = PngEncoder::new(BufWriter::new(file));
            encoder.write_image(&bytes, width as u32, height as u32, ExtendedColorType::Rgb8)?;
        }
        SnapshotFile::Jph => file.write_all(&jph(&bytes, (width, height))?)?,
    }
    Ok(())
}

/// Returns a picture as the bytes of a file of JPEG 2000, by the processor: a call may have the graphics card.
fn jph(bytes: &[u8], size: (usize, usize)) -> Result<Vec<u8>, jpeg2000::Jpeg2000Error> {
    let picture = Source::of_pixels(size, Colour::Rgb, false, (bytes, Colour::Rgb.components()));
    let wrapping = Some(picture.colour());
    let options = Options { is_high_throughput: true, wrapping, ..Options::new(Target::Lossless) };
    jpeg2000::encode(picture, &options, (BackendChoice::Cpu, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_takes_no_other_ones_place_and_has_the_colours() {
        let folder = std::env::temp_dir().join(format!("duet-snapshot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let picture = |kind| {
            let (_, first) = create(&folder, kind).unwrap();
            let (file, second) = create(&folder, kind).unwrap();
            assert_ne!(first, second);
            encode(file, &[0x0011_2233, 0x00ff_0080], 2, kind).unwrap();
            second
        };
        let wanted: [u8; 6] = [0x11, 0x22, 0x33, 0xff, 0, 0x80];
        let read = image::open(picture(SnapshotFile::Png)).unwrap().to_rgb8();
        assert_eq!((read.dimensions(), read.as_raw().as_slice()), ((2, 1), &wanted[..]));
        let bytes = std::fs::read(picture(SnapshotFile::Jph)).unwrap();
        let read = jpeg2000::decode(&bytes, 0, 6, (BackendChoice::Cpu, None)).unwrap().image;
        assert_eq!((read.width, read.height, read.colour), (2, 1, Colour::Rgb));
        let samples: Vec<i32> =
            (0..2).flat_map(|at| read.components.iter().map(move |component| component.samples[at])).collect();
        assert_eq!(samples, wanted.map(i32::from));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
