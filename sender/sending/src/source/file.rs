//! Files of pictures, played at their rate.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use common::units::Timestamp;
use net::clock;
use net::failure::Failure;
use picture::frame::{BitDepth, ColourSpace, FrameRate, PixelFormat, Raster};
use picture::y4m::{Y4mHeader, Y4mReader};

use super::duet::DuetFilm;
use super::film::Film;
use super::input::{Input, failed};
use super::mjpeg::MjpegFilm;
use super::spec::{Layout, Speed};
use super::{FrameSource, SourceFrame, SourceInfo};

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
            let &Y4mHeader { size, rate: own, depth, colour, raster, .. } = reader.header();
            if depth != BitDepth::Eight {
                return Err(failed(path, &format!("its samples have {} bits: a live stream's have 8", depth.bits())));
            }
            let info = SourceInfo { size, frame_rate: rate(own), colour, raster, is_live, is_there };
            played(Y4mFilm { reader, path: path.to_owned() }, info, playing)
        }
        Layout::Mjpeg => {
            let film = MjpegFilm::open(input, path)?;
            let (size, colour, raster) = (film.size(), ColourSpace::JPEG, Raster::default());
            let info = SourceInfo { size, frame_rate: rate(None), colour, raster, is_live, is_there };
            played(film, info, playing)
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
        Ok(format.map(|format| SourceFrame { format, data: data.into(), capture: self.player.wait(), info: None }))
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
