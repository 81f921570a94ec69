//! Times the transform and the coder of this crate on what `run.py` gives to all programs.
//!
//! ```text
//! rivals transform PLANES SIDE RUNS THREADS
//! rivals codec PICTURE WIDTH HEIGHT BYTES encode|decode RUNS THREADS
//! ```
//!
//! PLANES holds three square planes of float32, PICTURE a 4:2:0 picture of 8 bits. Prints the milliseconds of each run,
//! of the transform a line for each direction.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use kernels::Element;
use kernels::{BackendChoice, Decoder, Encoder, Picture, Target};
use lab::CDF97;
use lab::{Filter, TransformParams};
use lab::{Values, open_transform};
use picture::coded::ReceivedFrame;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{Boundary, Levels, Padding, StreamParams};
use picture::psnr::psnr_db;
use picture::run::coded_size;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let Some((threads, args)) = args.split_last() else {
        println!("kernels/benches/rivals/run.py runs this: make bench-rivals");
        return Ok(());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    pool.install(|| match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["transform", path, side, runs] => transform(path, side.parse()?, runs.parse()?),
        ["codec", path, width, height, bytes, direction, runs] => {
            let size = FrameSize::new(width.parse()?, height.parse()?)?;
            let picture = Picture::from_data(PixelFormat::I420, size, std::fs::read(path)?)?;
            codec(&picture, bytes.parse()?, *direction == "encode", runs.parse()?)
        }
        _ => {
            bail!("transform PLANES SIDE RUNS THREADS, or codec PICTURE WIDTH HEIGHT BYTES encode|decode RUNS THREADS")
        }
    })
}

fn transform(path: &str, side: u32, runs: usize) -> Result<()> {
    let planes = read(path, side as usize)?;
    let params = TransformParams {
        size: FrameSize::new(side, side)?,
        chroma: Chroma::C444,
        filter: Filter::Lifted(CDF97),
        levels: Levels::Full,
        boundary: Boundary::Symmetric,
        padding: Padding::Smooth,
        element: Element::F32,
        scheme: None,
    };
    let mut transform = open_transform(&params, BackendChoice::Cpu, None)?;
    let mut squares = transform.forward_planes(&planes)?;
    let mut back = transform.inverse(&squares)?;
    print("forward", runs, || Ok(transform.forward_planes_into(&planes, &mut squares)?))?;
    print("inverse", runs, || Ok(transform.inverse_into(&squares, &mut back)?))
}

/// Codes a picture within `bytes`, again and again, as the encoder of a stream does, or decodes it.
fn codec(picture: &Picture, bytes: usize, encodes: bool, runs: usize) -> Result<()> {
    let params = StreamParams::new(picture.size(), Chroma::C420);
    let mut encoder = Encoder::open(&params, BackendChoice::Cpu)?;
    let mut decoder = Decoder::open(&params, BackendChoice::Cpu)?;
    let target = Target::Bytes(bytes);
    let frame = encoder.encode(picture.as_ref(), target, None)?;
    let received = ReceivedFrame::from(&frame);
    let mut out = Picture::decoded_from(&params);
    decoder.decode(&received, None, &mut out)?;
    println!("bytes {}", coded_size(&frame));
    println!("psnr {:.3}", psnr_db(&picture.data()[..picture.size().pixels()], out.data()));
    if encodes {
        print("times", runs, || Ok(encoder.encode(picture.as_ref(), target, None).map(drop)?))
    } else {
        print("times", runs, || Ok(decoder.decode(&received, None, &mut out).map(drop)?))
    }
}

fn read(path: &str, side: usize) -> Result<Values> {
    let bytes = std::fs::read(path).with_context(|| format!("{path} cannot be read"))?;
    let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let planes: Vec<Vec<f32>> = floats.chunks_exact(side * side).map(<[f32]>::to_vec).collect();
    ensure!(planes.len() == 3, "{path} holds {} planes, not three", planes.len());
    Ok(Values::F32(planes))
}

fn print(name: &str, runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    let mut line = name.to_owned();
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        line += &format!(" {:.3}", start.elapsed().as_secs_f64() * 1e3);
    }
    println!("{line}");
    Ok(())
}
