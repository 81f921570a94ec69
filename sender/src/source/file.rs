//! Files of pictures, played at their rate.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use common::units::Timestamp;
use picture::frame::{BitDepth, ColourSpace, FrameRate, FrameSize, PixelFormat};
use picture::y4m::{Y4mHeader, Y4mReader};
use shell::clock;
use shell::exit::Failure;

use super::duet::DuetFilm;
use super::input::{Input, failed};
use super::mjpeg::MjpegReader;
use super::spec::{Layout, Speed};
use super::{FrameSource, SourceFrame, SourceInfo, jpeg};

/// Opens a file. `configured` wins over the rate in a file's header, `fallback` stands in where there is none.
pub(super) fn open(
    layout: Layout,
    path: &Path,
    repeat: bool,
    (is_live, pace): (bool, Speed),
    configured: Option<FrameRate>,
    fallback: FrameRate,
) -> Result<Box<dyn FrameSource>, Failure> {
    let input = Input::open(path)?;
    let rate = |own: Option<FrameRate>| match pace {
        Speed::Rate(rate) => rate,
        Speed::Own | Speed::Free => configured.or(own).unwrap_or(fallback),
    };
    let (is_there, playing) = (true, (repeat, pace));
    Ok(match layout {
        Layout::Y4m => {
            let reader = y4m(input, path)?;
            let &Y4mHeader { size, rate: own, depth, colour, .. } = reader.header();
            if depth != BitDepth::Eight {
                return Err(failed(path, &format!("its samples have {} bits: a live stream's have 8", depth.bits())));
            }
            let info = SourceInfo { size, frame_rate: rate(own), colour, is_live, is_there };
            played(Y4mFilm { reader, path: path.to_owned() }, info, playing)
        }
        Layout::Mjpeg => {
            let mut pictures = Pictures { reader: Some(MjpegReader::new(input)), damaged: 0, broken: 0, why: None };
            let mut data = Vec::new();
            let first = pictures.next(&mut data, path)?;
            let Some((format, size)) = first else {
                let why = pictures.why.map_or_else(String::new, |why| format!(" that can be used: {why}"));
                return Err(Failure::usage(format!("{}: there is no JPEG picture in it{why}", path.display())));
            };
            let info = SourceInfo { size, frame_rate: rate(None), colour: ColourSpace::JPEG, is_live, is_there };
            played(MjpegFilm { pictures, first: Some((format, data)), size, path: path.to_owned() }, info, playing)
        }
        Layout::Duet => {
            let film = DuetFilm::open(input, path)?;
            let info = SourceInfo { frame_rate: rate(Some(film.info().frame_rate)), is_live, ..film.info() };
            played(film, info, playing)
        }
    })
}

/// Waits until each picture's time has come.
struct Player {
    rate: Option<FrameRate>,
    next: Option<Timestamp>,
}

impl Player {
    /// Waits for the next picture's time, which counts as its capture. A pipeline that fell behind does not catch up
    /// by more than one interval.
    fn wait(&mut self) -> Timestamp {
        let now = clock::now();
        let Some(rate) = self.rate else { return now };
        let due = self.next.map_or(now, |next| if now.since(next) > rate.interval() { now } else { next });
        self.next = Some(due + rate.interval());
        clock::sleep_until(due);
        clock::now()
    }
}

/// The pictures of a file.
trait Film {
    /// Reads the next picture into `data` and returns the order of its samples; none at the end.
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure>;

    /// Goes back to the first picture.
    fn begin_again(&mut self) -> Result<(), Failure>;

    /// Returns the pictures that could not be used so far.
    fn skipped(&self) -> u64 {
        0
    }
}

/// A file that is played.
struct Played<F> {
    film: F,
    repeat: bool,
    info: SourceInfo,
    player: Player,
}

impl<F: Film> FrameSource for Played<F> {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let mut format = self.film.next(&mut data)?;
        // A round that gives no picture is the last one.
        if format.is_none() && self.repeat {
            self.film.begin_again()?;
            format = self.film.next(&mut data)?;
        }
        Ok(format.map(|format| SourceFrame { format, data, capture: self.player.wait() }))
    }

    fn skipped(&self) -> u64 {
        self.film.skipped()
    }
}

fn played(film: impl Film + 'static, info: SourceInfo, (repeat, pace): (bool, Speed)) -> Box<dyn FrameSource> {
    let rate = (pace != Speed::Free).then_some(info.frame_rate);
    Box::new(Played { film, repeat, info, player: Player { rate, next: None } })
}

struct Y4mFilm {
    reader: Y4mReader<BufReader<Input>>,
    path: PathBuf,
}

fn y4m(input: Input, path: &Path) -> Result<Y4mReader<BufReader<Input>>, Failure> {
    Y4mReader::new(BufReader::with_capacity(1 << 20, input)).map_err(|error| failed(path, &error))
}

impl Film for Y4mFilm {
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure> {
        let is_there = self.reader.read(data).map_err(|error| failed(&self.path, &error))?;
        Ok(is_there.then(|| self.reader.header().format()))
    }

    fn begin_again(&mut self) -> Result<(), Failure> {
        let reader = y4m(Input::open_again(&self.path)?, &self.path)?;
        if reader.header() != self.reader.header() {
            return Err(failed(&self.path, &"it has changed while it was played"));
        }
        self.reader = reader;
        Ok(())
    }
}

/// The pictures of a file that can be decoded.
struct Pictures {
    reader: Option<MjpegReader<Input>>,
    /// Pictures whose data were damaged.
    damaged: u64,
    /// Pictures whose structure was broken, in earlier rounds.
    broken: u64,
    /// The fault of the last one that was damaged.
    why: Option<String>,
}

impl Pictures {
    fn next(&mut self, data: &mut Vec<u8>, path: &Path) -> Result<Option<(PixelFormat, FrameSize)>, Failure> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        while let Some(bytes) = reader.next_picture().map_err(|error| failed(path, &error))? {
            match jpeg::decode(bytes, true, data) {
                Ok(picture) => return Ok(Some(picture)),
                Err(error) => {
                    self.damaged += 1;
                    tracing::debug!("{}: a picture was skipped: {error}", path.display());
                    self.why = Some(error);
                }
            }
        }
        Ok(None)
    }

    fn begin_again(&mut self, path: &Path) -> Result<(), Failure> {
        if let Some(reader) = self.reader.take() {
            self.broken += reader.broken();
            let mut input = reader.into_inner();
            input.rewind(path)?;
            self.reader = Some(MjpegReader::new(input));
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.damaged + self.broken + self.reader.as_ref().map_or(0, MjpegReader::broken)
    }
}

struct MjpegFilm {
    pictures: Pictures,
    first: Option<(PixelFormat, Vec<u8>)>,
    size: FrameSize,
    path: PathBuf,
}

impl Film for MjpegFilm {
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure> {
        if let Some((format, first)) = self.first.take() {
            *data = first;
            return Ok(Some(format));
        }
        while let Some((format, size)) = self.pictures.next(data, &self.path)? {
            if size == self.size {
                return Ok(Some(format));
            }
            self.pictures.damaged += 1;
            tracing::debug!("{}: a picture of {size} was skipped", self.path.display());
        }
        Ok(None)
    }

    fn begin_again(&mut self) -> Result<(), Failure> {
        self.pictures.begin_again(&self.path)
    }

    fn skipped(&self) -> u64 {
        self.pictures.skipped()
    }
}

impl Film for DuetFilm {
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure> {
        Ok(self.read(data)?.then(|| self.format()))
    }

    fn begin_again(&mut self) -> Result<(), Failure> {
        self.open_again()
    }

    fn skipped(&self) -> u64 {
        self.damaged()
    }
}
