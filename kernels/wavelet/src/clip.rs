//! `wavelet encode`: `.duet` files.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use kernels::{BackendInfo, ClipEncoder, EncodeError, OpenError, PictureRef, Target};
use lab::quality::QualityEncoder;
use picture::container::{ContainerWriter, file_bytes, frame_overhead};
use picture::frame::Chroma;
use picture::params::{CodecParams, Profile, StreamParams};

use crate::args::{CodingArgs, ComputeArgs, ProfileName, TransformArgs};
use crate::io::{Kind, Output, Reader, finish};
use crate::lossy::{self, Call};
use crate::options::{self, Loss, Prediction, Rate};
use crate::{jpeg2000, pcwt, stream};

/// Codes every picture of `input` into the file `output`.
pub(crate) fn encode(
    input: &Path,
    output: &Path,
    coding: &CodingArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    if Kind::of(output, &jpeg2000::KINDS).is_ok() {
        return jpeg2000::encode(input, output, coding, transform, compute);
    }
    options::check_only_duet(coding)?;
    if coding.profile == ProfileName::Pcwt {
        return pcwt::encode(input, output, coding, transform, compute);
    }
    let (rate, codec, prediction) = asked(coding, transform)?;
    Kind::of(output, &[Kind::Duet])?;
    let mut reader = Reader::open(input)?;
    let info = reader.info();
    if rate == Rate::Lossless {
        reader.check_exact(input)?;
    }
    reader.warn(input);
    let own = stream::own_chroma(info.format);
    let chroma = match (coding.chroma, own) {
        (None, _) if rate == Rate::Lossless => stream::exact_chroma(info.format),
        (Some(_), _) if rate == Rate::Lossless => {
            bail!("--chroma does not go with --lossless, which keeps what the file has: leave it out")
        }
        (Some(asked), _) => asked,
        (None, Chroma::C444) if reader.is_still() => Chroma::C420,
        (None, own) => own,
    };
    let mut params = stream::stream_params(&info, chroma, codec);
    let loss = Loss::of(&coding.loss, prediction.is_some())?;
    if loss.is_some() && coding.prediction.reference_age.is_some() {
        bail!("--reference-age does not go with --loss: what the receiver has decides there");
    }
    let mut encoder = match (loss, prediction) {
        (Some(loss), Some((_, effort))) => {
            params.codec.profile = lossy::profile(&params);
            let shown = coding.loss.shown.as_deref();
            let call = Call::open(&params, (loss, effort), shown, compute)?;
            Way::Call(Box::new(call))
        }
        _ => Way::open(&params, rate, prediction, compute)?,
    };
    let cannot = || format!("{} cannot be written", output.display());
    let mut file = ContainerWriter::new(&params, Output::create(output)?).with_context(cannot)?;
    while let Some(data) = reader.next()? {
        encoder.encode(info.picture(&data)?, rate, file_bytes(&params), &mut file)?;
    }
    // Those of a call may not all be there.
    let pictures = if let Way::Call(call) = &mut encoder { call.finish()? } else { file.pictures() };
    ensure!(pictures > 0, "{}: there is no picture in it", input.display());
    let (text, remarks, backend) = (finish(file, pictures, params.size, output)?, encoder.remarks(), encoder.backend());
    Ok(format!("{text}{remarks}, {}: {}\n", backend.kind, backend.device))
}

/// Checks the options, which are the same for every file.
pub(crate) fn check(coding: &CodingArgs, transform: &TransformArgs) -> Result<()> {
    options::check_only_duet(coding)?;
    match coding.profile {
        ProfileName::Pcwt => options::qmin(coding).map(drop),
        ProfileName::Quad => asked(coding, transform).map(drop),
    }
}

/// Returns the rate, the code and the prediction that are asked for.
fn asked(coding: &CodingArgs, transform: &TransformArgs) -> Result<(Rate, CodecParams, Option<Prediction>)> {
    let rate = options::rate(coding)?;
    let mut codec = options::codec_params(transform, rate, coding.weights)?;
    let prediction = options::prediction(&coding.prediction, rate)?;
    if let Some((age, _)) = prediction {
        codec.profile = Profile::Predicted(age);
    }
    Ok((rate, codec, prediction))
}

/// Codes to a size or step, or to a quality.
enum Way {
    /// With how many frames so far have no reference.
    Encoder(Box<ClipEncoder>, u64),
    /// With the least PSNR of a frame so far.
    Quality(Box<QualityEncoder>, f64),
    /// Over a line that loses datagrams.
    Call(Box<Call>),
}

impl Way {
    fn open(
        params: &StreamParams,
        rate: Rate,
        prediction: Option<Prediction>,
        compute: &ComputeArgs,
    ) -> Result<Self, OpenError> {
        let (choice, device) = (compute.backend, compute.device.as_deref());
        let (age, effort) = prediction.unwrap_or_default();
        Ok(match rate {
            Rate::Quality(_) => Self::Quality(Box::new(QualityEncoder::open(params, choice, device)?), f64::INFINITY),
            _ => Self::Encoder(Box::new(ClipEncoder::open(params, age, effort, (choice, device))?), 0),
        })
    }

    /// Appends a frame to `file`. The first one also pays for the head and the end of the file, `file_bytes`.
    fn encode(
        &mut self,
        picture: PictureRef<'_>,
        rate: Rate,
        file_bytes: usize,
        file: &mut ContainerWriter<Output>,
    ) -> Result<()> {
        let size = picture.size();
        let budget = match rate {
            Rate::BitsPerPixel(bpp) => options::bytes_per_frame(bpp, size),
            Rate::BytesPerFrame(bytes) => bytes,
            Rate::Quality(_) | Rate::Step(_) | Rate::Lossless => 0,
        };
        let overhead_bytes = frame_overhead(budget) + if file.pictures() == 0 { file_bytes } else { 0 };
        let target = match (&mut *self, rate) {
            (Self::Quality(encoder, least), Rate::Quality(decibels)) => {
                let reached = encoder.encode(picture, decibels)?;
                *least = least.min(reached.psnr_db);
                return Ok(file.frame(&reached.frame)?);
            }
            (_, Rate::BitsPerPixel(_) | Rate::BytesPerFrame(_)) => Target::Bytes(budget.saturating_sub(overhead_bytes)),
            (_, Rate::Step(step)) => Target::Step(step),
            (_, Rate::Lossless | Rate::Quality(_)) => Target::Lossless,
        };
        let explain = |error| explain(error, rate, overhead_bytes);
        match self {
            Self::Encoder(encoder, alone) => {
                let frame = encoder.encode(picture, target).map_err(explain)?;
                *alone += u64::from(frame.reference == 0);
                file.frame(&frame)?;
            }
            Self::Call(call) => call.encode(picture, target, explain, file)?,
            Self::Quality(..) => bail!("this encoder was opened for a quality"),
        }
        Ok(())
    }

    fn backend(&self) -> &BackendInfo {
        match self {
            Self::Encoder(encoder, _) => encoder.backend(),
            Self::Quality(encoder, _) => encoder.backend(),
            Self::Call(call) => call.backend(),
        }
    }

    /// Returns the sentences about quality and references.
    fn remarks(&self) -> String {
        match self {
            Self::Encoder(encoder, alone) if encoder.state().is_some() => format!(", {alone} without a reference"),
            Self::Encoder(..) => String::new(),
            Self::Call(call) => call.remarks(),
            Self::Quality(_, least) => format!(", luma of every frame at least {least:.2} dB"),
        }
    }
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
