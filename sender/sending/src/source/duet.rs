//! The pictures of a `.duet` file.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use kernels::{BackendChoice, ClipDecoder, CodecError, Picture};
use net::failure::Failure;
use picture::container::{ContainerReader, Content, Entry, FileFrame, PAUSE_MAX_S};
use picture::frame::{BitDepth, PixelFormat};
use picture::params::{Profile, StreamParams};
use shell::exit::codec_failure;

use super::SourceInfo;
use super::input::{Input, failed};

/// A file being decoded. What is damaged is passed over and counted, and the picture before stands for it.
pub(super) struct DuetFilm {
    reader: ContainerReader<BufReader<Input>>,
    frames: ClipDecoder,
    picture: Picture,
    /// The number of the next picture, and the frame that comes next.
    next: u32,
    frame: Option<FileFrame>,
    /// The number of pictures, once the end has been read.
    until: Option<u32>,
    damaged: u64,
    path: PathBuf,
}

/// Opens the decoder of a file's frames.
fn decoder(params: &StreamParams, path: &Path) -> Result<ClipDecoder, Failure> {
    if params.codec.profile == Profile::Pcwt {
        let message = "its frames are of the profile pcwt, which cannot be played: make a .y4m file of it with \
                       `wavelet decode`";
        return Err(failed(path, &message));
    }
    // The device is the encoder's.
    ClipDecoder::open(params, BackendChoice::Cpu)
        .map_err(|error| Failure { message: format!("{}: {error}", path.display()), ..codec_failure(&error) })
}

impl DuetFilm {
    pub(super) fn open(input: Input, path: &Path) -> Result<Self, Failure> {
        let reader = read(input, path)?;
        let params = *reader.params();
        if params.codec.depth != BitDepth::Eight || params.chroma.picture_format() == PixelFormat::Rgb8 {
            let message = format!(
                "its pictures are {:?} with {} bits a sample: a live stream's are 420, 444 or grey with 8",
                params.chroma,
                params.codec.depth.bits()
            );
            return Err(failed(path, &message));
        }
        let mut picture = Picture::for_stream(params.chroma, params.size);
        picture.data_mut().fill(128);
        let frames = decoder(&params, path)?;
        Ok(Self { reader, frames, picture, next: 0, frame: None, until: None, damaged: 0, path: path.to_owned() })
    }

    pub(super) fn info(&self) -> SourceInfo {
        let StreamParams { size, frame_rate, colour, raster, .. } = *self.reader.params();
        SourceInfo { size, frame_rate, colour, raster, is_live: false, is_there: true }
    }

    pub(super) fn format(&self) -> PixelFormat {
        self.reader.params().chroma.picture_format()
    }

    pub(super) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Opens the file again, to play it from its begin.
    pub(super) fn open_again(&mut self) -> Result<(), Failure> {
        let reader = read(Input::open_again(&self.path)?, &self.path)?;
        if reader.params() != self.reader.params() {
            return Err(failed(&self.path, &"it has changed while it was played"));
        }
        self.frames = decoder(reader.params(), &self.path)?;
        (self.reader, self.next, self.frame, self.until) = (reader, 0, None, None);
        Ok(())
    }

    /// Puts the next picture into `data`; false at the end.
    pub(super) fn read(&mut self, data: &mut Vec<u8>) -> Result<bool, Failure> {
        while self.frame.is_none() && self.until.is_none() {
            match self.reader.next_entry().map_err(|error| failed(&self.path, &error))? {
                Some(Entry::Frame(frame)) => self.frame = Some(self.checked(frame)?),
                Some(Entry::Damage(damage)) => {
                    self.damaged += 1;
                    tracing::debug!("{}: {damage}", self.path.display());
                }
                None => self.until = Some(self.reader.pictures()),
            }
        }
        let due = self.frame.take_if(|frame| frame.number <= self.next);
        let done = match &due {
            Some(FileFrame { content: Content::Blocks { reference, frame, .. }, .. }) => {
                self.frames.decode(*reference, frame, &mut self.picture)
            }
            // A reader gives what the profile has.
            Some(FileFrame { content: Content::Bytes(_), .. }) => Ok(()),
            None if self.until.is_some_and(|until| self.next >= until) => return Ok(false),
            None => self.frames.hold(&mut self.picture),
        };
        match done {
            Ok(()) => {}
            Err(error) if error.is_of_device() => return Err(codec_failure(&error)),
            Err(error) => {
                self.damaged += 1;
                tracing::debug!("{}, picture {}: {error}", self.path.display(), self.next);
            }
        }
        self.next += 1;
        data.clear();
        data.extend_from_slice(self.picture.data());
        Ok(true)
    }

    /// The frame, unless nobody would wait for it.
    fn checked(&mut self, frame: FileFrame) -> Result<FileFrame, Failure> {
        if let Content::Blocks { damaged: 1.., .. } = &frame.content {
            self.damaged += 1;
        }
        let pause = f64::from(frame.number.saturating_sub(self.next)) / self.reader.params().frame_rate.as_f64();
        if pause > PAUSE_MAX_S {
            let message = format!("frame {} is more than an hour behind the one before it", frame.number);
            return Err(failed(&self.path, &message));
        }
        Ok(frame)
    }
}

fn read(input: Input, path: &Path) -> Result<ContainerReader<BufReader<Input>>, Failure> {
    ContainerReader::new(BufReader::with_capacity(1 << 20, input)).map_err(|error| failed(path, &error))
}
