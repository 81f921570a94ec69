//! The OpenCL encoder of the profile `pcwt`: every channel on its own queue, all bands of a level at once.

use std::sync::Arc;

use device::kernel::{Arg, Kernel, Program, kernel};
use device::queue::{Buffer, Event, settled, wait};
use device::staged::Staged;
use device::{Device, Result};
use kernels::OpenError;
use kernels::parts::opencl::LSIZE;
use kernels::parts::opencl::PictureReader;
use kernels::parts::opencl::backend;
use kernels::parts::reference::{check_size, rct};
use kernels::{BackendInfo, DeviceKind, PictureRef};
use picture::params::StreamParams;

use super::{ChannelTree, Channels, SLOT_WORDS, program};
use crate::pcwt::{CodeError, CodedChannel, Joining, PcwtEncoder, PcwtError, QMIN_MAX, write};

/// Most groups of work-items that look for the largest maximum.
const PEAK_GROUPS: usize = 64;

/// Encoder on an OpenCL device.
pub(crate) struct OpenClPcwtEncoder {
    params: StreamParams,
    channels: Channels,
    reader: PictureReader,
    coders: Vec<TreeEncoder>,
    backend: BackendInfo,
}

impl OpenClPcwtEncoder {
    /// Makes an encoder for the pictures of a stream of the profile `pcwt` on this device; `reason` says why this back end
    /// was chosen. `joining` makes no difference but of time: `None` for what suits the device.
    pub(crate) fn new(
        device: &Arc<Device>,
        params: &StreamParams,
        reason: &str,
        joining: Option<Joining>,
    ) -> Result<Self, OpenError> {
        let channels = ChannelTree::all(device, params)?;
        let program = program(device)?;
        // One work-item after another on a processor, side by side on a graphics card.
        let suited = if device.info.kind == DeviceKind::Cpu { Joining::Serial } else { Joining::Atomic };
        let joining = joining.unwrap_or(suited);
        let coders = channels.iter().map(|channel| TreeEncoder::new(channel, &program, joining));
        Ok(Self {
            params: *params,
            coders: coders.collect::<Result<_, _>>()?,
            reader: PictureReader::new(&channels.planes(), params)?,
            channels,
            backend: backend(device, reason),
        })
    }

    fn run(&mut self, picture: PictureRef<'_>, qmin: u8) -> Result<Vec<u8>, CodeError> {
        let Self { channels, reader, coders, .. } = self;
        reader.run(&channels.planes(), picture, |index| coders[index].start(&channels[index], qmin))?;
        let both = || self.channels.iter();
        for (coder, channel) in self.coders.iter_mut().zip(both()) {
            channel.plane.queue.finish()?;
            coder.fetch(channel)?;
        }
        let coded = self.coders.iter().zip(both()).map(|(coder, channel)| coder.collect(channel));
        Ok(write(qmin, &coded.collect::<Result<Vec<_>>>()?)?)
    }
}

impl PcwtEncoder for OpenClPcwtEncoder {
    fn encode(&mut self, picture: PictureRef<'_>, qmin: u8) -> Result<Vec<u8>, CodeError> {
        check_size(picture, self.params.size, self.params.codec.depth)?;
        rct::check_exact(picture, self.params.chroma)?;
        if qmin > QMIN_MAX {
            return Err(PcwtError::Qmin { found: qmin }.into());
        }
        let result = self.run(picture, qmin);
        settled(result, self.channels.queues())
    }

    fn backend(&self) -> &BackendInfo {
        &self.backend
    }
}

/// Memory and kernels that code one channel.
struct TreeEncoder {
    maxima: Kernel,
    peak: Staged<i32>,
    find_peak: Kernel,
    encode: Kernel,
    joining: Joining,
    sizes: Staged<u32>,
    places: Staged<u32>,
    gather: Kernel,
    gathered: Staged<u8>,
    /// Bytes of all groups.
    total: usize,
    running: Option<Event>,
    /// Buffer that the kernels refer to besides; kept so that it lives as long as they do.
    _slots: Buffer<u32>,
}

impl TreeEncoder {
    fn new(channel: &ChannelTree, program: &Program, joining: Joining) -> Result<Self> {
        let (plane, tree) = (&channel.plane, &channel.tree);
        let (queue, count) = (&plane.queue, tree.groups.len());
        let square = [("square", plane.transform.bands.arg()), ("pitch", plane.transform.band_pitch.into())];
        let (peak, sizes, places) = (Staged::new(queue, 1)?, Staged::new(queue, count)?, Staged::new(queue, count)?);
        let slots = queue.buffer::<u32>(count * SLOT_WORDS)?;
        // A byte a sample at first; more is allocated when needed.
        let gathered = Staged::new(queue, (plane.width * plane.height).max(4096))?;
        let zero = Arg::Int(0);
        let of_level = [
            ("bands", channel.bands.arg()),
            ("first", zero),
            ("count", zero),
            ("qmin", zero),
            ("maxima", channel.maxima.arg()),
        ];
        let peak_count = tree.levels.first().map_or(0, |level| level.elements.len());
        let peak_args = [("maxima", channel.maxima.arg()), ("count", peak_count.into()), ("peak", peak.device.arg())];
        let tables = [
            ("bands", channel.bands.arg()),
            ("groups", channel.groups.arg()),
            ("maxima", channel.maxima.arg()),
            ("peaks", peak.device.arg()),
            ("qmin", zero),
        ];
        let out = [("slots", slots.arg()), ("sizes", sizes.device.arg()), ("count", count.into())];
        let (name, out) = match joining {
            Joining::Serial => ("pcwt_encode_serial", &out[..]),
            Joining::Atomic => ("pcwt_encode", &out[..2]),
        };
        let gather_args = [
            ("slots", slots.arg()),
            ("sizes", sizes.device.arg()),
            ("places", places.device.arg()),
            ("out", gathered.device.arg()),
        ];
        Ok(Self {
            maxima: kernel(program, "pcwt_maxima", &[&square[..], &of_level].concat())?,
            find_peak: kernel(program, "pcwt_peak", &peak_args)?,
            encode: kernel(program, name, &[&square[..], &tables, out].concat())?,
            joining,
            gather: kernel(program, "pcwt_gather", &gather_args)?,
            gathered,
            peak,
            sizes,
            places,
            total: 0,
            running: None,
            _slots: slots,
        })
    }

    /// Queues everything up to the sizes of all groups.
    fn start(&mut self, channel: &ChannelTree, qmin: u8) -> Result<()> {
        let (plane, tree, qmin) = (&channel.plane, &channel.tree, Arg::Int(qmin.into()));
        let queue = &plane.queue;
        plane.transform.run_forward(queue, &mut Vec::new())?;
        self.maxima.set("qmin", qmin)?;
        for level in tree.levels.iter().rev() {
            let bands = &tree.bands[level.bands.clone()];
            self.maxima.set("first", level.bands.start.into())?;
            self.maxima.set("count", bands.len().into())?;
            let columns = bands.iter().map(|band| band.columns).max().unwrap_or(0);
            plane.launch(&self.maxima, columns, bands.iter().map(|band| band.rows).sum())?;
        }
        queue.clear(&self.peak.device)?;
        let coarsest = tree.levels.first().map_or(0, |level| level.elements.len());
        plane.launch(&self.find_peak, coarsest.min(PEAK_GROUPS * LSIZE), 1)?;
        self.encode.set("qmin", qmin)?;
        let count = tree.groups.len();
        let items = match self.joining {
            Joining::Serial => count,
            Joining::Atomic => count * LSIZE,
        };
        plane.launch(&self.encode, items, 1)?;
        self.sizes.download(queue, count)?;
        self.peak.download(queue, 1)?;
        queue.flush()
    }

    /// Starts fetching the bytes of all groups, whose sizes have come.
    fn fetch(&mut self, channel: &ChannelTree) -> Result<()> {
        let (queue, count) = (&channel.plane.queue, channel.tree.groups.len());
        let mut total = 0;
        let sizes = self.sizes.host.values().iter().take(count);
        let places: Vec<u32> = sizes
            .map(|size| {
                total += size;
                total - size
            })
            .collect();
        self.total = total as usize;
        self.running = None;
        if self.total == 0 {
            return Ok(());
        }
        if self.gathered.grow(queue, self.total)? {
            self.gather.set("out", self.gathered.device.arg())?;
        }
        self.places.upload(queue, &places)?;
        channel.plane.launch(&self.gather, count * LSIZE, 1)?;
        self.running = Some(self.gathered.download(queue, self.total)?);
        queue.flush()
    }

    /// Returns the channel's code, once it has come.
    fn collect(&self, channel: &ChannelTree) -> Result<CodedChannel> {
        wait(self.running.as_slice())?;
        let sizes = &self.sizes.host.values()[..channel.tree.groups.len()];
        // A peak beyond any byte is refused like any that is too large; sizes are those of slots.
        let peak = self.peak.host.values().first().map_or(0, |&peak| u8::try_from(peak).unwrap_or(u8::MAX));
        let lengths = sizes.iter().map(|&size| size as u16).collect();
        Ok(CodedChannel { peak, lengths, data: self.gathered.host.values()[..self.total].to_vec() })
    }
}
