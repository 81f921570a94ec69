//! `wavelet forward` and `wavelet inverse`: pictures to squares of coefficients and back.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use common::frame::{Chroma, ColourSpace, FrameSize, Matrix, Range};
use common::params::{Boundary, CodecParams, Levels, Padding, Profile, StreamParams, Wavelet};
use common::pyramid::Pyramid;
use common::units::FrameRate;
use kernels::reference::sample::Sample;
use kernels::{PictureRef, Values};
use serde::{Deserialize, Serialize};

use crate::args::{ComputeArgs, TransformArgs};
use crate::io::{Kind, PICTURES, Reader, Writer, npy};
use crate::{options, picture};

/// What is subtracted from every sample before the transform.
const OFFSET: f32 = 128.0;

/// Transforms the (first) picture of `input` into the array `output`.
pub(crate) fn forward(input: &Path, output: &Path, args: &TransformArgs, compute: &ComputeArgs) -> Result<String> {
    let codec = options::codec_params(args)?;
    Kind::of(output, &[Kind::Npy])?;
    let mut reader = Reader::open(input)?;
    let info = reader.info();
    let data = reader.first(input)?;
    // One array holds all channels, so they must have one size.
    let chroma = if picture::own_chroma(info.format) == Chroma::Grey { Chroma::Grey } else { Chroma::C444 };
    let params = picture::stream_params(&info, chroma, codec);
    let mut transform =
        kernels::open_transform(&(&params).into(), options::backend(compute.backend), compute.device.as_deref())?;
    let squares = transform.forward(PictureRef::new(info.format, info.size, &data)?)?;
    let pyramid = Pyramid::new(params.size, &codec);
    let Values::F32(squares) = squares else { bail!("coefficients are {}, not f32", squares.element()) };
    let side = pyramid.side();
    npy::write(output, &squares, (side, side))?;
    SideFile::describe(&params).write(output)?;
    let (channels, levels, backend) = (squares.len(), pyramid.levels(), transform.backend());
    Ok(format!("{channels} x {side} x {side}, {levels} levels, {}: {}\n", backend.name, backend.device))
}

/// Transforms the array `input` back into the picture `output`.
pub(crate) fn inverse(input: &Path, output: &Path, args: &TransformArgs, compute: &ComputeArgs) -> Result<String> {
    Kind::of(input, &[Kind::Npy])?;
    let to_array = Kind::of(output, &[PICTURES.as_slice(), &[Kind::Npy]].concat())? == Kind::Npy;
    let params = SideFile::read(input)?.params().with_context(|| format!("{} is wrong", side_path(input).display()))?;
    options::check_against(args, &params.codec)?;
    let side = Pyramid::new(params.size, &params.codec).side();
    let squares = npy::read(input, (params.chroma.channels().len(), side, side))?;
    let mut transform =
        kernels::open_transform(&(&params).into(), options::backend(compute.backend), compute.device.as_deref())?;
    let planes = transform.inverse(&Values::F32(squares))?;
    let Values::F32(mut planes) = planes else { bail!("samples are {}, not f32", planes.element()) };
    if to_array {
        planes.iter_mut().flatten().for_each(|sample| *sample += OFFSET);
        npy::write(output, &planes, (params.size.height(), params.size.width()))?;
    } else {
        let samples: Vec<u8> = planes.iter().flatten().map(|value| value.to_byte()).collect();
        let mut writer = Writer::create(output, picture::decoded_info(&params))?;
        writer.write(&samples)?;
        writer.finish()?;
    }
    let (channels, backend) = (planes.len(), transform.backend());
    Ok(format!("{channels} x {}, {}: {}\n", params.size, backend.name, backend.device))
}

/// What an array of coefficients does not say itself: `OUT.npy.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SideFile {
    width: u32,
    height: u32,
    /// `["Y"]` or `["Y", "Cb", "Cr"]`.
    channels: Vec<String>,
    /// `bt601` or `bt709`.
    matrix: String,
    /// `limited` or `full`.
    range: String,
    wavelet: String,
    /// `full` or a number.
    levels: String,
    boundary: String,
    padding: String,
}

fn side_path(array: &Path) -> PathBuf {
    let mut name = array.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

impl SideFile {
    fn describe(params: &StreamParams) -> Self {
        let codec = &params.codec;
        Self {
            width: params.size.width() as u32,
            height: params.size.height() as u32,
            channels: params.chroma.channels().iter().map(|channel| format!("{channel:?}")).collect(),
            matrix: lower(params.colour.matrix),
            range: lower(params.colour.range),
            wavelet: lower(codec.wavelet),
            levels: match codec.levels {
                Levels::Full => "full".to_owned(),
                Levels::AtMost(levels) => levels.to_string(),
            },
            boundary: lower(codec.boundary),
            padding: lower(codec.padding),
        }
    }

    fn params(&self) -> Result<StreamParams> {
        let colour = ColourSpace {
            matrix: named("matrix", &self.matrix, &[Matrix::Bt601, Matrix::Bt709])?,
            range: named("range", &self.range, &[Range::Limited, Range::Full])?,
        };
        let codec = CodecParams {
            profile: Profile::Quad,
            wavelet: named("wavelet", &self.wavelet, &[Wavelet::Cdf97])?,
            levels: match (self.levels.as_str(), self.levels.parse()) {
                ("full", _) => Levels::Full,
                (_, Ok(levels @ 1..=14)) => Levels::AtMost(levels),
                (other, _) => bail!("levels `{other}` is neither `full` nor a number from 1 to 14"),
            },
            boundary: named("boundary", &self.boundary, &[Boundary::Symmetric, Boundary::Periodic, Boundary::Zero])?,
            padding: named("padding", &self.padding, &[Padding::Smooth, Padding::Zero])?,
        };
        let channels: Vec<_> = self.channels.iter().map(String::as_str).collect();
        let chroma = match channels[..] {
            ["Y"] => Chroma::Grey,
            ["Y", "Cb", "Cr"] => Chroma::C444,
            _ => bail!("channels must be [\"Y\"] or [\"Y\", \"Cb\", \"Cr\"]"),
        };
        let frame_rate = FrameRate::new(30, 1).context("no frame rate")?;
        Ok(StreamParams { size: FrameSize::new(self.width, self.height)?, frame_rate, chroma, colour, codec })
    }

    fn write(&self, array: &Path) -> Result<()> {
        let path = side_path(array);
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
    }

    fn read(array: &Path) -> Result<Self> {
        let path = side_path(array);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{}, which says the size and options, cannot be read", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is wrong", path.display()))
    }
}

/// A name as files and options spell it.
fn lower(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// The value called `name` among `values`.
fn named<T: std::fmt::Debug + Copy>(what: &str, name: &str, values: &[T]) -> Result<T> {
    let names = || values.iter().map(lower).collect::<Vec<_>>().join(", ");
    let found = values.iter().find(|value| lower(value) == name);
    found.copied().with_context(|| format!("{what} `{name}` is not known: there is {}", names()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_side_file_says_everything_it_was_made_from() {
        for levels in [Levels::Full, Levels::AtMost(5)] {
            let params = StreamParams {
                size: FrameSize::new(37, 21).unwrap(),
                frame_rate: FrameRate::new(30, 1).unwrap(),
                chroma: Chroma::C444,
                colour: ColourSpace::JPEG,
                codec: CodecParams {
                    levels,
                    padding: Padding::Zero,
                    boundary: Boundary::Periodic,
                    ..Default::default()
                },
            };
            assert_eq!(SideFile::describe(&params).params().unwrap(), params);
        }
    }
}
