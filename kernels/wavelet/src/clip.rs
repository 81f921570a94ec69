//! `wavelet encode` and `wavelet decode`: `.duet` files.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use common::coded::ReceivedFrame;
use common::container::{self, ContainerReader};
use common::frame::{Chroma, FrameSize};
use common::params::{Profile, StreamParams};
use kernels::motion::{
    PredictError, PredictedEncoder, PredictionSettings, open_predicted_decoder, open_predicted_encoder,
};
use kernels::quality::QualityEncoder;
use kernels::{BackendInfo, EncodeError, Encoder, OpenError, Picture, PictureRef, Target};

use crate::args::{ChromaName, CodingArgs, ComputeArgs, ProfileName, TransformArgs};
use crate::io::{Kind, Output, PICTURES, Reader, Writer};
use crate::options::{self, Rate};
use crate::{pcwt, picture};

/// Bytes that the container adds to each frame's [`common::wire::run::coded_size`]: its length.
const FRAME_LENGTH_BYTES: usize = 4;

/// Codes every picture of `input` into the file `output`.
pub(crate) fn encode(
    input: &Path,
    output: &Path,
    coding: &CodingArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    if coding.profile == ProfileName::Pcwt {
        return pcwt::encode(input, output, coding, transform, compute);
    }
    let rate = options::rate(coding)?;
    let mut codec = options::codec_params(transform, rate, coding.weights)?;
    let prediction = options::prediction(&coding.prediction, rate)?;
    if let Some(settings) = prediction {
        codec.profile = Profile::Predicted(settings.reference_age);
    }
    Kind::of(output, &[Kind::Duet])?;
    let mut reader = Reader::open(input)?;
    let info = reader.info();
    if rate == Rate::Lossless {
        reader.check_exact(input)?;
    }
    let own = picture::own_chroma(info.format);
    let chroma = match (coding.chroma, own) {
        (None, _) if rate == Rate::Lossless => picture::exact_chroma(info.format),
        (Some(_), _) if rate == Rate::Lossless => {
            bail!("--chroma does not go with --lossless, which keeps what the file has: leave it out")
        }
        (Some(ChromaName::C420), _) => Chroma::C420,
        (Some(ChromaName::C444), _) => Chroma::C444,
        (None, Chroma::C444) if reader.is_still() => Chroma::C420,
        (None, own) => own,
    };
    let params = picture::stream_params(&info, chroma, codec);
    let mut encoder = Coder::open(&params, rate, prediction, compute)?;
    let mut bytes = Vec::new();
    container::write_header(&params, &mut bytes)?;
    let mut file = Output::create(output)?;
    let (mut frames, mut total) = (0_u64, 0);
    while let Some(data) = reader.next()? {
        // `bytes` holds the file's head before the first frame, so that frame pays for it.
        let picture = info.picture(&data)?;
        encoder.encode(picture, rate, &mut bytes)?;
        file.append(&bytes)?;
        total += bytes.len();
        frames += 1;
        bytes.clear();
    }
    ensure!(frames > 0, "{}: there is no picture in it", input.display());
    file.finish()?;
    let bits_per_pixel = total as f64 * 8.0 / (frames as f64 * params.size.pixels() as f64);
    let (size, backend) = (params.size, encoder.backend());
    let (name, device) = (backend.kind, &backend.device);
    let (count, remarks) = (count(frames), encoder.remarks());
    Ok(format!("{count} of {size}, {total} bytes, {bits_per_pixel:.4} bit per pixel{remarks}, {name}: {device}\n"))
}

/// Codes to a size or step, or to a quality.
enum Coder {
    Encoder(Box<dyn Encoder>),
    /// With the least PSNR of a frame so far.
    Quality(QualityEncoder, f64),
    /// With how many frames so far have no reference.
    Predicted(Box<PredictedEncoder>, u64),
}

impl Coder {
    fn open(
        params: &StreamParams,
        rate: Rate,
        prediction: Option<PredictionSettings>,
        compute: &ComputeArgs,
    ) -> Result<Self, OpenError> {
        let (choice, device) = (options::backend(compute.backend), compute.device.as_deref());
        if let Some(settings) = prediction {
            let encoder = open_predicted_encoder(params, settings, choice, device)?;
            return Ok(Self::Predicted(Box::new(encoder), 0));
        }
        Ok(match rate {
            Rate::Quality(_) => Self::Quality(QualityEncoder::open(params, choice, device)?, f64::INFINITY),
            _ => Self::Encoder(kernels::open_encoder(params, choice, device)?),
        })
    }

    /// Appends a frame to `bytes`, and lets it pay for what is there already.
    fn encode(&mut self, picture: PictureRef<'_>, rate: Rate, bytes: &mut Vec<u8>) -> Result<()> {
        let overhead_bytes = bytes.len() + FRAME_LENGTH_BYTES;
        let size = picture.size();
        let target = match (&mut *self, rate) {
            (Self::Quality(encoder, least), Rate::Quality(decibels)) => {
                let reached = encoder.encode(picture, decibels)?;
                *least = least.min(reached.psnr_db);
                return Ok(container::write_frame(&reached.frame, bytes)?);
            }
            (_, Rate::BitsPerPixel(bpp)) => Target::Bytes(bytes_per_frame(bpp, size).saturating_sub(overhead_bytes)),
            (_, Rate::BytesPerFrame(bytes)) => Target::Bytes(bytes.saturating_sub(overhead_bytes)),
            (_, Rate::Step(step)) => Target::Step(step),
            (_, Rate::Lossless | Rate::Quality(_)) => Target::Lossless,
        };
        let explain = |error| explain(error, rate, overhead_bytes);
        match self {
            Self::Encoder(encoder) => {
                container::write_frame(&encoder.encode(picture, target).map_err(explain)?, bytes)?;
            }
            Self::Predicted(encoder, alone) => {
                let frame = encoder.encode(picture, target).map_err(|error| match error {
                    PredictError::Encode(error) => explain(error),
                    PredictError::Decode(error) => error.into(),
                })?;
                *alone += u64::from(frame.reference == 0);
                container::write_predicted_frame(&frame, bytes)?;
            }
            Self::Quality(..) => bail!("this encoder was opened for a quality"),
        }
        Ok(())
    }

    fn backend(&self) -> &BackendInfo {
        match self {
            Self::Encoder(encoder) => encoder.backend(),
            Self::Quality(encoder, _) => encoder.backend(),
            Self::Predicted(encoder, _) => encoder.backend(),
        }
    }

    /// Returns the sentences about quality and references.
    fn remarks(&self) -> String {
        match self {
            Self::Predicted(_, alone) => format!(", {alone} without a reference"),
            Self::Encoder(_) => String::new(),
            Self::Quality(_, least) => format!(", luma of every frame at least {least:.2} dB"),
        }
    }
}

/// Decodes the file `input` into the clip or picture `output`.
pub(crate) fn decode(input: &Path, output: &Path, drop_levels: u8, compute: &ComputeArgs) -> Result<String> {
    Kind::of(input, &[Kind::Duet])?;
    let still = Kind::of(output, &PICTURES)? != Kind::Y4m;
    let name = input.display();
    let bytes = std::fs::read(input).with_context(|| format!("{name} cannot be read"))?;
    let unusable = || format!("{name} cannot be decoded");
    let mut container = ContainerReader::new(&bytes).with_context(unusable)?;
    if still {
        let mut ahead = container.clone();
        let frames = std::iter::from_fn(|| ahead.next_frame_bytes().transpose()).take(2).count();
        ensure!(frames < 2, "{name} holds more than one frame: write them to a .y4m file");
    }
    let params = *container.params();
    if params.codec.profile == Profile::Pcwt {
        ensure!(drop_levels == 0, "--drop-levels does not go with the profile pcwt: leave it out");
        return pcwt::decode(container, input, output, compute);
    }
    if let Profile::Predicted(_) = params.codec.profile {
        ensure!(drop_levels == 0, "--drop-levels does not go with predicted frames: leave it out");
        return decode_predicted(container, input, output, compute);
    }
    let (dropped, backend) = (usize::from(drop_levels), options::backend(compute.backend));
    let mut decoder = kernels::open_smaller_decoder(&params, dropped, backend, compute.device.as_deref())?;
    let params = StreamParams { size: params.size.halved_times(dropped), ..params };
    let mut picture = Picture::decoded_from(&params);
    let mut writer = Writer::create(output, picture::decoded_info(&params))?;
    let mut frames = 0_u64;
    while let Some(frame) = container.next_frame().with_context(unusable)? {
        decoder.decode(&ReceivedFrame::from(&frame), &mut picture)?;
        writer.write(picture.data())?;
        frames += 1;
    }
    ensure!(frames > 0, "{name}: there is no frame in it");
    let damaged = decoder.damaged_blocks();
    ensure!(damaged == 0, "{name} is damaged: {damaged} blocks hold bytes that no encoder makes");
    writer.finish()?;
    let backend = decoder.backend();
    Ok(format!("{} of {}, {}: {}\n", count(frames), params.size, backend.kind, backend.device))
}

/// Decodes the frames of `container`, the file `input`, that may be predicted.
fn decode_predicted(
    mut container: ContainerReader<'_>,
    input: &Path,
    output: &Path,
    compute: &ComputeArgs,
) -> Result<String> {
    let name = input.display();
    let params = *container.params();
    let (choice, device) = (options::backend(compute.backend), compute.device.as_deref());
    let mut decoder = open_predicted_decoder(&params, choice, device)?;
    let mut picture = Picture::decoded_from(&params);
    let mut writer = Writer::create(output, picture::decoded_info(&params))?;
    let mut frames = 0_u64;
    while let Some(frame) = container.next_predicted_frame().with_context(|| format!("{name} cannot be decoded"))? {
        decoder.decode(frame.reference, &ReceivedFrame::from(&frame.frame), &mut picture)?;
        writer.write(picture.data())?;
        frames += 1;
    }
    ensure!(frames > 0, "{name}: there is no frame in it");
    let (damaged, held) = (decoder.damaged_blocks(), decoder.held_frames());
    ensure!(damaged == 0, "{name} is damaged: {damaged} blocks hold bytes that no encoder makes");
    ensure!(held == 0, "{name} is damaged: {held} of its references are to frames that are not there");
    writer.finish()?;
    let backend = decoder.backend();
    Ok(format!("{} of {}, {}: {}\n", count(frames), params.size, backend.kind, backend.device))
}

/// Returns a number of frames as text.
pub(crate) fn count(frames: u64) -> String {
    if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") }
}

/// Returns the whole bytes that a frame may take at `bpp` bits per luma pixel.
pub(crate) fn bytes_per_frame(bpp: f64, size: FrameSize) -> usize {
    (bpp * size.pixels() as f64 / 8.0) as usize
}

/// Says a budget that is too small in the words of the command line.
fn explain(error: EncodeError, rate: Rate, overhead_bytes: usize) -> anyhow::Error {
    match (&error, rate) {
        (EncodeError::BudgetTooSmall { smallest_bytes, .. }, Rate::BitsPerPixel(_) | Rate::BytesPerFrame(_)) => {
            let least = smallest_bytes + overhead_bytes;
            anyhow::anyhow!("the frame does not fit: a frame of this size takes at least {least} bytes in the file")
        }
        _ => error.into(),
    }
}
