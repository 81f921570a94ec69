//! The transform of a stream's planes with given settings, timed by the device's clock: what the tuner compares.

use std::sync::Arc;
use std::time::Duration;

use device::queue::{self, Event, Pinned, Queue};
use device::settings::Tuning;
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::ChannelPipeline;
use kernels::parts::opencl::has_transform;
use kernels::{DeviceError, DeviceInfo};
use picture::params::StreamParams;

/// A device to try settings on.
pub(crate) struct TrialDevice(Arc<Device>);

impl TrialDevice {
    /// Opens the device whose name contains `device`, or the best one.
    pub(crate) fn open(device: Option<&str>) -> Result<Self, OpenError> {
        Ok(Self(device::named(device)?.built_in().clone()))
    }

    /// Returns the description of the device.
    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Returns true if the kernels for these settings have been built, so that trying them takes little time.
    pub(crate) fn is_built(&self, tuning: &Tuning, params: &StreamParams) -> bool {
        has_transform(&self.0.with_tuning(tuning.clone()), params.codec.boundary)
    }

    /// Prepares the transform of a stream with these settings; an error if the device does not run them.
    pub(crate) fn prepare(&self, tuning: &Tuning, params: &StreamParams) -> Result<Trial, OpenError> {
        if let Err(reason) = tuning.check(self.0.max_group_size) {
            return Err(DeviceError::Failed { call: "clEnqueueNDRangeKernel", reason }.into());
        }
        let device = Arc::new(self.0.with_tuning(tuning.clone()));
        let (pipelines, _) = ChannelPipeline::all(&device, params)?;
        let staging = pipelines.iter().map(|p| {
            let (samples, _) = p.transform.samples();
            p.queue.pinned(samples.len().max(p.transform.bands.len()))
        });
        Ok(Trial { staging: staging.collect::<Result<_, _>>()?, pipelines })
    }
}

/// The prepared transform of all channels.
pub(crate) struct Trial {
    pipelines: Vec<ChannelPipeline>,
    /// Room for a square or a plane per channel.
    staging: Vec<Pinned<f32>>,
}

/// Durations of the transform of all channels of a frame on the device, from the start of its first command to the end
/// of its last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassTimes {
    /// Planes to coefficients.
    pub forward: Duration,
    /// Coefficients to planes.
    pub inverse: Duration,
}

impl PassTimes {
    /// Returns the time of both passes.
    pub fn total(&self) -> Duration {
        self.forward + self.inverse
    }
}

/// A pass of one channel.
type PassFn = fn(&ChannelPipeline, &mut Vec<Event>) -> Result<()>;

const FORWARD: PassFn = |pipeline, events| pipeline.transform.run_forward(&pipeline.queue, events);
const INVERSE: PassFn = |pipeline, events| pipeline.transform.run_inverse(&pipeline.queue, events);

impl Trial {
    /// Fills the planes with samples and transforms them there and back for the first time. Returns the coefficients
    /// and the samples that come out, channel by channel, to compare with those of other settings.
    pub(crate) fn first_run(&mut self) -> Result<Vec<Vec<f32>>> {
        let mut results = Vec::new();
        for (pipeline, staging) in self.pipelines.iter().zip(&mut self.staging) {
            let (queue, (samples, _)) = (&pipeline.queue, pipeline.transform.samples());
            fill(staging.values_mut());
            queue.upload(staging, samples, samples.len())?;
            FORWARD(pipeline, &mut Vec::new())?;
            results.push(download(queue, &pipeline.transform.bands, staging)?);
            INVERSE(pipeline, &mut Vec::new())?;
            results.push(download(queue, samples, staging)?);
        }
        Ok(results)
    }

    /// Transforms all channels side by side, there and then back.
    pub(crate) fn run(&mut self) -> Result<PassTimes> {
        Ok(PassTimes { forward: self.pass(FORWARD)?, inverse: self.pass(INVERSE)? })
    }

    fn pass(&mut self, pass: PassFn) -> Result<Duration> {
        let mut events = Vec::new();
        for pipeline in &self.pipelines {
            pass(pipeline, &mut events)?;
            pipeline.queue.flush()?;
        }
        queue::wait(&events)?;
        queue::span(&events)
    }
}

/// Fills with samples of -128 to 127 with slopes, edges and noise, the same every time.
fn fill(samples: &mut [f32]) {
    let mut noise = 1_u32;
    for (index, sample) in samples.iter_mut().enumerate() {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *sample = ((index / 7 % 200) as f32 - 120.0) + (noise >> 27) as f32;
    }
}

fn download(queue: &Queue, from: &queue::Buffer<f32>, staging: &mut Pinned<f32>) -> Result<Vec<f32>> {
    queue.download(from, staging, from.len())?;
    queue.finish()?;
    Ok(staging.values()[..from.len()].to_vec())
}

#[cfg(test)]
mod tests {
    use picture::frame::{Chroma, FrameSize};

    use super::*;

    fn results(tuning: &Tuning) -> Result<Vec<Vec<f32>>, OpenError> {
        let params = StreamParams::new(FrameSize::new(301, 167).unwrap(), Chroma::C420);
        TrialDevice::open(None)?.prepare(tuning, &params)?.first_run().map_err(Into::into)
    }

    #[test]
    fn no_setting_changes_a_bit() {
        let expected = results(&Tuning::CPU).unwrap();
        assert!(expected.iter().all(|values| values.iter().any(|value| *value != 0.0)));
        for tuning in [
            Tuning { groups_per_unit: 64, min_segment: 1, ..Tuning::CPU },
            Tuning { groups_per_unit: 1, min_segment: 4096, strip: 16, ..Tuning::CPU },
            Tuning { groups_per_unit: 2, min_segment: 5, strip: 60, ..Tuning::CPU },
            Tuning { group_size: 32, ..Tuning::CPU },
            Tuning { group_size: 32, ..Tuning::GPU },
        ] {
            assert!(results(&tuning).unwrap() == expected, "{tuning:?}");
        }
    }

    #[test]
    fn settings_that_the_device_cannot_run_are_an_error() {
        let too_large = Tuning { group_size: 1 << 20, ..Tuning::GPU };
        assert!(results(&too_large).unwrap_err().to_string().contains("group_size is 1048576"));
    }
}
