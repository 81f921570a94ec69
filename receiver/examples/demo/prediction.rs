//! Bits of the clip at equal quality, with prediction and without.

use std::path::Path;

use anyhow::{Context, Result};
use common::config::{parse_sender, resolve_sender};
use kernels::{BackendChoice, ClipEncoder, Decoder, Effort, Encoder, Picture, PictureRef, Target};
use picture::coded::{ReceivedFrame, StepIndex};
use picture::frame::Chroma;
use picture::params::{CodecParams, Profile, StreamParams};
use picture::run::coded_size;
use sending::source::{SourceFrame, SourceSpec};

use super::measure::{luma_of, psnr};

/// Pictures that are coded.
const PICTURES: usize = 60;
/// The quantiser step of the frames that are coded alone, as an index: 16.
const STEP: u8 = 64;
/// Steps of predicted frames below and above it, between which one has the same quality.
const AROUND: [i16; 4] = [-8, 0, 8, 16];

/// Codes the clip with prediction and without; returns a sentence with bits per pixel at the same PSNR.
pub(crate) fn at_equal_quality(clip: &Path) -> Result<String> {
    let spec = SourceSpec::parse(&format!("mjpeg:{}:fps=0", clip.display()))?;
    let mut source = sending::source::open(&spec, &resolve_sender(&parse_sender("")?)?)?;
    let info = source.info();
    let mut pictures = Vec::new();
    while let (true, Some(picture)) = (pictures.len() < PICTURES, source.next(Vec::new())?) {
        pictures.push(picture);
    }
    let params = StreamParams { colour: info.colour, ..StreamParams::new(info.size, Chroma::C420) };
    let (decibels, alone) = code_alone(&params, &pictures)?;
    let mut predicted = Vec::new();
    for by in AROUND {
        predicted.push(code_predicted(&params, &pictures, step(by)?)?);
    }
    // The logarithm of the bits is nearly a line.
    let pair = predicted.windows(2).find(|pair| pair[0].0 >= decibels && decibels >= pair[1].0);
    let [finer, coarser] = *pair.context("no step of predicted frames has this quality")? else {
        anyhow::bail!("no two steps");
    };
    let share = (finer.0 - decibels) / (finer.0 - coarser.0).max(1e-9);
    let same = (finer.1.ln() * (1.0 - share) + coarser.1.ln() * share).exp();
    Ok(format!(
        "bits per pixel at {decibels:.1} dB: {alone:.3} without prediction, {same:.3} with it ({:+.0} %)",
        100.0 * (same / alone - 1.0)
    ))
}

fn step(by: i16) -> Result<StepIndex> {
    u8::try_from(i16::from(STEP) + by).ok().and_then(StepIndex::new).context("no such step")
}

/// Returns the mean PSNR-Y, dB, and the bits per pixel of frames that are coded alone.
fn code_alone(params: &StreamParams, pictures: &[SourceFrame]) -> Result<(f64, f64)> {
    let mut encoder = Encoder::open(params, BackendChoice::Cpu)?;
    let mut decoder = Decoder::open(params, BackendChoice::Cpu)?;
    let mut out = Picture::for_stream(params.chroma, params.size);
    mean(params, pictures, |picture| {
        let frame = encoder.encode(picture, Target::Step(step(0)?), None)?;
        decoder.decode(&ReceivedFrame::from(&frame), None, &mut out)?;
        Ok((out.data()[..params.size.pixels()].to_vec(), coded_size(&frame)))
    })
}

/// Returns the same of frames that are predicted.
fn code_predicted(params: &StreamParams, pictures: &[SourceFrame], step: StepIndex) -> Result<(f64, f64)> {
    let params = StreamParams { codec: CodecParams { profile: Profile::Predicted(1), ..params.codec }, ..*params };
    let mut encoder = ClipEncoder::open(&params, 1, Effort::default(), BackendChoice::Cpu)?;
    mean(&params, pictures, |picture| {
        let frame = encoder.encode(picture, Target::Step(step))?;
        let state = encoder.state().context("a coded frame has a state")?;
        Ok((state.data()[..params.size.pixels()].to_vec(), coded_size(&frame)))
    })
}

fn mean(
    params: &StreamParams,
    pictures: &[SourceFrame],
    mut code: impl FnMut(PictureRef<'_>) -> Result<(Vec<u8>, usize)>,
) -> Result<(f64, f64)> {
    let (mut decibels, mut bytes) = (0.0, 0);
    for picture in pictures {
        let (luma, coded) = code(PictureRef::new(picture.format, params.size, &picture.data)?)?;
        decibels += psnr(&luma_of(picture, params.size), &luma);
        bytes += coded;
    }
    let pixels = (pictures.len() * params.size.pixels()) as f64;
    Ok((decibels / pictures.len() as f64, 8.0 * bytes as f64 / pixels))
}
