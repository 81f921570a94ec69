//! The demonstration: a clip through both daemons on this machine, then how good and how late it arrived.
//!
//! `demo [--clip FILE.mjpeg] [--frames N] [--backend NAME]..` Both daemons must have been built next to it.

#[path = "demo/measure.rs"]
mod measure;
#[path = "demo/prediction.rs"]
mod prediction;
#[path = "demo/stream.rs"]
mod stream;
#[path = "demo/table.rs"]
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;

/// Streams a clip from the sender to the receiver on this machine and measures what arrives.
#[derive(Debug, Parser)]
struct Arguments {
    /// Motion JPEG clip
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo-clip/demo_720p30.mjpeg"))]
    clip: PathBuf,
    /// Frames to stream; the clip is repeated as often as that takes
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    frames: u64,
    /// Back ends, one after the other
    #[arg(long, default_values = ["cpu", "opencl"])]
    backend: Vec<String>,
    /// Coded bits per pixel, at most
    #[arg(long, default_value_t = 1.5)]
    bits_per_pixel: f64,
    /// Smallest PSNR of luma that is good enough, dB
    #[arg(long, default_value_t = 38.0)]
    psnr_floor: f64,
    /// Folder of the results
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let programs = stream::Programs::find()?;
    let out = arguments.out.clone().unwrap_or_else(|| programs.target_folder().join("demo"));
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let clip = measure::Clip::open(&arguments.clip)?;

    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for backend in &arguments.backend {
        println!("{backend}: streaming {} frames of {} ..", arguments.frames, clip.size());
        let run = stream::Run {
            backend,
            clip: &arguments.clip,
            size: clip.size(),
            frames: arguments.frames,
            bits_per_pixel: arguments.bits_per_pixel,
            out: &out,
        };
        // Some OpenCL drivers compile kernels when they run for the first time on a machine, which takes seconds.
        stream::Run { frames: 5, ..run }.stream(&programs)?;
        let streamed = run.stream(&programs)?;
        let measured = measure::received(&clip, &streamed.picture_file, &out.join(format!("last-{backend}.png")))?;
        faults.extend(streamed.faults(arguments.frames, arguments.bits_per_pixel));
        faults.extend(measured.faults(backend, arguments.frames, arguments.psnr_floor));
        // Hundreds of megabytes that can be made again.
        std::fs::remove_file(&streamed.picture_file)?;
        rows.push(table::Row { streamed, measured });
    }
    println!("\n{}", table::render(&rows));
    println!("{}", prediction::at_equal_quality(&arguments.clip)?);
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    Ok(())
}
