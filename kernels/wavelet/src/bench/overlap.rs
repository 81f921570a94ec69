//! Transfers and kernels side by side: channels, neighbouring frames, forward and inverse, against one after another.

use std::time::{Duration, Instant};

use anyhow::Result;
use kernels::PictureRef;
use lab::opencl::{DeviceStage, Flow, OpenClPipeline, PipelineParams};
use picture::coded::StepIndex;
use picture::frame::{Chroma, FrameSize, PixelFormat};
use picture::params::{CodecParams, StreamParams};

use super::sizes::sizes;
use super::{Axes, Limit, Table, medians, ms, require_opencl, scene};
use crate::args::{BenchArgs, ComputeArgs};
use crate::stream;

/// A step of 8: that of a good picture.
const STEP_INDEX: u8 = 56;
/// Frames of one measurement where neighbouring frames overlap.
const FRAMES: u32 = 8;

/// One row: pipelines that work together, and how.
struct Case {
    flow: &'static str,
    order: String,
    pipelines: Vec<PipelineParams>,
    /// True if each pipeline's frame is submitted before the first one's is collected.
    together: bool,
    /// True if the picture lies in ordinary memory.
    pageable: bool,
}

pub(crate) fn run(args: &BenchArgs, compute: &ComputeArgs) -> Result<Table> {
    require_opencl("overlap", compute)?;
    let mut table = Table::new(&[
        "device",
        "size",
        "flow",
        "order",
        "htod_ms",
        "calc_ms",
        "dtoh_ms",
        "wall_ms",
        "frames_s",
        "wall_ratio",
    ]);
    table.note("htod, calc, dtoh: time in which at least one such command ran, by the device's clock");
    table.note("wall: a frame's time by the host's clock, commands not timed; ratio: to the flow's first row");
    table.plot(Axes {
        title: "One after another and side by side".to_owned(),
        values: &["wall_ms"],
        by: &["flow", "order"],
        ..Axes::TIMES
    });
    for size in sizes(&args.sizes, "1920x1080")? {
        let mut first: Option<(&str, Duration)> = None;
        for case in cases(size)? {
            let [upload, calc, download] = stages(&case, size, args, compute)?;
            let (device, wall) = wall(&case, size, args, compute)?;
            if first.is_none_or(|(flow, _)| flow != case.flow) {
                first = Some((case.flow, wall));
            }
            let serial = first.map_or(wall, |(_, wall)| wall).as_secs_f64();
            let seconds = wall.as_secs_f64().max(1e-9);
            table.push(vec![
                device,
                size.to_string(),
                case.flow.to_owned(),
                case.order,
                ms(upload),
                ms(calc),
                ms(download),
                ms(wall),
                format!("{:.1}", 1.0 / seconds),
                format!("{:.2}", seconds / serial.max(1e-9)),
            ]);
        }
    }
    Ok(table)
}

/// Returns all rows of a size.
fn cases(size: FrameSize) -> Result<Vec<Case>> {
    let info = scene::info(size);
    let stream: StreamParams = stream::stream_params(&info, Chroma::C444, CodecParams::default());
    let params = |flow, depth, stripes, overlap| PipelineParams { stream, flow, depth, stripes, overlap, timed: false };
    let step = StepIndex::new(STEP_INDEX).unwrap_or(StepIndex::MAX);
    let quantised = Flow::PictureToQuantised(PixelFormat::Rgb8, step);
    let mut cases = Vec::new();
    let mut add = |flow, order: &str, pipelines, together, pageable| {
        cases.push(Case { flow, order: order.to_owned(), pipelines, together, pageable });
    };
    let name = "RGB8 up, quantised on the device";
    add(name, "one after another", vec![params(quantised, 1, 1, false)], false, false);
    add(name, "channels overlap", vec![params(quantised, 1, 1, true)], false, false);
    for stripes in [2, 4, 8] {
        let order = format!("channels overlap, {stripes} stripes");
        add(name, &order, vec![params(quantised, 1, stripes, true)], false, false);
    }
    add(name, "frames overlap", vec![params(quantised, 2, 1, true)], false, false);
    add(name, "channels overlap, pageable memory", vec![params(quantised, 1, 1, true)], false, true);
    add(name, "channels overlap, pageable memory, 4 stripes", vec![params(quantised, 1, 4, true)], false, true);
    let name = "f32 planes up, f32 coefficients down";
    add(name, "one after another", vec![params(Flow::PlanesToHost, 1, 1, false)], false, false);
    add(name, "channels overlap", vec![params(Flow::PlanesToHost, 1, 1, true)], false, false);
    add(name, "frames overlap", vec![params(Flow::PlanesToHost, 2, 1, true)], false, false);
    let name = "forward and inverse, f32 both ways";
    let both = |depth| [Flow::PlanesToHost, Flow::HostToPlanes].map(|flow| params(flow, depth, 1, true)).to_vec();
    add(name, "one after another", both(1), false, false);
    add(name, "side by side", both(1), true, false);
    add(name, "side by side, frames overlap", both(2), true, false);
    Ok(cases)
}

/// Opens the pipelines of a case and fills their buffers.
fn open(case: &Case, data: &[u8], timed: bool, compute: &ComputeArgs) -> Result<Vec<OpenClPipeline>> {
    let open = |params: &PipelineParams| {
        let mut pipeline = OpenClPipeline::open(&PipelineParams { timed, ..*params }, compute.device.as_deref())?;
        for lane in 0..params.depth {
            // Lanes take turns with different pictures.
            let shifted = data[lane * 3..].iter().chain(data);
            pipeline.picture_buffer()?.iter_mut().zip(shifted.clone()).for_each(|(to, &from)| *to = from);
            for channel in 0..3 {
                let (values, _) = pipeline.values_buffer(channel)?;
                let samples = shifted.clone().skip(channel).cycle();
                values.iter_mut().zip(samples).for_each(|(to, &from)| *to = f32::from(from) - 128.0);
            }
            pipeline.submit()?;
        }
        while pipeline.collect()?.is_some() {}
        Ok(pipeline)
    };
    case.pipelines.iter().map(open).collect()
}

/// Returns the busy times of a frame's uploads, kernels and downloads, of all pipelines of the case together.
fn stages(case: &Case, size: FrameSize, args: &BenchArgs, compute: &ComputeArgs) -> Result<[Duration; 3]> {
    let data = scene::rgb(size);
    let mut pipelines = open(case, &data, true, compute)?;
    medians(Limit::of(args), || {
        let mut times = [Duration::ZERO; 3];
        for pipeline in &mut pipelines {
            submit(pipeline, case, size, &data)?;
            if let Some(collected) = pipeline.collect()? {
                let timeline = collected.timeline()?;
                let busy = |stage| Duration::from_nanos(timeline.busy_ns(stage));
                times[0] += busy(DeviceStage::Upload);
                times[1] += busy(DeviceStage::Transform) + busy(DeviceStage::Code);
                times[2] += busy(DeviceStage::Download);
            }
        }
        Ok(times)
    })
}

/// Returns the device, and a frame's time from the call to its results.
fn wall(case: &Case, size: FrameSize, args: &BenchArgs, compute: &ComputeArgs) -> Result<(String, Duration)> {
    let data = scene::rgb(size);
    let mut pipelines = open(case, &data, false, compute)?;
    let depth = case.pipelines.iter().map(|params| params.depth).max().unwrap_or(1);
    let frames = if depth > 1 { FRAMES } else { 1 };
    let [wall] = medians(Limit::of(args), || {
        let start = Instant::now();
        for frame in 0..frames as usize {
            for pipeline in &mut pipelines {
                if frame >= depth {
                    pipeline.collect()?;
                }
                submit(pipeline, case, size, &data)?;
                if !case.together && depth == 1 {
                    pipeline.collect()?;
                }
            }
        }
        for pipeline in &mut pipelines {
            while pipeline.collect()?.is_some() {}
        }
        Ok([start.elapsed() / frames])
    })?;
    let device = pipelines.first().map(|pipeline| pipeline.device().to_owned()).unwrap_or_default();
    Ok((device, wall))
}

fn submit(pipeline: &mut OpenClPipeline, case: &Case, size: FrameSize, data: &[u8]) -> Result<()> {
    if case.pageable {
        pipeline.submit_picture(PictureRef::new(PixelFormat::Rgb8, size, data)?)?;
    } else {
        pipeline.submit()?;
    }
    Ok(())
}
