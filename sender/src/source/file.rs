//! Files of pictures, played at their rate.

use std::io::BufReader;
use std::path::Path;

use common::units::Timestamp;
use picture::frame::{BitDepth, ColourSpace, FrameRate, PixelFormat};
use picture::y4m::{Y4mError, Y4mReader};
use shell::clock;
use shell::exit::Failure;

use super::input::{Input, failed};
use super::mjpeg::MjpegReader;
use super::spec::{Layout, Speed};
use super::{FrameSource, SourceFrame, SourceInfo, duet, jpeg};

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
    let frames_end = |rate| Player { rate: (pace != Speed::Free).then_some(rate), next: None };
    Ok(match layout {
        Layout::Y4m => {
            let reader =
                Y4mReader::new(BufReader::with_capacity(1 << 20, input)).map_err(|error| failed(path, &error))?;
            let header = reader.header();
            if header.depth != BitDepth::Eight {
                return Err(failed(
                    path,
                    &format!("its samples have {} bits: a live stream's have 8", header.depth.bits()),
                ));
            }
            let info = SourceInfo {
                size: header.size,
                frame_rate: rate(header.rate),
                colour: header.colour,
                is_live,
                is_there: true,
            };
            let player = frames_end(info.frame_rate);
            Box::new(Y4mFile { reader, repeat, info, player, name: path.display().to_string() })
        }
        Layout::Mjpeg => {
            let mut pictures = Pictures { reader: Some(MjpegReader::new(input)), damaged: 0, broken: 0, why: None };
            let mut data = Vec::new();
            let first = pictures.next(&mut data, path)?;
            let Some((format, size)) = first else {
                let why = pictures.why.map_or_else(String::new, |why| format!(" that can be used: {why}"));
                return Err(Failure::usage(format!("{}: there is no JPEG picture in it{why}", path.display())));
            };
            let info = SourceInfo { size, frame_rate: rate(None), colour: ColourSpace::JPEG, is_live, is_there: true };
            let player = frames_end(info.frame_rate);
            Box::new(MjpegFile { pictures, first: Some((format, data)), repeat, info, player, path: path.to_owned() })
        }
        Layout::Duet => {
            let film = duet::Film::open(input, path)?;
            let info = SourceInfo { frame_rate: rate(Some(film.info().frame_rate)), is_live, ..film.info() };
            Box::new(DuetFile { film, repeat, info, player: frames_end(info.frame_rate), path: path.to_owned() })
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

struct Y4mFile {
    reader: Y4mReader<BufReader<Input>>,
    repeat: bool,
    info: SourceInfo,
    player: Player,
    name: String,
}

impl Y4mFile {
    fn begin_again(&mut self) -> Result<(), Failure> {
        let path = Path::new(&self.name);
        let mut input = Input::open(path)?;
        input.rewind(path)?;
        let reader = Y4mReader::new(BufReader::with_capacity(1 << 20, input)).map_err(|error| failed(path, &error))?;
        if reader.header() != self.reader.header() {
            return Err(failed(path, &"it has changed while it was played"));
        }
        self.reader = reader;
        Ok(())
    }
}

impl FrameSource for Y4mFile {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let fail = |name: &str, error: Y4mError| failed(Path::new(name), &error);
        let mut there = self.reader.read(&mut data).map_err(|error| fail(&self.name, error))?;
        if !there && self.repeat {
            self.begin_again()?;
            there = self.reader.read(&mut data).map_err(|error| fail(&self.name, error))?;
        }
        if !there {
            return Ok(None);
        }
        let format = self.reader.header().format();
        Ok(Some(SourceFrame { format, data, capture: self.player.wait() }))
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
    fn next(
        &mut self,
        data: &mut Vec<u8>,
        path: &Path,
    ) -> Result<Option<(PixelFormat, picture::frame::FrameSize)>, Failure> {
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

struct MjpegFile {
    pictures: Pictures,
    first: Option<(PixelFormat, Vec<u8>)>,
    repeat: bool,
    info: SourceInfo,
    player: Player,
    path: std::path::PathBuf,
}

impl FrameSource for MjpegFile {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        if let Some((format, data)) = self.first.take() {
            return Ok(Some(SourceFrame { format, data, capture: self.player.wait() }));
        }
        let mut rounds = 0;
        loop {
            match self.pictures.next(&mut data, &self.path)? {
                Some((format, size)) if size == self.info.size => {
                    return Ok(Some(SourceFrame { format, data, capture: self.player.wait() }));
                }
                Some((_, size)) => {
                    self.pictures.damaged += 1;
                    tracing::debug!("{}: a picture of {size} was skipped", self.path.display());
                }
                // A round that gives no picture is the last one.
                None if self.repeat && rounds == 0 => {
                    rounds += 1;
                    self.pictures.begin_again(&self.path)?;
                }
                None => return Ok(None),
            }
        }
    }

    fn skipped(&self) -> u64 {
        self.pictures.skipped()
    }
}

struct DuetFile {
    film: duet::Film,
    repeat: bool,
    info: SourceInfo,
    player: Player,
    path: std::path::PathBuf,
}

impl FrameSource for DuetFile {
    fn info(&self) -> SourceInfo {
        self.info
    }

    fn next(&mut self, mut data: Vec<u8>) -> Result<Option<SourceFrame>, Failure> {
        let mut there = self.film.next(&mut data)?;
        if !there && self.repeat {
            let mut input = Input::open(&self.path)?;
            input.rewind(&self.path)?;
            self.film.begin_again(input)?;
            there = self.film.next(&mut data)?;
        }
        let format = self.film.format();
        Ok(there.then(|| SourceFrame { format, data, capture: self.player.wait() }))
    }

    fn skipped(&self) -> u64 {
        self.film.damaged()
    }
}
