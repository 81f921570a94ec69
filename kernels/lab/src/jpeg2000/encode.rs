//! Pictures to code-streams.

use std::borrow::Cow;
use std::ops::Range;

use kernels::BackendInfo;
use rayon::prelude::*;

use super::bands::Bands;
use super::block::tier1::{CodedBlock, FRACTION_BITS, Style};
use super::check::check;
use super::error::Jpeg2000Error;
use super::front::{self, Front, FrontParams};
use super::geometry::{Area, BandPlace, Cuts, Resolution, resolutions};
use super::image::{Colour, Shape, Source};
use super::job::{Job, JobScratch};
use super::options::{Options, Progression, Target};
use super::plan::{self, Plan, Precinct};
use super::rate::{Hull, smallest_slope};
use super::stream::boxes;
use super::stream::header::{self, ComponentCode, ComponentSize, Sizes, TileCode};
use super::stream::packet::{self, Share, WrittenBand};
use super::stream::progression::{self, Order};
use super::stream::quantise::{BandStep, Quantiser};
use super::tile;
use super::transforms::Choice;

/// Codes pictures of one shape.
pub struct Encoder {
    options: Options,
    sizes: Sizes,
    code: TileCode,
    bands: Bands,
    front: Front,
    resolutions: Vec<Vec<Resolution>>,
    plan: Plan,
    /// Samples of all components.
    samples: usize,
}

/// The blocks of a picture.
pub struct CodedBlocks {
    blocks: Vec<CodedBlock>,
    hulls: Vec<Hull>,
    /// Squared error in the picture of no block at all.
    energy: f64,
}

/// The quantiser's step where passes are left out later, in units of an 8-bit sample.
const FINE_STEP: f64 = 0.5;

impl Encoder {
    /// Opens an encoder for pictures of the shape of `source`.
    pub fn open<'a>(
        source: impl Into<Source<'a>>,
        options: &Options,
        choice: Choice<'_>,
    ) -> Result<Self, Jpeg2000Error> {
        let source = source.into();
        check(&source, options)?;
        let style = if options.is_high_throughput { Style::HIGH_THROUGHPUT } else { Style(0) };
        let is_reversible = options.target == Target::Lossless;
        let size = |shape: &Shape| ComponentSize { depth: shape.depth, is_signed: shape.is_signed, step: shape.step };
        let components: Vec<ComponentSize> = source.shapes.iter().map(size).collect();
        let picture = Area { x0: 0, y0: 0, x1: source.width as u32, y1: source.height as u32 };
        let sizes = Sizes { picture, tile: [0, 0, picture.x1, picture.y1], components };
        let extents: Vec<_> = source.shapes.iter().map(|shape| (shape.width, shape.height)).collect();
        let mixes_colours = source.colour == Colour::Rgb && alike(&source.shapes);
        let depth = source.shapes.iter().map(|shape| shape.depth).max().unwrap_or(1);
        let params = FrontParams {
            extents,
            levels: options.levels,
            is_reversible,
            mixes_colours,
            depth,
            fraction_bits: if options.is_high_throughput { 0 } else { FRACTION_BITS },
            is_narrow: options.is_high_throughput && is_narrow(options, depth),
        };
        let backend = front::backend(choice)?;
        let bands = Front::bands(&params, &backend)?;
        let cuts = Cuts {
            levels: options.levels,
            block: (options.block_exponent, options.block_exponent),
            precincts: Vec::new(),
        };
        let resolutions: Vec<Vec<Resolution>> =
            sizes.components.iter().map(|component| resolutions(picture.sampled(component.step), &cuts)).collect();
        if let Some(sentence) = tile::too_many(resolutions.iter().flatten(), options.layers.into(), &mut 0) {
            return Err(Jpeg2000Error::NotCoded(sentence));
        }
        let order = match options.progression {
            Progression::Resolution => Order::ResolutionLayer,
            Progression::Quality => Order::LayerResolution,
        };
        let components: Vec<ComponentCode> = (0..sizes.components.len())
            .map(|at| ComponentCode {
                cuts: cuts.clone(),
                style,
                is_reversible,
                quantiser: quantiser(at, &sizes, &resolutions[at], first_step(options.target), &bands),
            })
            .collect();
        let code = TileCode { order, layers: options.layers.into(), mixes_colours, components };
        let plan = Plan::new(&sizes, &code, &resolutions, &bands);
        let front = Front::open(&params, &plan.jobs, backend)?;
        Ok(Self { options: *options, sizes, code, bands, front, resolutions, plan, samples: source.count() })
    }

    /// Takes another step, in units of an 8-bit sample, for what was transformed.
    pub(super) fn quantise_by(&mut self, step: f64) -> Result<(), Jpeg2000Error> {
        let Self { sizes, code, bands, resolutions, plan, .. } = self;
        for (at, component) in code.components.iter_mut().enumerate() {
            component.quantiser = quantiser(at, sizes, &resolutions[at], step, bands);
        }
        for job in &mut plan.jobs {
            let depth = sizes.components[job.component].depth;
            job.scale.step = plan::step(&code.components[job.component], depth, &job.band);
        }
        self.front.quantise(&self.plan.jobs)
    }

    /// Transforms a picture of the shape that it was opened for.
    pub fn transform<'a>(&mut self, source: impl Into<Source<'a>>) -> Result<(), Jpeg2000Error> {
        self.front.transform(&source.into())?;
        self.front.quantise(&self.plan.jobs)
    }

    /// Codes the blocks of what was transformed, each for itself.
    pub fn blocks(&self) -> CodedBlocks {
        let (is_high_throughput, jobs) = (self.options.is_high_throughput, &self.plan.jobs);
        let coefficients = self.front.coefficients();
        let code = |scratch: &mut JobScratch, (at, job): (usize, &Job)| {
            coefficients.block(at, job, &mut scratch.columns);
            job.code(scratch, is_high_throughput)
        };
        let coded: Vec<(CodedBlock, f64)> = jobs.par_iter().enumerate().map_init(JobScratch::default, code).collect();
        let energy = coded.iter().zip(jobs).map(|((_, energy), job)| energy * job.scale.weight()).sum();
        let blocks: Vec<CodedBlock> = coded.into_iter().map(|(block, _)| block).collect();
        let hull = |(block, job): (&CodedBlock, &Job)| Hull::new(block, job.scale.weight());
        // Blocks of one pass leave nothing out.
        let hulls = if is_high_throughput { Vec::new() } else { blocks.par_iter().zip(jobs).map(hull).collect() };
        CodedBlocks { blocks, hulls, energy }
    }

    /// Returns the code-stream of the blocks, by the target.
    pub fn finish(&mut self, coded: &CodedBlocks) -> Result<Vec<u8>, Jpeg2000Error> {
        self.finish_to(coded, self.options.target)
    }

    /// Returns the code-stream of the blocks, by another target of the same transform.
    pub(super) fn finish_to(&mut self, coded: &CodedBlocks, target: Target) -> Result<Vec<u8>, Jpeg2000Error> {
        self.set_guard_bits(coded);
        let layers = self.code.layers;
        let slope = match target {
            // Blocks of one pass leave nothing out.
            _ if self.options.is_high_throughput => 0.0,
            Target::Lossless | Target::Step(_) => 0.0,
            Target::Bytes(bytes) => smallest_slope(|slope| self.stream(coded, &[slope]).len() <= bytes),
            Target::Quality(decibels) => {
                let peak = f64::from((1_u32 << self.sizes.components[0].depth) - 1);
                let allowed = peak * peak / 10_f64.powf(decibels / 10.0) * self.samples as f64;
                let error = |slope: f64| coded.energy - coded.hulls.iter().map(|hull| hull.gain(slope)).sum::<f64>();
                // The largest slope with so little error: of the ones with too much it is the smallest, nearly.
                smallest_slope(|slope| error(slope) > allowed) * (1.0 - 1e-6)
            }
        };
        let slopes = if layers == 1 { vec![slope] } else { self.slopes(coded, target, slope) };
        let stream = self.stream(coded, &slopes);
        match target {
            // No slope fits, and the last one tried leaves nothing in.
            Target::Bytes(bytes) if stream.len() > bytes => Err(Jpeg2000Error::NotCoded(format!(
                "the picture does not fit: one of this size takes at least {} bytes, in so many layers: {layers}",
                stream.len()
            ))),
            _ => Ok(stream),
        }
    }

    /// Returns the slopes of all layers, of which the last one has `slope` or, where it would not fit, a larger one.
    fn slopes(&self, coded: &CodedBlocks, target: Target, slope: f64) -> Vec<f64> {
        let layers = self.code.layers;
        // Each layer has about half the bytes of the one after it.
        let all = self.stream(coded, &vec![slope; layers]).len();
        let mut slopes: Vec<f64> = (1..layers)
            .map(|layer| {
                let bytes = all >> (layers - layer);
                smallest_slope(|tried| self.stream(coded, &vec![tried; layers]).len() <= bytes).max(slope)
            })
            .collect();
        slopes.push(slope);
        // The headers of so many layers take some bytes, too.
        if let Target::Bytes(bytes) = target {
            let last = slopes.len() - 1;
            slopes[last] = smallest_slope(|tried| {
                let tried: Vec<f64> = slopes.iter().map(|&slope| slope.max(tried)).collect();
                self.stream(coded, &[&tried[..last], &[tried[last]]].concat()).len() <= bytes
            });
            let least = slopes[last];
            slopes.iter_mut().for_each(|slope| *slope = slope.max(least));
        }
        slopes
    }

    /// Sets as many guard bits as the blocks' planes need.
    fn set_guard_bits(&mut self, coded: &CodedBlocks) {
        for (at, component) in self.code.components.iter_mut().enumerate() {
            let levels = component.cuts.levels;
            let needed =
                coded.blocks.iter().zip(&self.plan.jobs).filter(|(_, job)| job.component == at).map(|(block, job)| {
                    let step = component.quantiser.step(job.band.index, job.band.band, job.band.level, levels);
                    (block.planes + 1).saturating_sub(step.map_or(0, |step| step.exponent))
                });
            component.quantiser.guard_bits = needed.max().unwrap_or(0).clamp(1, GUARD_BITS_MAX);
        }
    }

    /// Returns the code-stream with the passes that are worth the slope of each layer.
    fn stream(&self, coded: &CodedBlocks, slopes: &[f64]) -> Vec<u8> {
        let layers = slopes.len();
        // Passes of each block up to each layer.
        let passes = |block: usize, layer: usize| match slopes[layer] <= 0.0 {
            true => coded.blocks[block].passes.len(),
            false => coded.hulls[block].passes(slopes[layer]),
        };
        let bytes: Vec<Cow<'_, [u8]>> =
            coded.blocks.iter().enumerate().map(|(at, block)| block.bytes(passes(at, layers - 1))).collect();
        let mut written: Vec<Vec<WrittenBand>> =
            self.plan.precincts.iter().map(|precinct| self.written(precinct, coded, layers, &passes)).collect();
        // With room for headers, so that nothing is copied elsewhere.
        let mut packets = Vec::with_capacity(bytes.iter().map(|bytes| bytes.len() + HEADER_BYTES).sum());
        for (at, layer) in progression::packets(self.code.order, &self.plan.places, layers) {
            let share = |block: usize| {
                let (now, all) = (passes(block, layer), passes(block, layers - 1));
                let before = layer.checked_sub(1).map_or(0, |layer| passes(block, layer));
                let part = |passes: usize| coded.blocks[block].part_len(passes, all);
                let bytes = &bytes[block][part(before)..part(now)];
                match now - before {
                    0 => Share::default(),
                    count => Share { passes: count, bytes },
                }
            };
            let bands = &self.plan.precincts[at].bands;
            let shares: Vec<Vec<Share<'_>>> = bands.iter().map(|(_, jobs)| jobs.clone().map(share).collect()).collect();
            packet::write(&mut written[at], &shares, layer, &mut packets);
        }
        let stream = header::write(&self.sizes, &TileCode { layers, ..self.code.clone() }, packets);
        match self.options.wrapping {
            None => stream,
            Some(colour) => {
                let Options { resolution, is_high_throughput, .. } = self.options;
                boxes::wrap(stream, &self.sizes, colour, resolution, is_high_throughput)
            }
        }
    }

    fn written(
        &self,
        precinct: &Precinct,
        coded: &CodedBlocks,
        layers: usize,
        passes: &impl Fn(usize, usize) -> usize,
    ) -> Vec<WrittenBand> {
        let band = |(columns, jobs): &(usize, Range<usize>)| {
            let firsts: Vec<usize> = jobs
                .clone()
                .map(|block| (0..layers).find(|&layer| passes(block, layer) > 0).unwrap_or(layers))
                .collect();
            let planes: Vec<u32> = jobs.clone().map(|block| self.zero_planes(block, coded)).collect();
            WrittenBand::new(*columns, &firsts, &planes)
        };
        precinct.bands.iter().map(band).collect()
    }

    fn zero_planes(&self, block: usize, coded: &CodedBlocks) -> u32 {
        let job = &self.plan.jobs[block];
        let ComponentCode { quantiser, cuts, .. } = &self.code.components[job.component];
        let step = quantiser.step(job.band.index, job.band.band, job.band.level, cuts.levels);
        let planes = step.map_or(0, |step| quantiser.planes(step));
        planes.saturating_sub(coded.blocks[block].coded_planes).into()
    }

    /// Returns the back end that transforms.
    pub fn backend(&self) -> &BackendInfo {
        self.front.backend()
    }
}

/// Bytes of headers for each code-block, at most in most pictures.
const HEADER_BYTES: usize = 16;

/// Most guard bits that the header can write.
const GUARD_BITS_MAX: u8 = 7;

/// Binary digits of the finest step below a sample's highest: a coefficient of twice a sample's range has one more, and
/// [`FRACTION_BITS`] below that must fit beside the sign.
const STEP_BITS_MAX: i32 = 30 - FRACTION_BITS as i32;

/// Returns the quantiser's first step, in units of an 8-bit sample; 0 for none.
fn first_step(target: Target) -> f64 {
    match target {
        Target::Lossless => 0.0,
        Target::Step(step) => step,
        // Half of the error that is allowed, or less.
        Target::Quality(decibels) => (255.0 * 10_f64.powf(-decibels / 20.0)).min(4.0 * FINE_STEP) / 4.0,
        Target::Bytes(_) => FINE_STEP,
    }
}

/// Returns the steps of a component's bands, of a first one or none at all; guard bits come later.
fn quantiser(at: usize, sizes: &Sizes, resolutions: &[Resolution], first: f64, bands: &Bands) -> Quantiser {
    let depth = sizes.components[at].depth;
    let unit = 2_f64.powi(i32::from(depth) - 8);
    // What is finer would not fit beside a coefficient, nor be seen through the transform's rounding.
    let finest = 2_f64.powi(i32::from(depth) - STEP_BITS_MAX);
    let step = |band: &BandPlace| {
        let bits = depth + band.band.gain();
        if first == 0.0 {
            return BandStep { exponent: bits, mantissa: 0 };
        }
        let step = first * unit / bands.ratio(at, band.band, band.level);
        BandStep::nearest(step.max(finest), bits)
    };
    let steps = resolutions.iter().flat_map(|resolution| &resolution.bands).map(step).collect();
    Quantiser { guard_bits: 1, steps, is_derived: false }
}

/// Bits of a magnitude where it is narrow, and by how many a sample's grow in the worst of pictures.
const NARROW_BITS: i32 = 15;
const GROWTH_BITS: i32 = 4;

/// Returns true if no magnitude has many bits, by what is asked for and the bits of the largest sample.
fn is_narrow(options: &Options, depth: u8) -> bool {
    let finest = match options.target {
        Target::Lossless => 0.0,
        // The last low band has the finest step of all.
        Target::Step(step) => step.log2() + f64::from(depth) - 8.0 - f64::from(options.levels),
        // Found later.
        Target::Bytes(_) | Target::Quality(_) => return false,
    };
    f64::from(i32::from(depth) + GROWTH_BITS) - finest < f64::from(NARROW_BITS)
}

/// Returns true if the first three components have one size and depth.
fn alike(shapes: &[Shape]) -> bool {
    let key = |at: usize| shapes.get(at).map(|found| (found.width, found.height, found.depth, found.is_signed));
    key(0).is_some() && key(0) == key(1) && key(1) == key(2)
}
