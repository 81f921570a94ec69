//! The transform between pinned host memory and the device's, its parts one after another and each timed alone; the
//! channels run side by side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use device::OclPrm;
use device::open_within;
use device::queue::{Event, Pinned, Queue, Timing, span};
use device::{Device, Result};
use kernels::parts::opencl::ChannelTransform;
use kernels::parts::opencl::{backend, find};
use kernels::parts::reference::Sample;
use kernels::{BackendInfo, Element, TransformError};
use picture::pyramid::Pyramid;

use crate::OpenError;
use crate::measure::{Measure, PICTURES, Round, Run, SHIFT_ROWS, Scene, bit_sum, fill, largest_difference};
use crate::opencl::address::Tabled;
use crate::opencl::choice;
use crate::transform::TransformParams;

/// Rows of the taller plane beyond those of a picture.
const MORE_ROWS: usize = (PICTURES - 1) * SHIFT_ROWS;

/// One channel: its queue, its memory on both sides.
struct MeasuredChannel<T: OclPrm> {
    queue: Queue,
    transform: ChannelTransform<T>,
    /// The taller plane whose windows are the pictures, rows as far apart as on the device.
    scene: Pinned<T>,
    /// Coefficients, or the plane that came back.
    result: Pinned<T>,
    width: usize,
}

/// All channels of a transform.
struct OpenClMeasure<T: OclPrm> {
    channels: Vec<MeasuredChannel<T>>,
    backend: BackendInfo,
}

/// Opens a measurement of a transform, as the trait object that tools use.
pub(super) fn open_measure(
    params: &TransformParams,
    device: Option<&str>,
    reason: String,
    scene: &Scene,
) -> Result<Box<dyn Measure>, OpenError> {
    Ok(match params.element {
        Element::F32 => Box::new(OpenClMeasure::<f32>::open(params, device, &reason, scene)?),
        Element::F64 => Box::new(OpenClMeasure::<f64>::open(params, device, &reason, scene)?),
        Element::I32 => Box::new(OpenClMeasure::<i32>::open(params, device, &reason, scene)?),
    })
}

impl<T: Sample + Tabled + Into<f64>> OpenClMeasure<T> {
    /// Allocates and prepares everything; the pictures show `scene`.
    fn open(params: &TransformParams, device: Option<&str>, reason: &str, scene: &Scene) -> Result<Self, OpenError> {
        let device = find(device)?;
        let mut channels = open_within(&device, |device| Self::channels(device, params))?;
        for (index, MeasuredChannel { transform, scene: taller, width, .. }) in channels.iter_mut().enumerate() {
            fill(taller.values_mut(), *width, transform.samples().1, index, scene);
        }
        Ok(Self { channels, backend: backend(&device, reason) })
    }

    fn channels(device: &Arc<Device>, params: &TransformParams) -> Result<Vec<MeasuredChannel<T>>, OpenError> {
        let channel = |pyramid: &Pyramid| {
            let queue = Queue::new(device)?;
            // Timing every kernel would keep the channels apart.
            queue.set_timing(Timing::Markers);
            let transform = ChannelTransform::new(&queue, pyramid, &choice::open(&queue, params, pyramid)?)?;
            let scene = queue.pinned(ChannelTransform::<T>::taller_len(pyramid, MORE_ROWS))?;
            let result = queue.pinned(transform.staging_len())?;
            Ok(MeasuredChannel { queue, transform, scene, result, width: pyramid.plane().width() })
        };
        params.pyramids().iter().map(channel).collect()
    }

    /// Transforms the planes of picture `picture` to coefficients in `result`.
    fn forward(&mut self, picture: usize) -> Result<Run> {
        self.clear()?;
        let start = Instant::now();
        let uploads = self.each(|channel| {
            let (samples, pitch) = channel.transform.samples();
            let at = picture % PICTURES * SHIFT_ROWS * pitch;
            Ok(vec![channel.queue.upload_range(&channel.scene, at, samples, 0, samples.len())?])
        })?;
        let levels = self.after(&uploads, ChannelTransform::run_forward)?;
        let downloads = self.each(|channel| {
            channel.queue.wait_for(&levels)?;
            let bands = &channel.transform.bands;
            Ok(vec![channel.queue.download(bands, &mut channel.result, bands.len())?])
        })?;
        self.finish(start, [&uploads, &levels, &downloads], |channel| channel.transform.bands.len())
    }

    /// Transforms the coefficients in `result` to planes there.
    fn inverse(&mut self) -> Result<Run> {
        self.clear()?;
        let start = Instant::now();
        let uploads = self.each(|channel| {
            let bands = &channel.transform.bands;
            Ok(vec![channel.queue.upload(&channel.result, bands, bands.len())?])
        })?;
        let levels = self.after(&uploads, ChannelTransform::run_inverse)?;
        let downloads = self.each(|channel| {
            channel.queue.wait_for(&levels)?;
            let (samples, _) = channel.transform.samples();
            Ok(vec![channel.queue.download(samples, &mut channel.result, samples.len())?])
        })?;
        self.finish(start, [&uploads, &levels, &downloads], |channel| channel.transform.samples().0.len())
    }

    /// Clears what the last run has left on the device.
    fn clear(&self) -> Result<()> {
        for MeasuredChannel { queue, transform, .. } in &self.channels {
            queue.clear(transform.samples().0)?;
            queue.clear(&transform.bands)?;
            queue.finish()?;
        }
        Ok(())
    }

    /// Queues commands of each channel and starts them; all their events.
    fn each(&mut self, queue: impl Fn(&mut MeasuredChannel<T>) -> Result<Vec<Event>>) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for channel in &mut self.channels {
            events.extend(queue(channel)?);
            channel.queue.flush()?;
        }
        Ok(events)
    }

    /// Queues all levels behind the uploads of all channels, between two markers.
    fn after(
        &mut self,
        uploads: &[Event],
        levels: impl Fn(&ChannelTransform<T>, &Queue, &mut Vec<Event>) -> Result<()>,
    ) -> Result<Vec<Event>> {
        self.each(|channel| {
            channel.queue.wait_for(uploads)?;
            let start = channel.queue.marker()?;
            levels(&channel.transform, &channel.queue, &mut Vec::new())?;
            Ok(vec![start, channel.queue.marker()?])
        })
    }

    /// Waits; returns times and sums.
    fn finish(
        &self,
        start: Instant,
        [uploads, levels, downloads]: [&[Event]; 3],
        len: impl Fn(&MeasuredChannel<T>) -> usize,
    ) -> Result<Run> {
        for channel in &self.channels {
            channel.queue.finish()?;
        }
        let total = start.elapsed();
        let sums = self.channels.iter().map(|channel| bit_sum(&channel.result.values()[..len(channel)]));
        Ok(Run {
            upload: span(uploads)?,
            transform: span(levels)?,
            download: span(downloads)?,
            total,
            sum: sums.fold(0, u64::wrapping_add),
        })
    }

    /// Returns largest difference between `picture` and the planes in `result`.
    fn error(&self, picture: usize) -> f64 {
        let of_channel = |channel: &MeasuredChannel<T>| {
            let (samples, pitch) = channel.transform.samples();
            let scene = &channel.scene.values()[picture % PICTURES * SHIFT_ROWS * pitch..];
            let rows = scene.chunks(pitch).zip(channel.result.values()[..samples.len()].chunks(pitch));
            rows.map(|(a, b)| largest_difference(&a[..channel.width], &b[..channel.width])).fold(0.0, f64::max)
        };
        self.channels.iter().map(of_channel).fold(0.0, f64::max)
    }
}

impl<T: Sample + Tabled + Into<f64>> Measure for OpenClMeasure<T> {
    fn round(&mut self, picture: usize) -> Result<Round, TransformError> {
        let round = self.forward(picture).and_then(|forward| Ok((forward, self.inverse()?)));
        // Nothing of a failed round may still use the pinned memory.
        let (forward, inverse) = round.inspect_err(|_| self.channels.iter().for_each(|c| c.queue.settle()))?;
        Ok(Round { forward, inverse, error: self.error(picture) })
    }

    fn copies(&mut self, runs: usize) -> Result<(usize, Vec<Duration>), TransformError> {
        let Some(MeasuredChannel { queue, transform, .. }) = self.channels.first() else { return Ok((0, Vec::new())) };
        let (from, _) = transform.samples();
        let to = queue.buffer(from.len())?;
        let events = (0..runs).map(|_| queue.copy(from, &to)).collect::<Result<Vec<_>, _>>()?;
        queue.finish()?;
        let times = events.iter().map(|event| span(std::slice::from_ref(event))).collect::<Result<_, _>>()?;
        Ok((2 * from.len() * size_of::<T>(), times))
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}
