//! The command line: every option and every name it may have.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use kernels::BackendChoice;
use kernels::{Effort, Element};
use lab::{Lifting, Scheme, WAVELETS};
use picture::frame::Chroma;
use picture::params::{Boundary, Levels, Padding};

/// Padded full-decomposition wavelet transform and block coder: pictures to coefficients, coefficients to bytes,
/// and back.
#[derive(Debug, Parser)]
#[command(name = "wavelet", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Use the built-in work-group shapes, not those that `tune` has kept
    #[arg(long, global = true)]
    pub(crate) no_tune: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the devices that a transform can run on
    Devices {
        /// One JSON array on standard output
        #[arg(long)]
        json: bool,
    },
    /// Transform a picture (the first of a Y4M) into an array of coefficients of shape (channels, N, N)
    Forward {
        /// Picture: PNG, JPEG, PPM, PGM or Y4M
        input: PathBuf,
        /// Coefficients: .npy, float32 (int32 for cdf53, float64 with --precision f64); size and options go to
        /// OUT.npy.json beside it
        output: PathBuf,
        #[command(flatten)]
        transform: TransformArgs,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Transform an array of coefficients back into a picture
    Inverse {
        /// Coefficients written by `forward`, with their .npy.json
        input: PathBuf,
        /// Picture: .png, .ppm, .pgm or .y4m; .npy keeps the samples unrounded, of shape (channels, height, width)
        output: PathBuf,
        #[command(flatten)]
        transform: TransformArgs,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Code pictures or every picture of a Y4M
    Encode {
        /// Pictures or clips: PNG, JPEG, PPM, PGM or Y4M, whatever their names; or folders of such files
        #[arg(required = true, value_name = "INPUT")]
        inputs: Vec<PathBuf>,
        /// Coded clip: .duet; or one picture as JPEG 2000: .j2k, .jp2, of Part 15 (HTJ2K) .j2c, .jph; or, of several, a folder, where each gets the name of its picture
        output: PathBuf,
        #[command(flatten)]
        coding: CodingArgs,
        #[command(flatten)]
        transform: TransformArgs,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Decode a .duet, .j2k, .jp2, .j2c or .jph file. Of a damaged one what is whole is decoded, what is not is told, and the exit code is 1
    Decode {
        /// Coded clip or picture: .duet, .j2k, .jp2, .j2c, .jph
        input: PathBuf,
        /// Clip: .y4m; or picture, if the file holds one frame: .png, .ppm, .pgm
        output: PathBuf,
        /// Leave out the finest N levels: a picture of 1/2^N of the width and height
        #[arg(long, value_name = "N", default_value_t = 0)]
        drop_levels: u8,
        /// Fill pauses of more than a minute in all, too, with the picture before them
        #[arg(long)]
        fill_pauses: bool,
        /// Of a file of JPEG 2000 that does not say it: what its three components are
        #[arg(long, value_enum)]
        colours: Option<ColoursName>,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Make one film, with its sound, of a recording, or of both sides of a call; ffmpeg does it, which must be there
    Export {
        /// Recording: .duet; two of the same call stand side by side. The .wav beside each is its sound
        #[arg(required = true, num_args = 1..=2, value_name = "INPUT")]
        inputs: Vec<PathBuf>,
        /// Film: .mkv, sound without loss, of two sides together and each alone; or .mp4. Or pictures, from 1: NAME%05d.png, .ppm,
        /// .jp2, .j2k, .jph or .j2c, without further loss
        output: PathBuf,
        /// Fill pauses of more than a minute in all, too, with the picture before them
        #[arg(long)]
        fill_pauses: bool,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Say what is in a .duet file, and whether it is whole (exit code 1 if not)
    Info {
        /// Coded clip: .duet
        input: PathBuf,
    },
    /// Soften or sharpen pictures, take the camera's noise out, or even the light
    Effects {
        /// Picture or clip: PNG, JPEG, PPM, PGM or Y4M
        input: PathBuf,
        /// Picture or clip: .png, .ppm, .pgm or .y4m
        output: PathBuf,
        #[command(flatten)]
        effects: EffectsArgs,
    },
    /// Make subbands of a picture or an array stronger, weaker, or those of another one
    Subbands {
        /// Picture: PNG, JPEG, PPM, PGM or Y4M (its first); or .npy of shape (channels, height, width), of any number of channels
        input: PathBuf,
        /// Picture: .png, .ppm, .pgm or .y4m; of an array, .npy; of one of three coordinates (a geometry image), its mesh as .obj, or a
        /// picture of that as .png
        output: PathBuf,
        #[command(flatten)]
        subbands: SubbandsArgs,
        #[command(flatten)]
        transform: TransformArgs,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Measure on this machine: medians over several runs after a warm-up
    Bench {
        /// Measurement to make
        kind: BenchKind,
        #[command(flatten)]
        bench: BenchArgs,
        #[command(flatten)]
        transform: TransformArgs,
        #[command(flatten)]
        compute: ComputeArgs,
    },
    /// Measure which work-group shapes suit an OpenCL device, and keep them for it; takes up to 10 seconds
    Tune {
        /// Part of the device's name
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
        /// Sizes to tune for: hd, square or WxH, separated by commas [default: 1280x720,1920x1080]
        #[arg(long, value_name = "hd|square|WxH,..", value_delimiter = ',')]
        sizes: Vec<String>,
    },
}

/// Choice of the transform.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct TransformArgs {
    /// Wavelet [default: cdf97]
    #[arg(long, value_parser = one_of(WAVELETS.map(|wavelet| (wavelet.name, wavelet))))]
    pub(crate) wavelet: Option<Lifting>,
    /// Filters to use instead of a wavelet, in the form of kernels/lab/banks/haar.toml
    #[arg(long, value_name = "FILE", conflicts_with = "wavelet")]
    pub(crate) filter_bank: Option<PathBuf>,
    /// Depth: `full` (until one low coefficient is left) or 1 to 14 [default: full; of JPEG 2000 5]
    #[arg(long, value_name = "full|N", value_parser = parse_levels)]
    pub(crate) levels: Option<Levels>,
    /// Extension at the ends of rows and columns [default: symmetric]
    #[arg(long, value_parser = one_of([
        ("symmetric", Boundary::Symmetric), ("periodic", Boundary::Periodic), ("zero", Boundary::Zero),
    ]))]
    pub(crate) boundary: Option<Boundary>,
    /// Continuation of the picture in its square [default: smooth]
    #[arg(long, value_parser = one_of([("smooth", Padding::Smooth), ("zero", Padding::Zero)]))]
    pub(crate) padding: Option<Padding>,
    /// Order of the computation, of the same coefficients [default: the fastest]
    #[arg(long, value_parser = one_of(Scheme::NAMES.map(|(scheme, name)| (name, scheme))))]
    pub(crate) scheme: Option<Scheme>,
    /// Arithmetic; cdf53 is always in 32-bit integers [default: f32]
    #[arg(long, value_parser = one_of([("f32", Element::F32), ("f64", Element::F64)]))]
    pub(crate) precision: Option<Element>,
}

/// Changes of pictures.
#[derive(Clone, Debug, Args)]
pub(crate) struct EffectsArgs {
    /// Gain of the finest detail, 0 to 4: below 1 softens, above 1 sharpens [default: 1]
    #[arg(long, value_name = "GAIN")]
    pub(crate) detail: Option<f32>,
    /// Threshold in grey levels, 0 to 32, below which fine detail is noise [default: 0]
    #[arg(long, value_name = "LEVELS")]
    pub(crate) noise: Option<f32>,
    /// Difference in grey levels, 0 to 20, below which a part of the picture stands still, where its noise is averaged over
    /// the pictures of a clip [default: 0]
    #[arg(long, value_name = "LEVELS")]
    pub(crate) still_noise: Option<f32>,
    /// Share of the coarsest differences in brightness that is taken away, 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) even_light: Option<f32>,
}

/// Changes of subbands, in this order: gain, threshold, take, larger. They are `low`, `all`, a level (1 is the finest) or levels such as 2-4, these with h, v or d for the
/// detail of one direction.
#[derive(Clone, Debug, Args)]
pub(crate) struct SubbandsArgs {
    /// Each coefficient so many times as large; 0 removes them. Subbands are low, all, a level such as 1 (the finest) or levels
    /// such as 2-4, these with h, v or d for horizontal, vertical or diagonal detail alone. Gains come first, then thresholds,
    /// then what is taken, then what is larger, whatever the order they are given in
    #[arg(long, value_name = "SUBBANDS=FACTOR")]
    pub(crate) gain: Vec<String>,
    /// Coefficients that are smaller become 0
    #[arg(long, value_name = "SUBBANDS=VALUE")]
    pub(crate) threshold: Vec<String>,
    /// Those of the picture --from take the place of its own
    #[arg(long, value_name = "SUBBANDS")]
    pub(crate) take: Vec<String>,
    /// Of each coefficient and that of the picture --from, the larger one
    #[arg(long, value_name = "SUBBANDS")]
    pub(crate) larger: Vec<String>,
    /// Another picture or array of the same size
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// File for that which the changes took away, around grey: texture, where OUTPUT keeps the light
    #[arg(long, value_name = "FILE")]
    pub(crate) rest: Option<PathBuf>,
}

/// Choice of the back end.
#[derive(Clone, Debug, Args)]
pub(crate) struct ComputeArgs {
    /// auto takes an OpenCL GPU, else the CPU; the CPU for files of JPEG 2000 to be written
    #[arg(long, default_value = "auto", value_parser = one_of([
        ("auto", BackendChoice::Auto), ("opencl", BackendChoice::Opencl), ("cpu", BackendChoice::Cpu),
        ("reference", BackendChoice::Reference),
    ]))]
    pub(crate) backend: BackendChoice,
    /// Part of the OpenCL device's name, as `wavelet devices` lists it
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
}

/// Options of the coding.
#[derive(Clone, Debug, Args)]
pub(crate) struct CodingArgs {
    /// Coefficient code
    #[arg(long, value_enum, default_value_t = ProfileName::Quad)]
    pub(crate) profile: ProfileName,
    #[command(flatten)]
    pub(crate) rate: RateArgs,
    /// Chroma sampling [default: the Y4M's own; 420 for colour stills]
    #[arg(long, value_parser = one_of([("420", Chroma::C420), ("444", Chroma::C444)]))]
    pub(crate) chroma: Option<Chroma>,
    /// Distribution of the error over the bands [default: psnr]
    #[arg(long)]
    pub(crate) weights: Option<WeightsName>,
    #[command(flatten)]
    pub(crate) prediction: PredictionArgs,
    #[command(flatten)]
    pub(crate) loss: LossArgs,
    #[command(flatten)]
    pub(crate) jpeg2000: Jpeg2000Args,
}

/// Options of JPEG 2000 alone.
#[derive(Clone, Debug, Args)]
pub(crate) struct Jpeg2000Args {
    /// Of .j2k and .jp2: small pictures before larger ones, or coarse ones before finer ones in 8 layers; .j2c and .jph have one layer [default: resolution]
    #[arg(long)]
    pub(crate) progression: Option<ProgressionName>,
    /// Of JPEG 2000: side of the code-blocks, 32 or 64 coefficients [default: 64]
    #[arg(long, value_name = "SIDE", value_parser = one_of([("32", 32_u8), ("64", 64)]))]
    pub(crate) code_block: Option<u8>,
}

/// Order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressionName {
    Resolution,
    Quality,
}

/// Meaning of three components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColoursName {
    /// Red, green and blue of sRGB
    Rgb,
    /// Y, Cb and Cr
    Ycbcr,
}

/// A line that loses datagrams, between an encoder that predicts and a decoder that reports.
#[derive(Clone, Debug, Args)]
pub(crate) struct LossArgs {
    /// With --prediction on: sends each frame with its parity in datagrams of 1200 bytes, loses so many of a hundred, and keeps
    /// what arrives
    #[arg(long, value_name = "PERCENT")]
    pub(crate) loss: Option<f64>,
    /// With --loss: frames from one to the report of what arrived of it [default: 3]
    #[arg(long, value_name = "FRAMES")]
    pub(crate) feedback_delay: Option<u32>,
    /// With --loss: decides which datagrams are lost [default: 1]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// With --loss: what the receiver shows, as Y4M
    #[arg(long, value_name = "FILE.y4m")]
    pub(crate) shown: Option<PathBuf>,
}

/// Prediction of frames from others, on or off, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct PredictionArgs {
    /// Predict each frame from one before it, where that takes fewer bytes
    #[arg(long, value_enum, default_value_t = PredictionName::Off)]
    pub(crate) prediction: PredictionName,
    /// With --prediction on: how many frames before a frame the one is that it is predicted from, 1 to 32 [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) reference_age: Option<u8>,
    /// With --prediction on: how much is done to find motion [default: medium]
    #[arg(long, value_parser = one_of([("low", Effort::Low), ("medium", Effort::Medium), ("high", Effort::High)]))]
    pub(crate) effort: Option<Effort>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictionName {
    On,
    Off,
}

/// Size or quality; without any of them `--step 8`.
#[derive(Clone, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct RateArgs {
    /// Bits per luma pixel; the whole file keeps to it
    #[arg(long, value_name = "X")]
    pub(crate) bpp: Option<f64>,
    /// Most bytes a frame may take in the file
    #[arg(long, value_name = "N")]
    pub(crate) bytes_per_frame: Option<usize>,
    /// PSNR of luma in decibels, of JPEG 2000 that of all samples: each frame reaches it with as few bytes as a search finds,
    /// 0.1 dB above at most where it has blocks enough; a file of JPEG 2000 that does not reach it is refused
    #[arg(long, value_name = "DB")]
    pub(crate) quality: Option<f64>,
    /// Quantiser step in units of an 8-bit sample, rounded to eight steps per octave, of JPEG 2000 to 2048 [default: 8, unless
    /// another size or quality is asked for]
    #[arg(long, value_name = "X")]
    pub(crate) step: Option<f64>,
    /// Keep every bit
    #[arg(long)]
    pub(crate) lossless: bool,
    /// With --profile pcwt: leave out the last N bits of every coefficient, 0 (lossless) to 10
    #[arg(long, value_name = "N")]
    pub(crate) qmin: Option<u8>,
}

/// Distribution of the error over the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsName {
    /// Evenly: the least squared error
    Psnr,
    /// Into what eyes see least, at 60 pixels per degree; colour is then much coarser
    Visual,
}

/// Options of a measurement.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArgs {
    /// hd (852x480 to 7680x4320), square (256x256 to 8192x8192) or WxH, separated by commas [default: square for
    /// `schemes`, both for `all`, 1920x1080 for others]
    #[arg(long, value_name = "hd|square|WxH,..", value_delimiter = ',')]
    pub(crate) sizes: Vec<String>,
    /// Most runs of each measurement
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) runs: u32,
    /// Time after which a measurement ends though it has had fewer runs
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Also write the table to FILE, comma-separated
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the table to FILE in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Also draw the table into FILE, a PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Folder for the files of `all` [default: bench-results]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Bits per pixel of `codec`
    #[arg(long, value_name = "X", default_value_t = 1.5)]
    pub(crate) bpp: f64,
    /// Pictures to use instead of synthetic ones: PNG, JPEG, PPM, PGM or Y4M (its first frame)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) picture: Vec<PathBuf>,
    /// Programs that `jpeg2000` runs on the same pictures: opj_compress, ojph_compress
    #[arg(long, value_name = "PROGRAM,..", value_delimiter = ',')]
    pub(crate) beside: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchKind {
    /// Transform of three planes, forward and inverse, with its copies
    Dwt,
    /// One level of one plane by each scheme
    Schemes,
    /// Encoder and decoder by stage, bytes and PSNR
    Codec,
    /// Predicted frames by stage, for each effort
    Prediction,
    /// Effects before the coding, each alone and all together; on the processor
    Effects,
    /// Whole pictures without loss, by both profiles
    Lossless,
    /// The coder of JPEG 2000 by stage, with the transform on the processor and on the device
    Jpeg2000,
    /// Copies between host and device
    Transfer,
    /// Channels overlapping against one after another
    Overlap,
    /// All of these, into files
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    Quad,
    Pcwt,
}

/// Takes one of these names, which the help and the error list.
fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(values.each_ref().map(|(name, _)| *name));
    names.try_map(move |given| {
        let found = values.iter().find(|(name, _)| *name == given);
        found.map(|(_, value)| value.clone()).ok_or("no such name")
    })
}

fn parse_levels(text: &str) -> Result<Levels, String> {
    match (text, text.parse()) {
        ("full", _) => Ok(Levels::Full),
        (_, Ok(levels @ 1..=14)) => Ok(Levels::AtMost(levels)),
        _ => Err("write `full` or a number from 1 to 14".to_owned()),
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let possible = |seconds: &f64| (0.0..=86_400.0).contains(seconds);
    text.parse().ok().filter(possible).ok_or_else(|| "write a number of seconds, at most a day".to_owned())
}
