//! Pictures and films as cameras and other programs really make them: each arrives with its colours, or its fault has a name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod clips;
mod films;
mod made;
mod stills;

use common::config::{SenderConfig, parse_sender, resolve_sender};
use made::{CELL, COLOURS, SIZE};
use picture::frame::{FrameSize, PixelFormat};
use sending::source::{self, SourceInfo, SourceSpec};

/// Most levels that a colour may be off.
const LEVELS: f64 = 2.0;

/// Returns the colour of a pixel, R G B, of samples as JPEGs have them.
fn pixel(format: PixelFormat, size: FrameSize, data: &[u8], (x, y): (usize, usize)) -> [f64; 3] {
    let (half, at) = (size.halved(), y * size.width() + x);
    let quarter = size.pixels() + y / 2 * half.width() + x / 2;
    let [luma, cb, cr] = match format {
        PixelFormat::YCbCr8 => [data[3 * at], data[3 * at + 1], data[3 * at + 2]],
        PixelFormat::Yuyv => {
            let pair = 4 * (y * half.width() + x / 2);
            [data[pair + 2 * (x % 2)], data[pair + 1], data[pair + 3]]
        }
        PixelFormat::I420 => [data[at], data[quarter], data[quarter + half.pixels()]],
        PixelFormat::I444 => [data[at], data[size.pixels() + at], data[2 * size.pixels() + at]],
        PixelFormat::Grey8 => [data[at], 128, 128],
        PixelFormat::Rgb8 | PixelFormat::Nv12 => panic!("{format:?} of a JPEG"),
    }
    .map(f64::from);
    let (cb, cr) = (cb - 128.0, cr - 128.0);
    [luma + 1.402 * cr, luma - 0.344_136 * cb - 0.714_136 * cr, luma + 1.772 * cb].map(|level| level.clamp(0.0, 255.0))
}

/// Returns the greatest error of the eight colours, levels, all over each but for two pixels at its edges.
#[track_caller]
fn error(format: PixelFormat, size: FrameSize, data: &[u8]) -> f64 {
    assert_eq!((size.width(), size.height(), data.len()), (SIZE.0, SIZE.1, format.bytes(size)), "{format:?}");
    let inner = |length: usize| (0..length).filter(|at| (2..CELL - 2).contains(&(at % CELL)));
    let mut worst = 0.0_f64;
    for y in inner(SIZE.1) {
        for x in inner(SIZE.0) {
            let colour = COLOURS[y / CELL * 4 + x / CELL].map(f64::from);
            let grey = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
            let wanted = if format == PixelFormat::Grey8 { [grey; 3] } else { colour };
            let found = pixel(format, size, data, (x, y));
            worst = found.iter().zip(wanted).fold(worst, |worst, (found, wanted)| worst.max((found - wanted).abs()));
        }
    }
    worst
}

fn config() -> SenderConfig {
    resolve_sender(&parse_sender("").unwrap()).unwrap()
}

/// A played file: its properties, pictures, and how many were skipped.
type Played = (SourceInfo, Vec<(PixelFormat, Vec<u8>)>, u64);

/// Plays a file as fast as it goes; the error is the sentence of a refusal.
fn play(kind: &str, name: &str, bytes: &[u8]) -> Result<Played, String> {
    let path = std::env::temp_dir().join(format!("duet-field-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let spec = SourceSpec::parse(&format!("{kind}:{}:fps=0", path.display())).unwrap();
    let mut pictures = Vec::new();
    let played = source::open(&spec, &config()).and_then(|mut source| {
        while let Some(picture) = source.next(Vec::new())? {
            pictures.push((picture.format, picture.data.to_vec()));
        }
        Ok((source.info(), pictures, source.skipped()))
    });
    std::fs::remove_file(&path).unwrap();
    played.map_err(|failure| failure.message)
}
