//! `wavelet forward` and `wavelet inverse`: pictures to squares of coefficients and back.

use std::path::Path;

use anyhow::{Context, Result};
use kernels::Element;
use kernels::Picture;
use kernels::parts::reference::Sample;
use kernels::parts::reference::rct;
use lab::{TransformParams, Values};
use picture::frame::{BitDepth, Chroma, ColourSpace, PixelFormat};

use crate::args::{ComputeArgs, TransformArgs};
use crate::io::{Kind, PICTURES, PictureInfo, Reader, Writer, npy, rgb};
use crate::side_file::SideFile;
use crate::{options, stream};

/// Value subtracted from every sample before the transform.
const OFFSET: u8 = 128;

/// Transforms the (first) picture of `input` into the array `output`.
pub(crate) fn forward(input: &Path, output: &Path, args: &TransformArgs, compute: &ComputeArgs) -> Result<String> {
    let options = options::transform(args)?;
    Kind::of(output, &[Kind::Npy])?;
    let mut reader = Reader::open(input)?;
    reader.check_exact(input)?;
    reader.warn_of_transparency(input);
    let info = reader.info();
    let data = reader.first(input)?;
    // One array holds all channels, so they must have one size.
    let chroma = if stream::own_chroma(info.format) == Chroma::Grey { Chroma::Grey } else { Chroma::C444 };
    let params = options.params(info.size, chroma);
    // Integers cannot hold Y, Cb and Cr of RGB exactly.
    let reversible = info.format == PixelFormat::Rgb8 && params.element == Element::I32;
    let mut transform = lab::open_transform(&params, compute.backend, compute.device.as_deref())?;
    let picture = info.picture(&data)?;
    let squares = match reversible {
        true => transform.forward_planes(&Values::I32(rct::planes(picture, Chroma::Rgb)?))?,
        false => transform.forward(picture)?,
    };
    let pyramids = params.pyramids();
    let (side, levels) = pyramids.first().map(|pyramid| (pyramid.side(), pyramid.levels())).context("no channel")?;
    npy::write(output, &squares, (side, side))?;
    SideFile::describe(&params, info.colour, reversible).write(output)?;
    let (channels, backend) = (pyramids.len(), transform.backend());
    Ok(format!("{channels} x {side} x {side}, {levels} levels, {}: {}\n", backend.kind, backend.device))
}

/// Transforms the array `input` back into the picture `output`.
pub(crate) fn inverse(input: &Path, output: &Path, args: &TransformArgs, compute: &ComputeArgs) -> Result<String> {
    Kind::of(input, &[Kind::Npy])?;
    let to_array = Kind::of(output, &[PICTURES.as_slice(), &[Kind::Npy]].concat())? == Kind::Npy;
    let (mut params, colour, reversible) = SideFile::read(input)?;
    options::check_against(args, &params)?;
    params.scheme = args.scheme;
    let pyramids = params.pyramids();
    let side = pyramids.first().context("no channel")?.side();
    let squares = npy::read(input, params.element, (pyramids.len(), side, side))?;
    let mut transform = lab::open_transform(&params, compute.backend, compute.device.as_deref())?;
    let mut planes = transform.inverse(&squares)?;
    let size = params.size;
    let mut rgb = None;
    if let (true, Values::I32(channels)) = (reversible, &planes) {
        let mut picture = Picture::for_stream(Chroma::Rgb, size);
        rct::finish(channels, &mut picture);
        let of = |channel| picture.data()[channel..].iter().step_by(3).map(|&byte| i32::from(byte) - i32::from(OFFSET));
        planes = Values::I32((0..3).map(|channel| of(channel).collect()).collect());
        rgb = Some(picture.into_data());
    }
    if to_array {
        npy::write(output, &offset(planes), (size.height(), size.width()))?;
    } else {
        write_picture(output, &params, colour, planes, rgb)?;
    }
    let (channels, backend) = (pyramids.len(), transform.backend());
    Ok(format!("{channels} x {size}, {}: {}\n", backend.kind, backend.device))
}

/// Writes planes of samples centred at 0 as a picture.
pub(crate) fn write(output: &Path, params: &TransformParams, colour: ColourSpace, planes: Values) -> Result<()> {
    write_picture(output, params, colour, planes, None)
}

/// Writes planes as a picture; of a reversible colour transform its bytes are `rgb`.
fn write_picture(
    output: &Path,
    params: &TransformParams,
    colour: ColourSpace,
    planes: Values,
    mut rgb: Option<Vec<u8>>,
) -> Result<()> {
    let usual = PictureInfo::usual(params.chroma.picture_format(), BitDepth::Eight, params.size);
    let mut info = PictureInfo { colour, ..usual };
    // Samples become bytes once: a file of RGB gets them of values that have not been rounded.
    if Kind::of(output, &PICTURES)? != Kind::Y4m {
        rgb = rgb.or_else(|| match &planes {
            Values::F32(planes) => rgb::from_values(&info, planes, OFFSET),
            Values::F64(planes) => rgb::from_values(&info, planes, OFFSET),
            Values::I32(planes) => rgb::from_values(&info, planes, OFFSET),
        });
    }
    if rgb.is_some() {
        info.format = PixelFormat::Rgb8;
    }
    let mut writer = Writer::create(output, info)?;
    writer.write(&rgb.unwrap_or_else(|| bytes(&planes)))?;
    writer.finish()
}

/// Returns samples that are centred on [`OFFSET`] again.
fn offset(mut planes: Values) -> Values {
    match &mut planes {
        Values::F32(planes) => planes.iter_mut().flatten().for_each(|sample| *sample += f32::from(OFFSET)),
        Values::F64(planes) => planes.iter_mut().flatten().for_each(|sample| *sample += f64::from(OFFSET)),
        Values::I32(planes) => {
            planes.iter_mut().flatten().for_each(|sample| *sample = sample.saturating_add(OFFSET.into()));
        }
    }
    planes
}

/// Returns 8-bit samples of all channels.
fn bytes(planes: &Values) -> Vec<u8> {
    match planes {
        Values::F32(planes) => planes.iter().flatten().map(|sample| sample.to_byte()).collect(),
        Values::F64(planes) => planes.iter().flatten().map(|sample| sample.to_byte()).collect(),
        Values::I32(planes) => planes.iter().flatten().map(|sample| sample.to_byte()).collect(),
    }
}
