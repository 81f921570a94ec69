//! The OpenCL decoder: every channel uploads its blocks' bytes, decodes, transforms back and rounds on its own queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::coded::{BlockState, FrameHeader, ReceivedFrame};
use common::params::StreamParams;
use common::pyramid::BlockLayout;

use super::channel::{ChannelBlocks, ChannelPipeline, Downloader, constant};
use super::copy::copy_in;
use super::device::Device;
use super::kernel::{Arg, Kernel, kernel, set};
use super::memory::Memory;
use super::params::{self as constants, MAX_BLOCK_BYTES, MISSING};
use super::queue::{Buffer, Event, Pinned, wait};
use super::timeline::{Recorder, Sampling, Stage, Timeline};
use super::{backend, device};
use crate::reference::check_decode;
use crate::{BackendInfo, DecodeTimes, Decoder, Error, Picture};

/// Decoder on an OpenCL device.
pub struct OpenClDecoder {
    params: StreamParams,
    layout: BlockLayout,
    pipelines: Vec<ChannelPipeline>,
    channels: Vec<ChannelDecoder>,
    downloaders: Vec<Downloader>,
    overlap: bool,
    recorder: Recorder,
    sampling: Sampling,
    timeline: Timeline,
    times: DecodeTimes,
    damaged: u64,
    backend: BackendInfo,
}

impl OpenClDecoder {
    /// A decoder for a stream on the device whose name contains `device`, or on the best one; `reason` says why this
    /// back end was chosen.
    pub fn open(params: &StreamParams, device: Option<&str>, reason: String) -> Result<Self, Error> {
        Self::open_for(params, BlockLayout::new(params), device, reason)
    }

    /// [`Self::open`] for the blocks of `layout`, the stream's or what is left of it without the finest levels.
    pub(super) fn open_for(
        params: &StreamParams,
        layout: BlockLayout,
        device: Option<&str>,
        reason: String,
    ) -> Result<Self, Error> {
        Self::on(&device::find(device)?, params, layout, reason)
    }

    /// The same on this device with its settings.
    pub(super) fn on(
        device: &Arc<Device>,
        params: &StreamParams,
        layout: BlockLayout,
        reason: String,
    ) -> Result<Self, Error> {
        Self::memory(device, params, &layout)?.check(device)?;
        let pipelines = ChannelPipeline::of_layout(device, params, &layout, true)?;
        let dropped = layout.dropped_levels();
        let channels = pipelines.iter().map(|p| ChannelDecoder::new(p, ChannelBlocks::new(p, &layout)?, dropped));
        let channels = channels.collect::<Result<_, _>>()?;
        let downloaders = pipelines.iter().map(Downloader::new).collect::<Result<_, _>>()?;
        Ok(Self {
            params: *params,
            layout,
            pipelines,
            channels,
            downloaders,
            overlap: true,
            recorder: Recorder::default(),
            sampling: Sampling::default(),
            timeline: Timeline::default(),
            times: DecodeTimes::default(),
            damaged: 0,
            backend: backend(device, reason),
        })
    }

    /// What a decoder allocates before the first frame.
    pub(super) fn memory(device: &Device, params: &StreamParams, layout: &BlockLayout) -> Result<Memory, Error> {
        let mut memory = Memory::default();
        ChannelPipeline::memory(device, params, layout, &mut memory)?;
        Downloader::memory(layout, &mut memory);
        let counts = ChannelBlocks::memory(params, layout, &mut memory);
        for (pyramid, count) in layout.pyramids().iter().zip(counts) {
            ChannelDecoder::memory(pyramid.plane().pixels(), count, &mut memory);
        }
        Ok(memory)
    }

    /// As [`super::OpenClEncoder::set_overlap`].
    pub fn set_overlap(&mut self, overlap: bool) {
        self.overlap = overlap;
    }

    /// As [`super::OpenClEncoder::measure_every`]; block decoder and inverse transform share the time of other frames as
    /// that of the last one measured.
    pub fn measure_every(&mut self, frames: u64) {
        self.sampling = Sampling::every(frames);
    }

    /// What the device did for the last frame that was measured.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Transforms a channel back and starts to bring it to the host: the events of its samples and of everything.
    fn bring(&mut self, channel: usize) -> Result<[Event; 2], Error> {
        let (pipeline, recorder) = (&self.pipelines[channel], &mut self.recorder);
        let samples = self.downloaders[channel].run(pipeline, recorder)?;
        Ok([samples, self.channels[channel].fetch_damaged(pipeline, recorder)?])
    }

    fn run(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), Error> {
        let start = Instant::now();
        self.recorder.clear();
        let measured = self.sampling.next();
        self.pipelines.iter().for_each(|pipeline| pipeline.queue.set_measured(measured));
        let (mut running, mut damaged) = (Vec::with_capacity(self.pipelines.len()), 0);
        for (channel, pipeline) in self.channels.iter_mut().zip(&self.pipelines) {
            damaged += channel.fill(pipeline, frame)?;
        }
        // All channels' blocks go first: they take the longest.
        for index in 0..self.pipelines.len() {
            self.channels[index].start(&self.pipelines[index], frame.header, &mut self.recorder)?;
            if !self.overlap {
                running.push(self.bring(index)?);
                self.pipelines[index].queue.finish()?;
            }
        }
        for index in running.len()..self.pipelines.len() {
            running.push(self.bring(index)?);
        }
        rayon::in_place_scope(|scope| {
            let mut rest = out.data_mut();
            for (downloader, [there, _]) in self.downloaders.iter().zip(&running) {
                wait(std::slice::from_ref(there))?;
                let samples = downloader.samples();
                let (plane, later) = std::mem::take(&mut rest).split_at_mut(samples.len());
                copy_in(scope, samples, plane);
                rest = later;
            }
            Ok::<(), Error>(())
        })?;
        for (channel, [_, end]) in self.channels.iter().zip(&running) {
            wait(std::slice::from_ref(end))?;
            damaged += channel.damaged();
        }
        self.damaged += damaged;
        if measured {
            self.timeline = self.recorder.timeline()?;
        }
        self.times = times(&self.timeline, start.elapsed());
        Ok(())
    }
}

impl Decoder for OpenClDecoder {
    fn decode(&mut self, frame: &ReceivedFrame, out: &mut Picture) -> Result<(), Error> {
        check_decode(frame, out, &self.params, &self.layout)?;
        let result = self.run(frame, out);
        if result.is_err() {
            // Nothing of a failed frame may still use the staging memory when the next one fills it.
            for pipeline in &self.pipelines {
                pipeline.queue.settle();
            }
        }
        result
    }

    fn times(&self) -> DecodeTimes {
        self.times
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }

    fn damaged_blocks(&self) -> u64 {
        self.damaged
    }
}

/// Divides the `total` of a frame in the ratio of the device's time for block decoder and inverse transform.
fn times(timeline: &Timeline, total: Duration) -> DecodeTimes {
    let (code, transform) = (timeline.busy_ns(Stage::Code), timeline.busy_ns(Stage::Transform));
    let share = code as f64 / (code + transform).max(1) as f64;
    let decode = total.mul_f64(share);
    let device = Duration::from_nanos(timeline.computing_ns());
    DecodeTimes { decode, inverse: total.saturating_sub(decode), device }
}

/// Memory and kernel that decode the blocks of one channel.
struct ChannelDecoder {
    blocks: ChannelBlocks,
    decode: Kernel,
    /// Start and length of each block here, and then the blocks, so that they travel together.
    bytes: Buffer<u8>,
    bytes_host: Pinned<u8>,
    /// How many of them the frame has.
    filled: usize,
    damaged: Buffer<u32>,
    damaged_host: Pinned<u32>,
    /// What the kernel refers to besides; kept so that it lives as long as it does.
    _table: Buffer<u32>,
    _steps: Buffer<f32>,
}

/// Bytes of a block's start and length.
const SPAN: usize = 8;

/// Positions of the bytes and spans, which are in one buffer, of the step and of the number of fine blocks among the
/// arguments of `quad_decode`.
const BYTES_ARGS: [u32; 2] = [0, 1];
const STEP_ARG: u32 = 5;
const FINE_BLOCKS_ARG: u32 = 6;

impl ChannelDecoder {
    /// Bytes of a frame that there is room for at first: two bits a sample, in whole words. More is allocated when a frame
    /// needs it.
    fn capacity(samples: usize) -> usize {
        samples.div_ceil(4).max(4096).next_multiple_of(4)
    }

    /// Adds what [`Self::new`] allocates for a plane of `samples` in `count` blocks.
    fn memory(samples: usize, count: usize, memory: &mut Memory) {
        memory.buffers::<u32>(&[constants::decoder_table().len(), count]);
        memory.buffers::<f32>(&[constants::step_table(0).len()]);
        memory.buffers::<u8>(&[SPAN * count + Self::capacity(samples)]);
        memory.pinned::<u32>(&[count]);
        memory.pinned::<u8>(&[SPAN * count + Self::capacity(samples)]);
    }

    /// For the blocks of a frame without its `dropped` finest levels.
    fn new(pipeline: &ChannelPipeline, blocks: ChannelBlocks, dropped: usize) -> Result<Self, Error> {
        let queue = &pipeline.queue;
        let count = blocks.indices.len();
        let table = constant(queue, &constants::decoder_table())?;
        let steps = constant(queue, &constants::step_table(dropped))?;
        let capacity = SPAN * count + Self::capacity(pipeline.width * pipeline.height);
        let (bytes, damaged) = (queue.buffer::<u8>(capacity)?, queue.buffer(count)?);
        let transform = &pipeline.transform;
        let decode = kernel(
            &pipeline.program,
            "quad_decode",
            &[
                bytes.arg(),
                bytes.arg(),
                blocks.descriptions.arg(),
                table.arg(),
                steps.arg(),
                Arg::Int(0),
                Arg::Int(0),
                transform.bands.arg(),
                transform.band_pitch.into(),
                pipeline.side.into(),
                damaged.arg(),
            ],
        )?;
        Ok(Self {
            blocks,
            decode,
            bytes,
            bytes_host: queue.pinned(capacity)?,
            filled: 0,
            damaged,
            damaged_host: queue.pinned(count)?,
            _table: table,
            _steps: steps,
        })
    }

    /// Puts this channel's blocks of `frame` into pinned memory. Returns how many are too long for any encoder.
    fn fill(&mut self, pipeline: &ChannelPipeline, frame: &ReceivedFrame) -> Result<u64, Error> {
        self.reserve(pipeline, frame)?;
        let (mut end, mut too_long) = (SPAN * self.blocks.indices.len(), 0);
        let (spans, bytes) = self.bytes_host.values_mut().split_at_mut(end);
        let first = end;
        for (span, &index) in spans.as_chunks_mut::<SPAN>().0.iter_mut().zip(&self.blocks.indices) {
            let [start, len] = match frame.block(index) {
                BlockState::Missing => [0, MISSING],
                BlockState::Zero => [0, 0],
                BlockState::Coded(block) if block.len() > MAX_BLOCK_BYTES => {
                    too_long += 1;
                    [0, MISSING]
                }
                BlockState::Coded(block) => {
                    let start = end;
                    end += block.len();
                    bytes[start - first..end - first].copy_from_slice(block);
                    [start as u32, block.len() as u32]
                }
            };
            span[..SPAN / 2].copy_from_slice(&start.to_ne_bytes());
            span[SPAN / 2..].copy_from_slice(&len.to_ne_bytes());
        }
        self.filled = end;
        Ok(too_long)
    }

    /// Starts decoding what [`Self::fill`] prepared; notes the commands.
    fn start(&mut self, pipeline: &ChannelPipeline, header: FrameHeader, recorder: &mut Recorder) -> Result<(), Error> {
        let (queue, channel) = (&pipeline.queue, pipeline.channel);
        recorder.note(channel, Stage::Upload, queue.upload(&self.bytes_host, &self.bytes, self.filled)?);
        self.set_steps(header)?;
        let groups = [self.blocks.indices.len(), 1];
        let group_size = [queue.device().tuning.block_group_size, 1];
        if let Some(event) = queue.launch_marked(&self.decode, groups, group_size)? {
            pipeline.begin(&event, recorder);
            recorder.note(channel, Stage::Code, event);
        }
        queue.flush()
    }

    /// Starts to bring to the host which blocks were damaged; notes the command.
    fn fetch_damaged(&mut self, pipeline: &ChannelPipeline, recorder: &mut Recorder) -> Result<Event, Error> {
        let count = self.blocks.indices.len();
        let event = pipeline.queue.download(&self.damaged, &mut self.damaged_host, count)?;
        recorder.note(pipeline.channel, Stage::Download, event.clone());
        pipeline.queue.flush()?;
        Ok(event)
    }

    /// Makes room for this channel's bytes of `frame`.
    fn reserve(&mut self, pipeline: &ChannelPipeline, frame: &ReceivedFrame) -> Result<(), Error> {
        let len_of = |&index: &usize| match frame.block(index) {
            BlockState::Coded(block) if block.len() <= MAX_BLOCK_BYTES => block.len(),
            _ => 0,
        };
        let len = SPAN * self.blocks.indices.len() + self.blocks.indices.iter().map(len_of).sum::<usize>();
        if len > self.bytes.len() {
            let capacity = (len + len / 4).next_multiple_of(4);
            (self.bytes, self.bytes_host) = (pipeline.queue.buffer(capacity)?, pipeline.queue.pinned(capacity)?);
            BYTES_ARGS.into_iter().try_for_each(|arg| set(&self.decode, arg, self.bytes.arg()))?;
        }
        Ok(())
    }

    fn set_steps(&self, header: FrameHeader) -> Result<(), Error> {
        // More fine blocks than any frame has mean all of them.
        let fine_blocks = i32::try_from(header.fine_blocks).unwrap_or(i32::MAX);
        set(&self.decode, STEP_ARG, Arg::Int(header.step.index().into()))?;
        set(&self.decode, FINE_BLOCKS_ARG, Arg::Int(fine_blocks))
    }

    /// How many blocks were damaged, once the frame has been decoded.
    fn damaged(&self) -> u64 {
        self.damaged_host.values().iter().map(|&damaged| u64::from(damaged)).sum()
    }
}
