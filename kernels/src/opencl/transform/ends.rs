//! Both ends of a stream's transform: the finest level from or to the bytes of a picture, or, where no launch computes
//! that, a plane between them (`cl/shared/source.cl`, `cl/transform/colour_plane.cl`).

use device::header::Header;
use device::kernel::{Kernel, Program, kernel};
use device::queue::{Buffer, Event};
use device::timeline::{DeviceStage, Recorder};
use device::{Device, Result};
use picture::frame::FrameSize;
use picture::params::Boundary;

use super::channel::ChannelPipeline;
use super::level::{Launch, RowsLaunch, Samples};
use super::params;
use super::source::{self, Convert};

const PLANE: [&str; 4] = [
    include_str!("../../../cl/shared/common.cl"),
    include_str!("../../../cl/transform/colour.cl"),
    include_str!("../../../cl/shared/source.cl"),
    include_str!("../../../cl/transform/colour_plane.cl"),
];

fn plane_program(device: &Device, samples: &Header) -> Result<Program> {
    // The boundary means nothing to these kernels.
    device.build(&params::header(&device.tuning, Boundary::Symmetric).and(samples), &PLANE)
}

/// Kernels from a picture's bytes to coefficients.
pub(crate) struct First {
    /// Kernel that makes a plane of the bytes, if the finest level does not read them itself.
    plane: Option<Kernel>,
    /// The finest level, if one launch computes it.
    level: Option<RowsLaunch>,
}

/// Progress of a channel through the rows of its picture.
#[derive(Default)]
pub(crate) struct RowProgress {
    /// Rows of the plane.
    rows: usize,
    /// Rows of groups of the finest level.
    groups: usize,
}

impl First {
    /// Creates the kernels for `pipeline`, whose samples `convert` finds in `bytes` of pictures of `size`.
    pub(crate) fn new(
        pipeline: &ChannelPipeline,
        convert: Convert,
        bytes: &Buffer<u8>,
        size: FrameSize,
    ) -> Result<Self> {
        let (device, transform) = (pipeline.queue.device(), &pipeline.transform);
        let finest = transform.finest();
        let level = |from: &Samples<'_>| match &finest {
            Some(level) => pipeline.schemes.of(&level.size).forward_from(device, level, from),
            None => Ok(None),
        };
        let samples = convert.samples(bytes, size, pipeline.channel);
        if let Some(samples) = samples.as_ref().filter(|_| convert.suits_levels(device.info.kind))
            && let Some(level) = level(samples)?
        {
            return Ok(Self { plane: None, level: Some(level) });
        }
        let (plane, pitch) = transform.samples();
        let kernel = plane_kernel(pipeline, samples)?;
        let from = Samples { header: source::planes(), args: vec![("in", plane.arg()), ("in_pitch", pitch.into())] };
        Ok(Self { plane: Some(kernel), level: level(&from)? })
    }

    /// Creates the kernel for the same samples that makes a plane of them, for all levels to come after something else.
    pub(crate) fn plane(
        pipeline: &ChannelPipeline,
        convert: Convert,
        bytes: &Buffer<u8>,
        size: FrameSize,
    ) -> Result<Self> {
        let kernel = plane_kernel(pipeline, convert.samples(bytes, size, pipeline.channel))?;
        Ok(Self { plane: Some(kernel), level: None })
    }

    /// Runs what needs no samples but those of the first `rows` rows and was not run before, after these events; notes
    /// the commands.
    pub(crate) fn run(
        &self,
        pipeline: &ChannelPipeline,
        rows: usize,
        progress: &mut RowProgress,
        after: &[Event],
        recorder: &mut Recorder,
    ) -> Result<()> {
        let mut after = after;
        if let Some(kernel) = &self.plane {
            let event = pipeline.launch_rows(kernel, progress.rows..rows, after)?;
            recorder.note(pipeline.channel, DeviceStage::Transform, event);
            progress.rows = rows;
            // It comes before in the queue.
            after = &[];
        }
        let Some(first) = &self.level else { return Ok(()) };
        let (ready, done) = (groups_ready(first, rows, pipeline), progress.groups);
        if ready > done {
            let Launch { kernel, groups, group_size, .. } = &first.launch;
            let event = pipeline.queue.launch_from(
                kernel,
                [0, done * group_size[1]],
                [groups[0], ready - done],
                *group_size,
                after,
            )?;
            recorder.note(pipeline.channel, DeviceStage::Transform, event);
            progress.groups = ready;
        }
        Ok(())
    }

    /// Runs the levels that are left; notes the commands.
    pub(crate) fn rest(&self, pipeline: &ChannelPipeline, recorder: &mut Recorder) -> Result<()> {
        let mut events = Vec::new();
        if self.level.is_some() {
            pipeline.transform.run_forward_below(&pipeline.queue, &mut events)?;
        } else {
            pipeline.transform.run_forward(&pipeline.queue, &mut events)?;
        }
        events.into_iter().for_each(|event| recorder.note(pipeline.channel, DeviceStage::Transform, event));
        Ok(())
    }

    /// Returns true if the finest level reads the bytes itself.
    #[cfg(test)]
    pub(crate) fn is_fused(&self) -> bool {
        self.plane.is_none()
    }
}

/// Creates the kernel that makes a plane of `samples`; of zeros if there are none.
fn plane_kernel(pipeline: &ChannelPipeline, samples: Option<Samples<'_>>) -> Result<Kernel> {
    let device = pipeline.queue.device();
    let (plane, pitch) = pipeline.transform.samples();
    let to = [("out", plane.arg()), ("out_pitch", pitch.into()), ("width", pipeline.width.into())];
    match samples {
        Some(Samples { header, args }) => {
            kernel(&*plane_program(device, &header)?, "plane_copy", &[args.as_slice(), &to].concat())
        }
        None => kernel(&*plane_program(device, &source::planes())?, "plane_zero", &to),
    }
}

/// Returns the number of rows of groups that find all that they read in the first `rows` rows of samples.
fn groups_ready(first: &RowsLaunch, rows: usize, pipeline: &ChannelPipeline) -> usize {
    let [_, all] = first.launch.groups;
    if rows >= pipeline.height {
        return all;
    }
    // The first samples depend on the last ones.
    if pipeline.boundary == Boundary::Periodic {
        return 0;
    }
    (rows.saturating_sub(first.reach) / first.rows).min(all)
}

/// Kernels from coefficients to bytes.
pub(crate) enum Last {
    /// The finest level writes them.
    Level(Launch),
    /// A kernel makes them of a plane.
    Plane(Kernel),
}

impl Last {
    /// Creates the kernels for `pipeline`.
    pub(crate) fn new(pipeline: &ChannelPipeline, samples: &Samples<'_>) -> Result<Self> {
        let (device, transform) = (pipeline.queue.device(), &pipeline.transform);
        if let Some(level) = transform.finest()
            && let Some(last) = pipeline.schemes.of(&level.size).inverse_to(device, &level, samples)?
        {
            return Ok(Self::Level(last));
        }
        let (plane, pitch) = transform.samples();
        let from = [("in", plane.arg()), ("in_pitch", pitch.into())];
        let args = [&from, samples.args.as_slice(), &[("width", pipeline.width.into())]].concat();
        Ok(Self::Plane(kernel(&*plane_program(device, &samples.header)?, "plane_copy", &args)?))
    }

    /// Runs all levels and what rounds; notes the commands.
    pub(crate) fn run(&self, pipeline: &ChannelPipeline, recorder: &mut Recorder) -> Result<()> {
        let (queue, mut events) = (&pipeline.queue, Vec::new());
        match self {
            Self::Level(last) => {
                pipeline.transform.run_inverse_below(queue, &mut events)?;
                // Marked, since a download may wait for another channel's.
                if let Some(event) = queue.launch_marked(&last.kernel, last.groups, last.group_size)? {
                    pipeline.end(DeviceStage::Transform, &event, recorder);
                    events.push(event);
                }
            }
            Self::Plane(kernel) => {
                pipeline.transform.run_inverse(queue, &mut events)?;
                events.extend(pipeline.launch_rows(kernel, 0..pipeline.height, &[])?);
            }
        }
        events.into_iter().for_each(|event| recorder.note(pipeline.channel, DeviceStage::Transform, event));
        Ok(())
    }
}
