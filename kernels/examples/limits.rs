//! Two tables over clips: how much of its byte budget a frame uses, and what missing blocks cost.
//!
//! ```text
//! limits CLIP.y4m..
//! ```
//! Clips are 4:2:0 with 8 bits; every tenth frame is taken. Fails if a frame exceeds its budget, or leaves more than
//! 3 % of it unused although the picture has more detail.

use anyhow::{Context, ensure};
use kernels::{BackendChoice, Decoder, Encoder, Picture, PictureRef, Target};
use picture::coded::{CodedFrame, ReceivedFrame, StepIndex};
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::StreamParams;
use picture::run::coded_size;

mod clip;

const BITS_PER_PIXEL: [f64; 7] = [0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0];
const LOST_PERCENT: [u64; 4] = [0, 1, 5, 20];
const SEED: u64 = 1;

fn main() -> anyhow::Result<()> {
    println!("| clip | bit per pixel | frames | least used | most used |\n|---|---|---|---|---|");
    let mut losses = String::from("| clip | lost | mean PSNR-Y, dB | lowest |\n|---|---|---|---|\n");
    for path in std::env::args().skip(1) {
        let (size, frames) = read(&path).with_context(|| path.clone())?;
        let params = StreamParams::new(size, Chroma::C420);
        let name = path.rsplit('/').next().unwrap_or(&path);
        for bits in BITS_PER_PIXEL {
            let budget = (bits * size.pixels() as f64 / 8.0) as usize;
            let mut encoder = Encoder::open(&params, BackendChoice::Cpu)?;
            let (mut least, mut most) = (f64::MAX, 0.0_f64);
            for frame in &frames {
                let coded =
                    encoder.encode(PictureRef::new(PixelFormat::I420, size, frame)?, Target::Bytes(budget), None)?;
                let used = coded_size(&coded) as f64 / budget as f64;
                let exhausted = coded.header.step == StepIndex::MIN;
                ensure!(used <= 1.0 && (used >= 0.97 || exhausted), "{used} of {budget} bytes");
                (least, most) = (least.min(used), most.max(used));
            }
            let (count, least, most) = (frames.len(), 100.0 * least, 100.0 * most);
            println!("| {name} | {bits} | {count} | {least:.2} % | {most:.2} % |");
        }
        for percent in LOST_PERCENT {
            let (mean, lowest) = lose(&params, &frames, percent)?;
            losses += &format!("| {name} | {percent} % | {mean:.2} | {lowest:.2} |\n");
        }
    }
    println!("\nBlocks lost at random (seed {SEED}), 1 bit per pixel:\n\n{losses}");
    Ok(())
}

/// Returns the mean and lowest PSNR of luma, at 1 bit per pixel, of frames that lose `percent` of their blocks.
fn lose(params: &StreamParams, frames: &[Vec<u8>], percent: u64) -> anyhow::Result<(f64, f64)> {
    let mut encoder = Encoder::open(params, BackendChoice::Cpu)?;
    let mut decoder = Decoder::open(params, BackendChoice::Cpu)?;
    let mut out = Picture::for_stream(params.chroma, params.size);
    let (mut sum, mut lowest, mut state) = (0.0, f64::MAX, SEED);
    for frame in frames {
        let picture = PictureRef::new(PixelFormat::I420, params.size, frame)?;
        let coded: CodedFrame = encoder.encode(picture, Target::Bytes(params.size.pixels() / 8), None)?;
        let mut received = ReceivedFrame::empty(coded.header, coded.block_count());
        for index in 0..coded.block_count() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 >= percent {
                received.insert(index, coded.block(index));
            }
        }
        decoder.decode(&received, None, &mut out)?;
        let luma = params.size.pixels();
        let squares = frame[..luma].iter().zip(out.data()).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2));
        let psnr = 10.0 * (255.0 * 255.0 * luma as f64 / squares.sum::<f64>()).log10();
        (sum, lowest) = (sum + psnr, lowest.min(psnr));
    }
    Ok((sum / frames.len() as f64, lowest))
}

/// Reads the size and every tenth frame of a clip.
fn read(path: &str) -> anyhow::Result<(FrameSize, Vec<Vec<u8>>)> {
    let (size, pictures) = clip::read(path, usize::MAX)?;
    ensure!(!pictures.is_empty(), "there is no frame in it");
    Ok((size, pictures.into_iter().step_by(10).collect()))
}
