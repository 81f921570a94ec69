//! `wavelet encode --profile pcwt`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use lab::pcwt::open_pcwt_encoder;
use picture::container::ContainerWriter;
use picture::params::{CodecParams, Profile, StreamParams};

use crate::args::{CodingArgs, ComputeArgs, TransformArgs};
use crate::io::{Kind, Output, PictureInfo, Reader, finish};
use crate::options::{self, Rate};
use crate::stream;

/// Returns the stream of pictures of `info`.
pub(crate) fn stream_params(info: &PictureInfo, transform: &TransformArgs) -> Result<StreamParams> {
    let lossless = options::codec_params(transform, Rate::Lossless, None)?;
    let codec = CodecParams { profile: Profile::Pcwt, ..lossless };
    Ok(stream::stream_params(info, stream::exact_chroma(info.format), codec))
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
    reader.warn(input);
    let params = stream_params(&info, transform)?;
    let (choice, device) = (compute.backend, compute.device.as_deref());
    let mut encoder = open_pcwt_encoder(&params, choice, device)?;
    let cannot = || format!("{} cannot be written", output.display());
    let mut file = ContainerWriter::new(&params, Output::create(output)?).with_context(cannot)?;
    while let Some(data) = reader.next()? {
        let frame = encoder.encode(info.picture(&data)?, qmin)?;
        file.bytes(&frame).with_context(cannot)?;
    }
    let pictures = file.pictures();
    ensure!(pictures > 0, "{}: there is no picture in it", input.display());
    let (text, backend) = (finish(file, pictures, params.size, output)?, encoder.backend());
    Ok(format!("{text}, {}: {}\n", backend.kind, backend.device))
}
