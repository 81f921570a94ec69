//! Bits, quality and processor time of predicted frames, for each effort, over clips, as a Markdown table.
//!
//! ```text
//! motion CLIP.y4m..
//! ```
//! Clips are 4:2:0 with 8 bits. `STEPS`, `EFFORTS` and `FRAMES` in the environment say which quantiser steps or bytes a frame (as
//! `8000B`), which efforts and how many frames, and `BACKEND=opencl` that a card codes; times are of the second half of the frames, of all threads together, the least of `REPEATS` runs.

use std::time::Duration;

use anyhow::{Context, bail};
use kernels::{BackendChoice, ClipDecoder, ClipEncoder, Effort, Picture, PictureRef, Target};
use picture::coded::{ReceivedFrame, StepIndex};
use picture::frame::{Chroma, PixelFormat};
use picture::params::{CodecParams, Profile, StreamParams};
use picture::run::coded_size;
use picture::vectors::VectorLayout;

mod clip;

fn main() -> anyhow::Result<()> {
    let (frames, repeats) = (asked("FRAMES", "1000").parse()?, asked("REPEATS", "1").parse()?);
    println!("| clip | effort | step | bit per pixel | of vectors | PSNR-Y, dB | encode, ms | decode, ms |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for path in std::env::args().skip(1) {
        let (size, pictures) = clip::read(&path, frames).with_context(|| path.clone())?;
        let params = StreamParams {
            codec: CodecParams { profile: Profile::Predicted(1), ..CodecParams::default() },
            ..StreamParams::new(size, Chroma::C420)
        };
        let name = path.rsplit('/').next().unwrap_or(&path);
        for effort in asked("EFFORTS", "medium").split(',') {
            for step in asked("STEPS", "6,12,24,48").split(',') {
                let run = || Figures::of(&params, &pictures, effort, target(step)?);
                let mut figures = run()?;
                for _ in 1..repeats {
                    let again = run()?;
                    figures.encode = figures.encode.min(again.encode);
                    figures.decode = figures.decode.min(again.decode);
                }
                let Figures { bits, vectors, psnr, encode, decode } = figures;
                let [encode, decode] = [encode, decode].map(|time| time.as_secs_f64() * 1e3);
                println!(
                    "| {name} | {effort} | {step} | {bits:.5} | {vectors:.5} | {psnr:.3} | {encode:.2} | {decode:.2} |"
                );
            }
        }
    }
    Ok(())
}

fn backend() -> BackendChoice {
    if asked("BACKEND", "cpu") == "opencl" { BackendChoice::Opencl } else { BackendChoice::Cpu }
}

#[allow(clippy::disallowed_methods, reason = "reads its settings")]
fn asked(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// Returns a quantiser step, or a number of bytes with a `B` behind it.
fn target(text: &str) -> anyhow::Result<Target> {
    Ok(match text.strip_suffix('B') {
        Some(bytes) => Target::Bytes(bytes.parse()?),
        None => Target::Step(StepIndex::ONE.coarser_by((8.0 * text.parse::<f32>()?.log2()).round() as u8)),
    })
}

/// Of the second half of a clip.
struct Figures {
    bits: f64,
    vectors: f64,
    psnr: f64,
    encode: Duration,
    decode: Duration,
}

impl Figures {
    fn of(params: &StreamParams, pictures: &[Vec<u8>], effort: &str, target: Target) -> anyhow::Result<Self> {
        let effort = match effort {
            "still" => Effort::Still,
            "near" => Effort::Near,
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            other => bail!("{other} is no effort: still, near, low, medium or high"),
        };
        let mut encoder = ClipEncoder::open(params, 1, effort, backend())?;
        // A card searches itself where there is a limit, which none reaches here.
        encoder.set_search(effort, (backend() == BackendChoice::Opencl).then_some(Duration::from_secs(10)));
        let mut decoder = ClipDecoder::open(params, backend())?;
        let mut out = Picture::for_stream(params.chroma, params.size);
        let luma = params.size.pixels();
        let (mut coded, mut vectors, mut psnr, mut times) = (0, 0, 0.0, [Duration::ZERO; 2]);
        let first = pictures.len() / 2;
        for (at, picture) in pictures.iter().enumerate() {
            let began = processor_time();
            let picture_ref = PictureRef::new(PixelFormat::I420, params.size, picture)?;
            let frame = encoder.encode(picture_ref, target)?;
            let encoded = processor_time();
            decoder.decode(frame.reference, &ReceivedFrame::from(&frame), &mut out)?;
            let ended = processor_time();
            if encoder.state() != Some(&out) {
                bail!("frame {at} decodes to something else");
            }
            if at >= first {
                coded += coded_size(&frame);
                let slices = if frame.reference > 0 { VectorLayout::new(params.size).slices() } else { 0 };
                vectors += (0..slices).map(|slice| frame.block(slice).len()).sum::<usize>();
                let squares = picture[..luma].iter().zip(out.data()).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2));
                psnr += 10.0 * (255.0 * 255.0 * luma as f64 / squares.sum::<u64>().max(1) as f64).log10();
                times[0] += encoded.saturating_sub(began);
                times[1] += ended.saturating_sub(encoded);
            }
        }
        let count = pictures.len() - first;
        let bits = |bytes: usize| 8.0 * bytes as f64 / (count * luma) as f64;
        let [encode, decode] = times.map(|time| time / count as u32);
        Ok(Self { bits: bits(coded), vectors: bits(vectors), psnr: psnr / count as f64, encode, decode })
    }
}

/// Processor time of all threads of this program, which tells more than a clock on a busy machine.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    Duration::from_nanos(texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
}
