//! `wavelet decode` and `wavelet info`: whole and damaged parts of `.duet` files.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBarIter;
use kernels::{BackendInfo, ClipDecoder, DecodeError, Picture};
use lab::pcwt::{PcwtDecoder, open_pcwt_decoder};
use picture::container::{ContainerReader, Content, Entry, FileError, FileFrame, PAUSE_MAX_S};
use picture::frame::BitDepth;
use picture::params::{Levels, Profile, StreamParams};

use crate::args::ComputeArgs;
use crate::fault::{Damaged, is_of_device};
use crate::io::{Kind, PICTURES, PictureInfo, Writer};
use crate::progress::{count, say};
use crate::{progress, stream};

/// Places of a file that are told one by one.
const TOLD_MAX: u64 = 20;

type Container = ContainerReader<BufReader<ProgressBarIter<File>>>;

fn open(path: &Path) -> Result<Container> {
    Kind::of(path, &[Kind::Duet])?;
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    let opened = ContainerReader::new(BufReader::with_capacity(1 << 20, progress::watched(file)?));
    opened.map_err(|error| {
        let is_damaged = error.get_ref().and_then(|error| error.downcast_ref()) == Some(&FileError::Head);
        match is_damaged {
            true => Damaged::new(format!("{name}: {error}")).into(),
            false => anyhow::Error::from(error).context(format!("{name} cannot be decoded")),
        }
    })
}

/// Tells what is damaged.
struct Damages<'a> {
    file: &'a Path,
    places: u64,
}

impl Damages<'_> {
    fn tell(&mut self, what: impl fmt::Display) {
        self.places += 1;
        if self.places <= TOLD_MAX {
            say(format_args!("{}: {what}", self.file.display()));
        }
    }

    /// Returns an error if anything is damaged; `done` says what became of the rest.
    fn outcome(&self, done: &str) -> Result<()> {
        let (name, places) = (self.file.display(), self.places);
        let more =
            if places > TOLD_MAX { format!(", of which {} are not listed", places - TOLD_MAX) } else { String::new() };
        let places = if places == 1 { "1 place".to_owned() } else { format!("{places} places{more}") };
        ensure!(self.places == 0, Damaged::new(format!("{name} is damaged in {places}; {done}")));
        Ok(())
    }
}

/// Length of pauses, all together, that are filled without being asked for; beyond that as many pictures as have frames. A recording's
/// outages are longer, but so are those of a file of a few bytes that says so.
const FILLED_MAX_S: f64 = 60.0;

/// Fails if the pauses of `input` are longer than anybody expects of such a file.
fn check_pauses(input: &Path, picture_bytes: u64) -> Result<()> {
    let mut ahead = open(input)?;
    let rate = ahead.params().frame_rate.as_f64();
    let (mut next, mut frames, mut filled) = (0_u32, 0_u64, 0_u64);
    while let Some(entry) = ahead.next_entry().with_context(|| format!("{} cannot be read", input.display()))? {
        if let Entry::Frame(FileFrame { number, .. }) = entry {
            let pause = u64::from(number.saturating_sub(next));
            if pause as f64 > PAUSE_MAX_S * rate {
                // It is decoded up to there.
                break;
            }
            filled += pause;
            frames += 1;
            next = number.saturating_add(1);
        }
    }
    filled += u64::from(ahead.pictures().saturating_sub(next)).min((PAUSE_MAX_S * rate) as u64);
    ensure!(
        filled <= frames + (FILLED_MAX_S * rate) as u64,
        "{}: {filled} of its {} pictures have no frame, and the one before them would be written for each, {:.1} GB in all: to have \
         them, add --fill-pauses",
        input.display(),
        filled + frames,
        (filled + frames) as f64 * picture_bytes as f64 / 1e9
    );
    Ok(())
}

/// Parts of a file that are wanted.
pub(crate) struct Wanted {
    /// One picture, not a clip.
    pub(crate) is_still: bool,
    /// Levels that are left out.
    pub(crate) drop_levels: u8,
    /// Pauses are filled, however long they are.
    pub(crate) fills_pauses: bool,
}

/// Decodes the file `input` into the clip or picture `output`; `fills_pauses`: however long they are.
pub(crate) fn decode(
    input: &Path,
    output: &Path,
    drop_levels: u8,
    fills_pauses: bool,
    compute: &ComputeArgs,
) -> Result<String> {
    let is_still = Kind::of(output, &PICTURES)? != Kind::Y4m;
    let wanted = Wanted { is_still, drop_levels, fills_pauses };
    pictures(input, &wanted, compute, |info| Writer::create(output, info))
}

/// Returns the parameters of the stream in the file `input`.
pub(crate) fn params(input: &Path) -> Result<StreamParams> {
    open(input).map(|container| *container.params())
}

/// Decodes the pictures of the file `input` into what `writer` makes for them.
pub(crate) fn pictures(
    input: &Path,
    &Wanted { is_still: still, drop_levels, fills_pauses }: &Wanted,
    compute: &ComputeArgs,
    writer: impl FnOnce(PictureInfo) -> Result<Writer>,
) -> Result<String> {
    let name = input.display();
    if still {
        let mut ahead = open(input)?;
        while let Some(entry) = ahead.next_entry().with_context(|| format!("{name} cannot be read"))? {
            let is_later = matches!(&entry, Entry::Frame(frame) if frame.number > 0);
            ensure!(!is_later, "{name} holds more than one frame: write them to a .y4m file");
        }
    }
    let mut container = open(input)?;
    let params = *container.params();
    let mut frames = Frames::open(&params, drop_levels, compute)?;
    let params = StreamParams { size: params.size.halved_times(drop_levels.into()), ..params };
    let picture = grey(&params);
    if !still && !fills_pauses {
        check_pauses(input, picture.data().len() as u64)?;
    }
    let writer = writer(stream::decoded_info(&params))?;
    let mut clip = Clip { picture, writer, written: 0, decoded: 0, still };
    let mut damages = Damages { file: input, places: 0 };
    let pause_max = (PAUSE_MAX_S * params.frame_rate.as_f64()) as u32;
    while let Some(entry) = container.next_entry().with_context(|| format!("{name} cannot be read"))? {
        match entry {
            Entry::Damage(damage) => damages.tell(damage),
            Entry::Frame(FileFrame { number, content }) => {
                if number.saturating_sub(clip.written) > pause_max {
                    damages.tell(format_args!("frame {number} is more than an hour behind the one before it"));
                    break;
                }
                clip.hold_until(number, &mut frames)?;
                clip.frame(number, &content, &mut frames, &mut damages)?;
            }
        }
    }
    ensure!(clip.decoded > 0 || damages.places > 0, "{name}: there is no frame in it");
    if clip.decoded == 0 {
        damages.outcome("no frame of it can be decoded")?;
    }
    clip.hold_until(container.pictures().min(clip.written.saturating_add(pause_max)), &mut frames)?;
    let (written, backend) = (clip.written, frames.backend());
    let text = format!("{} of {}, {}: {}\n", count(written.into()), params.size, backend.kind, backend.device);
    clip.writer.finish()?;
    damages.outcome("the rest of it is decoded")?;
    Ok(text)
}

/// A picture of the stream without any detail.
fn grey(params: &StreamParams) -> Picture {
    let mut picture = Picture::decoded_from(params);
    match params.codec.depth {
        BitDepth::Eight => picture.data_mut().fill(128),
        BitDepth::Ten => {
            picture.data_mut().as_chunks_mut::<2>().0.iter_mut().for_each(|sample| *sample = 512_u16.to_le_bytes());
        }
    }
    picture
}

/// The pictures of a clip, as they are written.
struct Clip {
    picture: Picture,
    writer: Writer,
    written: u32,
    /// Those that have a frame.
    decoded: u64,
    still: bool,
}

impl Clip {
    /// Writes the last picture again for those without a frame before `number`.
    fn hold_until(&mut self, number: u32, frames: &mut Frames) -> Result<()> {
        while self.written < number && !self.still {
            frames.hold(&mut self.picture)?;
            self.write()?;
        }
        Ok(())
    }

    fn frame(&mut self, number: u32, content: &Content, frames: &mut Frames, damages: &mut Damages<'_>) -> Result<()> {
        if let Content::Blocks { frame, damaged: lost @ 1.., .. } = content {
            damages.tell(format_args!("frame {number}: {lost} of its {} blocks are damaged", frame.block_count()));
        }
        let (damaged, held) = frames.bad();
        match frames.decode(content, &mut self.picture) {
            Ok(()) => self.decoded += 1,
            Err(error) if is_of_device(&error) => return Err(error),
            Err(error) => damages.tell(format_args!("frame {number}: {error}")),
        }
        let (bad_blocks, held) = (frames.bad().0 - damaged, frames.bad().1 - held);
        if bad_blocks > 0 {
            damages.tell(format_args!("frame {number}: {bad_blocks} blocks hold bytes that no encoder makes"));
        }
        if held > 0 {
            damages.tell(format_args!("frame {number} refers to one that is not there: the picture before it stands"));
        }
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.written += 1;
        self.writer.write(self.picture.data())
    }
}

/// The decoder of a file's profile.
enum Frames {
    Blocks(Box<ClipDecoder>),
    Pcwt(Box<dyn PcwtDecoder>),
}

impl Frames {
    fn open(params: &StreamParams, drop_levels: u8, compute: &ComputeArgs) -> Result<Self> {
        let (choice, device) = (compute.backend, compute.device.as_deref());
        Ok(match params.codec.profile {
            Profile::Quad | Profile::Predicted(_) => {
                let is_whole = drop_levels == 0 || params.codec.profile == Profile::Quad;
                ensure!(is_whole, "--drop-levels does not go with predicted frames: leave it out");
                let decoder = ClipDecoder::open_smaller(params, drop_levels.into(), (choice, device))?;
                Self::Blocks(Box::new(decoder))
            }
            Profile::Pcwt => {
                ensure!(drop_levels == 0, "--drop-levels does not go with the profile pcwt: leave it out");
                Self::Pcwt(open_pcwt_decoder(params, choice, device)?)
            }
        })
    }

    fn decode(&mut self, content: &Content, out: &mut Picture) -> Result<()> {
        match (self, content) {
            (Self::Blocks(decoder), Content::Blocks { reference, frame, .. }) => {
                Ok(decoder.decode(*reference, frame, out)?)
            }
            (Self::Pcwt(decoder), Content::Bytes(bytes)) => {
                let before = out.clone();
                let decoded = decoder.decode(bytes, out);
                if decoded.is_err() {
                    *out = before;
                }
                Ok(decoded?)
            }
            // A reader gives what the profile has.
            (Self::Blocks(_), Content::Bytes(_)) | (Self::Pcwt(_), Content::Blocks { .. }) => Ok(()),
        }
    }

    /// The picture stands for a frame that is not there.
    fn hold(&mut self, out: &mut Picture) -> Result<(), DecodeError> {
        match self {
            Self::Blocks(decoder) => decoder.hold(out),
            Self::Pcwt(_) => Ok(()),
        }
    }

    /// Returns the number of blocks so far with bytes that no encoder makes, and that of frames whose reference was not there.
    fn bad(&self) -> (u64, u64) {
        match self {
            Self::Blocks(decoder) => (decoder.damaged_blocks(), decoder.held_frames()),
            Self::Pcwt(_) => (0, 0),
        }
    }

    fn backend(&self) -> &BackendInfo {
        match self {
            Self::Blocks(decoder) => decoder.backend(),
            Self::Pcwt(decoder) => decoder.backend(),
        }
    }
}

/// Describes the file `input`.
pub(crate) fn info(input: &Path) -> Result<String> {
    let mut container = open(input)?;
    let params = *container.params();
    let StreamParams { size, frame_rate, chroma, colour, codec, .. } = params;
    let levels = match codec.levels {
        Levels::Full => "full".to_owned(),
        Levels::AtMost(levels) => levels.to_string(),
    };
    let checks = if container.is_checked() { "with checksums" } else { "without checksums: damage may go unseen" };
    let mut damages = Damages { file: input, places: 0 };
    let (mut frames, mut partial) = (0_u64, 0);
    while let Some(entry) = container.next_entry().with_context(|| format!("{} cannot be read", input.display()))? {
        match entry {
            Entry::Damage(damage) => damages.tell(damage),
            Entry::Frame(FileFrame { number, content }) => {
                frames += 1;
                if let Content::Blocks { frame, damaged, .. } = content {
                    partial += u64::from(frame.missing() > damaged);
                    if damaged > 0 {
                        let all = frame.block_count();
                        damages.tell(format_args!("frame {number}: {damaged} of its {all} blocks are damaged"));
                    }
                }
            }
        }
    }
    let pictures = container.pictures();
    let (bytes, seconds) = (input.metadata().map_or(0, |file| file.len()), f64::from(pictures) / frame_rate.as_f64());
    let bits_per_pixel = bytes as f64 * 8.0 / (f64::from(pictures.max(1)) * size.pixels() as f64);
    let text = format!(
        "file         {checks}\n\
         pictures     {size}, {chroma:?}, {:?}, {:?} range, {:.2} a second\n\
         code         {:?}, {:?}, {} bits, levels {levels}, {:?} boundary, {:?} padding, {:?} weights\n\
         length       {seconds:.2} s, {pictures} pictures, {frames} frames, {partial} of them without some blocks\n\
         size         {bytes} bytes, {bits_per_pixel:.4} bit per pixel\n",
        colour.matrix,
        colour.range,
        frame_rate.as_f64(),
        codec.profile,
        codec.wavelet,
        match codec.depth {
            BitDepth::Eight => 8,
            BitDepth::Ten => 10,
        },
        codec.boundary,
        codec.padding,
        codec.weights,
    );
    // What is known is of use, damaged or not.
    let _ = std::io::stdout().write_all(text.as_bytes());
    damages.outcome("the rest of it is whole")?;
    Ok(String::new())
}
