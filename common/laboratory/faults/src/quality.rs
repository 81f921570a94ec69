//! Similarity of the pictures that the receiver shows to the source.
//!
//! The receiver writes them to a pipe besides showing them; the number drawn into each tells which picture of the source
//! it should be. Looking at one in [`EVERY`] costs little of the processor that the daemons need.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::Result;
use net::lock::lock;
use picture::frame::{BitDepth, Chroma, FrameRate, FrameSize, Raster};
use picture::y4m::{Y4mHeader, Y4mReader, Y4mWriter};
use sending::source::pattern::{Pattern, draw_number, read_row};

use crate::clip::Clip;
use crate::pictures::{each_picture, psnr};
use crate::testbed::pipe;

/// Of so many pictures one is compared.
pub(crate) const EVERY: usize = 10;
/// Pictures of a clip that are kept.
const CLIP_PICTURES: usize = 120;

/// Pictures that are sent.
pub(crate) enum Original {
    /// The test pattern, drawn again.
    Pattern(Box<Pattern>),
    /// The luma of a clip's pictures.
    Clip(Vec<Vec<u8>>),
    /// A clip whose numbers are in another form, which browsers read, too.
    Rival(Arc<Clip>),
}

impl Original {
    /// Returns a shown picture's PSNR-Y, dB; `None` if it does not tell its number. `drawn` is memory to use again.
    fn compare(&self, luma: &[u8], size: FrameSize, drawn: &mut Vec<u8>) -> Option<f64> {
        let sent = match self {
            Self::Rival(clip) => return clip.compare(luma, size),
            Self::Pattern(pattern) => {
                pattern.draw(read_row(luma, size, 0)?, read_row(luma, size, 1)?, drawn);
                drawn.get(..size.pixels())?
            }
            Self::Clip(lumas) => lumas.get(read_row(luma, size, 0)? as usize)?,
        };
        Some(psnr(sent, luma))
    }
}

/// Takes samples of what receivers show.
#[derive(Clone)]
pub(crate) struct Quality {
    original: Arc<Original>,
    samples: Arc<Mutex<Vec<(Instant, f64)>>>,
}

impl Quality {
    pub(crate) fn new(original: Arc<Original>) -> Self {
        Self { original, samples: Arc::default() }
    }

    /// Makes a pipe at `path` and compares what a receiver will write to it.
    pub(crate) fn watch(&self, path: &Path) -> Result<()> {
        pipe(path)?;
        let (this, path) = (self.clone(), path.to_owned());
        // It ends with the receiver, and with this process where no receiver has come.
        std::thread::spawn(move || this.read(&path));
        Ok(())
    }

    /// Returns the pictures seen since `began`: time after it, milliseconds, and PSNR-Y, dB.
    pub(crate) fn since(&self, began: Instant) -> Vec<(f64, f64)> {
        let samples = lock(&self.samples);
        let later = samples.iter().filter(|sample| sample.0 >= began);
        later.map(|&(at, psnr)| ((at - began).as_secs_f64() * 1e3, psnr)).collect()
    }

    /// Reads the file, which ends in the middle if the receiver is killed.
    fn read(&self, path: &PathBuf) -> Option<()> {
        let mut reader = Y4mReader::new(BufReader::with_capacity(1 << 20, File::open(path).ok()?)).ok()?;
        let size = reader.header().size;
        let (mut planes, mut drawn) = (Vec::new(), Vec::new());
        for count in 0usize.. {
            if !reader.read(&mut planes).ok()? {
                break;
            }
            if !count.is_multiple_of(EVERY) {
                continue;
            }
            let luma = planes.get(..size.pixels())?;
            let Some(psnr) = self.original.compare(luma, size, &mut drawn) else { continue };
            let sample = (Instant::now(), psnr);
            lock(&self.samples).push(sample);
        }
        Some(())
    }
}

/// Writes the first pictures of a clip (a sender's source such as `mjpeg:PATH` or `y4m:PATH`) to `to`, with their numbers
/// drawn in. Gives the source to send and what to compare with.
pub(crate) fn prepare_clip(clip: &str, frame_rate: FrameRate, to: &Path) -> Result<(String, Original)> {
    let (mut writer, mut lumas) = (None, Vec::new());
    each_picture(clip, CLIP_PICTURES, |info, mut planes| {
        let (size, chroma) = (info.size, Chroma::C420);
        let header = Y4mHeader {
            size,
            rate: Some(frame_rate),
            chroma,
            raster: Raster::default(),
            depth: BitDepth::Eight,
            colour: info.colour,
        };
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(Y4mWriter::new(File::create(to)?, &header)?),
        };
        draw_number(&mut planes[..size.pixels()], size, lumas.len() as u32);
        writer.write(&planes)?;
        lumas.push(planes[..size.pixels()].to_vec());
        Ok(())
    })?;
    Ok((format!("y4m:{}:loop:live", to.display()), Original::Clip(lumas)))
}
