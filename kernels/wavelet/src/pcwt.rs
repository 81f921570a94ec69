//! `wavelet encode --profile pcwt` and `wavelet decode` of what it wrote.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::container::{self, ContainerReader};
use common::params::{CodecParams, Profile, StreamParams};
use kernels::Picture;
use kernels::pcwt::{open_pcwt_decoder, open_pcwt_encoder};

use crate::args::{CodingArgs, ComputeArgs, TransformArgs};
use crate::clip::count;
use crate::io::{Kind, Output, PictureInfo, Reader, Writer};
use crate::options::{self, Rate};
use crate::picture;

/// Returns the stream of pictures of `info`.
pub(crate) fn stream_params(info: &PictureInfo, transform: &TransformArgs) -> Result<StreamParams> {
    let lossless = options::codec_params(transform, Rate::Lossless, None)?;
    let codec = CodecParams { profile: Profile::Pcwt, ..lossless };
    Ok(picture::stream_params(info, picture::exact_chroma(info.format), codec))
}

/// Codes every picture of `input` into the file `output`.
pub(crate) fn encode(
    input: &Path,
    output: &Path,
    coding: &CodingArgs,
    transform: &TransformArgs,
    compute: &ComputeArgs,
) -> Result<String> {
    let qmin = options::qmin(coding)?;
    Kind::of(output, &[Kind::Duet])?;
    let mut reader = Reader::open(input)?;
    let info = reader.info();
    reader.check_exact(input)?;
    let params = stream_params(&info, transform)?;
    let (choice, device) = (options::backend(compute.backend), compute.device.as_deref());
    let mut encoder = open_pcwt_encoder(&params, choice, device)?;
    let mut bytes = Vec::new();
    container::write_header(&params, &mut bytes)?;
    let mut file = Output::create(output)?;
    let (mut frames, mut total) = (0_u64, 0);
    while let Some(data) = reader.next()? {
        let frame = encoder.encode(info.picture(&data)?, qmin)?;
        container::write_frame_bytes(&frame, &mut bytes)?;
        file.append(&bytes)?;
        total += bytes.len();
        frames += 1;
        bytes.clear();
    }
    ensure!(frames > 0, "{}: there is no picture in it", input.display());
    file.finish()?;
    let bits_per_pixel = total as f64 * 8.0 / (frames as f64 * params.size.pixels() as f64);
    let (count, size, backend) = (count(frames), params.size, encoder.backend());
    let (name, device) = (backend.kind, &backend.device);
    Ok(format!("{count} of {size}, {total} bytes, {bits_per_pixel:.4} bit per pixel, {name}: {device}\n"))
}

/// Decodes the frames of `container`, the file `input`, into the clip or picture `output`.
pub(crate) fn decode(
    mut container: ContainerReader<'_>,
    input: &Path,
    output: &Path,
    compute: &ComputeArgs,
) -> Result<String> {
    let name = input.display();
    let unusable = || format!("{name} cannot be decoded");
    let params = *container.params();
    let (choice, device) = (options::backend(compute.backend), compute.device.as_deref());
    let mut decoder = open_pcwt_decoder(&params, choice, device)?;
    let mut picture = Picture::decoded_from(&params);
    let mut writer = Writer::create(output, picture::decoded_info(&params))?;
    let mut frames = 0_u64;
    while let Some(frame) = container.next_frame_bytes().with_context(unusable)? {
        decoder.decode(frame, &mut picture).with_context(unusable)?;
        writer.write(picture.data())?;
        frames += 1;
    }
    ensure!(frames > 0, "{name}: there is no frame in it");
    writer.finish()?;
    let backend = decoder.backend();
    Ok(format!("{} of {}, {}: {}\n", count(frames), params.size, backend.kind, backend.device))
}
