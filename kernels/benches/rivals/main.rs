//! Times the transform of this crate on the planes that `run.py` gives to all programs.
//!
//! `rivals PLANES SIDE RUNS THREADS`: PLANES holds three square planes of float32. Prints the milliseconds of each run,
//! a line for each direction.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use common::frame::{Chroma, FrameSize};
use common::params::{Boundary, Levels, Padding};
use kernels::transform::{Filter, TransformParams};
use kernels::wavelet::{Element, Wavelet};
use kernels::{BackendChoice, Error, Values, open_transform};

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [path, side, runs, threads] = &args[..] else {
        println!("kernels/benches/rivals/run.py runs this: make bench-rivals");
        return Ok(());
    };
    let (side, runs): (u32, usize) = (side.parse()?, runs.parse()?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    let planes = read(path, side as usize)?;
    let params = TransformParams {
        size: FrameSize::new(side, side)?,
        chroma: Chroma::C444,
        filter: Filter::Wavelet(Wavelet::Cdf97),
        levels: Levels::Full,
        boundary: Boundary::Symmetric,
        padding: Padding::Smooth,
        element: Element::F32,
        scheme: None,
    };
    pool.install(|| {
        let mut transform = open_transform(&params, BackendChoice::Cpu, None)?;
        let mut squares = transform.forward_planes(&planes)?;
        let mut back = transform.inverse(&squares)?;
        print("forward", runs, || transform.forward_planes_into(&planes, &mut squares))?;
        print("inverse", runs, || transform.inverse_into(&squares, &mut back))
    })
}

fn read(path: &str, side: usize) -> Result<Values> {
    let bytes = std::fs::read(path).with_context(|| format!("{path} cannot be read"))?;
    let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let planes: Vec<Vec<f32>> = floats.chunks_exact(side * side).map(<[f32]>::to_vec).collect();
    ensure!(planes.len() == 3, "{path} holds {} planes, not three", planes.len());
    Ok(Values::F32(planes))
}

fn print(name: &str, runs: usize, mut run: impl FnMut() -> Result<(), Error>) -> Result<()> {
    let mut line = name.to_owned();
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        line += &format!(" {:.3}", start.elapsed().as_secs_f64() * 1e3);
    }
    println!("{line}");
    Ok(())
}
